/* What /state tells of the pods that are expected, and of what is scarce. */
#include "core/placement/pack.h"
#include "core/placement/plan.h"
#include "routes/support/tested_cluster.h"
#include "routes/support/schema.h"

#include <stdio.h>

/* "demandHistogram" as text, of the summary and of the whole document, which must say the same and keep the
 * schema. */
static char *demand_histogram_text(void)
{
    cJSON *schema = schema_load(FGPU_SOURCE_DIR "/config/state.schema.json");
    cJSON *all = cluster_state(&cluster, NULL, NULL), *summary;
    struct strbuf out;
    char *text, *again;

    strbuf_init(&out, 1 << 16);
    (void)state_write_summary(&cluster.context, &out);
    summary = json_of(out.p, out.n);
    for (int i = 0; i < 2; i++) {
        const char *why = schema_violation(schema, i == 0 ? all : summary);

        if (why != NULL) {
            fail_msg("%s", why);
        }
    }
    text = cJSON_PrintUnformatted(json_at(all, "summary.demandHistogram"));
    again = cJSON_PrintUnformatted(json_at(summary, "summary.demandHistogram"));
    assert_string_equal(text, again);
    cJSON_free(again);
    cJSON_Delete(all);
    cJSON_Delete(summary);
    cJSON_Delete(schema);
    strbuf_fini(&out);
    return text;
}

static void expect_demand_histogram(const char *want)
{
    char *got = demand_histogram_text();

    assert_string_equal(got, want);
    cJSON_free(got);
}

/* A decision by the default strategies. */
static void decide(const char *node)
{
    struct gpu_request w = {.count = 1, .kind = GPU_REQUEST_MILLI, .milli = 100, .phases = 1};
    const struct demand d = {.dialect = "native", .gpu_request_n = 1, .gpu_requests = &w};
    const struct view_pod pod = {.uid = STR("me"), .namespace_ = STR("ns"), .demand = &d};
    const struct str name = str_of(node);
    struct store_pack_answer answer;
    struct pack_plans plans;
    struct arena a;

    assert_int_equal(pack_plans_init(&plans, policy_defaults(), NULL), 0);
    arena_init(&a, 1 << 20);
    assert_int_equal(store_pack(cluster.store, &a, &pod, &plans, NULL, 0, &name, 1, &answer, NULL), 0);
    assert_int_equal(answer.results[0].verdict, VERDICT_FITS);
    arena_fini(&a);
}

static void add_pod(const char *prefix, int i, const char *node, int32_t milli, int32_t cpu)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%d", prefix, i);
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "ns",
                                             .name = name,
                                             .node = node,
                                             .milli = milli,
                                             .mem_mib = milli,
                                             .cpu_only = milli == 0,
                                             .host = {cpu, 0}});
}

static void demand_histogram__nothing_yet__empty(void **state)
{
    expect_demand_histogram("{\"arrived\":0,\"departed\":0,\"churnPermille\":0,\"kinds\":0,\"weight\":0,"
                            "\"shapes\":[]}");
}

static void demand_histogram__pods_of_several_kinds__told_by_frequency(void **state)
{
    cluster_node(&cluster,
                 &(struct node_spec){.name = "n1", .gpu_n = 2, .mem_mib = 8192, .source = INVENTORY_ANNOTATION});
    add_pod("light", 0, "n1", 0, 4000);
    add_pod("light", 1, "n1", 0, 4000);
    add_pod("light", 2, "n1", 0, 4000);
    add_pod("light", 3, "n1", 0, 4000);
    add_pod("share", 0, NULL, 300, 1000);
    add_pod("share", 1, NULL, 300, 1000);
    add_pod("share", 2, NULL, 300, 1000);
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "ns", .name = "whole", .whole_n = 2});
    expect_demand_histogram("{\"arrived\":8,\"departed\":0,\"churnPermille\":0,\"kinds\":3,\"weight\":8192,\"shapes\":["
                            "{\"permille\":500,\"weight\":4096,\"count\":0,\"cpuMilli\":4000},"
                            "{\"permille\":375,\"weight\":3072,\"count\":1,\"kind\":\"both\",\"milli\":300,\"memMib\":"
                            "300,"
                            "\"cpuMilli\":1000},"
                            "{\"permille\":125,\"weight\":1024,\"count\":2,\"plugin\":true}]}");
}

static void demand_histogram__more_kinds_than_are_told__the_first_32(void **state)
{
    char *text;
    cJSON *demand_histogram;

    for (int i = 0; i < 64; i++) {
        add_pod("p", i, NULL, 100 + i, 0);
    }
    text = demand_histogram_text();
    demand_histogram = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(json_at(demand_histogram, "shapes")), 32);
    assert_int_equal(json_number_at(demand_histogram, "kinds"), 64);
    assert_int_equal(json_number_at(demand_histogram, "weight"), 64 * 1024);
    cJSON_Delete(demand_histogram);
    cJSON_free(text);
}

static void prices__after_a_decision_of_rsp__told(void **state)
{
    char *text;
    cJSON *demand_histogram;

    cluster_node(&cluster,
                 &(struct node_spec){.name = "n1", .gpu_n = 8, .mem_mib = 8192, .source = INVENTORY_ANNOTATION});
    for (int i = 0; i < 20; i++) {
        add_pod("p", i, NULL, 600, 0);
    }
    text = demand_histogram_text();
    assert_null(strstr(text, "prices"));
    cJSON_free(text);
    decide("n1");
    text = demand_histogram_text();
    demand_histogram = cJSON_Parse(text);
    assert_int_equal(json_number_at(demand_histogram, "prices.churnPermille"), 0);
    assert_int_equal(json_number_at(demand_histogram, "prices.unseenPermille"), 29); /* 3 % of what is seen: 3 / 103 */
    assert_int_equal(cJSON_GetArraySize(json_at(demand_histogram, "prices.scarce")), 3);
    /* GPUs with 600 milli, and because somebody may want the machine: eight whole ones, each of
     * them whole */
    assert_non_null(strstr(text, "{\"good\":\"size\",\"nodes\":1,\"milli\":600,\"memMib\":600,\"permille\":1000,"
                                 "\"supplyMilli\":"));
    assert_non_null(strstr(text, "{\"good\":\"places\",\"nodes\":1,\"count\":8,\"milli\":1000,\"permille\":29,"
                                 "\"supplyMilli\":8000,\"pricePermille\":"));
    cJSON_Delete(demand_histogram);
    cJSON_free(text);
}

int main(void)
{
#define TEST(name_) CLUSTER_TEST(name_)
    const struct CMUnitTest tests[] = {
        TEST(demand_histogram__nothing_yet__empty),
        TEST(demand_histogram__pods_of_several_kinds__told_by_frequency),
        TEST(demand_histogram__more_kinds_than_are_told__the_first_32),
        TEST(prices__after_a_decision_of_rsp__told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
