/* core/forecast/internal.h - the layout of the forecast, shared by its own files only.
 *
 * What is derived from what:
 *
 *   nodes of the ledger             -> shapes of nodes (shapes.c)
 *   demand histogram, shapes        -> what pods and machines count for (mean_parts.c)
 *                                   -> samples: the lists of each shape (samples.c, rollout_samples.c)
 *                                   -> scarcity classes (classes.c)
 *   a residual, samples             -> what would be filled of it (rollout.c; remembered by rollout_memo.c)
 *   a residual, classes             -> what it supplies (supply.c)
 *   a residual, samples             -> the same if all pods that come were alike (places.c)
 *   samples                         -> which of the two fills GPUs better (trial.c)
 *   all of these                    -> its value, remembered by the numbers of the residual (value.c)
 *   values of all nodes             -> idle GPUs, cores left over, supplies -> prices (prices.c)
 *   values of two residuals, prices -> the score of a placement (gain.c)
 *
 * All but the prices are integers, sums of integers are exact in any order, and the prices come from them by one
 * formula, so nothing depends on the way by which the forecast got to where it is.
 *
 * What is out of date is found by numbers, never by telling each other: samples_gen and classes_gen count rebuilds,
 * versions of nodes and prices count changes, and whoever remembers something keeps the number that it was made at.
 *
 * Units: compute in milli of a device, cores in milli cores, memory in MiB, scores in 1/FORECAST_MILLI milli, f, chi
 * and prices in sixteenths. No lock: whoever serialises the ledger serialises this.
 */
#ifndef CORE_FORECAST_INTERNAL_H
#define CORE_FORECAST_INTERNAL_H

#include "core/fit/cluster_view.h"
#include "core/fit/device_state.h"
#include "core/forecast/forecast.h"
#include "core/forecast/rollout.h"
#include "core/request/demand_histogram.h"

#define FORECAST_SHAPES_MAX 256

/* ---- typical pods (forecast/typical.c) ---- */

struct forecast_typicals {
    struct forecast_typical *shapes;
    uint8_t *allowed;
    size_t n;
    uint64_t version; /* counts */
    bool known;       /* from: */
    uint64_t demand_histogram_version;
    uint32_t model_n;
    uint64_t models_version, names_version, gpus_version;
    struct device_state largest; /* what memory alone was measured by */
};

/* ---- shapes of nodes (forecast/shapes.c) ---- */

/* Capacities are rounded to a few digits, so that machines of one kind are one shape although each reports some
 * kilobytes more or less. Those that a request is held against are rounded up, those that a whole device is charged
 * with down. */
struct device_type {
    uint16_t model_id;
    uint16_t device_n;
    int32_t milli_cap;
    int32_t mem_low_mib, mem_high_mib; /* 0: unknown */
    int32_t base_low_mib;
    uint8_t memory_only; /* as in struct device_state */
};

struct node_shape {
    int32_t cpu_cap_milli; /* 0: unknown */
    int32_t mem_cap_mib;
    int32_t plugin_managed_n;
    uint16_t type_n;
    uint16_t device_n;
    struct device_type types[ROLLOUT_TYPES_MAX];
    uint64_t hash; /* of all above */
    /* not part of the shape: */
    uint32_t node_n;
    int32_t times;                   /* u of mean_parts.c, in 1/FORECAST_TIMES_ONE */
    struct rollout_samples *samples; /* NULL: none yet */
    uint16_t class_n;                /* classes that a node of this shape supplies */
    uint8_t classes[FORECAST_CLASSES_MAX];
    uint64_t class_set; /* the same as bits */
    uint64_t priced_at; /* version of the prices when any of theirs last changed, or f or chi */
};

#define FORECAST_TIMES_ONE 1024

/* What so much of a node of this shape counts for. */
static inline int64_t node_shape_counts(const struct node_shape *s, int64_t milli)
{
    return milli * s->times / FORECAST_TIMES_ONE;
}

struct shape_set {
    uint64_t bits[FORECAST_SHAPES_MAX / 64];
};

/* ---- scarcity classes (forecast/classes.c, forecast/supply.c) ---- */

enum scarcity_kind {
    SCARCE_HOST, /* idle GPUs on the nodes that can run these pods */
    SCARCE_GANG, /* places for pods of several GPUs */
    SCARCE_SIZE, /* GPUs with at least so much free */
};

struct scarcity {
    enum scarcity_kind kind;
    bool plugin_managed;
    struct shape_set hosts;
    int32_t count;     /* devices of one pod; GANG */
    int32_t milli;     /* per device, at least; GANG, SIZE */
    int32_t mem_mib;   /* of the device, known and explicit; GANG, SIZE */
    int32_t cpu_milli; /* largest request of a pod; SIZE: mean per device */
    int32_t host_mem_mib;
    int32_t mean_milli; /* m of each device: GANG the largest, SIZE the mean of all */
    double share;       /* of the expected volume: of pods that need this or what is harder to get */
    double mean_volume; /* of one such pod, milli */
    double known_n;     /* pods that this was learned from */
};

/* ---- what a node is worth (forecast/value.c) ---- */

/* What costs passes, and is looked for only where it has a weight in the score. */
enum value_part {
    VALUE_FILLED = 1 << 0, /* without GPU-less pods */
    VALUE_AMONG = 1 << 1,  /* with them */
    VALUE_ALIKE = 1 << 2,  /* if all pods that come were alike */
};

#define VALUE_DEVICES_MAX 8

/* Of a residual. Volumes are sums over the ROLLOUT_LISTS lists, in milli that count (mean_parts.c). What is read again
 * and again stands together, in one line of the cache, behind what says which residual it is: see value.c for the three
 * parts. */
struct value {
    struct residual_device devices[VALUE_DEVICES_MAX];
    int32_t cpu_milli, mem_mib;
    uint16_t shape;
    uint8_t kinds;
    uint8_t device_n; /* 255: more than are kept here */
    uint64_t key[2];

    uint32_t samples_gen, classes_gen; /* what the rest is of; 0: of nothing */
    uint32_t serial;                   /* counts the residuals that had this place; 0: none yet */
    uint32_t slot;                     /* that it is found by (value.c) */
    int32_t filled, filled_among;      /* by rollouts; -1: not looked for yet */
    int32_t filled_alike;              /* by places; -1: not looked for yet */
    int32_t idle_milli;                /* of devices with memory left: without it nobody can use their compute */
    int32_t drain;                     /* 16 x idle milli + free cpu milli */
    int64_t cpu_left;                  /* after the scenarios, sum over them; known when `filled` is */
    int32_t supply[];                  /* of node_shape.classes, class_n of them */
};
_Static_assert(offsetof(struct value, samples_gen) == 128, "two lines of the cache");

/* What the goods cost that nodes of one shape supply: those that cost anything, usually a third. A value is a sum over
 * these. */
struct price_list {
    uint64_t version; /* of the prices; 0: of none yet */
    unsigned n;
    uint8_t at[FORECAST_CLASSES_MAX]; /* place in value.supply */
    int32_t price[FORECAST_CLASSES_MAX];
};

/* What the forecast knows of a node. */
struct forecast_node {
    uint64_t version; /* of node_state that this was made from; 0: of nothing */
    uint16_t shape;   /* FORECAST_SHAPE_NONE: not described */
    bool counted;     /* its supply is in the sums */
    int32_t idle_milli;
    int32_t filled, filled_among, filled_alike; /* as struct value */
    int64_t cpu_left;
    uint64_t value_at; /* version of the prices at which `value` was computed */
    int64_t value;     /* of the residual as it is */
};
#define FORECAST_SHAPE_NONE UINT16_MAX

struct forecast {
    const struct demand_histogram *given; /* NULL: the ledger's */
    bool demand_histogram_changed;        /* another one than before */
    uint64_t demand_histogram_version;
    struct forecast_typicals typical;

    struct node_shape shapes[FORECAST_SHAPES_MAX];
    uint32_t shape_n;
    unsigned rounding;   /* digits of capacities, in bits */
    bool shapes_changed; /* or the number of nodes of one */

    uint32_t samples_gen, classes_gen; /* count rebuilds */
    uint32_t model_n;
    uint64_t models_version;
    struct scarcity classes[FORECAST_CLASSES_MAX];
    uint32_t class_n;
    uint32_t supply_n;       /* largest class_n of a shape */
    bool knows_cpu;          /* of some node */
    double cpu_per_milli;    /* asked by GPU-less pods per milli asked by others */
    int32_t places_in_trial; /* forecast_trial() of the lists as they are */
    double gang_share;       /* of the expected volume: pods of several devices, priors left out */
    double prior_share;      /* of the expected volume */

    struct values *values;       /* remembered */
    struct rollout_memo *passes; /* what values are made of */

    struct forecast_node *nodes; /* by the ledger's index */
    int32_t *supplies;           /* supply_n for each */
    uint32_t node_n, node_cap;
    uint32_t behind_from, behind_to; /* nodes that are not between them are up to date */
    uint64_t seen_version;           /* of the ledger's numbers, when it was last searched for changes */

    int64_t idle_milli, cpu_left;
    int64_t supply[FORECAST_CLASSES_MAX];
    struct forecast_prices prices;
    struct price_list *price_lists; /* of each shape, as they were last asked for */
};

static inline const struct demand_histogram *forecast_demand_histogram(const struct forecast *o,
                                                                       const struct demand_histogram *learned)
{
    return o->given != NULL ? o->given : learned;
}

static inline bool shape_set_has(const struct shape_set *s, unsigned i)
{
    return (s->bits[i / 64] >> (i % 64) & 1) != 0;
}

static inline void shape_set_add(struct shape_set *s, unsigned i)
{
    s->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

void forecast_typicals_follow(struct forecast *o, const struct cluster_view *c);
void forecast_typicals_fini(struct forecast_typicals *t);

/* The shape of a node with these devices; FORECAST_SHAPE_NONE: never seen. */
uint16_t forecast_shape_find(const struct forecast *o, const struct node_state *n, const struct device_state *devices);
/* The same, added if need be. When there are too many, shapes are made anew from coarser numbers: false, and all nodes
 * must be asked again. */
bool forecast_shape_add(struct forecast *o, const struct node_state *n, const struct device_state *devices,
                        uint16_t *ret);
/* What is left on a node of this shape. */
void forecast_residual(const struct forecast *o, uint16_t shape, const struct strategy_node *n, bool after,
                       struct residual *ret);

/* Expected pods of one kind, resolved for the shape of a node. */
struct expected {
    const struct demand_histogram_shape *shape;
    uint64_t weight;
    int32_t mean_milli, worth_milli; /* of each of its devices: m and w of mean_parts.c; 0 without any */
};
/* What each of these counts for, and each node shape. Before the two below. */
void forecast_mean_parts(struct forecast *o, const struct cluster_view *c, struct expected *pods, size_t n);
/* Scenarios for every node shape from `n` kinds of pods. */
void forecast_samples_build(struct forecast *o, const struct cluster_view *c, struct expected *pods, size_t n);
/* Can a pod of this kind run on an empty node of this shape? `allowed`: by model_id, NULL: every model. Charges by
 * device type in `ret`. */
bool forecast_runs(const struct node_shape *s, const struct demand_histogram_shape *pod, const uint8_t *allowed,
                   struct sample *ret);

void forecast_classes_build(struct forecast *o, const struct cluster_view *c, const struct expected *pods, size_t n);
/* Which classes a node of each shape supplies. A supply is then a short row for each node, and a price that changes
 * concerns only the shapes that have its bit. */
void forecast_supplies_list(struct forecast *o);
/* Supply of each of the shape's classes by a residual; idle_milli: as in struct value. */
void forecast_supply(const struct forecast *o, const struct residual *r, int32_t idle_milli, int32_t *ret);

struct values *forecast_values_new(void);
void forecast_values_free(struct values *t);
/* Room for supplies of so many classes. */
void forecast_values_resize(struct values *t, uint32_t supply_n);
/* Shapes of nodes mean others from now on. */
void forecast_values_forget(struct values *t);

/* `parts`: enum value_part. Valid until the next call. */
const struct value *forecast_value(const struct forecast *o, const struct residual *r, unsigned parts);
/* Where it is remembered. */
uint32_t forecast_value_place(const struct forecast *o, const struct value *w);
/* NULL: forgotten. */
const struct value *forecast_value_at(const struct forecast *o, uint32_t i, uint32_t serial, unsigned parts);

/* How much places should weigh while nobody leaves, 0 to 16: a trial on the lists as they are (trial.c). */
int32_t forecast_trial(const struct forecast *o);
/* GPUs of its model cluster: 64, fewer where so many pods of these sizes (thousandths of a GPU, added up) would be too
 * much work. */
unsigned forecast_trial_gpus(int64_t sizes, int64_t pods);

/* The probability that a demand, expected to be so much and made of pods of the mean volume `mean`, reaches the supply,
 * when its share was learned from known_n pods (0: it is given). */
double forecast_scarcity(double demand, double supply, double mean, double known_n);
void forecast_prices_follow(struct forecast *o, int churn);

/* Makes the shape's list by these prices, which must be of the classes as they are. */
void forecast_list_prices(const struct forecast *o, const struct forecast_prices *p, uint16_t shape);

static inline const struct price_list *forecast_price_list(const struct forecast *o, const struct forecast_prices *p,
                                                           uint16_t shape)
{
    const struct price_list *l = &o->price_lists[shape];

    if (l->version != p->version) {
        forecast_list_prices(o, p, shape);
    }
    return l;
}

#endif
