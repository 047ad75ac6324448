/* The document of /state: what stands in it, in which order, and that it keeps its contract. */
#include "routes/support/tested_cluster.h"
#include "routes/support/schema.h"

#include <stdio.h>

static void assert_valid(const cJSON *document)
{
    cJSON *schema = schema_load(FGPU_SOURCE_DIR "/config/state.schema.json");
    const char *why = schema_violation(schema, document);

    if (why != NULL) {
        fail_msg("%s", why);
    }
    cJSON_Delete(schema);
}

/* One of everything that can stand in a state. */
static void fill(struct cluster *c)
{
    cluster_node(c,
                 &(struct node_spec){.name = "n-shared", .gpu_n = 2, .mem_mib = 40960, .source = INVENTORY_ANNOTATION});
    cluster_node(
        c,
        &(struct node_spec){
            .name = "n-gfd", .gpu_n = 1, .mem_mib = 8192, .source = INVENTORY_GFD, .no_uuids = true, .cordoned = true});
    cluster_node(
        c, &(struct node_spec){
               .name = "n-whole", .gpu_n = 2, .mem_mib = 8192, .source = INVENTORY_RESOURCES, .plugin_managed_n = 2});
    cluster_node(c,
                 &(struct node_spec){.name = "n-template", .gpu_n = 1, .mem_mib = 8192, .source = INVENTORY_TEMPLATE});
    cluster_node(c, &(struct node_spec){.name = "n-broken", .note = "fgpu.io/gpus is malformed"});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "b",
                                      .name = "bound",
                                      .node = "n-shared",
                                      .milli = 300,
                                      .mem_mib = 4096,
                                      .uuid = "GPU-n-shared-0",
                                      .decision = "d1"});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "a",
                                      .name = "leaving",
                                      .node = "n-shared",
                                      .milli = 200,
                                      .mem_mib = 1024,
                                      .uuid = "GPU-n-shared-0",
                                      .decision = "d2",
                                      .deleting = true});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "a", .name = "waits", .milli = 100, .mem_mib = 512});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "a", .name = "held", .milli = 500, .mem_mib = 2048});
    cluster_reserve(c, "uid-held", "n-shared", 1, "d3");
    cluster_pod(c, &(struct pod_spec){.namespace_ = "b", .name = "sent", .milli = 100, .mem_mib = 2048});
    cluster_reserve(c, "uid-sent", "n-shared", 1, "d4");
    cluster_op(c, LEDGER_CONFIRM, "uid-sent");
    cluster_pod(
        c, &(struct pod_spec){.namespace_ = "c", .name = "foreign", .node = "n-gfd", .milli = 900, .mem_mib = 1000});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "c", .name = "whole", .node = "n-whole", .whole_n = 1});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "b", .name = "absurd", .defect = DEMAND_FRACTION});
    /* Somebody rewrites the record of a bound pod. */
    cluster_pod(c, &(struct pod_spec){.namespace_ = "c",
                                      .name = "edited",
                                      .node = "n-template",
                                      .milli = 100,
                                      .mem_mib = 100,
                                      .uuid = "GPU-n-template-0",
                                      .decision = "d5"});
    cluster_pod(c, &(struct pod_spec){.namespace_ = "c",
                                      .name = "edited",
                                      .node = "n-template",
                                      .milli = 100,
                                      .mem_mib = 100,
                                      .uuid = "GPU-elsewhere",
                                      .decision = "d5"});
    /* A node that is only known by its pod. */
    cluster_pod(
        c, &(struct pod_spec){.namespace_ = "c", .name = "early", .node = "n-unseen", .milli = 100, .mem_mib = 100});
}

static const cJSON *node_of(const cJSON *state, const char *name)
{
    const cJSON *node;

    cJSON_ArrayForEach(node, json_at(state, "nodes"))
    {
        if (strcmp(json_text_at(node, "name"), name) == 0) {
            return node;
        }
    }
    fail_msg("no node %s", name);
    return NULL;
}

/* "namespace/pod:state ..." of the allocations of one GPU. */
static const char *allocations(const cJSON *list)
{
    static char text[1024];
    size_t n = 0;
    const cJSON *a;

    text[0] = '\0';
    cJSON_ArrayForEach(a, list)
    {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s/%s:%s", n > 0 ? " " : "", json_text_at(a, "namespace"),
                              json_text_at(a, "pod"), json_text_at(a, "state"));
        assert_true(n < sizeof(text));
    }
    return text;
}

/* "namespace/pod ..." */
static const char *pods(const cJSON *list)
{
    static char text[1024];
    size_t n = 0;
    const cJSON *p;

    text[0] = '\0';
    cJSON_ArrayForEach(p, list)
    {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s/%s", n > 0 ? " " : "",
                              cJSON_HasObjectItem(p, "pod") ? json_text_at(p, "namespace") : "",
                              cJSON_HasObjectItem(p, "pod") ? json_text_at(p, "pod") : json_text_at(p, "node"));
        assert_true(n < sizeof(text));
    }
    return text;
}

static const char *node_names(const cJSON *state)
{
    static char text[1024];
    size_t n = 0;
    const cJSON *node;

    text[0] = '\0';
    cJSON_ArrayForEach(node, json_at(state, "nodes"))
    {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? " " : "", json_text_at(node, "name"));
        assert_true(n < sizeof(text));
    }
    return text;
}

static void document__one_pod__golden(void **state)
{
    static const char golden[] =
        "{\"apiVersion\":\"state.fgpu.io/"
        "v1alpha1\",\"kind\":\"State\",\"metadata\":{\"generation\":6,"
        "\"asOf\":\"2026-11-20T08:00:00.123Z\",\"podsResourceVersion\":\"101\","
        "\"nodesResourceVersion\":\"77\","
        "\"ready\":true,\"leader\":true,\"config\":{\"hash\":\"0123456789abcdef\",\"generation\":1}"
        ",\"signing\":{\"mode\":\"off\",\"signsWith\":\"\",\"publicKeys\":[],\"unverified\":0,\"refuted\":0,"
        "\"ignored\":0}"
        ","
        "\"version\":\"v9.8.7\"},\"summary\":{\"nodes\":1,\"gpus\":1,\"overCommittedGpus\":0,"
        "\"doubleBookedGpus\":0,\"foreignDecisions\":0,"
        "\"closedNodes\":0,\"podsOnClosedNodes\":0,\"turnedAwayPods\":0,\"uncountedNodes\":0,"
        "\"unmeasuredNodes\":0,\"elsewhereNodes\":0,"
        "\"milli\":{\"capacity\":1000,\"charged\":300,\"free\":700},"
        "\"memMib\":{\"capacity\":81920,\"charged\":4096,\"free\":77824},"
        "\"pods\":{\"pending\":0,\"reserved\":0,\"confirmed\":0,\"bound\":1,\"foreign\":0},"
        "\"tenants\":[],\"bindsInFlight\":0,\"nodesInDoubt\":0,\"timeWindows\":{\"active\":[],\"next\":[],\"at\":\"\"},"
        "\"poolCommands\":[]"
        ","
        "\"changeOvers\":[]"
        ","
        "\"unreadable\":{\"count\":0,\"more\":false,\"objects\":[]},"
        "\"demandHistogram\":{\"arrived\":1,\"departed\":0,\"churnPermille\":0,\"kinds\":1,\"weight\":1024,\"shapes\":["
        "{\"permille\":1000,\"weight\":1024,\"count\":1,\"kind\":\"both\",\"milli\":300,\"memMib\":4096}]},"
        "\"mix\":{\"arrived\":1,\"departed\":0,\"churnPermille\":0,\"kinds\":1,\"weight\":1024,\"shapes\":["
        "{\"permille\":1000,\"weight\":1024,\"count\":1,\"kind\":\"both\",\"milli\":300,\"memMib\":4096}]}},"
        "\"nodes\":[{\"name\":\"n1\",\"uid\":\"uid-n1\",\"described\":true,"
        "\"schedulable\":true,\"closed\":false,\"dialects\":[\"native\"],\"source\":\"annotation\",\"note\":\"\","
        "\"overCommitMilli\":{\"compute\":1000,\"memory\":1000},\"memoryOnly\":\"share\","
        "\"handOff\":\"downward-api\",\"gpus\":["
        "{\"uuid\":\"GPU-n1-0\",\"index\":0,\"model\":\"A100\",\"healthy\":true,\"lost\":false,"
        "\"exclusive\":false,\"overCommitted\":false,"
        "\"milli\":{\"capacity\":1000,\"charged\":300,\"free\":700},"
        "\"memMib\":{\"capacity\":81920,\"charged\":4096,\"free\":77824},"
        "\"slots\":{\"capacity\":16,\"charged\":1,\"free\":15},\"baseMemMib\":81920,"
        "\"allocations\":[{\"namespace\":"
        "\"ns\","
        "\"pod\":\"p\",\"uid\":\"uid-p\",\"container\":\"main\",\"init\":false,\"milli\":300,"
        "\"memMib\":4096,\"kind\":\"both\","
        "\"state\":\"bound\",\"since\":\"2026-11-20T08:00:00.123Z\",\"decision\":\"d1\","
        "\"dialect\":\"native\"}]}]}],\"conflicts\":[],\"incidents\":[],\"pending\":[],\"decisions\":[],"
        "\"configuration\":"
        "{\"apiVersion\":\"fgpu.io/v1alpha1\",\"kind\":\"FgpuConfiguration\",";
    char *text;

    cluster_node(&cluster,
                 &(struct node_spec){.name = "n1", .gpu_n = 1, .mem_mib = 81920, .source = INVENTORY_ANNOTATION});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "ns",
                                             .name = "p",
                                             .node = "n1",
                                             .milli = 300,
                                             .mem_mib = 4096,
                                             .uuid = "GPU-n1-0",
                                             .decision = "d1"});
    text = cluster_state_text(&cluster, NULL, NULL);
    assert_memory_equal(text, golden, sizeof(golden) - 1);
    free(text);
}

static void document__one_of_everything__keeps_the_schema(void **state)
{
    const struct pod odd = {.namespace_ = STR("ns"), .name = STR("large"), .uid = STR("uid-7")};
    cJSON *json;

    fill(&cluster);
    cluster.context.unreadable = unreadable_new();
    unreadable_note(cluster.context.unreadable, &(struct kube_object){.resource = KUBE_PODS, .pod = &odd},
                    "9000000 bytes of JSON", 1795161600123);
    json = cluster_state(&cluster, NULL, NULL);
    assert_valid(json);
    assert_string_equal(json_at(json, "summary.unreadable.objects.0.name")->valuestring, "large");
    assert_string_equal(json_at(json, "summary.unreadable.objects.0.why")->valuestring, "9000000 bytes of JSON");
    cJSON_Delete(json);
    unreadable_free(cluster.context.unreadable);
}

/* The checker itself: what must not pass does not. */
static void schema__spoilt_documents__refused(void **state)
{
    static const struct {
        const char *at, *key, *json, *text;
    } rows[] = {
        {"", "kind", "\"Pod\"", "/kind"},
        {"", "surprise", "1", "surprise is not described"},
        {"summary", "mix", "{}", "/summary: mix"},
        {"metadata", "generation", "-1", "/metadata/generation"},
        {"metadata", "asOf", "\"yesterday\"", "/metadata/asOf"},
        {"metadata", "ready", "\"true\"", "/metadata/ready"},
        {"nodes.1", "source", "\"guess\"", "/nodes/1/source"},
        {"nodes.1", "name", "\"\"", "/nodes/1/name"},
        {"nodes.3.gpus.0.allocations.0", "state", "\"unknown\"", "/nodes/3/gpus/0/allocations/0/state"},
        {"nodes.3.gpus.0", "milli", "{\"capacity\":1.5,\"charged\":0,\"free\":0}", "/nodes/3/gpus/0/milli/capacity"},
    };
    cJSON *schema = schema_load(FGPU_SOURCE_DIR "/config/state.schema.json");

    fill(&cluster);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cJSON *json = cluster_state(&cluster, NULL, NULL);
        cJSON *at = json;
        const char *why;

        if (rows[i].at[0] != '\0') {
            /* json_at hands out const views of what this test owns */
            memcpy(&at, &(const cJSON *){json_at(json, rows[i].at)}, sizeof(at));
        }
        cJSON_DeleteItemFromObjectCaseSensitive(at, rows[i].key);
        if (strcmp(rows[i].key, "surprise") != 0 && schema_violation(schema, json) == NULL) {
            fail_msg("%s may be left out", rows[i].text);
        }
        cJSON_AddItemToObject(at, rows[i].key, cJSON_Parse(rows[i].json));
        why = schema_violation(schema, json);
        if (why == NULL || strstr(why, rows[i].text) == NULL) {
            fail_msg("%s: %s", rows[i].text, why == NULL ? "accepted" : why);
        }
        cJSON_Delete(json);
    }
    cJSON_Delete(schema);
}

static void document__allocation_states__as_documented(void **state)
{
    cJSON *json;

    fill(&cluster);
    json = cluster_state(&cluster, NULL, NULL);
    assert_string_equal(allocations(json_at(node_of(json, "n-shared"), "gpus.0.allocations")),
                        "a/leaving:terminating b/bound:bound");
    assert_string_equal(allocations(json_at(node_of(json, "n-shared"), "gpus.1.allocations")),
                        "a/held:reserved b/sent:bound");
    assert_string_equal(allocations(json_at(node_of(json, "n-gfd"), "gpus.0.allocations")), "c/foreign:foreign");
    assert_string_equal(allocations(json_at(node_of(json, "n-template"), "gpus.0.allocations")), "c/edited:conflict");
    assert_string_equal(allocations(json_at(node_of(json, "n-whole"), "wholeGpus.allocations")), "c/whole:bound");
    assert_string_equal(json_text_at(node_of(json, "n-shared"), "gpus.1.allocations.0.decision"), "d3");
    cJSON_Delete(json);
}

static void document__nodes__say_where_their_gpus_come_from(void **state)
{
    cJSON *json;
    const cJSON *broken, *unseen, *whole;

    fill(&cluster);
    json = cluster_state(&cluster, NULL, NULL);
    assert_string_equal(node_names(json), "n-broken n-gfd n-shared n-template n-unseen n-whole");
    assert_string_equal(json_text_at(node_of(json, "n-shared"), "source"), "annotation");
    assert_string_equal(json_text_at(node_of(json, "n-gfd"), "source"), "gfd");
    assert_string_equal(json_text_at(node_of(json, "n-template"), "source"), "template");
    assert_false(cJSON_IsTrue(json_at(node_of(json, "n-gfd"), "schedulable")));
    assert_string_equal(json_text_at(node_of(json, "n-gfd"), "gpus.0.uuid"), "");
    broken = node_of(json, "n-broken");
    assert_string_equal(json_text_at(broken, "note"), "fgpu.io/gpus is malformed");
    assert_string_equal(json_text_at(broken, "source"), "none");
    assert_int_equal(cJSON_GetArraySize(json_at(broken, "dialects")), 0);
    assert_int_equal(cJSON_GetArraySize(json_at(broken, "gpus")), 0);
    unseen = node_of(json, "n-unseen");
    assert_false(cJSON_IsTrue(json_at(unseen, "described")));
    whole = node_of(json, "n-whole");
    assert_string_equal(json_text_at(whole, "source"), "resources");
    assert_int_equal(json_number_at(whole, "wholeGpus.capacity"), 2);
    assert_int_equal(json_number_at(whole, "wholeGpus.charged"), 1);
    assert_int_equal(json_number_at(whole, "wholeGpus.free"), 1);
    assert_int_equal(json_number_at(whole, "wholeGpus.allocations.0.count"), 1);
    assert_false(cJSON_HasObjectItem(node_of(json, "n-shared"), "wholeGpus"));
    cJSON_Delete(json);
}

static void document__host__what_all_pods_leave_of_the_machine(void **state)
{
    cJSON *json;
    const cJSON *n;

    cluster_node(&cluster, &(struct node_spec){.name = "both", .gpu_n = 1, .mem_mib = 4096, .host = {8000, 1000}});
    cluster_node(&cluster, &(struct node_spec){.name = "cores", .host = {4000, 0}});
    cluster_node(&cluster, &(struct node_spec){.name = "neither"});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "a",
                                             .name = "gpu",
                                             .node = "both",
                                             .milli = 100,
                                             .uuid = "GPU-both-0",
                                             .decision = "d",
                                             .host = {1500, 300}});
    cluster_pod(&cluster, &(struct pod_spec){.name = "light", .node = "both", .cpu_only = true, .host = {500, 900}});
    cluster_pod(&cluster, &(struct pod_spec){.name = "other", .node = "unseen", .cpu_only = true, .host = {500, 900}});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "a", .name = "waits", .milli = 1, .host = {70, 80}});
    json = cluster_state(&cluster, NULL, NULL);
    assert_valid(json);
    assert_string_equal(node_names(json), "both cores neither");
    n = node_of(json, "both");
    assert_int_equal(json_number_at(n, "host.cpuMilli.capacity"), 8000);
    assert_int_equal(json_number_at(n, "host.cpuMilli.free"), 6000);
    assert_int_equal(json_number_at(n, "host.memMib.capacity"), 1000);
    assert_int_equal(json_number_at(n, "host.memMib.free"), -200);
    assert_int_equal(json_number_at(node_of(json, "cores"), "host.cpuMilli.free"), 4000);
    assert_false(cJSON_HasObjectItem(json_at(node_of(json, "cores"), "host"), "memMib"));
    assert_false(cJSON_HasObjectItem(node_of(json, "neither"), "host"));
    assert_int_equal(cJSON_GetArraySize(json_at(json, "pending")), 1);
    assert_int_equal(json_number_at(json, "pending.0.request.cpuMilli"), 70);
    assert_int_equal(json_number_at(json, "pending.0.request.memMib"), 80);
    assert_int_equal(json_number_at(json, "summary.pods.bound"), 1);
    cJSON_Delete(json);
}

static void document__lists_behind_the_nodes__say_what_is_wrong(void **state)
{
    cJSON *json;

    fill(&cluster);
    json = cluster_state(&cluster, NULL, NULL);
    assert_string_equal(pods(json_at(json, "conflicts")), "c/early c/edited c/foreign");
    assert_string_equal(json_text_at(json, "conflicts.1.text"),
                        "the assignment annotation was changed after binding; ignored");
    assert_string_equal(json_text_at(json, "conflicts.1.node"), "n-template");
    assert_string_equal(pods(json_at(json, "pending")), "a/waits b/absurd");
    assert_string_equal(json_text_at(json, "pending.0.defect"), "");
    assert_string_equal(json_text_at(json, "pending.1.defect"), demand_defect_text(DEMAND_FRACTION));
    cJSON_Delete(json);
}

/* The node shrinks and a GPU goes away under running pods: shown as it is, never wrapped. */
static void document__capacity_shrinks__negative_free_lost_gpu_and_conflicts(void **state)
{
    cJSON *json;
    const cJSON *gpu;

    cluster_node(&cluster,
                 &(struct node_spec){
                     .name = "n", .gpu_n = 2, .mem_mib = 8192, .plugin_managed_n = 0, .source = INVENTORY_ANNOTATION});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "a",
                                             .name = "big",
                                             .node = "n",
                                             .milli = 600,
                                             .mem_mib = 8000,
                                             .uuid = "GPU-n-0",
                                             .decision = "d1"});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "a",
                                             .name = "other",
                                             .node = "n",
                                             .milli = 100,
                                             .mem_mib = 100,
                                             .uuid = "GPU-n-1",
                                             .index = 1,
                                             .decision = "d2"});
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "a", .name = "whole", .node = "n", .whole_n = 1});
    cluster_node(&cluster,
                 &(struct node_spec){.name = "n", .gpu_n = 1, .mem_mib = 4096, .source = INVENTORY_ANNOTATION});
    json = cluster_state(&cluster, NULL, NULL);
    assert_valid(json);
    gpu = json_at(json, "nodes.0.gpus.0");
    assert_int_equal(json_number_at(gpu, "memMib.capacity"), 4096);
    assert_int_equal(json_number_at(gpu, "memMib.charged"), 8000);
    assert_int_equal(json_number_at(gpu, "memMib.free"), 4096 - 8000);
    gpu = json_at(json, "nodes.0.gpus.1");
    assert_true(cJSON_IsTrue(json_at(gpu, "lost")));
    assert_int_equal(json_number_at(json, "nodes.0.wholeGpus.free"), -1);
    assert_int_equal(cJSON_GetArraySize(json_at(json, "conflicts")), 3);
    assert_string_equal(json_text_at(json, "conflicts.0.kind"), "node");
    assert_string_equal(json_text_at(json, "conflicts.1.uuid"), "GPU-n-0");
    assert_string_equal(json_text_at(json, "conflicts.1.text"),
                        "more memory is charged than the GPU has; it takes no new pods");
    assert_string_equal(json_text_at(json, "conflicts.2.uuid"), "GPU-n-1");
    assert_int_equal(json_number_at(json, "summary.overCommittedGpus"), 1);
    cJSON_Delete(json);
}

static const struct pod_spec TWICE[] = {
    {.namespace_ = "a",
     .name = "first",
     .node = "n",
     .milli = 700,
     .mem_mib = 100,
     .uuid = "GPU-n-1",
     .index = 1,
     .decision = "d1"},
    {.namespace_ = "b",
     .name = "second",
     .node = "n",
     .milli = 700,
     .mem_mib = 100,
     .uuid = "GPU-n-1",
     .index = 1,
     .decision = "d2"},
};

/* defects.md H8: what must not be stands in a list of its own, with since when and whom it concerns. */
static void document__gpu_given_twice_and_a_foreign_decision__are_incidents(void **state)
{
    static const struct {
        const char *node, *namespace_;
        int n;
    } rows[] = {{NULL, NULL, 2}, {"n", NULL, 2}, {"m", NULL, 0}, {NULL, "a", 1}, {NULL, "b", 2}, {NULL, "c", 0}};
    cJSON *json;

    cluster_node(&cluster,
                 &(struct node_spec){.name = "n", .gpu_n = 2, .mem_mib = 8192, .source = INVENTORY_ANNOTATION});
    cluster_node(&cluster,
                 &(struct node_spec){.name = "m", .gpu_n = 1, .mem_mib = 8192, .source = INVENTORY_ANNOTATION});
    cluster_pod(&cluster, &TWICE[0]);
    cluster_pod(&cluster, &(struct pod_spec){.namespace_ = "b", .name = "second", .milli = 700, .mem_mib = 100});
    cluster_pod(&cluster, &TWICE[1]);
    json = cluster_state(&cluster, NULL, NULL);
    assert_valid(json);
    assert_int_equal(json_number_at(json, "summary.doubleBookedGpus"), 1);
    assert_int_equal(json_number_at(json, "summary.foreignDecisions"), 1);
    assert_string_equal(json_text_at(json, "incidents.0.kind"), "double_booking");
    assert_string_equal(json_text_at(json, "incidents.0.since"), "2026-11-20T08:00:00.123Z");
    assert_string_equal(json_text_at(json, "incidents.0.node"), "n");
    assert_string_equal(json_text_at(json, "incidents.0.uuid"), "GPU-n-1");
    assert_int_equal(json_number_at(json, "incidents.0.index"), 1);
    assert_string_equal(json_text_at(json, "incidents.0.pods.0.pod"), "first");
    assert_string_equal(json_text_at(json, "incidents.0.pods.1.decision"), "d2");
    assert_string_equal(json_text_at(json, "incidents.0.text"),
                        "GPU 1 (GPU-n-1) of node n is given to a/first and b/second, together more than it has");
    assert_string_equal(json_text_at(json, "incidents.1.kind"), "foreign_decision");
    assert_string_equal(json_text_at(json, "incidents.1.pods.0.uid"), "uid-second");
    cJSON_Delete(json);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json = cluster_state(&cluster, rows[i].node, rows[i].namespace_);
        assert_valid(json);
        assert_int_equal(cJSON_GetArraySize(json_at(json, "incidents")), rows[i].n);
        cJSON_Delete(json);
    }
    cluster_op(&cluster, LEDGER_POD_GONE, "uid-second");
    json = cluster_state(&cluster, NULL, NULL);
    assert_int_equal(cJSON_GetArraySize(json_at(json, "incidents")), 0);
    assert_int_equal(json_number_at(json, "summary.doubleBookedGpus"), 0);
    assert_int_equal(json_number_at(json, "summary.foreignDecisions"), 0);
    cJSON_Delete(json);
}

/* A decision that came to a bind. */
static void decide(struct decision_note d, const struct reason_part *parts, size_t part_n, const char *node)
{
    decisions_consider(store_decisions(cluster.store), decision_new(&d, parts, part_n));
    d.node = str_of(node);
    d.id = STR("d1");
    d.at_ms = 1 + d.asked_n;
    decisions_choose(store_decisions(cluster.store), &d);
}

static void document__decisions__say_why_newest_first(void **state)
{
    static const struct {
        const char *node, *namespace_;
        int n;
    } rows[] = {{"n", NULL, 2}, {"m", NULL, 1}, {"x", NULL, 0}, {NULL, "a", 2}, {NULL, "b", 1}, {NULL, "c", 0}};
    const struct reason_part parts[] = {
        {.of = {.kind = SCORE_PART_FILL}, .best = -1280, .next = -2560},
        {.of = {.kind = SCORE_PART_GANGS, .plugin_managed = true, .count = 8, .milli = 1000}, .next = -1280},
    };
    const struct reason_part criteria[] = {{.of = {.kind = SCORE_PART_CRITERION, .which = 1}, .best = 9, .next = 8}};
    struct decision_note d = {.uid = STR("u1"), .namespace_ = STR("a"), .name = STR("p1")};
    cJSON *json;

    decide(d, NULL, 0, "n"); /* nobody asked for an order, and filter was not seen */
    d = (struct decision_note){.uid = STR("u2"),
                               .namespace_ = STR("a"),
                               .name = STR("p2"),
                               .asked_n = 9,
                               .fit_n = 7,
                               .ranked_n = 5,
                               .rule = 3,
                               .rule_text = STR("packing.rules[2] {podSelector: {a: b}}"),
                               .criteria = {strategy_find(STR("rsp"))},
                               .criterion_n = 1,
                               .best = STR("n"),
                               .next = STR("m"),
                               .reason = PACK_BY_SCORE,
                               .best_score = -1280,
                               .next_score = -3840};
    decide(d, parts, ARRAY_LEN(parts), "m");
    d.uid = STR("u3");
    d.namespace_ = STR("b");
    d.criteria[1] = strategy_find(STR("fgd"));
    d.criterion_n = 2;
    d.weights_milli[0] = 700;
    d.weights_milli[1] = 300;
    decide(d, criteria, ARRAY_LEN(criteria), "n");
    json = cluster_state(&cluster, NULL, NULL);
    assert_valid(json);
    assert_int_equal(cJSON_GetArraySize(json_at(json, "decisions")), 3);
    assert_string_equal(json_text_at(json, "decisions.0.uid"), "u3");
    assert_true(cJSON_IsTrue(json_at(json, "decisions.0.weighted")));
    assert_int_equal(json_number_at(json, "decisions.0.weightsMilli.0"), 700);
    assert_string_equal(json_text_at(json, "decisions.0.strategies.1"), "fgd");
    assert_string_equal(json_text_at(json, "decisions.0.parts.0.strategy"), "fgd");
    assert_string_equal(json_text_at(json, "decisions.1.decision"), "d1");
    assert_string_equal(json_text_at(json, "decisions.1.at"), "1970-01-01T00:00:00.010Z");
    assert_string_equal(json_text_at(json, "decisions.1.namespace"), "a");
    assert_string_equal(json_text_at(json, "decisions.1.pod"), "p2");
    assert_string_equal(json_text_at(json, "decisions.1.node"), "m");
    assert_int_equal(json_number_at(json, "decisions.1.asked"), 9);
    assert_int_equal(json_number_at(json, "decisions.1.fit"), 7);
    assert_int_equal(json_number_at(json, "decisions.1.ranked"), 5);
    assert_int_equal(json_number_at(json, "decisions.1.rule"), 3);
    assert_string_equal(json_text_at(json, "decisions.1.ruleText"), "packing.rules[2] {podSelector: {a: b}}");
    assert_string_equal(json_text_at(json, "decisions.1.best"), "n");
    assert_string_equal(json_text_at(json, "decisions.1.next"), "m");
    assert_string_equal(json_text_at(json, "decisions.1.by"), "score");
    assert_int_equal(json_number_at(json, "decisions.1.scores.next"), -3840);
    assert_string_equal(json_text_at(json, "decisions.1.parts.0.part"), "fill");
    assert_int_equal(json_number_at(json, "decisions.1.parts.0.best"), -1280);
    assert_int_equal(json_number_at(json, "decisions.1.parts.1.count"), 8);
    assert_true(cJSON_IsTrue(json_at(json, "decisions.1.parts.1.plugin")));
    assert_string_equal(
        json_text_at(json, "decisions.1.text"),
        "of 9 nodes 7 fit, and kube-scheduler asked for an order of 5; rsp (packing.rules[2] {podSelector: "
        "{a: b}}) put n before m: there it takes 1 milli of what expected pods could use, on m 3; of this what "
        "expected pods "
        "would fill 1 and 2, places for pods of 8 whole GPUs 0 and 1; bind asked for m all the same");
    assert_string_equal(json_text_at(json, "decisions.2.uid"), "u1");
    assert_false(cJSON_HasObjectItem(json_at(json, "decisions.2"), "ranked"));
    cJSON_Delete(json);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json = cluster_state(&cluster, rows[i].node, rows[i].namespace_);
        assert_valid(json);
        assert_int_equal(cJSON_GetArraySize(json_at(json, "decisions")), rows[i].n);
        cJSON_Delete(json);
    }
}

static void document__one_node__that_node_and_the_whole_summary(void **state)
{
    cJSON *json;

    fill(&cluster);
    json = cluster_state(&cluster, "n-template", NULL);
    assert_valid(json);
    assert_string_equal(node_names(json), "n-template");
    assert_string_equal(pods(json_at(json, "conflicts")), "c/edited");
    assert_string_equal(pods(json_at(json, "pending")), "");
    assert_int_equal(json_number_at(json, "summary.nodes"), 5);
    assert_int_equal(json_number_at(json, "summary.gpus"), 6);
    cJSON_Delete(json);
    json = cluster_state(&cluster, "nowhere", NULL);
    assert_valid(json);
    assert_string_equal(node_names(json), "");
    cJSON_Delete(json);
}

static void document__one_namespace__its_pods_and_their_nodes(void **state)
{
    static const struct {
        const char *namespace_, *nodes, *conflicts, *pending;
    } rows[] = {
        {"a", "n-shared", "", "a/waits"},
        {"b", "n-shared", "", "b/absurd"},
        {"c", "n-gfd n-template n-unseen n-whole", "c/early c/edited c/foreign", ""},
        {"none", "", "", ""},
    };

    fill(&cluster);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cJSON *json = cluster_state(&cluster, NULL, rows[i].namespace_);

        assert_valid(json);
        assert_string_equal(node_names(json), rows[i].nodes);
        assert_string_equal(pods(json_at(json, "conflicts")), rows[i].conflicts);
        assert_string_equal(pods(json_at(json, "pending")), rows[i].pending);
        assert_int_equal(json_number_at(json, "summary.nodes"), 5);
        if (strcmp(rows[i].namespace_, "a") == 0) {
            assert_string_equal(allocations(json_at(json, "nodes.0.gpus.0.allocations")), "a/leaving:terminating");
            assert_int_equal(json_number_at(json, "nodes.0.gpus.0.milli.charged"), 500);
        }
        cJSON_Delete(json);
    }
}

static void summary__mixed_cluster__totals_without_lists(void **state)
{
    struct strbuf out;
    cJSON *json;

    fill(&cluster);
    strbuf_init(&out, 1 << 16);
    assert_int_equal(state_write_summary(&cluster.context, &out), store_generation(cluster.store));
    json = json_of(out.p, out.n);
    assert_valid(json);
    assert_false(cJSON_HasObjectItem(json, "nodes"));
    assert_int_equal(json_number_at(json, "summary.nodes"), 5);
    assert_int_equal(json_number_at(json, "summary.gpus"), 6);
    assert_int_equal(json_number_at(json, "summary.pods.pending"), 2);
    assert_int_equal(json_number_at(json, "summary.pods.reserved"), 1);
    assert_int_equal(json_number_at(json, "summary.pods.confirmed"), 1);
    assert_int_equal(json_number_at(json, "summary.pods.bound"), 4);
    assert_int_equal(json_number_at(json, "summary.pods.foreign"), 2);
    assert_int_equal(json_number_at(json, "summary.milli.capacity"), 6000);
    assert_int_equal(json_number_at(json, "summary.demandHistogram.arrived"), 9);
    cJSON_Delete(json);
    strbuf_fini(&out);
}

static void document__before_the_first_list__says_not_ready(void **state)
{
    struct cluster c;
    cJSON *json;

    cluster_init_unsynced(&c);
    c.context.is_ready = NULL; /* the store's own view */
    c.context.cursors = NULL;
    c.context.is_leader = NULL;
    json = cluster_state(&c, NULL, NULL);
    assert_valid(json);
    assert_true(cJSON_IsFalse(json_at(json, "metadata.ready")));
    assert_true(cJSON_IsTrue(json_at(json, "metadata.leader")));
    assert_string_equal(json_text_at(json, "metadata.podsResourceVersion"), "");
    assert_int_equal(cJSON_GetArraySize(json_at(json, "nodes")), 0);
    cJSON_Delete(json);
    cluster_fini(&c);
}

/* What changes while somebody reads does not show: all pieces are of one generation. */
static void document__ledger_changes_while_read__one_generation(void **state)
{
    struct state_document *d;
    struct strbuf out;
    char *before;

    fill(&cluster);
    before = cluster_state_text(&cluster, NULL, NULL);
    d = state_document_new(&cluster.context, STR_NULL, STR_NULL);
    strbuf_init(&out, 1 << 20);
    assert_int_equal(state_document_next(d, &out), STATE_MORE);
    cluster_op(&cluster, LEDGER_POD_GONE, "uid-bound");
    cluster_op(&cluster, LEDGER_NODE_GONE, "n-broken");
    cluster_node(&cluster,
                 &(struct node_spec){.name = "n-0", .gpu_n = 8, .mem_mib = 1, .source = INVENTORY_ANNOTATION});
    while (state_document_next(d, &out) == STATE_MORE) {
    }
    assert_string_equal(out.p, before);
    assert_true(state_document_generation(d) < store_generation(cluster.store));
    state_document_free(d);
    strbuf_fini(&out);
    free(before);
}

static void document__facts_in_another_order__same_text(void **state)
{
    struct cluster a, b;
    char *x, *y;

    cluster_init(&a);
    cluster_init(&b);
    for (int i = 0; i < 40; i++) {
        for (int side = 0; side < 2; side++) {
            char node[16], pod[16], uuid[32];
            int n = side == 0 ? i : 39 - i;

            snprintf(node, sizeof(node), "n%d", n);
            snprintf(pod, sizeof(pod), "p%d", n);
            snprintf(uuid, sizeof(uuid), "GPU-shared-%d", 0);
            cluster_node(side == 0 ? &a : &b,
                         &(struct node_spec){.name = node, .gpu_n = 1, .mem_mib = 100, .source = INVENTORY_ANNOTATION});
            if (i == 0) {
                cluster_node(side == 0 ? &a : &b,
                             &(struct node_spec){
                                 .name = "shared", .gpu_n = 1, .mem_mib = 10000, .source = INVENTORY_ANNOTATION});
            }
            cluster_pod(side == 0 ? &a : &b, &(struct pod_spec){.namespace_ = n % 2 == 0 ? "even" : "odd",
                                                                .name = pod,
                                                                .node = n % 3 == 0 ? NULL : "shared",
                                                                .milli = 1,
                                                                .mem_mib = 1,
                                                                .uuid = n % 3 == 0 ? NULL : uuid,
                                                                .decision = "d"});
        }
    }
    x = cluster_state_text(&a, NULL, NULL);
    y = cluster_state_text(&b, NULL, NULL);
    assert_string_equal(x, y);
    free(x);
    free(y);
    cluster_fini(&a);
    cluster_fini(&b);
}

/* No number with a fraction or an exponent anywhere. */
static void document__numbers__integers_only(void **state)
{
    char *text;
    bool quoted = false;

    fill(&cluster);
    text = cluster_state_text(&cluster, NULL, NULL);
    for (const char *p = text + 1; *p != '\0'; p++) {
        quoted = quoted != (*p == '"' && p[-1] != '\\');
        if (!quoted && p[-1] >= '0' && p[-1] <= '9') {
            assert_null(strchr(".eE", *p));
        }
    }
    assert_false(quoted);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(document__one_pod__golden),
        CLUSTER_TEST(document__one_of_everything__keeps_the_schema),
        CLUSTER_TEST(schema__spoilt_documents__refused),
        CLUSTER_TEST(document__allocation_states__as_documented),
        CLUSTER_TEST(document__nodes__say_where_their_gpus_come_from),
        CLUSTER_TEST(document__host__what_all_pods_leave_of_the_machine),
        CLUSTER_TEST(document__lists_behind_the_nodes__say_what_is_wrong),
        CLUSTER_TEST(document__capacity_shrinks__negative_free_lost_gpu_and_conflicts),
        CLUSTER_TEST(document__gpu_given_twice_and_a_foreign_decision__are_incidents),
        CLUSTER_TEST(document__decisions__say_why_newest_first),
        CLUSTER_TEST(document__one_node__that_node_and_the_whole_summary),
        CLUSTER_TEST(document__one_namespace__its_pods_and_their_nodes),
        CLUSTER_TEST(summary__mixed_cluster__totals_without_lists),
        cmocka_unit_test(document__before_the_first_list__says_not_ready),
        CLUSTER_TEST(document__ledger_changes_while_read__one_generation),
        cmocka_unit_test(document__facts_in_another_order__same_text),
        CLUSTER_TEST(document__numbers__integers_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
