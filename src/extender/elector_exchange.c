#include "elector_internal.h"

#include "kube/transport.h"

enum { CALL_MS_MIN = 1000 };

static enum lease_answer classify(const struct kube_response *response, bool is_write, struct lease_record *ret,
                                  struct lease_kept *kept)
{
    const int status = response->outcome.http_status;

    if (response->outcome.kind != KUBE_ANSWERED) {
        return LEASE_ANSWER_LOST;
    }
    if (status == 404) {
        return is_write ? LEASE_ANSWER_LOST : LEASE_ANSWER_MISSING;
    }
    if (status == 409) {
        return LEASE_ANSWER_CONFLICT;
    }
    if (status != 200 && !(status == 201 && is_write)) {
        return LEASE_ANSWER_LOST;
    }
    /* A second copy that was answered says nothing of when the first took effect; but conditional writes take effect
     * once, so it is the one that was answered. */
    return lease_read(response->body, ret, kept, NULL) == 0 ? LEASE_ANSWER_OBJECT : LEASE_ANSWER_LOST;
}

static void answered(void *ctx, const struct kube_response *response)
{
    struct elector *e = ctx;
    struct lease_record object = {.duration_s = 0};
    struct lease_kept kept;
    enum lease_answer answer;

    lease_kept_init(&kept);
    answer = classify(response, e->step != LEASE_GET, &object, &kept);
    mutex_lock(&e->lock);
    lease_kept_fini(&e->object_kept);
    e->object_kept = kept;
    e->object = object;
    e->answer = answer;
    e->http_status = response->outcome.http_status;
    e->answered_ns = elector_boot_ns();
    e->under_way = false;
    condvar_broadcast(&e->changed);
    mutex_unlock(&e->lock);
}

static uint32_t call_ms(const struct elector *e)
{
    const int64_t half_ms = e->o.renew_deadline_ms / 2;

    if (e->o.follows) {
        return FOLLOW_CALL_MS;
    }
    return (uint32_t)(half_ms > CALL_MS_MIN ? half_ms : CALL_MS_MIN);
}

/* With the lock. A call may take far longer than somebody waits who stops. */
static bool has_given_up(const struct elector *e)
{
    return e->stopping && (!e->gives_back || elector_boot_ns() >= e->give_up_ns);
}

bool elector_exchange(struct elector *e, enum lease_step step)
{
    struct kube_request request = {.method = step == LEASE_GET      ? "GET"
                                             : step == LEASE_UPDATE ? "PUT"
                                                                    : "POST",
                                   .verb = step == LEASE_GET      ? "get"
                                           : step == LEASE_UPDATE ? "update"
                                                                  : "create",
                                   .resource = "leases",
                                   .deadline_ms = call_ms(e),
                                   .response_bytes_max = LEASE_BODY_MAX};
    struct strbuf path, body;
    bool complete;

    strbuf_init(&path, LEASE_PATH_MAX);
    strbuf_init(&body, LEASE_BODY_MAX);
    if (step == LEASE_CREATE) {
        lease_create_path(e->o.lease, &path);
    } else {
        lease_path(e->o.lease, &path);
    }
    if (step != LEASE_GET) {
        lease_body(e->o.lease, &e->machine.next, step == LEASE_UPDATE ? &e->kept : NULL, &body);
    }
    request.path = path.p;
    request.body = strbuf_view(&body);
    mutex_lock(&e->lock);
    e->under_way = true;
    e->answer = LEASE_ANSWER_LOST;
    e->http_status = 0;
    mutex_unlock(&e->lock);
    if (kube_client_submit(e->o.client, &request, answered, e, NULL) != 0) {
        mutex_lock(&e->lock);
        e->under_way = false;
        e->answered_ns = elector_boot_ns();
        mutex_unlock(&e->lock);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
    mutex_lock(&e->lock);
    while (e->under_way && !has_given_up(e)) {
        (void)condvar_wait_until(&e->changed, &e->lock,
                                 e->stopping ? sync_in_ns(e->give_up_ns - elector_boot_ns()) : INT64_MAX);
    }
    complete = !e->under_way;
    mutex_unlock(&e->lock);
    return complete;
}

/* Of the same answer nothing is said again. */
static void warn_of(struct elector *e, enum lease_answer answer, int http_status)
{
    const bool refused = http_status == 401 || http_status == 403;
    const bool again = e->last_answer == answer;

    e->last_answer = answer;
    if (again) {
        return;
    }
    if (answer == LEASE_ANSWER_LOST && refused && e->o.follows) {
        LOG_WARNING(
            e->o.log,
            "The API server refuses to show the Lease of the scheduler, so this replica never decides. Apply the "
            "Role fgpu-follow from manifests/dedicated, with this name",
            LOG_STR("lease", e->o.lease), LOG_I64("status", http_status));
    } else if (answer == LEASE_ANSWER_LOST && refused) {
        LOG_WARNING(
            e->o.log,
            "The API server refuses the Lease, so this replica is never elected. Apply the Role fgpu-lease from "
            "manifests/",
            LOG_STR("lease", e->o.lease), LOG_I64("status", http_status));
    } else if (answer == LEASE_ANSWER_LOST) {
        LOG_WARNING(e->o.log, "No answer about the Lease; trying on", LOG_STR("lease", e->o.lease),
                    LOG_I64("status", http_status));
    } else if (answer == LEASE_ANSWER_MISSING && e->o.follows) {
        LOG_INFO(e->o.log,
                 "There is no such Lease, so nobody decides. The first kube-scheduler that is elected makes it: "
                 "leaderElection in its file must name this one",
                 LOG_STR("lease", e->o.lease));
    }
}

void elector_take_answer(struct elector *e)
{
    struct lease_record object;
    enum lease_answer answer;
    int64_t at_ns;
    int status;

    mutex_lock(&e->lock);
    answer = e->answer;
    object = e->object;
    at_ns = e->answered_ns;
    status = e->http_status;
    if (answer == LEASE_ANSWER_OBJECT) {
        struct lease_kept other = e->kept;

        e->kept = e->object_kept;
        e->object_kept = other;
    }
    mutex_unlock(&e->lock);
    warn_of(e, answer, status);
    if (e->o.follows) {
        follow_machine_answered(&e->follow, answer, &object, at_ns);
        return;
    }
    lease_machine_answered(&e->machine, answer, &object, at_ns, (uint32_t)rng_below(&e->rng, 1U << 20));
}
