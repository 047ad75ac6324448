#include "sim/plot.h"

#include "sim/svg_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PLOT_BYTES_MAX (16 * 1024 * 1024)
#define PATH_BYTES_MAX 4096
#define ZOOM_FROM_PCT 80 /* before it, everything that arrives is allocated by everybody */

/* Mean over the runs that have a record there. */
static double curve_at(const struct report_strategy *s, bool fragmentation, int percent)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->run_n; i++) {
        double v = fragmentation ? s->runs[i].fragmentation[percent] : s->runs[i].curve[percent];

        if (!isnan(v)) {
            sum += v;
            n++;
        }
    }
    return n > 0 ? sum / (double)n : REPLAY_NEVER;
}

static int last_percent(const struct report *r)
{
    for (int x = REPLAY_PCT_MAX; x > 0; x--) {
        for (size_t i = 0; i < r->strategy_n; i++) {
            if (!isnan(curve_at(&r->strategies[i], false, x))) {
                return x;
            }
        }
    }
    return 1;
}

static struct svg_axis range_of(const struct report *r, int from, int to)
{
    struct svg_axis y = {.from = 1e9, .to = -1e9};

    for (size_t i = 0; i < r->strategy_n; i++) {
        for (int x = from; x <= to; x++) {
            double v = curve_at(&r->strategies[i], false, x);

            y.from = v < y.from ? v : y.from; /* false for REPLAY_NEVER */
            y.to = v > y.to ? v : y.to;
        }
    }
    if (!(y.from < y.to)) {
        return (struct svg_axis){.from = 0, .to = 100};
    }
    return (struct svg_axis){.from = floor(y.from), .to = ceil(y.to)};
}

static void draw_curves(const struct report *r, bool fragmentation, struct strbuf *out)
{
    int last = last_percent(r), first = fragmentation || last <= ZOOM_FROM_PCT ? 0 : ZOOM_FROM_PCT;
    struct svg svg = {
        .out = out,
        .title = fragmentation ? "Idle GPU compute that expected pods cannot use (%)"
                               : "GPU compute allocated (% of capacity)",
        .x = {.from = first, .to = last, .label = "GPU compute asked for so far (% of capacity)"},
    };

    svg.y = fragmentation ? (struct svg_axis){.from = 0, .to = 100} : range_of(r, first, last);
    svg_begin(&svg);
    for (size_t i = 0; i < r->strategy_n; i++) {
        svg_line_begin(&svg, (unsigned)i);
        for (int x = first; x <= last; x++) {
            double v = curve_at(&r->strategies[i], fragmentation, x);

            if (!isnan(v)) {
                svg_line_to(&svg, x, v);
            }
        }
        svg_line_end(&svg);
        svg_legend(&svg, (unsigned)i, r->strategies[i].name);
    }
    svg_end(&svg);
}

/* Percent of the pods of one class that were refused. */
static double refused_share(const struct report_strategy *s, int class)
{
    uint64_t arrived = 0, refused = 0;

    for (size_t i = 0; i < s->run_n; i++) {
        arrived += s->runs[i].classes[class].arrived_n;
        refused += s->runs[i].classes[class].refused_n;
    }
    return arrived > 0 ? 100.0 * (double)refused / (double)arrived : 0;
}

static void draw_refusals(const struct report *r, struct strbuf *out)
{
    static const char *const names[TRACE_CLASS__MAX] = {"no GPU", "part of a GPU", "one GPU", "several GPUs"};
    struct svg svg = {.out = out,
                      .title = "Pods refused (% of those that arrived)",
                      .x = {.from = 0, .to = TRACE_CLASS__MAX},
                      .y = {.from = 0, .to = 1}};
    double width = 0.8 / (double)r->strategy_n;

    for (size_t i = 0; i < r->strategy_n; i++) {
        for (int c = 0; c < TRACE_CLASS__MAX; c++) {
            double v = refused_share(&r->strategies[i], c);

            svg.y.to = v > svg.y.to ? ceil(v) : svg.y.to;
        }
    }
    svg_begin(&svg);
    for (int c = 0; c < TRACE_CLASS__MAX; c++) {
        svg_x_name(&svg, c + 0.5, names[c]);
        for (size_t i = 0; i < r->strategy_n; i++) {
            svg_bar(&svg, (unsigned)i, c + 0.1 + width * (double)i, width * 0.9, refused_share(&r->strategies[i], c));
        }
    }
    for (size_t i = 0; i < r->strategy_n; i++) {
        svg_legend(&svg, (unsigned)i, r->strategies[i].name);
    }
    svg_end(&svg);
}

static int write_file(const char *folder, const char *name, const struct strbuf *text, struct err *reterr)
{
    char path[PATH_BYTES_MAX];
    FILE *f;
    bool ok;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        return err_set(reterr, ERR_LIMIT, "%s: the path is too long", folder);
    }
    f = fopen(path, "we");
    ok = f != NULL && fwrite(text->p, 1, text->n, f) == text->n;
    ok = f != NULL && fclose(f) == 0 && ok;
    return ok ? 0 : err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

int plot_write(const struct report *r, const char *folder, struct err *reterr)
{
    struct strbuf out;
    int e = 0;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return err_set(reterr, ERR_INTERNAL, "%s: %s", folder, strerror(errno));
    }
    strbuf_init(&out, PLOT_BYTES_MAX);
    for (int fragmentation = 0; fragmentation < 2 && r->mode == REPLAY_FILL && e == 0; fragmentation++) {
        draw_curves(r, fragmentation == 1, &out);
        e = write_file(folder, fragmentation == 1 ? "fragmentation.svg" : "allocation.svg", &out, reterr);
        strbuf_reset(&out);
    }
    if (e == 0) {
        draw_refusals(r, &out);
        e = write_file(folder, "refusals.svg", &out, reterr);
    }
    strbuf_fini(&out);
    return e;
}
