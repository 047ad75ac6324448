#include "core/support/growing_cluster.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "core/placement/pack.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static bool chance(struct growing_cluster *t, unsigned percent)
{
    return rng_below(&t->rng, 100) < percent;
}

static int32_t pick(struct growing_cluster *t, const int32_t *from, size_t n)
{
    return from[rng_below(&t->rng, n)];
}

/* ---- nodes ---- */

static struct device *add_device(struct growing_cluster_node *n, struct device like)
{
    size_t i = n->device_n++;
    char name[sizeof(n->name)];

    memcpy(name, n->name, sizeof(name));
    snprintf(n->uuids[i], sizeof(n->uuids[i]), "GPU-%s-%zu", name, i);
    like.uuid = str_of(n->uuids[i]);
    like.index = like.minor = (int32_t)i;
    n->devices[i] = like;
    return &n->devices[i];
}

/* A GPU in MIG mode and two or three of its instances. */
static void add_cut_gpu(struct growing_cluster *t, struct growing_cluster_node *n)
{
    static const struct {
        uint16_t profile;
        int64_t mem_mib;
    } cuts[] = {{MIG_PROFILE(1, 5), 4864}, {MIG_PROFILE(2, 10), 9856}, {MIG_PROFILE(3, 20), 19968}};
    const struct device gpu = {.model = STR("A100"), .mem_mib = 40000, .slot_n = 1, .numa = -1, .healthy = true};
    struct device *whole = add_device(n, gpu);
    int32_t index = whole->index;
    size_t some = 2 + rng_below(&t->rng, 2);
    int8_t start = 0;

    whole->profile = DEVICE_IN_MIG_MODE;
    for (size_t i = 0; i < some; i++) {
        size_t k = rng_below(&t->rng, ARRAY_LEN(cuts) - (i > 0));
        struct device *d = add_device(n, gpu);

        d->profile = cuts[k].profile;
        d->mem_mib = cuts[k].mem_mib;
        d->gpu_index = index;
        d->start = start;
        start = (int8_t)(start + (1 << k));
    }
}

void growing_cluster_add_node(struct growing_cluster *t)
{
    static const int32_t mems[] = {16000, 16000, 16000, 40000, 0};
    static const int32_t gpus[] = {1, 2, 2, 4, 4, 6};
    struct growing_cluster_node *n = &t->nodes[t->node_n];
    struct device gpu = {.model = chance(t, 60) ? STR("A100") : STR("T4"),
                         .mem_mib = pick(t, mems, ARRAY_LEN(mems)),
                         .slot_n = chance(t, 80) ? 16 : 2,
                         .numa = -1,
                         .healthy = true};

    BUG_ON(t->node_n == GROWING_CLUSTER_NODES_MAX);
    memset(n, 0, sizeof(*n));
    snprintf(n->name, sizeof(n->name), "n%zu", t->node_n);
    t->names[t->node_n++] = str_of(n->name);
    n->host = (struct host_capacity){.cpu_milli = 8000 * (1 + (int32_t)rng_below(&t->rng, 4)), .mem_mib = 65536};
    if (chance(t, 15)) {
        add_cut_gpu(t, n);
    } else {
        size_t gpu_n = (size_t)pick(t, gpus, ARRAY_LEN(gpus));

        for (size_t i = 0; i < gpu_n; i++) {
            add_device(n, gpu)->healthy = chance(t, 97);
        }
        n->plugin_managed_n = chance(t, 20) ? (int32_t)gpu_n : 0;
    }
    growing_cluster_describe(t, n);
}

void growing_cluster_describe(struct growing_cluster *t, const struct growing_cluster_node *n)
{
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION,
                                        .devices = n->devices,
                                        .device_n = n->device_n,
                                        .plugin_managed_n = n->plugin_managed_n};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED,
                           .node = {.name = str_of(n->name),
                                    .uid = str_of(n->name),
                                    .schedulable = true,
                                    .host = n->host,
                                    .inventory = &inventory}};

    assert_int_equal(ledger_apply(t->f.l, &op, NULL), 0);
}

bool growing_cluster_grow(struct growing_cluster *t, size_t node, enum growing_cluster_growth how)
{
    struct growing_cluster_node *n = &t->nodes[node];
    bool cut = n->devices[0].profile != 0, grows = false;

    switch (how) {
    case GROWING_CLUSTER_ONE_MORE_GPU:
        grows = !cut && n->device_n <= GROWING_CLUSTER_GPUS_MAX;
        if (grows) {
            add_device(n, n->devices[0])->healthy = true;
            n->plugin_managed_n += n->plugin_managed_n > 0;
        }
        break;
    case GROWING_CLUSTER_MORE_SHARERS:
        for (size_t i = 0; i < n->device_n && !cut; i++) {
            n->devices[i].slot_n++;
            grows = true;
        }
        break;
    case GROWING_CLUSTER_MORE_MEMORY:
        for (size_t i = 0; i < n->device_n && !cut; i++) {
            grows = grows || n->devices[i].mem_mib > 0;
            n->devices[i].mem_mib *= 2;
        }
        break;
    case GROWING_CLUSTER_GROWTH__MAX:
        BUG("no such growth");
    }
    if (grows) {
        growing_cluster_describe(t, n);
    }
    return grows;
}

struct growing_cluster *growing_cluster_new(uint64_t seed, size_t node_n)
{
    struct growing_cluster *t = xcalloc(1, sizeof(*t));

    rng_init(&t->rng, seed);
    fixture_init(&t->f);
    t->forecast = forecast_new();
    t->scores = score_cache_new();
    for (size_t i = 0; i < node_n; i++) {
        growing_cluster_add_node(t);
    }
    return t;
}

void growing_cluster_free(struct growing_cluster *t)
{
    forecast_free(t->forecast);
    score_cache_free(t->scores);
    fixture_fini(&t->f);
    free(t);
}

/* ---- pods ---- */

static struct gpu_request draw_gpu_request(struct growing_cluster *t)
{
    static const int32_t millis[] = {100, 200, 250, 300, 500, 500, 600, 700, 1000};
    static const int32_t mems[] = {1000, 2000, 4000, 8000, 16000, 20000};
    static const uint16_t profiles[] = {MIG_PROFILE(1, 5), MIG_PROFILE(2, 10), MIG_PROFILE(3, 20)};
    static const uint16_t counts[] = {1, 1, 2, 2, 4};
    struct gpu_request w = {.container = STR("c"),
                            .count = 1,
                            .phases = 1,
                            .kind = (enum gpu_request_kind)rng_below(&t->rng, GPU_REQUEST_KIND__MAX)};

    if (chance(t, 10)) {
        w.kind = GPU_REQUEST_WHOLE;
        w.profile = profiles[rng_below(&t->rng, ARRAY_LEN(profiles))];
    } else if (w.kind == GPU_REQUEST_WHOLE || chance(t, 15)) {
        w.count = counts[rng_below(&t->rng, ARRAY_LEN(counts))];
    }
    if (w.kind == GPU_REQUEST_WHOLE) {
        w.milli = DEVICE_MILLI;
    } else if (w.kind != GPU_REQUEST_MEMORY) {
        w.milli = pick(t, millis, ARRAY_LEN(millis));
    }
    if (w.kind == GPU_REQUEST_BOTH || w.kind == GPU_REQUEST_MEMORY) {
        w.mem_mib = pick(t, mems, ARRAY_LEN(mems));
    }
    if (w.kind == GPU_REQUEST_BOTH && chance(t, 20)) {
        w.milli = 0;
    }
    return w;
}

void growing_cluster_draw(struct growing_cluster *t, struct growing_cluster_pod *p)
{
    static const char *const models[] = {"A100", "T*"};
    struct demand *d = &p->demand;

    memset(p, 0, sizeof(*p));
    snprintf(p->uid, sizeof(p->uid), "p%zu", t->pod_n);
    *d = (struct demand){.dialect = "native", .gpu_requests = p->gpu_requests, .gpu_request_n = 1};
    d->host = (struct host_request){1000 * (int32_t)rng_below(&t->rng, 5), 1024 * (int32_t)rng_below(&t->rng, 5)};
    if (chance(t, 10)) {
        *d = (struct demand){
            .dialect = "native", .plugin_managed_n = 1 + (int32_t)rng_below(&t->rng, 4), .host = d->host};
        return;
    }
    p->gpu_requests[0] = draw_gpu_request(t);
    if (chance(t, 25)) {
        p->gpu_requests[1] = chance(t, 40) ? p->gpu_requests[0] : draw_gpu_request(t);
        p->gpu_requests[1].position = 1;
        d->gpu_request_n = 2;
    }
    if (chance(t, 15)) {
        p->model = (struct device_pattern){.text = str_of(models[rng_below(&t->rng, 2)]), .exclude = chance(t, 30)};
        d->models = &p->model;
        d->model_n = 1;
    }
}

struct pack_params growing_cluster_params(struct growing_cluster *t, const struct strategy *node,
                                          const struct strategy *device)
{
    while (!forecast_follow(t->forecast, ledger_cluster_view(t->f.l), node) ||
           !forecast_follow(t->forecast, ledger_cluster_view(t->f.l), device)) {
    }
    return (struct pack_params){.node_strategy = node,
                                .device_strategy = device,
                                .forecast = t->forecast,
                                .prices = forecast_prices(t->forecast)};
}

void growing_cluster_come(struct growing_cluster *t, const struct pack_params *p, const struct growing_cluster_pod *pod)
{
    struct pack_result results[GROWING_CLUSTER_NODES_MAX];
    struct pack_key best;
    struct growing_cluster_pod *kept = &t->pods[t->pod_n++];
    struct pack_params now;
    struct ledger_view v;
    struct placement at;
    struct ledger_op op = {.kind = LEDGER_RESERVE};

    BUG_ON(t->pod_n > GROWING_CLUSTER_PODS_MAX);
    *kept = *pod;
    kept->demand.gpu_requests = kept->demand.gpu_request_n > 0 ? kept->gpu_requests : NULL;
    kept->demand.models = kept->demand.model_n > 0 ? &kept->model : NULL;
    assert_int_equal(fixture_pod(&t->f, kept->uid, &kept->demand, NULL, NULL), 0);
    now = growing_cluster_params(t, p->node_strategy, p->device_strategy);
    arena_reset(&t->f.arena);
    assert_int_equal(ledger_view(t->f.l, &t->f.arena, VIEW_POD(kept->uid, &kept->demand), &v, NULL), 0);
    fixture_pack(&v, &now, NULL, 0, t->names, t->node_n, results);
    if (pack_rank(results, t->node_n, 1, &best) == 0) {
        return;
    }
    /* what filter found bind finds, and it can be charged */
    assert_int_equal(ledger_place_pod(t->f.l, results[0].name, str_of(kept->uid), &now, &at), VERDICT_FITS);
    op.reserve = (struct ledger_reserve){str_of(kept->uid), results[0].name, str_of(kept->uid), &at};
    assert_int_equal(ledger_apply(t->f.l, &op, NULL), 0);
    kept->held = true;
}

bool growing_cluster_go(struct growing_cluster *t)
{
    size_t first = t->pod_n > 0 ? rng_below(&t->rng, t->pod_n) : 0;

    for (size_t i = 0; i < t->pod_n; i++) {
        struct growing_cluster_pod *p = &t->pods[(first + i) % t->pod_n];

        if (p->held) {
            p->held = false;
            assert_int_equal(fixture_name_op(&t->f, LEDGER_POD_GONE, p->uid), 0);
            return true;
        }
    }
    return false;
}
