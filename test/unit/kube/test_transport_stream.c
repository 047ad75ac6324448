#include "kube/transport.h"

#include "kube/support/api_fixture.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct receiver {
    char text[64];
    size_t n;
    bool refuse;
    bool gzip;
    struct kube_stream *interrupt;
};

static int on_bytes(void *ctx, struct str bytes, struct err *reterr)
{
    struct receiver *r = ctx;
    if (r->refuse) {
        return err_set(reterr, ERR_PARSE, "refused");
    }
    assert_true(r->n + bytes.n < sizeof(r->text));
    memcpy(r->text + r->n, bytes.p, bytes.n);
    r->n += bytes.n;
    if (r->interrupt != NULL) {
        kube_stream_interrupt(r->interrupt);
    }
    return 0;
}

static struct kube_outcome stream(struct kube_stream *s, const char *path, uint32_t silence_ms, struct receiver *r)
{
    const struct kube_stream_request request = {path, silence_ms, "watch", "pods", r->gzip};
    struct kube_outcome outcome;
    kube_stream_run(s, &request, on_bytes, r, &outcome);
    return outcome;
}

static struct kube_stream *new_stream(void)
{
    struct kube_stream *s;
    connect_client();
    assert_int_equal(kube_stream_new(f.client, &s, NULL), 0);
    return s;
}

static void stream__chunks__arrive_and_the_connection_is_reused(void **state)
{
    struct kube_stream *s = new_stream();
    for (int i = 0; i < 3; i++) {
        struct receiver r = {.n = 0};
        struct kube_outcome o = stream(s, "/chunks", 30000, &r);
        assert_int_equal(o.kind, KUBE_ANSWERED);
        assert_int_equal(o.http_status, 200);
        assert_string_equal(r.text, "one two");
    }
    assert_int_equal(http_server_connections(f.server), 1);
    kube_stream_free(s);
    assert_string_equal(f.observed, "watch pods 200 took");
}

static void stream__other_status__does_not_reach_the_receiver(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.n = 0};
    struct kube_outcome o = stream(s, "/forbidden", 30000, &r);
    assert_int_equal(o.kind, KUBE_ANSWERED);
    assert_int_equal(o.http_status, 403);
    assert_int_equal(r.n, 0);
    assert_non_null(strstr(o.detail, "cannot list"));
    o = stream(s, "/retry", 30000, &r);
    assert_int_equal(o.retry_after_ms, 7000);
    kube_stream_free(s);
}

static void stream__refusing_receiver__aborts(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.refuse = true};
    assert_int_equal(stream(s, "/trickle", 30000, &r).kind, KUBE_ABORTED);
    r.refuse = false; /* and the stream is good for another run */
    assert_int_equal(stream(s, "/chunks", 30000, &r).kind, KUBE_ANSWERED);
    assert_string_equal(r.text, "one two");
    kube_stream_free(s);
}

static void stream__silence__ends_it(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.n = 0};
    assert_int_equal(stream(s, "/trickle", 200, &r).kind, KUBE_SILENT);
    assert_string_equal(r.text, "event");
    assert_int_equal(stream(s, "/hang", 200, &r).kind, KUBE_SILENT);
    kube_stream_free(s);
}

static void stream__lost_and_refused__are_told_apart(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.n = 0};
    assert_int_equal(stream(s, "/half", 30000, &r).kind, KUBE_LOST);
    assert_int_equal(stream(s, "/drop", 30000, &r).kind, KUBE_LOST);
    http_server_stop(f.server);
    f.server = NULL;
    assert_int_equal(stream(s, "/chunks", 30000, &r).kind, KUBE_NOT_SENT);
    kube_stream_free(s);
}

static void stream__gzip__decoded_where_asked_for(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.gzip = true};
    assert_int_equal(stream(s, "/gzip", 30000, &r).kind, KUBE_ANSWERED);
    assert_string_equal(r.text, "one two");
    r = (struct receiver){.gzip = true};
    assert_int_equal(stream(s, "/gzip-half", 30000, &r).kind, KUBE_LOST);
    r = (struct receiver){.gzip = false};
    assert_int_equal(stream(s, "/gzip", 30000, &r).kind, KUBE_ANSWERED);
    assert_string_equal(r.text, "plain");
    f.creds.disable_compression = true;
    r = (struct receiver){.gzip = true};
    assert_int_equal(stream(s, "/gzip", 30000, &r).kind, KUBE_ANSWERED);
    assert_string_equal(r.text, "plain");
    kube_stream_free(s);
}

/* From within the run: other than it was given at first. */
static int be_patient(void *ctx, struct str bytes, struct err *reterr)
{
    (void)bytes;
    (void)reterr;
    kube_stream_silence(ctx, 250);
    return 0;
}

static void stream__silence_changed_on_the_way__counts(void **state)
{
    struct kube_stream *s = new_stream();
    const struct kube_stream_request request = {"/trickle", 600000, "watch", "pods", false};
    struct kube_outcome o;
    kube_stream_run(s, &request, be_patient, s, &o);
    assert_int_equal(o.kind, KUBE_SILENT);
    assert_non_null(strstr(o.detail, "250 ms"));
    kube_stream_free(s);
}

/* Our end of the connection to the server, which lives in this process too. */
static int client_socket(void)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer;
        socklen_t n = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &n) == 0 && peer.sin_family == AF_INET &&
            ntohs(peer.sin_port) == http_server_port(f.server)) {
            return fd;
        }
    }
    return -1;
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t n = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
    return value;
}

/* A peer that vanished without a word is found out by the kernel, also while we only listen. */
static void stream__half_open__is_probed_by_the_kernel(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.n = 0};
    assert_int_equal(stream(s, "/chunks", 30000, &r).kind, KUBE_ANSWERED);
    int fd = client_socket(); /* kept for the next run */
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_true(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) <= 30);
    assert_true(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 60000);
    kube_stream_free(s);
}

static void *interrupt_when_seen(void *ctx)
{
    wait_until_seen(1);
    kube_stream_interrupt(ctx);
    return NULL;
}

static void stream__interrupted__is_cancelled_and_usable(void **state)
{
    struct kube_stream *s = new_stream();
    struct receiver r = {.n = 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, interrupt_when_seen, s), 0);
    assert_int_equal(stream(s, "/hang", 600000, &r).kind, KUBE_CANCELLED);
    pthread_join(thread, NULL);
    r.interrupt = s; /* from within */
    assert_int_equal(stream(s, "/trickle", 600000, &r).kind, KUBE_CANCELLED);
    r = (struct receiver){.n = 0};
    assert_int_equal(stream(s, "/chunks", 30000, &r).kind, KUBE_ANSWERED);
    kube_stream_interrupt(s); /* while idle: the next one */
    assert_int_equal(stream(s, "/hang", 600000, &r).kind, KUBE_CANCELLED);
    kube_stream_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
        TEST(stream__chunks__arrive_and_the_connection_is_reused),
        TEST(stream__other_status__does_not_reach_the_receiver),
        TEST(stream__refusing_receiver__aborts),
        TEST(stream__silence__ends_it),
        TEST(stream__silence_changed_on_the_way__counts),
        TEST(stream__lost_and_refused__are_told_apart),
        TEST(stream__half_open__is_probed_by_the_kernel),
        TEST(stream__gzip__decoded_where_asked_for),
        TEST(stream__interrupted__is_cancelled_and_usable),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
