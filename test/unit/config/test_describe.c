#include "config/describe.h"

#include "config/support/unit.h"

#include <string.h>

static void describe(const struct config *c, struct strbuf *out)
{
    struct json_writer w;

    strbuf_reset(out);
    json_writer_init(&w, out);
    config_describe(c, &w);
    assert_false(out->overflowed);
}

static struct config *loaded(const char *path)
{
    struct config *c = NULL;
    struct strbuf report;

    strbuf_init(&report, 1 << 20);
    if (config_load(path, &unit_names, &c, &report, NULL) < 0) {
        fail_msg("refused:\n%s", report.p);
    }
    strbuf_fini(&report);
    return c;
}

static void describe__defaults__exact(void **state)
{
    struct config *c = config_defaults();
    struct strbuf out;

    strbuf_init(&out, 1 << 20);
    describe(c, &out);
    expect_text(
        strbuf_view(&out),
        "{\"apiVersion\":\"fgpu.io/v1alpha1\",\"kind\":\"FgpuConfiguration\","
        "\"resources\":{\"compute\":[{\"name\":\"fgpu.io/gpu-milli\",\"unitsPerGPU\":1000}],"
        "\"memory\":[\"fgpu.io/gpu-memory-mib\"],\"count\":[\"fgpu.io/gpu-count\"],"
        "\"whole\":[\"nvidia.com/gpu\",\"nvidia.com/gpu.shared\"],\"plugins\":[],"
        "\"sliceDrivers\":[\"gpu.nvidia.com\",\"gpu.amd.com\",\"gpu.intel.com\"]},\"dialects\":{\"kai\":"
        "\"ignore\"},\"sizes\":{},\"nodeTemplates\":[],"
        "\"devices\":{\"memoryReserve\":\"0\",\"maxSharers\":16,\"memoryOnly\":\"share\","
        "\"qos\":\"fixed-share\",\"lendIdleCompute\":\"allow\","
        "\"handOff\":\"downward-api\",\"overcommit\":{\"compute\":\"1.0\",\"memory\":\"1.0\"},\"overrides\":[]},"
        "\"packing\":{\"nodeStrategy\":\"rsp\",\"deviceStrategy\":\"rsp\",\"rules\":[],\"candidates\":"
        "100,"
        "\"hold\":\"3s\",\"candidate\":{\"nodeStrategy\":\"none\",\"deviceStrategy\":\"none\"}},"
        "\"planAhead\":{\"enabled\":false},\"tenants\":[],"
        "\"nodePools\":[],\"changeOvers\":[],\"timeWindows\":[],\"timeWindowNotice\":\"10m\","
        "\"serving\":{\"verbsAddress\":\"127.0.0.1:9443\",\"opsAddress\":\"127.0.0.1:9442\","
        "\"opsAuthorization\":\"remote\","
        "\"opsAllowedHosts\":[],"
        "\"healthAddress\":\"127.0.0.1:9441\",\"metricsAddress\":\"none\",\"bindsAllPods\":false,\"tls\":{\"certFile\":"
        "\"\",\"keyFile\":"
        "\"\",\"clientCAFile\":\"\","
        "\"allowedNames\":[\"system:kube-scheduler\"],\"onLoopback\":\"plain\"}},\"election\":\"none\","
        "\"lease\":{\"object\":\"fgpu-system/"
        "fgpu-leader\",\"schedulerHost\":\"\",\"leaseDuration\":\"5s\",\"renewDeadline\":\"3s\","
        "\"retryPeriod\":\"1s\"},\"consistency\":\"default\","
        "\"clientConnection\":{\"bindDeadline\":\"5s\",\"holdOff\":\"6s\",\"maxInFlightBinds\":1000,"
        "\"staleAfter\":\"20s\","
        "\"runObject\":\"fgpu-system/fgpu-run\",\"intentObjects\":\"fgpu-system/"
        "fgpu-intents\",\"wakeObject\":\"fgpu-system/fgpu-wake\"},"
        "\"events\":{\"podWaitsAfter\":\"30s\"},"
        "\"audit\":{\"interval\":\"5m\",\"settle\":\"5s\"},"
        "\"flightRecorder\":{\"memory\":\"8Mi\"},"
        "\"signing\":{\"mode\":\"on\",\"privateKey\":\"\",\"publicKeys\":[],\"acceptUnsignedBefore\":\"\"},"
        "\"logging\":{\"format\":\"text\",\"verbosity\":2},"
        "\"limits\":{\"bodyBytes\":\"16Mi\",\"bytesInFlight\":\"64Mi\",\"connections\":2048,"
        "\"connectionsPerAddress\":1536}}",
        NULL);
    strbuf_fini(&out);
    config_free(c);
}

static void describe__read_back__same_configuration(void **state)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"defaults", ""},
        {"sizes and templates", "sizes: {a: {milli: 1}, b.c: {memory: 1Mi, count: 64}, d: {milli: 3000}}\n"
                                "nodeTemplates: [{label: a.b/c=, gpus: 1, memory: 1023Mi}, "
                                "{label: x=y, gpus: 64, memory: 16Ti, model: \"<b>\\\"\"}, "
                                "{label: x=z, allocatable: whole-gpus, memory: 16Gi}]\n"},
        {"sizes of namespaces",
         "sizes:\n"
         "  a: {milli: 1, namespaces: [x, 'y-*'], variants: [{namespaces: [z], memory: 1Mi, count: 2}]}\n"
         "  b: {count: 1, variants: [{namespaces: [a], milli: 2000}, {namespaces: ['*'], milli: 5}]}\n"},
        {"requests above one GPU",
         "resources: {compute: [{name: a.b/c, unitsPerGPU: 7, aboveOneGPU: span},\n"
         "  {name: a.b/d, unitsPerGPU: 8, aboveOneGPU: refuse}, {name: a.b/e, unitsPerGPU: 9, picks: kubelet}]}\n"},
        {"odd numbers", "packing: {hold: 1s500ms, candidates: 0}\n"
                        "devices: {overcommit: {compute: 1.001, memory: 9.99}, memoryReserve: "
                        "1025Mi, memoryOnly: free}\n"
                        "limits: {bodyBytes: 65537, bytesInFlight: 1Gi}\n"},
        {"chains", "packing:\n  nodeStrategy: [spread, binpack, tight-fit]\n"
                   "  rules:\n  - {namespaces: ['a-*'], podSelector: {x: y}, nodeStrategy: {binpack: 0.7, "
                   "spread: 300}}\n"
                   "  - {nodeSelector: {p: ''}, deviceStrategy: spread}\n"},
        {"overrides", "devices:\n  overrides:\n"
                      "  - {nodeSelector: {a.b/c: 'x', d: ''}, memoryReserve: 0}\n"
                      "  - {nodeSelector: {d: 'true'}, maxSharers: 3, overcommit: {memory: 2}}\n"
                      "  - {nodeSelector: {e: ''}, handOff: kai-sm-sharing}\n"},
        {"tenants", "tenants:\n"
                    "- {name: a, namespaces: [x, 'y-*'], gpuShare: 12.5%, memory: 100%}\n"
                    "- {name: b, namespaces: ['*'], milli: 0, memory: 320Gi}\n"
                    "- {name: c, namespaces: [z], memory: 0}\n"},
        {"time windows",
         "sizes: {a: {milli: 1}}\n"
         "nodePools: [{nodeSelector: {pool: night, a.b/c: ''}, state: closed},\n"
         "  {name: n, nodeSelector: {x: y}, state: open, command: [/bin/x, '--a b', ''], timeout: 9s}]\n"
         "timeWindows:\n"
         "- {name: night, days: [mon-fri, sun], from: '20:00', to: 08:00, timeZone: Europe/Berlin,\n"
         "   packing: {nodeStrategy: spread, hold: 0}, sizes: {a: {milli: 2}, b: {count: 1}},\n"
         "   devices: {memoryOnly: free}, nodePools: [{nodeSelector: {pool: night}, state: open}]}\n"
         "- {name: plain, from: 00:00, to: 00:00, timeZone: UTC, packing: }\n"
         "- {name: weekend, days: [fri-mon], from: 12:30, to: '24:00', timeZone: UTC, packing: {candidates: 3}}\n"
         "timeWindowNotice: 0\n"},
        {"change-overs", "nodePools: [{name: a, nodeSelector: {p: x}, state: open}, {name: b, nodeSelector: {p: y}, "
                         "state: closed}]\nchangeOvers: [{name: card, pools: [b, a]}]\n"},
        {"no resources", "resources: {compute: [], memory: [], count: [], whole: []}\n"},
        {"addresses", "serving: {verbsAddress: '[::1]:0', opsAddress: 127.0.0.9:0, healthAddress: '[::]:7', "
                      "opsAuthorization: always}\n"},
        {"TLS", "serving: {verbsAddress: ':1', tls: {certFile: /c, keyFile: k, clientCAFile: ca.pem, "
                "allowedNames: [a, 'b c'], onLoopback: tls}}\n"},
    };
    struct strbuf once, twice;

    strbuf_init(&once, 1 << 20);
    strbuf_init(&twice, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config *c = unit_config(rows[i].text), *again = NULL;
        struct err err;
        describe(c, &once);
        if (config_parse(STR("json"), strbuf_view(&once), &unit_names, &again, NULL, &err) < 0) {
            fail_msg("row '%s': %s\n%s", rows[i].name, err.msg, once.p);
        }
        describe(again, &twice);
        expect_text(strbuf_view(&twice), once.p, rows[i].name);
        assert_int_equal(c->policy.size_n, again->policy.size_n);
        assert_int_equal(c->policy.tentative_ms, again->policy.tentative_ms);
        assert_int_equal(c->policy.overcommit_milli, again->policy.overcommit_milli);
        assert_int_equal(c->limits.body_bytes, again->limits.body_bytes);
        config_free(c);
        config_free(again);
    }
    strbuf_fini(&once);
    strbuf_fini(&twice);
}

static void sample_file__loaded__equals_the_defaults(void **state)
{
    struct config *sample = loaded(FGPU_SOURCE_DIR "/config/fgpu.yaml"), *defaults = config_defaults();
    struct strbuf got, want;

    strbuf_init(&got, 1 << 20);
    strbuf_init(&want, 1 << 20);
    describe(sample, &got);
    describe(defaults, &want);
    expect_text(strbuf_view(&got), want.p, NULL);
    const struct policy *p = &sample->policy, *d = policy_defaults();
    assert_int_equal(p->compute_resource_n, d->compute_resource_n);
    assert_int_equal(p->memory_only, d->memory_only);
    assert_int_equal(p->mem_reserve_mib, d->mem_reserve_mib);
    assert_int_equal(p->max_sharers, d->max_sharers);
    assert_int_equal(p->overcommit_milli, d->overcommit_milli);
    assert_int_equal(p->overcommit_mem_milli, d->overcommit_mem_milli);
    assert_int_equal(p->qos, d->qos);
    assert_int_equal(p->lending, d->lending);
    assert_true(str_eq(p->node_strategy, d->node_strategy));
    assert_true(str_eq(p->device_strategy, d->device_strategy));
    assert_int_equal(p->candidates, d->candidates);
    assert_int_equal(p->tentative_ms, d->tentative_ms);
    strbuf_fini(&got);
    strbuf_fini(&want);
    config_free(sample);
    config_free(defaults);
}

/* The last part of every key of the reference, followed by a colon, stands in the annotated sample.
 */
static void sample_file__every_key__shown(void **state)
{
    struct strbuf sample, reference, wanted;
    struct str rest, line;
    size_t keys = 0;

    strbuf_init(&sample, 1 << 20);
    strbuf_init(&reference, 1 << 20);
    strbuf_init(&wanted, 1 << 10);
    unit_read(FGPU_SOURCE_DIR "/config/fgpu.yaml", &sample);
    config_reference(&reference);
    rest = strbuf_view(&reference);
    while (str_split(&rest, '\n', &line) && line.n > 0) {
        struct str path, key = STR_NULL, part;
        assert_true(str_split(&line, ' ', &path));
        while (str_split(&path, '.', &part)) {
            key = part;
        }
        strbuf_reset(&wanted);
        strbuf_addf(&wanted, "%.*s:", STR_ARG(key));
        if (strstr(sample.p, wanted.p) == NULL) {
            fail_msg("config/fgpu.yaml does not show %s", wanted.p);
        }
        keys++;
    }
    assert_true(keys > 30);
    strbuf_fini(&sample);
    strbuf_fini(&reference);
    strbuf_fini(&wanted);
}

static void reference__known_keys__range_and_default(void **state)
{
    struct strbuf out;

    strbuf_init(&out, 1 << 20);
    config_reference(&out);
    assert_non_null(strstr(out.p, "\npacking.candidates  0..100000  default 100  number of nodes in a filter reply, 0 "
                                  "for all  (a change applies at once)\n"));
    assert_non_null(strstr(out.p, "\nresources.compute[].unitsPerGPU  1..1000000  required  units that "
                                  "make one GPU\n"));
    assert_non_null(strstr(out.p, "\nsizes.NAME.memory  1Mi..16Ti  device memory on each GPU\n"));
    strbuf_fini(&out);
}

static void examples__vgpu__300_of_1000(void **state)
{
    struct config *c = loaded(FGPU_SOURCE_DIR "/config/examples/vgpu.yaml");
    expect_text(c->policy.compute_resources[0].name, "nvidia.com/vgpu", NULL);
    assert_int_equal(c->policy.compute_resources[0].units_per_gpu, 1000);
    config_free(c);
}

static void examples__metagpu__units_of_100(void **state)
{
    struct config *c = loaded(FGPU_SOURCE_DIR "/config/examples/metagpu.yaml");
    expect_text(c->policy.compute_resources[0].name, "cnvrg.io/metagpu", NULL);
    assert_int_equal(c->policy.compute_resources[0].units_per_gpu, 100);
    assert_int_equal(c->policy.compute_resources[0].above_one_gpu, ABOVE_SPAN);
    assert_int_equal(c->policy.compute_resources[1].above_one_gpu, ABOVE_REFUSE);
    config_free(c);
}

static void examples__memory_only__compute_is_free(void **state)
{
    struct config *c = loaded(FGPU_SOURCE_DIR "/config/examples/memory-only.yaml");
    assert_int_equal(c->policy.memory_only, MEMORY_ONLY_FREE);
    assert_int_equal(c->policy.mem_reserve_mib, 512);
    assert_int_equal(c->policy.size_n, 2);
    assert_int_equal(c->policy.sizes[1].mem_mib, 16384);
    config_free(c);
}

static void examples__runai__its_annotations_are_served(void **state)
{
    struct config *c = loaded(FGPU_SOURCE_DIR "/config/examples/runai.yaml");
    assert_int_equal(policy_defaults()->kai, DIALECT_IGNORE);
    assert_int_equal(c->policy.kai, DIALECT_SERVE);
    config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describe__defaults__exact),
        cmocka_unit_test(describe__read_back__same_configuration),
        cmocka_unit_test(sample_file__loaded__equals_the_defaults),
        cmocka_unit_test(sample_file__every_key__shown),
        cmocka_unit_test(reference__known_keys__range_and_default),
        cmocka_unit_test(examples__vgpu__300_of_1000),
        cmocka_unit_test(examples__metagpu__units_of_100),
        cmocka_unit_test(examples__memory_only__compute_is_free),
        cmocka_unit_test(examples__runai__its_annotations_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
