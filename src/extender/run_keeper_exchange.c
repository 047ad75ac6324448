/* What the keeper asks and writes, one call at a time of each kind. */
#include "run_keeper_internal.h"

#include "base/bug.h"
#include "kube/transport.h"

#include <stdio.h>

enum { BODY_BYTES_MAX = 4096 };

static enum run_answer classify(const struct kube_response *response, struct run_object *ret)
{
    if (response->outcome.kind != KUBE_ANSWERED) {
        return RUN_ANSWER_LOST;
    }
    switch (response->outcome.http_status) {
    case 200:
        return run_object_read(response->body, ret, NULL) == 0 ? RUN_ANSWER_OBJECT : RUN_ANSWER_LOST;
    case 404:
        return RUN_ANSWER_MISSING;
    case 401:
    case 403:
    case 405:
    case 422:
        return RUN_ANSWER_FORBIDDEN;
    case 409:
        return RUN_ANSWER_CONFLICT;
    default:
        return RUN_ANSWER_LOST;
    }
}

static void answered(void *ctx, const struct kube_response *response)
{
    struct exchange *x = ctx;
    struct run_object object = {.state = RUN_ILLEGIBLE};
    const enum run_answer answer = classify(response, &object);

    mutex_lock(&x->of->lock);
    x->answer = answer;
    x->object = object;
    x->under_way = false;
    condvar_broadcast(&x->of->changed);
    mutex_unlock(&x->of->lock);
}

static void submit(struct run_keeper *k, struct exchange *x, const struct kube_request *request)
{
    mutex_lock(&k->lock);
    BUG_ON(x->under_way);
    x->under_way = true;
    x->answer = RUN_ANSWER_LOST;
    mutex_unlock(&k->lock);
    if (kube_client_submit(k->o.client, request, answered, x, NULL) != 0) {
        mutex_lock(&k->lock);
        x->under_way = false;
        mutex_unlock(&k->lock);
    }
}

static void submit_get(struct run_keeper *k, struct exchange *x, void (*path_of)(struct str, struct strbuf *),
                       struct str object, const char *resource, uint32_t deadline_ms)
{
    struct kube_request request = {.method = "GET", .deadline_ms = deadline_ms, .verb = "get", .resource = resource};
    struct strbuf path;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    path_of(object, &path);
    request.path = path.p;
    submit(k, x, &request);
    strbuf_fini(&path);
}

static void submit_patch(struct run_keeper *k, struct exchange *x, const char *resource, const struct strbuf *path,
                         const struct strbuf *body, bool unelected, uint32_t deadline_ms)
{
    const struct kube_request request = {.method = "PATCH",
                                         .unelected = unelected,
                                         .path = path->p,
                                         .content_type = "application/merge-patch+json",
                                         .body = strbuf_view(body),
                                         .deadline_ms = deadline_ms,
                                         .verb = "patch",
                                         .resource = resource};

    submit(k, x, &request);
}

void run_keeper_write(struct run_keeper *k, enum run_state state, int64_t hold_off_ms, uint32_t deadline_ms)
{
    const struct run_entry e = {.state = state,
                                .process = k->claim.process,
                                .version = k->o.version,
                                .wake = k->wake,
                                .hold_off_ms = hold_off_ms};
    struct strbuf path, body;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    strbuf_init(&body, BODY_BYTES_MAX);
    run_object_path(k->o.run_object, &path);
    run_object_patch(&k->claim.seen, &e, clock_wall_ms(k->o.clock), &body);
    /* That it has ended is as true when another one leads already; and it never overwrites that one's claim. */
    submit_patch(k, &k->run, "configmaps", &path, &body, state == RUN_ENDED, deadline_ms);
    strbuf_fini(&path);
    strbuf_fini(&body);
}

void run_keeper_wake(struct run_keeper *k, uint32_t deadline_ms)
{
    struct strbuf path, body;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    strbuf_init(&body, WAKE_PATCH_MAX);
    wake_object_path(k->o.wake_object, &path);
    wake_object_patch(clock_wall_ms(k->o.clock), &body);
    submit_patch(k, &k->wake_read, "csistoragecapacities", &path, &body, false, deadline_ms);
    strbuf_fini(&path);
    strbuf_fini(&body);
}

bool run_keeper_wait(struct run_keeper *k)
{
    bool complete;

    mutex_lock(&k->lock);
    while ((k->run.under_way || k->wake_read.under_way) && !k->stopping) {
        condvar_wait(&k->changed, &k->lock);
    }
    complete = !k->run.under_way && !k->wake_read.under_way;
    mutex_unlock(&k->lock);
    return complete;
}

static void take_wake(struct run_keeper *k)
{
    if (k->wake_read.answer == RUN_ANSWER_OBJECT) {
        snprintf(k->wake, sizeof(k->wake), "%s", k->wake_read.object.revision);
    }
}

static void get_wake(struct run_keeper *k, uint32_t deadline_ms)
{
    submit_get(k, &k->wake_read, wake_object_path, k->o.wake_object, "csistoragecapacities", deadline_ms);
}

void run_keeper_get(struct run_keeper *k, uint32_t deadline_ms)
{
    submit_get(k, &k->run, run_object_path, k->o.run_object, "configmaps", deadline_ms);
}

void run_keeper_read_wake(struct run_keeper *k, uint32_t deadline_ms)
{
    get_wake(k, deadline_ms);
    (void)run_keeper_wait(k);
    take_wake(k);
}

bool run_keeper_ask(struct run_keeper *k, uint32_t deadline_ms)
{
    if (k->o.wake_object.n > 0 && k->wake[0] == '\0') {
        get_wake(k, deadline_ms);
    }
    run_keeper_get(k, deadline_ms);
    if (!run_keeper_wait(k)) {
        return false;
    }
    take_wake(k);
    return true;
}
