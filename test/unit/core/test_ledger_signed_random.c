/* Random histories of pods with signed records: at any time the ledger charges what the records say, a ledger that has
 * just listed the same objects under another configuration charges the same, and an oracle that has seen nothing but
 * what was first granted agrees with both. */
#include "base/compiler.h"
#include "base/rng.h"
#include "core/support/ledger_fixture.h"
#include "core/support/random_demand.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 600 /* others: support/seeds.h */
#define STEPS 120
#define NODES 3
#define GPUS 5 /* of a node, when all are there */
#define PODS 40

/* Four containers, of which some use GPUs: a sidecar, an init container beside it, two apps. */
enum { SIDE, INIT, MAIN, MORE, CONTAINERS };
static const struct container spec[] = {{.name = {"side", 4}, .sidecar = true}, {.name = {"init", 4}}};
static const struct str container_names[CONTAINERS] = {{"side", 4}, {"init", 4}, {"main", 4}, {"more", 4}};
static const uint64_t container_phases[CONTAINERS] = {1 | 2, 2, 1, 1};

struct granted_part {
    int container, gpu;
    int32_t milli;
    int64_t mem_mib;
    bool exclusive;
};

struct made_pod {
    bool used;
    char uid[16];
    int node;
    struct granted_part parts[CONTAINERS * GPUS]; /* first granted */
    size_t part_n;
    struct assigned_device devices[CONTAINERS][GPUS];
    struct assigned_container containers[CONTAINERS];
    struct assignment record;
    char proof[16];
    bool verified;
};

struct history {
    uint64_t seed;
    struct rng rng;
    struct ledger *l;
    struct arena arena;
    struct made_pod pods[PODS];
    unsigned pod_serial, granted_n;
    bool there[NODES][GPUS];
    enum memory_only_mode memory_only[NODES];
    enum qos qos[NODES];
    int32_t factor[NODES];
    struct gpu_request gpu_requests[CONTAINERS];
    struct demand demand;
};

static char gpu_names[NODES][GPUS][32];
static const struct str node_names[NODES] = {{"n0", 2}, {"n1", 2}, {"n2", 2}};

static unsigned below(struct history *h, unsigned n)
{
    return (unsigned)rng_below(&h->rng, n);
}

static void apply_to(struct history *h, struct ledger *l, const struct ledger_op *op)
{
    const char *why;

    assert_int_equal(ledger_apply(l, op, NULL), 0);
    why = ledger_check(l);
    if (why != NULL) {
        fail_msg("seed %llu: %s", (unsigned long long)h->seed, why);
    }
}

/* ---- facts ---- */

static void describe(struct history *h, struct ledger *l, int node)
{
    struct device devices[GPUS];
    struct inventory inv = {.source = INVENTORY_ANNOTATION,
                            .devices = devices,
                            .memory_only = h->memory_only[node],
                            .qos = h->qos[node],
                            .overcommit_milli = h->factor[node],
                            .overcommit_mem_milli = h->factor[node]};
    struct ledger_op op = {
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {.name = node_names[node], .uid = node_names[node], .schedulable = true, .inventory = &inv}};

    for (int i = 0; i < GPUS; i++) {
        if (h->there[node][i]) {
            devices[inv.device_n++] = (struct device){.uuid = str_of(gpu_names[node][i]),
                                                      .index = i,
                                                      .model = STR("A"),
                                                      .mem_mib = 20000,
                                                      .slot_n = 6,
                                                      .gpu_index = -1,
                                                      .start = -1,
                                                      .healthy = true};
        }
    }
    apply_to(h, l, &op);
}

/* What a pod may ask for, today. */
static void draw_demand(struct history *h)
{
    h->demand = (struct demand){.dialect = "native", .gpu_requests = h->gpu_requests};
    h->demand.source = below(h, 2) == 0 ? DEMAND_FROM_RESOURCES : DEMAND_FROM_ANNOTATIONS;
    h->demand.says_qos = below(h, 2) == 0;
    h->demand.qos = (enum qos)below(h, QOS__MAX);
    for (int c = 0; c < CONTAINERS; c++) {
        struct gpu_request *w = &h->gpu_requests[h->demand.gpu_request_n];

        if (below(h, 2) == 0 && !(c == MORE && h->demand.gpu_request_n == 0)) {
            continue;
        }
        *w = random_gpu_request(&h->rng, 2);
        w->container = container_names[c];
        w->init = c < MAIN;
        w->position = (uint16_t)(c < MAIN ? c : c - MAIN);
        w->phases = container_phases[c];
        h->demand.gpu_request_n++;
    }
    if (h->gpu_requests[0].init && h->gpu_requests[0].position == SIDE &&
        !(h->demand.gpu_request_n > 1 && h->gpu_requests[1].init)) {
        h->gpu_requests[0].phases = 1; /* no init container uses GPUs */
    }
}

/* A size that means something else, a name that is nobody's any more, a defect. */
static void draw_today(struct history *h)
{
    unsigned how = below(h, 5);

    draw_demand(h);
    if (how == 0) {
        h->demand = (struct demand){.dialect = ""};
    } else if (how == 1) {
        h->demand = (struct demand){.dialect = "native", .defect = DEMAND_UNKNOWN_SIZE};
    } else if (how == 2) {
        h->demand = (struct demand){.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};
    }
}

static void observe(struct history *h, struct ledger *l, const struct made_pod *p, bool bound,
                    const struct assignment *record, enum record_trust trust)
{
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED,
                           .pod = {.uid = str_of(p->uid),
                                   .namespace_ = STR("d"),
                                   .name = str_of(p->uid),
                                   .node_name = bound ? node_names[p->node] : STR_NULL,
                                   .demand = &h->demand,
                                   .assignment = record,
                                   .record_trust = trust,
                                   .proof = trust == RECORD_PROVISIONAL ? str_of(p->proof) : STR_NULL,
                                   .init_containers = spec,
                                   .init_container_n = ARRAY_LEN(spec)}};

    apply_to(h, l, &op);
}

/* ---- actions ---- */

static int container_of(struct str name)
{
    for (int c = 0; c < CONTAINERS; c++) {
        if (str_eq(container_names[c], name)) {
            return c;
        }
    }
    fail_msg("no such container");
    return -1;
}

/* Keeps what was written, as an annotation would. */
static void keep_record(struct made_pod *p, const struct assignment *as)
{
    p->record = (struct assignment){
        .id = str_of(p->uid), .containers = p->containers, .container_n = as->container_n, .qos = as->qos};
    p->part_n = 0;
    for (size_t i = 0; i < as->container_n; i++) {
        int c = container_of(as->containers[i].name);

        p->containers[i] = as->containers[i];
        p->containers[i].name = container_names[c];
        p->containers[i].devices = p->devices[i];
        for (size_t k = 0; k < as->containers[i].device_n; k++) {
            const struct assigned_device *d = &as->containers[i].devices[k];

            p->devices[i][k] = *d;
            p->devices[i][k].uuid = str_of(gpu_names[p->node][d->index]);
            p->parts[p->part_n++] = (struct granted_part){c, d->index, d->milli, d->mem_mib, d->exclusive};
        }
    }
}

static void bind_one(struct history *h, struct made_pod *p)
{
    struct placement at;
    struct assignment as;
    struct ledger_op op = {.kind = LEDGER_RESERVE};
    struct ledger_op gone = {.kind = LEDGER_POD_GONE};

    *p = (struct made_pod){.node = (int)below(h, NODES)};
    snprintf(p->uid, sizeof(p->uid), "u%u", ++h->pod_serial);
    snprintf(p->proof, sizeof(p->proof), "proof %u", h->pod_serial);
    draw_demand(h);
    observe(h, h->l, p, false, NULL, RECORD_UNSIGNED);
    op.reserve = (struct ledger_reserve){
        .uid = str_of(p->uid), .node_name = node_names[p->node], .decision_id = str_of(p->uid), .placement = &at};
    if (ledger_place_pod(h->l, op.reserve.node_name, op.reserve.uid, fixture_params("tight-fit"), &at) !=
        VERDICT_FITS) {
        gone.name = str_of(p->uid);
        apply_to(h, h->l, &gone);
        return;
    }
    apply_to(h, h->l, &op);
    arena_reset(&h->arena);
    assert_int_equal(ledger_assignment(h->l, str_of(p->uid), &h->arena, &as, NULL), 0);
    keep_record(p, &as);
    op = (struct ledger_op){.kind = LEDGER_CONFIRM, .name = str_of(p->uid)};
    apply_to(h, h->l, &op);
    p->verified = below(h, 2) == 0;
    observe(h, h->l, p, true, &p->record, p->verified ? RECORD_VERIFIED : RECORD_PROVISIONAL);
    p->used = true;
    h->granted_n++;
}

static void change_node(struct history *h)
{
    int node = (int)below(h, NODES);

    h->memory_only[node] = (enum memory_only_mode)below(h, MEMORY_ONLY__MAX);
    h->qos[node] = (enum qos)below(h, QOS__MAX);
    h->factor[node] = below(h, 2) == 0 ? 1000 : 1500;
    h->there[node][below(h, GPUS)] ^= true;
    describe(h, h->l, node);
}

static void judge(struct history *h, struct made_pod *p)
{
    const struct ledger_op op = {.kind = LEDGER_RECORD_JUDGED,
                                 .judged = {.uid = str_of(p->uid), .proof = str_of(p->proof), .valid = true}};

    apply_to(h, h->l, &op);
    p->verified = true;
}

/* Somebody edits the annotation, and the API server's next word is without it: first granted stays. */
static void edit(struct history *h, const struct made_pod *p)
{
    draw_today(h);
    observe(h, h->l, p, true, NULL, RECORD_UNSIGNED);
    draw_today(h);
    observe(h, h->l, p, true, &p->record, RECORD_PROVISIONAL);
}

static void step(struct history *h)
{
    struct made_pod *p = &h->pods[below(h, PODS)];
    struct ledger_op gone = {.kind = LEDGER_POD_GONE, .name = str_of(p->uid)};

    if (!p->used) {
        bind_one(h, p);
        return;
    }
    switch (below(h, 6)) {
    case 0:
        apply_to(h, h->l, &gone);
        p->used = false;
        return;
    case 1:
        change_node(h);
        return;
    case 2:
        judge(h, p);
        return;
    case 3:
        edit(h, p);
        return;
    default:
        draw_today(h);
        observe(h, h->l, p, true, &p->record, p->verified ? RECORD_VERIFIED : RECORD_PROVISIONAL);
    }
}

/* ---- judging ---- */

/* Peak over "init beside the sidecar" and "apps beside the sidecar", as Kubernetes runs them. */
static void add_pod(const struct made_pod *p, int gpu, struct charge *sum)
{
    struct charge phase[2] = {{0}};

    for (size_t i = 0; i < p->part_n; i++) {
        const struct granted_part *g = &p->parts[i];

        for (int k = 0; k < 2; k++) {
            bool runs = g->container == SIDE || (k == 0) == (g->container == INIT);

            if (g->gpu == gpu && runs) {
                phase[k].milli += g->milli;
                phase[k].mem_mib += g->mem_mib;
                phase[k].slots++;
                phase[k].exclusive = phase[k].exclusive || g->exclusive;
            }
        }
    }
    sum->milli += phase[0].milli > phase[1].milli ? phase[0].milli : phase[1].milli;
    sum->mem_mib += phase[0].mem_mib > phase[1].mem_mib ? phase[0].mem_mib : phase[1].mem_mib;
    sum->slots += phase[0].slots > phase[1].slots ? phase[0].slots : phase[1].slots;
    sum->exclusive = sum->exclusive || phase[0].exclusive || phase[1].exclusive;
}

static const struct snapshot_device *device_of(const struct snapshot *s, int node, int gpu)
{
    for (size_t i = 0; i < s->node_n; i++) {
        for (size_t k = 0; str_eq(s->nodes[i].name, node_names[node]) && k < s->nodes[i].device_n; k++) {
            if (str_eq(s->nodes[i].devices[k].uuid, str_of(gpu_names[node][gpu]))) {
                return &s->nodes[i].devices[k];
            }
        }
    }
    return NULL;
}

static void judge_ledger(struct history *h, const struct ledger *l, const char *which)
{
    struct arena a;
    struct snapshot s;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(l, &a, STR_NULL, STR_NULL, &s, NULL), 0);
    for (int node = 0; node < NODES; node++) {
        for (int gpu = 0; gpu < GPUS; gpu++) {
            const struct snapshot_device *d = device_of(&s, node, gpu);
            struct charge sum = {0};

            for (int i = 0; i < PODS; i++) {
                if (h->pods[i].used && h->pods[i].node == node) {
                    add_pod(&h->pods[i], gpu, &sum);
                }
            }
            if (d == NULL) {
                assert_false(h->there[node][gpu]);
                assert_int_equal(sum.slots, 0);
            } else if (d->milli_charged != sum.milli || d->mem_charged_mib != sum.mem_mib ||
                       d->slot_charged != sum.slots || d->exclusive != sum.exclusive ||
                       d->lost == h->there[node][gpu]) {
                fail_msg("seed %llu, %s: %s has %d milli, %lld MiB, %d slots%s; granted were %d, %lld, %d%s",
                         (unsigned long long)h->seed, which, gpu_names[node][gpu], d->milli_charged,
                         (long long)d->mem_charged_mib, d->slot_charged, d->exclusive ? " alone" : "", sum.milli,
                         (long long)sum.mem_mib, sum.slots, sum.exclusive ? " alone" : "");
            }
        }
    }
    for (size_t i = 0; i < s.pod_n; i++) {
        if (s.pods[i].conflict) {
            fail_msg("seed %llu, %s: %s", (unsigned long long)h->seed, which, s.pods[i].conflict_text);
        }
    }
    arena_fini(&a);
}

static void bracket(struct history *h, struct ledger *l, enum ledger_op_kind kind)
{
    const struct ledger_op op = {.kind = kind};

    apply_to(h, l, &op);
}

/* Lists what the API server has, pods and nodes mixed, read by another configuration. */
static struct ledger *restarted(struct history *h, const struct ledger_limits *limits)
{
    struct ledger *l = ledger_new(limits);
    unsigned when[NODES];

    for (int n = 0; n < NODES; n++) {
        when[n] = below(h, PODS + 1);
    }
    bracket(h, l, LEDGER_NODES_BEGIN);
    bracket(h, l, LEDGER_PODS_BEGIN);
    for (unsigned i = 0; i <= PODS; i++) {
        for (int n = 0; n < NODES; n++) {
            if (when[n] == i) {
                describe(h, l, n);
            }
        }
        if (i < PODS && h->pods[i].used) {
            draw_today(h);
            observe(h, l, &h->pods[i], true, &h->pods[i].record,
                    below(h, 2) == 0 ? RECORD_VERIFIED : RECORD_PROVISIONAL);
        }
    }
    bracket(h, l, LEDGER_NODES_END);
    bracket(h, l, LEDGER_PODS_END);
    return l;
}

static void random__signed_records__charged_as_granted_before_and_after_a_restart(void **state)
{
    static struct history h;
    const struct seeds seeds = seeds_of_test(1, SEEDS);
    struct ledger_limits limits = {.hash_key = {5, 6}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    unsigned granted = 0;

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        memset(&h, 0, sizeof(h));
        h.seed = seed;
        rng_init(&h.rng, seed);
        arena_init(&h.arena, 1 << 20);
        h.l = ledger_new(&limits);
        for (int n = 0; n < NODES; n++) {
            for (int i = 0; i < GPUS; i++) {
                snprintf(gpu_names[n][i], sizeof(gpu_names[n][i]), "GPU-%d-%d", n, i);
                h.there[n][i] = true;
            }
            h.factor[n] = 1000;
            describe(&h, h.l, n);
        }
        bracket(&h, h.l, LEDGER_NODES_END);
        bracket(&h, h.l, LEDGER_PODS_END);
        for (unsigned i = 1; i <= STEPS; i++) {
            step(&h);
            judge_ledger(&h, h.l, "live");
            if (i % 40 == 0) { /* this process ends, the next one goes on */
                struct ledger *next = restarted(&h, &limits);

                judge_ledger(&h, next, "restarted");
                ledger_free(h.l);
                h.l = next;
            }
        }
        granted += h.granted_n;
        ledger_free(h.l);
        arena_fini(&h.arena);
    }
    assert_true(seeds.n < SEEDS || granted > 10 * seeds.n); /* the histories are not idle */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__signed_records__charged_as_granted_before_and_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
