/* routes/whatif.h - POST /v1/whatif: how many pods of a kind would fit now (extender/whatif.h). The contract is
 * config/whatif.schema.json; keys of the answer are only ever added.
 *
 *     {"limits": {"fgpu.io/gpu-milli": "500"}, "annotations": {}, "namespace": "default", "count": 10}
 *
 * It is a POST for its body; nothing is changed by it. All of it may be left out but what asks for GPUs: the namespace
 * is "default" then, the count 1. Values are strings, as a pod has them, or whole numbers. What cannot be read is
 * answered with 400; a request that a pod could make and that is refused is an answer with `outcome`. At most
 * WHATIF_READERS_MAX at a time, more get 503: each judges every node once.
 */
#ifndef ROUTES_WHATIF_H
#define ROUTES_WHATIF_H

#include "base/clock.h"
#include "extender/policy_set.h"
#include "extender/whatif.h"
#include "httpd/server.h"

#include <stdatomic.h>

#define WHATIF_API_VERSION "whatif.fgpu.io/v1alpha1"
#define WHATIF_READERS_MAX 2
#define WHATIF_BODY_MAX ((size_t)64 << 10)
#define WHATIF_KEYS_MAX 64 /* limits, and annotations */
#define WHATIF_VALUE_MAX 4096

/* Must outlive the server. */
struct whatif_context {
    struct policy_set *policies;
    const struct clock *clock;
    atomic_uint reader_n; /* 0; kept by whatif_handle */
};

enum httpd_action whatif_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* The body; text is borrowed from it, or in `a`. ERR_PARSE: no JSON, or of another form; ERR_INVALID names what is
 * wrong with a value; ERR_LIMIT: the arena is full. */
WARN_UNUSED int whatif_read(struct str body, struct arena *a, struct whatif_question *ret, struct err *reterr);

#endif
