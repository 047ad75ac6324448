#include "sim/testbed.h"

#include "base/bug.h"
#include "core/forecast/fragmentation.h"
#include "core/forecast/forecast.h"
#include "core/ledger/ledger.h"
#include "core/ledger/view.h"
#include "core/placement/pack.h"
#include "core/placement/score_cache.h"
#include "core/request/demand_histogram.h"
#include "model/device.h"
#include "sim/scores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECISION_BYTES_MAX (1 << 20)
#define NAME_BYTES 16

struct name {
    char text[NAME_BYTES];
};

struct testbed {
    const struct trace *trace;
    const struct strategy *strategy;
    struct ledger *ledger;
    struct score_cache *scores;
    struct forecast *forecast;
    struct demand_histogram *given; /* NULL: learned */
    /* Nodes without GPUs: their versions do not follow what GPU-less pods take there (decision
     * 0015), so what was remembered for such pods may be wrong. */
    bool has_plain_nodes;
    struct arena arena;      /* one decision */
    uint32_t *at;            /* [rank]: node of the trace; nodes stand in the ledger in the order of their ranks */
    struct name *node_names; /* [rank] */
    struct str *asked;       /* names of the nodes with room, of one decision */
    struct pack_result *results;
    FILE *scores_file; /* NULL: nobody asks */
    uint64_t decision_n;
};

static struct str name_of(struct name *ret, char kind, uint32_t number)
{
    int n = snprintf(ret->text, sizeof(ret->text), "%c%010u", kind, number);

    return (struct str){ret->text, (size_t)n};
}

/* The simulation's own ops cannot fail: a failure is a defect of ledger or driver. */
static void apply_op(struct testbed *b, const struct ledger_op *op)
{
    struct err err;

    if (ledger_apply(b->ledger, op, &err) != 0) {
        BUG(err.msg);
    }
}

/* ---- nodes ---- */

static void describe(struct testbed *b, uint32_t rank)
{
    const struct trace_node *n = &b->trace->nodes[b->at[rank]];
    struct device devices[DEVICES_PER_NODE_MAX];
    struct inventory inventory = {.source = INVENTORY_ANNOTATION,
                                  .devices = devices,
                                  .device_n = trace_devices(n, devices),
                                  .memory_only = n->memory_only};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED};

    op.node.name = name_of(&b->node_names[rank], 'n', rank);
    op.node.uid = n->name;
    op.node.schedulable = true;
    op.node.inventory = &inventory;
    op.node.host = (struct host_capacity){n->cpu_milli, n->mem_mib};
    apply_op(b, &op);
}

static void describe_all(struct testbed *b, const uint32_t *node_rank)
{
    for (uint32_t i = 0; i < b->trace->node_n; i++) {
        b->at[node_rank[i]] = i;
        b->has_plain_nodes = b->has_plain_nodes || b->trace->nodes[i].gpu_n == 0;
    }
    for (uint32_t rank = 0; rank < b->trace->node_n; rank++) {
        describe(b, rank);
    }
}

static void give_mix(struct testbed *b)
{
    b->given = demand_histogram_new();
    for (size_t i = 0; i < b->trace->pod_n; i++) {
        demand_histogram_arrived(b->given, b->trace->pods[i].demand);
    }
    demand_histogram_settle(b->given);
    forecast_give_demand_histogram(b->forecast, b->given);
}

/* Who read the file has built it once already. */
static struct ledger *saved_ledger(const struct state_file *f)
{
    struct ledger *l;
    struct err err;

    if (state_file_ledger(f, &l, &err) != 0) {
        BUG(err.msg);
    }
    return l;
}

struct testbed *testbed_new(const struct trace *t, const uint32_t *node_rank, const struct strategy *s,
                            enum testbed_mix mix)
{
    /* Any fixed numbers: with zeros the names of nodes would share one place. */
    const struct ledger_limits limits = {.hash_key = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd1310ba698dfb5ac)},
                                         .overcommit_milli = 1000,
                                         .overcommit_mem_milli = 1000};
    struct testbed *b = xcalloc(1, sizeof(*b));

    b->trace = t;
    b->strategy = s;
    b->ledger = t->state != NULL ? saved_ledger(t->state) : ledger_new(&limits);
    b->scores = score_cache_new();
    arena_init(&b->arena, DECISION_BYTES_MAX);
    b->at = xcalloc(t->node_n, sizeof(*b->at));
    b->node_names = xcalloc(t->node_n, sizeof(*b->node_names));
    b->asked = xcalloc(t->node_n, sizeof(*b->asked));
    b->results = xcalloc(t->node_n, sizeof(*b->results));
    b->has_plain_nodes = t->state != NULL;
    if (t->state == NULL) {
        describe_all(b, node_rank);
    }
    b->forecast = forecast_new();
    if (mix == TESTBED_MIX_GIVEN) {
        give_mix(b);
    }
    return b;
}

void testbed_free(struct testbed *b)
{
    if (b == NULL) {
        return;
    }
    ledger_free(b->ledger);
    score_cache_free(b->scores);
    forecast_free(b->forecast);
    demand_histogram_free(b->given);
    arena_fini(&b->arena);
    free(b->at);
    free(b->node_names);
    free(b->asked);
    free(b->results);
    free(b);
}

void testbed_write_scores(struct testbed *b, FILE *f)
{
    b->scores_file = f;
}

/* ---- decisions ---- */

/* Names of nodes end with their rank. */
static uint32_t row_of(const struct testbed *b, struct str node)
{
    uint64_t rank;

    BUG_ON(!str_to_u64(str_drop(node, 1), b->trace->node_n - 1, &rank));
    return b->at[rank];
}

/* Of the `n` results. */
static void write_scores(const struct testbed *b, uint32_t row, size_t n)
{
    const struct scores_decision of = {b->decision_n, row, forecast_prices(b->forecast)};

    for (size_t i = 0; i < n; i++) {
        scores_write(b->scores_file, &of, row_of(b, b->results[i].name), &b->results[i]);
    }
}

/* Nothing is known of a dimension with capacity 0. */
static bool has(int32_t cap, int32_t free, int32_t wanted)
{
    return cap == 0 || wanted <= free;
}

/* What kube-scheduler's own filters leave: nodes with enough cores and memory. */
static size_t nodes_with_buffer(struct testbed *b, const struct ledger_view *v)
{
    const struct host_request *wanted = &v->pod.demand->host;
    size_t n = 0;

    for (uint32_t i = 0; i < v->node_n; i++) {
        const struct host_state *h = &v->nodes[i].host;

        b->asked[n] = v->names[i];
        n += v->names[i].n > 0 && has(h->cpu_cap_milli, h->cpu_free_milli, wanted->cpu_milli) &&
             has(h->mem_cap_mib, h->mem_free_mib, wanted->mem_mib);
    }
    return n;
}

/* The node for the pod of this row and its devices; false when it fits nowhere. */
static bool decide(struct testbed *b, struct str uid, uint32_t row, struct str *ret_node, struct placement *ret)
{
    const struct demand *d = b->trace->pods[row].demand;
    const struct pack_params params = {.node_strategy = b->strategy,
                                       .device_strategy = b->strategy,
                                       .forecast = b->forecast,
                                       .prices = forecast_prices(b->forecast)};
    const struct view_pod pod = {.uid = uid, .namespace_ = STR("sim"), .demand = d};
    struct ledger_view v;
    struct pack_query q;
    struct pack_key best;
    struct err err;
    int64_t score;
    size_t n;

    arena_reset(&b->arena);
    if (ledger_view(b->ledger, &b->arena, &pod, &v, &err) != 0) {
        BUG(err.msg);
    }
    while (!forecast_follow(b->forecast, ledger_cluster_view(b->ledger), b->strategy)) {
    }
    n = nodes_with_buffer(b, &v);
    pack_query_init(&q, &v, &params, NULL, 0);
    if (!b->has_plain_nodes || !demand_is_empty(d)) {
        q.known = score_cache_find(b->scores, d, &params, v.node_n);
    }
    n = pack_some(&v, &q, b->asked, n, b->results);
    if (b->strategy->normalise != NULL) {
        b->strategy->normalise(b->results, n);
    }
    if (b->scores_file != NULL) {
        write_scores(b, row, n);
    }
    b->decision_n++;
    if (pack_rank(b->results, n, 1, &best) == 0) {
        return false;
    }
    *ret_node = b->results[0].name;
    BUG_ON(pack_node(&v, ledger_view_find(&v, *ret_node), &params, &score, ret) != VERDICT_FITS);
    return true;
}

/* ---- pods ---- */

static void observe(struct testbed *b, struct str uid, const struct demand *d, struct str node,
                    const struct assignment *as)
{
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED};

    op.pod = (struct ledger_pod_fact){
        .uid = uid, .namespace_ = STR("sim"), .name = uid, .node_name = node, .demand = d, .assignment = as};
    apply_op(b, &op);
}

static void end(struct testbed *b, struct str uid)
{
    const struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = uid};

    apply_op(b, &op);
}

/* As bind does it, and the watch after it. */
static void bind_pod(struct testbed *b, struct str uid, const struct demand *d, struct str node,
                     const struct placement *at)
{
    struct ledger_op op = {.kind = LEDGER_RESERVE};
    struct assignment as;
    struct err err;

    op.reserve = (struct ledger_reserve){.uid = uid, .node_name = node, .decision_id = uid, .placement = at};
    apply_op(b, &op);
    if (ledger_assignment(b->ledger, uid, &b->arena, &as, &err) != 0) {
        BUG(err.msg);
    }
    op = (struct ledger_op){.kind = LEDGER_CONFIRM, .name = uid};
    apply_op(b, &op);
    observe(b, uid, d, node, &as);
}

static struct testbed_place place_of(const struct testbed *b, const struct demand *d, struct str node,
                                     const struct placement *at)
{
    return (struct testbed_place){row_of(b, node), placement_devices(at, d->gpu_request_n)};
}

bool testbed_arrive(struct testbed *b, uint32_t id, uint32_t row, struct testbed_place *ret)
{
    const struct demand *d = b->trace->pods[row].demand;
    struct placement at;
    struct name name;
    struct str uid = name_of(&name, 'p', id), node;

    observe(b, uid, d, STR_NULL, NULL); /* of a pod that wants no GPU nothing is kept yet */
    if (!decide(b, uid, row, &node, &at)) {
        end(b, uid);
        if (ret != NULL) {
            *ret = (struct testbed_place){.node = TESTBED_NOWHERE};
        }
        return false;
    }
    if (demand_is_empty(d)) {
        observe(b, uid, d, node, NULL);
    } else {
        bind_pod(b, uid, d, node, &at);
    }
    if (ret != NULL) {
        *ret = place_of(b, d, node, &at);
    }
    return true;
}

void testbed_leave(struct testbed *b, uint32_t id)
{
    struct name name;

    end(b, name_of(&name, 'p', id));
}

double testbed_fragmentation(struct testbed *b)
{
    const struct demand none = {.dialect = ""};
    const struct view_pod pod = {.demand = &none};
    struct ledger_view v;
    struct err err;
    int64_t idle = 0;
    double lost = 0;

    arena_reset(&b->arena);
    if (ledger_view(b->ledger, &b->arena, &pod, &v, &err) != 0) {
        BUG(err.msg);
    }
    while (!forecast_follow(b->forecast, ledger_cluster_view(b->ledger), strategy_find(STR("fgd")))) {
    }
    for (uint32_t i = 0; i < v.node_n; i++) {
        const struct node_state *n = &v.nodes[i];
        const struct fragmentation_node at = {.devices = &v.devices[n->first_device],
                                              .device_n = n->device_n,
                                              .plugin_managed_cap = n->plugin_managed_cap,
                                              .plugin_managed_free = n->plugin_managed_cap - n->plugin_managed_used,
                                              .plugin_managed_per_gpu = n->plugin_managed_per_gpu,
                                              .host = n->host};

        idle += fragmentation_idle_milli(&at);
        lost += fragmentation_milli(&at, forecast_typical(b->forecast), forecast_typical_n(b->forecast));
    }
    return idle > 0 ? 100 * lost / (double)idle : 100;
}
