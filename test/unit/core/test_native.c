/* Amounts of the native vocabulary: what each combination of resources and annotations asks. */
#include "core/support/pod_notation.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void native__resources__as_in_the_table(void **state)
{
    static const struct demand_row rows[] = {
        {"nothing", "app c: cpu/x=1", "none"},
        {"no containers", "@example.com/other=1", "none"},
        {"milli and memory", "c: gpu-milli=300 gpu-memory-mib=4096", "c 1xboth(300,4096)@1"},
        {"milli, memory, count", "c: gpu-milli=300 gpu-memory-mib=4096 gpu-count=2", "c 2xboth(300,4096)@1"},
        {"milli only", "c: gpu-milli=300", "c 1xmilli(300,0)@1"},
        {"least milli", "c: gpu-milli=1", "c 1xmilli(1,0)@1"},
        {"most of one", "c: gpu-milli=999", "c 1xmilli(999,0)@1"},
        {"milli and count", "c: gpu-milli=300 gpu-count=3", "c 3xmilli(300,0)@1"},
        {"memory only", "c: gpu-memory-mib=4096", "c 1xmemory(0,4096)@1"},
        {"memory and count", "c: gpu-memory-mib=4096 gpu-count=2", "c 2xmemory(0,4096)@1"},
        {"one whole", "c: gpu-milli=1000", "c 1xwhole(1000,0)@1"},
        {"several whole", "c: gpu-milli=4000", "c 4xwhole(1000,0)@1"},
        {"all compute and some memory", "c: gpu-milli=1000 gpu-memory-mib=1", "c 1xboth(1000,1)@1"},
        {"1000 milli and count", "c: gpu-milli=1000 gpu-count=2", "c 2xwhole(1000,0)@1"},
        {"1000 milli, memory, count", "c: gpu-milli=1000 gpu-memory-mib=7 gpu-count=2", "c 2xboth(1000,7)@1"},
        {"count only", "c: gpu-count=2", "c 2xwhole(1000,0)@1"},
        {"most devices", "c: gpu-count=64", "c 64xwhole(1000,0)@1"},
        {"most devices by milli", "c: gpu-milli=64k", "c 64xwhole(1000,0)@1"},
        {"most memory", "c: gpu-memory-mib=16777216", "c 1xmemory(0,16777216)@1"},
        {"request without limit", "c: ~gpu-milli=300", "c 1xmilli(300,0)@1"},
        {"limit before request", "c: gpu-milli=300 ~gpu-milli=200", "c 1xmilli(300,0)@1"},
        {"limit for one, request for the other", "c: gpu-milli=300 ~gpu-memory-mib=5", "c 1xboth(300,5)@1"},
        {"quantities in other forms", "c: gpu-milli=3e2 gpu-memory-mib=4Ki", "c 1xboth(300,4096)@1"},
        {"two containers", "a: gpu-milli=300; b: gpu-count=1", "a 1xmilli(300,0)@1 b 1xwhole(1000,0)@1"},
        {"zero milli", "c: gpu-milli=0", "none"},
        {"all zero", "c: gpu-milli=0 gpu-memory-mib=0 gpu-count=0 nvidia.com/gpu=0", "none"},
        {"zero milli with memory", "c: gpu-milli=0 gpu-memory-mib=5", "c 1xmemory(0,5)@1"},
        {"zero limit hides request", "c: gpu-milli=0 ~gpu-milli=5", "none"},
        {"zero count with milli", "c: gpu-milli=300 gpu-count=0", "defect count"},
        {"zero count with memory", "c: gpu-memory-mib=300 gpu-count=0", "defect count"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

#define DIGITS_50 "12345678901234567890123456789012345678901234567890"
#define DIGITS_400 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50

static void native__absurd_resources__are_defects(void **state)
{
    static const struct demand_row rows[] = {
        {"1500 milli", "c: gpu-milli=1500", "defect fraction"},
        {"1001 milli", "c: gpu-milli=1001", "defect fraction"},
        {"several devices and a count", "c: gpu-milli=2000 gpu-count=2", "defect contradiction"},
        {"several devices and a zero count", "c: gpu-milli=2000 gpu-count=0", "defect contradiction"},
        {"several devices and memory", "c: gpu-milli=2000 gpu-memory-mib=1", "defect contradiction"},
        {"65 devices", "c: gpu-count=65", "defect count"},
        {"65 devices by milli", "c: gpu-milli=65000", "defect count"},
        {"1e400", "c: gpu-milli=1e400", "defect too_large"},
        {"1e400 memory", "c: gpu-memory-mib=1e400", "defect too_large"},
        {"1e400 count", "c: gpu-count=1e400", "defect too_large"},
        {"1e400 whole", "c: nvidia.com/gpu=1e400", "defect too_large"},
        {"400 digits", "c: gpu-milli=" DIGITS_400, "defect too_large"},
        {"400 digits of memory", "c: gpu-memory-mib=" DIGITS_400, "defect too_large"},
        {"-1", "c: gpu-milli=-1", "defect quantity"},
        {"-1 memory", "c: gpu-memory-mib=-1", "defect quantity"},
        {"-1 count", "c: gpu-count=-1", "defect quantity"},
        {"-1 whole", "c: nvidia.com/gpu=-1", "defect quantity"},
        {"5m", "c: gpu-milli=5m", "defect quantity"},
        {"500m memory", "c: gpu-memory-mib=500m", "defect quantity"},
        {"500m whole", "c: nvidia.com/gpu=500m", "defect quantity"},
        {"0.5 count", "c: gpu-count=0.5", "defect quantity"},
        {"no number", "c: gpu-milli=many", "defect quantity"},
        {"no text", "c: gpu-milli=", "defect quantity"},
        {"8Gi where MiB are counted", "c: gpu-memory-mib=8Gi", "defect too_large"},
        {"a bit above the most memory", "c: gpu-memory-mib=16777217", "defect too_large"},
        {"a sum above 64 bits", "c: nvidia.com/gpu=9223372036854775807; d: nvidia.com/gpu=9223372036854775807",
         "defect count"},
        {"a bad init container", "init i: gpu-milli=-1; c: gpu-milli=5", "defect quantity"},
        {"a bad container behind a good one", "c: gpu-milli=5; d: gpu-milli=5m", "defect quantity"},
        {"more whole GPUs than anything has", "c: nvidia.com/gpu=65537", "defect count"},
        {"together more than anything has", "c: nvidia.com/gpu=65536; d: nvidia.com/gpu=1", "defect count"},
        {"share beside whole in one container", "c: gpu-milli=5 nvidia.com/gpu=1", "defect mixed_kinds"},
        {"share beside whole in another", "c: gpu-milli=5; d: nvidia.com/gpu=1", "defect mixed_kinds"},
        {"share beside whole init", "init i: nvidia.com/gpu=1; c: gpu-milli=5", "defect mixed_kinds"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

/* defects.md B7: peers cut such numbers to 32 bits and then see no request. */
static void native__b7_requests_beyond_32_bits__do_not_wrap(void **state)
{
    static const struct demand_row rows[] = {
        {"2^32 GPUs", "c: gpu-count=4294967296", "defect count"},
        {"2^32 + 1 GPUs", "c: gpu-count=4294967297", "defect count"},
        {"2^16 + 1 GPUs", "c: gpu-count=65537", "defect count"},
        {"2^32 whole GPUs", "c: nvidia.com/gpu=4294967296", "defect count"},
        {"2^32 + 1024 MiB", "c: gpu-memory-mib=4294968320", "defect too_large"},
        {"2^32 + 300 milli", "c: gpu-milli=4294967596", "defect fraction"},
        {"2^32 x 1000 milli", "c: gpu-milli=4294967296000", "defect count"},
        {"2^63 - 1 milli", "c: gpu-milli=9223372036854775807", "defect fraction"},
        {"2^63 - 1 MiB", "c: gpu-memory-mib=9223372036854775807", "defect too_large"},
        {"2^64 milli", "c: gpu-milli=18446744073709551616", "defect too_large"},
        {"2^32 GPUs annotated", "c:; @gpu-count=4294967296", "defect count annotated"},
        {"2^32 + 1024 MiB annotated", "c:; @gpu-memory=4194305Gi", "defect too_large annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

/* defects.md B11: peers accept negative requests. */
static void native__b11_negative_requests__are_defects(void **state)
{
    static const struct demand_row rows[] = {
        {"milli", "c: gpu-milli=-300", "defect quantity"},
        {"memory", "c: gpu-milli=300 gpu-memory-mib=-4096", "defect quantity"},
        {"count", "c: gpu-milli=300 gpu-count=-2", "defect quantity"},
        {"whole beside positive", "c: nvidia.com/gpu=-1; d: nvidia.com/gpu=2", "defect quantity"},
        {"fraction", "c:; @gpu-fraction=-0.3", "defect quantity annotated"},
        {"memory annotated", "c:; @gpu-memory=-4Gi", "defect quantity annotated"},
        {"count annotated", "c:; @gpu-count=-1", "defect quantity annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void native__annotations__as_in_the_table(void **state)
{
    static const struct demand_row rows[] = {
        {"fraction", "c:; @gpu-fraction=0.3", "c 1xmilli(300,0)@1 annotated"},
        {"fraction in milli", "c:; @gpu-fraction=5m", "c 1xmilli(5,0)@1 annotated"},
        {"one", "c:; @gpu-fraction=1", "c 1xwhole(1000,0)@1 annotated"},
        {"1.000", "c:; @gpu-fraction=1.000", "c 1xwhole(1000,0)@1 annotated"},
        {"two", "c:; @gpu-fraction=2", "c 2xwhole(1000,0)@1 annotated"},
        {"fraction and memory", "c:; @gpu-fraction=0.3; @gpu-memory=4Gi", "c 1xboth(300,4096)@1 annotated"},
        {"fraction and count", "c:; @gpu-fraction=0.3; @gpu-count=2", "c 2xmilli(300,0)@1 annotated"},
        {"memory", "c:; @gpu-memory=4Gi", "c 1xmemory(0,4096)@1 annotated"},
        {"decimal memory is rounded up", "c:; @gpu-memory=4G", "c 1xmemory(0,3815)@1 annotated"},
        {"a MiB and a kB", "c:; @gpu-memory=1050k", "c 1xmemory(0,2)@1 annotated"},
        {"memory and count", "c:; @gpu-memory=1Ti; @gpu-count=8", "c 8xmemory(0,1048576)@1 annotated"},
        {"count", "c:; @gpu-count=2", "c 2xwhole(1000,0)@1 annotated"},
        {"first app container", "init i:; c:; d:; @gpu-count=1", "c 1xwhole(1000,0)@1 annotated"},
        {"named container", "c:; d:; @gpu-count=1; @container=d", "d 1xwhole(1000,0)@1 annotated"},
        {"container alone", "c:; @container=nobody", "none"},
        {"resource of zero beside", "c: gpu-milli=0; @gpu-count=1", "c 1xwhole(1000,0)@1 annotated"},
        {"1.5", "c:; @gpu-fraction=1.5", "defect fraction annotated"},
        {"zero", "c:; @gpu-fraction=0", "defect fraction annotated"},
        {"below a milli", "c:; @gpu-fraction=0.0005", "defect fraction annotated"},
        {"between two milli", "c:; @gpu-fraction=0.3333", "defect fraction annotated"},
        {"far below a milli", "c:; @gpu-fraction=0.3000000000001", "defect fraction annotated"},
        {"two and a count", "c:; @gpu-fraction=2; @gpu-count=2", "defect contradiction annotated"},
        {"two and memory", "c:; @gpu-fraction=2; @gpu-memory=1Gi", "defect contradiction annotated"},
        {"65", "c:; @gpu-fraction=65", "defect count annotated"},
        {"huge fraction", "c:; @gpu-fraction=1e18", "defect too_large annotated"},
        {"1e400", "c:; @gpu-fraction=1e400", "defect too_large annotated"},
        {"1e400 memory", "c:; @gpu-memory=1e400", "defect too_large annotated"},
        {"NaN", "c:; @gpu-fraction=NaN", "defect quantity annotated"},
        {"percent", "c:; @gpu-fraction=30%", "defect quantity annotated"},
        {"blank in front", "c:; @gpu-fraction= 0.3", "defect quantity annotated"},
        {"empty", "c:; @gpu-fraction=", "defect quantity annotated"},
        {"memory of zero", "c:; @gpu-memory=0", "defect quantity annotated"},
        {"memory with a fraction of a byte", "c:; @gpu-memory=5m", "defect quantity annotated"},
        {"count of zero", "c:; @gpu-count=0", "defect count annotated"},
        {"count of zero beside", "c:; @gpu-count=0; @gpu-fraction=0.5", "defect count annotated"},
        {"count with a fraction", "c:; @gpu-count=1.5", "defect quantity annotated"},
        {"unknown container", "c:; @gpu-count=1; @container=d", "defect unknown_container annotated"},
        {"init container", "init d:; c:; @gpu-count=1; @container=d", "defect unknown_container annotated"},
        {"container without name", "c:; @gpu-count=1; @container=", "defect unknown_container annotated"},
        {"no containers", "@gpu-count=1", "defect unknown_container annotated"},
        {"resource too", "c: gpu-milli=300; @gpu-fraction=0.3", "defect twice annotated"},
        {"resource of another container", "c:; d: gpu-milli=300; @gpu-fraction=0.3", "defect twice annotated"},
        {"resource of an init container", "init i: gpu-count=1; c:; @gpu-count=1", "defect twice annotated"},
        {"container beside a resource", "c: gpu-milli=300; @container=c", "defect twice"},
        {"container beside a whole GPU", "c: nvidia.com/gpu=1; @container=c", "defect twice"},
        {"whole GPU too", "c: nvidia.com/gpu=1; @gpu-fraction=0.3", "defect mixed_kinds annotated"},
    };
    check_demands(policy_defaults(), rows, ARRAY_LEN(rows));
}

static const struct named_size sizes[] = {
    {STR("small"), 250, 8192, 0}, {STR("half"), 500, 0, 0},    {STR("pair"), 0, 0, 2},
    {STR("mem"), 0, 4096, 2},     {STR("broken"), 1500, 0, 0}, {STR("empty"), 0, 0, 0},
};

static void native__named_sizes__are_the_same_gpu_requests(void **state)
{
    static const struct demand_row rows[] = {
        {"small", "c:; @size=small", "c 1xboth(250,8192)@1 annotated"},
        {"half", "c:; @size=half", "c 1xmilli(500,0)@1 annotated"},
        {"pair", "c:; @size=pair", "c 2xwhole(1000,0)@1 annotated"},
        {"mem", "c:; @size=mem", "c 2xmemory(0,4096)@1 annotated"},
        {"container", "c:; d:; @size=half; @container=d", "d 1xmilli(500,0)@1 annotated"},
        {"broken", "c:; @size=broken", "defect fraction annotated"},
        {"empty", "c:; @size=empty", "defect unknown_size annotated"},
        {"unknown", "c:; @size=Small", "defect unknown_size annotated"},
        {"no name", "c:; @size=", "defect unknown_size annotated"},
        {"with a fraction", "c:; @size=half; @gpu-fraction=0.5", "defect twice annotated"},
        {"with memory", "c:; @size=half; @gpu-memory=1Gi", "defect twice annotated"},
        {"with a count", "c:; @size=half; @gpu-count=1", "defect twice annotated"},
        {"with a resource", "c: gpu-milli=500; @size=half", "defect twice annotated"},
    };
    struct policy p = *policy_defaults();

    p.sizes = sizes;
    p.size_n = ARRAY_LEN(sizes);
    check_demands(&p, rows, ARRAY_LEN(rows));
}

static void native__named_sizes_as_limits__each_container_its_own(void **state)
{
    static const struct demand_row rows[] = {
        {"small", "c: size.small=1", "c 1xboth(250,8192)@1"},
        {"pair", "c: size.pair=1", "c 2xwhole(1000,0)@1"},
        {"request without limit", "c: ~size.half=1", "c 1xmilli(500,0)@1"},
        {"limit and request, as the API server makes them", "c: size.half=1 ~size.half=1", "c 1xmilli(500,0)@1"},
        {"two containers", "a: size.small=1; b: size.half=1", "a 1xboth(250,8192)@1 b 1xmilli(500,0)@1"},
        {"beside a share of another container", "a: size.half=1; b: gpu-milli=100",
         "a 1xmilli(500,0)@1 b 1xmilli(100,0)@1"},
        {"in an init container", "init i: size.pair=1; c: size.half=1", "i 2xwhole(1000,0)@2 c 1xmilli(500,0)@1"},
        {"zero asks for nothing", "c: size.half=0", "none"},
        {"zero of a size that is none", "c: size.nothing=0", "none"},
        {"zero beside another", "c: size.small=0 size.half=1", "c 1xmilli(500,0)@1"},
        {"two of them", "c: size.half=2", "defect size_amount"},
        {"half of one", "c: size.half=500m", "defect quantity"},
        {"minus one", "c: size.half=-1", "defect quantity"},
        {"two sizes", "c: size.small=1 size.half=1", "defect twice"},
        {"the same as limit and request of another", "c: size.small=1 ~size.half=1", "defect twice"},
        {"beside milli", "c: size.half=1 gpu-milli=100", "defect twice"},
        {"beside memory", "c: size.half=1 gpu-memory-mib=100", "defect twice"},
        {"beside a count", "c: size.half=1 gpu-count=1", "defect twice"},
        {"beside a MIG profile", "c: size.half=1 nvidia.com/mig-1g.5gb=1", "defect twice"},
        {"beside whole GPUs", "c: size.half=1 nvidia.com/gpu=1", "defect mixed_kinds"},
        {"as annotation, too", "c: size.half=1; @size=half", "defect twice annotated"},
        {"of another container, too", "c: size.half=1; d:; @size=half; @container=d", "defect twice annotated"},
        {"beside a fraction", "c: size.half=1; @gpu-fraction=0.5", "defect twice annotated"},
        {"beside a container that is named", "c: size.half=1; @container=c", "defect twice"},
        {"unknown", "c: size.Small=1", "defect unknown_size"},
        {"no name", "c: size.=1", "defect unknown_size"},
        {"broken", "c: size.broken=1", "defect fraction"},
    };
    struct policy p = *policy_defaults();

    p.sizes = sizes;
    p.size_n = ARRAY_LEN(sizes);
    check_demands(&p, rows, ARRAY_LEN(rows));
}

/* A pod of the namespace with these annotations and limits asks for ... */
static void expect_size_of(const struct policy *p, const char *namespace_, struct kv_list annotations,
                           struct kv_list limits, enum demand_defect defect, int32_t milli, int64_t mem_mib)
{
    struct made_pod *m = made_pod_new("c:");
    struct container c = m->pod.containers[0];
    struct demand d;

    c.limits = limits;
    m->pod.containers = &c;
    m->pod.namespace_ = str_of(namespace_);
    m->pod.annotations = annotations;
    assert_true(dialect_demand(p, &m->pod, &m->arena, &d));
    assert_int_equal(d.defect, defect);
    if (defect == DEMAND_OK) {
        assert_int_equal(d.gpu_request_n, 1);
        assert_int_equal(d.gpu_requests[0].milli, milli);
        assert_int_equal(d.gpu_requests[0].mem_mib, mem_mib);
    }
    made_pod_free(m);
}

/* The same by fgpu.io/size: NAME and by fgpu.io/size.NAME: 1. */
static void expect_size(const struct policy *p, const char *namespace_, const char *size, enum demand_defect defect,
                        int32_t milli, int64_t mem_mib)
{
    char name[64];
    const struct kv annotation = {STR("fgpu.io/size"), str_of(size)};

    snprintf(name, sizeof(name), "fgpu.io/size.%s", size);
    const struct kv limit = {str_of(name), STR("1")};
    expect_size_of(p, namespace_, (struct kv_list){&annotation, 1}, (struct kv_list){0}, defect, milli, mem_mib);
    expect_size_of(p, namespace_, (struct kv_list){0}, (struct kv_list){&limit, 1}, defect, milli, mem_mib);
}

static void native__sizes_of_namespaces__hold_there_only(void **state)
{
    static const struct str research[] = {STR("research"), STR("team-*")}, a[] = {STR("team-a")}, all[] = {STR("*")};
    static const struct size_variant variants[] = {
        {a, 1, 100, 1024, 0}, {research, 2, 200, 2048, 0}, {all, 1, 300, 3072, 0}};
    static const struct named_size of_namespaces[] = {
        {.name = STR("varies"), .milli = 400, .mem_mib = 4096, .variants = variants, .variant_n = 2},
        {.name = STR("always"), .milli = 400, .variants = variants, .variant_n = 3},
        {.name = STR("kept"), .milli = 500, .mem_mib = 5120, .namespaces = research, .namespace_n = 2},
        {.name = STR("both"),
         .milli = 600,
         .mem_mib = 6144,
         .namespaces = research,
         .namespace_n = 1,
         .variants = variants,
         .variant_n = 1},
    };
    struct policy p = *policy_defaults();

    p.sizes = of_namespaces;
    p.size_n = ARRAY_LEN(of_namespaces);
    expect_size(&p, "default", "varies", DEMAND_OK, 400, 4096);
    expect_size(&p, "team-a", "varies", DEMAND_OK, 100, 1024);
    expect_size(&p, "team-b", "varies", DEMAND_OK, 200, 2048);
    expect_size(&p, "default", "always", DEMAND_OK, 300, 3072);
    expect_size(&p, "team-b", "kept", DEMAND_OK, 500, 5120);
    expect_size(&p, "teams", "kept", DEMAND_SIZE_ELSEWHERE, 0, 0);
    expect_size(&p, "research", "both", DEMAND_OK, 600, 6144);
    expect_size(&p, "team-a", "both", DEMAND_OK, 100, 1024); /* a variant lets its namespaces in */
    expect_size(&p, "team-b", "both", DEMAND_SIZE_ELSEWHERE, 0, 0);
    expect_size(&p, "default", "nothing", DEMAND_UNKNOWN_SIZE, 0, 0);
    expect_size(&p, "", "kept", DEMAND_OK, 500, 5120); /* asked by nobody: as it stands in the file */
}

static const struct compute_resource units[] = {
    {STR("fgpu.io/gpu-milli"), 1000},
    {STR("nvidia.com/vgpu"), 1000},
    {STR("cnvrg.io/metagpu"), 100},
    {STR("x/span"), 100, ABOVE_SPAN},
    {STR("x/units"), 100, ABOVE_REFUSE, PICKS_KUBELET},
    {STR("x/two"), 2},
    {STR("x/three"), 3},
    {STR("x/million"), 1000000},
};

static void native__configured_names_and_units__serve_other_vocabularies(void **state)
{
    static const struct demand_row rows[] = {
        {"K8vGPUSharing", "c: nvidia.com/vgpu=300", "c 1xmilli(300,0)@1"},
        {"metagpu", "c: cnvrg.io/metagpu=30", "c 1xmilli(300,0)@1"},
        {"metagpu whole", "c: cnvrg.io/metagpu=100", "c 1xwhole(1000,0)@1"},
        {"metagpu several", "c: cnvrg.io/metagpu=300", "c 3xwhole(1000,0)@1"},
        {"metagpu one and a half", "c: cnvrg.io/metagpu=150", "defect fraction"},
        {"metagpu with memory", "c: cnvrg.io/metagpu=30 gpu-memory-mib=9", "c 1xboth(300,9)@1"},
        {"a share of one that may span", "c: x/span=30", "c 1xmilli(300,0)@1"},
        {"one that may span", "c: x/span=100", "c 1xwhole(1000,0)@1"},
        {"one and a half", "c: x/span=150", "c 1xwhole(1000,0)@1 c 1xmilli(500,0)@1"},
        {"two and a half", "c: x/span=250", "c 2xwhole(1000,0)@1 c 1xmilli(500,0)@1"},
        {"several of them", "a: x/span=150; b: x/span=30", "a 1xwhole(1000,0)@1 a 1xmilli(500,0)@1 b 1xmilli(300,0)@1"},
        {"in an init container", "init i: x/span=150; sidecar s: gpu-milli=10; init j: x/span=250; c: x/span=120",
         "i 1xwhole(1000,0)@2 i 1xmilli(500,0)@2 s 1xmilli(10,0)@5 j 2xwhole(1000,0)@4 j 1xmilli(500,0)@4 "
         "c 1xwhole(1000,0)@1 c 1xmilli(200,0)@1"},
        {"with memory", "c: x/span=250 gpu-memory-mib=9", "defect contradiction"},
        {"with a count", "c: x/span=250 gpu-count=2", "defect contradiction"},
        {"almost as many as a node can have", "c: x/span=6350", "c 63xwhole(1000,0)@1 c 1xmilli(500,0)@1"},
        {"64 and a half", "c: x/span=6450", "defect count"},
        {"far more", "c: x/span=6550", "defect count"},
        {"above 64 bits", "c: x/span=9223372036854775801", "defect too_large"},
        {"half of two", "c: x/two=1", "c 1xmilli(500,0)@1"},
        {"a third has no milli", "c: x/three=1", "defect fraction"},
        {"three thirds have", "c: x/three=3", "c 1xwhole(1000,0)@1"},
        {"a thousandth of a million", "c: x/million=1000", "c 1xmilli(1,0)@1"},
        {"finer than a milli", "c: x/million=999", "defect fraction"},
        {"product above 64 bits", "c: x/three=9223372036854775807", "defect fraction"},
        {"milli above 64 bits", "c: x/two=9223372036854775806", "defect too_large"},
        {"two names in one container", "c: gpu-milli=300 nvidia.com/vgpu=300", "defect twice"},
        {"two names, equal shares", "c: nvidia.com/vgpu=300 cnvrg.io/metagpu=30", "defect twice"},
        {"two names, one of zero", "c: gpu-milli=0 cnvrg.io/metagpu=30", "c 1xmilli(300,0)@1"},
        {"two names in two containers", "c: gpu-milli=300; d: cnvrg.io/metagpu=30",
         "c 1xmilli(300,0)@1 d 1xmilli(300,0)@1"},
        {"two names for memory", "c: gpu-memory-mib=1 x/mem=1", "defect twice"},
        {"second name for memory", "c: x/mem=7", "c 1xmemory(0,7)@1"},
        {"two names for a count", "c: gpu-count=1 x/count=1", "defect twice"},
        {"second name for a count", "c: x/count=2", "c 2xwhole(1000,0)@1"},
        {"two plugins", "c: nvidia.com/gpu=1 x/gpu=2", "plugin-managed 3"},
        {"units that kubelet picks", "init i: x/units=300; c: x/units=150; d: x/units=100", "plugin-managed 300"},
        {"units that kubelet picks beside a share", "c: x/units=150; d: gpu-milli=100", "defect mixed_kinds"},
    };
    static const struct str memory[] = {STR("fgpu.io/gpu-memory-mib"), STR("x/mem")};
    static const struct str count[] = {STR("x/count"), STR("fgpu.io/gpu-count")};
    static const struct str whole[] = {STR("nvidia.com/gpu"), STR("x/gpu")};
    struct policy p = *policy_defaults();

    p.compute_resources = units;
    p.compute_resource_n = ARRAY_LEN(units);
    p.memory_resources = memory;
    p.memory_resource_n = ARRAY_LEN(memory);
    p.count_resources = count;
    p.count_resource_n = ARRAY_LEN(count);
    p.whole_resources = whole;
    p.whole_resource_n = ARRAY_LEN(whole);
    check_demands(&p, rows, ARRAY_LEN(rows));
}

/* What it takes of compute, the node says (core/fit/device_state.h). */
static void native__memory_only__the_same_gpu_request_under_every_configuration(void **state)
{
    static const struct demand_row rows[] = {
        {"resource", "c: gpu-memory-mib=4096", "c 1xmemory(0,4096)@1"},
        {"annotation", "c:; @gpu-memory=4Gi", "c 1xmemory(0,4096)@1 annotated"},
        {"with compute", "c: gpu-milli=5 gpu-memory-mib=4096", "c 1xboth(5,4096)@1"},
        {"without memory", "c: gpu-milli=5", "c 1xmilli(5,0)@1"},
    };
    struct policy p = *policy_defaults();

    p.memory_only = MEMORY_ONLY_FREE;
    check_demands(&p, rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native__resources__as_in_the_table),
        cmocka_unit_test(native__absurd_resources__are_defects),
        cmocka_unit_test(native__b7_requests_beyond_32_bits__do_not_wrap),
        cmocka_unit_test(native__b11_negative_requests__are_defects),
        cmocka_unit_test(native__annotations__as_in_the_table),
        cmocka_unit_test(native__named_sizes__are_the_same_gpu_requests),
        cmocka_unit_test(native__named_sizes_as_limits__each_container_its_own),
        cmocka_unit_test(native__sizes_of_namespaces__hold_there_only),
        cmocka_unit_test(native__configured_names_and_units__serve_other_vocabularies),
        cmocka_unit_test(native__memory_only__the_same_gpu_request_under_every_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
