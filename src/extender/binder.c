#include "extender/binder_internal.h"

#include "base/bug.h"
#include "core/assignment.h"
#include "extender/notices.h"
#include "kube/binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BIND_ARENA_BYTES (4U * 1024 * 1024)
#define BIND_PATH_BYTES_MAX 2048

static const char TEXT_OTHER_BIND[] = "an earlier bind of this pod is not resolved yet; try again";
static const char TEXT_OVERLOADED[] = "too many binds are in flight; try again";
static const char TEXT_FETCH[] = "the API server did not answer in time: nothing was bound";
static const char TEXT_ELSEWHERE[] = "the pod is already bound by somebody else";
static const char TEXT_STOPPING[] = "fgpu is stopping; the outcome is read again at the next start";
static const char TEXT_RECORD[] = "the assignment does not fit the pod's annotations";
static const char TEXT_NODE[] = "the node is not known to fgpu";

const char *bind_outcome_name(enum bind_outcome o)
{
    static const char *const names[BIND_OUTCOME__MAX] = {
        [BIND_OUTCOME_BOUND] = "bound",           [BIND_OUTCOME_NO_FIT] = "no_fit",
        [BIND_OUTCOME_CONFLICT] = "conflict",     [BIND_OUTCOME_REFUSED] = "refused",
        [BIND_OUTCOME_UNKNOWN] = "unknown",       [BIND_OUTCOME_OVERLOADED] = "overloaded",
        [BIND_OUTCOME_NOT_READY] = "not_ready",
    };

    BUG_ON(o >= BIND_OUTCOME__MAX);
    return names[o];
}

/* ---- one bind ---- */

static struct str put(char **at, struct str s)
{
    struct str copy = {*at, s.n};

    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static struct bind *bind_new(struct binder *binder, const struct bind_request *r)
{
    struct bind *b = xcalloc(1, sizeof(*b));
    char *at;

    b->binder = binder;
    b->rules = rulebook_take(binder->book);
    b->text = xmalloc(r->pod_name.n + r->pod_namespace.n + r->pod_uid.n + r->node_name.n);
    at = b->text;
    b->request.pod_name = put(&at, r->pod_name);
    b->request.pod_namespace = put(&at, r->pod_namespace);
    b->request.pod_uid = put(&at, r->pod_uid);
    b->request.node_name = put(&at, r->node_name);
    snprintf(b->decision_id, sizeof(b->decision_id), "%016" PRIx64, rng_u64(&binder->rng));
    strbuf_init(&b->path, BIND_PATH_BYTES_MAX);
    strbuf_init(&b->body, BINDING_BODY_MAX);
    strbuf_init(&b->get_path, BIND_PATH_BYTES_MAX);
    bind_machine_init(&b->machine,
                      clock_mono_ns(binder->clock) + binder->options.deadline_ms * 1000000);
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
    strbuf_fini(&b->path);
    strbuf_fini(&b->body);
    strbuf_fini(&b->get_path);
    rules_put(b->rules);
    free(b->text);
    free(b);
}

static void add_waiter(struct bind *b, bind_done_fn *done, void *ctx)
{
    struct bind_waiter *w = xmalloc(sizeof(*w));

    *w = (struct bind_waiter){done, ctx, b->waiters};
    b->waiters = w;
}

static void answer(struct bind *b, enum bind_outcome outcome, const char *error,
                   struct bind_answer_due *due)
{
    *due = (struct bind_answer_due){b->waiters, outcome, error};
    b->waiters = NULL;
}

void bind_deliver(struct bind_answer_due *due)
{
    while (due->waiters != NULL) {
        struct bind_waiter *w = due->waiters;

        due->waiters = w->next;
        w->done(w->ctx, due->outcome, due->error);
        free(w);
    }
}

void bind_settle(struct bind *b, enum bind_outcome outcome, const char *error,
                 struct bind_answer_due *due)
{
    answer(b, outcome, error, due);
    bind_free(b);
}

static int apply(struct bind *b, enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind, .name = b->request.pod_uid};

    return store_apply(b->binder->store, &op, NULL);
}

/* The API server settled the Binding. The ledger may have forgotten the pod meanwhile, if it is gone: then
 * there is nothing left to confirm or release. */
static void bind_end(struct bind *b, struct bind_answer_due *due)
{
    bool bound = b->machine.resolution == BIND_CONFIRMED;
    const char *error;

    if (b->reserved) {
        (void)apply(b, bound ? LEDGER_CONFIRM : LEDGER_RELEASE);
    }
    store_unhold(b->binder->store, b->request.pod_uid);
    if (bind_machine_take_answer(&b->machine, &error)) {
        answer(b, bound ? BIND_OUTCOME_BOUND : BIND_OUTCOME_REFUSED, error, due);
    } else if (b->told_unknown) {
        LOG_INFO(b->binder->log, "Resolved a binding whose outcome was unknown",
                 LOG_STR("namespace", b->request.pod_namespace), LOG_STR("pod", b->request.pod_name),
                 LOG_STR("node", b->request.node_name), LOG_CSTR("decision", b->decision_id),
                 LOG_CSTR("outcome", bound ? "bound" : "not bound"));
        notice_bind_resolved(b->rules->ingest.events, &b->request, bound);
    }
    bind_free(b);
}

void bind_wake_at(struct binder *b, int64_t at_ns)
{
    if (at_ns < b->wake_ns) {
        b->wake_ns = at_ns;
        BUG_ON(pthread_cond_signal(&b->wake) != 0);
    }
}

void bind_advance(struct bind *b, struct bind_answer_due *due)
{
    struct binder *binder = b->binder;
    int64_t now_ns = clock_mono_ns(binder->clock);
    const char *error;

    if (bind_machine_expire(&b->machine, now_ns, &error)) {
        b->told_unknown = true;
        answer(b, BIND_OUTCOME_UNKNOWN, error, due);
    }
    while (!b->busy) {
        switch (bind_machine_next(&b->machine, now_ns)) {
        case BIND_POST:
            if (!bind_send_post(b)) {
                bind_machine_posted(&b->machine, &(struct bind_answer){.reply = BIND_NOT_SENT}, now_ns);
            }
            break;
        case BIND_GET:
            if (!bind_send_get(b)) {
                bind_machine_got(&b->machine, BIND_GET_FAILED, now_ns);
            }
            break;
        case BIND_WAIT:
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

/* Path and body of the POST; false when the record cannot be written. */
static bool prepare(struct bind *b, struct arena *a, const struct store_reservation *r)
{
    struct binding binding = {.namespace_ = b->request.pod_namespace,
                              .pod_name = b->request.pod_name,
                              .pod_uid = b->request.pod_uid,
                              .node_name = b->request.node_name};
    struct err why;

    if ((r == NULL || assignment_format(&r->assignment, r->qos, a, &binding.annotations, &why) == 0) &&
        binding_request(&binding, r == NULL ? 0 : r->annotation_bytes, &b->path, &b->body, &why) == 0) {
        return true;
    }
    LOG_WARNING(b->binder->log, "Cannot write an assignment", LOG_STR("namespace", b->request.pod_namespace),
                LOG_STR("pod", b->request.pod_name), LOG_CSTR("err", why.msg));
    return false;
}

static void begin_reserved(struct bind *b, struct arena *a, const struct store_reservation *r,
                           struct bind_answer_due *due)
{
    if (prepare(b, a, r)) {
        b->reserved = true;
        bind_advance(b, due);
        return;
    }
    (void)apply(b, LEDGER_RELEASE); /* nothing was sent */
    bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
}

/* A pod that asks for no GPU: bound as the default binder would, without a record. */
static void begin_without_demand(struct bind *b, struct bind_answer_due *due)
{
    if (!store_has_node(b->binder->store, b->request.node_name)) {
        bind_settle(b, BIND_OUTCOME_NO_FIT, TEXT_NODE, due);
    } else if (prepare(b, NULL, NULL)) {
        bind_advance(b, due);
    } else {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
    }
}

static void fetch(struct bind *b, struct bind_answer_due *due)
{
    if (!bind_send_get(b)) {
        bind_settle(b, BIND_OUTCOME_OVERLOADED, TEXT_OVERLOADED, due);
    }
}

static void begin_unknown(struct bind *b, bool fetched, struct bind_answer_due *due)
{
    if (fetched) {
        begin_without_demand(b, due);
        return;
    }
    b->fetching = true;
    fetch(b, due);
}

void bind_begin(struct bind *b, struct bind_answer_due *due)
{
    const struct bind_request *q = &b->request;
    struct store_reservation r = {0};
    struct err why = {0};
    struct arena a;
    bool fetched = b->fetching;
    enum store_reserve_result result;

    arena_init(&a, BIND_ARENA_BYTES);
    b->fetching = false;
    result = store_reserve(b->binder->store, &a, q->pod_uid, q->pod_namespace, q->pod_name,
                           q->node_name, str_of(b->decision_id), &b->rules->placement.plans, &r,
                           &why);
    switch (result) {
    case STORE_RESERVED:
        begin_reserved(b, &a, &r, due);
        break;
    case STORE_UNKNOWN_POD:
        begin_unknown(b, fetched, due);
        break;
    case STORE_ALREADY_BOUND:
        bind_settle(b, BIND_OUTCOME_BOUND, NULL, due);
        break;
    case STORE_BOUND_ELSEWHERE:
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_ELSEWHERE, due);
        break;
    case STORE_IN_FLIGHT:
        /* A reservation without a bind of ours: its process-local owner was settled by an error. */
        bind_settle(b, BIND_OUTCOME_CONFLICT, TEXT_OTHER_BIND, due);
        break;
    case STORE_NO_FIT:
        bind_settle(b, BIND_OUTCOME_NO_FIT, verdict_text(r.verdict), due);
        break;
    case STORE_DEFECT:
        bind_settle(b, BIND_OUTCOME_NO_FIT, demand_defect_text(r.defect), due);
        break;
    case STORE_FAILED:
        LOG_ERROR(b->binder->log, "A reservation failed", LOG_STR("pod", q->pod_name),
                  LOG_CSTR("err", why.msg));
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_RECORD, due);
        break;
    }
    arena_fini(&a);
}

/* Has the watch shown where the pod was bound? Then nothing is open any more: spec.nodeName is never changed, so
 * what may still be on its way changes nothing. Its callers are answered now; the bind itself ends with its
 * exchange. */
static bool resolve_by_watch(struct bind *b, struct bind_answer_due *due)
{
    enum store_seen seen = b->reserved ? store_binding_seen(b->binder->store, b->request.pod_uid,
                                                            b->request.node_name, str_of(b->decision_id))
                                       : STORE_SEEN_NOTHING;
    bool bound = seen == STORE_SEEN_BOUND;
    const char *error;

    if (seen == STORE_SEEN_NOTHING) {
        return false;
    }
    bind_machine_got(&b->machine, bound ? BIND_GET_OURS : BIND_GET_ELSEWHERE, clock_mono_ns(b->binder->clock));
    if (!b->busy) {
        bind_advance(b, due);
    } else if (bind_machine_take_answer(&b->machine, &error)) {
        answer(b, bound ? BIND_OUTCOME_BOUND : BIND_OUTCOME_REFUSED, error, due);
    }
    return true;
}

/* ---- the binder ---- */

/* The one that is not resolved. */
static struct bind *bind_find(struct binder *b, struct str uid)
{
    for (struct bind *i = b->binds; i != NULL; i = i->next) {
        if (i->machine.resolution == BIND_OPEN && str_eq(i->request.pod_uid, uid)) {
            return i;
        }
    }
    return NULL;
}

static void join(struct binder *b, struct bind *same, const struct bind_request *req, bind_done_fn *done,
                 void *ctx, struct bind_answer_due *due)
{
    if (same->machine.answered || !str_eq(same->request.node_name, req->node_name)) {
        *due = (struct bind_answer_due){NULL, BIND_OUTCOME_CONFLICT, TEXT_OTHER_BIND};
        due->waiters = xmalloc(sizeof(*due->waiters));
        *due->waiters = (struct bind_waiter){done, ctx, NULL};
        return;
    }
    add_waiter(same, done, ctx);
    bind_wake_at(b, same->machine.deadline_ns);
}

void binder_bind(struct binder *b, const struct bind_request *req, bind_done_fn *done, void *ctx)
{
    const char *not_ready = store_not_ready(b->store);
    struct bind_answer_due due = {0}, earlier = {0};
    struct bind *same;

    if (not_ready != NULL) {
        done(ctx, BIND_OUTCOME_NOT_READY, not_ready);
        return;
    }
    BUG_ON(pthread_mutex_lock(&b->lock) != 0);
    same = bind_find(b, req->pod_uid);
    if (same != NULL && !b->stopping && resolve_by_watch(same, &earlier)) {
        same = NULL;
    }
    if (same != NULL) {
        join(b, same, req, done, ctx, &due);
    } else if (b->stopping || b->bind_n >= b->options.max_in_flight) {
        BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
        bind_deliver(&earlier);
        done(ctx, BIND_OUTCOME_OVERLOADED, TEXT_OVERLOADED);
        return;
    } else {
        struct bind *fresh = bind_new(b, req);

        add_waiter(fresh, done, ctx);
        bind_begin(fresh, &due);
    }
    BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
    bind_deliver(&earlier);
    bind_deliver(&due);
}

uint32_t binder_in_flight(struct binder *b)
{
    uint32_t n;

    BUG_ON(pthread_mutex_lock(&b->lock) != 0);
    n = b->bind_n;
    BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
    return n;
}

/* When the timer has something to do for this bind; INT64_MAX while its exchange is in flight. */
static int64_t due_at_ns(const struct bind *b)
{
    if (b->busy) {
        return INT64_MAX;
    }
    return b->fetching ? b->fetch_at_ns : b->machine.wake_ns;
}

/* A fetch that is out of time, or whose next try is due. */
static void fetch_turn(struct bind *b, bool expired, struct bind_answer_due *due)
{
    if (!expired) {
        fetch(b, due);
    } else if (b->busy) {
        answer(b, BIND_OUTCOME_REFUSED, TEXT_FETCH, due); /* the reply will find nobody waiting */
    } else {
        bind_settle(b, BIND_OUTCOME_REFUSED, TEXT_FETCH, due);
    }
}

/* Advances the first bind that is due; false when none is. The lock is given up to deliver its answer. */
static bool advance_one(struct binder *b)
{
    int64_t now_ns = clock_mono_ns(b->clock);

    for (struct bind *i = b->binds; i != NULL; i = i->next) {
        bool expired = i->waiters != NULL && now_ns >= i->machine.deadline_ns;
        struct bind_answer_due due = {0};

        if (!expired && due_at_ns(i) > now_ns) {
            if (i->waiters != NULL && i->machine.deadline_ns < b->wake_ns) {
                b->wake_ns = i->machine.deadline_ns;
            }
            if (due_at_ns(i) < b->wake_ns) {
                b->wake_ns = due_at_ns(i);
            }
            continue;
        }
        if (i->fetching) {
            fetch_turn(i, expired, &due);
        } else {
            bind_advance(i, &due);
        }
        BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
        bind_deliver(&due);
        BUG_ON(pthread_mutex_lock(&b->lock) != 0);
        return true;
    }
    return false;
}

static void *timer_main(void *arg)
{
    struct binder *b = arg;

    BUG_ON(pthread_mutex_lock(&b->lock) != 0);
    while (!b->stopping) {
        struct timespec until;

        b->wake_ns = INT64_MAX;
        if (advance_one(b)) {
            continue;
        }
        if (b->wake_ns == INT64_MAX) {
            BUG_ON(pthread_cond_wait(&b->wake, &b->lock) != 0);
            continue;
        }
        until.tv_sec = b->wake_ns / 1000000000;
        until.tv_nsec = b->wake_ns % 1000000000;
        (void)pthread_cond_timedwait(&b->wake, &b->lock, &until); /* looks again either way */
    }
    BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
    return NULL;
}

int binder_new(struct rulebook *book, struct kube_client *client, const struct clock *clock,
               const struct log *log, const struct binder_options *options, struct binder **ret,
               struct err *reterr)
{
    struct binder *b = xcalloc(1, sizeof(*b));
    pthread_condattr_t attr;
    uint64_t seed;
    const struct rules *rules;
    int r = rng_os_bytes(&seed, sizeof(seed), reterr);

    if (r != 0) {
        free(b);
        return r;
    }
    rules = rulebook_take(book);
    b->book = book;
    b->store = rules->placement.store;
    rules_put(rules);
    b->client = client;
    b->clock = clock;
    b->log = log;
    b->options = *options;
    b->wake_ns = INT64_MAX;
    rng_init(&b->rng, seed);
    BUG_ON(pthread_mutex_init(&b->lock, NULL) != 0);
    BUG_ON(pthread_condattr_init(&attr) != 0);
    BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(&b->wake, &attr) != 0);
    BUG_ON(pthread_condattr_destroy(&attr) != 0);
    if (pthread_create(&b->thread, NULL, timer_main, b) != 0) {
        free(b);
        return err_set(reterr, ERR_INTERNAL, "cannot start the binder's thread");
    }
    *ret = b;
    return 0;
}

void binder_set_options(struct binder *b, const struct binder_options *options)
{
    BUG_ON(pthread_mutex_lock(&b->lock) != 0);
    b->options = *options;
    BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
}

void binder_stop(struct binder *b)
{
    BUG_ON(pthread_mutex_lock(&b->lock) != 0);
    b->stopping = true;
    BUG_ON(pthread_cond_signal(&b->wake) != 0);
    BUG_ON(pthread_mutex_unlock(&b->lock) != 0);
    BUG_ON(pthread_join(b->thread, NULL) != 0);
}

void binder_free(struct binder *b)
{
    struct bind_answer_due due = {0};

    if (b == NULL) {
        return;
    }
    BUG_ON(!b->stopping);
    while (b->binds != NULL) {
        bind_settle(b->binds, BIND_OUTCOME_UNKNOWN, TEXT_STOPPING, &due);
        bind_deliver(&due);
    }
    BUG_ON(pthread_cond_destroy(&b->wake) != 0);
    BUG_ON(pthread_mutex_destroy(&b->lock) != 0);
    free(b);
}
