/* What the tables of nodes and pods say beyond the columns of the openb trace. */
#include "sim/trace.h"

#include "sim/support/tested_trace.h"
#include "support/cmocka.h"

#include <string.h>

#define NODES "name,cpu_milli,memory_mib,gpu,model,gpu_mem_mib,memory_only,mig\n"
#define PODS "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_mem_mib,mig_profile,counts_milli\n"
#define A100 "NVIDIA-A100-SXM4-40GB,40960"

static int setup(void **state)
{
    static struct tested_trace t;

    tested_trace_init(&t);
    *state = &t;
    return 0;
}

static int teardown(void **state)
{
    tested_trace_fini(*state);
    return 0;
}

static void nodes__more_columns__memory_mode_and_instances(void **state)
{
    struct tested_trace *t = *state;
    struct device d[DEVICES_PER_NODE_MAX];
    const struct trace_node *n;

    assert_int_equal(tested_trace_nodes(t, NODES "a,1,1,2,A10,24576,free,\n"
                                                 "b,1,1,2," A100 ",,3g.20gb|2g.10gb|1g.5gb\n"),
                     0);
    n = t->trace.nodes;
    assert_int_equal(n[0].memory_only, MEMORY_ONLY_FREE);
    assert_int_equal(trace_devices(&n[0], d), 2);
    assert_int_equal(d[1].mem_mib, 24576);
    assert_int_equal(d[1].profile, 0);
    assert_int_equal(n[1].memory_only, MEMORY_ONLY_SHARE);
    assert_int_equal(trace_devices(&n[1], d), 2 + 2 * 3);
    assert_int_equal(d[0].profile, DEVICE_IN_MIG_MODE);
    for (size_t i = 1; i < 8; i++) {
        assert_true(d[i - 1].index < d[i].index); /* as an inventory must be */
    }
    for (size_t i = 2; i < 8; i++) {
        assert_int_equal(d[i].gpu_index, (i - 2) / 3);
        assert_int_equal(d[i].slot_n, 1);
        assert_int_equal(d[i].mem_mib / 1024, mig_profile_slices(d[i].profile) == 3   ? 19
                                              : mig_profile_slices(d[i].profile) == 2 ? 9
                                                                                      : 4);
    }
}

static void nodes__layout_that_no_gpu_can_have__refused(void **state)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {NODES "a,1,1,1,A10,24576,,1g.5gb\n",
         "nodes.csv:2: column mig: \"1g.5gb\" on a \"A10\" of 24576 MiB: this model"},
        {NODES "a,1,1,1," A100 ",,1g.10gbx\n", "this model has no such instance"},
        {NODES "a,1,1,1," A100 ",,4g.20gb|4g.20gb\n", "no room for it beside the instances before it"},
        {NODES "a,1,1,16," A100 ",,1g.5gb|1g.5gb|1g.5gb|1g.5gb\n", "more than 64 devices"},
        {NODES "a,1,1,1," A100 ",some,\n", "nodes.csv:2: column memory_only: \"some\" is neither share nor free"},
    };
    struct tested_trace *t = *state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_true(tested_trace_nodes(t, wrong[i].text) < 0);
        if (strstr(t->err.msg, wrong[i].says) == NULL) {
            fail_msg("\"%s\" lacks \"%s\"", t->err.msg, wrong[i].says);
        }
    }
}

static void pods__more_columns__the_demand_and_what_it_counts_for(void **state)
{
    static const struct {
        enum gpu_request_kind kind;
        int32_t milli;
        int64_t mem_mib, counts;
        enum trace_class class;
    } wanted[] = {
        {GPU_REQUEST_MILLI, 300, 0, 600, TRACE_MULTI},    {GPU_REQUEST_BOTH, 300, 5000, 300, TRACE_SHARED},
        {GPU_REQUEST_MEMORY, 0, 5000, 250, TRACE_SHARED}, {GPU_REQUEST_WHOLE, 0, 0, 285, TRACE_SHARED},
        {GPU_REQUEST_WHOLE, 1000, 0, 1000, TRACE_WHOLE},
    };
    struct tested_trace *t = *state;

    assert_int_equal(tested_trace_pods(t, PODS "a,1,1,2,300,,,\n"
                                               "b,1,1,1,300,5000,,\n"
                                               "c,1,1,1,0,5000,,250\n"
                                               "d,1,1,1,0,,2g.10gb,\n"
                                               "e,1,1,1,1000,,,\n"),
                     0);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const struct trace_pod *p = &t->trace.pods[i];
        const struct gpu_request *w = p->demand->gpu_requests;

        assert_int_equal(w->kind, wanted[i].kind);
        assert_int_equal(w->milli, wanted[i].milli);
        assert_int_equal(w->mem_mib, wanted[i].mem_mib);
        assert_int_equal(p->gpu_milli, wanted[i].counts);
        assert_int_equal(p->class, wanted[i].class);
    }
    assert_int_equal(t->trace.pods[3].demand->gpu_requests->profile, MIG_PROFILE(2, 10));
}

static void pods__instances_and_parts__refused(void **state)
{
    struct tested_trace *t = *state;

    assert_true(tested_trace_pods(t, PODS "a,1,1,1,300,,1g.5gb,\n") < 0);
    assert_non_null(strstr(t->err.msg, "pods.csv:2: column mig_profile: write a profile as 1g.10gb, and gpu_milli"));
    assert_true(tested_trace_pods(t, PODS "a,1,1,1,0,,seven,\n") < 0);
    assert_true(tested_trace_pods(t, PODS "a,1,1,1,0,,,\n") < 0);
    assert_non_null(strstr(t->err.msg, "pods.csv:2: column gpu_milli is 0, but num_gpu is 1"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes__more_columns__memory_mode_and_instances, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes__layout_that_no_gpu_can_have__refused, setup, teardown),
        cmocka_unit_test_setup_teardown(pods__more_columns__the_demand_and_what_it_counts_for, setup, teardown),
        cmocka_unit_test_setup_teardown(pods__instances_and_parts__refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
