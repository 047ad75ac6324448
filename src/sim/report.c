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

/* ---- which differences may be chance ---- */

/* Student's t, two-sided 95 %, for 1, 2 ... degrees of freedom; beyond, the last: a little too careful. */
static const double student_t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};

enum { STUDENT_N = sizeof(student_t) / sizeof(student_t[0]) };

struct difference {
    double mean, margin; /* between mean - margin and mean + margin, as far as chance can be told from few runs */
};

/* Both saw the same pods in each run, so the difference is taken run by run. */
static struct difference refused_more(const struct report_strategy *s, const struct report_strategy *least)
{
    struct difference ret = {0, 0};
    double n = (double)s->run_n, squares = 0;

    for (size_t i = 0; i < s->run_n; i++) {
        ret.mean += (s->runs[i].refused_pct - least->runs[i].refused_pct) / n;
    }
    for (size_t i = 0; i < s->run_n; i++) {
        double d = s->runs[i].refused_pct - least->runs[i].refused_pct - ret.mean;

        squares += d * d;
    }
    if (s->run_n > 1) {
        size_t freedom = s->run_n - 1;

        ret.margin = student_t[freedom > STUDENT_N ? STUDENT_N - 1 : freedom - 1] * sqrt(squares / (n - 1) / n);
    }
    return ret;
}

static const struct report_strategy *refuses_least(const struct report *r)
{
    const struct report_strategy *ret = &r->strategies[0];

    for (size_t i = 1; i < r->strategy_n; i++) {
        if (mean_at(offsetof(struct replay_result, refused_pct), &r->strategies[i]) <
            mean_at(offsetof(struct replay_result, refused_pct), ret)) {
            ret = &r->strategies[i];
        }
    }
    return ret;
}

static const char *judged(const struct difference *d)
{
    if (d->mean == 0 && d->margin == 0) {
        return "  the same";
    }
    return d->mean > d->margin ? "" : "  may be chance";
}

static void compare(const struct report *r, struct strbuf *out)
{
    const struct report_strategy *least = refuses_least(r);

    if (least->run_n == 1) {
        strbuf_add_cstr(
            out, "\nThis was one run. Other pods can turn the order round: several seeds, as --seed 1,2,3,4,5,6,7,8,\n"
                 "or several files of --arrivals show which differences may be chance.\n");
        return;
    }
    strbuf_addf(out,
                "\n%s refuses least. How many points more the others refuse, run by run, and ± how many chance "
                "explains (95 %%):\n",
                least->name);
    for (size_t i = 0; i < r->strategy_n; i++) {
        if (&r->strategies[i] != least) {
            struct difference d = refused_more(&r->strategies[i], least);

            strbuf_addf(out, "  %-14s  %+8.2f ± %.2f%s\n", r->strategies[i].name, d.mean, d.margin, judged(&d));
        }
    }
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
    if (r->strategy_n > 1) {
        compare(r, out);
    }
}
