/* cmd/whatif_show.h - a dry run as people and programs read it. */
#ifndef CMD_WHATIF_SHOW_H
#define CMD_WHATIF_SHOW_H

#include "base/strbuf.h"
#include "sim/whatif.h"

struct whatif_shown {
    const struct whatif *result;
    int64_t at_ms;                   /* the moment for which time windows count */
    const struct config *configs[2]; /* before, after */
};

void whatif_show_json(const struct whatif_shown *s, struct strbuf *out);
void whatif_show_table(const struct whatif_shown *s, struct strbuf *out);

#endif
