#include "kube/lister.h"

#include "kube/support/http_server.h"

#include "base/bug.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server whose replies to lists are given by the test, in order; the last one stays. */
struct reply {
    int status;
    const char *body;
};

static struct fixture {
    struct http_server *server;
    struct kube_client *client;
    struct kube_stream *stream;
    struct credentials creds;
    char server_url[64];
    struct rng rng;
    const struct reply *replies;
    struct strbuf targets; /* of the requests */
    pthread_mutex_t lock;  /* of targets */
    struct strbuf told;
    unsigned wait_n;
    bool stopping;
} f;

static bool handle(void *ctx, const struct http_in *in)
{
    const struct reply *r = f.replies;

    (void)ctx;
    BUG_ON(pthread_mutex_lock(&f.lock) != 0);
    strbuf_addf(&f.targets, "%s\n", in->target);
    BUG_ON(pthread_mutex_unlock(&f.lock) != 0);
    if (f.replies[1].status != 0) {
        f.replies++;
    }
    http_reply(in, r->status, "", r->body);
    return true;
}

/* Pauses take no time here. */
static bool no_wait(void *ctx, int64_t until_ns)
{
    (void)ctx;
    f.wait_n += until_ns > clock_mono_ns(clock_system());
    while (!f.stopping && clock_mono_ns(clock_system()) < until_ns) {
    }
    return !f.stopping;
}

static void on_begin(void *ctx)
{
    (void)ctx;
    strbuf_add_cstr(&f.told, "begin;");
}

static void on_object(void *ctx, const struct kube_object *o)
{
    (void)ctx;
    strbuf_addf(&f.told, "%.*s;", STR_ARG(o->pod != NULL ? o->pod->name : o->node->name));
}

static const struct reflector_handler handler = {.list_begin = on_begin, .object = on_object};

static int setup(void **state)
{
    const struct kube_client_options options = {.user_agent = NULL};

    memset(&f, 0, sizeof(f));
    BUG_ON(pthread_mutex_init(&f.lock, NULL) != 0);
    strbuf_init(&f.told, 64 * 1024);
    strbuf_init(&f.targets, 64 * 1024);
    rng_init(&f.rng, 1);
    f.server = http_server_start(handle, NULL);
    snprintf(f.server_url, sizeof(f.server_url), "http://127.0.0.1:%u", http_server_port(f.server));
    f.creds.server = f.server_url;
    BUG_ON(kube_client_new(&f.creds, &options, &f.client, NULL) != 0);
    BUG_ON(kube_stream_new(f.client, &f.stream, NULL) != 0);
    return 0;
}

static int teardown(void **state)
{
    kube_stream_free(f.stream);
    kube_client_free(f.client);
    http_server_stop(f.server);
    strbuf_fini(&f.told);
    strbuf_fini(&f.targets);
    pthread_mutex_destroy(&f.lock);
    return 0;
}

static struct kube_lister lister(void)
{
    return (struct kube_lister){f.stream, clock_system(), &f.rng, no_wait, NULL};
}

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"1\"}}"
#define PAGE(items, more) "{\"metadata\":{\"resourceVersion\":\"50\"" more "},\"items\":[" items "]}"

static void list__pages__all_items_and_no_watch(void **state)
{
    const struct reply replies[] = {
        {200, PAGE(ITEM("a"), ",\"continue\":\"c\"")}, {200, PAGE(ITEM("b"), "")}, {0, NULL}};
    struct kube_lister l = lister();

    f.replies = replies;
    assert_int_equal(kube_list(&l, KUBE_NODES, &handler, NULL), 0);
    assert_string_equal(f.told.p, "begin;a;b;");
    assert_string_equal(f.targets.p, "/api/v1/nodes?limit=500\n/api/v1/nodes?limit=500&continue=c\n");
}

static void list__expired_in_the_middle__begins_again(void **state)
{
    const struct reply replies[] = {{200, PAGE(ITEM("a"), ",\"continue\":\"c\"")},
                                    {410, "{}"},
                                    {200, PAGE(ITEM("a") "," ITEM("b"), "")},
                                    {0, NULL}};
    struct kube_lister l = lister();

    f.replies = replies;
    assert_int_equal(kube_list(&l, KUBE_PODS, &handler, NULL), 0);
    assert_string_equal(f.told.p, "begin;a;begin;a;b;");
}

static void list__fails_again_and_again__given_up_with_the_reason(void **state)
{
    const struct reply replies[] = {{403, "{}"}, {0, NULL}};
    struct kube_lister l = lister();
    struct err err;

    f.replies = replies;
    assert_int_equal(kube_list(&l, KUBE_PODS, &handler, &err), -ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "cannot list pods: HTTP status 403"));
    assert_int_equal(f.wait_n, KUBE_LISTER_FAILURES_MAX - 1);
}

static void list__stopped__cancelled_without_a_request(void **state)
{
    struct kube_lister l = lister();

    f.stopping = true;
    assert_int_equal(kube_list(&l, KUBE_PODS, &handler, NULL), -ERR_CANCELLED);
    assert_string_equal(f.targets.p, "");
}

static void one__by_name_in_any_phase(void **state)
{
    const struct reply replies[] = {{200, PAGE(ITEM("p"), "")}, {200, PAGE("", "")}, {0, NULL}};
    struct kube_lister l = lister();

    f.replies = replies;
    assert_int_equal(kube_list_one(&l, KUBE_PODS, STR("ns"), STR("p"), &handler, NULL), 0);
    assert_string_equal(f.told.p, "begin;p;");
    assert_int_equal(kube_list_one(&l, KUBE_NODES, STR_NULL, STR("n.example"), &handler, NULL), 0);
    assert_string_equal(f.told.p, "begin;p;begin;");
    assert_string_equal(f.targets.p, "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dp\n"
                                     "/api/v1/nodes?fieldSelector=metadata.name%3Dn.example\n");
}

static void one__name_that_leaves_its_place__refused(void **state)
{
    static const char *const bad[][2] = {
        {"ns", ""}, {"ns", "p,status.phase=Failed"}, {"ns", "p&limit=1"}, {"ns/..", "p"}, {"", "p"}};
    struct kube_lister l = lister();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(kube_list_one(&l, KUBE_PODS, str_of(bad[i][0]), str_of(bad[i][1]), &handler, NULL),
                         -ERR_INVALID);
    }
    assert_string_equal(f.targets.p, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(list__pages__all_items_and_no_watch),
        TEST(list__expired_in_the_middle__begins_again),
        TEST(list__fails_again_and_again__given_up_with_the_reason),
        TEST(list__stopped__cancelled_without_a_request),
        TEST(one__by_name_in_any_phase),
        TEST(one__name_that_leaves_its_place__refused),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
