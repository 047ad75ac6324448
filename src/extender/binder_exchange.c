/* The two exchanges of a bind, POST and GET, and what their replies mean for it. Runs on the API client's
 * thread. */
#include "extender/binder_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "core/dialects/dialect.h"
#include "core/record/assignment.h"
#include "kube/binding.h"
#include "kube/objects.h"

#include <stdlib.h>

/* A POST waits for the server's own bound on its work, but not past our deadline. */
#define EXCHANGE_MS_MIN 50
#define GET_MS_MAX 2000
#define REPLY_ARENA_BYTES KUBE_OBJECT_ARENA_MAX

static const char TEXT_GONE[] = "the pod no longer exists";
static const char TEXT_ENDED[] = "the pod has ended";
static const char TEXT_UNREACHABLE[] = "the API server could not be reached: nothing was bound";
static const char TEXT_DELETING[] = "the pod is being deleted";
static const char TEXT_NO_ROOM[] = "fgpu has no room for another pod that uses GPUs; delete pods that are not needed, "
                                   "or that name nodes which do not exist";
static const char TEXT_TOLD_GONE[] = "the watch has told that the pod is gone, or asks for no GPU: nothing was bound";
static const char TEXT_UNREADABLE[] = "the pod cannot be read from the API server; see the log";

static uint32_t ms_left(const struct bind *b, int64_t max_ms)
{
    int64_t ms = (b->machine.deadline_ns - clock_mono_ns(b->binder->clock)) / NS_PER_MS;

    if (ms > max_ms || b->waiters == NULL) {
        ms = max_ms;
    }
    return (uint32_t)(ms < EXCHANGE_MS_MIN ? EXCHANGE_MS_MIN : ms);
}

/* ---- POST ---- */

/* Path and body, for the version of the pod that is to be bound. */
static bool write_post(struct bind *b)
{
    if (b->binding.pod_version == b->machine.version) {
        return true;
    }
    b->binding.pod_version = b->machine.version;
    strbuf_reset(&b->path);
    strbuf_reset(&b->body);
    return binding_request(&b->binding, b->kept_bytes, &b->path, &b->body, NULL) == 0;
}

static void posted(void *ctx, const struct kube_response *response)
{
    struct bind *b = ctx;
    struct binder *binder = b->binder;
    struct bind_answer answer = bind_classify(&response->outcome);
    struct bind_answer_due due = {0};

    mutex_lock(&binder->lock);
    b->busy = false;
    if (!binder->stopping && response->outcome.kind != KUBE_CANCELLED) {
        if (b->machine.resolution == BIND_OPEN) { /* else the watch was faster */
            bind_machine_posted(&b->machine, &answer, clock_mono_ns(binder->clock));
        }
        bind_advance(b, &due);
    }
    mutex_unlock(&binder->lock);
    bind_deliver(&due);
}

bool bind_send_post(struct bind *b)
{
    struct kube_request request = {
        .method = "POST",
        .deadline_ms = ms_left(b, (BINDING_TIMEOUT_S + 1) * 1000),
        .verb = "create",
        .resource = "pods/binding",
    };

    BUG_ON(!write_post(b)); /* bind_holds() has looked at all that it depends on */
    request.path = b->path.p;
    request.body = strbuf_view(&b->body);
    b->busy = kube_client_submit(b->binder->client, &request, posted, b, NULL) == 0;
    return b->busy;
}

/* ---- GET ---- */

struct got_pod {
    enum bind_sight_kind kind;
    bool passing; /* NOTHING: another try may succeed */
    int64_t retry_after_ms;
    bool has_pod; /* the pod that was asked for */
    struct pod pod;
    struct store_looked looked; /* of a pod that is fetched */
};

static bool record_is_ours(const struct bind *b, const struct pod *pod, struct arena *a)
{
    struct assignment record;

    if (!b->reserved) {
        return true; /* no record was sent: the node is all there is */
    }
    return dialect_native.parse_assignment(pod->annotations, a, &record, NULL) == 0 &&
           str_eq(record.id, str_of(b->decision_id));
}

/* 401: the token is read again for the next request. */
static bool is_passing(int http_status)
{
    return http_status == 401 || http_status == 429 || http_status >= 500;
}

static void read_reply(const struct bind *b, const struct kube_response *response, struct arena *a, struct got_pod *ret)
{
    struct json_reader *r;

    *ret = (struct got_pod){.kind = BIND_SEEN_NOTHING, .passing = true};
    if (response->outcome.kind != KUBE_ANSWERED) {
        return;
    }
    if (response->outcome.http_status == 404) {
        ret->kind = BIND_SEEN_GONE;
        return;
    }
    ret->passing = is_passing(response->outcome.http_status);
    ret->retry_after_ms = response->outcome.retry_after_ms;
    r = arena_alloc(a, sizeof(*r));
    if (response->outcome.http_status != 200 || r == NULL ||
        kube_parse_pod(r, response->body, a, &ret->pod, NULL) != 0) {
        return;
    }
    ret->has_pod = str_eq(ret->pod.uid, b->request.pod_uid);
    if (!ret->has_pod) {
        ret->kind = BIND_SEEN_GONE;
    } else if (ret->pod.node_name.n == 0) {
        ret->kind = BIND_SEEN_UNBOUND;
    } else if (!str_eq(ret->pod.node_name, b->request.node_name)) {
        ret->kind = BIND_SEEN_ELSEWHERE;
    } else {
        ret->kind = record_is_ours(b, &ret->pod, a) ? BIND_SEEN_OURS : BIND_SEEN_OTHER_RECORD;
    }
}

/* Does the pod ask for GPUs, and is not in the ledger, which had no room for it (core/ledger/ledger.h, turned away)? It
 * must not be taken for one that asks for none. */
static bool was_turned_away(const struct bind *b, struct arena *a, const struct pod *pod)
{
    struct demand asked;

    return pod->node_name.n == 0 && !pod_is_terminal(pod) &&
           (!dialect_demand(b->rules->placement.policy, pod, a, &asked) || !demand_is_empty(&asked)) &&
           !store_knows_pod(b->binder->store, b->request.pod_uid);
}

/* While another configuration waits for its lists (extender/policy_set.h): does the pod ask for the same by that one?
 * The ledger reads pods by it already, and may not have counted by it who runs. What is in effect is taken now: since
 * the bind began it may have become another one, and pods were bound by that. */
static bool asks_for_the_same(const struct bind *b, struct arena *a, const struct pod *pod, struct store_looked *ret)
{
    const uint64_t transition = store_transition(b->binder->store); /* first: who announces later begins another one */
    const struct rules *current = policy_set_take(b->binder->policies);
    const struct rules *newest = policy_set_take_newest(b->binder->policies);
    struct demand now, to_come;
    const bool same = dialect_demand(current->placement.policy, pod, a, &now) &&
                      dialect_demand(newest->placement.policy, pod, a, &to_come) && demand_equal(&now, &to_come);

    *ret = (struct store_looked){transition, same ? demand_copy_to(&now, a) : NULL};
    rules_put(current);
    rules_put(newest);
    return same || transition == 0;
}

/* What a GET has shown goes into the ledger, which then says what is charged; without the binder's lock, because
 * the ledger tells the binder of reserved pods. A pod whose end the watch has shown meanwhile stays ended. NULL, or why
 * it is not taken in. */
static const char *take_in(struct bind *b, struct arena *a, struct got_pod *got)
{
    struct err why = {0};

    if (!got->has_pod || (b->reserved && !store_knows_pod(b->binder->store, b->request.pod_uid))) {
        return NULL;
    }
    if (policy_set_observe(b->binder->policies, a, &got->pod, &why) != 0) {
        LOG_WARNING(b->binder->log, "Cannot take in a pod", LOG_STR("namespace", b->request.pod_namespace),
                    LOG_STR("pod", b->request.pod_name), LOG_CSTR("err", why.msg));
        return TEXT_UNREADABLE;
    }
    if (b->fetching && !asks_for_the_same(b, a, &got->pod, &got->looked)) {
        return BIND_TEXT_TRANSITION;
    }
    if (was_turned_away(b, a, &got->pod)) {
        return store_was_told(b->binder->store, pod_version(&got->pod)) ? TEXT_TOLD_GONE : TEXT_NO_ROOM;
    }
    return NULL;
}

static void fetch_again(struct bind *b, const struct got_pod *got, struct bind_answer_due *due)
{
    int64_t pause_ns = bind_pause_ns(b->fetch_failed_n++);

    if (pause_ns < got->retry_after_ms * NS_PER_MS) {
        pause_ns = got->retry_after_ms * NS_PER_MS;
    }
    b->fetch_at_ns = clock_mono_ns(b->binder->clock) + pause_ns;
    if (b->waiters == NULL || b->fetch_at_ns >= b->machine.deadline_ns) {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_UNREACHABLE, due);
    } else {
        bind_wake_at(b->binder, b->fetch_at_ns);
    }
}

/* The pod that the ledger did not know: tell it, then begin again. */
static void fetched(struct bind *b, const struct got_pod *got, const char *not_taken_in, struct bind_answer_due *due)
{
    if (got->kind == BIND_SEEN_GONE) {
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_GONE, due);
    } else if (got->kind == BIND_SEEN_NOTHING && got->passing) {
        fetch_again(b, got, due);
    } else if (got->kind == BIND_SEEN_NOTHING) {
        LOG_WARNING(b->binder->log, "Cannot read a pod", LOG_STR("namespace", b->request.pod_namespace),
                    LOG_STR("pod", b->request.pod_name));
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_UNREADABLE, due);
    } else if (not_taken_in != NULL) {
        bind_settle(b, BIND_OUTCOME_REFUSED, not_taken_in, due);
    } else if (pod_is_terminal(&got->pod)) { /* the ledger does not keep it, as one that asks for nothing (F157) */
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_ENDED, due);
    } else if (got->pod.deleting && got->kind == BIND_SEEN_UNBOUND) {
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_DELETING, due);
    } else if (!dialect_leftovers(got->pod.annotations, &b->record, &b->leftovers)) {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_UNREADABLE, due);
    } else {
        b->looked = got->looked;
        b->looked.demand = got->looked.demand != NULL ? demand_copy_to(got->looked.demand, &b->record) : NULL;
        b->names_ours = dialect_claims_pod(b->rules->placement.policy, &got->pod);
        b->machine.version = pod_version(&got->pod);
        bind_begin(b, due);
    }
}

/* Does the Binding of a pod without GPUs overwrite what the pod carries of an earlier answer? The ledger knows that of
 * a pod with GPUs. */
static bool overwrites_leftovers(const struct bind *b, const struct got_pod *got, struct arena *a)
{
    struct str leftovers;

    return b->reserved || (dialect_leftovers(got->pod.annotations, a, &leftovers) && str_eq(leftovers, b->leftovers));
}

/* What the pod on its way looked like. What the ledger could not take in must not end a reservation on that node. */
static struct bind_sight sight_of(struct bind *b, const struct got_pod *got, bool taken_in, struct arena *a)
{
    struct bind_sight sight = {.kind = got->kind};
    uint64_t watched = 0;

    if (!taken_in && got->kind == BIND_SEEN_OTHER_RECORD) {
        sight.kind = BIND_SEEN_NOTHING;
    } else if (got->kind == BIND_SEEN_UNBOUND) {
        sight.version = pod_version(&got->pod);
        if (store_binding_seen(b->binder->store, b->request.pod_uid, b->request.node_name, str_of(b->decision_id),
                               &watched) == STORE_SEEN_UNBOUND &&
            watched > sight.version) {
            sight.version = watched; /* the watch was faster */
        }
        sight.versions_hold = binder_versions_hold(b->binder);
        sight.as_decided =
            taken_in && !got->pod.deleting && overwrites_leftovers(b, got, a) && bind_holds(b, sight.version);
    }
    return sight;
}

static void got(void *ctx, const struct kube_response *response)
{
    struct bind *b = ctx;
    struct binder *binder = b->binder;
    struct bind_answer_due due = {0};
    struct got_pod reply;
    const char *not_taken_in;
    struct arena a;

    arena_init(&a, REPLY_ARENA_BYTES);
    read_reply(b, response, &a, &reply);
    not_taken_in = take_in(b, &a, &reply);
    mutex_lock(&binder->lock);
    b->busy = false;
    if (!binder->stopping && response->outcome.kind != KUBE_CANCELLED) {
        if (b->fetching) {
            fetched(b, &reply, not_taken_in, &due);
        } else {
            if (b->machine.resolution == BIND_OPEN) {
                struct bind_sight sight = sight_of(b, &reply, not_taken_in == NULL, &a);

                bind_machine_seen(&b->machine, &sight, clock_mono_ns(binder->clock));
            }
            bind_advance(b, &due);
        }
    }
    mutex_unlock(&binder->lock);
    bind_deliver(&due);
    arena_fini(&a);
}

bool bind_send_get(struct bind *b)
{
    struct kube_request request = {
        .method = "GET",
        .deadline_ms = ms_left(b, GET_MS_MAX),
        .response_bytes_max = KUBE_OBJECT_JSON_MAX,
        .verb = "get",
        .resource = "pods",
    };

    if (b->get_path.n == 0 && kube_pod_path(b->request.pod_namespace, b->request.pod_name, &b->get_path, NULL) != 0) {
        return false;
    }
    request.path = b->get_path.p;
    b->busy = kube_client_submit(b->binder->client, &request, got, b, NULL) == 0;
    return b->busy;
}
