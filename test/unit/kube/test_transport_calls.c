#include "kube/transport.h"

#include "kube/support/api_fixture.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void call__post__sends_what_an_api_server_needs(void **state)
{
    static const char *const headers[] = {"X-Test: yes", NULL};
    struct kube_request r = post("/api/v1/x?timeout=4s");
    struct call_result result;
    r.headers = headers;
    connect_client();
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.kind, KUBE_ANSWERED);
    assert_int_equal(result.outcome.http_status, 200);
    assert_string_equal(result.body, "ok");
    assert_non_null(strstr(f.last, "POST /api/v1/x?timeout=4s\n"));
    assert_non_null(strstr(f.last, "Accept: application/json\r\n"));
    assert_non_null(strstr(f.last, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(f.last, "User-Agent: fgpu/"));
    assert_non_null(strstr(f.last, "X-Test: yes"));
    assert_non_null(strstr(f.last, "\n{\"a\":1}"));
    assert_null(strstr(f.last, "Authorization"));
    assert_null(strstr(f.last, "Accept-Encoding"));
    assert_null(strstr(f.last, "Expect"));
    pthread_mutex_lock(&f.lock);
    assert_string_equal(f.observed, "create pods 200 took");
    pthread_mutex_unlock(&f.lock);
}

static void call__statuses__are_answers(void **state)
{
    static const int statuses[] = {200, 201, 400, 403, 404, 409, 410, 422, 500, 503};
    connect_client();
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/status/%d", statuses[i]);
        struct kube_request r = get(path);
        expect(&r, KUBE_ANSWERED, true, statuses[i]);
    }
    assert_int_equal(http_server_connections(f.server), 1);
}

static void call__retry_after__is_read(void **state)
{
    struct kube_request r = get("/retry");
    struct call_result result;
    connect_client();
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.http_status, 429);
    assert_int_equal(result.outcome.retry_after_ms, 7000);
    r = get("/status/503");
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.retry_after_ms, KUBE_NO_RETRY_AFTER);
}

static void call__redirect__is_not_followed(void **state)
{
    struct kube_request r = get("/redirect");
    connect_client();
    expect(&r, KUBE_ANSWERED, true, 302);
    assert_int_equal(f.seen_n, 1);
}

static void call__error_reply__is_described(void **state)
{
    struct kube_request r = get("/forbidden");
    struct call_result result;
    connect_client();
    call_now(f.client, &r, &result);
    assert_string_equal(result.outcome.detail, "pods is forbidden: User \"u\" cannot list");
    r = get("/plain");
    call_now(f.client, &r, &result);
    assert_string_equal(result.outcome.detail, "nothing is recorded here");
    r = get("/page");
    call_now(f.client, &r, &result);
    assert_string_equal(result.outcome.detail, "");
}

static void call__refused_connection__was_not_sent(void **state)
{
    struct kube_request r = post("/x");
    connect_client();
    http_server_stop(f.server);
    f.server = NULL;
    expect(&r, KUBE_NOT_SENT, false, 0);
}

static void call__connection_dropped_behind_the_request__is_lost(void **state)
{
    struct kube_request r = post("/drop");
    connect_client();
    expect(&r, KUBE_LOST, true, 0);
    assert_int_equal(f.seen_n, 1);
}

/* libcurl sends again when a connection that was idle breaks. The first sending must not be
 * forgotten. */
static void call__lost_on_a_reused_connection_then_refused__is_lost(void **state)
{
    struct kube_request r = post("/second-drops");
    connect_client();
    expect(&r, KUBE_ANSWERED, true, 200);
    http_server_close_listener(f.server);
    struct call_result result;
    call_now(f.client, &r, &result);
    assert_int_equal(f.seen_n, 2);
    assert_true(result.outcome.maybe_sent);
    assert_int_equal(result.outcome.kind, KUBE_LOST);
}

/* And what is answered in the end says nothing of it. */
static void call__lost_on_a_reused_connection_then_answered__says_so(void **state)
{
    struct kube_request r = post("/second-drops");
    struct call_result result;
    connect_client();
    call_now(f.client, &r, &result);
    assert_false(result.outcome.sent_again);
    call_now(f.client, &r, &result);
    assert_int_equal(f.seen_n, 3);
    assert_int_equal(result.outcome.kind, KUBE_ANSWERED);
    assert_true(result.outcome.sent_again);
}

/* Says yes so many times. From the client's thread, too. */
static bool may_write(void *ctx)
{
    return __atomic_fetch_sub((int *)ctx, 1, __ATOMIC_SEQ_CST) > 0;
}

static void connect_asking(int *yes_n)
{
    f.options.may_write = may_write;
    f.options.may_write_ctx = yes_n;
    connect_client();
}

static void ignore(void *ctx, const struct kube_response *response)
{
}

static void call__that_writes_and_may_not__is_refused(void **state)
{
    struct kube_request write = post("/x"), read = get("/x"), review = post("/x");
    struct err err;
    int yes_n = 0;
    connect_asking(&yes_n);
    assert_int_equal(kube_client_submit(f.client, &write, ignore, NULL, &err), -ERR_UNAVAILABLE);
    review.asks = true;
    expect(&read, KUBE_ANSWERED, true, 200);
    expect(&review, KUBE_ANSWERED, true, 200);
    assert_int_equal(yes_n, -1); /* those were not asked about */
}

/* It was allowed when it was submitted; when its turn came the time was over. */
static void call__that_may_not_write_any_more_when_it_leaves__was_not_sent(void **state)
{
    struct kube_request r = post("/x");
    int yes_n = 1;
    connect_asking(&yes_n);
    expect(&r, KUBE_NOT_SENT, false, 0);
    assert_int_equal(f.seen_n, 0);
    yes_n = 2;
    expect(&r, KUBE_ANSWERED, true, 200);
}

/* libcurl would send it again, and may not: the first sending must not be forgotten. */
static void call__lost_and_not_allowed_a_second_time__is_lost(void **state)
{
    struct kube_request r = post("/second-drops");
    struct call_result result;
    int yes_n = 4;
    connect_asking(&yes_n);
    expect(&r, KUBE_ANSWERED, true, 200);
    call_now(f.client, &r, &result);
    assert_int_equal(f.seen_n, 2);
    assert_true(result.outcome.maybe_sent);
    assert_int_equal(result.outcome.kind, KUBE_LOST);
    assert_int_equal(yes_n, -1);
}

static void call__reply_cut_off__is_lost(void **state)
{
    struct kube_request r = post("/half");
    connect_client();
    expect(&r, KUBE_LOST, true, 201);
}

static void call__garbage_reply__is_lost(void **state)
{
    struct kube_request r = post("/garbage");
    struct call_result result;
    connect_client();
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.kind, KUBE_LOST);
    assert_true(result.outcome.maybe_sent);
}

static void call__no_answer_before_the_deadline__is_timed_out(void **state)
{
    struct kube_request r = post("/hang");
    connect_client();
    r.deadline_ms = 2000; /* long enough for a busy machine to have sent it */
    expect(&r, KUBE_TIMED_OUT, true, 0);
}

static void call__reply_above_the_cap__is_too_large(void **state)
{
    struct kube_request r = get("/forbidden");
    connect_client();
    r.response_bytes_max = 10;
    expect(&r, KUBE_TOO_LARGE, true, 403);
}

static void call__line_breaks__are_refused(void **state)
{
    static const char *const bad_headers[] = {"X: a\r\nY: b", NULL};
    static const char *const paths[] = {"x", "/a b", "/a\r\nHost: evil", "", "/a\x7f"};
    struct err err;
    connect_client();
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct kube_request r = get(paths[i]);
        assert_int_equal(kube_client_submit(f.client, &r, call_result_done, NULL, &err), -ERR_INVALID);
    }
    struct kube_request r = get("/x");
    r.headers = bad_headers;
    assert_int_equal(kube_client_submit(f.client, &r, call_result_done, NULL, &err), -ERR_INVALID);
    assert_int_equal(f.seen_n, 0);
}

enum { MANY = 200 };
static struct call_result many[MANY];

static void submit_many(const char *path)
{
    struct kube_request r = get(path);
    for (int i = 0; i < MANY; i++) {
        call_result_init(&many[i]);
        assert_int_equal(kube_client_submit(f.client, &r, call_result_done, &many[i], NULL), 0);
    }
}

static void calls__200_at_once__share_8_connections(void **state)
{
    f.options.connections_max = 8;
    connect_client();
    submit_many("/x");
    for (int i = 0; i < MANY; i++) {
        call_result_wait(&many[i]);
        assert_int_equal(many[i].outcome.kind, KUBE_ANSWERED);
        assert_int_equal(many[i].done_n, 1);
        call_result_fini(&many[i]);
    }
    assert_int_equal(f.seen_n, MANY);
    assert_in_range(http_server_connections(f.server), 1, 8);
}

static atomic_uint looks_n;

/* libcurl's, instead of the C library's: looks at a socket without waiting are counted. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    looks_n += timeout_ms == 0;
    return (int)syscall(SYS_poll, fds, n, timeout_ms);
}

/* For each thing that happened to one call libcurl asked the kernel about all the others that were under way. */
static void F116_call__beside_many_in_flight__looks_at_its_own_socket_alone(void **state)
{
    /* With the defect each call looks at all of them several times. What they themselves still have to do when the
     * server has seen them, on a busy machine, is a look or two each. */
    enum { CALLS = 20, LOOKS_MAX = CALLS * MANY / 4 };
    struct kube_request r = get("/x");
    unsigned before, looked;
    f.options.connections_max = MANY + 1;
    connect_client();
    submit_many("/gate");
    wait_until_seen(MANY);
    expect(&r, KUBE_ANSWERED, true, 200); /* has its connection */
    before = looks_n;
    for (int i = 0; i < CALLS; i++) {
        expect(&r, KUBE_ANSWERED, true, 200);
    }
    looked = looks_n - before;
    release();
    for (int i = 0; i < MANY; i++) {
        call_result_wait(&many[i]);
        call_result_fini(&many[i]);
    }
    assert_in_range(looked, 1, LOOKS_MAX);
}

static atomic_int waits_to_fail, adds_to_fail; /* so many more */

static bool has_no_memory(atomic_int *left)
{
    const bool fails = atomic_load(left) > 0 && atomic_fetch_sub(left, 1) > 0;
    errno = fails ? ENOMEM : errno;
    return fails;
}

/* These two, too, are the kernel's, unless it is to have no memory. */
int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    return has_no_memory(&waits_to_fail) ? -1
                                         : (int)syscall(SYS_epoll_pwait, fd, events, max, timeout_ms, NULL, (size_t)8);
}

int epoll_ctl(int fd, int op, int of, struct epoll_event *event)
{
    return op == EPOLL_CTL_ADD && has_no_memory(&adds_to_fail) ? -1 : (int)syscall(SYS_epoll_ctl, fd, op, of, event);
}

static void F133_call__kernel_has_no_memory_to_wait_with__waits_and_goes_on(void **state)
{
    struct kube_request r = get("/x");
    connect_client();
    adds_to_fail = waits_to_fail = 3;
    expect(&r, KUBE_ANSWERED, true, 200);
    assert_int_equal(adds_to_fail, 0);
    assert_int_equal(waits_to_fail, 0);
}

static void calls__waiting_beyond_the_deadline__were_not_sent(void **state)
{
    struct kube_request gate = get("/gate"), waiting = post("/x");
    struct call_result first, second;
    f.options.connections_max = 1;
    connect_client();
    call_result_init(&first);
    assert_int_equal(kube_client_submit(f.client, &gate, call_result_done, &first, NULL), 0);
    wait_until_seen(1);
    waiting.deadline_ms = 50;
    call_now(f.client, &waiting, &second);
    assert_int_equal(second.outcome.kind, KUBE_NOT_SENT);
    assert_false(second.outcome.maybe_sent);
    release();
    call_result_wait(&first);
    assert_string_equal(first.body, "through");
    call_result_fini(&first);
    assert_int_equal(f.seen_n, 1);
}

static void calls__above_the_limit__are_refused(void **state)
{
    static struct call_result all[KUBE_IN_FLIGHT_MAX];
    struct kube_request r = get("/gate");
    f.options.connections_max = 4;
    connect_client();
    for (int i = 0; i < KUBE_IN_FLIGHT_MAX; i++) {
        call_result_init(&all[i]);
        assert_int_equal(kube_client_submit(f.client, &r, call_result_done, &all[i], NULL), 0);
    }
    assert_int_equal(kube_client_submit(f.client, &r, call_result_done, NULL, NULL), -ERR_UNAVAILABLE);
    release();
    for (int i = 0; i < KUBE_IN_FLIGHT_MAX; i++) {
        call_result_wait(&all[i]);
        assert_int_equal(all[i].outcome.kind, KUBE_ANSWERED);
        call_result_fini(&all[i]);
    }
}

static void calls__stop__calls_everybody_back_once(void **state)
{
    int sent = 0;
    struct kube_request r = get("/x");
    f.options.connections_max = 4;
    connect_client();
    submit_many("/hang");
    wait_until_seen(4);
    kube_client_stop(f.client);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(many[i].done_n, 1);
        assert_int_equal(many[i].outcome.kind, KUBE_CANCELLED);
        sent += many[i].outcome.maybe_sent;
        call_result_fini(&many[i]);
    }
    assert_int_equal(sent, 4);
    assert_int_equal(kube_client_submit(f.client, &r, call_result_done, NULL, NULL), -ERR_CANCELLED);
}

/* ---- a server with which no handshake ends ---- */

static int listen_on_loopback(char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    snprintf(url, 64, "https://127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

/* Takes one connection and waits until its handshake has begun. */
static int accept_hello(int listener)
{
    char first;
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(recv(fd, &first, 1, MSG_PEEK), 1);
    return fd;
}

static bool somebody_waits(int listener, int timeout_ms)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

/* A burst would else open one each, all of which are there before the first has said a byte. */
static void calls__while_a_connection_opens__wait_for_it(void **state)
{
    enum { BURST = 10 };
    struct clock_manual clock;
    struct call_result all[BURST];
    struct kube_request r = get("/x");
    char url[64];
    int listener = listen_on_loopback(url), fds[2];
    clock_manual_init(&clock, NS_PER_S, 0);
    f.options.clock = &clock.clock;
    f.creds.server = url;
    f.creds.insecure_skip_tls_verify = true;
    connect_client();
    for (int i = 0; i < BURST; i++) {
        call_result_init(&all[i]);
        assert_int_equal(kube_client_submit(f.client, &r, call_result_done, &all[i], NULL), 0);
    }
    fds[0] = accept_hello(listener);
    assert_false(somebody_waits(listener, 0));
    clock_manual_advance_ms(&clock, 60); /* one that does not come about holds nobody up for long */
    fds[1] = accept_hello(listener);
    assert_false(somebody_waits(listener, 0));
    kube_client_stop(f.client);
    for (int i = 0; i < BURST; i++) {
        call_result_wait(&all[i]);
        assert_int_equal(all[i].outcome.kind, KUBE_CANCELLED);
        assert_false(all[i].outcome.maybe_sent);
        call_result_fini(&all[i]);
    }
    close(fds[0]);
    close(fds[1]);
    close(listener);
}

/* ---- a server that takes nothing ---- */

static int socket_to(struct sockaddr_in server)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer;
        socklen_t n = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &n) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == server.sin_port) {
            return fd;
        }
    }
    return -1;
}

/* Else a Binding comes out of the kernel of a process that has ended, when the network is there again. */
static void F122_call__given_up__what_the_kernel_has_left_of_it_is_not_sent(void **state)
{
    enum { BODY = 64 * 1024 };
    static char body[BODY];
    const int small = 1024;
    struct kube_request r = post("/x");
    struct call_result result;
    struct sockaddr_in address;
    socklen_t n = sizeof(address), timeout_n = sizeof(int);
    char url[64], taken[4096];
    int listener = listen_on_loopback(url), fd, timeout_ms = 0;
    ssize_t got;
    size_t all = 0;
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &n), 0);
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    f.creds.server = url;
    connect_client();
    memset(body, 'x', BODY);
    r.body = (struct str){body, BODY};
    r.deadline_ms = 600000;
    call_result_init(&result);
    assert_int_equal(kube_client_submit(f.client, &r, call_result_done, &result, NULL), 0);
    fd = accept(listener, NULL, NULL);
    assert_int_equal(recv(fd, taken, 1, MSG_PEEK), 1);
    assert_int_equal(getsockopt(socket_to(address), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &timeout_n), 0);
    assert_true(timeout_ms > 0 && timeout_ms < 6000);
    kube_client_stop(f.client);
    call_result_wait(&result);
    assert_int_equal(result.outcome.kind, KUBE_CANCELLED);
    while ((got = recv(fd, taken, sizeof(taken), 0)) > 0) {
        all += (size_t)got;
    }
    assert_int_equal(got, -1); /* reset */
    assert_true(all < BODY);
    call_result_fini(&result);
    close(fd);
    close(listener);
}

enum { GATES = 4 };

static void submit_gates(void)
{
    struct kube_request r = get("/gate");
    for (int i = 0; i < GATES; i++) {
        call_result_init(&many[i]);
        assert_int_equal(kube_client_submit(f.client, &r, call_result_done, &many[i], NULL), 0);
    }
}

static void hold_back(void)
{
    pthread_mutex_lock(&f.lock);
    f.release = false;
    pthread_mutex_unlock(&f.lock);
}

static unsigned seen(void)
{
    unsigned n;
    pthread_mutex_lock(&f.lock);
    n = f.seen_n;
    pthread_mutex_unlock(&f.lock);
    return n;
}

/* The clock goes on until the server has seen so many, and all are answered. */
static void let_through(struct clock_manual *clock, unsigned seen_n)
{
    while (seen() < seen_n) {
        clock_manual_advance_ms(clock, 1);
        usleep(2000);
    }
    release();
    for (int i = 0; i < GATES; i++) {
        call_result_wait(&many[i]);
        assert_int_equal(many[i].outcome.kind, KUBE_ANSWERED);
        call_result_fini(&many[i]);
    }
}

/* libcurl uses none that was idle for two minutes: a burst after that would open one for each. */
static void F109_calls__after_connections_were_idle_for_long__open_one_at_a_time_again(void **state)
{
    struct clock_manual clock;
    unsigned begun_n;
    clock_manual_init(&clock, NS_PER_S, 0);
    f.options.clock = &clock.clock;
    connect_client();
    submit_gates();
    let_through(&clock, GATES);
    hold_back();
    submit_gates(); /* each on one that is idle */
    wait_until_seen(2 * GATES);
    let_through(&clock, 2 * GATES);
    hold_back();
    clock_manual_advance_ms(&clock, 120 * 1000);
    submit_gates();
    wait_until_seen(2 * GATES + 1);
    usleep(100000);
    begun_n = seen() - 2 * GATES;
    let_through(&clock, 3 * GATES);
    kube_client_stop(f.client);
    assert_int_equal(begun_n, 1);
}

/* Calls that wait for a connection are begun when there is one, without an answer to any. */
static void calls__at_a_slow_server__get_a_connection_each(void **state)
{
    f.options.connections_max = 8;
    connect_client();
    submit_many("/gate");
    wait_until_seen(8);
    assert_int_equal(http_server_connections(f.server), 8);
    release();
    for (int i = 0; i < MANY; i++) {
        call_result_wait(&many[i]);
        assert_int_equal(many[i].outcome.kind, KUBE_ANSWERED);
        call_result_fini(&many[i]);
    }
}

struct chain {
    struct call_result last;
    int left;
};

static void on_chain(void *ctx, const struct kube_response *response)
{
    struct chain *chain = ctx;
    struct kube_request r = get("/x");
    if (chain->left-- == 0) {
        call_result_done(&chain->last, response);
        return;
    }
    BUG_ON(kube_client_submit(f.client, &r, on_chain, chain, NULL) != 0);
}

static void calls__submitted_from_a_callback__run(void **state)
{
    struct kube_request r = get("/x");
    struct chain chain = {.left = 5};
    connect_client();
    call_result_init(&chain.last);
    assert_int_equal(kube_client_submit(f.client, &r, on_chain, &chain, NULL), 0);
    call_result_wait(&chain.last);
    call_result_fini(&chain.last);
    assert_int_equal(f.seen_n, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
        TEST(call__post__sends_what_an_api_server_needs),
        TEST(call__statuses__are_answers),
        TEST(call__retry_after__is_read),
        TEST(call__redirect__is_not_followed),
        TEST(call__error_reply__is_described),
        TEST(call__refused_connection__was_not_sent),
        TEST(call__connection_dropped_behind_the_request__is_lost),
        TEST(call__lost_on_a_reused_connection_then_refused__is_lost),
        TEST(call__lost_on_a_reused_connection_then_answered__says_so),
        TEST(call__that_writes_and_may_not__is_refused),
        TEST(call__that_may_not_write_any_more_when_it_leaves__was_not_sent),
        TEST(call__lost_and_not_allowed_a_second_time__is_lost),
        TEST(call__reply_cut_off__is_lost),
        TEST(call__garbage_reply__is_lost),
        TEST(call__no_answer_before_the_deadline__is_timed_out),
        TEST(call__reply_above_the_cap__is_too_large),
        TEST(call__line_breaks__are_refused),
        TEST(calls__200_at_once__share_8_connections),
        TEST(calls__while_a_connection_opens__wait_for_it),
        TEST(F122_call__given_up__what_the_kernel_has_left_of_it_is_not_sent),
        TEST(F109_calls__after_connections_were_idle_for_long__open_one_at_a_time_again),
        TEST(calls__at_a_slow_server__get_a_connection_each),
        TEST(F116_call__beside_many_in_flight__looks_at_its_own_socket_alone),
        TEST(F133_call__kernel_has_no_memory_to_wait_with__waits_and_goes_on),
        TEST(calls__waiting_beyond_the_deadline__were_not_sent),
        TEST(calls__above_the_limit__are_refused),
        TEST(calls__stop__calls_everybody_back_once),
        TEST(calls__submitted_from_a_callback__run),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
