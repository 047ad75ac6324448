/* Asking and writing. The lock guards what is wanted; nothing is sent under it. */
#include "cmd_node/publisher_internal.h"

#define CALL_MS 10000
#define AGAIN_MS 60000            /* all is as wanted */
#define SELDOM_MS (10 * 60000)    /* nothing of ours is wanted */
#define RETRY_MS 10000            /* doubled up to AGAIN_MS */
#define WRITES_MAX 4              /* in a row, before somebody else is given time to stop */
#define CONFLICTS_MAX 3           /* in a row; kubelet writes its node seldom */
#define NODE_BYTES_MAX (2U << 20) /* an object has 1.5 MiB in etcd */

static void begin(struct publisher *p);

/* Some of them later, some earlier, so that the agents of a cluster do not ask together. Under the lock. */
static int64_t about_ns(struct publisher *p, int64_t ms)
{
    return (ms * 3 / 4 + (int64_t)rng_below(&p->rng, (uint64_t)ms / 2 + 1)) * NS_PER_MS;
}

/* The exchanges are over; after_ms 0: one of them failed. */
static void finish(struct publisher *p, int64_t after_ms)
{
    const int64_t now_ns = clock_mono_ns(p->clock);

    mutex_lock(&p->lock);
    p->cached = after_ms > 0 && !p->changed;
    if (after_ms > 0) {
        p->retry_ms = 0;
    } else {
        p->retry_ms = p->retry_ms == 0 ? RETRY_MS : 2 * p->retry_ms;
        p->retry_ms = p->retry_ms < AGAIN_MS ? p->retry_ms : AGAIN_MS;
        after_ms = p->retry_ms;
        p->changed = false; /* it waits, too */
    }
    p->due_ns = p->changed ? 0 : now_ns + about_ns(p, after_ms);
    p->in_flight = false;
    mutex_unlock(&p->lock);
    begin(p);
}

static void fail(struct publisher *p, const struct kube_response *r, const char *why)
{
    const int status = r->outcome.kind == KUBE_ANSWERED ? r->outcome.http_status : -1;

    if (r->outcome.kind != KUBE_CANCELLED && status != p->said_status) {
        LOG_WARNING(p->log, "Cannot keep what the API server says about this node; trying again",
                    LOG_STR("node", str_of(p->options->node_name)), LOG_I64("status", status), LOG_CSTR("why", why),
                    LOG_CSTR("remedy", status == 403 ? "manifests/node/rbac.yaml and policy.yaml" : ""));
        p->said_status = status;
    }
}

static void on_node(void *ctx, const struct kube_response *r);

static int submit(struct publisher *p, const struct kube_request *request)
{
    struct err err;
    const int rc = kube_client_submit(p->client, request, on_node, p, &err);

    if (rc != 0 && rc != -ERR_CANCELLED) {
        LOG_WARNING(p->log, "Cannot ask the API server", LOG_CSTR("why", err.msg));
    }
    return rc;
}

static int ask(struct publisher *p, bool cached)
{
    struct strbuf path;
    int rc;

    strbuf_init(&path, PUBLISHER_PATH_BYTES_MAX + 32);
    strbuf_addf(&path, "%s%s", p->path.p, cached ? "?resourceVersion=0" : "");
    rc = submit(p, &(struct kube_request){.method = "GET",
                                          .path = path.p,
                                          .deadline_ms = CALL_MS,
                                          .response_bytes_max = NODE_BYTES_MAX,
                                          .verb = "get",
                                          .resource = "nodes"});
    strbuf_fini(&path);
    return rc;
}

static int patch(struct publisher *p, enum publication_step step, struct str body)
{
    const bool status = step == PUBLICATION_WRITE_TOTALS;

    LOG_V(p->log, 2, "Writing about this node", LOG_CSTR("what", status ? "totals" : PUBLICATION_KEY),
          LOG_I64("bytes", (int64_t)body.n));
    return submit(p, &(struct kube_request){.method = "PATCH",
                                            .path = status ? p->status_path.p : p->path.p,
                                            .content_type = "application/merge-patch+json",
                                            .body = body,
                                            .deadline_ms = CALL_MS,
                                            .response_bytes_max = NODE_BYTES_MAX,
                                            .verb = "patch",
                                            .resource = status ? "nodes/status" : "nodes"});
}

static int64_t pause_after(enum publication_step step, enum publication_mode mode)
{
    const bool ours = mode == PUBLICATION_ALL || mode == PUBLICATION_ANNOTATION;

    return ours && step != PUBLICATION_FOREIGN ? AGAIN_MS : SELDOM_MS;
}

static void say_foreign(struct publisher *p, enum publication_step step)
{
    if (step == PUBLICATION_FOREIGN && !p->said_foreign) {
        LOG_WARNING(p->log, "This node has an annotation " PUBLICATION_KEY " that fgpu-node has not written; it stays",
                    LOG_CSTR("remedy", "remove it, and fgpu-node writes what the driver says"));
    }
    p->said_foreign = step == PUBLICATION_FOREIGN;
}

/* Somebody else has written since we looked, an admin perhaps, so what to write is judged anew. Not by what the cache
 * has, which may be behind again. False: that was too often. */
static bool look_again(struct publisher *p)
{
    bool again;

    mutex_lock(&p->lock);
    again = p->conflict_n++ < CONFLICTS_MAX;
    p->write_n -= p->write_n > 0; /* nothing was written */
    mutex_unlock(&p->lock);
    return again && ask(p, false) == 0;
}

/* The answer to each exchange is the node; to a patch of a node that is not any more what was seen, 409. */
static void on_node(void *ctx, const struct kube_response *r)
{
    struct publisher *p = ctx;
    struct publication_seen seen;
    enum publication_step step;
    enum publication_mode mode;
    struct strbuf body;
    struct arena a;
    struct err err;
    bool again;

    if (r->outcome.kind == KUBE_ANSWERED && r->outcome.http_status == 409 && look_again(p)) {
        return;
    }
    if (r->outcome.kind != KUBE_ANSWERED || r->outcome.http_status != 200) {
        fail(p, r, r->outcome.detail);
        finish(p, 0);
        return;
    }
    arena_init(&a, NODE_BYTES_MAX);
    if (publication_read_node(r->body, &a, &seen, &err) != 0) {
        fail(p, r, err.msg);
        arena_fini(&a);
        finish(p, 0);
        return;
    }
    strbuf_init(&body, PUBLICATION_PATCH_BYTES_MAX);
    mutex_lock(&p->lock);
    p->changed = false;
    mode = p->wanted.mode;
    step = publication_next(&p->wanted, &seen, &body);
    again = step != PUBLICATION_DONE && step != PUBLICATION_FOREIGN && p->write_n++ < WRITES_MAX && !body.overflowed;
    mutex_unlock(&p->lock);
    p->said_status = 0;
    say_foreign(p, step);
    if (!again) {
        finish(p, pause_after(step, mode));
    } else if (patch(p, step, strbuf_view(&body)) != 0) {
        finish(p, 0);
    }
    strbuf_fini(&body);
    arena_fini(&a);
}

/* Under the lock. What takes GPUs away needs nobody who hands them out. */
static bool is_due(const struct publisher *p)
{
    const bool offers = p->wanted.mode == PUBLICATION_ALL || p->wanted.mode == PUBLICATION_ANNOTATION;

    return p->client != NULL && p->is_wanted && p->wanted.mode != PUBLICATION_OFF && (p->is_open || !offers) &&
           !p->in_flight && clock_mono_ns(p->clock) >= p->due_ns;
}

/* Whatever is due, unless exchanges go on, whose end comes back here. */
static void begin(struct publisher *p)
{
    bool cached;

    mutex_lock(&p->lock);
    if (!is_due(p)) {
        mutex_unlock(&p->lock);
        return;
    }
    p->in_flight = true;
    p->write_n = p->conflict_n = 0;
    cached = p->cached;
    mutex_unlock(&p->lock);
    if (ask(p, cached) != 0) {
        mutex_lock(&p->lock);
        p->in_flight = false;
        p->due_ns = clock_mono_ns(p->clock) + about_ns(p, RETRY_MS);
        mutex_unlock(&p->lock);
    }
}

void publisher_open(void *publisher)
{
    struct publisher *p = publisher;

    mutex_lock(&p->lock);
    p->is_open = true;
    mutex_unlock(&p->lock);
    begin(p);
}

void publisher_look(struct publisher *p)
{
    begin(p);
}

void publisher_look_now(struct publisher *p)
{
    mutex_lock(&p->lock);
    p->due_ns = 0;
    p->cached = false;
    mutex_unlock(&p->lock);
    begin(p);
}
