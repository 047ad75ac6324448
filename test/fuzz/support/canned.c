#include "support/canned.h"

#include "fuzz.h"

#include "kube/objects.h"

static const char *const nodes[] = {
    "{\"metadata\":{\"name\":\"n1\",\"uid\":\"nu1\",\"annotations\":{\"fgpu.io/"
    "gpus\":\"{\\\"v\\\":1,\\\"gpus\\\":["
    "{\\\"uuid\\\":\\\"GPU-a\\\",\\\"index\\\":0,\\\"model\\\":\\\"A100\\\",\\\"memMib\\\":81920},"
    "{\\\"uuid\\\":\\\"GPU-b\\\",\\\"index\\\":1,\\\"model\\\":\\\"A100\\\",\\\"memMib\\\":81920}]}"
    "\"}}}",
    "{\"metadata\":{\"name\":\"n2\",\"uid\":\"nu2\",\"labels\":{\"nvidia.com/gpu.count\":\"2\","
    "\"nvidia.com/gpu.memory\":\"16384\",\"nvidia.com/gpu.product\":\"Tesla-T4\"}}}",
    "{\"metadata\":{\"name\":\"n3\",\"uid\":\"nu3\",\"annotations\":{\"fgpu.io/"
    "gpus\":\"{\\\"v\\\":1,\\\"gpus\\\":["
    "{\\\"uuid\\\":\\\"GPU-c\\\",\\\"index\\\":0,\\\"model\\\":\\\"A100\\\",\\\"memMib\\\":40960}]}"
    "\"}}}",
    "{\"metadata\":{\"name\":\"n4\",\"uid\":\"nu4\",\"labels\":{\"fgpu.io/"
    "allocatable\":\"whole-gpus\"}},\"status\":{\"allocatable\":{\"nvidia.com/"
    "gpu\":\"4\"}}}",
    "{\"metadata\":{\"name\":\"n5\",\"uid\":\"nu5\"}}",
};

static const char *const pods[] = {
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u-a\",\"labels\":{\"app\":"
    "\"x\"},"
    "\"annotations\":{\"fgpu.io/"
    "assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"d\\\",\\\"containers\\\":[{\\\"name\\\":"
    "\\\"main\\\",\\\"init\\\":false,\\\"devices\\\":[{\\\"uuid\\\":\\\"GPU-c\\\",\\\"index\\\":0,"
    "\\\"milli\\\":600,"
    "\\\"memMib\\\":4096}]}]}\"}},\"spec\":{\"nodeName\":\"n3\",\"containers\":[{\"name\":\"main\","
    "\"resources\":"
    "{\"limits\":{\"fgpu.io/gpu-milli\":\"600\",\"fgpu.io/gpu-memory-mib\":\"4096\"}}}]}}",
    "{\"metadata\":{\"name\":\"f\",\"namespace\":\"default\",\"uid\":\"u-f\"},\"spec\":{"
    "\"nodeName\":\"n2\","
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"fgpu.io/"
    "gpu-milli\":\"200\"}}}]}}",
    "{\"metadata\":{\"name\":\"w\",\"namespace\":\"default\",\"uid\":\"u-w\"},\"spec\":{"
    "\"nodeName\":\"n4\","
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}}",
};

static void bracket(struct canned *c, enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind};

    FUZZ_CHECK(store_apply(c->store, &op, NULL) == 0);
}

void canned_init(struct canned *c)
{
    static struct json_reader reader;
    const struct ledger_limits limits = {.hash_key = {8, 9}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct arena a;

    clock_manual_init(&c->clock, 1000000000, 1795161600123);
    c->store = store_new(&limits, &c->clock.clock);
    c->ingest = (struct ingest){.store = c->store, .policy = policy_defaults()};
    FUZZ_CHECK(placement_context_init(&c->placement, c->store, policy_defaults(), NULL) == 0);
    arena_init(&a, 1 << 20);
    bracket(c, LEDGER_NODES_BEGIN);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        struct node node;

        FUZZ_CHECK(kube_parse_node(&reader, str_of(nodes[i]), &a, &node, NULL) == 0);
        FUZZ_CHECK(ingest_node(&c->ingest, &a, &node, NULL) == 0);
    }
    bracket(c, LEDGER_NODES_END);
    bracket(c, LEDGER_PODS_BEGIN);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        struct pod pod;

        FUZZ_CHECK(kube_parse_pod(&reader, str_of(pods[i]), &a, &pod, NULL) == 0);
        FUZZ_CHECK(ingest_pod(&c->ingest, &a, &pod, NULL) == 0);
    }
    bracket(c, LEDGER_PODS_END);
    arena_fini(&a);
    FUZZ_SOUND(store_check(c->store));
}

void canned_fini(struct canned *c)
{
    store_free(c->store);
}
