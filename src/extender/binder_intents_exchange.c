/* The exchanges of a node under `consistency: strict`: its object is read, the pod of an intent, and intents are
 * written. Replies come on the API client's thread; they change the node and give its binds a turn, which the binder's
 * thread takes. */
#include "extender/bind_node.h"

#include "base/bug.h"
#include "base/clock.h"
#include "kube/objects.h"

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_MS 2000

static const char TEXT_ANSWER[] = "the intents of this node could not be read or written: nothing was bound";
static const char TEXT_FORBIDDEN[] =
    "fgpu may not read or write the intents of this node (Leases, clientConnection.intentObjects): nothing was bound";
static const char TEXT_ILLEGIBLE[] =
    "the intents of this node are illegible, so nobody knows what may still be bound there; see the log";
static const char TEXT_TOO_MANY[] = "too many pods of this node have an intent: nothing was bound";
/* Two that mean the same: kube-scheduler writes the text into the pod's condition, and only a text that is not there
 * yet makes a new version of the pod, which is what proves an intent dead (decision 0103). */
static const char *const TEXT_UNPROVEN[2] = {
    "an earlier decision for this node may still take effect: nothing was bound",
    "nothing was bound, because an earlier decision for this node may still take effect",
};

bool bind_node_submit(struct bind_node *n, const struct kube_request *request, kube_done_fn *done)
{
    n->busy = kube_client_submit(n->binder->client, request, done, n, NULL) == 0;
    if (!n->busy) {
        bind_node_pause(n, TEXT_ANSWER);
    }
    return n->busy;
}

bool bind_node_is_answered(struct bind_node *n, const struct kube_response *response)
{
    n->busy = false;
    return !n->binder->stopping && response->outcome.kind != KUBE_CANCELLED;
}

/* ---- reading ---- */

static void failed(struct bind_node *n, const struct kube_response *response, const char *what)
{
    const char *why = bind_node_is_forbidden(response) ? TEXT_FORBIDDEN : TEXT_ANSWER;

    if (bind_node_is_forbidden(response)) {
        binder_recheck_rights(n->binder);
    }
    if (n->error != why) { /* once, until something else happens */
        LOG_WARNING(n->binder->log, what, LOG_CSTR("node", n->name), LOG_CSTR("objects", n->binder->intent_objects),
                    LOG_I64("status", response->outcome.http_status), LOG_CSTR("err", response->outcome.detail));
    }
    bind_node_pause(n, why);
}

static void illegible(struct bind_node *n, const char *why)
{
    n->illegible = true;
    if (n->error != TEXT_ILLEGIBLE) {
        LOG_ERROR(n->binder->log,
                  "The intents of a node are illegible: no pod with GPUs is bound there until the Lease is mended, or "
                  "deleted when no fgpu runs",
                  LOG_CSTR("node", n->name), LOG_CSTR("objects", n->binder->intent_objects), LOG_CSTR("err", why));
    }
    bind_node_pause(n, TEXT_ILLEGIBLE);
}

/* One that decides at this very moment is no news: those that last are named. A pod that is there, although the ledger
 * does not charge it, asked for GPUs by annotations that somebody has taken away: it may use any of them. */
static void tell_doubt(struct bind_node *n, const struct intent *i, bool is_here)
{
    enum { LOOKS = 2 };

    if (!n->in_doubt && n->failed_n >= LOOKS) {
        n->in_doubt = true;
        LOG_WARNING(n->binder->log,
                    is_here ? "No pod with GPUs is bound to a node where one was given GPUs, and nothing says any more "
                              "which: until that one ends or is deleted"
                            : "No pod with GPUs is bound to a node while an earlier decision for it may still take "
                              "effect: until the pod of that one is bound, changed or deleted",
                    LOG_CSTR("node", n->name), LOG_STR("namespace", i->namespace_), LOG_STR("pod", i->name),
                    LOG_STR("uid", i->uid), LOG_STR("decider", i->decider));
    }
}

/* True: the node is read. */
static bool take_object(struct bind_node *n, const struct kube_response *response)
{
    struct intents found;
    struct err why = {0};

    intents_init(&found);
    if (bind_node_has_status(response, 404)) {
        memset(&n->object, 0, sizeof(n->object));
    } else if (!bind_node_has_status(response, 200)) {
        failed(n, response, "Cannot read the intents of a node");
        return false;
    } else if (intent_object_read(response->body, str_of(n->name), &n->text, &n->object, &why) != 0 ||
               intents_read(n->object.intents, &found, &why) != 0) {
        illegible(n, why.msg);
        return false;
    }
    intents_move(&n->held, &found);
    n->illegible = false;
    n->read = true;
    n->reading++;
    n->again_ns = INT64_MIN; /* what was wrong with a write is told until one succeeds */
    return true;
}

static void object_read(void *ctx, const struct kube_response *response)
{
    struct bind_node *n = ctx;

    mutex_lock(&n->binder->lock);
    if (bind_node_is_answered(n, response)) {
        (void)take_object(n, response);
        bind_node_advance(n);
    }
    mutex_unlock(&n->binder->lock);
}

/* A quorum read. */
void bind_node_read(struct bind_node *n)
{
    struct kube_request request = {.method = "GET",
                                   .deadline_ms = EXCHANGE_MS,
                                   .response_bytes_max = INTENT_OBJECT_BYTES_MAX,
                                   .verb = "get",
                                   .resource = "leases"};
    struct strbuf path;

    strbuf_init(&path, INTENT_PATH_MAX);
    intent_object_path(str_of(n->binder->intent_objects), str_of(n->name), &path);
    request.path = path.p;
    (void)bind_node_submit(n, &request, object_read);
    strbuf_fini(&path);
}

/* ---- the pod of an intent that is not proven ---- */

struct pod_found {
    bool has_ended;   /* nothing is charged, and nothing of it can land here */
    bool is_here;     /* bound to this node */
    uint64_t version; /* at which it is unbound; 0: it is not, or was not read */
};

/* Without the lock. What has not ended goes into the ledger, which then says what is charged. */
static struct pod_found read_pod(struct bind_node *n, const struct kube_response *response, struct arena *a)
{
    struct pod_found found = {.has_ended = false};
    struct json_reader *r;
    struct pod pod;
    struct err why = {0};

    if (bind_node_has_status(response, 404)) {
        found.has_ended = true;
        return found;
    }
    r = arena_alloc(a, sizeof(*r));
    if (!bind_node_has_status(response, 200) || r == NULL || kube_parse_pod(r, response->body, a, &pod, NULL) != 0) {
        return found;
    }
    if (!str_eq(pod.uid, str_of(n->asked_uid)) || pod_is_terminal(&pod) ||
        (pod.node_name.n > 0 && !str_eq(pod.node_name, str_of(n->name)))) {
        found.has_ended = true;
        return found;
    }
    found.is_here = pod.node_name.n > 0;
    found.version = found.is_here ? 0 : pod_version(&pod);
    if (policy_set_observe(n->binder->policies, a, &pod, &why) != 0) {
        LOG_WARNING(n->binder->log, "Cannot take in a pod", LOG_STR("namespace", pod.namespace_),
                    LOG_STR("pod", pod.name), LOG_CSTR("err", why.msg));
    }
    return found;
}

static void pod_read(void *ctx, const struct kube_response *response)
{
    struct bind_node *n = ctx;
    struct arena a;
    struct pod_found found;

    arena_init(&a, KUBE_OBJECT_ARENA_MAX);
    found = read_pod(n, response, &a); /* the exchange in flight keeps asked_uid */
    mutex_lock(&n->binder->lock);
    if (bind_node_is_answered(n, response)) {
        const struct intent *still = NULL;

        for (size_t k = 0; k < n->held.n; k++) {
            struct intent *i = &n->held.items[k];

            if (str_eq(i->uid, str_of(n->asked_uid))) {
                i->is_gone = i->is_gone || found.has_ended || found.version > i->version;
                still = bind_node_sight(n, i) == INTENT_UNPROVEN ? i : still;
            }
        }
        if (still != NULL) {
            tell_doubt(n, still, found.is_here);
            bind_node_pause(n, TEXT_UNPROVEN[rng_u64(&n->binder->rng) & 1]);
        } else {
            bind_node_go_on(n);
        }
        bind_node_advance(n);
    }
    mutex_unlock(&n->binder->lock);
    arena_fini(&a);
}

void bind_node_read_pod(struct bind_node *n, const struct intent *i)
{
    struct kube_request request = {.method = "GET",
                                   .deadline_ms = EXCHANGE_MS,
                                   .response_bytes_max = KUBE_OBJECT_JSON_MAX,
                                   .verb = "get",
                                   .resource = "pods"};
    struct strbuf path;
    struct err why;

    strbuf_init(&path, INTENT_PATH_MAX);
    free(n->asked_uid);
    n->asked_uid = str_dup(i->uid);
    if (kube_pod_path(i->namespace_, i->name, &path, &why) != 0) {
        illegible(n, why.msg);
        n->read = false; /* somebody may have mended it */
    } else {
        request.path = path.p;
        (void)bind_node_submit(n, &request, pod_read);
    }
    strbuf_fini(&path);
}

/* ---- writing ---- */

/* It will not change by itself. */
static void end_tries(struct bind_node *n)
{
    for (struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent == BIND_INTENT_WRITING) {
            b->again_n = BIND_AGAIN_MAX;
        }
    }
}

/* Nobody knows whether it has landed, will, or never will: the object says it. */
static void not_written(struct bind_node *n, const struct kube_response *response)
{
    n->read = false;
    bind_node_end_look(n);
    if (bind_node_is_forbidden(response)) {
        end_tries(n);
    }
    bind_node_give_turn(n, BIND_INTENT_WRITING, BIND_INTENT_FAILED);
    if (bind_node_has_status(response, 409) || (bind_node_has_status(response, 404) && n->object.revision[0] != '\0')) {
        LOG_INFO(n->binder->log, "Another process has written intents of a node: they are read, and GPUs chosen again",
                 LOG_CSTR("node", n->name));
    } else {
        failed(n, response, "Cannot write the intents of a node");
    }
}

static void is_written(struct bind_node *n)
{
    intents_move(&n->held, &n->sent);
    bind_node_go_on(n);
    for (struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent == BIND_INTENT_WRITING) {
            b->intent_version = b->machine.version;
        }
    }
    bind_node_give_turn(n, BIND_INTENT_WRITING, BIND_INTENT_NONE);
}

static void written(void *ctx, const struct kube_response *response)
{
    struct bind_node *n = ctx;
    struct intent_object now;

    mutex_lock(&n->binder->lock);
    if (bind_node_is_answered(n, response)) {
        if ((bind_node_has_status(response, 200) || bind_node_has_status(response, 201)) &&
            intent_object_read(response->body, str_of(n->name), &n->text, &now, NULL) == 0 &&
            str_eq(now.intents, strbuf_view(&n->sent_text))) {
            n->object = now;
            is_written(n);
        } else {
            not_written(n, response);
        }
        bind_node_advance(n);
    }
    mutex_unlock(&n->binder->lock);
}

/* What is kept, and one intent for each bind that waits for it. One that was decided before the node was read last must
 * be decided again. */
static void collect(struct bind_node *n)
{
    intents_fini(&n->sent);
    intents_keep(&n->held, bind_node_sight, n, &n->sent);
    for (struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent == BIND_INTENT_WANTED && b->node_reading == n->reading) {
            const struct intent i = {.uid = b->request.pod_uid,
                                     .namespace_ = b->request.pod_namespace,
                                     .name = b->request.pod_name,
                                     .version = b->machine.version,
                                     .decider = str_of(n->binder->process)};

            intents_add(&n->sent, &i);
            b->intent = BIND_INTENT_WRITING;
        }
    }
    bind_node_give_turn(n, BIND_INTENT_WANTED, BIND_INTENT_FAILED);
    strbuf_reset(&n->sent_text);
    intents_write(&n->sent, &n->sent_text);
}

static void submit_write(struct bind_node *n)
{
    const bool creates = n->object.revision[0] == '\0';
    struct kube_request request = {.method = creates ? "POST" : "PATCH",
                                   .content_type = creates ? NULL : "application/merge-patch+json",
                                   .deadline_ms = EXCHANGE_MS,
                                   .response_bytes_max = INTENT_OBJECT_BYTES_MAX,
                                   .verb = creates ? "create" : "patch",
                                   .resource = "leases"};
    struct strbuf path, body;

    strbuf_init(&path, INTENT_PATH_MAX);
    strbuf_init(&body, INTENT_OBJECT_BYTES_MAX);
    if (creates) {
        intent_object_create_path(str_of(n->binder->intent_objects), &path);
    } else {
        intent_object_path(str_of(n->binder->intent_objects), str_of(n->name), &path);
    }
    intent_object_body(str_of(n->binder->intent_objects), str_of(n->name), &n->object, strbuf_view(&n->sent_text),
                       str_of(n->binder->process), &body);
    request.path = path.p;
    request.body = strbuf_view(&body);
    if (!bind_node_submit(n, &request, written)) {
        bind_node_give_turn(n, BIND_INTENT_WRITING, BIND_INTENT_FAILED);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
}

bool bind_node_write_none(struct bind_node *n)
{
    collect(n);
    if (n->sent.n > 0) {
        return false;
    }
    submit_write(n);
    return true;
}

void bind_node_write(struct bind_node *n)
{
    collect(n);
    if (!bind_node_has(n, BIND_INTENT_WRITING)) {
        return;
    }
    if (n->sent_text.overflowed) {
        n->error = TEXT_TOO_MANY;
        n->read = false;
        bind_node_end_look(n);
        bind_node_give_turn(n, BIND_INTENT_WRITING, BIND_INTENT_FAILED);
        return;
    }
    submit_write(n);
}
