/* sim/svg_internal.h - a plain chart: two axes, lines or bars, a legend. Colours are classes of a
 * style sheet with a light and a dark half; lines differ in their dashes, too. */
#ifndef SIM_SVG_INTERNAL_H
#define SIM_SVG_INTERNAL_H

#include "base/strbuf.h"

struct svg_axis {
    double from, to;
    const char *label; /* NULL: none; an x axis without one has no numbers either */
};

struct svg {
    struct strbuf *out;
    const char *title;
    struct svg_axis x, y;
    unsigned legend_n; /* entries so far */
};

void svg_begin(struct svg *s); /* frame, grid, numbers */
void svg_line_begin(struct svg *s, unsigned series);
void svg_line_to(struct svg *s, double x, double y);
void svg_line_end(struct svg *s);
void svg_bar(struct svg *s, unsigned series, double x, double width, double y);
void svg_x_name(struct svg *s, double x, const char *text); /* below the axis */
void svg_legend(struct svg *s, unsigned series, const char *name);
void svg_end(struct svg *s);

#endif
