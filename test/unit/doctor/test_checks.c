/* Each check in both directions: an installation in which all is right gives nothing, one change gives its finding and
 * no other. */
#include "doctor/support/installation.h"

#include "support/cmocka.h"

#include <string.h>

#define MANAGED                                                                                                        \
    "managedResources: [{name: fgpu.io/gpu-milli}, {name: nvidia.com/vgpu}, {name: fgpu.io/gpu-memory-mib}, "          \
    "{name: fgpu.io/gpu-count}, {name: nvidia.com/gpu}, {name: nvidia.com/gpu.shared}]"
#define PENDING(since, defect)                                                                                         \
    "\"pending\":[{\"namespace\":\"team\",\"pod\":\"waits\",\"since\":\"2026-09-21T" since "Z\",\"defect\":\"" defect  \
    "\"}]"
#define UNSIGNED "{\"v\":1,\"id\":\"d1\",\"containers\":[]}"
#define SIGNED(key)                                                                                                    \
    "{\"v\":1,\"id\":\"d1\",\"containers\":[],\"sig\":{\"key\":\"" key                                                 \
    "\",\"value\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\"}}"

/* ---- texts, and what one change of them gives ---- */

enum document { STATE, METRICS, SCHEDULER, POLICIES, BINDINGS, CLASSES };

struct row {
    enum document document;
    const char *old, *new, *expected;
};

static const char **document_of(struct installation *in, enum document d)
{
    const char **const all[] = {
        [STATE] = &in->state,       [METRICS] = &in->metrics,   [SCHEDULER] = &in->scheduler,
        [POLICIES] = &in->policies, [BINDINGS] = &in->bindings, [CLASSES] = &in->runtime_classes};

    return all[d];
}

static void finds_each(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *state;
        struct installation *in;

        installation_set_up(&state);
        in = state;
        installation_change(in, document_of(in, rows[i].document), rows[i].old, rows[i].new);
        print_message("%s -> %s\n", rows[i].old, rows[i].new);
        installation_finds(in, rows[i].expected);
        installation_tear_down(&state);
    }
}

static void all_is_right__nothing_is_found(void **state)
{
    struct installation *in = *state;

    installation_finds(in, "");
    assert_true(doctor_is_well(&in->report));
}

static void scheduler__one_word_is_wrong__is_found(void **state)
{
    static const struct row rows[] = {
        {SCHEDULER, "weight: 200", "weight: 1", "weight"},
        {SCHEDULER, "weight: 200", "weight: 12", "weight"},
        {SCHEDULER, "weight: 200", "weight: 13", "weight?"},
        {SCHEDULER, "weight: 200", "weight: 120", "weight?"},
        {SCHEDULER, "weight: 200", "weight: 121", ""},
        {SCHEDULER, "  weight: 200\n", "", "weight"},
        {SCHEDULER, "ignorable: false", "ignorable: true", "ignorable"},
        {SCHEDULER, "  ignorable: false\n", "", ""},
        {SCHEDULER, "httpTimeout: 10s", "httpTimeout: 5s", "timeout"},
        {SCHEDULER, "httpTimeout: 10s", "httpTimeout: 5001ms", ""},
        {SCHEDULER, "httpTimeout: 10s", "httpTimeout: 1m0s", ""},
        {SCHEDULER, "  httpTimeout: 10s\n", "", "timeout"},
        {SCHEDULER, "bindVerb: bind", "bindVerb: Bind", "binders"},
        {SCHEDULER, "  bindVerb: bind\n", "", "binders"},
        {SCHEDULER, "extenders:\n", "extenders:\n- {urlPrefix: 'http://other:80', bindVerb: bind}\n", "binders"},
        {SCHEDULER, "extenders:\n", "extenders:\n- {urlPrefix: 'http://other:80', filterVerb: filter}\n", ""},
        {SCHEDULER, "filterVerb: filter", "filterVerb: predicates", "extender"},
        {SCHEDULER, "  filterVerb: filter\n", "", "extender"},
        {SCHEDULER, "  bindVerb: bind\n", "  bindVerb: bind\n  preemptVerb: preempt\n", ""},
        {SCHEDULER, "  bindVerb: bind\n", "  bindVerb: bind\n  preemptVerb: evict\n", "extender"},
        {SCHEDULER, ":9443/v1", ":9442/v1", "extender"},
        {SCHEDULER, "127.0.0.1:9443/v1", "fgpu.fgpu-system.svc:443/v1", ""},
        {SCHEDULER, ":9443/v1", ":9443/v1/", ""},
        {SCHEDULER, ":9443/v1", ":9443", "extender"},
        {SCHEDULER, "http:", "https:", "extender"},
        {SCHEDULER, "  nodeCacheCapable: true\n", "", "extender?"},
        {SCHEDULER, "managedResources: []", MANAGED, "managed-resources"},
        {SCHEDULER, "ignoredResourceGroups: [fgpu.io]", "ignoredResourceGroups: []", "ignored-resources"},
        {SCHEDULER, "      - nvidia.com/vgpu\n", "", "ignored-resources"},
        {SCHEDULER, "percentageOfNodesToScore: 100", "percentageOfNodesToScore: 0", ""},
    };

    finds_each(rows, ARRAY_LEN(rows));
}

static void scheduler__no_extender__is_said_once(void **state)
{
    static const char without[] = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    struct installation *in = *state;

    in->scheduler = without;
    installation_finds(in, "extender ignored-resources");
}

static void scheduler__form_light__names_have_to_be_listed(void **state)
{
    struct installation *in = *state;

    installation_change(in, &in->state, "\"bindsAllPods\":true", "\"bindsAllPods\":false");
    installation_finds(in, "managed-resources");
    installation_change(in, &in->scheduler, "managedResources: []", MANAGED);
    installation_finds(in, "");
    installation_change(in, &in->scheduler, "{name: nvidia.com/vgpu}, ", "");
    installation_finds(in, "managed-resources");
    assert_non_null(strstr(in->report.first->text.p, "nvidia.com/vgpu"));
}

static void scheduler__form_advertised__nodes_need_the_names(void **state)
{
    struct installation *in = *state;

    installation_change(in, &in->scheduler, "ignoredResourceGroups: [fgpu.io]", "ignoredResourceGroups: []");
    installation_annotate(in, &in->nodes[0].allocatable, "fgpu.io/gpu-milli", "1000");
    installation_annotate(in, &in->nodes[0].allocatable, "fgpu.io/gpu-memory-mib", "81920");
    installation_finds(in, "ignored-resources");
    installation_annotate(in, &in->nodes[0].allocatable, "fgpu.io/gpu-count", "1");
    installation_finds(in, "");
}

static void scheduler__samples_nodes__is_noted_where_pods_would_wait(void **state)
{
    struct installation *in = *state;

    in->node_n = 100;
    installation_finds(in, "");
    installation_change(in, &in->scheduler, "percentageOfNodesToScore: 100\n", "");
    installation_finds(in, "node-sampling?"); /* nobody knows the version */
    assert_true(doctor_is_well(&in->report));
    in->kube_minor = 32;
    installation_finds(in, "node-sampling?");
    assert_non_null(strstr(in->report.first->text.p, "before 1.33"));
    in->kube_minor = 33;
    installation_finds(in, "");
    installation_change(in, &in->scheduler, "extenders:\n",
                        "extenders:\n- urlPrefix: http://127.0.0.1:1/v1\n  prioritizeVerb: p\n  weight: 1\n");
    installation_finds(in, "");
    installation_change(in, &in->scheduler, "  prioritizeVerb: p\n", "  prioritizeVerb: p\n  filterVerb: f\n");
    installation_finds(in, "node-sampling?");
    assert_non_null(strstr(in->report.first->text.p, "another extender"));
}

static void election__another_lease_or_other_times__are_found(void **state)
{
    static const char follows[] =
        "\"election\":\"follow-scheduler\",\"lease\":{\"object\":\"fgpu-system/fgpu-scheduler\"},\"serving\":{";
    struct installation *in = *state;

    installation_change(
        in, &in->scheduler, "extenders:\n",
        "leaderElection: {leaderElect: true, resourceNamespace: fgpu-system, resourceName: fgpu-scheduler, "
        "leaseDuration: 5s, renewDeadline: 3s, retryPeriod: 1s}\nextenders:\n");
    installation_change(in, &in->state, "\"serving\":{", follows);
    installation_finds(in, "leader?");
    installation_change(in, &in->scheduler, "resourceName: fgpu-scheduler", "resourceName: other");
    installation_finds(in, "lease leader?");
    installation_change(in, &in->scheduler, "resourceName: other", "resourceName: fgpu-scheduler");
    installation_change(in, &in->scheduler, "renewDeadline: 3s, ", "");
    installation_finds(in, "lease leader?");
    installation_change(in, &in->scheduler, "leaseDuration: 5s, ", "renewDeadline: 3s, leaseDuration: 5s, ");
    installation_change(in, &in->scheduler, "leaderElect: true", "leaderElect: false");
    installation_finds(in, "lease leader?");
}

/* Whoever asks sees who decides, or why nobody does. */
static void election__the_lease_itself__held_expired_or_absent(void **state)
{
    static const struct {
        struct doctor_lease lease;
        int64_t api_ahead_ms;
        const char *found, *text;
    } rows[] = {
        {{true, STR("host_1"), 1790000000000 - 3000, 5},
         0,
         "leader?",
         "host_1 holds the Lease, and renewed it last 2026-09-21T14:13:17"},
        {{true, STR("host_1"), 1790000000000 - 8000, 5},
         0,
         "leader",
         "has expired: host_1 held it for 5 s, and renewed it last 2026-09-21T14:13:12"},
        {{true, STR("host_1"), 1790000000000 - 8000, 5}, -1000, "leader?", "host_1 holds"}, /* by the clock there */
        {{true, STR("host_1"), 0, 5}, 0, "leader", "renewed it last never"},
        {{.is_there = true}, 0, "leader", "nobody holds the Lease"},
        {{.is_there = false}, 0, "leader", "there is no such Lease"},
    };
    struct installation *in = *state;

    installation_change(in, &in->state, "\"serving\":{",
                        "\"election\":\"lease\",\"lease\":{\"object\":\"fgpu-system/fgpu\"},\"serving\":{");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        in->lease = rows[i].lease;
        in->api_ahead_ms = rows[i].api_ahead_ms;
        installation_finds(in, rows[i].found);
        assert_non_null(strstr(in->report.first->text.p, rows[i].text));
        assert_true(str_eq(in->report.first->object, STR("fgpu-system/fgpu")));
        assert_int_equal(doctor_is_well(&in->report), strchr(rows[i].found, '?') != NULL);
    }
    in->why_not[DOCTOR_LEASE] = "you may not";
    installation_finds(in, "leader-");
}

static void election__a_replica_that_follows__is_no_fault(void **state)
{
    struct installation *in = *state;

    installation_change(in, &in->state, "\"ready\":true", "\"ready\":false");
    installation_finds(in, "ledger");
    installation_change(in, &in->state, "\"ready\":false", "\"leader\":false,\"ready\":false");
    installation_finds(in, "election?");
    assert_true(doctor_is_well(&in->report));
}

/* ---- what waits ---- */

static void pods_wait__filter_was_never_called__is_found(void **state)
{
    static const char never[] = "outcome=\"fits\"} 0";
    struct installation *in = *state;

    installation_change(in, &in->state, "\"pending\":[]", PENDING("14:13:00", ""));
    installation_finds(in, "");
    installation_change(in, &in->metrics, "outcome=\"fits\"} 12", never);
    installation_finds(in, "asked");
    installation_change(in, &in->state, "14:13:00", "14:13:15"); /* a moment ago */
    installation_finds(in, "");
    installation_change(in, &in->state, PENDING("14:13:15", ""), PENDING("14:13:00", "unknown size"));
    installation_finds(in, "");
}

static void pods_wait__for_another_scheduler__its_name_is_told(void **state)
{
    struct installation *in = *state;
    struct pod *p = installation_pod(in, "waits", "fgpu.io/gpu-milli");

    p->phase = POD_PENDING;
    p->scheduler_name = STR("default-scheduler");
    installation_change(in, &in->state, "\"pending\":[]", PENDING("14:13:00", ""));
    installation_change(in, &in->metrics, "outcome=\"fits\"} 12", "outcome=\"fits\"} 0");
    installation_finds(in, "asked");
    assert_non_null(strstr(in->report.first->text.p, "default-scheduler"));
}

/* ---- the extender ---- */

static void extender__what_it_says_of_itself__is_found(void **state)
{
    static const struct row rows[] = {
        {STATE, "\"reason\":\"ended\"", "\"reason\":\"noRunObject\"", "start"},
        {STATE, "\"reason\":\"ended\"", "\"reason\":\"forbidden\"", "start"},
        {STATE, "\"reason\":\"ended\"", "\"reason\":\"noWakeObject\"", "start"},
        {STATE, "\"reason\":\"ended\"", "\"reason\":\"running\"", ""},
        {STATE, "\"ready\":true", "\"ready\":false", "ledger"},
        {STATE, "\"doubleBookedGpus\":0", "\"doubleBookedGpus\":1", "ledger"},
        {STATE, "\"foreignDecisions\":0", "\"foreignDecisions\":2", "ledger"},
        {STATE, "\"refuted\":0", "\"refuted\":4", "records?"},
        {METRICS, "seconds 0", "seconds 1789999999", "certificates"},
        {METRICS, "seconds 0", "seconds 1791209599", "certificates"},
        {METRICS, "seconds 0", "seconds 1791209600", ""},
    };

    finds_each(rows, ARRAY_LEN(rows));
}

static void nodes__what_the_extender_says_of_them__is_found(void **state)
{
#define NODE "\"described\":true,"
    static const struct row rows[] = {
        {STATE, NODE, NODE "\"unmeasured\":true,", "inventory"},
        {STATE, NODE, NODE "\"elsewhere\":true,", "two-inventories"},
        {STATE, NODE "\"source\":\"annotation\"", NODE "\"elsewhere\":true,\"source\":\"gfd\"", ""},
        {STATE, NODE, NODE "\"needsAgent\":true,", "agents policies"},
        {STATE, NODE, NODE "\"hostGroup\":{\"name\":\"h\"},", "policies"},
        {STATE, "\"state\":\"bound\"", "\"state\":\"foreign\"", "bypass"},
        {CLASSES, "nvidia", "runc", "runtime-class"},
        {CLASSES, "nvidia", "nvidia-cdi", ""},
    };

    finds_each(rows, ARRAY_LEN(rows));
}

static void nodes__two_have_one_gpu__is_found_unless_they_share_it(void **state)
{
#define SECOND(more)                                                                                                   \
    "\"nodes\":[{\"name\":\"gpu-0\",\"described\":true,\"handOff\":\"nvidia-cdi\"," more                               \
    "\"gpus\":[{\"uuid\":\"GPU-a\"}]},"
#define GROUP "\"hostGroup\":{\"name\":\"h\"},"
    struct installation *in = *state;

    installation_change(in, &in->state, "\"nodes\":[", SECOND(""));
    installation_finds(in, "same-gpu");
    assert_true(str_eq_cstr(in->report.first->object, "GPU GPU-a"));
    assert_non_null(strstr(in->report.first->text.p, "gpu-0, gpu-1"));
    installation_change(in, &in->state, SECOND(""), SECOND(GROUP));
    installation_finds(in, "same-gpu policies"); /* only one of them says so */
    installation_change(in, &in->state, "\"name\":\"gpu-1\",", "\"name\":\"gpu-1\"," GROUP);
    installation_finds(in, "policies");
    installation_change(in, &in->state, "GPU-a", "");
    installation_finds(in, "policies"); /* a GPU without a UUID is like no other */
#undef SECOND
#undef GROUP
}

static void runtime_class__where_nothing_needs_it__is_not_missed(void **state)
{
    struct installation *in = *state;

    in->runtime_classes = "{\"items\":[]}";
    installation_change(in, &in->state, "downward-api", "nvidia-cdi");
    installation_finds(in, "");
}

static void node__looks_as_if_it_had_gpus__and_fgpu_knows_none(void **state)
{
    struct installation *in = *state;

    in->nodes[1].name = STR("gpu-2");
    installation_finds(in, "");
    installation_annotate(in, &in->nodes[1].labels, "nvidia.com/gpu.present", "true");
    installation_finds(in, "inventory");
    assert_true(str_eq_cstr(in->report.first->object, "node gpu-2"));
    in->nodes[1].labels = (struct kv_list){.n = 0};
    installation_annotate(in, &in->nodes[1].allocatable, "nvidia.com/gpu", "0");
    installation_finds(in, "");
    in->nodes[1].allocatable = (struct kv_list){.n = 0};
    installation_annotate(in, &in->nodes[1].allocatable, "nvidia.com/gpu", "8");
    installation_finds(in, "inventory");
}

static void node__its_description_is_refused__the_note_is_told(void **state)
{
    struct installation *in = *state;

    installation_change(in, &in->state, "\"note\":\"\"", "\"note\":\"memMib must be\"");
    installation_finds(in, ""); /* it has GPUs all the same: the note is about less */
    installation_change(in, &in->state,
                        "{\"uuid\":\"GPU-a\",\"allocations\":[{\"namespace\":\"team\",\"pod\":\"good\","
                        "\"state\":\"bound\"}]}",
                        "");
    installation_finds(in, "inventory");
    assert_non_null(strstr(in->report.first->text.p, "memMib must be"));
}

/* ---- agents ---- */

static void agent__runs_on_its_node__is_not_missed(void **state)
{
    struct installation *in = *state;
    struct pod *agent = installation_pod(in, "fgpu-node-x", NULL);

    installation_annotate(in, &agent->labels, "app.kubernetes.io/name", "fgpu-node");
    installation_change(in, &in->state, "\"described\":true,", "\"described\":true,\"needsAgent\":true,");
    installation_change(in, &in->policies, "\"name\":\"other\"", "\"name\":\"fgpu-node\"");
    installation_change(in, &in->bindings, "{\"items\":[",
                        "{\"items\":[{\"spec\":{\"policyName\":\"fgpu-node\",\"validationActions\":[\"Deny\"]}},");
    agent->node_name = STR("gpu-1");
    installation_finds(in, "");
    agent->phase = POD_PENDING;
    installation_finds(in, "agents");
    agent->phase = POD_RUNNING;
    agent->node_name = STR("gpu-0");
    installation_finds(in, "agents");
}

static void doors__what_the_agent_says__is_found(void **state)
{
    static const struct {
        const char *doors, *expected;
    } rows[] = {
        {"\"doors\":[],", ""},
        {"\"doors\":[\"variable\"],", "doors"},
        {"\"doors\":[\"mount\",\"a-later-one\"],", "doors"},
        {"\"doors\":[\"variable\",\"mount\",\"no-validator\"],", "doors doors doors?"},
        {"\"doors\":[\"no-validator\"],", "doors?"},
        {"", "doors-"},
    };
    struct installation *in = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str text = arena_printf(&in->arena, "{\"v\":1,\"by\":\"fgpu-node\",%s\"gpus\":[]}", rows[i].doors);

        in->nodes[0].annotations = (struct kv_list){.n = 0};
        installation_annotate(in, &in->nodes[0].annotations, "fgpu.io/gpus", arena_cstr(&in->arena, text));
        installation_finds(in, rows[i].expected);
    }
}

/* ---- pods ---- */

static void records__by_an_unknown_key_or_by_none__are_found(void **state)
{
    struct installation *in = *state;
    struct pod *p = installation_pod(in, "strange", "fgpu.io/gpu-milli");

    p->node_name = STR("gpu-1");
    installation_annotate(in, &p->annotations, "fgpu.io/assignment", SIGNED("k0"));
    installation_finds(in, "");
    p->annotations = (struct kv_list){.n = 0};
    installation_annotate(in, &p->annotations, "fgpu.io/assignment", SIGNED("k2"));
    installation_finds(in, "records");
    p->annotations = (struct kv_list){.n = 0};
    installation_annotate(in, &p->annotations, "fgpu.io/assignment", UNSIGNED);
    installation_finds(in, "records");
    p->phase = POD_SUCCEEDED;
    installation_finds(in, "");
    p->phase = POD_PENDING;
    p->node_name = STR_NULL; /* a copy of a pod: bind writes another record */
    installation_finds(in, "");
}

static void records__unsigned_ones_that_are_accepted__are_right(void **state)
{
    struct installation *in = *state;
    struct pod *p = installation_pod(in, "old", "fgpu.io/gpu-milli");

    p->node_name = STR("gpu-1");
    installation_annotate(in, &p->annotations, "fgpu.io/assignment", UNSIGNED);
    installation_change(in, &in->state,
                        "\"serving\":", "\"signing\":{\"acceptUnsignedBefore\":\"2026-09-21T14:13:20Z\"},\"serving\":");
    installation_finds(in, "");
    p->created_ms += 2000;
    installation_finds(in, "records");
    installation_change(in, &in->state, "\"mode\":\"on\"", "\"mode\":\"off\"");
    installation_finds(in, "");
}

static void bypass__with_a_record_of_another__is_found_once(void **state)
{
    struct installation *in = *state;

    in->pods[0].annotations = (struct kv_list){.n = 0};
    installation_annotate(in, &in->pods[0].annotations, "fgpu.io/assignment", SIGNED("k2"));
    installation_change(in, &in->state, "\"state\":\"bound\"", "\"state\":\"foreign\"");
    installation_finds(in, "records");
}

static void quotas__requests_by_annotation__are_noted(void **state)
{
    static const char quota[] = "{\"items\":[{\"metadata\":{\"name\":\"q\",\"namespace\":\"team\"},\"spec\":{\"hard\":{"
                                "\"pods\":\"9\",\"requests.fgpu.io/gpu-milli\":\"500\"}}}]}";
    static const char other[] = "{\"items\":[{\"metadata\":{\"name\":\"q\",\"namespace\":\"team\"},\"spec\":{\"hard\":{"
                                "\"pods\":\"9\"}}}]}";
    struct installation *in = *state;
    struct pod *p = installation_pod(in, "notes", NULL);

    in->quotas = quota;
    installation_finds(in, "");
    installation_annotate(in, &p->annotations, "fgpu.io/gpu-fraction", "0.5");
    installation_finds(in, "quotas?");
    in->quotas = other;
    installation_finds(in, "");
    installation_annotate(in, &p->labels, "kueue.x-k8s.io/queue-name", "queue");
    installation_finds(in, "quotas?");
}

/* ---- the rest ---- */

static void rights__one_is_missing__is_named_with_whose_it_is(void **state)
{
    struct installation *in = *state;

    in->denied = "csistoragecapacities";
    installation_finds(in, "rights rights");
    assert_true(str_eq_cstr(in->report.first->object, "user system:serviceaccount:fgpu-system:fgpu"));
    assert_non_null(
        strstr(in->report.first->text.p, "patch csistoragecapacities.storage.k8s.io fgpu-system/fgpu-wake: "));
}

static void rights__of_the_run_object__are_named(void **state)
{
    struct installation *in = *state;

    in->denied = "configmaps";
    installation_finds(in, "rights rights");
    assert_non_null(strstr(in->report.first->text.p, "get configmaps fgpu-system/fgpu-run: "));
}

/* What is off by default has rights of its own, which are named with their folder. */
static void rights__of_options__are_named(void **state)
{
    struct installation *in = *state;

    in->denied = "leases";
    installation_finds(in, "");
    installation_change(in, &in->state, "\"serving\":{", "\"consistency\":\"strict\",\"serving\":{");
    installation_finds(in, "rights rights rights rights rights");
    assert_non_null(strstr(in->report.first->text.p, "get leases.coordination.k8s.io"));
    assert_non_null(strstr(in->report.first->text.p, "no pod with GPUs is bound"));
    assert_non_null(strstr(in->report.first->fix.p, "manifests/strict"));
    installation_change(in, &in->state, "\"consistency\":\"strict\"",
                        "\"election\":\"lease\",\"lease\":{\"object\":\"a/b\"}");
    installation_finds(in, "leader? rights rights rights");
    in->denied = "pods";
    installation_finds(in, "leader? rights rights rights rights");
    installation_change(in, &in->state, "\"election\":\"lease\"",
                        "\"planAhead\":{\"enabled\":true},\"election\":\"none\"");
    installation_finds(in, "rights rights rights rights rights");
    assert_true(in->facts.right_n < DOCTOR_RIGHTS_MAX);
}

static void clocks__apart__are_found_once(void **state)
{
    static const struct {
        int64_t api, fgpu;
        const char *expected;
    } rows[] = {{9000, 0, ""},      {10000, 0, "clocks"}, {0, 10000, "clocks"},    {0, -10000, "clocks"},
                {-9999, -9999, ""}, {0, 9999, ""},        {60000, 60000, "clocks"}};
    struct installation *in = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        in->api_ahead_ms = rows[i].api;
        in->fgpu_ahead_ms = rows[i].fgpu;
        installation_finds(in, rows[i].expected);
    }
}

static void scheduler_tls__not_trusted__is_found(void **state)
{
    struct installation *in = *state;

    in->verbs_trouble = "certificate subject name (x) does not match";
    installation_finds(in, "scheduler-tls");
    assert_non_null(strstr(in->report.first->text.p, "does not match"));
}

static void policies__not_in_force__are_found(void **state)
{
    static const struct row rows[] = {
        {POLICIES, "fgpu-bindings", "fgpu-bandings", "policies"},
        {BINDINGS, "fgpu-bindings", "fgpu-bandings", "policies"},
        {BINDINGS, "Deny", "Audit", "policies"},
    };

    finds_each(rows, ARRAY_LEN(rows));
}

static void policies__without_parameters_or_an_api__are_found(void **state)
{
    struct installation *in = *state;

    in->parameters_are_there = false;
    installation_finds(in, "policies");
    in->policies = NULL; /* before Kubernetes 1.30 */
    installation_finds(in, "policies");
}

/* ---- what was not read ---- */

static void source_missing__its_checks_are_not_made__and_it_is_said(void **state)
{
    struct installation *in = *state;

    in->why_not[DOCTOR_RIGHTS] = "you may not";
    in->denied = "pods";
    installation_finds(in, "rights-");
    assert_false(doctor_is_well(&in->report));
    assert_non_null(strstr(in->report.first->text.p, "you may not"));
    in->skip = "rights";
    installation_finds(in, "");
    assert_true(doctor_is_well(&in->report));
}

static void every_source_missing__every_check_says_so(void **state)
{
    struct installation *in = *state;
    size_t n = 0;

    doctor_facts_init(&in->facts, &in->arena);
    in->report = (struct doctor_report){.facts = &in->facts, .arena = &in->arena};
    assert_true(doctor_examine(&in->report));
    while (doctor_checks[n].name != NULL) {
        n++;
    }
    assert_int_equal(in->report.n[DOCTOR_UNCHECKED], n);
    assert_int_equal(in->report.n[DOCTOR_FAULT], 0);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, installation_set_up, installation_tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(all_is_right__nothing_is_found),
        cmocka_unit_test(scheduler__one_word_is_wrong__is_found),
        ALONE(scheduler__no_extender__is_said_once),
        ALONE(scheduler__form_light__names_have_to_be_listed),
        ALONE(scheduler__form_advertised__nodes_need_the_names),
        ALONE(scheduler__samples_nodes__is_noted_where_pods_would_wait),
        ALONE(election__another_lease_or_other_times__are_found),
        ALONE(election__the_lease_itself__held_expired_or_absent),
        ALONE(election__a_replica_that_follows__is_no_fault),
        ALONE(pods_wait__filter_was_never_called__is_found),
        ALONE(pods_wait__for_another_scheduler__its_name_is_told),
        cmocka_unit_test(extender__what_it_says_of_itself__is_found),
        cmocka_unit_test(nodes__what_the_extender_says_of_them__is_found),
        ALONE(nodes__two_have_one_gpu__is_found_unless_they_share_it),
        ALONE(runtime_class__where_nothing_needs_it__is_not_missed),
        ALONE(node__looks_as_if_it_had_gpus__and_fgpu_knows_none),
        ALONE(node__its_description_is_refused__the_note_is_told),
        ALONE(agent__runs_on_its_node__is_not_missed),
        ALONE(doors__what_the_agent_says__is_found),
        ALONE(records__by_an_unknown_key_or_by_none__are_found),
        ALONE(records__unsigned_ones_that_are_accepted__are_right),
        ALONE(bypass__with_a_record_of_another__is_found_once),
        ALONE(quotas__requests_by_annotation__are_noted),
        ALONE(rights__one_is_missing__is_named_with_whose_it_is),
        ALONE(rights__of_the_run_object__are_named),
        ALONE(rights__of_options__are_named),
        ALONE(clocks__apart__are_found_once),
        ALONE(scheduler_tls__not_trusted__is_found),
        cmocka_unit_test(policies__not_in_force__are_found),
        ALONE(policies__without_parameters_or_an_api__are_found),
        ALONE(source_missing__its_checks_are_not_made__and_it_is_said),
        ALONE(every_source_missing__every_check_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
