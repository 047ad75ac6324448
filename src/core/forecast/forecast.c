/* The forecast of a ledger: what is expected to come, kept up to date. The score of a placement by it: gain.c.
 *
 * Following. forecast_follow() does what is to be done, in this order, and each part at most once a call:
 *   - nodes whose version has changed are described anew, and taken out of the sums of the cluster;
 *   - if the demand histogram has settled, or the shapes of nodes have changed, samples and classes are made anew;
 *   - nodes that are not in the sums get their value, and are added;
 *   - prices are computed from the sums.
 * It returns false after a part that may be long, and after FORECAST_WORK_MAX passes, so that the caller can give
 * others the lock. When nothing has changed it compares a few numbers, and computes the prices: O(classes). When more
 * nodes have changed than the view tells one by one, it compares the versions of all: O(nodes).
 *
 * Invariants. `counted` says that the node's row is in the sums exactly once; who changes the row takes it out first.
 * Sums of integers are exact, so adding and taking out leaves what a sum from the beginning would give. Nodes
 * before behind_from, and from behind_to on, are counted or not described. Prices are computed only when all nodes are
 * counted.
 */
#include "core/forecast/forecast.h"

#include "base/bug.h"
#include "core/forecast/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUNDING_BITS = 7,
    FOLLOW_NODES_MAX = 512, /* nodes looked at by one call; FORECAST_WORK_MAX ends it earlier when values are new */
};

struct forecast *forecast_new(void)
{
    struct forecast *o = xcalloc(1, sizeof(*o));

    o->rounding = ROUNDING_BITS;
    o->passes = rollout_memo_new();
    o->values = forecast_values_new();
    o->price_lists = xcalloc(FORECAST_SHAPES_MAX, sizeof(*o->price_lists));
    return o;
}

void forecast_free(struct forecast *o)
{
    if (o == NULL) {
        return;
    }
    for (uint32_t i = 0; i < o->shape_n; i++) {
        rollout_samples_free(o->shapes[i].samples);
    }
    forecast_typicals_fini(&o->typical);
    rollout_memo_free(o->passes);
    forecast_values_free(o->values);
    free(o->nodes);
    free(o->supplies);
    free(o->price_lists);
    free(o);
}

void forecast_give_demand_histogram(struct forecast *o, const struct demand_histogram *m)
{
    o->given = m;
    o->demand_histogram_changed = true;
    o->typical.known = false;
}

/* ---- nodes and their shapes ---- */

static const struct device_state *devices_of(const struct cluster_view *c, const struct node_state *n)
{
    return &c->devices[n->first_device];
}

static void nodes_resize(struct forecast *o, uint32_t n)
{
    if (n > o->node_cap) {
        o->node_cap = n > 2 * o->node_cap ? n : 2 * o->node_cap;
        o->nodes = xreallocarray(o->nodes, o->node_cap, sizeof(*o->nodes));
        o->supplies = xreallocarray(o->supplies, (size_t)o->node_cap * o->supply_n + 1, sizeof(*o->supplies));
    }
    for (; o->node_n < n; o->node_n++) {
        o->nodes[o->node_n] = (struct forecast_node){.shape = FORECAST_SHAPE_NONE};
    }
}

static void uncount_all(struct forecast *o);

static void shapes_clear(struct forecast *o)
{
    uncount_all(o); /* before the shapes that they are counted by go */
    for (uint32_t i = 0; i < o->shape_n; i++) {
        rollout_samples_free(o->shapes[i].samples);
    }
    forecast_values_forget(o->values);
    o->shape_n = 0;
    o->shapes_changed = true;
    for (uint32_t i = 0; i < o->node_n; i++) {
        o->nodes[i].shape = FORECAST_SHAPE_NONE;
    }
}

static void uncount(struct forecast *o, uint32_t i);

/* The node as it is called now; false: begin again with all nodes. */
static bool node_reshape(struct forecast *o, const struct cluster_view *c, uint32_t i)
{
    const struct node_state *row = &c->nodes[i];
    struct forecast_node *n = &o->nodes[i];
    uint16_t shape = FORECAST_SHAPE_NONE;

    uncount(o, i);
    n->version = row->version;
    if ((row->flags & NODE_DESCRIBED) != 0 && !forecast_shape_add(o, row, devices_of(c, row), &shape)) {
        return false;
    }
    if (shape != n->shape) {
        if (n->shape != FORECAST_SHAPE_NONE) {
            o->shapes[n->shape].node_n--;
        }
        if (shape != FORECAST_SHAPE_NONE) {
            o->shapes[shape].node_n++;
        }
        n->shape = shape;
        o->shapes_changed = true;
    }
    return true;
}

/* The nodes that have changed since they were last searched, in the order of their places, each once; SIZE_MAX: there
 * may be more than are known one by one. */
static size_t last_changes(const struct forecast *o, const struct cluster_view *c, uint32_t ret[CLUSTER_CHANGES])
{
    size_t n = 0, at;

    if (c->changed == NULL || c->node_n != o->node_n || c->version - o->seen_version > CLUSTER_CHANGES) {
        return SIZE_MAX;
    }
    for (uint64_t v = o->seen_version + 1; v <= c->version; v++) {
        uint32_t node = c->changed[v % CLUSTER_CHANGES];

        for (at = n; at > 0 && ret[at - 1] > node; at--) {
        }
        if (at == 0 || ret[at - 1] != node) {
            memmove(ret + at + 1, ret + at, (n - at) * sizeof(*ret));
            ret[at] = node;
            n++;
        }
    }
    return n;
}

/* False: begin again with all nodes. */
static bool follow_node(struct forecast *o, const struct cluster_view *c, uint32_t i, uint32_t *changed_n)
{
    if (o->nodes[i].version == c->nodes[i].version && o->nodes[i].shape != FORECAST_SHAPE_NONE) {
        return true;
    }
    *changed_n += o->nodes[i].version != c->nodes[i].version;
    o->behind_from = i < o->behind_from ? i : o->behind_from;
    o->behind_to = i < o->behind_to ? o->behind_to : i + 1;
    return node_reshape(o, c, i);
}

static bool follow_all(struct forecast *o, const struct cluster_view *c, uint32_t *changed_n)
{
    for (uint32_t i = 0; i < c->node_n; i++) {
        if (!follow_node(o, c, i, changed_n)) {
            return false;
        }
    }
    return true;
}

/* Returns how many nodes were described anew. When there are too many shapes, capacities are rounded more and all nodes
 * are asked again; that happens a few times in the life of a ledger at most, because rounding never becomes finer. */
static uint32_t find_changes(struct forecast *o, const struct cluster_view *c)
{
    uint32_t changed[CLUSTER_CHANGES], changed_n = 0;
    size_t few_n;
    bool done = true;

    if (c->version == o->seen_version && c->node_n == o->node_n) {
        return 0;
    }
    few_n = last_changes(o, c, changed);
    nodes_resize(o, c->node_n);
    if (few_n == SIZE_MAX) {
        done = follow_all(o, c, &changed_n);
    }
    for (size_t k = 0; few_n != SIZE_MAX && done && k < few_n; k++) {
        done = follow_node(o, c, changed[k], &changed_n);
    }
    while (!done) {
        shapes_clear(o);
        done = follow_all(o, c, &changed_n);
    }
    o->seen_version = c->version;
    return changed_n;
}

/* ---- sums ---- */

static int32_t *supply_row(struct forecast *o, uint32_t i)
{
    return o->supplies + (size_t)i * o->supply_n;
}

/* Adds the node's row to the sums of the cluster, or takes it out. */
static void count(struct forecast *o, uint32_t i, int sign)
{
    struct forecast_node *n = &o->nodes[i];
    const struct node_shape *s = &o->shapes[n->shape];
    const int32_t *supply = supply_row(o, i);

    o->idle_milli += sign * n->idle_milli;
    o->cpu_left += sign * n->cpu_left;
    for (unsigned k = 0; k < s->class_n; k++) {
        o->supply[s->classes[k]] += (int64_t)sign * supply[k];
    }
    n->counted = sign > 0;
}

static void uncount(struct forecast *o, uint32_t i)
{
    if (o->nodes[i].counted) {
        count(o, i, -1);
    }
}

static void uncount_all(struct forecast *o)
{
    for (uint32_t i = 0; i < o->node_n; i++) {
        o->nodes[i].counted = false;
    }
    o->idle_milli = o->cpu_left = 0;
    memset(o->supply, 0, sizeof(o->supply));
    o->behind_from = 0;
    o->behind_to = o->node_n;
}

static void node_count(struct forecast *o, const struct cluster_view *c, uint32_t i)
{
    const struct node_state *row = &c->nodes[i];
    const struct strategy_node at = {.node = row,
                                     .before = devices_of(c, row),
                                     .device_n = row->device_n,
                                     .plugin_managed_cap = row->plugin_managed_cap};
    struct forecast_node *n = &o->nodes[i];
    const struct value *w;
    struct residual residual;

    forecast_residual(o, n->shape, &at, false, &residual);
    /* Places are cheap, and known ahead where they will weigh: then scores are found again without a look at the node.
     */
    w = forecast_value(o, &residual, VALUE_FILLED | (o->places_in_trial > 0 || o->prices.churn > 0 ? VALUE_ALIKE : 0));
    n->idle_milli = w->idle_milli;
    n->cpu_left = w->cpu_left;
    n->filled = w->filled;
    n->filled_among = w->filled_among;
    n->filled_alike = w->filled_alike;
    memcpy(supply_row(o, i), w->supply, o->shapes[n->shape].class_n * sizeof(int32_t));
    n->value_at = 0;
    count(o, i, 1);
}

/* ---- what is expected ---- */

/* Samples, classes and the length of the rows mean something else from now on, so no node is counted any more.
 * forecast_samples_build() goes first: it sorts `pods`, and forecast_classes_build() adds up in that order. */
static void rebuild(struct forecast *o, const struct cluster_view *c, const struct demand_histogram *m)
{
    struct expected *pods = xcalloc(demand_histogram_shape_n(m) + 1, sizeof(*pods));
    size_t n = 0;

    o->demand_histogram_version = demand_histogram_version(m);
    o->model_n = intern_count(c->models);
    o->models_version = intern_version(c->models);
    o->demand_histogram_changed = o->shapes_changed = false;
    for (size_t i = 0; i < demand_histogram_shape_n(m); i++) {
        if (demand_histogram_shape(m, i)->weight > 0) {
            pods[n++] = (struct expected){demand_histogram_shape(m, i), demand_histogram_shape(m, i)->weight, 0, 0};
        }
    }
    uncount_all(o);
    forecast_mean_parts(o, c, pods, n);
    forecast_samples_build(o, c, pods, n);
    o->places_in_trial = forecast_trial(o);
    forecast_classes_build(o, c, pods, n);
    forecast_values_resize(o->values, o->supply_n);
    o->supplies = xreallocarray(o->supplies, (size_t)o->node_cap * o->supply_n + 1, sizeof(*o->supplies));
    o->knows_cpu = false;
    for (uint32_t i = 0; i < o->shape_n; i++) {
        o->knows_cpu = o->knows_cpu || (o->shapes[i].node_n > 0 && o->shapes[i].cpu_cap_milli > 0);
    }
    free(pods);
}

uint64_t forecast_work(const struct forecast *o)
{
    return rollout_memo_computed(o->passes);
}

bool forecast_follow(struct forecast *o, struct cluster_view view, const struct strategy *s)
{
    const struct cluster_view *c = &view;
    const struct demand_histogram *m = forecast_demand_histogram(o, c->demand_histogram);
    uint64_t work = forecast_work(o);
    uint32_t looked = 0;

    if (!s->looks_ahead) {
        return true;
    }
    forecast_typicals_follow(o, c);
    if (s->priced_score == NULL) {
        return true;
    }
    if (find_changes(o, c) > FOLLOW_NODES_MAX) {
        return false;
    }
    if (o->demand_histogram_changed || o->shapes_changed ||
        o->demand_histogram_version != demand_histogram_version(m) || o->models_version != intern_version(c->models)) {
        rebuild(o, c, m);
        return false;
    }
    for (; o->behind_from < o->behind_to; o->behind_from++) {
        if (o->nodes[o->behind_from].counted || o->nodes[o->behind_from].shape == FORECAST_SHAPE_NONE) {
            continue;
        }
        if (looked++ == FOLLOW_NODES_MAX || forecast_work(o) - work >= FORECAST_WORK_MAX) {
            return false;
        }
        node_count(o, c, o->behind_from);
    }
    o->behind_from = UINT32_MAX;
    o->behind_to = 0;
    forecast_prices_follow(o, demand_histogram_churn(c->demand_histogram));
    return true;
}
