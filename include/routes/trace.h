/* routes/trace.h - GET /v1/trace: what the flight recorder has (extender/store_trace.h), a JSON object in each line.
 *
 * The first line says what it is of, then come the lines of the recorder, the oldest first, then one of type "end"; the
 * contract is config/trace.schema.json, keys are only ever added. Streamed, a few lines at a time under the store's
 * lock; no larger than the memory that the recorder has. A reader that is so slow that lines are overwritten before it
 * gets them is cut off, so that nobody takes half a trace for a whole one. At most TRACE_READERS_MAX at a time, more
 * get 503, as everybody does where nothing is recorded.
 */
#ifndef ROUTES_TRACE_H
#define ROUTES_TRACE_H

#include "base/clock.h"
#include "extender/store.h"
#include "httpd/server.h"

#include <stdatomic.h>

#define TRACE_READERS_MAX 2

/* Must outlive the server. */
struct trace_context {
    struct store *store;
    const struct clock *clock;
    const char *version;
    int64_t started_ms;
    atomic_uint reader_n; /* 0; kept by trace_handle */
};

enum httpd_action trace_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

#endif
