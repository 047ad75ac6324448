/* The native vocabulary on whole pods: constraints, phases, many containers, hostile text. */
#include "base/rng.h"
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_50 "12345678901234567890123456789012345678901234567890"
#define DIGITS_400 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50

static void native__constraints__read_or_refused(void **state)
{
    static const struct demand_row rows[] = {
        {"models", "c: gpu-milli=5; @gpu-model=a*,!b", "c 1xmilli(5,0)@1 models a*,!b"},
        {"blanks", "c: gpu-milli=5; @gpu-model= a , ! b ", "c 1xmilli(5,0)@1 models a,!b"},
        {"uuids", "c: gpu-milli=5; @gpu-uuid=GPU-a,!GPU-b", "c 1xmilli(5,0)@1 uuids GPU-a,!GPU-b"},
        {"do not change the source", "c: gpu-milli=5; @qos=best-effort", "c 1xmilli(5,0)@1 best-effort"},
        {"fixed share", "c: gpu-milli=5; @qos=fixed-share", "c 1xmilli(5,0)@1 fixed-share"},
        {"equal share", "c:; @gpu-count=1; @qos=equal-share", "c 1xwhole(1000,0)@1 equal-share annotated"},
        {"with whole GPUs of a plugin", "c: nvidia.com/gpu=1; @gpu-model=a", "plugin-managed 1 models a"},
        {"without a request nobody reads them", "c:; @gpu-model=,; @qos=x", "none"},
        {"empty list", "c: gpu-milli=5; @gpu-model=", "defect constraint"},
        {"empty item", "c: gpu-milli=5; @gpu-model=a,,b", "defect constraint"},
        {"trailing comma", "c: gpu-milli=5; @gpu-uuid=a,", "defect constraint"},
        {"lone exclamation mark", "c: gpu-milli=5; @gpu-uuid=a,!", "defect constraint"},
        {"wildcard in a UUID", "c: gpu-milli=5; @gpu-uuid=GPU-*", "defect constraint"},
        {"unknown qos", "c: gpu-milli=5; @qos=Best-Effort", "defect constraint"},
        {"empty qos", "c: gpu-milli=5; @qos=", "defect constraint"},
        {"selector without a value sign", "c: gpu-milli=5; @isolate-from=app", "defect constraint"},
        {"unequal", "c: gpu-milli=5; @isolate-from=app!=x", "defect constraint"},
        {"set-based", "c: gpu-milli=5; @isolate-from=app in (x)", "defect constraint"},
        {"no key", "c: gpu-milli=5; @isolate-from==x", "defect constraint"},
        {"third equals sign", "c: gpu-milli=5; @isolate-from=a===x", "defect constraint"},
        {"empty pair", "c: gpu-milli=5; @isolate-from=a=x,", "defect constraint"},
        {"key twice", "c: gpu-milli=5; @isolate-from=a=x,a=y", "defect constraint"},
        {"empty selector", "c: gpu-milli=5; @isolate-from=", "defect constraint"},
        {"key too long", "c: gpu-milli=5; @isolate-from=" DIGITS_400 "=x", "defect constraint"},
        {"model too long", "c: gpu-milli=5; @gpu-model=" DIGITS_400, "defect constraint"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void native__isolate_from__hashes_of_the_pairs(void **state)
{
    struct made_pod *m = made_pod_new("c: gpu-milli=5; @isolate-from= app=web , x.io/tier == , z=1");
    struct demand d;

    assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
    assert_int_equal(d.defect, DEMAND_OK);
    assert_int_equal(d.isolate_n, 3);
    assert_int_equal(d.isolate[0], label_pair_hash(STR("app"), STR("web")));
    assert_int_equal(d.isolate[1], label_pair_hash(STR("x.io/tier"), STR("")));
    assert_int_equal(d.isolate[2], label_pair_hash(STR("z"), STR("1")));

    struct kv labels[] = {{STR("z"), STR("1")}, {STR("app"), STR("web")}, {STR("x.io/tier"), STR("")}};
    const uint64_t *hashes;
    size_t n;
    m->pod.labels = (struct kv_list){labels, 3};
    assert_true(dialect_label_hashes(&m->pod, &m->arena, &hashes, &n));
    assert_true(label_hashes_match(d.isolate, d.isolate_n, hashes, n));
    m->pod.labels.n = 2;
    assert_true(dialect_label_hashes(&m->pod, &m->arena, &hashes, &n));
    assert_false(label_hashes_match(d.isolate, d.isolate_n, hashes, n));
    m->pod.labels.n = 0;
    assert_true(dialect_label_hashes(&m->pod, &m->arena, &hashes, &n));
    assert_int_equal(n, 0);
    made_pod_free(m);
}

static void native__long_constraint_lists__are_bounded(void **state)
{
    for (int over = 0; over < 2; over++) {
        struct strbuf b;
        strbuf_init(&b, 65536);
        strbuf_add_cstr(&b, "c: gpu-milli=5; @isolate-from=");
        for (int i = 0; i < DEMAND_ISOLATE_MAX + over; i++) {
            strbuf_addf(&b, "%sk%d=v", i > 0 ? "," : "", i);
        }
        struct demand_row row = {"isolate", b.p, over ? "defect constraint" : "c 1xmilli(5,0)@1"};
        check_demands(policy_defaults(), &row, 1);
        strbuf_reset(&b);
        strbuf_add_cstr(&b, "c: gpu-milli=5; @gpu-uuid=");
        for (int i = 0; i < DEMAND_PATTERNS_MAX + over; i++) {
            strbuf_addf(&b, "%su", i > 0 ? "," : "");
        }
        struct made_pod *m = made_pod_new(b.p);
        struct demand d;
        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
        assert_int_equal(d.defect, over ? DEMAND_CONSTRAINT : DEMAND_OK);
        made_pod_free(m);
        strbuf_fini(&b);
    }
}

static void native__phases__sidecars_run_beside_what_starts_after_them(void **state)
{
    static const struct demand_row rows[] = {
        {"init alone", "init i: gpu-milli=1; c: gpu-milli=2", "i 1xmilli(1,0)@2 c 1xmilli(2,0)@1"},
        {"two inits", "init i: gpu-milli=1; init j: gpu-milli=2", "i 1xmilli(1,0)@2 j 1xmilli(2,0)@4"},
        {"idle init between", "init i: gpu-milli=1; init x:; init j: gpu-milli=2", "i 1xmilli(1,0)@2 j 1xmilli(2,0)@4"},
        {"sidecar before", "sidecar s: gpu-milli=1; init i: gpu-milli=2; c: gpu-milli=3",
         "s 1xmilli(1,0)@3 i 1xmilli(2,0)@2 c 1xmilli(3,0)@1"},
        {"sidecar after", "init i: gpu-milli=2; sidecar s: gpu-milli=1; c: gpu-milli=3",
         "i 1xmilli(2,0)@2 s 1xmilli(1,0)@1 c 1xmilli(3,0)@1"},
        {"between", "init i: gpu-milli=1; sidecar s: gpu-milli=2; init j: gpu-milli=3; c: gpu-milli=4",
         "i 1xmilli(1,0)@2 s 1xmilli(2,0)@5 j 1xmilli(3,0)@4 c 1xmilli(4,0)@1"},
        {"two sidecars", "sidecar s: gpu-milli=1; init i: gpu-milli=2; sidecar t: gpu-milli=3; init j: gpu-milli=4",
         "s 1xmilli(1,0)@7 i 1xmilli(2,0)@2 t 1xmilli(3,0)@5 j 1xmilli(4,0)@4"},
        {"annotation is an app request", "init i:; sidecar s:; c:; @gpu-count=1", "c 1xwhole(1000,0)@1 annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void native__mig__one_profile_per_container(void **state)
{
    static const struct demand_row rows[] = {
        {"a resource", "c: nvidia.com/mig-1g.5gb=1", "c 1xwhole(1000,0)@1 mig 1g.5gb"},
        {"media engines", "c: nvidia.com/mig-1g.10gb.me=1", "c 1xwhole(1000,0)@1 mig 1g.10gb+me"},
        {"several, as a request", "c: ~nvidia.com/mig-3g.20gb=2", "c 2xwhole(1000,0)@1 mig 3g.20gb"},
        {"limit and request", "c: nvidia.com/mig-3g.20gb=2 ~nvidia.com/mig-3g.20gb=2",
         "c 2xwhole(1000,0)@1 mig 3g.20gb"},
        {"two containers", "init i: nvidia.com/mig-1g.5gb=1; c: nvidia.com/mig-2g.10gb=1",
         "i 1xwhole(1000,0)@2 mig 1g.5gb c 1xwhole(1000,0)@1 mig 2g.10gb"},
        {"none of it", "c: nvidia.com/mig-1g.5gb=0", "none"},
        {"none of an unknown one", "c: nvidia.com/mig-huge=0", "none"},
        {"an annotation", "c:; @mig-profile=1g.5gb+me", "c 1xwhole(1000,0)@1 mig 1g.5gb+me annotated"},
        {"blanks", "c:; @mig-profile= 1g.5gb", "c 1xwhole(1000,0)@1 mig 1g.5gb annotated"},
        {"and a count", "c:; @mig-profile=1g.5gb; @gpu-count=2", "c 2xwhole(1000,0)@1 mig 1g.5gb annotated"},
        {"and at least some memory", "c:; @mig-profile=1g.5gb; @gpu-memory=4Gi",
         "c 1xwhole(1000,4096)@1 mig 1g.5gb annotated"},
        {"in another container", "c:; d:; @mig-profile=1g.5gb; @container=d",
         "d 1xwhole(1000,0)@1 mig 1g.5gb annotated"},
        {"unknown profile", "c: nvidia.com/mig-1g.5gb.gfx=1", "defect mig"},
        {"no profile", "c:; @mig-profile=small", "defect mig annotated"},
        {"compute instance that is not all of it", "c:; @mig-profile=1c.2g.10gb", "defect mig annotated"},
        {"two profiles", "c: nvidia.com/mig-1g.5gb=1 nvidia.com/mig-2g.10gb=1", "defect mig"},
        {"and a share", "c: nvidia.com/mig-1g.5gb=1 gpu-milli=100", "defect mig"},
        {"and a share of another container", "c: nvidia.com/mig-1g.5gb=1; d: gpu-milli=100", "defect mixed_kinds"},
        {"and a whole GPU of the plugin", "c: nvidia.com/mig-1g.5gb=1; d: nvidia.com/gpu=1", "defect mixed_kinds"},
        {"and a fraction", "c:; @mig-profile=1g.5gb; @gpu-fraction=0.5", "defect mig annotated"},
        {"resource and annotation", "c: nvidia.com/mig-1g.5gb=1; @mig-profile=1g.5gb", "defect twice annotated"},
        {"no whole number", "c: nvidia.com/mig-1g.5gb=500m", "defect quantity"},
        {"65", "c: nvidia.com/mig-1g.5gb=65", "defect count"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void native__whole_gpus__effective_request(void **state)
{
    static const struct demand_row rows[] = {
        {"apps add up", "c: nvidia.com/gpu=1; d: nvidia.com/gpu=2", "plugin-managed 3"},
        {"init is a peak", "init i: nvidia.com/gpu=4; c: nvidia.com/gpu=1; d: nvidia.com/gpu=2", "plugin-managed 4"},
        {"inits do not add up", "init i: nvidia.com/gpu=2; init j: nvidia.com/gpu=2; c: nvidia.com/gpu=3",
         "plugin-managed 3"},
        {"sidecar beside apps", "sidecar s: nvidia.com/gpu=1; c: nvidia.com/gpu=2", "plugin-managed 3"},
        {"sidecar beside a later init", "sidecar s: nvidia.com/gpu=1; init i: nvidia.com/gpu=4", "plugin-managed 5"},
        {"sidecar after an init", "init i: nvidia.com/gpu=4; sidecar s: nvidia.com/gpu=1", "plugin-managed 4"},
        {"zero", "c: nvidia.com/gpu=0", "none"},
        {"most", "c: nvidia.com/gpu=65536", "plugin-managed 65536"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void native__many_containers__bounded(void **state)
{
    static const struct {
        const char *kind;
        int n;
        bool fits;
    } rows[] = {
        {"app", 64, true}, {"app", 65, false}, {"init", 63, true}, {"init", 64, false}, {"sidecar", 64, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b;
        struct demand d;
        strbuf_init(&b, 65536);
        for (int n = 0; n < rows[i].n; n++) {
            strbuf_addf(&b, "%s%s c%d: gpu-milli=1", n > 0 ? ";" : "", rows[i].kind, n);
        }
        struct made_pod *m = made_pod_new(b.p);
        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
        assert_int_equal(d.defect, rows[i].fits ? DEMAND_OK : DEMAND_TOO_MANY);
        assert_int_equal(d.gpu_request_n, rows[i].fits ? rows[i].n : 0);
        made_pod_free(m);
        strbuf_fini(&b);
    }
}

/* A pod's life played step by step: which containers run while the n-th GPU-using init container
 * does. */
static void native__random_pods__phases_are_what_runs_together(void **state)
{
    struct rng rng;

    rng_init(&rng, 20);
    for (int round = 0; round < 3000; round++) {
        struct strbuf b;
        struct demand d;
        bool sidecar[8], uses[8];
        bool whole = rng_below(&rng, 2) == 0;
        int64_t amount[8], sidecars = 0, peak = 0;
        size_t init_n = (size_t)rng_below(&rng, 7);

        strbuf_init(&b, 65536);
        for (size_t i = 0; i < init_n; i++) {
            sidecar[i] = rng_below(&rng, 2) == 0;
            amount[i] = (int64_t)rng_below(&rng, 4);
            uses[i] = amount[i] > 0;
            strbuf_addf(&b, "%s i%zu: %s=%lld; ", sidecar[i] ? "sidecar" : "init", i,
                        whole ? "nvidia.com/gpu" : "gpu-milli", (long long)amount[i]);
        }
        amount[7] = (int64_t)rng_below(&rng, 4);
        strbuf_addf(&b, "app c: %s=%lld", whole ? "nvidia.com/gpu" : "gpu-milli", (long long)amount[7]);
        struct made_pod *m = made_pod_new(b.p);
        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));

        unsigned phase = 0; /* of GPU-using ordinary init containers, in order */
        for (size_t i = 0; i < init_n; i++) {
            if (sidecar[i]) {
                sidecars += amount[i];
                peak = peak > sidecars ? peak : sidecars;
                continue;
            }
            peak = peak > sidecars + amount[i] ? peak : sidecars + amount[i];
            if (whole || !uses[i]) {
                continue;
            }
            phase++;
            for (size_t w = 0; w < d.gpu_request_n; w++) {
                size_t at = d.gpu_requests[w].position;
                bool runs = d.gpu_requests[w].init && (at == i || (sidecar[at] && at < i));
                assert_int_equal(d.gpu_requests[w].phases >> phase & 1, runs);
            }
        }
        for (size_t w = 0; w < d.gpu_request_n; w++) {
            bool runs = !d.gpu_requests[w].init || sidecar[d.gpu_requests[w].position];
            assert_int_equal(d.gpu_requests[w].phases & 1, runs);
            assert_int_equal(d.gpu_requests[w].phases >> phase >> 1, 0);
        }
        peak = peak > sidecars + amount[7] ? peak : sidecars + amount[7];
        assert_int_equal(d.plugin_managed_n, whole ? peak : 0);
        made_pod_free(m);
        strbuf_fini(&b);
    }
}

static void native__random_text__never_crashes_nor_passes_the_limits(void **state)
{
    static const char alphabet[] = "0123456789.-+eEkKMGTimun,!*= a";
    static const char *const keys[] = {"gpu-fraction", "gpu-memory",   "gpu-count", "gpu-model",
                                       "gpu-uuid",     "isolate-from", "qos"};
    struct rng rng;

    rng_init(&rng, 3);
    for (int round = 0; round < 20000; round++) {
        char text[6][12];
        for (size_t i = 0; i < ARRAY_LEN(text); i++) {
            size_t n = (size_t)rng_below(&rng, sizeof(text[i]));
            for (size_t j = 0; j < n; j++) {
                text[i][j] = alphabet[rng_below(&rng, sizeof(alphabet) - 1)];
            }
            text[i][n] = '\0';
        }
        struct kv resources[] = {{STR("fgpu.io/gpu-milli"), str_of(text[0])},
                                 {STR("fgpu.io/gpu-memory-mib"), str_of(text[1])},
                                 {STR("nvidia.com/gpu"), str_of(text[2])}};
        struct kv notes[3];
        struct made_pod *m = made_pod_new("c:");
        struct demand d;
        for (size_t i = 0; i < 3; i++) {
            const char *key = keys[rng_below(&rng, ARRAY_LEN(keys))];
            notes[i] = (struct kv){arena_printf(&m->arena, "fgpu.io/%s", key), str_of(text[3 + i])};
        }
        m->app[0].limits = (struct kv_list){resources, (size_t)rng_below(&rng, 4)};
        m->pod.annotations = (struct kv_list){notes, (size_t)rng_below(&rng, 4)};
        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
        assert_in_range(d.plugin_managed_n, 0, DEMAND_PLUGIN_MANAGED_MAX);
        assert_true(d.defect == DEMAND_OK || d.gpu_request_n == 0);
        for (size_t i = 0; i < d.gpu_request_n; i++) {
            assert_in_range(d.gpu_requests[i].milli, 0, DEVICE_MILLI);
            assert_in_range(d.gpu_requests[i].count, 1, DEVICES_PER_NODE_MAX);
            assert_true(d.gpu_requests[i].mem_mib >= 0 && d.gpu_requests[i].mem_mib <= DEMAND_MEM_MIB_MAX);
            assert_true(d.gpu_requests[i].milli > 0 || d.gpu_requests[i].mem_mib > 0);
        }
        made_pod_free(m);
    }
}

static void native__claims__by_keys_only(void **state)
{
    static const struct {
        const char *pod;
        bool want;
    } rows[] = {
        {"c:", false},
        {"c: cpu/x=1", false},
        {"c: gpu-milli=nonsense", true},
        {"c: ~gpu-memory-mib=1", true},
        {"init i: gpu-count=1", true},
        {"sidecar i: gpu-count=0", true},
        {"c: nvidia.com/gpu=1", false}, /* units */
        {"c:; @gpu-fraction=", true},
        {"c:; @gpu-memory=1", true},
        {"c:; @gpu-count=1", true},
        {"c:; @size=x", true},
        {"c:; @container=c", false},
        {"c:; @gpu-model=a", false},
        {"c:; @assignment=x", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made_pod *m = made_pod_new(rows[i].pod);
        if (dialect_native.claims_pod(policy_defaults(), &m->pod) != rows[i].want) {
            fail_msg("%s", rows[i].pod);
        }
        made_pod_free(m);
    }
}

static void dialect_is_request_key__keys__request_and_constraints(void **state)
{
    assert_true(dialect_is_request_key(STR("fgpu.io/gpu-fraction")));
    assert_true(dialect_is_request_key(STR("fgpu.io/container")));
    assert_true(dialect_is_request_key(STR("fgpu.io/isolate-from")));
    assert_true(dialect_is_request_key(STR("fgpu.io/qos")));
    /* The names without a prefix stand in manifests/policies/policies.yaml, too. */
    assert_true(dialect_is_request_key(STR("gpu-fraction")));
    assert_true(dialect_is_request_key(STR("gpu-memory")));
    assert_true(dialect_is_request_key(STR("gpu-fraction-num-devices")));
    assert_true(dialect_is_request_key(STR("gpu-fraction-container-name")));
    assert_false(dialect_is_request_key(STR("mps")));
    assert_false(dialect_is_request_key(STR("fgpu.io/assignment")));
    assert_false(dialect_is_request_key(STR("fgpu.io/gpus")));
    assert_false(dialect_is_request_key(STR("fgpu.io/")));
    assert_false(dialect_is_request_key(STR("")));
}

static void dialect_demand__arena_full__says_so_and_leaves_the_result(void **state)
{
    static const char *const pods[] = {"c: gpu-milli=5", "c: nvidia.com/gpu=1; @gpu-model=a",
                                       "c: nvidia.com/gpu=1; @gpu-uuid=a", "c: nvidia.com/gpu=1; @isolate-from=a=b"};
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        struct made_pod *m = made_pod_new(pods[i]);
        struct demand d = {.plugin_managed_n = -7};
        struct arena tiny;
        arena_init(&tiny, 1);
        assert_false(dialect_demand(policy_defaults(), &m->pod, &tiny, &d));
        assert_int_equal(d.plugin_managed_n, -7);
        arena_fini(&tiny);
        made_pod_free(m);
    }
}

/* What the API server stores may hold a NUL (item 11): a request is never made of it, in whatever vocabulary. */
static void dialect_demand__nul_in_an_annotation_that_is_read__is_a_defect(void **state)
{
    static const struct {
        const char *key;
        struct str value;
    } rows[] = {
        {"fgpu.io/gpu-fraction", STR("0.5\0")}, {"fgpu.io/gpu-memory", STR("4Gi\0")},
        {"fgpu.io/gpu-count", STR("1\0")},      {"fgpu.io/size", STR("s\0")},
        {"fgpu.io/gpu-model", STR("A\0")},      {"fgpu.io/gpu-uuid", STR("!GPU-a\0")},
        {"fgpu.io/isolate-from", STR("a=b\0")}, {"fgpu.io/qos", STR("best-effort\0")},
        {"fgpu.io/container", STR("c\0")},      {"fgpu.io/gpu-model", STR("A,\0B")},
    };
    struct arena a;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kv annotations[] = {{str_of(rows[i].key), rows[i].value}, {STR("fgpu.io/gpu-fraction"), STR("0.5")}};
        struct container c = {.name = STR("c")};
        struct pod pod = {.annotations = {annotations, i == 0 ? 1 : 2}, .containers = &c, .container_n = 1};
        struct demand d;

        assert_true(dialect_demand(policy_defaults(), &pod, &a, &d));
        if (d.defect == DEMAND_OK) {
            fail_msg("%s is taken", rows[i].key);
        }
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native__constraints__read_or_refused),
        cmocka_unit_test(native__isolate_from__hashes_of_the_pairs),
        cmocka_unit_test(native__long_constraint_lists__are_bounded),
        cmocka_unit_test(native__phases__sidecars_run_beside_what_starts_after_them),
        cmocka_unit_test(native__mig__one_profile_per_container),
        cmocka_unit_test(native__whole_gpus__effective_request),
        cmocka_unit_test(native__many_containers__bounded),
        cmocka_unit_test(native__random_pods__phases_are_what_runs_together),
        cmocka_unit_test(native__random_text__never_crashes_nor_passes_the_limits),
        cmocka_unit_test(native__claims__by_keys_only),
        cmocka_unit_test(dialect_is_request_key__keys__request_and_constraints),
        cmocka_unit_test(dialect_demand__nul_in_an_annotation_that_is_read__is_a_defect),
        cmocka_unit_test(dialect_demand__arena_full__says_so_and_leaves_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
