/* The score of a placement.
 *
 * The value of a node is a function of its residual: what the pods to come would fill, plus price times supply for each
 * scarce good (supply.c, prices.c). What they would fill is estimated in two ways, by rollouts without and with
 * GPU-less pods, G and A (rollout.c), and by places P (places.c). f says how far cores are short, and beta how much
 * places weigh (prices.c):
 *
 *   (1 - f - beta) G + f A + beta P
 *
 * The score of a placement is the value after it less the value before it, less a charge for what stays idle on the
 * node where pods also leave ("draining"), more of it where cores are scarce. All are integers; a price is rounded
 * before it enters. So every replica computes the same score, in whatever order it adds up.
 *
 * The forecast is only read here (`const struct forecast *`), but what is found out is remembered in tables behind
 * pointers. So two threads must not score at the same time: whoever owns the forecast serialises that, too.
 */
#include "core/forecast/forecast.h"

#include "core/forecast/internal.h"

#include <string.h>

/* Score units of an idle milli, for each sixteenth of beta: a fortieth of it where beta is 1 and pods of several GPUs
 * are expected, which are refused more often without it. For shares alone it is worse than nothing (decision 0056). */
enum { IDLE_UNITS = 2 };

/* Score units of a milli in a sum over the lists, for each sixteenth of its weight. */
enum { UNITS = FORECAST_MILLI / (ROLLOUT_LISTS * FORECAST_SIXTEENTHS) };
_Static_assert((int)UNITS *ROLLOUT_LISTS *FORECAST_SIXTEENTHS == FORECAST_MILLI, "no rest");

/* The parts of a value that weigh anything at these prices: each costs as many passes as the other. */
static inline unsigned parts_at(const struct forecast_prices *p)
{
    return (p->scarce_cpu + p->places != FORECAST_SIXTEENTHS ? VALUE_FILLED : 0) |
           (p->scarce_cpu > 0 ? VALUE_AMONG : 0) | (p->places > 0 ? VALUE_ALIKE : 0);
}

/* In score units: ((16 - f - beta) x filled + f x among + beta x alike) / 16 / lists + prices x supplies. Exact: 1280
 * is 5 x 16 x 16, so the division leaves no rest. Without what draining takes off. `supply` is in the order of the
 * shape's classes. */
static inline int64_t value(const struct forecast *o, const struct forecast_prices *p, uint16_t shape, int32_t filled,
                            int32_t among, int32_t alike, const int32_t *supply)
{
    const struct price_list *l = forecast_price_list(o, p, shape);
    const int32_t f = p->scarce_cpu, beta = p->places;
    int64_t sum = (int64_t)filled * (FORECAST_SIXTEENTHS - f - beta) + (int64_t)among * f + (int64_t)alike * beta;

    sum *= UNITS;
    for (unsigned i = 0; i < l->n; i++) {
        sum += (int64_t)l->price[i] * supply[l->at[i]];
    }
    return sum;
}

/* 300 chi f (g/8000 + c/128000), in score units: 300 x 1280 / 128000 is 3, and w->drain is 16 g + c. Only after the
 * placement: it is a preference for nodes that are nearly full, not a difference. */
static inline int64_t stranded(const struct forecast_prices *p, const struct value *w)
{
    return (int64_t)w->drain * p->churn * p->scarce_cpu * 3 / (FORECAST_SIXTEENTHS * FORECAST_SIXTEENTHS);
}

/* As far as beta goes: the node that is nearly full, so that others become empty for pods of several GPUs. */
static inline int64_t idle(const struct forecast_prices *p, const struct value *w)
{
    return (int64_t)w->idle_milli * p->places * p->gangs * IDLE_UNITS / FORECAST_SIXTEENTHS;
}

static inline int64_t value_after(const struct forecast *o, const struct forecast_prices *p, uint16_t shape,
                                  const struct value *w)
{
    return value(o, p, shape, w->filled, w->filled_among, w->filled_alike, w->supply) - stranded(p, w) - idle(p, w);
}

/* The value of the node as it is; false: not known without another look at it. */
static inline bool node_value(const struct forecast *o, const struct forecast_prices *p, struct forecast_node *n,
                              int64_t *ret)
{
    if (n->value_at != p->version && !forecast_prices_hold(o, p, (uint32_t)(n - o->nodes), n->value_at)) {
        if (!n->counted || (p->scarce_cpu > 0 && n->filled_among < 0) || (p->places > 0 && n->filled_alike < 0)) {
            return false;
        }
        n->value = value(o, p, n->shape, n->filled, n->filled_among, n->filled_alike,
                         o->supplies + (size_t)(n - o->nodes) * o->supply_n);
        n->value_at = p->version;
    }
    *ret = n->value;
    return true;
}

static int64_t value_before(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                            uint16_t shape, struct forecast_node *known)
{
    const struct value *w;
    struct residual residual;
    int64_t v;

    if (known != NULL && node_value(o, p, known, &v)) {
        return v;
    }
    forecast_residual(o, shape, n, false, &residual);
    w = forecast_value(o, &residual, parts_at(p));
    if (known != NULL) {
        known->filled_among = w->filled_among;
        known->filled_alike = w->filled_alike;
    }
    return value(o, p, shape, w->filled, w->filled_among, w->filled_alike, w->supply);
}

/* What is kept of a node as it is now; NULL: another state is judged. */
static struct forecast_node *find_node(const struct forecast *o, const struct node_state *n,
                                       const struct forecast_terms *terms)
{
    if (terms == NULL || terms->node >= o->node_n || !o->nodes[terms->node].counted ||
        o->nodes[terms->node].version != n->version) {
        return NULL;
    }
    return &o->nodes[terms->node];
}

/* The value before is that of the node for all placements, and is kept with it; the value after costs a look into the
 * table of values, or passes when nobody has asked about this residual before. */
int64_t forecast_gain(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                      struct forecast_terms *terms)
{
    struct forecast_node *known = find_node(o, n->node, terms);
    uint16_t shape = known != NULL ? known->shape : forecast_shape_find(o, n->node, n->before);
    const struct value *w;
    struct residual residual;
    int64_t before;

    if (shape == FORECAST_SHAPE_NONE || o->shapes[shape].samples == NULL || p->basis != o->classes_gen) {
        return 0; /* not followed: nothing is known */
    }
    before = value_before(o, p, n, shape, known);
    forecast_residual(o, shape, n, true, &residual);
    w = forecast_value(o, &residual, parts_at(p));
    if (terms != NULL && terms->n < FORECAST_TERMS_MAX) {
        terms->after[terms->n].place = forecast_value_place(o, w);
        terms->after[terms->n].serial = w->serial;
    }
    if (terms != NULL) {
        terms->n++;
    }
    return value_after(o, p, shape, w) - before;
}

/* ---- what a score is the sum of ---- */

static const enum score_part_kind good_kinds[] = {
    [SCARCE_HOST] = SCORE_PART_HOSTS,
    [SCARCE_GANG] = SCORE_PART_GANGS,
    [SCARCE_SIZE] = SCORE_PART_SIZES,
};

_Static_assert(SCORE_PARTS_MAX >= FORECAST_CLASSES_MAX + 5, "a part for each good, and five others");

static size_t add_part(struct score_part *parts, size_t n, enum score_part_kind kind, int64_t part)
{
    parts[n] = (struct score_part){.kind = kind, .value = part};
    return part != 0 ? n + 1 : n;
}

static size_t add_good(struct score_part *parts, size_t n, const struct forecast *o, uint8_t class, int64_t part)
{
    const struct scarcity *c = &o->classes[class];
    size_t end = add_part(parts, n, good_kinds[c->kind], part);

    parts[n].which = class;
    parts[n].plugin_managed = c->plugin_managed;
    parts[n].count = c->count;
    parts[n].milli = c->kind != SCARCE_HOST ? c->milli : 0;
    parts[n].mem_mib = c->kind != SCARCE_HOST ? c->mem_mib : 0;
    return end;
}

/* What value() takes. */
struct worth {
    int32_t filled, among, alike;
    const int32_t *supply;
};

/* As value() and value_after() add up, term by term. What is not looked for at these prices weighs nothing. */
static size_t parts_between(const struct forecast *o, const struct forecast_prices *p, uint16_t shape,
                            const struct worth *before, const struct value *w, struct score_part *ret)
{
    const struct price_list *l = forecast_price_list(o, p, shape);
    const int32_t f = p->scarce_cpu, beta = p->places;
    size_t n = 0;

    n = add_part(ret, n, SCORE_PART_FILL,
                 ((int64_t)w->filled - before->filled) * (FORECAST_SIXTEENTHS - f - beta) * UNITS);
    n = add_part(ret, n, SCORE_PART_CORES, ((int64_t)w->filled_among - before->among) * f * UNITS);
    n = add_part(ret, n, SCORE_PART_PLACES, ((int64_t)w->filled_alike - before->alike) * beta * UNITS);
    for (unsigned i = 0; i < l->n; i++) {
        n = add_good(ret, n, o, o->shapes[shape].classes[l->at[i]],
                     (int64_t)l->price[i] * ((int64_t)w->supply[l->at[i]] - before->supply[l->at[i]]));
    }
    n = add_part(ret, n, SCORE_PART_STRANDED, -stranded(p, w));
    return add_part(ret, n, SCORE_PART_IDLE, -idle(p, w));
}

size_t forecast_gain_parts(const struct forecast *o, const struct forecast_prices *p, const struct strategy_node *n,
                           struct score_part *ret)
{
    uint16_t shape = forecast_shape_find(o, n->node, n->before);
    int32_t supply[FORECAST_CLASSES_MAX];
    const struct value *w;
    struct residual residual;
    struct worth before;

    if (shape == FORECAST_SHAPE_NONE || o->shapes[shape].samples == NULL || p->basis != o->classes_gen) {
        return 0;
    }
    forecast_residual(o, shape, n, false, &residual);
    w = forecast_value(o, &residual, parts_at(p));
    memcpy(supply, w->supply, o->shapes[shape].class_n * sizeof(supply[0]));
    before = (struct worth){w->filled, w->filled_among, w->filled_alike, supply};
    forecast_residual(o, shape, n, true, &residual);
    return parts_between(o, p, shape, &before, forecast_value(o, &residual, parts_at(p)), ret);
}

/* ---- at other prices ---- */

/* The best of these and of *ret; false: one is forgotten. */
static inline bool best_of(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                           struct forecast_places of, int64_t *ret, struct forecast_place *ret_place)
{
    for (uint32_t i = 0; i < of.n; i++) {
        const struct value *w = forecast_value_at(o, of.p[i].place, of.p[i].serial, parts_at(p));
        int64_t v;

        if (w == NULL) {
            return false;
        }
        v = value_after(o, p, o->nodes[node].shape, w);
        if (v > *ret) {
            *ret = v;
            *ret_place = of.p[i];
        }
    }
    return true;
}

/* The value before, and the best after with the place that it is remembered at. */
static inline bool best_known(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                              struct forecast_places some, struct forecast_places more, int64_t *ret_gain,
                              struct forecast_place *ret_place)
{
    int64_t best = INT64_MIN, before;

    if (node >= o->node_n || p->basis != o->classes_gen || !node_value(o, p, &o->nodes[node], &before) ||
        !best_of(o, p, node, some, &best, ret_place) || !best_of(o, p, node, more, &best, ret_place)) {
        return false;
    }
    *ret_gain = best - before;
    return true;
}

/* Exact as well. Terms are kept only where the best placement of the node is chosen by this very score, or there is
 * only one (pack_keeps_terms). So the maximum over what the placements leave is the score of the choice, also at prices
 * at which another placement is the best. */
bool forecast_gain_again(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                         struct forecast_places some, struct forecast_places more, int64_t *ret)
{
    struct forecast_place at;

    return best_known(o, p, node, some, more, ret, &at);
}

size_t forecast_gain_parts_again(const struct forecast *o, const struct forecast_prices *p, uint32_t node,
                                 struct forecast_places some, struct forecast_places more, struct score_part *ret)
{
    const struct forecast_node *n = &o->nodes[node];
    struct forecast_place at = {0, 0};
    struct worth before;
    int64_t gain;

    if (some.n == 0 || !best_known(o, p, node, some, more, &gain, &at) || !n->counted ||
        (p->scarce_cpu > 0 && n->filled_among < 0) || (p->places > 0 && n->filled_alike < 0)) {
        return 0;
    }
    before = (struct worth){n->filled, n->filled_among, n->filled_alike, o->supplies + (size_t)node * o->supply_n};
    return parts_between(o, p, n->shape, &before, forecast_value_at(o, at.place, at.serial, parts_at(p)), ret);
}
