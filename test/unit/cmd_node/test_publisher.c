/* When the publisher asks and what it writes, against a server that keeps one node. Time is told. */
#include "cmd_node/publisher_internal.h"

#include "base/bug.h"
#include "base/sync.h"
#include "kube/support/http_server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 16
#define TEXT_BYTES 1024
#define REPLY_BYTES (4 * TEXT_BYTES)
#define PATIENCE 60000 /* looks, a millisecond each */

struct fixture {
    struct http_server *server;
    struct credentials credentials;
    struct kube_client *client;
    struct clock_manual clock;
    struct node_options options;
    struct publisher *publisher;

    struct mutex lock;
    char notes[TEXT_BYTES], totals[TEXT_BYTES]; /* of the node, as JSON */
    unsigned version;                           /* of the node; a patch of another one is a conflict */
    char cache[REPLY_BYTES];                    /* the node that a GET from the cache finds; empty: as it is now */
    bool contended;                             /* somebody else writes before each patch */
    int status;                                 /* of the next reply; then 200 again */
    unsigned said_n;
    char said[SAID_MAX][128]; /* "GET", "GET cached", "PATCH annotation", "PATCH totals" */
    unsigned looked_at;       /* how many the test has seen */
};

/* What stands between two texts; the rest is what it was. */
static void take_between(char *to, const char *body, const char *from, const char *end)
{
    const char *start = strstr(body, from), *stop = start == NULL ? NULL : strstr(start, end);

    if (stop != NULL) {
        snprintf(to, TEXT_BYTES, "%.*s", (int)(stop - start - (long)strlen(from)), start + strlen(from));
    }
}

/* The node, as JSON. Under the lock. */
static void write_node(const struct fixture *f, char ret[REPLY_BYTES])
{
    snprintf(ret, REPLY_BYTES,
             "{\"metadata\":{\"resourceVersion\":\"%u\",\"annotations\":%s},"
             "\"status\":{\"capacity\":%s,\"allocatable\":%s}}",
             f->version, f->notes, f->totals, f->totals);
}

/* As the API server does it: a patch without a resourceVersion is meant for whatever there is. Under the lock. */
static bool is_conflict(struct fixture *f, const char *body)
{
    static const char key[] = "\"resourceVersion\":\"";
    const char *at = strstr(body, key);

    f->version += f->contended;
    return at != NULL && strtoul(at + strlen(key), NULL, 10) != f->version;
}

static bool answer(void *ctx, const struct http_in *in)
{
    struct fixture *f = ctx;
    const bool patch = strcmp(in->method, "PATCH") == 0, status = strstr(in->target, "/status") != NULL;
    char text[REPLY_BYTES];
    int code;

    mutex_lock(&f->lock);
    assert_true(f->said_n < SAID_MAX);
    snprintf(f->said[f->said_n++], sizeof(f->said[0]), "%s%s", in->method,
             patch                                             ? status ? " totals" : " annotation"
             : strstr(in->target, "resourceVersion=0") != NULL ? " cached"
                                                               : "");
    code = f->status;
    f->status = 200;
    if (code == 200 && patch && is_conflict(f, in->body)) {
        code = 409;
    } else if (code == 200 && patch && status) {
        f->version++;
        take_between(f->totals, in->body, "\"capacity\":", ",\"allocatable\"");
    } else if (code == 200 && patch) {
        f->version++;
        take_between(f->notes, in->body, "\"annotations\":", "}}");
        strcat(f->notes, "}");
    }
    write_node(f, text);
    if (strstr(in->target, "resourceVersion=0") != NULL && f->cache[0] != '\0') {
        strcpy(text, f->cache);
    }
    mutex_unlock(&f->lock);
    http_reply(in, code, "", text);
    return true;
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    char url[64];
    struct err err;

    mutex_init(&f->lock, "test publisher");
    f->status = 200;
    f->version = 1;
    strcpy(f->notes, "{}");
    strcpy(f->totals, "{}");
    f->server = http_server_start(answer, f);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_server_port(f->server));
    f->credentials.server = strdup(url);
    assert_int_equal(
        kube_client_new(&f->credentials, &(struct kube_client_options){.clock = clock_system()}, &f->client, &err), 0);
    clock_manual_init(&f->clock, 1000 * NS_PER_S, 0);
    f->options = (struct node_options){.node_name = "n1", .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kube_client_stop(f->client);
    publisher_free(f->publisher);
    kube_client_free(f->client);
    http_server_stop(f->server);
    free(f->credentials.server);
    mutex_destroy(&f->lock);
    free(f);
    return 0;
}

static struct fixture *started(void **state, enum node_publish publish, bool stand_back)
{
    struct fixture *f = *state;

    f->options.publish = publish;
    f->options.stand_back = stand_back;
    f->publisher = publisher_new(f->client, &f->options, &f->clock.clock, NULL);
    return f;
}

/* Until the exchanges are over. */
static void settle(struct fixture *f)
{
    bool busy = true;

    for (int looks = 0; busy && looks < PATIENCE; looks++) {
        mutex_lock(&f->publisher->lock);
        busy = f->publisher->in_flight;
        mutex_unlock(&f->publisher->lock);
        if (busy) {
            usleep(1000);
        }
    }
    assert_false(busy);
}

/* These exchanges since the last time, and no other. */
static void expect(struct fixture *f, const char *const *said, unsigned n)
{
    publisher_look(f->publisher);
    settle(f);
    mutex_lock(&f->lock);
    for (unsigned i = 0; i < n && f->looked_at + i < f->said_n; i++) {
        assert_string_equal(f->said[f->looked_at + i], said[i]);
    }
    assert_int_equal(f->said_n, f->looked_at + n);
    f->looked_at = f->said_n;
    mutex_unlock(&f->lock);
}
#define EXPECT_NONE(f) expect((f), NULL, 0)
#define EXPECT(f, ...) expect((f), (const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void devices(struct fixture *f, bool healthy)
{
    const struct device d = {.uuid = STR("GPU-a"),
                             .mem_mib = 1000,
                             .minor = 0,
                             .numa = -1,
                             .slot_n = INT32_MAX,
                             .gpu_index = -1,
                             .start = -1,
                             .healthy = healthy};

    publisher_set_devices(f->publisher, &d, 1);
}

static void has(struct fixture *f, const char *text)
{
    mutex_lock(&f->lock);
    if (strstr(f->notes, text) == NULL && strstr(f->totals, text) == NULL) {
        fail_msg("no %s in %s and %s", text, f->notes, f->totals);
    }
    mutex_unlock(&f->lock);
}

static void node_has(struct fixture *f, char *what, const char *json)
{
    mutex_lock(&f->lock);
    strcpy(what, json);
    f->version++;
    mutex_unlock(&f->lock);
}

static void next_status(struct fixture *f, int status)
{
    mutex_lock(&f->lock);
    f->status = status;
    mutex_unlock(&f->lock);
}

static void publisher__gpus__are_written_when_they_are_handed_out_and_looked_at_again(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_ALL, false);

    devices(f, true); /* nobody hands them out yet */
    publisher_look_now(f->publisher);
    EXPECT_NONE(f);
    publisher_open(f->publisher);
    EXPECT(f, "GET", "PATCH annotation", "PATCH totals");
    has(f, "GPU-a");
    has(f, "\"fgpu.io/gpu-milli\":\"1000\"");
    devices(f, true); /* nothing new */
    clock_manual_advance_ms(&f->clock, 40000);
    EXPECT_NONE(f);
    clock_manual_advance_ms(&f->clock, 40000);
    EXPECT(f, "GET cached");
    node_has(f, f->totals, "{}"); /* somebody removes them */
    clock_manual_advance_ms(&f->clock, 80000);
    EXPECT(f, "GET cached", "PATCH totals");
    node_has(f, f->notes, "{}");
    publisher_look_now(f->publisher);
    EXPECT(f, "GET", "PATCH annotation");
}

static void publisher__gpu_that_falls_ill__is_written_at_once(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_AUTO, false);

    publisher_open(f->publisher);
    devices(f, true);
    EXPECT(f, "GET", "PATCH annotation");
    devices(f, false);
    EXPECT(f, "GET", "PATCH annotation");
    has(f, "\\\"healthy\\\":false");
}

static void publisher__api_server_that_refuses__is_asked_again_later(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_AUTO, false);

    next_status(f, 403);
    publisher_open(f->publisher);
    devices(f, true);
    EXPECT(f, "GET");
    clock_manual_advance_ms(&f->clock, 7000);
    EXPECT_NONE(f);
    next_status(f, 500);
    clock_manual_advance_ms(&f->clock, 6000);
    EXPECT(f, "GET");
    clock_manual_advance_ms(&f->clock, 13000); /* longer each time */
    EXPECT_NONE(f);
    clock_manual_advance_ms(&f->clock, 13000);
    EXPECT(f, "GET", "PATCH annotation");
}

static void publisher__annotation_of_an_admin__stays(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_ALL, false);

    node_has(f, f->notes, "{\"fgpu.io/gpus\":\"{}\"}");
    publisher_open(f->publisher);
    devices(f, true);
    EXPECT(f, "GET");
    clock_manual_advance_ms(&f->clock, 80000); /* seldom */
    EXPECT_NONE(f);
    devices(f, false);
    EXPECT(f, "GET");
    has(f, "{\"fgpu.io/gpus\":\"{}\"}");
}

#define OURS "{\"fgpu.io/gpus\":\"{\\\"v\\\":1,\\\"by\\\":\\\"fgpu-node\\\",\\\"gpus\\\":[{\\\"healthy\\\":true}]}\"}"

/* The cache of an API server may lag behind: there the annotation is still ours. */
static void publisher__annotation_that_an_admin_has_just_overwritten__stays(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_AUTO, false);

    publisher_open(f->publisher);
    devices(f, true);
    EXPECT(f, "GET", "PATCH annotation");
    node_has(f, f->notes, OURS);
    mutex_lock(&f->lock);
    write_node(f, f->cache);
    mutex_unlock(&f->lock);
    node_has(f, f->notes, "{\"fgpu.io/gpus\":\"{}\"}");
    clock_manual_advance_ms(&f->clock, 80000);
    EXPECT(f, "GET cached", "PATCH annotation", "GET");
    has(f, "{\"fgpu.io/gpus\":\"{}\"}");
    clock_manual_advance_ms(&f->clock, 80000); /* seldom */
    EXPECT_NONE(f);
}

static void contend(struct fixture *f, bool contended)
{
    mutex_lock(&f->lock);
    f->contended = contended;
    mutex_unlock(&f->lock);
}

static void publisher__conflicts_without_end__are_left_for_later(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_ALL, false);

    contend(f, true);
    publisher_open(f->publisher);
    devices(f, true);
    EXPECT(f, "GET", "PATCH annotation", "GET", "PATCH annotation", "GET", "PATCH annotation", "GET",
           "PATCH annotation");
    clock_manual_advance_ms(&f->clock, 7000);
    EXPECT_NONE(f);
    contend(f, false);
    clock_manual_advance_ms(&f->clock, 6000);
    EXPECT(f, "GET", "PATCH annotation", "PATCH totals");
}

static void publisher__without_a_driver__closes_what_was_published(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_AUTO, false);

    node_has(f, f->notes, OURS);
    publisher_set_no_driver(f->publisher); /* no runtime has to be there */
    EXPECT(f, "GET", "PATCH annotation");
    has(f, "\\\"healthy\\\":false");
}

static void publisher__that_stands_back__removes_what_was_published(void **state)
{
    struct fixture *f = started(state, NODE_PUBLISH_AUTO, true);

    node_has(f, f->notes, OURS);
    devices(f, true);
    EXPECT(f, "GET", "PATCH annotation");
    has(f, "\"fgpu.io/gpus\":null");
}

int main(void)
{
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(publisher__gpus__are_written_when_they_are_handed_out_and_looked_at_again),
        WITH_SERVER(publisher__gpu_that_falls_ill__is_written_at_once),
        WITH_SERVER(publisher__api_server_that_refuses__is_asked_again_later),
        WITH_SERVER(publisher__annotation_of_an_admin__stays),
        WITH_SERVER(publisher__annotation_that_an_admin_has_just_overwritten__stays),
        WITH_SERVER(publisher__conflicts_without_end__are_left_for_later),
        WITH_SERVER(publisher__without_a_driver__closes_what_was_published),
        WITH_SERVER(publisher__that_stands_back__removes_what_was_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
