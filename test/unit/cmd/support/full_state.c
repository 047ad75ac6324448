#include "cmd/support/full_state.h"

#include "base/bug.h"
#include "cmd/commands.h"
#include "core/placement/plan.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 9 /* the last two with MIG */
#define MIB_MAX 40000

static unsigned below(struct full_state *c, unsigned n)
{
    return (unsigned)rng_below(&c->rng, n);
}

struct config *full_state_config(const char *yaml)
{
    struct config_names names;
    struct config *config = NULL;
    char text[4096];
    struct err err;

    cmd_config_names(&names);
    snprintf(text, sizeof(text), "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n%s", yaml);
    if (config_parse(STR("test.yaml"), str_of(text), &names, &config, NULL, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return config;
}

void full_state_init(struct full_state *c, uint64_t seed, const char *yaml)
{
    struct config *config = full_state_config(yaml);
    const struct ledger_limits limits = {.hash_key = {seed, 2},
                                         .overcommit_milli = config->policy.overcommit_milli,
                                         .overcommit_mem_milli = config->policy.overcommit_mem_milli};

    memset(c, 0, sizeof(*c));
    rng_init(&c->rng, seed);
    arena_init(&c->arena, 64 << 20);
    clock_manual_init(&c->clock, 1000000000, 1795161600123);
    c->slot = config_slot_new(config, NULL, 0);
    c->store = store_new(&limits, &c->clock.clock);
    c->context =
        (struct state_context){.store = c->store, .clock = &c->clock.clock, .config = c->slot, .version = "v0.0.0"};
    for (int kind = LEDGER_PODS_BEGIN; kind <= LEDGER_NODES_END; kind++) {
        full_state_apply(c, (struct ledger_op){.kind = (enum ledger_op_kind)kind});
    }
}

void full_state_fini(struct full_state *c)
{
    const char *why = store_check(c->store);

    if (why != NULL) {
        fail_msg("%s", why);
    }
    store_free(c->store);
    config_slot_free(c->slot);
    arena_fini(&c->arena);
}

void full_state_apply(struct full_state *c, struct ledger_op op)
{
    struct err err;

    if (store_apply(c->store, &op, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    clock_manual_advance_ms(&c->clock, 1);
}

char *full_state_state(struct full_state *c)
{
    struct state_document *d = state_document_new(&c->context, STR_NULL, STR_NULL);
    enum state_step step = STATE_MORE;
    struct strbuf out;

    strbuf_init(&out, 64 << 20);
    while (step == STATE_MORE) {
        step = state_document_next(d, &out);
    }
    assert_int_equal(step, STATE_COMPLETE);
    state_document_free(d);
    assert_false(out.overflowed);
    return strbuf_take(&out, NULL);
}

/* ---- nodes ---- */

/* `gone`: GPUs taken off the front. */
static void describe(struct full_state *c, unsigned node, unsigned gone, int64_t less_mib)
{
    struct device devices[8];
    char uuids[8][32], name[16], uid[24];
    size_t n = 0;
    struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = devices, .plugin_managed_n = node == 0 ? 4 : 0};

    snprintf(name, sizeof(name), "n%u", node);
    snprintf(uid, sizeof(uid), "uid-n%u", node);
    for (unsigned i = gone; i < 1 + node && i < 8; i++, n++) {
        snprintf(uuids[i], sizeof(uuids[i]), "GPU-%u-%u", node, i);
        devices[n] = (struct device){.uuid = node % 3 == 1 ? STR_NULL : str_of(uuids[i]),
                                     .index = (int32_t)i,
                                     .minor = -1,
                                     .model = node % 2 == 0 ? STR("A\"100") : STR("T4"),
                                     .mem_mib = node == 4 ? 0 : MIB_MAX + 1000 * (int64_t)node - less_mib,
                                     .slot_n = i % 2 == 0 ? 16 : 3,
                                     .numa = -1,
                                     .healthy = (node + i) % 5 != 4};
    }
    inv.device_n = n;
    inv.memory_only = node % 3 == 0 ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    full_state_apply(c, (struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                                           .node = {.name = str_of(name),
                                                    .uid = str_of(uid),
                                                    .schedulable = node != 2,
                                                    .host_group = node == 1 ? STR("host") : STR_NULL,
                                                    .host_gpu_mem_mib = node == 1 ? 1 << 20 : 0,
                                                    .host = {node == 2 ? 0 : 16000, 1000 * (int32_t)node},
                                                    .inventory = &inv,
                                                    .note = node == 3 ? "rounded" : NULL}});
}

/* n7: a GPU cut in three, `kept` of them left, and a whole one; n8: instances of a plugin. */
static void describe_mig(struct full_state *c, unsigned kept)
{
    static const char *const uuids[] = {"MIG-0", "MIG-1", "MIG-4"};
    static const uint16_t profiles[] = {MIG_PROFILE(1, 5), MIG_PROFILE(1, 5), MIG_PROFILE(3, 20)};
    static const int8_t starts[] = {0, 1, 4};
    const struct device gpu = {.uuid = STR("GPU-7-0"),
                               .minor = -1,
                               .model = STR("NVIDIA-A100-SXM4-40GB"),
                               .mem_mib = MIB_MAX,
                               .slot_n = 16,
                               .numa = -1,
                               .healthy = true};
    struct device devices[5] = {gpu, gpu}, counted[3];
    struct inventory described = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 2 + kept},
                     plugin = {.source = INVENTORY_GFD, .devices = counted, .device_n = 3};

    devices[0].profile = DEVICE_IN_MIG_MODE;
    devices[1].uuid = STR("GPU-7-1");
    devices[1].index = 1;
    for (int i = 0; i < 3; i++) {
        struct device *d = &devices[2 + i];

        *d = gpu;
        d->uuid = str_of(uuids[i]);
        d->index = DEVICE_INSTANCE_INDEX(0, starts[i]);
        d->mem_mib = i < 2 ? 4864 : 19968;
        d->slot_n = 1;
        d->profile = profiles[i];
        d->start = starts[i];
        counted[i] = *d;
        counted[i].uuid = STR_NULL;
        counted[i].index = DEVICE_ANONYMOUS_INDEX(i);
        counted[i].gpu_index = counted[i].start = -1;
        counted[i].counted = true;
    }
    full_state_apply(
        c, (struct ledger_op){
               .kind = LEDGER_NODE_DESCRIBED,
               .node = {.name = STR("n7"), .uid = STR("uid-n7"), .schedulable = true, .inventory = &described}});
    full_state_apply(c,
                     (struct ledger_op){
                         .kind = LEDGER_NODE_DESCRIBED,
                         .node = {.name = STR("n8"), .uid = STR("uid-n8"), .schedulable = true, .inventory = &plugin}});
}

/* ---- pods ---- */

static struct gpu_request random_gpu_request(struct full_state *c, const char *container)
{
    struct gpu_request w = {.container = str_of(container),
                            .count = (uint16_t)(1 + below(c, 2)),
                            .kind = (enum gpu_request_kind)below(c, GPU_REQUEST_KIND__MAX),
                            .phases = 1};

    if (gpu_request_kind_has_milli(w.kind)) {
        w.milli = (int32_t)(w.kind == GPU_REQUEST_BOTH ? below(c, 500) : 1 + below(c, 500));
    }
    if (gpu_request_kind_has_mem(w.kind)) {
        w.mem_mib = 1 + below(c, MIB_MAX / 2);
    }
    w.milli = w.kind == GPU_REQUEST_WHOLE ? DEVICE_MILLI : w.milli;
    return w;
}

struct full_state_pod {
    struct demand demand;
    struct gpu_request gpu_requests[4];
    struct device_pattern model;
    char uid[16];
};

static void random_demand(struct full_state *c, struct full_state_pod *p, unsigned i)
{
    static const char *const names[] = {"warm", "init", "main", "side"};
    unsigned first = below(c, 4) == 0 ? 0 : 2;
    size_t n = 0;

    for (unsigned k = first; k < 2 + 1 + below(c, 2); k++) {
        p->gpu_requests[n] = random_gpu_request(c, names[k]);
        p->gpu_requests[n].init = k < 2;
        p->gpu_requests[n].phases = k < 2 ? UINT64_C(2) << k : 1;
        n++;
    }
    p->demand = (struct demand){.dialect = "native",
                                .gpu_request_n = n,
                                .gpu_requests = p->gpu_requests,
                                .source = below(c, 3) == 0 ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES};
    if (below(c, 8) == 0) {
        p->model = (struct device_pattern){STR("T*"), false};
        p->demand.models = &p->model;
        p->demand.model_n = 1;
    }
    for (size_t k = 0; i % 9 == 4 && k < n; k++) {
        p->gpu_requests[k] = (struct gpu_request){.container = p->gpu_requests[k].container,
                                                  .init = p->gpu_requests[k].init,
                                                  .count = 1,
                                                  .kind = GPU_REQUEST_WHOLE,
                                                  .milli = DEVICE_MILLI,
                                                  .phases = p->gpu_requests[k].phases,
                                                  .profile = below(c, 3) == 0 ? MIG_PROFILE(3, 20) : MIG_PROFILE(1, 5)};
    }
    if (i % 11 == 5) {
        p->demand = (struct demand){.dialect = "native", .plugin_managed_n = 1};
    }
    if (i % 13 == 7) {
        p->demand = (struct demand){.dialect = "native", .defect = DEMAND_FRACTION};
    }
    p->demand.host = (struct host_request){(int32_t)below(c, 4) * 500, (int32_t)below(c, 300)};
}

static void observe(struct full_state *c, const struct full_state_pod *p, const char *node, const struct assignment *as,
                    bool deleting)
{
    full_state_apply(c,
                     (struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                                        .pod = {.uid = str_of(p->uid),
                                                .namespace_ = STR("ns"),
                                                .name = str_of(p->uid),
                                                .node_name = str_of(node),
                                                .deleting = deleting,
                                                .priority = 5,
                                                .demand = &p->demand,
                                                .assignment = as,
                                                /* every other record is signed */
                                                .record_trust = as != NULL && p->uid[1] % 2 == 0 ? RECORD_VERIFIED
                                                                                                 : RECORD_UNSIGNED}});
}

/* Reserves where it fits; then it stays reserved, is confirmed, or is seen bound. */
static void place(struct full_state *c, struct full_state_pod *p, const struct pack_plans *plans)
{
    struct store_reservation r = {0};
    char node[16], decision[32];
    unsigned end = below(c, 6);

    snprintf(decision, sizeof(decision), "d-%s", p->uid);
    for (unsigned i = 0; i < NODES; i++) {
        snprintf(node, sizeof(node), "n%u", (i + (unsigned)p->uid[1]) % NODES);
        if (store_reserve(c->store, &c->arena, str_of(p->uid), STR("ns"), str_of(p->uid), str_of(node),
                          str_of(decision), plans, NULL, &r, NULL) != STORE_RESERVED) {
            continue;
        }
        if (end == 0) {
            return;
        }
        full_state_apply(c, (struct ledger_op){.kind = LEDGER_CONFIRM, .name = str_of(p->uid)});
        if (end > 1) {
            observe(c, p, node, &r.assignment, end == 2);
        }
        if (end == 3 && p->demand.gpu_request_n > 0) { /* somebody edits the request, up or down */
            p->gpu_requests[0].milli /= 2;
            p->gpu_requests[0].mem_mib = p->gpu_requests[0].mem_mib * 5 / 4;
            observe(c, p, node, &r.assignment, false);
        }
        return;
    }
}

void full_state_fill(struct full_state *c)
{
    full_state_fill_with(c, FULL_STATE_PODS);
}

void full_state_fill_with(struct full_state *c, unsigned pod_n)
{
    static const char *const preset[] = {"n1", "n5", "n6", "unseen", "n7", "n8"};
    const struct policy policy = {.node_strategy = STR("binpack"), .device_strategy = STR("binpack")};
    struct pack_plans plans;

    BUG_ON(pack_plans_init(&plans, &policy, NULL) != 0);
    for (unsigned i = 0; i < NODES - 2; i++) {
        describe(c, i, 0, 0);
    }
    describe_mig(c, 3);
    for (unsigned i = 0; i < pod_n; i++) {
        struct full_state_pod p = {0};

        snprintf(p.uid, sizeof(p.uid), "u%c-%u", 'a' + (char)below(c, 26), i);
        random_demand(c, &p, i);
        if (below(c, 16) == 0) { /* bound by somebody else */
            observe(c, &p, preset[below(c, 6)], NULL, false);
        } else {
            observe(c, &p, NULL, NULL, false);
            if (below(c, 8) != 0) {
                place(c, &p, &plans);
            }
        }
    }
    for (unsigned i = 0; i < NODES; i++) { /* pods without GPUs */
        struct full_state_pod p = {.demand = {.dialect = "", .host = {100 * (int32_t)i, 64}}};
        char node[16];

        snprintf(p.uid, sizeof(p.uid), "cpu-only-%u", i);
        snprintf(node, sizeof(node), "n%u", i);
        observe(c, &p, node, NULL, false);
    }
    describe(c, 5, 1, 0);
    describe(c, 6, 0, MIB_MAX / 2);
    describe_mig(c, 3 - below(c, 2));
    if (below(c, 2) == 0) {
        full_state_apply(c, (struct ledger_op){.kind = LEDGER_NODE_GONE, .name = STR("n3")});
    }
}
