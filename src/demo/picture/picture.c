#include "demo/picture/picture.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MIN 12
#define NAME_COLS_MAX 14
#define MODEL_COLS 8
#define BAR_COLS_MAX 24

/* One line under construction: counts columns, not bytes. */
struct line {
    struct strbuf *out;
    const struct picture_style *style;
    int32_t cols;
};

/* Text of others: what is not printable ASCII shows as '?', and the line never gets wider than the
 * screen. */
static void add(struct line *l, const char *text)
{
    for (; *text && l->cols < l->style->cols; text++, l->cols++) {
        strbuf_add_char(l->out, *text >= 0x20 && *text < 0x7f ? *text : '?');
    }
}

static void addf(struct line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void addf(struct line *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    add(l, text);
}

static void color(struct line *l, const char *code)
{
    if (l->style->color) {
        strbuf_addf(l->out, "\033[%sm", code);
    }
}

static struct line line_begin(struct strbuf *out, const struct picture_style *style)
{
    return (struct line){.out = out, .style = style};
}

static void line_end(struct line *l)
{
    strbuf_add_char(l->out, '\n');
}

static int64_t permille(int64_t part, int64_t whole)
{
    return whole > 0 ? (part * 1000 + whole / 2) / whole : 0;
}

static void duration(char *buf, size_t size, int64_t us)
{
    if (us < 1000) {
        snprintf(buf, size, "%" PRId64 " us", us);
    } else if (us < 100000) {
        snprintf(buf, size, "%" PRId64 ".%" PRId64 " ms", us / 1000, us % 1000 / 100);
    } else {
        snprintf(buf, size, "%" PRId64 " ms", us / 1000);
    }
}

/* "NVIDIA-A100-SXM4-80GB" with 81920 MiB is "A100 80G". */
static void model_text(const struct checker_device *d, char *buf, size_t size)
{
    static const char *const vendors[] = {"NVIDIA-", "Tesla-"};
    const char *model = d->model;
    for (size_t i = 0; i < ARRAY_LEN(vendors); i++) {
        if (strncmp(model, vendors[i], strlen(vendors[i])) == 0) {
            model += strlen(vendors[i]);
        }
    }
    snprintf(buf, size, "%.*s %" PRId64 "G", (int)(strcspn(model, "-") < 4 ? strcspn(model, "-") : 4), model,
             (d->mem_mib + 512) / 1024);
}

/* Cells of `width` that stand for part of whole: none only for nothing, all only for everything. */
static int32_t cells(int64_t part, int64_t whole, int32_t width)
{
    if (part <= 0 || whole <= 0) {
        return 0;
    }
    if (part >= whole) {
        return width;
    }
    int32_t n = (int32_t)((part * width + whole / 2) / whole);
    return n < 1 ? 1 : n >= width ? width - 1 : n;
}

static void add_cell(struct line *l, const char *utf8, char ascii)
{
    if (l->style->utf8) {
        strbuf_add_cstr(l->out, utf8);
    } else {
        strbuf_add_char(l->out, ascii);
    }
    l->cols++;
}

static void add_bar(struct line *l, const struct checker_device *d, int32_t width)
{
    bool over = d->milli_used > d->milli || d->mem_used_mib > d->mem_mib || d->sharer_n > d->slot_n;
    int32_t compute = cells(d->milli_used, d->milli, width), mem = cells(d->mem_used_mib, d->mem_mib, width);
    color(l, over ? "31" : !d->healthy ? "90" : compute == width ? "32" : "36");
    for (int32_t i = 0; i < width; i++) {
        if (over) {
            add_cell(l, "!", '!');
        } else if (!d->healthy) {
            add_cell(l, "x", 'x');
        } else if (i < compute && i < mem) {
            add_cell(l, "\u2588", '#');
        } else if (i < compute) {
            add_cell(l, "\u2580", '"');
        } else if (i < mem) {
            add_cell(l, "\u2584", '_');
        } else {
            add_cell(l, "\u00b7", '.');
        }
    }
    color(l, "0");
}

static int32_t name_cols(const struct checker_report *r, size_t n)
{
    size_t cols = 4;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(r->nodes[i].name);
        cols = len > cols ? len : cols;
    }
    return cols > NAME_COLS_MAX ? NAME_COLS_MAX : (int32_t)cols;
}

static int32_t bar_cols(const struct checker_report *r, size_t n, int32_t left)
{
    size_t devices = 1;
    for (size_t i = 0; i < n; i++) {
        size_t bars = 0;
        for (size_t d = 0; d < r->nodes[i].device_n; d++) {
            bars += !r->nodes[i].devices[d].cut;
        }
        devices = bars > devices ? bars : devices;
    }
    int32_t width = left / (int32_t)devices - 1;
    return width > BAR_COLS_MAX ? BAR_COLS_MAX : width < 1 ? 1 : width;
}

static void add_nodes(const struct picture_view *v, const struct picture_style *style, int32_t rows, struct strbuf *out)
{
    const struct checker_report *r = v->report;
    size_t shown = r->node_n;
    if (shown > (size_t)rows) {
        shown = (size_t)(rows > 1 ? rows - 1 : 0);
    }
    int32_t names = name_cols(r, shown);
    int32_t width = bar_cols(r, shown, style->cols - names - MODEL_COLS - 1);
    for (size_t i = 0; i < shown; i++) {
        const struct checker_node *n = &r->nodes[i];
        struct line l = line_begin(out, style);
        char model[32] = "";
        if (n->device_n > 0) {
            model_text(&n->devices[0], model, sizeof(model));
        }
        addf(&l, "%-*.*s %-*.*s", names, names, n->name, MODEL_COLS, MODEL_COLS, model);
        for (size_t d = 0; d < n->device_n && l.cols + 1 + width <= style->cols; d++) {
            if (!n->devices[d].cut) {
                add(&l, " ");
                add_bar(&l, &n->devices[d], width);
            }
        }
        if (n->unpicked > 0) { /* which GPUs these are, nobody but kubelet knows */
            addf(&l, " %" PRId64 " of %" PRId64 " handed out by kubelet", n->unpicked, n->unpicked_of);
        }
        line_end(&l);
    }
    if (shown < r->node_n) {
        struct line l = line_begin(out, style);
        addf(&l, "... and %zu more nodes", r->node_n - shown);
        line_end(&l);
    }
}

static void add_head(const struct picture_view *v, const struct picture_style *style, struct strbuf *out)
{
    struct line l = line_begin(out, style);
    int64_t s = v->elapsed_ms / 1000, of = v->for_ms / 1000;
    color(&l, "1");
    addf(&l, "fgpu demo");
    color(&l, "0");
    addf(&l, "  %02" PRId64 ":%02" PRId64, s / 60, s % 60);
    if (of > 0) {
        addf(&l, " of %02" PRId64 ":%02" PRId64, of / 60, of % 60);
    }
    addf(&l, "  %zu nodes, %zu GPUs   ", v->report->node_n, v->report->device_n);
    if (style->cols - l.cols >= 27) {
        add_cell(&l, "\u2580", '"');
        add(&l, " compute ");
        add_cell(&l, "\u2584", '_');
        add(&l, " memory ");
        add_cell(&l, "\u2588", '#');
        add(&l, " both");
    }
    line_end(&l);
}

/* `text` in lines of whole words, at most `max` of them, and then empty lines up to `max`. */
static void add_text(const char *text, const char *code, int32_t max, const struct picture_style *style,
                     struct strbuf *out)
{
    for (int32_t i = 0; i < max; i++) {
        struct line l = line_begin(out, style);
        size_t n = strlen(text), cols = (size_t)style->cols;

        if (n > cols) {
            for (n = cols; n > 0 && text[n] != ' '; n--) {
            }
            n = n > 0 ? n : cols;
        }
        color(&l, code);
        addf(&l, "%.*s", (int)n, text);
        color(&l, "0");
        line_end(&l);
        text += n;
        text += strspn(text, " ");
    }
}

#define CAPTION_ROWS 5 /* three of what is said, one of what came true, one blank */

static void add_caption(const struct picture_view *v, const struct picture_style *style, struct strbuf *out)
{
    add_text(v->said, "1", CAPTION_ROWS - 2, style, out);
    add_text(v->held, "32", 1, style, out);
    strbuf_add_char(out, '\n');
}

static void add_decision(const struct decision *d, const struct picture_style *style, struct strbuf *out)
{
    static const char *const words[] = {"bound", "refused", "failed"};
    static const char *const colors[] = {"32", "33", "31"};
    struct line l = line_begin(out, style);
    char took[24];
    duration(took, sizeof(took), d->us);
    color(&l, colors[d->kind]);
    addf(&l, "%-8s", words[d->kind]);
    color(&l, "0");
    addf(&l, "%-14.14s %-15.15s ", d->pod, d->gpu_request);
    if (d->kind == DECISION_BOUND) {
        addf(&l, "%s %s, %s", d->node, d->devices, took);
    } else {
        addf(&l, "%s", d->reason);
    }
    line_end(&l);
}

static void add_percent(struct line *l, const char *name, int64_t part, int64_t whole)
{
    int64_t p = permille(part, whole);
    addf(l, "%s %" PRId64 ".%" PRId64 " %%", name, p / 10, p % 10);
}

static void add_totals(const struct picture_view *v, const struct picture_style *style, struct strbuf *out)
{
    const struct checker_report *r = v->report;
    const struct player_stats *s = v->stats;
    char p50[24], p99[24];
    struct line l = line_begin(out, style);
    add_percent(&l, "compute", r->milli_used, r->milli_capacity);
    add_percent(&l, ", memory", r->mem_used_mib, r->mem_capacity_mib);
    addf(&l, "; %u bound, %u pending (%u refused)", r->bound_n, r->pending_n, s->refused_now);
    addf(&l, "; %" PRId64 ".%" PRId64 " binds/s", v->binds_per_s_milli / 1000, v->binds_per_s_milli % 1000 / 100);
    line_end(&l);

    l = line_begin(out, style);
    color(&l, v->violation_n ? "31" : "32");
    addf(&l, "%" PRIu64 " invariant violations", v->violation_n);
    color(&l, "0");
    duration(p50, sizeof(p50), latency_quantile_us(&s->filter, 500));
    duration(p99, sizeof(p99), latency_quantile_us(&s->filter, 990));
    addf(&l, "; filter p50 %s, p99 %s", p50, p99);
    duration(p50, sizeof(p50), latency_quantile_us(&s->bind, 500));
    duration(p99, sizeof(p99), latency_quantile_us(&s->bind, 990));
    addf(&l, "; bind p50 %s, p99 %s", p50, p99);
    line_end(&l);
}

void picture_render(const struct picture_view *v, const struct picture_style *style, struct strbuf *out)
{
    /* head, blank, nodes, blank, decisions, blank, two of totals, and the line of the cursor */
    int32_t rows = (style->rows > ROWS_MIN ? style->rows : ROWS_MIN) - 7;
    bool scenario = v->said != NULL && rows > CAPTION_ROWS + 4;
    int32_t nodes = v->report->node_n < 10000 ? (int32_t)v->report->node_n : 10000;
    rows -= scenario ? CAPTION_ROWS : 0;
    nodes = nodes > rows - 3 ? rows - 3 : nodes; /* three decisions at least */
    add_head(v, style, out);
    strbuf_add_char(out, '\n');
    if (scenario) {
        add_caption(v, style, out);
    }
    add_nodes(v, style, nodes, out);
    strbuf_add_char(out, '\n');
    int32_t decisions = rows - nodes;
    for (int32_t i = 0; i < decisions; i++) {
        if ((size_t)i < v->stats->decision_n) {
            add_decision(&v->stats->decisions[i], style, out);
        } else {
            strbuf_add_char(out, '\n'); /* the totals stay where they are */
        }
    }
    strbuf_add_char(out, '\n');
    add_totals(v, style, out);
}

void picture_line(const struct picture_view *v, struct strbuf *out)
{
    const struct checker_report *r = v->report;
    const struct player_stats *s = v->stats;
    int64_t compute = permille(r->milli_used, r->milli_capacity);
    int64_t mem = permille(r->mem_used_mib, r->mem_capacity_mib);
    strbuf_addf(out, "%" PRId64 " s: compute %" PRId64 ".%" PRId64 " %%, memory %" PRId64 ".%" PRId64 " %%, ",
                v->elapsed_ms / 1000, compute / 10, compute % 10, mem / 10, mem % 10);
    strbuf_addf(out, "%u pods bound, %u pending (%u refused), %" PRId64 ".%" PRId64 " binds/s, ", r->bound_n,
                r->pending_n, s->refused_now, v->binds_per_s_milli / 1000, v->binds_per_s_milli % 1000 / 100);
    strbuf_addf(out, "filter p50 %" PRId64 " us p99 %" PRId64 " us, %" PRIu64 " invariant violations\n",
                latency_quantile_us(&s->filter, 500), latency_quantile_us(&s->filter, 990), v->violation_n);
}

static void add_calls(struct strbuf *out, const char *name, const struct latency *l)
{
    char p50[24], p99[24];
    duration(p50, sizeof(p50), latency_quantile_us(l, 500));
    duration(p99, sizeof(p99), latency_quantile_us(l, 990));
    strbuf_addf(out, "%-12s  %-9s  %-9s  %" PRIu64 "\n", name, p50, p99, l->n);
}

static void add_share(struct strbuf *out, const char *name, int64_t mean, int64_t last)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64 ".%" PRId64 " %%", mean / 10, mean % 10);
    strbuf_addf(out, "%-12s  %-9s  %" PRId64 ".%" PRId64 " %%\n", name, text, last / 10, last % 10);
}

void picture_summary(const struct picture_result *r, struct strbuf *out)
{
    const struct player_stats *s = &r->stats;
    const struct checker_report *last = &r->last;
    strbuf_addf(out, "fgpu demo: %" PRId64 " s, %zu nodes, %zu GPUs\n\n", r->elapsed_ms / 1000, last->node_n,
                last->device_n);
    strbuf_addf(out,
                "PODS          %" PRIu64 " bound; %" PRIu64 " created, %" PRIu64 " finished, %" PRIu64
                " gave up waiting\n",
                s->bound, s->created, s->finished, s->gave_up);
    strbuf_addf(out, "NOW           %u bound, %u pending, %u refused\n", last->bound_n, last->pending_n,
                s->refused_now);
    strbuf_addf(out, "FAILED CALLS  %" PRIu64 ", of which %" PRIu64 " broke the protocol\n", s->failures,
                s->protocol_errors);
    if (s->failures) {
        strbuf_addf(out, "              last: %s\n", s->last_failure);
    }
    strbuf_add_cstr(out, "\nCALL          P50        P99        CALLS\n");
    add_calls(out, "filter", &s->filter);
    add_calls(out, "refusal", &s->refusal);
    add_calls(out, "prioritize", &s->prioritize);
    add_calls(out, "bind", &s->bind);
    strbuf_add_cstr(out, "\nHANDED OUT    MEAN       AT THE END\n");
    add_share(out, "compute", r->milli_mean_permille, permille(last->milli_used, last->milli_capacity));
    add_share(out, "memory", r->mem_mean_permille, permille(last->mem_used_mib, last->mem_capacity_mib));
    strbuf_addf(out, "largest hole  %" PRId64 " milli, %" PRId64 " MiB; %u of %zu GPUs empty\n",
                last->largest_hole_milli, last->largest_hole_mib, last->empty_device_n, last->device_n);
    strbuf_addf(out, "\n%" PRIu64 " over-commits in %" PRIu64 " looks at the API server's objects\n", r->overcommit_n,
                r->check_n);
    if (r->violation_n) {
        strbuf_addf(out, "first violation: %s\n", r->first_violation);
    }
    strbuf_addf(out, "%" PRIu64 " invariant violations\n", r->violation_n);
}

void picture_result_fini(struct picture_result *r)
{
    checker_report_fini(&r->last);
}
