/* kube/transport_call_internal.h - a short call on its way through the queue. */
#ifndef KUBE_TRANSPORT_CALL_INTERNAL_H
#define KUBE_TRANSPORT_CALL_INTERNAL_H

#include "transport_internal.h"

#include <sys/queue.h>

struct call {
    STAILQ_ENTRY(call) link;
    char *method, *path, *content_type; /* content_type may be NULL */
    char **headers;                     /* ends with NULL */
    char *body;
    size_t body_n;
    const char *verb, *resource;
    size_t response_max;
    int64_t submitted_ns, deadline_ns;
    bool writes;     /* it would change something, so may_write is asked */
    bool sent_again; /* after a 401, with other credentials */
    kube_done_fn *done;
    void *ctx;
};

STAILQ_HEAD(call_list, call);

struct call *call_new(const struct kube_request *r, int64_t now_ns, kube_done_fn *done, void *ctx);
void call_free(struct call *call); /* wipes the body */

#endif
