/* Annotations of Run:ai and KAI-Scheduler: what each combination asks, and what is refused. */
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct policy serving(void)
{
    struct policy p = *policy_defaults();

    p.kai = DIALECT_SERVE;
    return p;
}

static void kai__requests__as_its_users_know_them(void **state)
{
    static const struct demand_row rows[] = {
        {"a half", "c: ; @/gpu-fraction=0.5", "c 1xfraction(500,0)@1 annotated kai"},
        {"an eighth", "c: ; @/gpu-fraction=0.125", "c 1xfraction(125,0)@1 annotated kai"},
        {"the least", "c: ; @/gpu-fraction=0.001", "c 1xfraction(1,0)@1 annotated kai"},
        {"the most", "c: ; @/gpu-fraction=0.999", "c 1xfraction(999,0)@1 annotated kai"},
        {"zeroes behind", "c: ; @/gpu-fraction=0.2500000", "c 1xfraction(250,0)@1 annotated kai"},
        {"zeroes before", "c: ; @/gpu-fraction=00.25", "c 1xfraction(250,0)@1 annotated kai"},
        {"no zero before", "c: ; @/gpu-fraction=.25", "c 1xfraction(250,0)@1 annotated kai"},
        {"memory", "c: ; @/gpu-memory=20480", "c 1xportion(0,20480)@1 annotated kai"},
        {"most memory", "c: ; @/gpu-memory=16777216", "c 1xportion(0,16777216)@1 annotated kai"},
        {"of several GPUs", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=2",
         "c 2xfraction(500,0)@1 annotated kai"},
        {"memory of several GPUs", "c: ; @/gpu-memory=4096; @/gpu-fraction-num-devices=64",
         "c 64xportion(0,4096)@1 annotated kai"},
        {"the first container", "init i: ; a: ; b: ; @/gpu-fraction=0.5", "a 1xfraction(500,0)@1 annotated kai"},
        {"a named one", "a: ; b: ; @/gpu-fraction=0.5; @/gpu-fraction-container-name=b",
         "b 1xfraction(500,0)@1 annotated kai"},
        {"an init container", "init i: ; a: ; @/gpu-fraction=0.5; @/gpu-fraction-container-name=i",
         "i 1xfraction(500,0)@2 annotated kai"},
        {"a sidecar", "sidecar s: ; a: ; @/gpu-fraction=0.5; @/gpu-fraction-container-name=s",
         "s 1xfraction(500,0)@1 annotated kai"},
        {"resources of 0", "c: nvidia.com/gpu=0 gpu-milli=0; @/gpu-fraction=0.5",
         "c 1xfraction(500,0)@1 annotated kai"},
        {"other annotations of theirs", "c: ; @/gpu-fraction=0.5; @/mps=true; @/received-resource-type=Fraction",
         "c 1xfraction(500,0)@1 annotated kai"},
        {"fgpu's constraints", "c: ; @/gpu-fraction=0.5; @gpu-model=*A100*; @gpu-uuid=!GPU-a; @qos=best-effort",
         "c 1xfraction(500,0)@1 models *A100* uuids !GPU-a best-effort annotated kai"},
        {"a container name alone", "c: ; @/gpu-fraction-container-name=c", "none"},
        {"mps alone", "c: ; @/mps=true", "none"},
    };
    struct policy p = serving();

    check_demands(&p, rows, ARRAY_LEN(rows));
}

static void kai__absurd_requests__are_refused(void **state)
{
    static const struct demand_row rows[] = {
        {"zero", "c: ; @/gpu-fraction=0", "defect kai_fraction annotated"},
        {"zero with a point", "c: ; @/gpu-fraction=0.0", "defect kai_fraction annotated"},
        {"a point", "c: ; @/gpu-fraction=.", "defect kai_fraction annotated"},
        {"one", "c: ; @/gpu-fraction=1", "defect kai_fraction annotated"},
        {"one with a point", "c: ; @/gpu-fraction=1.0", "defect kai_fraction annotated"},
        {"one and a half", "c: ; @/gpu-fraction=1.5", "defect kai_fraction annotated"},
        {"ten and a half", "c: ; @/gpu-fraction=10.5", "defect kai_fraction annotated"},
        {"NaN, which KAI lets through", "c: ; @/gpu-fraction=NaN", "defect kai_fraction annotated"},
        {"infinity", "c: ; @/gpu-fraction=Inf", "defect kai_fraction annotated"},
        {"an exponent", "c: ; @/gpu-fraction=1e-1", "defect kai_fraction annotated"},
        {"an exponent behind a point", "c: ; @/gpu-fraction=0.1e0", "defect kai_fraction annotated"},
        {"hexadecimal", "c: ; @/gpu-fraction=0x1p-1", "defect kai_fraction annotated"},
        {"a comma", "c: ; @/gpu-fraction=0,5", "defect kai_fraction annotated"},
        {"negative", "c: ; @/gpu-fraction=-0.5", "defect kai_fraction annotated"},
        {"a sign", "c: ; @/gpu-fraction=+.5", "defect kai_fraction annotated"},
        {"empty", "c: ; @/gpu-fraction=", "defect kai_fraction annotated"},
        {"a blank", "c: ; @/gpu-fraction=0.5 ", "c 1xfraction(500,0)@1 annotated kai"}, /* trimmed by the notation */
        {"a blank before", "c: ; @/gpu-fraction= 0.5", "defect kai_fraction annotated"},
        {"percent", "c: ; @/gpu-fraction=50%", "defect kai_fraction annotated"},
        {"milli", "c: ; @/gpu-fraction=500m", "defect kai_fraction annotated"},
        {"finer than a thousandth", "c: ; @/gpu-fraction=0.1234", "defect kai_fraction annotated"},
        {"a third", "c: ; @/gpu-fraction=0.33333333333333333333333333333333", "defect kai_fraction annotated"},
        {"very fine", "c: ; @/gpu-fraction=0.5000000000000000000000000000001", "defect kai_fraction annotated"},
        {"memory of 0", "c: ; @/gpu-memory=0", "defect kai_memory annotated"},
        {"memory with a unit", "c: ; @/gpu-memory=4Gi", "defect kai_memory annotated"},
        {"memory with a sign", "c: ; @/gpu-memory=+4", "defect kai_memory annotated"},
        {"negative memory", "c: ; @/gpu-memory=-4", "defect kai_memory annotated"},
        {"half a MiB", "c: ; @/gpu-memory=0.5", "defect kai_memory annotated"},
        {"no memory", "c: ; @/gpu-memory=", "defect kai_memory annotated"},
        {"more memory than anything has", "c: ; @/gpu-memory=16777217", "defect too_large annotated"},
        {"2^64 MiB", "c: ; @/gpu-memory=18446744073709551616", "defect kai_memory annotated"},
        {"both", "c: ; @/gpu-fraction=0.5; @/gpu-memory=4096", "defect kai_twice annotated"},
        {"devices of nothing", "c: ; @/gpu-fraction-num-devices=2", "defect kai_twice annotated"},
        {"no device", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=0", "defect count annotated"},
        {"65 devices", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=65", "defect count annotated"},
        {"half a device", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=0.5", "defect count annotated"},
        {"-1 devices", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=-1", "defect count annotated"},
        {"2^32 + 1 devices", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-num-devices=4294967297",
         "defect count annotated"},
        {"nobody", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-container-name=d", "defect kai_container annotated"},
        {"an empty name", "c: ; @/gpu-fraction=0.5; @/gpu-fraction-container-name=", "defect kai_container annotated"},
        {"no container", "@/gpu-fraction=0.5", "defect kai_container annotated"},
        {"a malformed constraint", "c: ; @/gpu-fraction=0.5; @qos=gold", "defect constraint annotated"},
    };
    struct policy p = serving();

    check_demands(&p, rows, ARRAY_LEN(rows));
}

static void kai__beside_other_vocabularies__are_refused(void **state)
{
    static const struct demand_row rows[] = {
        {"whole GPUs", "c: nvidia.com/gpu=1; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"whole GPUs of another container", "c: ; d: nvidia.com/gpu=1; @/gpu-memory=5",
         "defect vocabularies annotated"},
        {"whole GPUs of an init container", "init i: nvidia.com/gpu=1; c: ; @/gpu-fraction=0.5",
         "defect vocabularies annotated"},
        {"whole GPUs as a request", "c: ~nvidia.com/gpu=1; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"MIG", "c: nvidia.com/mig-1g.5gb=1; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"fgpu's resources", "c: gpu-milli=500; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"fgpu's annotations", "c: ; @gpu-fraction=0.5; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"fgpu's count", "c: ; @gpu-count=2; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"fgpu's container", "c: ; @container=c; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"nonsense of the one", "c: gpu-milli=x; @/gpu-fraction=0.5", "defect vocabularies annotated"},
        {"nonsense of the other", "c: gpu-milli=5; @/gpu-fraction=x", "defect vocabularies annotated"},
        {"devices beside whole GPUs", "c: nvidia.com/gpu=2; @/gpu-fraction-num-devices=2",
         "defect vocabularies annotated"},
    };
    struct policy p = serving();

    check_demands(&p, rows, ARRAY_LEN(rows));
}

static void kai__not_served__means_nothing(void **state)
{
    static const struct demand_row rows[] = {
        {"alone", "c: ; @/gpu-fraction=0.5", "none"},
        {"nonsense", "c: ; @/gpu-fraction=NaN", "none"},
        {"somebody's own", "c: ; @/gpu-memory=lots", "none"},
        {"beside a request", "c: gpu-milli=300; @/gpu-fraction=0.5", "c 1xmilli(300,0)@1"},
    };

    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kai__requests__as_its_users_know_them),
        cmocka_unit_test(kai__absurd_requests__are_refused),
        cmocka_unit_test(kai__beside_other_vocabularies__are_refused),
        cmocka_unit_test(kai__not_served__means_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
