#include "kube/watcher.h"

#include "kube/support/http_server.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A server that holds two pages of pods; its watches send one event each and then stay open, except
 * the first, which breaks off. */
struct fixture {
    struct http_server *server;
    struct kube_client *client;
    struct kube_watcher *watcher;
    struct credentials creds;
    char server_url[64];

    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t changed;
    struct strbuf told;
    unsigned watch_n, list_n, probe_n;
    bool refuse;
    bool check_seen, check_answered, check_over; /* of ResourceSlices of v1 */
};

static struct fixture f;

#define ITEM(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"

static void chunk(const struct http_in *in, const char *text)
{
    char head[32];
    int n = snprintf(head, sizeof(head), "%zx\r\n", strlen(text));
    http_send(in, head, (size_t)n);
    http_send(in, text, strlen(text));
    http_send(in, "\r\n", 2);
}

static bool serve_watch(const struct http_in *in, unsigned nth)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    char event[256];
    snprintf(event, sizeof(event),
             "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"w%u\",\"resourceVersion\":"
             "\"%u\"}}}\n",
             nth, 100 + nth);
    http_send(in, head, sizeof(head) - 1);
    chunk(in, event);
    if (nth > 0) {
        http_hang(in);
    }
    return false;
}

static bool handle(void *ctx, const struct http_in *in)
{
    (void)ctx;
    bool watch = strstr(in->target, "watch=true") != NULL;
    if (strstr(in->target, "sendInitialEvents=true") != NULL) {
        http_reply(in, 422, "", "");
        return true;
    }
    pthread_mutex_lock(&f.lock);
    bool probe = !watch && strstr(in->target, "&resourceVersion=") != NULL;
    unsigned nth = watch ? f.watch_n++ : probe ? f.probe_n++ : f.list_n++;
    bool refuse = f.refuse;
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
    if (refuse) {
        http_reply(in, 503, "Retry-After: 3600\r\n", "");
        return true;
    }
    if (watch) {
        return serve_watch(in, nth);
    }
    http_reply(in, 200, "",
               strstr(in->target, "continue=") == NULL
                   ? "{\"metadata\":{\"resourceVersion\":\"50\",\"continue\":\"c\"},\"items\":[" ITEM("a", "1") "]}"
                   : "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[" ITEM("b", "2") "]}");
    return true;
}

static void set(bool *flag)
{
    pthread_mutex_lock(&f.lock);
    *flag = true;
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
}

static void wait_until(const bool *flag)
{
    pthread_mutex_lock(&f.lock);
    while (!*flag) {
        pthread_cond_wait(&f.changed, &f.lock);
    }
    pthread_mutex_unlock(&f.lock);
}

/* A server that stops serving ResourceSlices of v1 while a check of their watch has not been answered. */
static bool handle_slices(void *ctx, const struct http_in *in)
{
    static const char list[] = "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[]}";
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    bool old = strstr(in->target, "/v1/") != NULL;
    (void)ctx;
    if (strstr(in->target, "sendInitialEvents=true") != NULL) {
        http_reply(in, 422, "", "");
    } else if (strstr(in->target, "watch=true") != NULL) {
        http_send(in, head, sizeof(head) - 1);
        if (old) {
            wait_until(&f.check_seen);
        } else {
            chunk(in, "{\"type\":\"ADDED\",\"object\":" ITEM("s", "51") "}\n");
            http_hang(in);
        }
        return false;
    } else if (strstr(in->target, "resourceVersion=") != NULL) {
        http_reply(in, old ? 404 : 200, "", old ? "" : list);
    } else if (strstr(in->target, "limit=500") != NULL) {
        if (!old) { /* the check ends now, while nobody has asked for another one */
            set(&f.check_answered);
            wait_until(&f.check_over);
        }
        http_reply(in, 200, "", list);
    } else if (!old) {
        http_hang(in);
        return false;
    } else {
        set(&f.check_seen);
        wait_until(&f.check_answered);
        http_reply(in, 200, "", list);
    }
    return true;
}

static void on_observed(void *ctx, const char *verb, const char *resource, int http_status, int64_t duration_ns)
{
    (void)ctx, (void)resource, (void)http_status, (void)duration_ns;
    if (strcmp(verb, "check") == 0) {
        set(&f.check_over);
    }
}

static void tell(const char *what, struct str name)
{
    pthread_mutex_lock(&f.lock);
    strbuf_addf(&f.told, "%s%.*s;", what, STR_ARG(name));
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
}

static void on_begin(void *ctx)
{
    (void)ctx;
    tell("begin", STR_NULL);
}

static void on_object(void *ctx, const struct kube_object *o)
{
    (void)ctx;
    tell("", o->pod != NULL ? o->pod->name : o->slice->name);
}

static void on_end(void *ctx, bool complete, struct str version)
{
    (void)ctx;
    tell(complete ? "complete " : "forget", version);
}

static void on_synced(void *ctx)
{
    (void)ctx;
    tell("synced", STR_NULL);
}

static const struct reflector_handler handler = {
    .list_begin = on_begin,
    .object = on_object,
    .list_end = on_end,
    .synced = on_synced,
};

/* Waits until `text` was told. */
static void wait_for(const char *text)
{
    pthread_mutex_lock(&f.lock);
    while (strstr(f.told.p, text) == NULL) {
        pthread_cond_wait(&f.changed, &f.lock);
    }
    pthread_mutex_unlock(&f.lock);
}

static int setup_server(http_handler *serve)
{
    memset(&f, 0, sizeof(f));
    BUG_ON(pthread_mutex_init(&f.lock, NULL) != 0 || pthread_cond_init(&f.changed, NULL) != 0);
    strbuf_init(&f.told, 64 * 1024);
    f.server = http_server_start(serve, NULL);
    snprintf(f.server_url, sizeof(f.server_url), "http://127.0.0.1:%u", http_server_port(f.server));
    f.creds.server = f.server_url;
    const struct kube_client_options options = {.observe = on_observed};
    BUG_ON(kube_client_new(&f.creds, &options, &f.client, NULL) != 0);
    return 0;
}

static int setup(void **state)
{
    return setup_server(handle);
}

static int setup_slices(void **state)
{
    return setup_server(handle_slices);
}

static int teardown(void **state)
{
    kube_client_free(f.client);
    http_server_stop(f.server);
    strbuf_fini(&f.told);
    pthread_cond_destroy(&f.changed);
    pthread_mutex_destroy(&f.lock);
    return 0;
}

static void start(void)
{
    assert_int_equal(kube_watcher_start(f.client, KUBE_PODS, &handler, NULL, &f.watcher, NULL), 0);
}

static void watcher__lists_watches_and_goes_on_after_a_break(void **state)
{
    start();
    wait_for("w1;");
    kube_watcher_stop(f.watcher);
    assert_string_equal(f.told.p, "begin;a;b;complete 50;synced;w0;w1;");
    assert_int_equal(f.list_n, 2);
    assert_int_equal(f.probe_n, 1);
    assert_int_equal(f.watch_n, 2);
}

static void watcher__relist__lists_again_and_watches_on(void **state)
{
    start();
    wait_for("w1;");
    kube_watcher_relist(f.watcher);
    wait_for("w2;");
    kube_watcher_stop(f.watcher);
    assert_string_equal(f.told.p, "begin;a;b;complete 50;synced;w0;w1;begin;a;b;complete 50;w2;");
}

static void watcher__stats__say_what_happened(void **state)
{
    struct reflector_stats stats = {.synced = false};
    start();
    wait_for("w0;");
    wait_for("w1;");
    kube_watcher_stats(f.watcher, &stats); /* of the first watch at least: the second began after it */
    kube_watcher_stop(f.watcher);
    assert_true(stats.synced);
    assert_int_equal(stats.list_n, 1);
    assert_int_equal(stats.item_n, 2);
    assert_true(stats.event_n >= 1);
    assert_string_equal(stats.resource_version, stats.event_n == 1 ? "100" : "101");
}

static void watcher__stop_while_waiting__returns(void **state)
{
    f.refuse = true;
    start();
    struct reflector_stats stats;
    do {
        sched_yield();
        kube_watcher_stats(f.watcher, &stats);
    } while (stats.list_failed_n == 0);
    kube_watcher_stop(f.watcher); /* the wait would be an hour */
    assert_int_equal(f.list_n, 1);
    kube_watcher_stop(NULL);
}

/* Its outcome belongs to the watch that the check was for: taken for the next one it would end the process. */
static void watcher__slices_of_another_version__forgets_the_check_of_the_old_one(void **state)
{
    const struct kube_watcher_options options = {.stale_after_ms = 60000};
    assert_int_equal(kube_watcher_start(f.client, KUBE_SLICES_V1, &handler, &options, &f.watcher, NULL), 0);
    wait_for(";s;");
    kube_watcher_stop(f.watcher);
    assert_string_equal(f.told.p, "begin;complete 50;synced;begin;complete 50;synced;s;");
}

/* One that was never released can be stopped, too. */
static void watcher__held__asks_for_nothing_before_the_release(void **state)
{
    const struct kube_watcher_options options = {.held = true};

    for (int released = 0; released < 2; released++) {
        assert_int_equal(kube_watcher_start(f.client, KUBE_PODS, &handler, &options, &f.watcher, NULL), 0);
        usleep(30000); /* long enough for a thread that has something to do */
        pthread_mutex_lock(&f.lock);
        assert_int_equal(f.list_n + f.watch_n, 0);
        pthread_mutex_unlock(&f.lock);
        if (released == 1) {
            kube_watcher_release(f.watcher);
            wait_for("synced;");
        }
        kube_watcher_stop(f.watcher);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(watcher__lists_watches_and_goes_on_after_a_break),
        TEST(watcher__relist__lists_again_and_watches_on),
        TEST(watcher__stats__say_what_happened),
        TEST(watcher__stop_while_waiting__returns),
        TEST(watcher__held__asks_for_nothing_before_the_release),
        cmocka_unit_test_setup_teardown(watcher__slices_of_another_version__forgets_the_check_of_the_old_one,
                                        setup_slices, teardown),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
