/* The operations listener end to end: a real store behind a real server on a free port. */
#include "base/build_info.h"
#include "httpd/support/fixture.h"
#include "obs/catalog.h"
#include "routes/ops.h"
#include "routes/support/cluster.h"
#include "routes/support/schema.h"

#include <stdio.h>
#include <unistd.h>

struct serving {
    struct cluster cluster;
    struct ops ops;
    struct config *config;
    struct config_slot *slot;
    struct httpd_route routes[OPS_ROUTES];
    struct fixture server;
};

static int set_up(void **state)
{
    static struct serving s;

    memset(&s, 0, sizeof(s));
    cluster_init(&s.cluster);
    s.config = config_defaults();
    s.ops.state.store = s.cluster.store;
    s.ops.state.clock = &s.cluster.clock.clock;
    s.slot = config_slot_new(s.config, "fgpu.yaml", 1795161600123);
    s.ops.state.config = s.slot;
    s.ops.state.version = FGPU_VERSION;
    s.ops.config = s.slot;
    s.ops.metrics = catalog_metrics_new();
    metrics_add_collector(s.ops.metrics, ops_collect_ledger, s.cluster.store);
    ops_routes(&s.ops, s.routes);
    fixture_start(&s.server, NULL, s.routes, OPS_ROUTES);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct serving *s = *state;

    fixture_stop(&s->server);
    assert_int_equal(atomic_load(&s->ops.state.reader_n), 0);
    metrics_free(s->ops.metrics);
    config_slot_free(s->slot);
    cluster_fini(&s->cluster);
    return 0;
}

/* One request on a fresh connection, with header lines ("If-None-Match: \"1\"\r\n"). */
static void ask(const struct serving *s, const char *method, const char *path, const char *headers, struct reply *ret)
{
    char head[1024];
    struct client c;

    snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", method, path, headers);
    client_open(&c, s->server.port);
    assert_true(client_text(&c, head));
    assert_true(strcmp(method, "HEAD") == 0 ? client_reply_head(&c, ret) : client_reply(&c, ret));
    client_close(&c);
}

static void send_and_receive(const struct serving *s, const char *text, struct reply *ret)
{
    struct client c;

    client_open(&c, s->server.port);
    assert_true(client_text(&c, text));
    assert_true(client_reply(&c, ret));
    client_close(&c);
}

static const char *etag_line(const struct serving *s)
{
    static char line[64];

    snprintf(line, sizeof(line), "ETag: \"%llu\"", (unsigned long long)store_generation(s->cluster.store));
    return line;
}

static void fill_nodes(struct serving *s, int n)
{
    for (int i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "node-%05d", i);
        cluster_node(&s->cluster,
                     &(struct node_spec){.name = name, .gpu_n = 8, .mem_mib = 81920, .source = INVENTORY_ANNOTATION});
    }
}

/* Pod a/p has half of GPU 3 of node-00001. */
static void bind_half_a_gpu(struct serving *s)
{
    cluster_pod(&s->cluster, &(struct pod_spec){.namespace_ = "a",
                                                .name = "p",
                                                .node = "node-00001",
                                                .milli = 500,
                                                .mem_mib = 1,
                                                .uuid = "GPU-node-00001-3",
                                                .index = 3,
                                                .decision = "d"});
}

/* ---- /state ---- */

static void state__whole__streamed_and_valid(void **state)
{
    struct serving *s = *state;
    struct reply r;
    cJSON *json, *schema;

    fill_nodes(s, 3);
    bind_half_a_gpu(s);
    ask(s, "GET", "/state", "", &r);
    assert_int_equal(r.status, 200);
    assert_true(r.complete);
    assert_true(reply_has(&r, "Transfer-Encoding: chunked"));
    assert_true(reply_has(&r, "Content-Type: application/json"));
    assert_true(reply_has(&r, "Cache-Control: no-cache"));
    assert_true(reply_has(&r, etag_line(s)));
    json = json_of(r.body, r.body_n);
    schema = schema_load(FGPU_SOURCE_DIR "/config/state.schema.json");
    assert_null(schema_violation(schema, json));
    assert_string_equal(json_text_at(json, "nodes.1.gpus.3.allocations.0.pod"), "p");
    assert_true(cJSON_IsTrue(json_at(json, "metadata.ready")));
    cJSON_Delete(schema);
    cJSON_Delete(json);
    reply_fini(&r);
}

static void state__filtered_or_summary__plain_with_a_length(void **state)
{
    static const struct {
        const char *path;
        int node_n; /* -1: no list */
    } rows[] = {
        {"/state?node=node-00001", 1}, {"/state?node=node%2D00001&namespace=a", 1},
        {"/state?namespace=a", 1},     {"/state?namespace=b", 0},
        {"/state?node=nowhere", 0},    {"/state?fields=summary", -1},
    };
    struct serving *s = *state;

    fill_nodes(s, 3);
    bind_half_a_gpu(s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct reply r;
        char length[64];
        cJSON *json;

        ask(s, "GET", rows[i].path, "", &r);
        assert_int_equal(r.status, 200);
        snprintf(length, sizeof(length), "Content-Length: %zu", r.body_n);
        assert_true(reply_has(&r, length));
        assert_true(reply_has(&r, etag_line(s)));
        json = json_of(r.body, r.body_n);
        assert_int_equal(json_number_at(json, "summary.nodes"), 3);
        assert_int_equal(cJSON_HasObjectItem(json, "nodes"), rows[i].node_n >= 0);
        if (rows[i].node_n >= 0) {
            assert_int_equal(cJSON_GetArraySize(json_at(json, "nodes")), rows[i].node_n);
        }
        cJSON_Delete(json);
        reply_fini(&r);
    }
}

static void state__bad_query__400_that_says_what(void **state)
{
    static const struct {
        const char *path, *text;
    } rows[] = {
        {"/state?nodes=a", "unknown parameter \"nodes\"; use node, namespace or fields\n"},
        {"/state?Node=a", "unknown parameter \"Node\"; use node, namespace or fields\n"},
        {"/state?node", "node needs a name; leave it out to get all\n"},
        {"/state?node=a&node=b", "node is given twice\n"},
        {"/state?namespace=", "namespace needs a name; leave it out to get all\n"},
        {"/state?fields=all", "fields can only be \"summary\"\n"},
        {"/state?fields=summary&node=a", "fields=summary is about the whole cluster; leave node and namespace out\n"},
    };
    struct serving *s = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct reply r;

        ask(s, "GET", rows[i].path, "", &r);
        assert_int_equal(r.status, 400);
        assert_true(reply_has(&r, "Content-Type: text/plain; charset=utf-8"));
        assert_true(reply_has(&r, "X-Content-Type-Options: nosniff"));
        assert_string_equal(r.body, rows[i].text);
        reply_fini(&r);
    }
}

static void state__if_none_match__304_until_something_changes(void **state)
{
    static const struct {
        const char *format; /* %llu: the generation */
        int status;
    } rows[] = {
        {"\"%llu\"", 304},
        {"W/\"%llu\"", 304},
        {"\"x\", \"%llu\"", 304},
        {"\"%llu\" , \"y\"", 304},
        {"*", 304},
        {"\"%llu0\"", 200},
        {"%llu", 200},
        {"\"\"", 200},
        {"\"x\"", 200},
    };
    struct serving *s = *state;
    char value[128], header[256];
    unsigned long long generation;
    struct reply r;

    fill_nodes(s, 1);
    generation = (unsigned long long)store_generation(s->cluster.store);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *number = strstr(rows[i].format, "%llu");

        if (number == NULL) {
            snprintf(value, sizeof(value), "%s", rows[i].format);
        } else {
            snprintf(value, sizeof(value), "%.*s%llu%s", (int)(number - rows[i].format), rows[i].format, generation,
                     number + 4);
        }
        snprintf(header, sizeof(header), "If-None-Match: %s\r\n", value);
        for (int full = 0; full < 2; full++) {
            ask(s, full != 0 ? "GET" : "HEAD", full != 0 ? "/state" : "/state?fields=summary", header, &r);
            if (r.status != rows[i].status) {
                fail_msg("%s: %d", value, r.status);
            }
            assert_true(reply_has(&r, etag_line(s)));
            assert_true(r.status == 200 || r.body_n == 0);
            reply_fini(&r);
        }
    }
    snprintf(header, sizeof(header), "If-None-Match: \"%llu\"\r\n", generation);
    cluster_op(&s->cluster, LEDGER_NODE_GONE, "node-00000");
    ask(s, "GET", "/state", header, &r);
    assert_int_equal(r.status, 200);
    assert_true(reply_has(&r, etag_line(s)));
    reply_fini(&r);
}

/* 40,000 GPUs: complete, in order, and no reader is left behind. */
static void state__five_thousand_nodes__streamed_whole(void **state)
{
    enum { NODES = 5000 };
    struct serving *s = *state;
    struct reply r;
    const cJSON *node;
    cJSON *json;
    int i = 0;

    fill_nodes(s, NODES);
    ask(s, "GET", "/state", "", &r);
    assert_true(r.complete);
    json = json_of(r.body, r.body_n);
    cJSON_ArrayForEach(node, json_at(json, "nodes"))
    {
        char name[32];

        snprintf(name, sizeof(name), "node-%05d", i++);
        assert_string_equal(json_text_at(node, "name"), name);
        assert_int_equal(cJSON_GetArraySize(json_at(node, "gpus")), 8);
    }
    assert_int_equal(i, NODES);
    assert_int_equal(json_number_at(json, "summary.gpus"), 8 * NODES);
    cJSON_Delete(json);
    reply_fini(&r);
}

static void wait_for_readers(const struct serving *s, unsigned n)
{
    for (int i = 0; atomic_load(&s->ops.state.reader_n) != n; i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
}

/* Slow readers hold their copies; one too many is told to come back, and a place comes free when
 * one goes. */
static void state__too_many_slow_readers__503_until_one_leaves(void **state)
{
    struct serving *s = *state;
    struct client slow[STATE_READERS_MAX];
    struct reply r;

    fill_nodes(s, 3000); /* more than the buffers of a socket take */
    for (int i = 0; i < STATE_READERS_MAX; i++) {
        client_open(&slow[i], s->server.port);
        assert_true(client_text(&slow[i], "GET /state HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    wait_for_readers(s, STATE_READERS_MAX);
    ask(s, "GET", "/state", "", &r);
    assert_int_equal(r.status, 503);
    assert_true(reply_has(&r, "Retry-After: 1"));
    assert_non_null(strstr(r.body, "4 requests for /state are already running"));
    reply_fini(&r);
    ask(s, "GET", "/state?fields=summary", "", &r);
    assert_int_equal(r.status, 200);
    reply_fini(&r);
    client_close(&slow[0]);
    wait_for_readers(s, STATE_READERS_MAX - 1);
    ask(s, "GET", "/state?node=node-00007", "", &r);
    assert_int_equal(r.status, 200);
    reply_fini(&r);
    for (int i = 1; i < STATE_READERS_MAX; i++) { /* the patient ones get everything */
        assert_true(client_reply(&slow[i], &r));
        assert_true(r.complete);
        cJSON_Delete(json_of(r.body, r.body_n));
        reply_fini(&r);
        client_close(&slow[i]);
    }
    wait_for_readers(s, 0);
}

static void explain__too_many_at_once__503_and_its_place_is_given_back(void **state)
{
    struct serving *s = *state;
    const struct ingest facts = {.store = s->cluster.store, .policy = policy_defaults()};
    const struct rules *rules;
    struct reply r;

    assert_int_equal(rules_new(&facts, 1, NULL, NULL, &rules, NULL), 0);
    s->ops.explain.policies = policy_set_new(rules);
    s->ops.explain.clock = &s->cluster.clock.clock;
    atomic_store(&s->ops.explain.reader_n, EXPLAIN_READERS_MAX);
    for (int i = 0; i < 2; i++) {
        ask(s, "GET", "/v1/explain?pod=a/p", "", &r);
        assert_int_equal(r.status, 503);
        assert_true(reply_has(&r, "Retry-After: 1"));
        assert_non_null(strstr(r.body, "2 explanations are already being made; try again"));
        reply_fini(&r);
    }
    ask(s, "GET", "/v1/explain", "", &r); /* what is wrong with a question is said at once */
    assert_int_equal(r.status, 400);
    reply_fini(&r);
    assert_int_equal(atomic_load(&s->ops.explain.reader_n), EXPLAIN_READERS_MAX);
    atomic_fetch_sub(&s->ops.explain.reader_n, 1); /* one has ended */
    ask(s, "GET", "/v1/explain?pod=a/p", "", &r);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "\"outcome\":\"unknown\""));
    reply_fini(&r);
    assert_int_equal(atomic_load(&s->ops.explain.reader_n), EXPLAIN_READERS_MAX - 1);
    policy_set_free(s->ops.explain.policies);
}

static void whatif__too_many_at_once__503_and_its_place_is_given_back(void **state)
{
    static const char question[] = "POST /v1/whatif HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                   "Content-Length: 2\r\n\r\n{}";
    struct serving *s = *state;
    const struct ingest facts = {.store = s->cluster.store, .policy = policy_defaults()};
    const struct rules *rules;
    struct reply r;

    assert_int_equal(rules_new(&facts, 1, NULL, NULL, &rules, NULL), 0);
    s->ops.whatif.policies = policy_set_new(rules);
    s->ops.whatif.clock = &s->cluster.clock.clock;
    atomic_store(&s->ops.whatif.reader_n, WHATIF_READERS_MAX);
    for (int i = 0; i < 2; i++) {
        send_and_receive(s, question, &r);
        assert_int_equal(r.status, 503);
        assert_true(reply_has(&r, "Retry-After: 1"));
        assert_non_null(strstr(r.body, "2 such questions are already being answered; try again"));
        reply_fini(&r);
    }
    assert_int_equal(atomic_load(&s->ops.whatif.reader_n), WHATIF_READERS_MAX);
    atomic_fetch_sub(&s->ops.whatif.reader_n, 1); /* one has ended */
    send_and_receive(s, question, &r);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.body, "\"outcome\":\"notOurs\""));
    reply_fini(&r);
    assert_int_equal(atomic_load(&s->ops.whatif.reader_n), WHATIF_READERS_MAX - 1);
    policy_set_free(s->ops.whatif.policies);
}

static void history__nobody_keeps_one__404(void **state)
{
    struct serving *s = *state;
    struct reply r;

    ask(s, "GET", "/v1/history", "", &r);
    assert_int_equal(r.status, 404);
    reply_fini(&r);
}

static void state__head__headers_only(void **state)
{
    struct serving *s = *state;
    struct reply r;

    fill_nodes(s, 2);
    ask(s, "HEAD", "/state", "", &r);
    assert_int_equal(r.status, 200);
    assert_true(reply_has(&r, etag_line(s)));
    reply_fini(&r);
    wait_for_readers(s, 0);
}

static void state__other_method__405(void **state)
{
    struct reply r;

    ask(*state, "DELETE", "/state", "", &r);
    assert_int_equal(r.status, 405);
    reply_fini(&r);
}

/* ---- the others ---- */

static void metrics__scraped__ledger_figures(void **state)
{
    static const char *const lines[] = {
        "\nfgpu_ledger_nodes 2\n",
        "\nfgpu_ledger_devices 16\n",
        "\nfgpu_ledger_pods{state=\"bound\"} 1\n",
        "\nfgpu_ledger_pods{state=\"foreign\"} 1\n",
        "\nfgpu_gpu_milli{kind=\"capacity\"} 16000\n",
        "\nfgpu_gpu_milli{kind=\"charged\"} 1300\n",
        "\nfgpu_gpu_memory_bytes{kind=\"capacity\"} 1374389534720\n",
        "\nfgpu_overcommitted_devices 0\n",
        "\nfgpu_build_info{version=\"" FGPU_VERSION "\",",
    };
    struct serving *s = *state;
    struct reply r;

    fill_nodes(s, 2);
    bind_half_a_gpu(s);
    cluster_pod(&s->cluster,
                &(struct pod_spec){.namespace_ = "a", .name = "f", .node = "node-00000", .milli = 100, .mem_mib = 1});
    for (int round = 0; round < 2; round++) { /* gauges are set, not added up */
        ask(s, "GET", "/metrics", "", &r);
        assert_int_equal(r.status, 200);
        assert_true(reply_has(&r, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
            if (strstr(r.body, lines[i]) == NULL) {
                fail_msg("no line %s in %s", lines[i], r.body);
            }
        }
        reply_fini(&r);
    }
    assert_null(strstr(r.head, "chunked"));
}

static void configz__asked__the_configuration_in_effect(void **state)
{
    struct reply r;
    cJSON *json;

    ask(*state, "GET", "/configz", "", &r);
    assert_int_equal(r.status, 200);
    json = json_of(r.body, r.body_n);
    assert_string_equal(json_text_at(json, "componentconfig.kind"), CONFIG_KIND);
    assert_string_equal(json_text_at(json, "componentconfig.apiVersion"), CONFIG_API_VERSION);
    assert_true(cJSON_IsObject(json_at(json, "componentconfig.serving")));
    cJSON_Delete(json);
    reply_fini(&r);
}

static void version__asked__the_keys_of_kube_apiserver(void **state)
{
    static const char *const keys[] = {"major",        "minor",     "gitVersion", "gitCommit",
                                       "gitTreeState", "buildDate", "compiler",   "platform"};
    struct reply r;
    cJSON *json;
    char numbers[64];

    ask(*state, "GET", "/version", "", &r);
    assert_int_equal(r.status, 200);
    json = json_of(r.body, r.body_n);
    assert_int_equal(cJSON_GetArraySize(json), ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_text_at(json, keys[i]);
    }
    assert_string_equal(json_text_at(json, "gitVersion"), FGPU_VERSION);
    assert_string_equal(json_text_at(json, "gitCommit"), build_commit);
    snprintf(numbers, sizeof(numbers), "v%s.%s.", json_text_at(json, "major"), json_text_at(json, "minor"));
    assert_int_equal(strncmp(FGPU_VERSION, numbers, strlen(numbers)), 0);
    assert_int_equal(strncmp(json_text_at(json, "platform"), "linux/", 6), 0);
    assert_true(strlen(json_text_at(json, "compiler")) > 3);
    cJSON_Delete(json);
    reply_fini(&r);
}

static void index__asked__names_every_route(void **state)
{
    struct serving *s = *state;
    struct reply r;

    ask(s, "GET", "/", "", &r);
    assert_int_equal(r.status, 200);
    assert_true(reply_has(&r, "Content-Type: text/plain; charset=utf-8"));
    for (size_t i = 0; i < OPS_ROUTES; i++) {
        assert_non_null(strstr(r.body, s->routes[i].path));
    }
    reply_fini(&r);
    ask(s, "GET", "/nothing", "", &r);
    assert_int_equal(r.status, 404);
    reply_fini(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state__whole__streamed_and_valid),
        TEST(state__filtered_or_summary__plain_with_a_length),
        TEST(state__bad_query__400_that_says_what),
        TEST(state__if_none_match__304_until_something_changes),
        TEST(state__five_thousand_nodes__streamed_whole),
        TEST(state__too_many_slow_readers__503_until_one_leaves),
        TEST(explain__too_many_at_once__503_and_its_place_is_given_back),
        TEST(whatif__too_many_at_once__503_and_its_place_is_given_back),
        TEST(history__nobody_keeps_one__404),
        TEST(state__head__headers_only),
        TEST(state__other_method__405),
        TEST(metrics__scraped__ledger_figures),
        TEST(configz__asked__the_configuration_in_effect),
        TEST(version__asked__the_keys_of_kube_apiserver),
        TEST(index__asked__names_every_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
