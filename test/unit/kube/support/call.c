#include "call.h"

#include "base/bug.h"

#include <string.h>

void call_result_init(struct call_result *r)
{
    memset(r, 0, sizeof(*r));
    BUG_ON(pthread_mutex_init(&r->lock, NULL) != 0);
    BUG_ON(pthread_cond_init(&r->changed, NULL) != 0);
}

void call_result_fini(struct call_result *r)
{
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}

void call_result_done(void *ctx, const struct kube_response *response)
{
    struct call_result *r = ctx;
    pthread_mutex_lock(&r->lock);
    r->done = true;
    r->done_n++;
    r->outcome = response->outcome;
    r->body_n = response->body.n;
    size_t n = r->body_n < sizeof(r->body) - 1 ? r->body_n : sizeof(r->body) - 1;
    if (n > 0) {
        memcpy(r->body, response->body.p, n);
    }
    r->body[n] = '\0';
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void call_result_wait(struct call_result *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->done) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

void call_now(struct kube_client *c, const struct kube_request *request, struct call_result *ret)
{
    call_result_init(ret);
    BUG_ON(kube_client_submit(c, request, call_result_done, ret, NULL) != 0);
    call_result_wait(ret);
    call_result_fini(ret);
}
