/* obs/metrics.h - counters, gauges and histograms, and their Prometheus text (format 0.0.4).
 *
 * All metrics of a process stand in one static table of `struct metric_def`; their numbers are
 * indexes into it. A *series* (struct metric) is one metric with one set of label values. Get it
 * once, keep the pointer, count with one relaxed atomic operation.
 *
 * Cardinality is bounded by construction: a metric has at most series_max series; further label
 * values, and values outside a closed list, are counted in one series whose values are all "other".
 * Series never go away. Per-pod data does not belong here.
 *
 * Values are 64-bit integers; times are kept in nano- or milliseconds and written in seconds,
 * exactly. Everything is safe to call from any thread.
 */
#ifndef OBS_METRICS_H
#define OBS_METRICS_H

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define METRIC_LABELS_MAX 4
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
};

/* What one stored unit is; the text always has the base unit. */
enum metric_unit {
    METRIC_UNIT_ONE,
    METRIC_UNIT_MS,       /* written in seconds */
    METRIC_UNIT_PERMILLE, /* written as a share of 1 */
    METRIC_UNIT_NS,       /* written in seconds */
};

/* A closed list ends with NULL; with `values` NULL any value is taken, up to series_max. */
struct metric_label {
    const char *key;
    const char *const *values;
    const char *about; /* with `values` NULL: which values there are, for the reference */
};

struct metric_def {
    const char *name; /* of a counter: ends in _total */
    const char *help;
    enum metric_type type;
    enum metric_unit unit;
    struct metric_label labels[METRIC_LABELS_MAX]; /* used from the front */
    uint32_t series_max; /* 0: exactly the combinations of its closed lists (1 without labels) */
    /* Histograms: upper bounds first, first x 2, first x 4, ... in stored units. */
    int64_t bucket_first;
    uint32_t bucket_n;
    const char *worry; /* when somebody should look, for the reference; NULL: it is for understanding others */
};

struct metrics;
struct metric;

/* The table must outlive the registry; a bad one is a bug. Series of metrics whose labels are
 * all closed lists exist from the start, with 0. */
struct metrics *metrics_new(const struct metric_def *defs, uint32_t def_n);
void metrics_free(struct metrics *m); /* NULL is fine */

/* The series with these label values (one per label, then NULL), made on first use. Never NULL.
 * A look-up takes no lock unless the series is new; still, keep the pointer on hot paths. */
struct metric *metrics_get(struct metrics *m, uint32_t id, const char *const *values);
/* METRIC(m, FGPU_REQUESTS_TOTAL, "filter", "ok") */
#define METRIC(m_, id_, ...) metrics_get((m_), (id_), ((const char *const[]){NULL, ##__VA_ARGS__, NULL}) + 1)

void metric_add(struct metric *s, int64_t n); /* counters: n >= 0; gauges: any */
static inline void metric_inc(struct metric *s)
{
    metric_add(s, 1);
}
/* Gauges, and counters that mirror a count kept elsewhere. */
void metric_set(struct metric *s, int64_t value);
void metric_observe(struct metric *s, int64_t value); /* histograms; negative counts as 0 */
/* The value of a counter or gauge, the number of observations of a histogram. */
int64_t metric_value(const struct metric *s);

/* `collect` runs at the beginning of every rendering and sets gauges. At most
 * METRICS_COLLECTORS_MAX. It must not render. */
#define METRICS_COLLECTORS_MAX 24
typedef void metrics_collect_fn(void *ctx, struct metrics *m);
void metrics_add_collector(struct metrics *m, metrics_collect_fn *collect, void *ctx);

/* The whole exposition, in table order. Renderings do not overlap. Check out->overflowed. */
void metrics_render(struct metrics *m, struct strbuf *out);

/* Lines the exposition could ever have, HELP and TYPE included; for the cardinality budget. */
uint64_t metrics_max_lines(const struct metrics *m);

#endif
