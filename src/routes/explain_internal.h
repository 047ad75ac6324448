/* routes/explain_internal.h - parts of an explanation, for whatif.c. */
#ifndef ROUTES_EXPLAIN_INTERNAL_H
#define ROUTES_EXPLAIN_INTERNAL_H

#include "base/json_write.h"
#include "extender/explain.h"
#include "routes/explain.h"

/* "nearest" */
void explain_write_nearest(struct json_writer *w, const struct explanation *e);
/* "asWritten" and "sizes", of EXPLAIN_INVALID */
void explain_write_invalid(struct json_writer *w, const struct explanation *e);

#endif
