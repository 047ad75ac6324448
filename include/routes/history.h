/* routes/history.h - GET /v1/history: how full and how fragmented the cluster was, and how many pods waited, since this
 * process has read it (core/report/history.h). The contract is config/history.schema.json; keys are only ever added.
 * At most HISTORY_SAMPLES_MAX samples: 100 KB.
 */
#ifndef ROUTES_HISTORY_H
#define ROUTES_HISTORY_H

#include "base/clock.h"
#include "extender/history_keeper.h"
#include "httpd/server.h"

#define HISTORY_API_VERSION "history.fgpu.io/v1alpha1"

/* Must outlive the server. */
struct history_context {
    struct history_keeper *keeper; /* NULL: 404 */
    struct store *store;
    const struct clock *clock;
};

enum httpd_action history_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

#endif
