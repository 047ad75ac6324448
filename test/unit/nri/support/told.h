/* support/told.h - a handler that writes what it is told as text, and answers what the test says. */
#ifndef UNIT_NRI_SUPPORT_TOLD_H
#define UNIT_NRI_SUPPORT_TOLD_H

#include "base/strbuf.h"
#include "nri/plugin.h"

struct told {
    struct strbuf text; /* "create pod/container; " */
    struct nri_handler handler;
    struct nri_adjustment add; /* to each container */
    const char *refuse;        /* NULL: nothing is refused */
    enum err_code refuse_code;
};

void told_init(struct told *t);
void told_fini(struct told *t);

#endif
