/* What pods ask of machines, and what machines have. */
#include "core/request/host.h"
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

struct row {
    const char *name, *pod;
    int32_t cpu_milli, mem_mib;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct made_pod *m = made_pod_new(rows[i].pod);
        struct host_request r = host_request_of_pod(&m->pod);

        if (r.cpu_milli != rows[i].cpu_milli || r.mem_mib != rows[i].mem_mib) {
            fail_msg("%s: \"%s\" got %d milli, %d MiB", rows[i].name, rows[i].pod, r.cpu_milli, r.mem_mib);
        }
        made_pod_free(m);
    }
}

static void host_request__containers__peak_over_the_phases(void **state)
{
    static const struct row rows[] = {
        {"nothing", "c:", 0, 0},
        {"app containers run together", "a: ~cpu=1 ~memory=1Gi; b: ~cpu=250m ~memory=512Mi", 1250, 1536},
        {"a small init container is under the peak", "init i: ~cpu=1; a: ~cpu=2", 2000, 0},
        {"a large one is the peak", "init i: ~cpu=3; a: ~cpu=2", 3000, 0},
        {"init containers run one by one", "init i: ~cpu=3; init j: ~cpu=3; a: ~cpu=2", 3000, 0},
        {"each resource by itself", "init i: ~cpu=3 ~memory=1Mi; a: ~cpu=1 ~memory=9Mi", 3000, 9},
        {"a sidecar stays", "sidecar s: ~cpu=1; a: ~cpu=2", 3000, 0},
        {"beside the init containers after it", "sidecar s: ~cpu=2; init i: ~cpu=3; a: ~cpu=1", 5000, 0},
        {"not beside those before it", "init i: ~cpu=3; sidecar s: ~cpu=2; a: ~cpu=0", 3000, 0},
        {"two sidecars with an init container between",
         "sidecar s: ~cpu=1; init i: ~cpu=4; sidecar t: ~cpu=1; a: ~cpu=2", 5000, 0},
        {"a limit alone is a request", "a: cpu=2 memory=4Mi", 2000, 4},
        {"a request wins over the limit", "a: ~cpu=1 cpu=2 ~memory=3Mi memory=4Mi", 1000, 3},
        {"a request of nothing wins, too", "a: ~cpu=0 cpu=2", 0, 0},
        {"beside GPUs", "a: gpu-milli=500 ~cpu=4 ~memory=8Gi", 4000, 8192},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void host_request__pod_level_and_overhead__as_the_scheduler_counts(void **state)
{
    static const struct row rows[] = {
        {"overhead is added", "a: ~cpu=1 ~memory=1Gi; overhead: cpu=250m memory=120Mi", 1250, 1144},
        {"to the peak", "init i: ~cpu=3; a: ~cpu=1; overhead: cpu=1", 4000, 0},
        {"also of a pod that asks for nothing", "a:; overhead: cpu=1", 1000, 0},
        {"the pod's request replaces the sum", "a: ~cpu=1; b: ~cpu=1; pod: ~cpu=5", 5000, 0},
        {"also a smaller one", "init i: ~cpu=9; a: ~cpu=1; pod: ~cpu=5", 5000, 0},
        {"per resource", "a: ~cpu=1 ~memory=7Mi; pod: ~cpu=5", 5000, 7},
        {"with overhead", "a: ~cpu=1; pod: ~cpu=5; overhead: cpu=1", 6000, 0},
        {"its limit alone is its request", "a:; pod: cpu=5 memory=9Mi", 5000, 9},
        {"unless a container has one", "a: ~cpu=1; pod: cpu=5 memory=9Mi", 1000, 9},
        {"or a limit", "a: cpu=1; pod: cpu=5", 1000, 0},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void host_request__quantities__rounded_up_and_saturated(void **state)
{
    static const struct row rows[] = {
        {"finer than a milli", "a: ~cpu=1n", 1, 0},
        {"sums are exact before they are rounded", "a: ~cpu=500u ~memory=512Ki; b: ~cpu=500u ~memory=512Ki", 1, 1},
        {"one byte is a MiB", "a: ~memory=1", 0, 1},
        {"one byte more", "a: ~memory=1048577", 0, 2},
        {"decimal", "a: ~cpu=0.1 ~memory=1G", 100, 954},
        {"fractions of a byte", "a: ~memory=1500m", 0, 1},
        {"too many cores", "a: ~cpu=3000000", INT32_MAX, 0},
        {"the largest quantities", "a: ~cpu=9223372036854775807 ~memory=9223372036854775807", INT32_MAX, INT32_MAX},
        {"many of them", "a: ~memory=7E; b: ~memory=7E; c: ~memory=7E; overhead: memory=7E", 0, INT32_MAX},
        {"malformed", "a: ~cpu=one ~memory=1Q; b: ~cpu=1", 1000, 0},
        {"malformed is no reason to look at the limit", "a: ~cpu=x cpu=1", 0, 0},
        {"negative", "a: ~cpu=-1; b: ~cpu=2", 2000, 0},
        {"above all numbers", "a: ~cpu=9223372036854775808 ~memory=9E", INT32_MAX, INT32_MAX},
        {"below all numbers", "a: ~cpu=-9223372036854775808; b: ~cpu=1", 1000, 0},
        {"empty", "a: ~cpu=", 0, 0},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* The amounts stand in every demand, and spoil none. */
static void dialect_demand__host__of_every_pod(void **state)
{
    static const struct {
        const char *pod;
        enum demand_defect defect;
        bool empty;
        int32_t cpu_milli;
    } rows[] = {
        {"a: ~cpu=2", DEMAND_OK, true, 2000},
        {"a: gpu-milli=500 ~cpu=2", DEMAND_OK, false, 2000},
        {"a: gpu-milli=half ~cpu=2", DEMAND_QUANTITY, false, 2000},
        {"a: gpu-milli=500 ~cpu=two", DEMAND_OK, false, 0},
        {"a: nvidia.com/gpu=2 ~cpu=2", DEMAND_OK, false, 2000},
        {"a: ~cpu=2; @gpu-fraction=0.5", DEMAND_OK, false, 2000},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made_pod *m = made_pod_new(rows[i].pod);
        struct demand d;

        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
        assert_int_equal(d.defect, rows[i].defect);
        assert_int_equal(demand_is_empty(&d), rows[i].empty);
        assert_int_equal(d.host.cpu_milli, rows[i].cpu_milli);
        made_pod_free(m);
    }
}

static void host_capacity__allocatable__rounded_towards_less(void **state)
{
    static const struct {
        struct kv items[2];
        size_t n;
        struct host_capacity want;
    } rows[] = {
        {{{STR("cpu"), STR("64")}, {STR("memory"), STR("263865068Ki")}}, 2, {64000, 257680}},
        {{{STR("cpu"), STR("3920m")}, {STR("memory"), STR("1048577")}}, 2, {3920, 1}},
        {{{STR("cpu"), STR("1500m")}}, 1, {1500, 0}},
        {{{STR("cpu"), STR("many")}, {STR("memory"), STR("-5Gi")}}, 2, {0, 0}},
        {{{STR("cpu"), STR("9E")}, {STR("memory"), STR("7E")}}, 2, {INT32_MAX, INT32_MAX}},
        {{{STR("nvidia.com/gpu"), STR("8")}}, 1, {0, 0}},
        {{{STR_NULL, STR_NULL}}, 0, {0, 0}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct node n = {.allocatable = {rows[i].items, rows[i].n}};
        struct host_capacity got = host_capacity_of_node(&n);

        assert_int_equal(got.cpu_milli, rows[i].want.cpu_milli);
        assert_int_equal(got.mem_mib, rows[i].want.mem_mib);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_request__containers__peak_over_the_phases),
        cmocka_unit_test(host_request__pod_level_and_overhead__as_the_scheduler_counts),
        cmocka_unit_test(host_request__quantities__rounded_up_and_saturated),
        cmocka_unit_test(dialect_demand__host__of_every_pod),
        cmocka_unit_test(host_capacity__allocatable__rounded_towards_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
