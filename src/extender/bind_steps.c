#include "extender/binder_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "core/dialects/dialect.h"
#include "core/record/assignment.h"
#include "extender/notices.h"
#include "extender/record.h"
#include "extender/verifier.h"
#include "kube/binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIND_ARENA_BYTES (4U * 1024 * 1024)
#define BIND_PATH_BYTES_MAX 2048

const char BIND_TEXT_OTHER[] = "an earlier bind of this pod is not resolved yet; try again";
const char BIND_TEXT_OVERLOADED[] = "too many binds are in flight; try again";
const char BIND_TEXT_TRANSITION[] =
    "another configuration is being taken into use, by which the pod may ask for something else; try again";
static const char TEXT_ELSEWHERE[] = "the pod is already bound by somebody else";
static const char TEXT_RECORD[] = "the assignment does not fit the pod's annotations";
static const char TEXT_NODE[] = "the node is not known to fgpu";
static const char TEXT_NOT_OURS[] =
    "the pod asks for no GPU; set serving.bindsAllPods if managedResources of the scheduler is empty";
static const char TEXT_DELETING[] = "the pod is being deleted";

static void new_decision_id(struct bind *b)
{
    snprintf(b->decision_id, sizeof(b->decision_id), "%016" PRIx64, rng_u64(&b->binder->rng));
}

struct bind *bind_new(struct binder *binder, const struct bind_request *r)
{
    struct bind *b = xcalloc(1, sizeof(*b));
    char *at;

    b->binder = binder;
    b->rules = policy_set_take(binder->policies);
    b->text = xmalloc(r->pod_name.n + r->pod_namespace.n + r->pod_uid.n + r->node_name.n);
    at = b->text;
    b->request.pod_name = str_put(&at, r->pod_name);
    b->request.pod_namespace = str_put(&at, r->pod_namespace);
    b->request.pod_uid = str_put(&at, r->pod_uid);
    b->request.node_name = str_put(&at, r->node_name);
    new_decision_id(b);
    strbuf_init(&b->path, BIND_PATH_BYTES_MAX);
    strbuf_init(&b->body, BINDING_BODY_MAX);
    strbuf_init(&b->get_path, BIND_PATH_BYTES_MAX);
    arena_init(&b->record, BIND_ARENA_BYTES);
    bind_machine_init(&b->machine, 0, clock_mono_ns(binder->clock) + binder->options.deadline_ms * NS_PER_MS);
    b->next = binder->binds;
    if (b->next != NULL) {
        b->next->prev = b;
    }
    binder->binds = b;
    binder->bind_n++;
    return b;
}

static void bind_free(struct bind *b)
{
    struct binder *binder = b->binder;

    BUG_ON(b->waiters != NULL || b->busy);
    if (b->prev != NULL) {
        b->prev->next = b->next;
    } else {
        binder->binds = b->next;
    }
    if (b->next != NULL) {
        b->next->prev = b->prev;
    }
    binder->bind_n--;
    if (binder->bind_n == 0) {
        condvar_broadcast(&binder->idle);
    }
    strbuf_fini(&b->path);
    strbuf_fini(&b->body);
    strbuf_fini(&b->get_path);
    arena_fini(&b->record);
    rules_put(b->rules);
    free(b->text);
    free(b);
}

void bind_add_waiter(struct bind *b, bind_done_fn *done, void *ctx)
{
    struct bind_waiter *w = xmalloc(sizeof(*w));

    *w = (struct bind_waiter){done, ctx, b->waiters};
    b->waiters = w;
}

void bind_answer(struct bind *b, enum bind_outcome outcome, const char *error, struct bind_answer_due *due)
{
    *due = (struct bind_answer_due){.waiters = b->waiters, .outcome = outcome, .error = error};
    if (b->reserved || outcome == BIND_OUTCOME_NO_FIT) {
        memcpy(due->decision_id, b->decision_id, sizeof(due->decision_id));
    }
    b->waiters = NULL;
}

void bind_deliver(struct bind_answer_due *due)
{
    while (due->waiters != NULL) {
        struct bind_waiter *w = due->waiters;

        due->waiters = w->next;
        w->done(w->ctx, due->outcome, due->error, due->decision_id);
        free(w);
    }
}

void bind_settle(struct bind *b, enum bind_outcome outcome, const char *error, struct bind_answer_due *due)
{
    bind_answer(b, outcome, error, due);
    bind_free(b);
}

static int apply_reservation_op(struct bind *b, enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind, .name = b->request.pod_uid};

    return store_apply(b->binder->store, &op, NULL);
}

/* The API server settled the Binding. The ledger may have forgotten the pod meanwhile, if it is
 * gone: then there is nothing left to confirm or release. */
static void bind_end(struct bind *b, struct bind_answer_due *due)
{
    bool bound = b->machine.resolution == BIND_CONFIRMED;
    const char *error;

    if (b->reserved && b->machine.resolution != BIND_SUPERSEDED) {
        (void)apply_reservation_op(b, bound ? LEDGER_CONFIRM : LEDGER_RELEASE);
    }
    if (bind_machine_take_answer(&b->machine, &error)) {
        bind_answer(b, bound ? BIND_OUTCOME_BOUND : BIND_OUTCOME_REFUSED, error, due);
    } else if (b->told_unknown) {
        LOG_INFO(b->binder->log, "Resolved a binding whose outcome was unknown",
                 LOG_STR("namespace", b->request.pod_namespace), LOG_STR("pod", b->request.pod_name),
                 LOG_STR("node", b->request.node_name), LOG_CSTR("decision", b->decision_id),
                 LOG_CSTR("outcome", bound ? "bound" : "not bound"));
        notice_bind_resolved(b->rules->ingest.events, &b->request, b->reserved ? b->decision_id : "", bound);
    }
    bind_free(b);
}

/* Does the ledger know something that the machine does not? */
static bool seen_by_watch(struct bind *b, struct bind_sight *ret)
{
    uint64_t version = 0;

    if (!b->reserved || b->machine.resolution != BIND_OPEN) {
        return false;
    }
    switch (store_binding_seen(b->binder->store, b->request.pod_uid, b->request.node_name, str_of(b->decision_id),
                               &version)) {
    case STORE_SEEN_NOTHING:
        return false;
    case STORE_SEEN_BOUND:
        *ret = (struct bind_sight){.kind = BIND_SEEN_OURS};
        return true;
    case STORE_SEEN_OTHER:
        *ret = (struct bind_sight){.kind = BIND_SEEN_OTHER_RECORD};
        return true;
    case STORE_SEEN_UNBOUND:
        break;
    }
    *ret = (struct bind_sight){
        .kind = BIND_SEEN_UNBOUND, .version = version, .versions_hold = binder_versions_hold(b->binder)};
    if (b->busy || !bind_machine_is_settled_by(&b->machine, ret)) {
        return false;
    }
    ret->as_decided = bind_holds(b, version);
    return true;
}

void bind_advance(struct bind *b, struct bind_answer_due *due)
{
    struct binder *binder = b->binder;
    int64_t now_ns = clock_mono_ns(binder->clock);
    struct bind_sight sight;
    const char *error;

    if (bind_machine_expire(&b->machine, now_ns, &error)) {
        b->told_unknown = true;
        bind_answer(b, BIND_OUTCOME_UNKNOWN, error, due);
    }
    while (!b->busy && b->intent == BIND_INTENT_NONE) {
        switch (bind_machine_next(&b->machine, now_ns)) {
        case BIND_POST:
            error = bind_intent_obstacle(b);
            if (error != NULL) {
                bind_machine_posted(&b->machine, &(struct bind_answer){.reply = BIND_REFUSED, .reason = error}, now_ns);
            } else if (bind_has_intent(b) && !bind_send_post(b)) {
                bind_machine_posted(&b->machine, &(struct bind_answer){.reply = BIND_NOT_SENT}, now_ns);
            }
            break;
        case BIND_GET:
            if (!bind_send_get(b)) {
                bind_machine_seen(&b->machine, &(struct bind_sight){.kind = BIND_SEEN_NOTHING}, now_ns);
            }
            break;
        case BIND_WAIT:
            if (seen_by_watch(b, &sight)) {
                bind_machine_seen(&b->machine, &sight, now_ns);
                break;
            }
            bind_wake_at(binder, b->machine.wake_ns);
            if (b->waiters != NULL) {
                bind_wake_at(binder, b->machine.deadline_ns);
            }
            return;
        case BIND_END:
            bind_end(b, due);
            return;
        }
    }
    if (b->waiters != NULL) {
        bind_wake_at(binder, b->machine.deadline_ns);
    }
}

/* The annotations of the Binding: the record, signed, what the node's hand-off reads, and what the runtime must have.
 */
static int write_record(struct bind *b, const struct store_reservation *r, struct kv_list *ret, struct err *reterr)
{
    struct assignment as = r->assignment;
    int rc = record_sign(b->rules->ingest.signing, &as, b->request.pod_uid, b->request.node_name, &b->record, reterr);

    if (rc == 0) {
        record_remember(b->rules->ingest.signing, &as, b->request.pod_uid, b->request.node_name, &b->record);
        rc = dialect_answer(&as, &b->record, ret, reterr);
    }
    if (rc == 0 && as.needs_agent && as.container_n > 0) {
        rc = dialect_require_agent(ret, r->leftovers, &b->record, reterr);
    }
    return rc == 0 ? dialect_blank(ret, r->leftovers, true, &b->record, reterr) : rc;
}

/* The Binding, and its first path and body; false when the record cannot be written. */
static bool prepare(struct bind *b, const struct store_reservation *r)
{
    struct err why;

    b->binding = (struct binding){.namespace_ = b->request.pod_namespace,
                                  .pod_name = b->request.pod_name,
                                  .pod_uid = b->request.pod_uid,
                                  .pod_version = b->machine.version,
                                  .node_name = b->request.node_name};
    b->kept_bytes = r == NULL ? 0 : r->annotation_bytes;
    if ((r == NULL ? dialect_blank(&b->binding.annotations, b->leftovers, false, &b->record, &why)
                   : write_record(b, r, &b->binding.annotations, &why)) == 0 &&
        binding_request(&b->binding, b->kept_bytes, &b->path, &b->body, &why) == 0) {
        return true;
    }
    LOG_WARNING(b->binder->log, "Cannot write an assignment", LOG_STR("namespace", b->request.pod_namespace),
                LOG_STR("pod", b->request.pod_name), LOG_CSTR("err", why.msg));
    return false;
}

static void begin_reserved(struct bind *b, const struct store_reservation *r, struct bind_answer_due *due)
{
    b->machine.version = r->version;
    if (prepare(b, r)) {
        b->reserved = true;
        bind_advance(b, due);
        return;
    }
    (void)apply_reservation_op(b, LEDGER_RELEASE); /* nothing was sent */
    bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
}

/* A pod that asks for no GPU: bound as the default binder would, without a record. */
static void begin_without_demand(struct bind *b, struct bind_answer_due *due)
{
    if (!b->names_ours && !b->binder->options.binds_all_pods) {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_NOT_OURS, due);
    } else if (!store_has_node(b->binder->store, b->request.node_name)) {
        bind_settle(b, BIND_OUTCOME_NO_FIT, TEXT_NODE, due);
    } else if (prepare(b, NULL)) {
        bind_advance(b, due);
    } else {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
    }
}

void bind_fetch(struct bind *b, struct bind_answer_due *due)
{
    if (!bind_send_get(b)) {
        bind_settle(b, BIND_OUTCOME_OVERLOADED, BIND_TEXT_OVERLOADED, due);
    }
}

/* store_reserve() by records of the node that have been verified. One that comes before the devices are chosen is
 * verified, too: it might be refuted afterwards, by whomever. */
static enum store_reserve_result reserve_on_verified(struct bind *b, struct store_reservation *r, struct err *why)
{
    enum { TRIES = 8 };
    const struct bind_request *q = &b->request;
    const struct ingest *in = &b->rules->ingest;

    for (int i = 0; i < TRIES && verify_records(in, q->node_name); i++) {
        const enum store_reserve_result result =
            store_reserve(b->binder->store, &b->record, q->pod_uid, q->pod_namespace, q->pod_name, q->node_name,
                          str_of(b->decision_id), &b->rules->placement.plans, &b->looked, r, why);

        if (result != STORE_UNVERIFIED) {
            return result;
        }
    }
    err_set(why, ERR_UNAVAILABLE, "records of this node keep changing and cannot be verified");
    return STORE_FAILED;
}

static void fetch_first(struct bind *b, struct bind_answer_due *due)
{
    b->fetching = true;
    bind_fetch(b, due);
}

void bind_begin(struct bind *b, struct bind_answer_due *due)
{
    const struct bind_request *q = &b->request;
    struct store_reservation r = {0};
    struct err why = {0};
    const bool fetched = b->fetching;

    b->fetching = false;
    if (!bind_node_is_ready(b)) {
        return;
    }
    switch (reserve_on_verified(b, &r, &why)) {
    case STORE_RESERVED:
        begin_reserved(b, &r, due);
        break;
    case STORE_UNKNOWN_POD:
        if (fetched) {
            begin_without_demand(b, due);
        } else {
            fetch_first(b, due);
        }
        break;
    case STORE_TRANSITION:
        if (fetched) { /* another file came since, or the ledger has the pod by one that was given up */
            bind_settle(b, BIND_OUTCOME_REFUSED, BIND_TEXT_TRANSITION, due);
        } else {
            fetch_first(b, due);
        }
        break;
    case STORE_NOT_READY:
        bind_settle(b, BIND_OUTCOME_NOT_READY, r.not_ready, due);
        break;
    case STORE_ALREADY_BOUND:
        bind_settle(b, BIND_OUTCOME_BOUND, NULL, due);
        break;
    case STORE_BOUND_ELSEWHERE:
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_ELSEWHERE, due);
        break;
    case STORE_IN_FLIGHT:
        /* A reservation without a bind of ours: its process-local owner was settled by an error. */
        bind_settle(b, BIND_OUTCOME_CONFLICT, BIND_TEXT_OTHER, due);
        break;
    case STORE_DELETING:
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_DELETING, due);
        break;
    case STORE_NO_FIT:
        bind_settle(b, BIND_OUTCOME_NO_FIT, verdict_text(r.verdict), due);
        break;
    case STORE_DEFECT:
        bind_settle(b, BIND_OUTCOME_NO_FIT, demand_defect_text(r.defect), due);
        break;
    case STORE_UNVERIFIED:
        BUG("a record that waits was verified");
    case STORE_FAILED:
        LOG_ERROR(b->binder->log, "A reservation failed", LOG_STR("pod", q->pod_name), LOG_CSTR("err", why.msg));
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
        break;
    }
}

void bind_decide_again(struct bind *b, struct bind_answer_due *due)
{
    const int64_t deadline_ns = b->machine.deadline_ns;

    (void)apply_reservation_op(b, LEDGER_RELEASE);
    if (b->waiters == NULL) {
        bind_free(b);
        return;
    }
    b->reserved = false;
    b->looked = (struct store_looked){0};
    arena_reset(&b->record);
    strbuf_reset(&b->path);
    strbuf_reset(&b->body);
    new_decision_id(b);
    bind_machine_init(&b->machine, 0, deadline_ns);
    bind_begin(b, due);
}

bool bind_holds(struct bind *b, uint64_t version)
{
    size_t kept_bytes;

    if (!b->reserved) {
        return !store_knows_pod(b->binder->store, b->request.pod_uid); /* it still asks for no GPU */
    }
    if (store_not_ready(b->binder->store) != NULL ||
        !store_reservation_holds(b->binder->store, b->request.pod_uid, version, &kept_bytes) ||
        kept_bytes + binding_kept_bytes(b->binding.annotations, (struct kv_list){0}) > POD_ANNOTATION_BYTES_MAX) {
        return false;
    }
    b->kept_bytes = kept_bytes;
    return true;
}

void bind_resolve_by_watch(struct bind *b, struct bind_answer_due *due)
{
    struct bind_sight sight;
    const char *error;

    b->news = false;
    if (!seen_by_watch(b, &sight)) {
        return;
    }
    bind_machine_seen(&b->machine, &sight, clock_mono_ns(b->binder->clock));
    if (b->machine.resolution != BIND_OPEN) {
        b->intent = BIND_INTENT_NONE; /* whether it is written or not: it stands for nothing any more */
    }
    if (!b->busy) {
        bind_advance(b, due);
    } else if (bind_machine_take_answer(&b->machine, &error)) {
        bind_answer(b, sight.kind == BIND_SEEN_OURS ? BIND_OUTCOME_BOUND : BIND_OUTCOME_REFUSED, error, due);
    }
}
