/* cmd/rightsize_show.h - the answer of fgpu rightsize, as a table and as JSON. */
#ifndef CMD_RIGHTSIZE_SHOW_H
#define CMD_RIGHTSIZE_SHOW_H

#include "base/strbuf.h"
#include "sim/rightsize.h"

struct rightsize_view {
    const struct rightsize *read;
    const struct rightsize_workload *workloads;
    size_t n;
    bool complete; /* all sources were read */
    int64_t margin_percent, least_seconds;
};

void rightsize_table(const struct rightsize_view *v, struct strbuf *out);
void rightsize_json(const struct rightsize_view *v, struct strbuf *out);

#endif
