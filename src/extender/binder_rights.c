/* May fgpu do with Leases what `consistency: strict` needs? Asked at the start, and again while the answer is no, or
 * after a request of a bind was refused (decision 0103). While it is no, no pod with GPUs could be bound, so the store
 * is not ready. Whether it is asked at all, and what an API server that does not say it means, changes nothing. */
#include "extender/binder_internal.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "kube/review.h"

#define ASK_MS 5000
#define REFUSED_AGAIN_NS (10 * NS_PER_S)
#define RECHECK_NS NS_PER_S
#define BODY_MAX 2048

static const char TEXT_REFUSED[] =
    "fgpu is not ready: with consistency: strict it has to get, create and patch Leases, "
    "and it may not; apply manifests/strict, with the namespace of "
    "clientConnection.intentObjects";
static const char *const VERBS[] = {"get", "create", "patch"};

void binder_rights_init(struct binder_rights *r)
{
    *r = (struct binder_rights){.ask_at_ns = INT64_MIN};
}

/* All verbs are answered, one of them by no; or by yes, all of them. */
static void conclude(struct binder *b, bool refused, int64_t now_ns)
{
    struct binder_rights *r = &b->rights;

    if (refused && !r->refused) {
        LOG_WARNING(b->log,
                    "No pod with GPUs can be bound: with consistency: strict fgpu has to get, create and patch Leases, "
                    "and it may not. Apply manifests/strict, with the namespace of clientConnection.intentObjects",
                    LOG_CSTR("verb", VERBS[r->at]), LOG_CSTR("objects", b->intent_objects));
    } else if (!refused && r->refused) {
        LOG_INFO(b->log, "May get, create and patch Leases now", LOG_CSTR("objects", b->intent_objects));
    }
    r->refused = refused;
    r->at = 0;
    r->failed_n = 0;
    r->ask_at_ns = refused ? now_ns + REFUSED_AGAIN_NS : INT64_MAX;
    store_lacks_rights(b->store, refused ? TEXT_REFUSED : NULL);
}

/* A server that does not answer, or that lets nobody ask, leaves it at what was known. */
static void take_answer(struct binder *b, bool answered, bool allowed)
{
    struct binder_rights *r = &b->rights;
    const int64_t now_ns = clock_mono_ns(b->clock);

    if (!answered) {
        r->at = 0;
        r->ask_at_ns = now_ns + bind_calm_pause_ns(r->failed_n++);
    } else if (!allowed) {
        conclude(b, true, now_ns);
    } else if (++r->at == ARRAY_LEN(VERBS)) {
        conclude(b, false, now_ns);
    } else {
        r->ask_at_ns = now_ns;
    }
    bind_wake_at(b, now_ns);
}

static void told(void *ctx, const struct kube_response *response)
{
    struct binder *b = ctx;
    const struct kube_outcome *o = &response->outcome;
    bool allowed = false;
    const bool answered = o->kind == KUBE_ANSWERED && (o->http_status == 200 || o->http_status == 201) &&
                          self_review_read(response->body, &allowed, NULL) == 0;

    mutex_lock(&b->lock);
    b->rights.asking = false;
    if (!b->stopping && o->kind != KUBE_CANCELLED) {
        take_answer(b, answered, allowed);
    }
    mutex_unlock(&b->lock);
}

static bool ask(struct binder *b)
{
    struct str rest = str_of(b->intent_objects);
    struct review_resource what = {
        .verb = str_of(VERBS[b->rights.at]), .group = STR("coordination.k8s.io"), .resource = STR("leases")};
    struct strbuf body;
    bool asks;

    (void)str_split(&rest, '/', &what.namespace_);
    strbuf_init(&body, BODY_MAX);
    self_review_write(&what, &body);
    asks = !body.overflowed && kube_client_submit(b->client,
                                                  &(struct kube_request){.method = "POST",
                                                                         .path = SELF_REVIEW_PATH,
                                                                         .body = strbuf_view(&body),
                                                                         .deadline_ms = ASK_MS,
                                                                         .verb = "create",
                                                                         .resource = "selfsubjectaccessreviews",
                                                                         .asks = true},
                                                  told, b, NULL) == 0;
    strbuf_fini(&body);
    return asks;
}

void binder_ask_rights(struct binder *b)
{
    struct binder_rights *r = &b->rights;
    const int64_t now_ns = clock_mono_ns(b->clock);

    if (b->intent_objects == NULL || b->options.rehearses || r->asking) {
        return;
    }
    if (r->ask_at_ns <= now_ns) {
        r->asking = ask(b);
        r->ask_at_ns = r->asking ? INT64_MAX : now_ns + bind_calm_pause_ns(r->failed_n++);
    }
    bind_wake_at(b, r->ask_at_ns);
}

void binder_recheck_rights(struct binder *b)
{
    if (!b->rights.asking && b->rights.ask_at_ns == INT64_MAX) {
        b->rights.ask_at_ns = clock_mono_ns(b->clock) + RECHECK_NS; /* there may be many */
        bind_wake_at(b, b->rights.ask_at_ns);
    }
}
