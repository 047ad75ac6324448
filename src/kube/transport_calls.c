/* kube/transport_calls.c - the thread of the short calls.
 *
 * Submitters append to `incoming` under the lock and wake the thread; everything else belongs to
 * the thread alone. At most `slot_n` calls are with libcurl, the others wait in order with their
 * deadlines running: so a burst shares a bounded number of connections instead of opening one each.
 *
 * And it opens them one after another. A handshake costs both ends about as much as ten calls on a connection that
 * exists, so calls wait CONNECT_AFTER_MS for an answer that frees one, and while one opens. A server that answers
 * slowly gets all the same its `slot_n` connections, one handshake later each; one that does not connect holds nobody
 * up for longer than CONNECT_PATIENCE_MS.
 */
#include "transport_call_internal.h"
#include "transport_loop_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"

#include <stdlib.h>

enum {
    CONNECT_MS = 5000,
    CONNECT_AFTER_MS = 5,
    CONNECT_PATIENCE_MS = 50,
    IDLE_POLL_MS = 60 * 1000,
    IDENTITY_POLL_MS = 20
};

struct slot {
    struct exchange exchange;
    struct call *call; /* NULL: free */
    struct strbuf response;
};

struct call_queue {
    const struct easy_context *context;
    struct transport_loop loop;
    struct thread thread;
    bool running; /* started and not joined; the owner's */

    struct mutex lock; /* of the next four */
    struct call_list incoming;
    uint32_t in_flight;
    bool stopping;
    bool asleep; /* whoever has something for the thread must wake it */

    struct call_list waiting; /* the thread's, from here on */
    struct slot *slots;
    uint32_t slot_n;
    uint32_t used_n;
    uint32_t idle_n;  /* connections that an answer left, as far as we know: libcurl does not say */
    bool no_identity; /* calls wait for the exec plugin */
};

/* ---- calls ---- */

/* The one place where a call ends. */
static void call_finish(struct call_queue *q, struct call *call, const struct kube_outcome *outcome, struct str body)
{
    struct kube_response response = {
        .outcome = *outcome,
        .body = body,
        .duration_ns = clock_mono_ns(q->context->clock) - call->submitted_ns,
    };
    mutex_lock(&q->lock);
    q->in_flight--;
    mutex_unlock(&q->lock);
    call->done(call->ctx, &response);
    call_free(call);
}

/* There was no exchange, so the observer hears nothing. */
static void call_refused(struct call_queue *q, struct call *call, const struct err *why)
{
    const struct kube_outcome outcome = exchange_refused(why);
    call_finish(q, call, &outcome, STR_NULL);
}

static void call_fail(struct call_queue *q, struct call *call, enum kube_outcome_kind kind, const char *detail)
{
    const struct kube_outcome outcome = kube_outcome_of(kind, detail);
    if (q->context->observe != NULL) {
        q->context->observe(q->context->observe_ctx, call->verb, call->resource, 0,
                            clock_mono_ns(q->context->clock) - call->submitted_ns);
    }
    call_finish(q, call, &outcome, STR_NULL);
}

/* ---- slots ---- */

static size_t on_bytes(char *p, size_t size, size_t n, void *ctx)
{
    struct slot *slot = ctx;
    strbuf_add(&slot->response, p, size * n);
    return slot->response.overflowed ? 0 : size * n;
}

static struct slot *free_slot(struct call_queue *q)
{
    for (uint32_t i = 0; i < q->slot_n; i++) {
        if (q->slots[i].call == NULL) {
            return &q->slots[i];
        }
    }
    BUG("no free slot");
}

/* When the first call that waits may begin: at once on a connection that is idle, else as the only one that opens one,
 * and not before an answer had time to free one. */
static int64_t begin_at_ns(const struct call_queue *q, const struct call *first, int64_t now_ns)
{
    if (q->idle_n > 0 || q->used_n == 0) {
        return now_ns;
    }
    int64_t at_ns = first->submitted_ns + CONNECT_AFTER_MS * NS_PER_MS;
    for (uint32_t i = 0; i < q->slot_n; i++) {
        const struct slot *slot = &q->slots[i];
        if (slot->call != NULL && slot->exchange.sent_n == 0) { /* nothing was sent: there is no connection yet */
            const int64_t patient_ns = slot->exchange.begun_ns + CONNECT_PATIENCE_MS * NS_PER_MS;
            at_ns = at_ns > patient_ns ? at_ns : patient_ns;
        }
    }
    return at_ns;
}

/* False: the call has to wait for credentials. */
static bool slot_begin(struct call_queue *q, struct call *call, int64_t now_ns)
{
    struct slot *slot = free_slot(q);
    struct exchange *x = &slot->exchange;
    const struct exchange_request request = {
        .method = call->method,
        .path = call->path,
        .body = {call->body, call->body_n},
        .content_type = call->content_type,
        .headers = (const char *const *)call->headers,
        .writes = call->writes,
    };
    struct err err;
    if (x->easy == NULL) {
        x->easy = curl_easy_init();
        BUG_ON(x->easy == NULL);
    }
    int rc = exchange_begin(x, q->context, &request, &err);
    if (rc != 0) {
        exchange_abandon(x);
        if (rc != -ERR_UNAVAILABLE) {
            call_refused(q, call, &err);
        }
        return rc != -ERR_UNAVAILABLE;
    }
    long left_ms = (long)((call->deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
    strbuf_init(&slot->response, call->response_max);
    slot->call = call;
    q->used_n++;
    q->idle_n -= q->idle_n > 0;
    EASY_SET(x->easy, CURLOPT_TIMEOUT_MS, left_ms);
    EASY_SET(x->easy, CURLOPT_CONNECTTIMEOUT_MS, left_ms < CONNECT_MS ? left_ms : CONNECT_MS);
    EASY_SET(x->easy, CURLOPT_SOCKOPTFUNCTION, exchange_call_socket);
    EASY_SET(x->easy, CURLOPT_WRITEFUNCTION, on_bytes);
    EASY_SET(x->easy, CURLOPT_WRITEDATA, slot);
    EASY_SET(x->easy, CURLOPT_PRIVATE, slot);
    BUG_ON(curl_multi_add_handle(q->loop.multi, x->easy) != CURLM_OK);
    return true;
}

static void slot_end(struct call_queue *q, struct slot *slot, const struct kube_outcome *outcome)
{
    struct call *call = slot->call;
    struct strbuf response = slot->response;
    BUG_ON(curl_multi_remove_handle(q->loop.multi, slot->exchange.easy) != CURLM_OK);
    bool again = exchange_end(&slot->exchange, q->context, call->verb, call->resource, outcome);
    slot->call = NULL;
    q->used_n--;
    q->idle_n = outcome->kind == KUBE_ANSWERED ? q->idle_n + 1 : 0;
    /* A 401 has changed nothing, whatever the method; unless it answers a second copy only. */
    if (again && !call->sent_again && !outcome->sent_again) {
        call->sent_again = true;
        STAILQ_INSERT_TAIL(&q->waiting, call, link);
    } else {
        call_finish(q, call, outcome, strbuf_view(&response));
    }
    strbuf_fini(&response);
}

static void take_results(struct call_queue *q)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(q->loop.multi, &left)) != NULL) {
        struct slot *slot;
        struct kube_outcome outcome;
        EASY_GET(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
        exchange_outcome(&slot->exchange, message->data.result, &outcome);
        if (slot->response.overflowed) {
            outcome.kind = KUBE_TOO_LARGE;
        } else if (outcome.kind == KUBE_ANSWERED && outcome.http_status >= 400) {
            outcome_describe(&outcome, strbuf_view(&slot->response));
        }
        slot_end(q, slot, &outcome);
    }
}

/* ---- the thread ---- */

/* Returns whether to stop. */
static bool take_incoming(struct call_queue *q)
{
    mutex_lock(&q->lock);
    STAILQ_CONCAT(&q->waiting, &q->incoming);
    q->asleep = false;
    bool stopping = q->stopping;
    mutex_unlock(&q->lock);
    return stopping;
}

/* Whether nothing came while the thread was busy; from then on who comes wakes it. */
static bool may_sleep(struct call_queue *q)
{
    mutex_lock(&q->lock);
    q->asleep = STAILQ_EMPTY(&q->incoming) && !q->stopping;
    bool asleep = q->asleep;
    mutex_unlock(&q->lock);
    return asleep;
}

/* Begins what there is room for, ends what waited too long; when to look again at those that still wait. */
static int64_t serve_waiting(struct call_queue *q, int64_t now_ns)
{
    struct call_list all = STAILQ_HEAD_INITIALIZER(all);
    int64_t next_ns = INT64_MAX;
    bool full = false;
    struct call *call;
    STAILQ_CONCAT(&all, &q->waiting);
    q->no_identity = false;
    while ((call = STAILQ_FIRST(&all)) != NULL) {
        STAILQ_REMOVE_HEAD(&all, link);
        if (call->deadline_ns <= now_ns) {
            call_fail(q, call, KUBE_NOT_SENT, "no free connection before the deadline");
            continue;
        }
        if (q->used_n < q->slot_n && !q->no_identity && !full) {
            int64_t at_ns = begin_at_ns(q, call, now_ns);
            full = at_ns > now_ns;
            if (!full && slot_begin(q, call, now_ns)) {
                continue;
            }
            q->no_identity = !full;
            next_ns = full && at_ns < next_ns ? at_ns : next_ns;
        }
        next_ns = call->deadline_ns < next_ns ? call->deadline_ns : next_ns;
        STAILQ_INSERT_TAIL(&q->waiting, call, link);
    }
    return next_ns;
}

/* A result made room, or a connection is there. */
static bool more_may_begin(const struct call_queue *q, int64_t now_ns)
{
    const struct call *first = STAILQ_FIRST(&q->waiting);
    return first != NULL && q->used_n < q->slot_n && !q->no_identity && begin_at_ns(q, first, now_ns) <= now_ns;
}

static void cancel_all(struct call_queue *q)
{
    struct call *call;
    for (uint32_t i = 0; i < q->slot_n; i++) {
        struct slot *slot = &q->slots[i];
        if (slot->call != NULL) {
            struct kube_outcome outcome;
            exchange_outcome(&slot->exchange, CURLE_ABORTED_BY_CALLBACK, &outcome);
            outcome.kind = KUBE_CANCELLED;
            slot_end(q, slot, &outcome);
        }
    }
    while ((call = STAILQ_FIRST(&q->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&q->waiting, link);
        call_fail(q, call, KUBE_CANCELLED, "stopping");
    }
}

static void *client_main(void *ctx)
{
    struct call_queue *q = ctx;
    while (!take_incoming(q)) {
        int64_t now_ns = clock_mono_ns(q->context->clock);
        int64_t next_ns = serve_waiting(q, now_ns);
        transport_loop_due(&q->loop);
        take_results(q);
        if (more_may_begin(q, now_ns)) {
            continue;
        }
        const int64_t look_ms = q->no_identity ? IDENTITY_POLL_MS : IDLE_POLL_MS;
        if (next_ns - now_ns > look_ms * NS_PER_MS) {
            next_ns = now_ns + look_ms * NS_PER_MS;
        }
        if (may_sleep(q)) {
            transport_loop_wait(&q->loop, (next_ns - now_ns) / NS_PER_MS + 1);
            take_results(q); /* connections are free before the next calls look for one */
        }
    }
    cancel_all(q);
    return NULL;
}

/* ---- the owner's side ---- */

int call_queue_new(const struct easy_context *context, uint32_t connections_max, struct call_queue **ret,
                   struct err *reterr)
{
    struct call_queue *q = xcalloc(1, sizeof(*q));
    q->context = context;
    q->slots = xcalloc(connections_max, sizeof(*q->slots));
    q->slot_n = connections_max;
    STAILQ_INIT(&q->incoming);
    STAILQ_INIT(&q->waiting);
    mutex_init(&q->lock, "call queue");
    int rc = transport_loop_init(&q->loop, reterr);
    if (rc == 0) {
        curl_multi_setopt(q->loop.multi, CURLMOPT_MAXCONNECTS, (long)connections_max);
        rc = thread_start(&q->thread, "kube-calls", client_main, q, reterr);
    }
    if (rc != 0) {
        call_queue_free(q);
        return rc;
    }
    q->running = true;
    *ret = q;
    return 0;
}

void call_queue_stop(struct call_queue *q)
{
    if (!q->running) {
        return;
    }
    mutex_lock(&q->lock);
    q->stopping = true;
    mutex_unlock(&q->lock);
    transport_loop_wake(&q->loop);
    thread_join(&q->thread);
    q->running = false;
}

void call_queue_free(struct call_queue *q)
{
    if (q == NULL) {
        return;
    }
    call_queue_stop(q);
    for (uint32_t i = 0; i < q->slot_n; i++) {
        if (q->slots[i].exchange.easy != NULL) {
            curl_easy_cleanup(q->slots[i].exchange.easy);
        }
    }
    transport_loop_fini(&q->loop);
    mutex_destroy(&q->lock);
    free(q->slots);
    free(q);
}

int call_queue_submit(struct call_queue *q, const struct kube_request *request, kube_done_fn *done, void *ctx,
                      struct err *reterr)
{
    struct call *call = call_new(request, clock_mono_ns(q->context->clock), done, ctx);
    mutex_lock(&q->lock);
    bool stopping = q->stopping;
    bool full = q->in_flight == KUBE_IN_FLIGHT_MAX;
    if (!stopping && !full) {
        STAILQ_INSERT_TAIL(&q->incoming, call, link);
        q->in_flight++;
    }
    bool wake = q->asleep;
    q->asleep = false; /* once is enough */
    mutex_unlock(&q->lock);
    if (wake) {
        transport_loop_wake(&q->loop);
    }
    if (!stopping && !full) {
        return 0;
    }
    call_free(call);
    return stopping ? err_set(reterr, ERR_CANCELLED, "the API client is stopping")
                    : err_set(reterr, ERR_UNAVAILABLE, "%d calls to the API server are in flight", KUBE_IN_FLIGHT_MAX);
}
