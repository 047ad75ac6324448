/* Prices: the probability that the last of a scarce good will be wanted (packing.md 5.1, "Price").
 *
 *   lambda = 1/2 erfc(-z / sqrt 2), z = (D - S + mu/2) / (mu sqrt(max(D/mu, 0.05) + (D/mu)^2 / n))
 *
 * S is the supply in the cluster. D = (1 + 3 chi) x share x idle is the demand that is expected to fill what is idle:
 * idle GPUs are filled by all kinds of pods, and `share` of that volume needs this good. mu is the mean volume of such
 * a pod. The number of pods that come is taken for a Poisson number of the mean D/mu, and this for normal; lambda is
 * the probability that it reaches S. n pods were seen, so `share` is known to 1/sqrt(n) only, which adds the last term;
 * for a histogram that was given it is left out. A placement that destroys one milli of the good is charged lambda
 * milli.
 *
 * Prices and f are the only floating point in a score. They are rounded to sixteenths at once; all that follows is
 * integers.
 * Steps that large also keep prices still: a price that has not moved leaves the scores that read it as they are.
 *
 * Cost: a formula for each class, at most FORECAST_CLASSES_MAX, whenever a decision begins.
 */
#include "core/forecast/internal.h"

#include <math.h>

#define DEMAND_MIN 0.05 /* pods: keeps the deviation from vanishing */
#define CHURN_SURE 4    /* from a quarter as many leaving as coming the cluster is in use, and no longer filling up */
#define GANGS_SURE 8    /* from an eighth of the volume on, machines are emptied for pods of several GPUs in full */
#define CHURN_FACTOR 3  /* in a steady state pods keep coming into what others leave: packing.md 5.1 and 6 */

/* Score units for each milli, of one sixteenth of lambda; sizes weigh a fifth. Both are whole: that is what
 * FORECAST_MILLI = 16 x 16 x 5 is for. */
enum { HOST_UNITS = FORECAST_MILLI / FORECAST_SIXTEENTHS, SIZE_UNITS = HOST_UNITS / 5 };

static int32_t sixteenths(double v)
{
    v = v < 0 ? 0 : v > 1 ? 1 : v;
    return (int32_t)(v * FORECAST_SIXTEENTHS + 0.5);
}

double forecast_scarcity(double demand, double supply, double mean, double known_n)
{
    double pods = demand / mean;
    double variance = (pods > DEMAND_MIN ? pods : DEMAND_MIN) + (known_n > 0 ? pods * pods / known_n : 0);
    double z = (demand - supply + mean / 2) / (mean * sqrt(variance));

    return 0.5 * erfc(-z / 1.4142135623730951);
}

/* f: how far cores will run out before GPUs. `wanted` are the cores that GPU-less pods will ask for while the idle GPUs
 * fill; `left` are the cores that pods with GPUs leave over. 0 up to half of these, 16 when they want all. */
static int32_t scarce_cpu(const struct forecast *o)
{
    double wanted = o->cpu_per_milli * (double)o->idle_milli;
    double left = (double)o->cpu_left / ROLLOUT_LISTS;

    if (wanted <= 0 || !o->knows_cpu) {
        return 0;
    }
    return left <= 0 ? FORECAST_SIXTEENTHS : sixteenths((wanted / left - 0.5) / 0.5);
}

/* beta. In use, GPUs are not all wanted, and who keeps a hole for every kind of pods refuses least: places. While
 * nobody leaves, all will be wanted in the end: what the trial says. */
static int32_t places(const struct forecast *o, int churn)
{
    int32_t in_use = churn * CHURN_SURE;

    in_use = in_use < FORECAST_SIXTEENTHS ? in_use : FORECAST_SIXTEENTHS;
    return in_use > o->places_in_trial ? in_use : o->places_in_trial;
}

/* Classes whose prices differ, a bit each; all bits when something differs that every score depends on. 0: the same
 * prices. */
static uint64_t differing(const struct forecast_prices *a, const struct forecast_prices *b)
{
    uint64_t set = 0;

    if (a->basis != b->basis || a->scarce_cpu != b->scarce_cpu || a->churn != b->churn || a->places != b->places ||
        a->gangs != b->gangs || a->n != b->n) {
        return UINT64_MAX;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        set |= (uint64_t)(a->price[i] != b->price[i]) << i;
    }
    return set;
}

/* The shapes of nodes that supply one of these have new scores from this version on; the others keep theirs. */
static void note_changes(struct forecast *o, uint64_t classes)
{
    for (uint32_t i = 0; i < o->shape_n; i++) {
        if (classes == UINT64_MAX || (o->shapes[i].class_set & classes) != 0) {
            o->shapes[i].priced_at = o->prices.version;
        }
    }
}

bool forecast_prices_hold(const struct forecast *o, const struct forecast_prices *p, uint32_t node, uint64_t since)
{
    /* `p` may be older than the prices as they are: it is kept for one decision. Nothing that the shape supplies has
     * changed since the earlier of the two, up to now; so it was the same at both. */
    uint64_t first = since < p->version ? since : p->version;

    return node < o->node_n && o->nodes[node].shape != FORECAST_SHAPE_NONE && p->basis == o->classes_gen &&
           o->prices.basis == p->basis && o->shapes[o->nodes[node].shape].priced_at <= first;
}

void forecast_prices_follow(struct forecast *o, int churn)
{
    struct forecast_prices p = {
        .version = o->prices.version,
        .basis = o->classes_gen,
        .churn = churn,
        .places = places(o, churn),
        .gangs = sixteenths(o->gang_share * GANGS_SURE),
        .scarce_cpu = scarce_cpu(o),
        .n = o->class_n,
    };
    uint64_t changed;

    for (uint32_t i = 0; i < o->class_n; i++) {
        const struct scarcity *c = &o->classes[i];
        double demand = (1 + CHURN_FACTOR * churn / (double)FORECAST_SIXTEENTHS) * c->share * (double)o->idle_milli;

        if (c->mean_volume > 0) {
            p.price[i] = sixteenths(forecast_scarcity(demand, (double)o->supply[i], c->mean_volume,
                                                      o->given != NULL ? 0 : c->known_n)) *
                         (c->kind == SCARCE_SIZE ? SIZE_UNITS : HOST_UNITS);
        }
    }
    changed = differing(&p, &o->prices);
    if (changed != 0) {
        p.version++;
        o->prices = p;
        note_changes(o, changed);
    }
}

void forecast_list_prices(const struct forecast *o, const struct forecast_prices *p, uint16_t shape)
{
    const struct node_shape *s = &o->shapes[shape];
    struct price_list *l = &o->price_lists[shape];

    l->version = p->version;
    l->n = 0;
    for (unsigned i = 0; i < s->class_n; i++) {
        if (p->price[s->classes[i]] != 0) {
            l->at[l->n] = (uint8_t)i;
            l->price[l->n++] = p->price[s->classes[i]];
        }
    }
}

const struct forecast_prices *forecast_prices(const struct forecast *o)
{
    return &o->prices;
}
