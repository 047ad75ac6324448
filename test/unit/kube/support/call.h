/* One short call, waited for. */
#ifndef TEST_KUBE_CALL_H
#define TEST_KUBE_CALL_H

#include "kube/transport.h"

#include <pthread.h>
#include <stdbool.h>

struct call_result {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    int done_n;
    struct kube_outcome outcome;
    char body[4096]; /* its beginning, NUL-terminated */
    size_t body_n;
};

void call_result_init(struct call_result *r);
void call_result_fini(struct call_result *r);
/* The callback for kube_client_submit; ctx is the result. */
void call_result_done(void *ctx, const struct kube_response *response);
void call_result_wait(struct call_result *r);

/* Submits and waits. */
void call_now(struct kube_client *c, const struct kube_request *request, struct call_result *ret);

#endif
