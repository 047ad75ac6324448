/* The vocabularies: whatever stands in a pod's resources and annotations, the demand is within
 * its documented ranges, does not depend on the order of keys or on keys that are not its own, and
 * can be searched and charged. */
#include "support/notation.h"

#include "core/dialects/dialect.h"
#include "core/fit/feasibility.h"
#include "core/support/oracle.h"

#include <stdlib.h>

#define MEMORY (1U << 20)
#define DEVICES 3

static void check_gpu_request(const struct notation *n, const struct gpu_request *w, uint64_t app_phases)
{
    const struct container *list = w->init ? n->pod.init_containers : n->pod.containers;

    FUZZ_CHECK(w->position < (w->init ? n->pod.init_container_n : n->pod.container_n));
    FUZZ_SAME(w->container, list[w->position].name);
    FUZZ_CHECK(w->count >= 1 && w->count <= DEVICES_PER_NODE_MAX);
    FUZZ_CHECK(w->milli >= 0 && w->milli <= DEVICE_MILLI);
    FUZZ_CHECK(w->mem_mib >= 0 && w->mem_mib <= DEMAND_MEM_MIB_MAX);
    FUZZ_CHECK(w->phases != 0);
    FUZZ_CHECK(((w->phases & app_phases) != 0) == (!w->init || list[w->position].sidecar));
    switch (w->kind) {
    case GPU_REQUEST_BOTH:
        FUZZ_CHECK(w->mem_mib > 0);
        return;
    case GPU_REQUEST_MILLI:
        FUZZ_CHECK(w->milli > 0 && w->mem_mib == 0);
        return;
    case GPU_REQUEST_MEMORY:
        FUZZ_CHECK(w->mem_mib > 0 && w->milli == 0);
        return;
    case GPU_REQUEST_WHOLE:
        return;
    case GPU_REQUEST_FRACTION:
        FUZZ_CHECK(w->milli > 0 && w->milli < DEVICE_MILLI && w->mem_mib == 0);
        return;
    case GPU_REQUEST_PORTION:
        FUZZ_CHECK(w->mem_mib > 0 && w->milli == 0);
        return;
    case GPU_REQUEST_KIND__MAX:
        break;
    }
    fuzz_fail(__FILE__, __LINE__, "not a kind of gpu_request");
}

static void check_charge(const struct gpu_request *w)
{
    struct charge c = gpu_request_charge(w, 1500, 20000, 16000);

    FUZZ_CHECK(c.slots == 1 && c.milli >= 0 && c.mem_mib >= 0 && c.milli <= 1500);
    FUZZ_CHECK(w->kind != GPU_REQUEST_WHOLE || (c.exclusive && c.milli == 1500 && c.mem_mib == 20000));
    FUZZ_CHECK(w->kind != GPU_REQUEST_MILLI || (c.milli == w->milli && c.mem_mib == 16000 * (int64_t)w->milli / 1000));
    FUZZ_CHECK(w->kind != GPU_REQUEST_BOTH || (c.milli == w->milli && c.mem_mib == w->mem_mib));
    FUZZ_CHECK(w->kind != GPU_REQUEST_MEMORY || (c.milli >= 1 && c.mem_mib == w->mem_mib));
    FUZZ_CHECK(w->kind != GPU_REQUEST_FRACTION || (c.milli == w->milli && c.mem_mib == 16 * w->milli));
    FUZZ_CHECK(w->kind != GPU_REQUEST_PORTION || (c.mem_mib == w->mem_mib && c.milli % 10 == 0 &&
                                                  (c.milli == 1000 || 16 * (int64_t)c.milli >= w->mem_mib)));
}

/* The search says what the brute-force oracle says. */
static void check_search(const struct demand *d)
{
    const struct node_state node = {.device_n = DEVICES, .flags = NODE_DESCRIBED, .plugin_managed_cap = 4};
    struct device_state devices[DEVICES];
    struct placement p;
    enum verdict v;

    for (int i = 0; i < DEVICES; i++) {
        devices[i] = (struct device_state){.mem_free_mib = 16384 - 6000 * i,
                                           .mem_cap_mib = 16384,
                                           .mem_base_mib = 16384,
                                           .milli_free = 1000 - 300 * i,
                                           .milli_cap = 1000,
                                           .slot_free = (int16_t)(2 + i),
                                           .slot_cap = 16,
                                           .memory_only = i == 2 ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE,
                                           .flags = DEVICE_HEALTHY | (i > 0 ? DEVICE_IN_USE : 0)};
    }
    v = feasibility_place(&node, devices, NULL, d, strategy_find(STR("tight-fit")), &p);
    FUZZ_CHECK(v < VERDICT__MAX);
    if (d->plugin_managed_n > 0) {
        return;
    }
    if (v == VERDICT_FITS) {
        FUZZ_SOUND(oracle_objection(devices, DEVICES, NULL, d, d->gpu_request_n, &p));
    } else if (v != VERDICT_SEARCH_LIMIT && d->gpu_request_n <= 4) {
        FUZZ_CHECK(!oracle_places(devices, DEVICES, NULL, d, NULL));
    }
}

static void check_demand(const struct policy *p, const struct notation *n, const struct demand *d)
{
    uint64_t app = 1;

    FUZZ_CHECK(d->defect < DEMAND_DEFECT__MAX && d->qos < QOS__MAX && d->dialect != NULL);
    if (d->defect != DEMAND_OK) {
        FUZZ_CHECK(d->gpu_request_n == 0 && d->model_n == 0 && d->uuid_n == 0 && d->isolate_n == 0);
        return;
    }
    FUZZ_CHECK(d->gpu_request_n <= DEMAND_GPU_REQUESTS_MAX && d->model_n <= DEMAND_PATTERNS_MAX &&
               d->uuid_n <= DEMAND_PATTERNS_MAX && d->isolate_n <= DEMAND_ISOLATE_MAX);
    FUZZ_CHECK(d->plugin_managed_n >= 0 && d->plugin_managed_n <= DEMAND_PLUGIN_MANAGED_MAX);
    FUZZ_CHECK(d->plugin_managed_n == 0 || d->gpu_request_n == 0);
    FUZZ_CHECK(demand_is_empty(d) || dialect_claims_pod(p, &n->pod));
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        check_gpu_request(n, &d->gpu_requests[i], app);
        check_charge(&d->gpu_requests[i]);
    }
    if (!demand_is_empty(d)) {
        check_search(d);
    }
}

/* Takes away every annotation that is no part of a request, nor one under fgpu.io/, where even an unknown key says
 * something. */
static void keep_own_keys(struct notation *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->annotations.n; i++) {
        struct str key = n->annotations.items[i].key, domain = {key.p, key.n < 8 ? key.n : 8};

        if (dialect_is_request_key(key) || str_ieq(domain, STR("fgpu.io/"))) {
            n->annotations.items[kept++] = n->annotations.items[i];
        }
    }
    n->annotations.n = kept;
    n->pod.annotations.n = kept;
}

static void check_same(const struct demand *a, const struct demand *b)
{
    FUZZ_CHECK((a->defect == DEMAND_OK) == (b->defect == DEMAND_OK));
    FUZZ_CHECK(a->defect != DEMAND_OK || demand_equal(a, b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct notation n;
    struct fuzz_input in = {data, size};
    const struct policy *p = notation_policy(&in);
    struct demand d, other, *copy;
    struct arena a;

    arena_init(&a, MEMORY);
    notation_read(&in, &a, &n);
    FUZZ_CHECK(dialect_demand(p, &n.pod, &a, &d));
    check_demand(p, &n, &d);
    copy = demand_copy(&d);
    FUZZ_CHECK(demand_equal(copy, &d));
    notation_reverse(&n);
    FUZZ_CHECK(dialect_demand(p, &n.pod, &a, &other));
    check_same(copy, &other);
    keep_own_keys(&n);
    FUZZ_CHECK(dialect_demand(p, &n.pod, &a, &other));
    check_same(copy, &other);
    free(copy);
    arena_fini(&a);
    return 0;
}
