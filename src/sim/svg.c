#include "sim/svg_internal.h"

#include <math.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 56, TOP = 44, RIGHT = 610, BOTTOM = 368, LEGEND = 626, LEGEND_STEP = 22 };

/* Colours that people with the common forms of colour blindness tell apart (after Okabe and Ito,
 * 2002), the light half darkened and the dark half lightened until they read on the page. */
static const struct {
    const char *light, *dark, *dashes;
} styles[] = {
    {"#0066a6", "#5bb5f0", "none"}, {"#c84b00", "#ff8f4d", "none"}, {"#00795a", "#2fd3a5", "none"},
    {"#a8447f", "#ec97c6", "none"}, {"#8a6d00", "#f0d03c", "none"}, {"#444444", "#cccccc", "none"},
    {"#0066a6", "#5bb5f0", "7 4"},  {"#c84b00", "#ff8f4d", "7 4"},  {"#00795a", "#2fd3a5", "7 4"},
    {"#a8447f", "#ec97c6", "7 4"},  {"#8a6d00", "#f0d03c", "7 4"},  {"#444444", "#cccccc", "7 4"},
};

enum { STYLE_N = sizeof(styles) / sizeof(styles[0]) };

static double at_x(const struct svg *s, double x)
{
    return LEFT + (x - s->x.from) / (s->x.to - s->x.from) * (RIGHT - LEFT);
}

static double at_y(const struct svg *s, double y)
{
    return BOTTOM - (y - s->y.from) / (s->y.to - s->y.from) * (BOTTOM - TOP);
}

static void write_styles(struct strbuf *out)
{
    strbuf_add_cstr(out, "<style>text{font:13px sans-serif;fill:#24292f}.title{font-size:15px}"
                         ".end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:#d0d7de}"
                         "path{fill:none;stroke-width:2}");
    for (unsigned i = 0; i < STYLE_N; i++) {
        strbuf_addf(out, "path.s%u{stroke:%s;stroke-dasharray:%s}rect.s%u{fill:%s}", i, styles[i].light,
                    styles[i].dashes, i, styles[i].light);
    }
    strbuf_add_cstr(out, "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.grid{stroke:#3d444d}");
    for (unsigned i = 0; i < STYLE_N; i++) {
        strbuf_addf(out, "path.s%u{stroke:%s}rect.s%u{fill:%s}", i, styles[i].dark, i, styles[i].dark);
    }
    strbuf_add_cstr(out, "}</style>\n");
}

/* 1, 2 or 5 times a power of ten, so that there are at most eight steps. */
static double step_of(const struct svg_axis *a)
{
    double step = pow(10, floor(log10((a->to - a->from) / 8)));

    while ((a->to - a->from) / step > 8) {
        step *= (a->to - a->from) / (step * 2) <= 8 ? 2 : (a->to - a->from) / (step * 5) <= 8 ? 5 : 10;
    }
    return step;
}

static void number(struct strbuf *out, double x, double y, const char *class, double v)
{
    strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%.6g</text>\n", x, y, class, v);
}

/* How many multiples of `step` there are from *ret_first on. */
static int steps_of(const struct svg_axis *a, double step, double *ret_first)
{
    *ret_first = ceil(a->from / step) * step;
    return (int)floor((a->to - *ret_first) / step + 0.001) + 1;
}

static void grid(struct svg *s)
{
    double step = step_of(&s->y), first;
    int n = steps_of(&s->y, step, &first);

    for (int i = 0; i < n; i++) {
        double v = first + i * step, y = at_y(s, v);

        strbuf_addf(s->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, RIGHT, y, y);
        number(s->out, LEFT - 6, y + 4, "end", v);
    }
    if (s->x.label == NULL) {
        return;
    }
    step = step_of(&s->x);
    n = steps_of(&s->x, step, &first);
    for (int i = 0; i < n; i++) {
        double v = first + i * step, x = at_x(s, v);

        strbuf_addf(s->out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, TOP, BOTTOM);
        number(s->out, x, BOTTOM + 18, "mid", v);
    }
}

void svg_begin(struct svg *s)
{
    s->legend_n = 0;
    strbuf_addf(s->out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" "
                "role=\"img\" aria-label=\"%s\">\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT, s->title);
    write_styles(s->out);
    strbuf_addf(s->out, "<text class=\"title\" x=\"%d\" y=\"24\">%s</text>\n", LEFT, s->title);
    grid(s);
    if (s->x.label != NULL) {
        strbuf_addf(s->out, "<text class=\"mid\" x=\"%d\" y=\"%d\">%s</text>\n", (LEFT + RIGHT) / 2, HEIGHT - 12,
                    s->x.label);
    }
}

void svg_line_begin(struct svg *s, unsigned series)
{
    strbuf_addf(s->out, "<path class=\"s%u\" d=\"M", series % STYLE_N);
}

void svg_line_to(struct svg *s, double x, double y)
{
    strbuf_addf(s->out, "%.1f %.1f ", at_x(s, x), at_y(s, y));
}

void svg_line_end(struct svg *s)
{
    strbuf_add_cstr(s->out, "\"/>\n");
}

void svg_bar(struct svg *s, unsigned series, double x, double width, double y)
{
    strbuf_addf(s->out, "<rect class=\"s%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                series % STYLE_N, at_x(s, x), at_y(s, y), at_x(s, x + width) - at_x(s, x), BOTTOM - at_y(s, y));
}

void svg_x_name(struct svg *s, double x, const char *text)
{
    strbuf_addf(s->out, "<text class=\"mid\" x=\"%.1f\" y=\"%d\">%s</text>\n", at_x(s, x), BOTTOM + 18, text);
}

void svg_legend(struct svg *s, unsigned series, const char *name)
{
    unsigned y = TOP + 10 + LEGEND_STEP * s->legend_n++;

    strbuf_addf(s->out, "<path class=\"s%u\" d=\"M%d %u h22\"/><text x=\"%d\" y=\"%u\">%s</text>\n", series % STYLE_N,
                LEGEND, y, LEGEND + 28, y + 4, name);
}

void svg_end(struct svg *s)
{
    strbuf_add_cstr(s->out, "</svg>\n");
}
