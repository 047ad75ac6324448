#include "contact_check_internal.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdlib.h>

/* Lives until its owner and the call under way have both let go of it. */
struct contact_check {
    struct kube_client *client;

    struct mutex lock;          /* of the rest */
    struct kube_stream *stream; /* NULL: the owner has gone */
    bool under_way, ended;
    struct kube_outcome outcome;
};

struct contact_check *contact_check_new(struct kube_client *client, struct kube_stream *stream)
{
    struct contact_check *c = xcalloc(1, sizeof(*c));
    mutex_init(&c->lock, "contact_check");
    c->client = client;
    c->stream = stream;
    return c;
}

static void destroy(struct contact_check *c)
{
    mutex_destroy(&c->lock);
    free(c);
}

void contact_check_free(struct contact_check *c)
{
    if (c == NULL) {
        return;
    }
    mutex_lock(&c->lock);
    c->stream = NULL;
    bool under_way = c->under_way;
    mutex_unlock(&c->lock);
    if (!under_way) {
        destroy(c);
    }
}

static void on_done(void *ctx, const struct kube_response *response)
{
    struct contact_check *c = ctx;
    mutex_lock(&c->lock);
    bool orphan = c->stream == NULL;
    c->under_way = false;
    c->ended = true;
    c->outcome = response->outcome;
    if (!orphan) {
        kube_stream_wake(c->stream);
    }
    mutex_unlock(&c->lock);
    if (orphan) {
        destroy(c);
    }
}

void contact_check_begin(struct contact_check *c, const char *path, uint32_t deadline_ms, const char *resource)
{
    const struct kube_request get = {
        .method = "GET", .path = path, .deadline_ms = deadline_ms, .verb = "check", .resource = resource};
    struct err why;

    mutex_lock(&c->lock);
    c->under_way = true;
    mutex_unlock(&c->lock);
    if (kube_client_submit(c->client, &get, on_done, c, &why) == 0) {
        return;
    }
    mutex_lock(&c->lock);
    c->under_way = false;
    c->ended = true;
    c->outcome = kube_outcome_of(why.code == ERR_CANCELLED ? KUBE_CANCELLED : KUBE_NOT_SENT, why.msg);
    mutex_unlock(&c->lock);
}

bool contact_check_take(struct contact_check *c, struct kube_outcome *ret)
{
    mutex_lock(&c->lock);
    bool ended = c->ended;
    if (ended) {
        *ret = c->outcome;
        c->ended = false;
    }
    mutex_unlock(&c->lock);
    return ended;
}
