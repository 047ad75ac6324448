/* obs/metrics.c - registry and series; the text is written by exposition.c. */
#include "obs/metrics_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

static uint32_t label_count(const struct metric_def *def)
{
    uint32_t n = 0;
    while (n < METRIC_LABELS_MAX && def->labels[n].key != NULL) {
        n++;
    }
    return n;
}

/* 0 when a label is open. */
static uint32_t closed_combinations(const struct metric_def *def)
{
    uint32_t product = 1;
    for (uint32_t i = 0; i < label_count(def); i++) {
        uint32_t n = 0;
        while (def->labels[i].values != NULL && def->labels[i].values[n] != NULL) {
            n++;
        }
        product *= n;
    }
    return product;
}

static bool name_is_valid(const char *name)
{
    for (const char *p = name; *p != '\0'; p++) {
        const bool letter = (*p >= 'a' && *p <= 'z') || *p == '_';
        if (!letter && !(p > name && *p >= '0' && *p <= '9')) {
            return false;
        }
    }
    return *name != '\0';
}

static void check_def(const struct metric_def *def)
{
    BUG_ON(!name_is_valid(def->name) || def->help == NULL || def->help[0] == '\0');
    BUG_ON((def->type == METRIC_COUNTER) != str_ends(str_of(def->name), STR("_total")));
    BUG_ON((def->type == METRIC_HISTOGRAM) != (def->bucket_n != 0));
    BUG_ON(def->bucket_n > METRIC_BUCKETS_MAX || (def->bucket_n != 0 && def->bucket_first <= 0));
    BUG_ON(def->bucket_n != 0 && def->bucket_first > INT64_MAX >> (def->bucket_n - 1));
    BUG_ON(def->unit == METRIC_UNIT_PERMILLE ? strstr(def->name, "_ratio") == NULL
                                             : def->unit != METRIC_UNIT_ONE && strstr(def->name, "_seconds") == NULL);
    for (uint32_t i = 0; i < label_count(def); i++) {
        BUG_ON(!name_is_valid(def->labels[i].key) || strcmp(def->labels[i].key, "le") == 0);
    }
    BUG_ON(def->series_max == 0 && closed_combinations(def) == 0);
}

static struct metric *series_new(const struct metric_family *f, const char *const *values)
{
    struct metric *s = xcalloc(1, sizeof(*s));
    s->def = f->def;
    for (uint32_t i = 0; i < f->label_n; i++) {
        s->values[i] = strdup(values[i]);
        BUG_ON(s->values[i] == NULL);
    }
    return s;
}

static void series_free(struct metric *s)
{
    if (s != NULL) {
        for (uint32_t i = 0; i < METRIC_LABELS_MAX; i++) {
            free(s->values[i]);
        }
        free(s);
    }
}

/* Counts through all combinations of closed lists, the last label fastest. */
static void make_closed_series(struct metrics *m, uint32_t id)
{
    const struct metric_family *f = &m->families[id];
    uint32_t at[METRIC_LABELS_MAX] = {0};
    for (uint32_t n = closed_combinations(f->def); n > 0; n--) {
        const char *values[METRIC_LABELS_MAX + 1] = {NULL};
        for (uint32_t i = 0; i < f->label_n; i++) {
            values[i] = f->def->labels[i].values[at[i]];
        }
        metrics_get(m, id, values);
        for (uint32_t i = f->label_n; i-- > 0;) {
            if (f->def->labels[i].values[++at[i]] != NULL) {
                break;
            }
            at[i] = 0;
        }
    }
}

static void family_init(struct metrics *m, uint32_t id, const struct metric_def *def)
{
    static const char *const other[METRIC_LABELS_MAX] = {"other", "other", "other", "other"};
    struct metric_family *f = &m->families[id];
    f->def = def;
    f->label_n = label_count(def);
    const uint32_t closed = closed_combinations(def);
    f->series_max = def->series_max != 0 ? def->series_max : closed;
    BUG_ON(closed > f->series_max);
    f->series = xcalloc(f->series_max, sizeof(*f->series));
    f->overflow = series_new(f, other);
    make_closed_series(m, id);
}

struct metrics *metrics_new(const struct metric_def *defs, uint32_t def_n)
{
    struct metrics *m = xcalloc(1, sizeof(*m));
    mutex_init(&m->grow, "metrics grow");
    mutex_init(&m->scrape, "metrics scrape");
    m->family_n = def_n;
    m->families = xcalloc(def_n, sizeof(*m->families));
    for (uint32_t id = 0; id < def_n; id++) {
        check_def(&defs[id]);
        for (uint32_t other = 0; other < id; other++) {
            BUG_ON(strcmp(defs[other].name, defs[id].name) == 0);
        }
        family_init(m, id, &defs[id]);
    }
    return m;
}

void metrics_free(struct metrics *m)
{
    if (m == NULL) {
        return;
    }
    for (uint32_t id = 0; id < m->family_n; id++) {
        struct metric_family *f = &m->families[id];
        for (uint32_t i = 0; i < f->series_n; i++) {
            series_free(f->series[i]);
        }
        series_free(f->overflow);
        free(f->series);
    }
    free(m->families);
    mutex_destroy(&m->grow);
    mutex_destroy(&m->scrape);
    free(m);
}

static bool in_closed_lists(const struct metric_family *f, const char *const *values)
{
    for (uint32_t i = 0; i < f->label_n; i++) {
        const char *const *known = f->def->labels[i].values;
        if (known == NULL) {
            continue;
        }
        while (*known != NULL && strcmp(*known, values[i]) != 0) {
            known++;
        }
        if (*known == NULL) {
            return false;
        }
    }
    return true;
}

static struct metric *find_series(const struct metric_family *f, const char *const *values)
{
    const uint32_t n = atomic_load_explicit(&f->series_n, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        struct metric *s = f->series[i];
        uint32_t same = 0;
        while (same < f->label_n && strcmp(s->values[same], values[same]) == 0) {
            same++;
        }
        if (same == f->label_n) {
            return s;
        }
    }
    return NULL;
}

static struct metric *overflow_series(struct metric_family *f)
{
    atomic_store_explicit(&f->overflow_used, true, memory_order_relaxed);
    return f->overflow;
}

struct metric *metrics_get(struct metrics *m, uint32_t id, const char *const *values)
{
    BUG_ON(id >= m->family_n);
    struct metric_family *f = &m->families[id];
    uint32_t given = 0;
    while (given < f->label_n && values[given] != NULL) {
        given++;
    }
    BUG_ON(given != f->label_n || values[given] != NULL); /* one value per label */

    struct metric *s = find_series(f, values);
    if (s != NULL) {
        return s;
    }
    if (!in_closed_lists(f, values)) {
        return overflow_series(f);
    }
    mutex_lock(&m->grow);
    s = find_series(f, values); /* somebody may have been quicker */
    const uint32_t n = atomic_load_explicit(&f->series_n, memory_order_relaxed);
    if (s == NULL && n < f->series_max) {
        s = f->series[n] = series_new(f, values);
        atomic_store_explicit(&f->series_n, n + 1, memory_order_release);
    }
    mutex_unlock(&m->grow);
    return s != NULL ? s : overflow_series(f);
}

void metric_add(struct metric *s, int64_t n)
{
    BUG_ON(s->def->type == METRIC_HISTOGRAM || (s->def->type == METRIC_COUNTER && n < 0));
    atomic_fetch_add_explicit(&s->value, n, memory_order_relaxed);
}

void metric_set(struct metric *s, int64_t value)
{
    BUG_ON(s->def->type == METRIC_HISTOGRAM);
    atomic_store_explicit(&s->value, value, memory_order_relaxed);
}

/* The first bucket whose bound, first x 2^k, is not below the value; bucket_n for +Inf. */
static uint32_t bucket_of(const struct metric_def *def, int64_t value)
{
    if (value <= def->bucket_first) {
        return 0;
    }
    const uint64_t ratio = ((uint64_t)value - 1) / (uint64_t)def->bucket_first; /* >= 1 */
    const uint32_t k = 64 - (uint32_t)__builtin_clzll(ratio);
    return k < def->bucket_n ? k : def->bucket_n;
}

void metric_observe(struct metric *s, int64_t value)
{
    BUG_ON(s->def->type != METRIC_HISTOGRAM);
    value = value < 0 ? 0 : value;
    atomic_fetch_add_explicit(&s->buckets[bucket_of(s->def, value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->value, value, memory_order_relaxed);
}

int64_t metric_value(const struct metric *s)
{
    if (s->def->type != METRIC_HISTOGRAM) {
        return atomic_load_explicit(&s->value, memory_order_relaxed);
    }
    int64_t n = 0;
    for (uint32_t i = 0; i <= s->def->bucket_n; i++) {
        n += atomic_load_explicit(&s->buckets[i], memory_order_relaxed);
    }
    return n;
}

void metrics_add_collector(struct metrics *m, metrics_collect_fn *collect, void *ctx)
{
    mutex_lock(&m->scrape);
    BUG_ON(m->collector_n == METRICS_COLLECTORS_MAX);
    m->collectors[m->collector_n].collect = collect;
    m->collectors[m->collector_n].ctx = ctx;
    m->collector_n++;
    mutex_unlock(&m->scrape);
}
