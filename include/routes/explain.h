/* routes/explain.h - GET /v1/explain?pod=NAMESPACE/NAME: why a pod waits, or why it is where it is
 * (extender/explain.h). The contract is config/explain.schema.json; keys are only ever added.
 *
 * `nodes=N` (1 to EXPLAIN_NODES_MAX) bounds the list of nodes; reasons are counted over all. However large the cluster,
 * so is the answer. At most EXPLAIN_READERS_MAX at a time, more get 503: each judges every node once.
 */
#ifndef ROUTES_EXPLAIN_H
#define ROUTES_EXPLAIN_H

#include "base/clock.h"
#include "extender/policy_set.h"
#include "httpd/server.h"

#include <stdatomic.h>

#define EXPLAIN_API_VERSION "explain.fgpu.io/v1alpha1"
#define EXPLAIN_READERS_MAX 2

/* Must outlive the server. */
struct explain_context {
    struct policy_set *policies;
    const struct clock *clock;
    atomic_uint reader_n; /* 0; kept by explain_handle */
};

enum httpd_action explain_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

#endif
