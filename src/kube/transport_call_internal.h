/* kube/transport_call_internal.h - a short call on its way through the queue, and lists of them. */
#ifndef KUBE_TRANSPORT_CALL_INTERNAL_H
#define KUBE_TRANSPORT_CALL_INTERNAL_H

#include "transport_internal.h"

struct call {
    struct call *next;
    char *method, *path, *content_type; /* content_type may be NULL */
    char **headers;                     /* ends with NULL */
    char *body;
    size_t body_n;
    const char *verb, *resource;
    size_t response_max;
    int64_t submitted_ns, deadline_ns;
    bool sent_again; /* after a 401, with other credentials */
    kube_done_fn *done;
    void *ctx;
};

struct call_list {
    struct call *first, **end;
};

void call_list_init(struct call_list *l);
void call_list_append(struct call_list *l, struct call *call);
struct call *call_list_take(struct call_list *l); /* the first; NULL: it is empty */

struct call *call_new(const struct kube_request *r, int64_t now_ns, kube_done_fn *done, void *ctx);
void call_free(struct call *call); /* wipes the body */

#endif
