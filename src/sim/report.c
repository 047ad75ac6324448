#include "sim/report.h"

#include "base/bug.h"
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number of a replay: which one, and which way is worse. */
struct metric {
    const char *key;
    const char *heading; /* NULL: not in the table */
    size_t offset;
    bool low_is_worse;
    bool fill, in_use; /* in which modes it means something: pods never leave, or come and go */
};

static const struct metric metrics[] = {
    {"a100", "a100", offsetof(struct replay_result, a100), true, true, false},
    {"a130", "a130", offsetof(struct replay_result, a130), true, true, false},
    {"allocation_pct", "allocated", offsetof(struct replay_result, allocation_pct), true, true, true},
    {"first_refusal_pct", "first refusal", offsetof(struct replay_result, first_refusal_pct), true, true, false},
    {"refused_1pp_pct", "1 pp refused", offsetof(struct replay_result, refused_1pp_pct), true, true, false},
    {"refused_pct", "refused", offsetof(struct replay_result, refused_pct), false, true, true},
};

enum { METRIC_N = sizeof(metrics) / sizeof(metrics[0]) };

static bool applies(const struct metric *m, enum replay_mode mode)
{
    return mode == REPLAY_FILL ? m->fill : m->in_use;
}

static double value_at(size_t offset, const struct replay_result *r)
{
    double v;

    memcpy(&v, (const char *)r + offset, sizeof(v));
    return v;
}

/* Over the runs that have it. */
static double mean_at(size_t offset, const struct report_strategy *s)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->run_n; i++) {
        double v = value_at(offset, &s->runs[i]);

        if (!isnan(v)) {
            sum += v;
            n++;
        }
    }
    return n > 0 ? sum / (double)n : REPLAY_NEVER;
}

static double worst_of(const struct metric *m, const struct report_strategy *s)
{
    double worst = REPLAY_NEVER;

    for (size_t i = 0; i < s->run_n; i++) {
        double v = value_at(m->offset, &s->runs[i]);

        if (!isnan(v) && (isnan(worst) || (m->low_is_worse ? v < worst : v > worst))) {
            worst = v;
        }
    }
    return worst;
}

/* ---- JSON ---- */

static void number_value(struct json_writer *w, double v, int digits)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%.*f", digits, v);

    if (isnan(v)) {
        json_write_null(w);
    } else {
        json_write_raw(w, (struct str){text, (size_t)n});
    }
}

static void number(struct json_writer *w, const char *key, double v, int digits)
{
    json_write_key(w, key);
    number_value(w, v, digits);
}

static void count_classes(const struct report_strategy *s, struct replay_count *ret)
{
    memset(ret, 0, TRACE_CLASS__MAX * sizeof(*ret));
    for (size_t i = 0; i < s->run_n; i++) {
        for (int c = 0; c < TRACE_CLASS__MAX; c++) {
            ret[c].arrived_n += s->runs[i].classes[c].arrived_n;
            ret[c].refused_n += s->runs[i].classes[c].refused_n;
            ret[c].arrived_milli += s->runs[i].classes[c].arrived_milli;
            ret[c].refused_milli += s->runs[i].classes[c].refused_milli;
        }
    }
}

static void write_classes(struct json_writer *w, const struct report_strategy *s)
{
    struct replay_count counts[TRACE_CLASS__MAX];

    count_classes(s, counts);
    for (int arrived = 0; arrived < 2; arrived++) {
        json_write_key(w, arrived ? "arrived_by_class" : "refused_by_class");
        json_write_object_begin(w);
        for (int c = 0; c < TRACE_CLASS__MAX; c++) {
            json_write_kv_i64(w, trace_class_name((enum trace_class)c),
                              (int64_t)(arrived ? counts[c].arrived_n : counts[c].refused_n));
        }
        json_write_object_end(w);
    }
    number(w, "refused_multi_pct",
           counts[TRACE_MULTI].arrived_milli > 0
               ? 100.0 * (double)counts[TRACE_MULTI].refused_milli / (double)counts[TRACE_MULTI].arrived_milli
               : REPLAY_NEVER,
           4);
}

static void write_cost(struct json_writer *w, const struct report_strategy *s)
{
    uint64_t decisions = 0;
    double ns = 0;

    for (size_t i = 0; i < s->run_n; i++) {
        decisions += s->runs[i].decision_n;
        ns += s->runs[i].ns_per_decision * (double)s->runs[i].decision_n;
    }
    json_write_kv_i64(w, "decisions", (int64_t)decisions);
    number(w, "ns_per_decision", decisions > 0 ? ns / (double)decisions : REPLAY_NEVER, 0);
}

static void write_run(struct json_writer *w, const struct report *r, const struct report_strategy *s)
{
    for (size_t i = 0; i < METRIC_N; i++) {
        if (applies(&metrics[i], r->mode)) {
            number(w, metrics[i].key, mean_at(metrics[i].offset, s), 4);
        }
    }
    write_classes(w, s);
    write_cost(w, s);
}

/* `offset`: of the array in struct replay_result. */
static void write_curve(struct json_writer *w, const char *key, size_t offset, const struct report_strategy *s)
{
    int last = REPLAY_PCT_MAX;

    while (last >= 0 && isnan(mean_at(offset + (size_t)last * sizeof(double), s))) {
        last--;
    }
    json_write_key(w, key);
    json_write_array_begin(w);
    for (int x = 0; x <= last; x++) {
        number_value(w, mean_at(offset + (size_t)x * sizeof(double), s), 4);
    }
    json_write_array_end(w);
}

static void write_runs(struct json_writer *w, const struct report *r, const struct report_strategy *s)
{
    json_write_key(w, "worst");
    json_write_object_begin(w);
    for (size_t i = 0; i < METRIC_N; i++) {
        if (applies(&metrics[i], r->mode)) {
            number(w, metrics[i].key, worst_of(&metrics[i], s), 4);
        }
    }
    json_write_object_end(w);
    json_write_key(w, "runs");
    json_write_array_begin(w);
    for (size_t i = 0; i < s->run_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "arrivals", r->arrivals[i].label);
        write_run(w, r, &(struct report_strategy){.runs = &s->runs[i], .run_n = 1});
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static const char *mode_name(enum replay_mode m)
{
    static const char *const names[] = {"fill", "steady", "timed"};

    BUG_ON(m >= sizeof(names) / sizeof(names[0]));
    return names[m];
}

void report_json(const struct report *r, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "mode", mode_name(r->mode));
    json_write_key(&w, "strategies");
    json_write_object_begin(&w);
    for (size_t i = 0; i < r->strategy_n; i++) {
        const struct report_strategy *s = &r->strategies[i];

        json_write_key(&w, s->name);
        json_write_object_begin(&w);
        write_run(&w, r, s);
        if (r->curves && r->mode == REPLAY_FILL) {
            write_curve(&w, "allocation_curve", offsetof(struct replay_result, curve), s);
            write_curve(&w, "fragmentation_curve", offsetof(struct replay_result, fragmentation), s);
        }
        if (s->run_n > 1) {
            write_runs(&w, r, s);
        }
        json_write_object_end(&w);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
    strbuf_add_char(out, '\n');
}

/* ---- table ---- */

static void cell(struct strbuf *out, double v)
{
    if (isnan(v)) {
        strbuf_addf(out, "  %13s", "-");
    } else {
        strbuf_addf(out, "  %13.2f", v);
    }
}

static void row(struct strbuf *out, const struct report *r, const struct report_strategy *s, bool worst)
{
    strbuf_addf(out, "%-16s", worst ? "  worst" : s->name);
    for (size_t i = 0; i < METRIC_N; i++) {
        if (applies(&metrics[i], r->mode)) {
            cell(out, worst ? worst_of(&metrics[i], s) : mean_at(metrics[i].offset, s));
        }
    }
    if (!worst) {
        struct replay_count c[TRACE_CLASS__MAX];
        double us = 0;

        count_classes(s, c);
        for (size_t i = 0; i < s->run_n; i++) {
            us += s->runs[i].ns_per_decision / 1000 / (double)s->run_n;
        }
        for (int k = 0; k < TRACE_CLASS__MAX; k++) {
            strbuf_addf(out, "  %8.1f", (double)c[k].refused_n / (double)s->run_n);
        }
        strbuf_addf(out, "  %9.1f", us);
    }
    strbuf_add_char(out, '\n');
}

void report_table(const struct report *r, struct strbuf *out)
{
    strbuf_addf(out, "%-16s", "strategy");
    for (size_t i = 0; i < METRIC_N; i++) {
        if (applies(&metrics[i], r->mode)) {
            strbuf_addf(out, "  %13s", metrics[i].heading);
        }
    }
    strbuf_addf(out, "  %8s  %8s  %8s  %8s  %9s\n", "gpu-less", "shared", "whole", "multi", "us/pod");
    for (size_t i = 0; i < r->strategy_n; i++) {
        row(out, r, &r->strategies[i], false);
        if (r->strategies[i].run_n > 1) {
            row(out, r, &r->strategies[i], true);
        }
    }
    strbuf_add_cstr(out, r->mode == REPLAY_FILL ? "\na100, a130: GPU capacity allocated (%) when "
                                                  "100 and 130 % of it had arrived; first refusal, "
                                                  "1 pp refused:\narrived % by then; refused: % of "
                                                  "the GPU demand; then refused pods by class, "
                                                  "mean over the orders of arrival.\n"
                                                : "\nallocated: GPU capacity (%), mean over time; "
                                                  "refused: % of the GPU demand; then refused pods "
                                                  "by class.\n");
}
