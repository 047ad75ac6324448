#include "contact_check_internal.h"

#include "base/bug.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Lives until its owner and the call under way have both let go of it. */
struct contact_check {
    struct kube_client *client;

    pthread_mutex_t lock;       /* of the rest */
    struct kube_stream *stream; /* NULL: the owner has gone */
    bool under_way, ended;
    struct kube_outcome outcome;
};

struct contact_check *contact_check_new(struct kube_client *client, struct kube_stream *stream)
{
    struct contact_check *c = xcalloc(1, sizeof(*c));
    BUG_ON(pthread_mutex_init(&c->lock, NULL) != 0);
    c->client = client;
    c->stream = stream;
    return c;
}

static void destroy(struct contact_check *c)
{
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void contact_check_free(struct contact_check *c)
{
    if (c == NULL) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->stream = NULL;
    bool under_way = c->under_way;
    pthread_mutex_unlock(&c->lock);
    if (!under_way) {
        destroy(c);
    }
}

static void on_done(void *ctx, const struct kube_response *response)
{
    struct contact_check *c = ctx;
    pthread_mutex_lock(&c->lock);
    bool orphan = c->stream == NULL;
    c->under_way = false;
    c->ended = true;
    c->outcome = response->outcome;
    if (!orphan) {
        kube_stream_wake(c->stream);
    }
    pthread_mutex_unlock(&c->lock);
    if (orphan) {
        destroy(c);
    }
}

void contact_check_begin(struct contact_check *c, const char *path, uint32_t deadline_ms, const char *resource)
{
    const struct kube_request get = {
        .method = "GET", .path = path, .deadline_ms = deadline_ms, .verb = "check", .resource = resource};
    struct err why;

    pthread_mutex_lock(&c->lock);
    c->under_way = true;
    pthread_mutex_unlock(&c->lock);
    if (kube_client_submit(c->client, &get, on_done, c, &why) == 0) {
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->under_way = false;
    c->ended = true;
    c->outcome = (struct kube_outcome){.kind = why.code == ERR_CANCELLED ? KUBE_CANCELLED : KUBE_NOT_SENT,
                                       .retry_after_ms = KUBE_NO_RETRY_AFTER};
    snprintf(c->outcome.detail, sizeof(c->outcome.detail), "%.*s", (int)sizeof(c->outcome.detail) - 1, why.msg);
    pthread_mutex_unlock(&c->lock);
}

bool contact_check_take(struct contact_check *c, struct kube_outcome *ret)
{
    pthread_mutex_lock(&c->lock);
    bool ended = c->ended;
    if (ended) {
        *ret = c->outcome;
        c->ended = false;
    }
    pthread_mutex_unlock(&c->lock);
    return ended;
}
