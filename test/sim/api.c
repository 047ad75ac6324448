/* Short calls: reads, Bindings and patches. */
#define SIM_STREAM SIM_NET
#include "api_internal.h"

#include "fiber.h"
#include "mask.h"
#include "net.h"
#include "oracle.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"
#include "base/clock.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weather weather;

/* A write on its way. */
struct write {
    struct call *call;
    bool mute;       /* it was answered before it landed */
    bool again;      /* the second of two */
    bool dropped;    /* it never lands */
    int64_t land_ns; /* of a mute one */
    int64_t left_ns;
    struct write *next, *prev;
};

static struct write *writes; /* that may still land */
static unsigned write_n;

void api_init(unsigned server_n)
{
    watch_init(server_n);
}

void api_weather(const struct weather *w)
{
    static const struct {
        enum act act;
        uint32_t *of;
    } each[] = {{DO_REFUSE, &weather.refuse}, {DO_BUSY, &weather.busy},         {DO_FORBID, &weather.forbid},
                {DO_LATE, &weather.late},     {DO_LOSE, &weather.lose},         {DO_TWICE, &weather.twice},
                {DO_FAIL, &weather.fail},     {DO_SLOW, &weather.slow},         {DO_LAG, &weather.lag},
                {DO_EXPIRE, &weather.expire}, {DO_NO_LISTS, &weather.no_lists}, {DO_PAGES, &weather.pages}};

    weather = *w;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        *each[i].of = mask_allows(each[i].act) ? *each[i].of : 0;
    }
}

int64_t api_delay_ns(void)
{
    const uint64_t us = sim_chance(weather.slow) ? 1000 + sim_below(999000) : 200 + sim_below(4000);

    return (int64_t)us * 1000;
}

static bool is_unreachable(const struct process *p)
{
    return p->unreachable_until_ns > sim_now_ns();
}

static const char *reply_of(const struct call *c, int status)
{
    const struct object *o = status == 200 || status == 201 ? api_special(c) : NULL;

    return o != NULL ? o->json
           : status == 201 && strstr(c->path, "/selfsubjectaccessreviews") != NULL
               ? "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":true}}"
           : status == 201 ? "{\"kind\":\"Status\",\"status\":\"Success\",\"code\":201}"
                           : "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
                             "\"Operation cannot be fulfilled\",\"reason\":\"Conflict\",\"code\":409}";
}

/* ---- when ---- */

static void write_end(struct write *w)
{
    *(w->prev != NULL ? &w->prev->next : &writes) = w->next;
    if (w->next != NULL) {
        w->next->prev = w->prev;
    }
    write_n--;
    call_drop(w->call);
    free(w);
}

/* An answer on its way back. */
struct answer {
    struct call *call;
    struct kube_outcome outcome;
    char *body;
};

static void answer_arrives(void *ctx)
{
    struct answer *a = ctx;

    if (a->outcome.kind != KUBE_ANSWERED || !is_unreachable(a->call->of)) {
        oracle_answered(a->call, a->outcome.kind == KUBE_ANSWERED ? a->outcome.http_status : 0);
        call_answer(a->call, a->outcome, a->body);
    }
    call_drop(a->call);
    free(a->body);
    free(a);
}

static void answer_after(struct call *c, int64_t ns, struct kube_outcome o, const char *body)
{
    struct answer *a = xmalloc(sizeof(*a));

    *a = (struct answer){call_keep(c), o, NULL};
    if (body != NULL) {
        a->body = memcpy(xmalloc(strlen(body) + 1), body, strlen(body) + 1);
    }
    sim_at(sim_now_ns() + ns, answer_arrives, a);
}

static void write_lands(void *ctx)
{
    struct write *w = ctx;

    if (!w->dropped) {
        const int status = api_land(w->call, w->left_ns);
        struct kube_outcome o = answered_with(status);

        o.sent_again = w->again;
        if (!w->mute && sim_chance(weather.lose)) {
            TRACE("loses: the answer %d to fgpu %u", status, w->call->of->number);
            answer_after(w->call, api_delay_ns(), (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true}, NULL);
        } else if (!w->mute) {
            answer_after(w->call, api_delay_ns(), o, reply_of(w->call, status));
        }
    }
    write_end(w);
}

static struct write *write_new(struct call *c, int64_t in_ns)
{
    struct write *w = xcalloc(1, sizeof(*w));

    *w = (struct write){.call = call_keep(c), .land_ns = sim_now_ns() + in_ns, .left_ns = c->leaves_ns, .next = writes};
    if (writes != NULL) {
        writes->prev = w;
    }
    writes = w;
    write_n++;
    sim_at(w->land_ns, write_lands, w);
    return w;
}

static int64_t late_ns(void)
{
    const int64_t most_ms = sim_chance(600) ? 1000 : weather.late_ms;

    if (sim_chance(100)) { /* about as long as a hold-off */
        return (HOLD_OFF_MS - 2000 + (int64_t)sim_below(4000)) * NS_PER_MS;
    }
    return (int64_t)sim_below((uint64_t)most_ms + 1) * NS_PER_MS;
}

/* Answered with what tells nothing, or not at all; perhaps it lands. */
static void write_late(struct call *c, int64_t in_ns)
{
    static const int statuses[] = {409, 500, 503, 504};
    struct kube_outcome o = answered_with(statuses[sim_below(4)]);

    if (sim_chance(weather.never)) {
        TRACE("never lands: %s of fgpu %u", c->path, c->of->number);
    } else {
        write_new(c, in_ns + late_ns())->mute = true;
    }
    if (sim_chance(300)) {
        o = (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true};
    }
    if (!sim_chance(200)) { /* else its sender runs out of time */
        answer_after(c, in_ns, o, reply_of(c, o.http_status));
    }
}

/* The connection broke, and the request is sent on another one. */
static void leaves_again(void *ctx)
{
    struct call *c = ctx;
    const int64_t in_ns = api_delay_ns();

    if (fiber_is_paused(c->of)) {
        sim_in_ms(20, leaves_again, c);
        return;
    }
    if (c->of->cut || c->answered || c->client == NULL || !call_may_leave(c)) {
        answer_after(c, 0, (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true, .sent_again = true}, NULL);
    } else if (sim_chance(200)) {
        struct kube_outcome o = answered_with(429);

        o.sent_again = true;
        answer_after(c, in_ns, o, reply_of(c, 429));
    } else {
        c->leaves_ns = sim_now_ns();
        oracle_leaves(c);
        write_new(c, in_ns)->again = true;
    }
    call_drop(c);
}

static void write_arrives(struct call *c)
{
    const int64_t in_ns = api_delay_ns();

    if (sim_chance(weather.busy)) {
        struct kube_outcome o = answered_with(429);

        o.retry_after_ms = 1000;
        answer_after(c, in_ns, o, reply_of(c, 429));
    } else if (sim_chance(weather.forbid)) {
        answer_after(c, in_ns, answered_with(403), reply_of(c, 403));
    } else if (sim_chance(weather.late)) {
        write_late(c, in_ns);
    } else if (sim_chance(weather.twice)) {
        write_new(c, in_ns + late_ns())->mute = true;
        sim_in_ms(sim_chance(800) ? 0 : (int64_t)sim_below(2000), leaves_again, call_keep(c));
    } else {
        (void)write_new(c, in_ns);
    }
}

static void read_arrives(void *ctx)
{
    struct call *c = ctx;
    char name[64];
    const struct object *o = api_special(c);
    char *list = NULL;
    const char *body = NULL;
    uint64_t version;

    if (sim_chance(weather.fail)) {
        static const int statuses[] = {429, 500, 503, 504};
        struct kube_outcome bad = answered_with(statuses[sim_below(4)]);

        if (sim_chance(300)) {
            bad = (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true};
        }
        answer_after(c, api_delay_ns(), bad, reply_of(c, 500));
        call_drop(c);
        return;
    }
    if (strcmp(c->path, "/version") == 0) {
        body = "{\"major\":\"1\",\"minor\":\"36\"}";
    } else if (strstr(c->path, "/leases?") != NULL) {
        body = list = api_page(INTENTS, c->path, &version);
    } else if (strstr(c->path, "limit=1") != NULL) {
        body = list = api_page(strstr(c->path, "/nodes") != NULL ? NODES : PODS, c->path, &version);
    } else if (strstr(c->path, "/pods/") != NULL) {
        o = etcd_find(PODS, api_pod_name(c->path, name));
    }
    body = o != NULL ? o->json : body;
    answer_after(c, api_delay_ns(), answered_with(body != NULL ? 200 : 404), body != NULL ? body : reply_of(c, 404));
    free(list);
    call_drop(c);
}

void api_call(struct call *c)
{
    if (is_unreachable(c->of)) {
        if (sim_chance(500)) { /* else it hears nothing */
            answer_after(c, api_delay_ns(), (struct kube_outcome){.kind = KUBE_NOT_SENT}, NULL);
        }
    } else if (sim_chance(weather.refuse)) {
        answer_after(c, api_delay_ns(), (struct kube_outcome){.kind = KUBE_NOT_SENT}, NULL);
    } else if (strcmp(c->method, "GET") == 0) {
        sim_at(sim_now_ns() + api_delay_ns(), read_arrives, call_keep(c));
    } else {
        write_arrives(c);
    }
}

/* ---- the end of a process ---- */

void api_cut(struct process *p)
{
    const int64_t last_ns = sim_now_ns() + weather.orphan_ms * NS_PER_MS;

    watch_cut(p);
    for (struct write *w = writes; w != NULL; w = w->next) {
        if (w->call->of == p && w->land_ns > last_ns) {
            w->dropped = true;
        }
    }
}

void api_unreachable(struct process *p, int64_t ms)
{
    TRACE("fgpu %u reaches no API server for %lld ms", p->number, (long long)ms);
    p->unreachable_until_ns = sim_now_ns() + ms * NS_PER_MS;
    watch_cut(p);
}

/* ---- for the oracle ---- */

static bool is_binding(const struct write *w)
{
    return !w->dropped && strstr(w->call->path, "/binding") != NULL;
}

unsigned api_pending_n(void)
{
    return write_n;
}

void api_each_pending(void (*fn)(struct process *of, const char *uid, const char *node, int64_t left_ns))
{
    for (const struct write *w = writes; w != NULL; w = w->next) {
        if (is_binding(w)) {
            cJSON *body = cJSON_Parse(w->call->body);
            char name[64];

            if (api_may_bind(etcd_find(PODS, api_pod_name(w->call->path, name)), body) == 201) {
                fn(w->call->of, api_text(body, "metadata", "uid"), api_text(body, "target", "name"), w->left_ns);
            }
            cJSON_Delete(body);
        }
    }
}
