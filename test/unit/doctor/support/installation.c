#include "doctor/support/installation.h"

#include "support/cmocka.h"

#include <string.h>

#define ARENA_BYTES_MAX ((size_t)64 << 20)
#define NOW_MS INT64_C(1790000000000)
#define NOW "2026-09-21T14:13:20.000Z"
#define EARLIER "2026-09-21T13:13:20.000Z"

static const char state_text[] =
    "{\"apiVersion\":\"state.fgpu.io/v1alpha1\",\"kind\":\"State\",\"metadata\":{\"generation\":7,\"asOf\":\"" NOW
    "\",\"startedAt\":\"" EARLIER "\",\"ready\":true,\"start\":{\"holdOff\":\"none\",\"reason\":\"ended\"},\"signing\":"
    "{\"mode\":\"on\",\"signsWith\":\"k1\","
    "\"publicKeys\":[\"k0\",\"k1\"],\"refuted\":0,\"ignored\":0}},"
    "\"summary\":{\"doubleBookedGpus\":0,\"foreignDecisions\":0},"
    "\"nodes\":[{\"name\":\"gpu-1\",\"described\":true,\"source\":\"annotation\",\"note\":\"\","
    "\"handOff\":\"downward-api\",\"gpus\":[{\"uuid\":\"GPU-a\",\"allocations\":[{\"namespace\":\"team\","
    "\"pod\":\"good\",\"state\":\"bound\"}]}]}],"
    "\"pending\":[],"
    "\"configuration\":{\"apiVersion\":\"fgpu.io/v1alpha1\",\"kind\":\"FgpuConfiguration\",\"serving\":{"
    "\"bindsAllPods\":true},\"resources\":{\"compute\":[{\"name\":\"fgpu.io/gpu-milli\",\"unitsPerGPU\":1000},"
    "{\"name\":\"nvidia.com/vgpu\",\"unitsPerGPU\":1000}]}}}";

static const char metrics_text[] = "# TYPE fgpu_ledger_generation gauge\n"
                                   "fgpu_ledger_generation 7\n"
                                   "fgpu_requests_total{verb=\"bind\",outcome=\"bound\"} 3\n"
                                   "fgpu_requests_total{verb=\"filter\",outcome=\"fits\"} 12\n"
                                   "fgpu_tls_certificate_expiration_timestamp_seconds 0\n"
                                   "# EOF\n";

static const char scheduler_text[] = "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                     "kind: KubeSchedulerConfiguration\n"
                                     "percentageOfNodesToScore: 100\n"
                                     "profiles:\n"
                                     "- schedulerName: fgpu-scheduler\n"
                                     "  pluginConfig:\n"
                                     "  - name: NodeResourcesFit\n"
                                     "    args:\n"
                                     "      ignoredResourceGroups: [fgpu.io]\n"
                                     "      ignoredResources:\n"
                                     "      - nvidia.com/vgpu\n"
                                     "extenders:\n"
                                     "- urlPrefix: http://127.0.0.1:9443/v1\n"
                                     "  filterVerb: filter\n"
                                     "  prioritizeVerb: prioritize\n"
                                     "  bindVerb: bind\n"
                                     "  weight: 200\n"
                                     "  httpTimeout: 10s\n"
                                     "  nodeCacheCapable: true\n"
                                     "  ignorable: false\n"
                                     "  managedResources: []\n";

#define POLICY(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define BINDING(name)                                                                                                  \
    "{\"spec\":{\"policyName\":\"" name                                                                                \
    "\",\"validationActions\":[\"Deny\"],\"paramRef\":{\"name\":\"fgpu-policy\",\"namespace\":\"kube-system\"}}}"

static const char policies_text[] = "{\"items\":[" POLICY("fgpu-frozen-requests") "," POLICY(
    "fgpu-reserved-keys") "," POLICY("fgpu-bindings") "," POLICY("fgpu-unseen-requests") "," POLICY("other") "]}";
static const char bindings_text[] = "{\"items\":[" BINDING("fgpu-frozen-requests") "," BINDING(
    "fgpu-reserved-keys") "," BINDING("fgpu-bindings") "," BINDING("fgpu-unseen-requests") "]}";

#define RECORD(key)                                                                                                    \
    "{\"v\":1,\"id\":\"d1\",\"containers\":[],\"sig\":{\"key\":\"" key                                                 \
    "\",\"value\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\"}}"

void installation_annotate(struct installation *in, struct kv_list *list, const char *key, const char *value)
{
    struct kv *items = ARENA_ARRAY(&in->arena, list->n + 1, struct kv);

    assert_non_null(items);
    if (list->n > 0) {
        memcpy(items, list->items, list->n * sizeof(*items));
    }
    items[list->n] = (struct kv){str_of(key), str_of(value)};
    *list = (struct kv_list){items, list->n + 1};
}

struct pod *installation_pod(struct installation *in, const char *name, const char *limit)
{
    struct container *c = ARENA_NEW(&in->arena, struct container);
    size_t i = 0;

    while (in->pods[i].name.n > 0) {
        i++;
    }
    assert_true(c != NULL && i < ARRAY_LEN(in->pods));
    c->name = STR("main");
    if (limit != NULL) {
        installation_annotate(in, &c->limits, limit, "300");
    }
    in->pods[i] = (struct pod){.namespace_ = STR("team"),
                               .name = str_of(name),
                               .scheduler_name = STR("fgpu-scheduler"),
                               .phase = POD_RUNNING,
                               .created_ms = NOW_MS - 1000,
                               .containers = c,
                               .container_n = 1};
    return &in->pods[i];
}

int installation_set_up(void **state)
{
    static struct installation in;
    struct pod *good;

    in = (struct installation){
        .state = state_text,
        .metrics = metrics_text,
        .scheduler = scheduler_text,
        .policies = policies_text,
        .bindings = bindings_text,
        .runtime_classes = "{\"items\":[{\"handler\":\"nvidia\"}]}",
        .quotas = "{\"items\":[]}",
        .parameters_are_there = true,
        .nodes = {{.name = STR("gpu-1")}},
        .lease = {.is_there = true, .holder = STR("host_1"), .renewed_ms = NOW_MS - 3000, .duration_s = 5},
    };
    arena_init(&in.arena, ARENA_BYTES_MAX);
    installation_annotate(&in, &in.nodes[0].annotations, "fgpu.io/gpus", "{\"v\":1,\"gpus\":[]}");
    good = installation_pod(&in, "good", "fgpu.io/gpu-milli");
    good->node_name = STR("gpu-1");
    installation_annotate(&in, &good->annotations, "fgpu.io/assignment", RECORD("k1"));
    *state = &in;
    return 0;
}

int installation_tear_down(void **state)
{
    struct installation *in = *state;

    config_free(in->facts.config);
    arena_fini(&in->arena);
    return 0;
}

void installation_change(struct installation *in, const char **document, const char *old, const char *new)
{
    const char *at = strstr(*document, old);
    struct str text;

    if (at == NULL) {
        fail_msg("\"%s\" does not stand in: %s", old, *document);
    }
    text = arena_printf(&in->arena, "%.*s%s%s", (int)(at - *document), *document, new, at + strlen(old));
    *document = arena_cstr(&in->arena, text);
}

/* ---- reading and examining ---- */

static void read_documents(struct installation *in)
{
    struct doctor_facts *f = &in->facts;
    struct config_names names = {.strategy_n = 0};
    static const struct str strategies[] = {STR("rsp")};
    struct err err = {.msg = ""};

    names.strategies = strategies;
    names.strategy_n = ARRAY_LEN(strategies);
    f->scheduler_source = STR("scheduler.yaml");
    if (doctor_read_state(f, str_of(in->state), &names, &err) != 0 ||
        doctor_read_metrics(f, str_of(in->metrics), &err) != 0 ||
        scheduler_file_read(f->scheduler_source, str_of(in->scheduler), &in->arena, &f->scheduler, &err) != 0 ||
        doctor_read_policy_bindings(f, str_of(in->bindings), &err) != 0 ||
        doctor_read_runtime_classes(f, str_of(in->runtime_classes), &err) != 0 ||
        doctor_read_quotas(f, str_of(in->quotas), &err) != 0 ||
        (in->policies != NULL && doctor_read_policies(f, str_of(in->policies), &err) != 0)) {
        fail_msg("%s", err.msg);
    }
}

static void read_objects(struct installation *in)
{
    struct doctor_facts *f = &in->facts;

    for (size_t i = 0; i < ARRAY_LEN(in->nodes); i++) {
        assert_true(in->nodes[i].name.n == 0 || doctor_add_node(f, &in->nodes[i]));
    }
    for (size_t i = 0; i < in->node_n; i++) {
        const struct node node = {.name = arena_printf(&in->arena, "plain-%zu", i)};

        assert_true(doctor_add_node(f, &node));
    }
    for (size_t i = 0; i < ARRAY_LEN(in->pods); i++) {
        assert_true(in->pods[i].name.n == 0 || doctor_add_pod(f, &in->pods[i]));
    }
    for (struct doctor_policy_binding *b = f->policy_bindings; b != NULL; b = b->next) {
        b->param_is_there = in->parameters_are_there;
    }
}

static struct str found(const struct installation *in)
{
    static const char *const marks[] = {[DOCTOR_FAULT] = "", [DOCTOR_UNCHECKED] = "-", [DOCTOR_NOTE] = "?"};
    struct arena *a = in->report.arena;
    struct str text = STR("");

    for (const struct doctor_finding *f = in->report.first; f != NULL; f = f->next) {
        assert_true(f->text.n > 0 && f->fix.n > 0);
        text = arena_printf(a, "%.*s%s%s%s", STR_ARG(text), text.n > 0 ? " " : "", f->check, marks[f->severity]);
    }
    return text;
}

static void print_findings(const struct installation *in)
{
    struct strbuf out;

    strbuf_init(&out, 1 << 20);
    doctor_show_table(&in->report, &out);
    print_message("%s", out.p);
    strbuf_fini(&out);
}

void installation_finds(struct installation *in, const char *expected)
{
    struct doctor_facts *f = &in->facts;
    struct str text;

    config_free(f->config); /* of the examination before */
    doctor_facts_init(f, &in->arena);
    f->now_ms = NOW_MS;
    read_documents(in);
    read_objects(in);
    memcpy(f->why_not, in->why_not, sizeof(f->why_not));
    f->kube_minor = in->kube_minor;
    f->api_ahead_ms = in->api_ahead_ms;
    f->fgpu_ahead_ms = in->fgpu_ahead_ms;
    f->lease = in->lease;
    f->verbs_trouble = str_of(in->verbs_trouble);
    f->user = STR("system:serviceaccount:fgpu-system:fgpu");
    doctor_needed_rights(f);
    for (size_t i = 0; i < f->right_n; i++) {
        f->rights[i].is_denied = in->denied != NULL && strcmp(f->rights[i].resource, in->denied) == 0;
    }
    in->report = (struct doctor_report){.facts = f, .arena = &in->arena};
    if (in->skip != NULL) {
        assert_true(doctor_check_find(str_of(in->skip)) >= 0);
        in->report.skipped = UINT64_C(1) << doctor_check_find(str_of(in->skip));
    }
    assert_true(doctor_examine(&in->report));
    text = found(in);
    if (!str_eq_cstr(text, expected)) {
        print_findings(in);
        fail_msg("found \"%.*s\", expected \"%s\"", STR_ARG(text), expected);
    }
}
