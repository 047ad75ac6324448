#include "extender/evictor.h"

#include "base/bug.h"
#include "base/sync.h"
#include "kube/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE_MS = 10000, UID_MAX = 64, PATH_BYTES_MAX = 1024, BODY_BYTES_MAX = 2048 };

struct eviction {
    struct evictor *of;
    char uid[UID_MAX];     /* "": free */
    char pod[128];         /* "NAMESPACE/NAME", for people; cut */
    bool under_way;        /* asked, and not answered yet */
    int64_t not_before_ns; /* monotonic */
    char trouble[EVICTION_TROUBLE_MAX];
};

struct evictor {
    struct kube_client *client;
    const struct clock *clock;
    const struct log *log;
    void (*observe)(void *ctx, enum eviction_reply r);
    void *ctx;
    struct mutex lock; /* of the rest */
    struct eviction all[EVICTIONS_MAX];
};

struct evictor *evictor_new(struct kube_client *client, const struct clock *clock, const struct log *log,
                            void (*observe)(void *ctx, enum eviction_reply r), void *ctx)
{
    struct evictor *e = xcalloc(1, sizeof(*e));

    e->client = client;
    e->clock = clock;
    e->log = log;
    e->observe = observe;
    e->ctx = ctx;
    mutex_init(&e->lock, "evictor");
    for (size_t i = 0; i < EVICTIONS_MAX; i++) {
        e->all[i].of = e;
    }
    return e;
}

void evictor_free(struct evictor *e)
{
    if (e != NULL) {
        mutex_destroy(&e->lock);
        free(e);
    }
}

/* Under the lock. */
static struct eviction *find(struct evictor *e, struct str uid)
{
    for (size_t i = 0; i < EVICTIONS_MAX; i++) {
        if (str_eq_cstr(uid, e->all[i].uid)) {
            return &e->all[i];
        }
    }
    return NULL;
}

/* The pod's own, or one that nobody needs now: free, or due for asking again, which is all that would be lost. */
static struct eviction *take_due(struct evictor *e, const struct pool_pod *pod)
{
    const int64_t now_ns = clock_mono_ns(e->clock);
    struct eviction *x = find(e, pod->uid);

    if (x != NULL) {
        return !x->under_way && x->not_before_ns <= now_ns ? x : NULL;
    }
    for (size_t i = 0; i < EVICTIONS_MAX; i++) {
        x = &e->all[i];
        if (x->uid[0] == '\0' || (!x->under_way && x->not_before_ns <= now_ns)) {
            *x = (struct eviction){.of = e};
            snprintf(x->uid, sizeof(x->uid), "%.*s", STR_ARG(pod->uid));
            snprintf(x->pod, sizeof(x->pod), "%.*s/%.*s", STR_ARG(pod->namespace_), STR_ARG(pod->name));
            return x;
        }
    }
    return NULL;
}

static void say_trouble(const struct eviction_answer *a, const struct kube_outcome *o, char ret[EVICTION_TROUBLE_MAX])
{
    ret[0] = '\0';
    if (a->reply == EVICTION_FORBIDDEN) {
        snprintf(ret, EVICTION_TROUBLE_MAX, "fgpu has no right to evict pods; see manifests/drain");
    } else if (a->reply == EVICTION_HELD || a->reply == EVICTION_FAILED) {
        snprintf(ret, EVICTION_TROUBLE_MAX, "%s%s%.200s",
                 a->reply == EVICTION_HELD ? "the API server refuses it for now" : "no usable answer",
                 o->detail[0] != '\0' ? ": " : "", o->detail);
    }
}

static int64_t pause_ms(const struct eviction_answer *a)
{
    const int64_t least_ms =
        a->reply == EVICTION_HELD || a->reply == EVICTION_FAILED ? EVICTION_RETRY_MS : EVICTION_FORBIDDEN_MS;

    return a->retry_after_ms > least_ms ? a->retry_after_ms : least_ms;
}

static void answered(void *ctx, const struct kube_response *response)
{
    struct eviction *x = ctx;
    struct evictor *e = x->of;
    const struct eviction_answer a = eviction_classify(&response->outcome);
    char trouble[EVICTION_TROUBLE_MAX], pod[sizeof(x->pod)];

    say_trouble(&a, &response->outcome, trouble);
    mutex_lock(&e->lock);
    x->under_way = false;
    x->not_before_ns = clock_mono_ns(e->clock) + pause_ms(&a) * NS_PER_MS;
    memcpy(x->trouble, trouble, sizeof(trouble));
    memcpy(pod, x->pod, sizeof(pod));
    mutex_unlock(&e->lock);
    if (response->outcome.kind == KUBE_CANCELLED) {
        return;
    }
    if (e->observe != NULL) {
        e->observe(e->ctx, a.reply);
    }
    if (trouble[0] != '\0') {
        LOG_WARNING(e->log, "Could not evict a pod; fgpu will try again", LOG_CSTR("pod", pod),
                    LOG_CSTR("err", trouble));
    } else {
        LOG_INFO(e->log, "Evicted a pod that holds up a change of node pools", LOG_CSTR("pod", pod),
                 LOG_CSTR("answer", eviction_reply_name(a.reply)));
    }
}

static int ask(struct evictor *e, struct eviction *x, const struct pool_pod *pod, struct err *reterr)
{
    struct strbuf path, body;
    int rc;

    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_init(&body, BODY_BYTES_MAX);
    rc = kube_eviction_request(pod->namespace_, pod->name, pod->uid, &path, &body, reterr);
    if (rc == 0) {
        const struct kube_request request = {.method = "POST",
                                             .path = path.p,
                                             .body = strbuf_view(&body),
                                             .deadline_ms = DEADLINE_MS,
                                             .verb = "create",
                                             .resource = "pods/eviction"};

        rc = kube_client_submit(e->client, &request, answered, x, reterr);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
    return rc;
}

void evictor_evict(struct evictor *e, const struct pool_pod *pod)
{
    struct eviction *x;
    struct err err;

    if (pod->uid.n == 0 || pod->uid.n >= UID_MAX) {
        return; /* no API server gives such a one */
    }
    mutex_lock(&e->lock);
    x = take_due(e, pod);
    if (x != NULL) {
        x->under_way = true; /* before it is asked: the answer may be there at once */
    }
    mutex_unlock(&e->lock);
    if (x == NULL || ask(e, x, pod, &err) == 0) {
        return;
    }
    mutex_lock(&e->lock);
    x->under_way = false;
    x->not_before_ns = clock_mono_ns(e->clock) + EVICTION_RETRY_MS * NS_PER_MS;
    snprintf(x->trouble, sizeof(x->trouble), "it cannot be asked for: %.200s", err.msg);
    mutex_unlock(&e->lock);
}

void evictor_trouble(struct evictor *e, struct str uid, char ret[EVICTION_TROUBLE_MAX])
{
    const struct eviction *x;

    ret[0] = '\0';
    mutex_lock(&e->lock);
    x = uid.n > 0 ? find(e, uid) : NULL;
    if (x != NULL) {
        memcpy(ret, x->trouble, EVICTION_TROUBLE_MAX);
    }
    mutex_unlock(&e->lock);
}
