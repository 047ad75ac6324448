/* What the API server is, as far as a Binding depends on it: asked at the start, and again until it is known to look at
 * preconditions. A server that was upgraded is found out so; one that was downgraded below 1.23 while fgpu runs is
 * not (Kubernetes does not support that). */
#include "extender/binder_internal.h"

#include "base/clock.h"

#define ASK_MS 5000
#define ASK_AGAIN_OLD_NS (60 * NS_PER_S)

bool binder_versions_hold(const struct binder *b)
{
    return b->server.preconditions == BINDING_PRECONDITIONS_CHECKED;
}

/* What the watch has shown meanwhile may settle something now. */
static void look_again(struct binder *b)
{
    for (struct bind *i = b->binds; i != NULL; i = i->next) {
        i->news = true;
    }
}

static void take_answer(struct binder *b, enum binding_preconditions p, const struct kube_outcome *o)
{
    struct binder_server *s = &b->server;
    int64_t now_ns = clock_mono_ns(b->clock);

    if (p == BINDING_PRECONDITIONS_CHECKED) {
        s->ask_at_ns = INT64_MAX;
        look_again(b);
    } else if (p == BINDING_PRECONDITIONS_IGNORED) {
        s->ask_at_ns = now_ns + ASK_AGAIN_OLD_NS;
        if (s->preconditions != p) {
            LOG_WARNING(b->log, "The API server is older than 1.23 and ignores the preconditions of a Binding: if "
                                "the outcome of a Binding is unknown, its GPUs stay charged until the pod is bound "
                                "or deleted");
        }
    } else {
        s->ask_at_ns = now_ns + bind_calm_pause_ns(s->failed_n++);
        if (s->failed_n == 1 || o->http_status == 403) {
            LOG_INFO(b->log, "Cannot read the version of the API server yet", LOG_CSTR("path", KUBE_VERSION_PATH),
                     LOG_I64("status", o->http_status), LOG_CSTR("err", o->detail));
        }
    }
    s->preconditions = p != BINDING_PRECONDITIONS_UNKNOWN ? p : s->preconditions;
    bind_wake_at(b, now_ns);
}

static void told(void *ctx, const struct kube_response *response)
{
    struct binder *b = ctx;
    const struct kube_outcome *o = &response->outcome;
    enum binding_preconditions p = o->kind == KUBE_ANSWERED && o->http_status == 200
                                       ? binding_preconditions_of(response->body)
                                       : BINDING_PRECONDITIONS_UNKNOWN;

    mutex_lock(&b->lock);
    b->server.asking = false;
    if (!b->stopping && o->kind != KUBE_CANCELLED) {
        take_answer(b, p, o);
    }
    mutex_unlock(&b->lock);
}

void binder_ask_server(struct binder *b)
{
    const struct kube_request request = {
        .method = "GET", .path = KUBE_VERSION_PATH, .deadline_ms = ASK_MS, .verb = "get", .resource = "version"};
    struct binder_server *s = &b->server;
    int64_t now_ns = clock_mono_ns(b->clock);

    if (s->asking) {
        return;
    }
    if (s->ask_at_ns <= now_ns) {
        s->asking = kube_client_submit(b->client, &request, told, b, NULL) == 0;
        s->ask_at_ns = s->asking ? INT64_MAX : now_ns + bind_calm_pause_ns(s->failed_n++);
    }
    bind_wake_at(b, s->ask_at_ns);
}
