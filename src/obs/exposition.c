/* obs/exposition.c - the registry as Prometheus text, format 0.0.4.
 *
 * Source: prometheus.io/docs/instrumenting/exposition_formats. All lines of one metric stand
 * together; help escapes \ and newline, label values also ". The buckets of a histogram are read
 * once and its count is their sum, so that a scrape never shows a count that differs from the +Inf
 * bucket.
 */
#include "obs/metrics_internal.h"
#include "obs/samples.h"

#include "base/bug.h"

static void add_escaped(struct strbuf *out, struct str text, bool quotes)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\') {
            strbuf_add_cstr(out, "\\\\");
        } else if (text.p[i] == '\n') {
            strbuf_add_cstr(out, "\\n");
        } else if (text.p[i] == '"' && quotes) {
            strbuf_add_cstr(out, "\\\"");
        } else {
            strbuf_add_char(out, text.p[i]);
        }
    }
}

static unsigned decimals(enum metric_unit unit)
{
    switch (unit) {
    case METRIC_UNIT_ONE:
        return 0;
    case METRIC_UNIT_MS:
    case METRIC_UNIT_PERMILLE:
        return 3;
    case METRIC_UNIT_NS:
        return 9;
    }
    BUG("unit out of range");
}

/* Exact: no floating point, trailing zeros of the fraction left out. */
static void add_value(struct strbuf *out, int64_t v, enum metric_unit unit)
{
    if (v < 0) {
        strbuf_add_char(out, '-');
    }
    uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
    unsigned digits = decimals(unit);
    uint64_t scale = 1;
    for (unsigned i = 0; i < digits; i++) {
        scale *= 10;
    }
    strbuf_add_u64(out, magnitude / scale);
    uint64_t fraction = magnitude % scale;
    if (fraction == 0) {
        return;
    }
    while (fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    strbuf_addf(out, ".%0*llu", (int)digits, (unsigned long long)fraction);
}

static void add_label(struct strbuf *out, const char *before, const char *key, struct str value)
{
    strbuf_add_cstr(out, before);
    strbuf_add_cstr(out, key);
    strbuf_add_cstr(out, "=\"");
    add_escaped(out, value, true);
    strbuf_add_char(out, '"');
}

/* {a="b",le="1"}; `le` NULL: none. */
static void add_labels(struct strbuf *out, const struct metric *s, const char *le)
{
    bool any = false;
    for (uint32_t i = 0; i < METRIC_LABELS_MAX && s->values[i] != NULL; i++) {
        add_label(out, any ? "," : "{", s->def->labels[i].key, str_of(s->values[i]));
        any = true;
    }
    if (le != NULL) {
        strbuf_add_cstr(out, any ? ",le=\"" : "{le=\"");
        strbuf_add_cstr(out, le);
        strbuf_add_char(out, '"');
        any = true;
    }
    strbuf_add_cstr(out, any ? "} " : " ");
}

static void add_bucket(struct strbuf *out, const struct metric *s, const char *le, int64_t n)
{
    strbuf_add_cstr(out, s->def->name);
    strbuf_add_cstr(out, "_bucket");
    add_labels(out, s, le);
    strbuf_add_i64(out, n);
    strbuf_add_char(out, '\n');
}

static void add_histogram(struct strbuf *out, const struct metric *s)
{
    struct strbuf le;
    strbuf_init(&le, 64);
    int64_t n = 0;
    for (uint32_t i = 0; i < s->def->bucket_n; i++) {
        n += atomic_load_explicit(&s->buckets[i], memory_order_relaxed);
        strbuf_reset(&le);
        add_value(&le, s->def->bucket_first << i, s->def->unit);
        add_bucket(out, s, le.p, n);
    }
    strbuf_fini(&le);
    n += atomic_load_explicit(&s->buckets[s->def->bucket_n], memory_order_relaxed);
    add_bucket(out, s, "+Inf", n);

    strbuf_add_cstr(out, s->def->name);
    strbuf_add_cstr(out, "_sum");
    add_labels(out, s, NULL);
    add_value(out, atomic_load_explicit(&s->value, memory_order_relaxed), s->def->unit);
    strbuf_add_char(out, '\n');
    strbuf_add_cstr(out, s->def->name);
    strbuf_add_cstr(out, "_count");
    add_labels(out, s, NULL);
    strbuf_add_i64(out, n);
    strbuf_add_char(out, '\n');
}

static void add_series(struct strbuf *out, const struct metric *s)
{
    if (s->def->type == METRIC_HISTOGRAM) {
        add_histogram(out, s);
        return;
    }
    strbuf_add_cstr(out, s->def->name);
    add_labels(out, s, NULL);
    add_value(out, metric_value(s), s->def->unit);
    strbuf_add_char(out, '\n');
}

const char *metric_type_name(enum metric_type type)
{
    switch (type) {
    case METRIC_COUNTER:
        return "counter";
    case METRIC_GAUGE:
        return "gauge";
    case METRIC_HISTOGRAM:
        return "histogram";
    }
    BUG("type out of range");
}

void samples_family(struct strbuf *out, const struct metric_def *family)
{
    strbuf_addf(out, "# HELP %s ", family->name);
    add_escaped(out, str_of(family->help), false);
    strbuf_addf(out, "\n# TYPE %s %s\n", family->name, metric_type_name(family->type));
}

void samples_add(struct strbuf *out, const struct metric_def *family, const struct samples_label *labels, size_t n,
                 int64_t value)
{
    strbuf_add_cstr(out, family->name);
    for (size_t i = 0; i < n; i++) {
        add_label(out, i == 0 ? "{" : ",", labels[i].key, labels[i].value);
    }
    strbuf_add_cstr(out, n > 0 ? "} " : " ");
    add_value(out, value, family->unit);
    strbuf_add_char(out, '\n');
}

static void add_family(struct strbuf *out, const struct metric_family *f)
{
    const uint32_t n = atomic_load_explicit(&f->series_n, memory_order_acquire);
    const bool overflow = atomic_load_explicit(&f->overflow_used, memory_order_relaxed);
    if (n == 0 && !overflow) {
        return;
    }
    samples_family(out, f->def);
    for (uint32_t i = 0; i < n; i++) {
        add_series(out, f->series[i]);
    }
    if (overflow) {
        add_series(out, f->overflow);
    }
}

void metrics_render(struct metrics *m, struct strbuf *out)
{
    mutex_lock(&m->scrape);
    for (uint32_t i = 0; i < m->collector_n; i++) {
        m->collectors[i].collect(m->collectors[i].ctx, m);
    }
    for (uint32_t id = 0; id < m->family_n; id++) {
        add_family(out, &m->families[id]);
    }
    mutex_unlock(&m->scrape);
}

uint64_t metrics_max_lines(const struct metrics *m)
{
    uint64_t lines = 0;
    for (uint32_t id = 0; id < m->family_n; id++) {
        const struct metric_family *f = &m->families[id];
        const uint64_t per_series = f->def->type == METRIC_HISTOGRAM ? (uint64_t)f->def->bucket_n + 3 : 1;
        const uint64_t series = (uint64_t)f->series_max + (f->label_n > 0 ? 1 : 0);
        lines += 2 + series * per_series;
    }
    return lines;
}
