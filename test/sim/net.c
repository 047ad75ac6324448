#include "net.h"

#include "api.h"
#include "fiber.h"
#include "oracle.h"
#include "process.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kube_client {
    struct process *of;
    bool read_only, stopping, stopped;
    bool (*may_write)(void *ctx); /* NULL: always */
    void *may_write_ctx;
    struct fiber *thread;
    struct fiber_waiters work;
    struct call *calls; /* not answered yet, or not called back */
    size_t call_n;
};

struct chunk {
    struct chunk *next;
    uint64_t tells; /* stream_tells(), by who has read it; 0: nothing */
    enum kind kind;
    size_t n;
    char bytes[];
};

struct kube_stream {
    struct kube_client *client;
    struct fiber_waiters waiters;
    struct chunk *first, *last;
    bool runs, ended, interrupted;
    int http_status;
    uint32_t silence_ms;
    struct kube_outcome outcome;
};

struct kube_outcome answered_with(int http_status)
{
    return (struct kube_outcome){
        .kind = KUBE_ANSWERED, .maybe_sent = true, .http_status = http_status, .retry_after_ms = KUBE_NO_RETRY_AFTER};
}

static char *copy_of(const char *s, size_t n)
{
    char *copy = xmalloc(n + 1);

    if (n > 0) {
        memcpy(copy, s, n);
    }
    copy[n] = '\0';
    return copy;
}

/* ---- calls ---- */

struct call *call_keep(struct call *c)
{
    c->owner_n++;
    return c;
}

void call_drop(struct call *c)
{
    if (--c->owner_n == 0) {
        free(c->method);
        free(c->path);
        free(c->body);
        free(c->reply);
        free(c);
    }
}

void call_answer(struct call *c, struct kube_outcome o, const char *body)
{
    if (c->answered || c->client == NULL) {
        return;
    }
    c->answered = true;
    c->outcome = o;
    c->reply = body != NULL ? copy_of(body, strlen(body)) : NULL;
    fiber_wake(&c->client->work, true);
}

static void take_off(struct call *c)
{
    struct kube_client *client = c->client;

    *(c->prev != NULL ? &c->prev->next : &client->calls) = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    client->call_n--;
    c->client = NULL;
}

static void call_back(struct call *c)
{
    const struct kube_response response = {
        c->outcome, c->reply != NULL ? (struct str){c->reply, strlen(c->reply)} : STR_NULL, sim_now_ns() - c->sent_ns};

    take_off(c);
    c->done(c->ctx, &response);
    call_drop(c);
}

bool call_may_leave(const struct call *c)
{
    const struct kube_client *k = c->client;

    return k == NULL || !c->writes || k->may_write == NULL || k->may_write(k->may_write_ctx);
}

static void leave(struct call *c)
{
    c->left = true;
    c->leaves_ns = sim_now_ns();
    if (c->of->cut || !call_may_leave(c)) {
        call_answer(c, (struct kube_outcome){.kind = KUBE_NOT_SENT}, NULL);
        return;
    }
    oracle_leaves(c);
    api_call(c);
}

/* Calls that are due leave; returns one that was answered, or NULL and when the next is due. */
static struct call *look_at_calls(struct kube_client *k, int64_t *ret_due_ns)
{
    struct call *answered = NULL;

    *ret_due_ns = INT64_MAX;
    for (struct call *c = k->calls; c != NULL; c = c->next) {
        if (!c->left && !c->answered && !k->stopping && c->leaves_ns <= sim_now_ns()) {
            leave(c);
        }
        if (!c->left && c->leaves_ns < *ret_due_ns) {
            *ret_due_ns = c->leaves_ns;
        }
        answered = answered == NULL && (c->answered || k->stopping) ? c : answered;
    }
    return answered;
}

static void *client_main(void *ctx)
{
    struct kube_client *k = ctx;

    for (;;) {
        int64_t due_ns;
        struct call *c = look_at_calls(k, &due_ns);

        if (c != NULL) {
            if (!c->answered) {
                c->outcome = (struct kube_outcome){.kind = KUBE_CANCELLED, .maybe_sent = c->left};
            }
            call_back(c);
        } else if (k->stopping) {
            k->stopped = true;
            return NULL;
        } else {
            (void)fiber_wait(&k->work, due_ns);
        }
    }
}

int kube_client_new(const struct credentials *creds, const struct kube_client_options *options,
                    struct kube_client **ret, struct err *reterr)
{
    struct kube_client *k = xcalloc(1, sizeof(*k));

    (void)creds;
    (void)reterr;
    k->of = fiber_owner();
    k->read_only = options->read_only;
    k->may_write = options->may_write;
    k->may_write_ctx = options->may_write_ctx;
    k->thread = fiber_spawn("api", client_main, k, NULL);
    *ret = k;
    return 0;
}

void kube_client_stop(struct kube_client *k)
{
    if (!k->stopping) {
        k->stopping = true;
        fiber_wake(&k->work, true);
        fiber_join(k->thread);
    }
}

void kube_client_free(struct kube_client *k)
{
    if (k != NULL) {
        kube_client_stop(k);
        free(k);
    }
}

void kube_client_identity(struct kube_client *k, struct identity_stats *ret)
{
    (void)k;
    *ret = (struct identity_stats){0};
}

static void out_of_time(void *ctx)
{
    struct call *c = ctx;

    call_answer(c, (struct kube_outcome){.kind = c->left ? KUBE_TIMED_OUT : KUBE_NOT_SENT, .maybe_sent = c->left},
                NULL);
    call_drop(c);
}

/* For a connection. Where nobody has to be asked it makes no difference. */
static int64_t waits_ns(const struct kube_client *k, bool writes)
{
    if (!writes || k->may_write == NULL || !sim_chance(100)) {
        return 0;
    }
    return (int64_t)sim_below(sim_chance(300) ? 3000 : 30) * NS_PER_MS;
}

int kube_client_submit(struct kube_client *k, const struct kube_request *request, kube_done_fn *done, void *ctx,
                       struct err *reterr)
{
    const bool writes = strcmp(request->method, "GET") != 0 && !request->asks;
    struct call *c;

    if (k->stopping) {
        return err_set(reterr, ERR_CANCELLED, "the client is stopping");
    }
    if (k->call_n >= KUBE_IN_FLIGHT_MAX) {
        return err_set(reterr, ERR_UNAVAILABLE, "too many calls are in flight");
    }
    if (k->read_only && writes) {
        return err_set(reterr, ERR_INVALID, "the client is read-only");
    }
    if (writes && k->may_write != NULL && !k->may_write(k->may_write_ctx)) {
        return err_set(reterr, ERR_UNAVAILABLE, "this replica does not lead");
    }
    c = xcalloc(1, sizeof(*c));
    *c = (struct call){.owner_n = 1,
                       .of = k->of,
                       .sent_ns = sim_now_ns(),
                       .leaves_ns = sim_now_ns() + waits_ns(k, writes),
                       .writes = writes,
                       .method = copy_of(request->method, strlen(request->method)),
                       .path = copy_of(request->path, strlen(request->path)),
                       .body = copy_of(request->body.p, request->body.n),
                       .client = k,
                       .done = done,
                       .ctx = ctx,
                       .next = k->calls};
    if (c->next != NULL) {
        c->next->prev = c;
    }
    k->calls = c;
    k->call_n++;
    sim_in_ms(request->deadline_ms, out_of_time, call_keep(c));
    oracle_submitted(c);
    if (k->may_write == NULL) {
        leave(c);
    } else {
        fiber_wake(&k->work, true);
    }
    return 0;
}

/* ---- streams ---- */

int kube_stream_new(struct kube_client *k, struct kube_stream **ret, struct err *reterr)
{
    struct kube_stream *s = xcalloc(1, sizeof(*s));

    (void)reterr;
    s->client = k;
    *ret = s;
    return 0;
}

static void drop_chunks(struct kube_stream *s)
{
    while (s->first != NULL) {
        struct chunk *c = s->first;

        s->first = c->next;
        free(c);
    }
    s->last = NULL;
}

void kube_stream_free(struct kube_stream *s)
{
    if (s != NULL) {
        BUG_ON(s->runs);
        drop_chunks(s);
        free(s);
    }
}

void kube_stream_silence(struct kube_stream *s, uint32_t silence_ms)
{
    s->silence_ms = silence_ms;
}

void kube_stream_wake(struct kube_stream *s)
{
    fiber_wake(&s->waiters, true);
}

void kube_stream_interrupt(struct kube_stream *s)
{
    s->interrupted = true;
    fiber_wake(&s->waiters, true);
}

struct process *stream_of(struct kube_stream *s)
{
    return s->client->of;
}

void stream_status(struct kube_stream *s, int http_status)
{
    s->http_status = http_status;
    fiber_wake(&s->waiters, true);
}

void stream_bytes(struct kube_stream *s, const char *bytes, size_t n)
{
    struct chunk *c = xmalloc(sizeof(*c) + n);

    c->next = NULL;
    c->tells = 0;
    c->n = n;
    memcpy(c->bytes, bytes, n);
    *(s->last != NULL ? &s->last->next : &s->first) = c;
    s->last = c;
    fiber_wake(&s->waiters, true);
}

static void is_told(struct process *p, enum kind kind, uint64_t version)
{
    uint64_t *seen = kind == PODS ? &p->pods_seen : &p->nodes_seen;

    *seen = version > *seen ? version : *seen;
}

void stream_tells(struct kube_stream *s, enum kind kind, uint64_t version)
{
    if (s->last != NULL) {
        s->last->kind = kind;
        s->last->tells = version;
    } else {
        is_told(s->client->of, kind, version);
    }
}

void stream_end(struct kube_stream *s, struct kube_outcome o)
{
    s->ended = true;
    s->outcome = o;
    fiber_wake(&s->waiters, true);
}

/* True: the receiver refuses them. */
static bool hand_over(struct kube_stream *s, kube_bytes_fn *bytes, void *ctx)
{
    while (s->first != NULL && !s->interrupted) {
        struct chunk *c = s->first;
        struct err ignored;
        bool refused;

        s->first = c->next;
        s->last = s->first == NULL ? NULL : s->last;
        refused = s->http_status == 200 && bytes(ctx, (struct str){c->bytes, c->n}, &ignored) < 0;
        if (c->tells > 0) {
            is_told(s->client->of, c->kind, c->tells);
        }
        free(c);
        if (refused) {
            return true;
        }
    }
    return false;
}

void kube_stream_run(struct kube_stream *s, const struct kube_stream_request *request, kube_bytes_fn *bytes, void *ctx,
                     struct kube_outcome *ret)
{
    int64_t heard_ns = sim_now_ns();

    s->runs = true;
    s->ended = false;
    s->http_status = 0;
    s->silence_ms = request->silence_ms;
    api_open(s, request->path);
    *ret = (struct kube_outcome){.kind = KUBE_ABORTED, .maybe_sent = true, .retry_after_ms = KUBE_NO_RETRY_AFTER};
    for (;;) {
        int64_t wait_ms = INT64_MAX;

        heard_ns = s->first != NULL ? sim_now_ns() : heard_ns;
        if (hand_over(s, bytes, ctx)) {
            break;
        }
        if (s->interrupted) {
            ret->kind = KUBE_CANCELLED;
            break;
        }
        if (s->ended && s->first == NULL) {
            *ret = s->outcome;
            break;
        }
        if (sim_now_ns() - heard_ns >= s->silence_ms * NS_PER_MS) {
            ret->kind = KUBE_SILENT;
            break;
        }
        if (request->tick != NULL) {
            wait_ms = request->tick(ctx, s->http_status);
        }
        if (wait_ms < 0) {
            break;
        }
        if (s->first == NULL && !s->ended && !s->interrupted) {
            const int64_t silent_ns = heard_ns + s->silence_ms * NS_PER_MS;
            const int64_t tick_ns =
                wait_ms > 1000000 ? INT64_MAX : sim_now_ns() + (wait_ms > 0 ? wait_ms : 1) * NS_PER_MS;

            (void)fiber_wait(&s->waiters, tick_ns < silent_ns ? tick_ns : silent_ns);
        }
    }
    if (ret->kind != KUBE_ANSWERED) {
        ret->http_status = s->http_status;
    }
    api_close(s);
    drop_chunks(s);
    s->runs = false;
    s->interrupted = false;
}
