/* Item 16: typing errors fail closed, on pods that are not bound yet and on no others. */
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static void item16__unknown_key__refused_with_what_was_meant(void **state)
{
    static const struct demand_row rows[] = {
        {"bound without a GPU", "c:; @gpu-fractoin=0.5", "defect meant_fraction annotated"},
        {"ignored", "c: gpu-milli=100; @gpu-modell=a*", "defect meant_model annotated"},
        {"case of the name", "c:; @Gpu-Fraction=0.5", "defect meant_fraction annotated"},
        {"case of the domain", "c:; @FGPU.IO/gpu-fraction=0.5", "defect meant_fraction annotated"},
        {"memory", "c:; @gpu-memry=4Gi", "defect meant_memory annotated"},
        {"count", "c:; @gpu-cuont=1", "defect meant_count annotated"},
        {"size", "c:; @sizes=half", "defect meant_size annotated"},
        {"profile", "c:; @mig-profle=1g.5gb", "defect meant_profile annotated"},
        {"container", "c:; @gpu-fraction=0.5; @contaner=c", "defect meant_container annotated"},
        {"uuid", "c: gpu-milli=100; @gpu-uid=a", "defect meant_uuid annotated"},
        {"isolation", "c: gpu-milli=100; @isolate_from=a=b", "defect meant_isolate annotated"},
        {"qos", "c: gpu-milli=100; @qoss=best-effort", "defect meant_qos annotated"},
        {"a resource written as annotation", "c:; @gpu-milli=100", "defect meant_milli_resource annotated"},
        {"nothing like it", "c:; @something-else=1", "defect key_annotation annotated"},
        {"no name", "c:; @fgpu.io/=1", "defect key_annotation annotated"},
        {"beside whole GPUs of a plugin", "c: nvidia.com/gpu=1; @gpu-modle=a", "defect meant_model annotated"},
        {"like a reserved one", "c: gpu-milli=100; @visible-devicesc0=a", "defect key_annotation annotated"},
        {"resource", "c: gpu-mili=100", "defect meant_milli_resource annotated"},
        {"resource of an init container", "init i: gpu-memory-mb=100; c:", "defect meant_memory_resource annotated"},
        {"request", "c: ~gpu-cuont=1", "defect meant_count_resource annotated"},
        {"of zero", "c: gpu-mili=0", "defect meant_milli_resource annotated"},
        {"an annotation written as resource", "c: gpu-fraction=1", "defect meant_fraction annotated"},
        {"no resource like it", "c: something-else=1", "defect key_resource annotated"},
        {"what is wrong otherwise comes first", "c:; @gpu-fraction=7.5; @qoss=x", "defect fraction annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void item16__known_or_foreign_keys__as_ever(void **state)
{
    static const struct demand_row rows[] = {
        {"labels of copies and restores",
         "c: gpu-milli=100; @assignment=x; @visible-devices.c0=a; @visible-devices.i12=a; "
         "@mps-active-thread-percentage.c0=5; @mps-pinned-device-mem-limit.c0=0=4M",
         "c 1xmilli(100,0)@1"},
        {"other domains", "c: gpu-milli=100; @demo.fgpu.io/hardware=x; @xfgpu.io/gpu-fractoin=1; @/gpu-fractoin=1",
         "c 1xmilli(100,0)@1"},
        {"constraints without a request", "c:; @gpu-model=a; @qos=best-effort; @container=c", "none"},
        {"no request at all", "c: cpu=1", "none"},
        {"resources of others", "c: example.com/gpu-mili=1", "none"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void item16__resource_names_of_the_policy__are_the_known_ones(void **state)
{
    static const struct str names[] = {{"fgpu.io/memory", 14}};
    static const struct demand_row rows[] = {
        {"configured", "c: fgpu.io/memory=100", "c 1xmemory(0,100)@1"},
        {"no longer served, so not proposed", "c: gpu-memory-mib=100", "defect meant_memory annotated"},
        {"neither", "c: gpu-mem-in-mibs=1", "defect key_resource annotated"},
    };
    struct policy p = *policy_defaults();

    p.memory_resources = names;
    check_demands(&p, rows, ARRAY_LEN(rows));
}

static void item16__memory__needs_a_unit_and_a_mebibyte(void **state)
{
    static const struct demand_row rows[] = {
        {"charged 1 MiB", "c:; @gpu-memory=4096", "defect memory_unit annotated"},
        {"exponent", "c:; @gpu-memory=4e9", "defect memory_unit annotated"},
        {"point", "c:; @gpu-memory=4194304.", "defect memory_unit annotated"},
        {"thousandths of a byte", "c:; @gpu-memory=4096000m", "defect memory_unit annotated"},
        {"a byte less than 1Mi", "c:; @gpu-memory=1048575000m", "defect memory_unit annotated"},
        {"below", "c:; @gpu-memory=1000Ki", "defect memory_unit annotated"},
        {"1 MB", "c:; @gpu-memory=1M", "defect memory_unit annotated"},
        {"exactly", "c:; @gpu-memory=1024Ki", "c 1xmemory(0,1)@1 annotated"},
        {"1Mi", "c:; @gpu-memory=1Mi", "c 1xmemory(0,1)@1 annotated"},
        {"with a fraction", "c:; @gpu-memory=1.5Gi", "c 1xmemory(0,1536)@1 annotated"},
        {"beside a profile", "c:; @mig-profile=1g.5gb; @gpu-memory=4096", "defect memory_unit annotated"},
        {"no quantity", "c:; @gpu-memory=4gi", "defect quantity annotated"},
        {"nothing", "c:; @gpu-memory=0", "defect quantity annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
    assert_non_null(strstr(demand_defect_text(DEMAND_MEMORY_UNIT), "4096Mi"));
}

/* An unknown key on a pod that runs changes no charge: neither frees nor takes. */
static void item16__bound_pod__read_as_before(void **state)
{
    static const struct {
        const char *pod, *same_as;
    } rows[] = {
        {"c: gpu-milli=100; @gpu-modell=a", "c: gpu-milli=100"}, {"c:; @gpu-fractoin=0.5", "c:"},
        {"c: gpu-milli=100 gpu-mili=1", "c: gpu-milli=100"},     {"c:; @gpu-memory=4096", "c:; @gpu-memory=1Mi"},
        {"c:; @gpu-memory=4194304", "c:; @gpu-memory=4Mi"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made_pod *a = made_pod_new(rows[i].pod), *b = made_pod_new(rows[i].same_as);
        struct demand da, db;

        a->pod.node_name = STR("n1");
        assert_true(dialect_demand(policy_defaults(), &a->pod, &a->arena, &da));
        assert_true(dialect_demand(policy_defaults(), &b->pod, &b->arena, &db));
        assert_int_equal(db.defect, DEMAND_OK);
        if (!demand_equal(&da, &db)) {
            fail_msg("%s", rows[i].pod);
        }
        made_pod_free(a);
        made_pod_free(b);
    }
}

static void as_written__defect__the_words_of_the_request_and_no_others(void **state)
{
    static const struct {
        const char *pod, *written;
    } rows[] = {
        {"c:; @gpu-fraction=7.5", "fgpu.io/gpu-fraction: 7.5"},
        {"c:; @gpu-fractoin=0.5; @other.io/x=secret", "fgpu.io/gpu-fractoin: 0.5"},
        {"c: gpu-milli=1500 cpu=2; @assignment=x", "fgpu.io/gpu-milli: 1500"},
        {"c: size.smal=1; d: gpu-milli=100", "fgpu.io/size.smal: 1, fgpu.io/gpu-milli: 100"},
        {"c: gpu-milli=100", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made_pod *m = made_pod_new(rows[i].pod);
        struct demand d, *copy;

        assert_true(dialect_demand(policy_defaults(), &m->pod, &m->arena, &d));
        assert_true(str_eq_cstr(d.as_written, rows[i].written));
        copy = demand_copy(&d);
        assert_true(demand_equal(&d, copy) && str_eq_cstr(copy->as_written, rows[i].written));
        copy->as_written = STR("another");
        assert_false(demand_equal(&d, copy));
        free(copy);
        made_pod_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item16__unknown_key__refused_with_what_was_meant),
        cmocka_unit_test(item16__known_or_foreign_keys__as_ever),
        cmocka_unit_test(item16__resource_names_of_the_policy__are_the_known_ones),
        cmocka_unit_test(item16__memory__needs_a_unit_and_a_mebibyte),
        cmocka_unit_test(item16__bound_pod__read_as_before),
        cmocka_unit_test(as_written__defect__the_words_of_the_request_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
