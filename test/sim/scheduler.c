#define SIM_STREAM SIM_SCHEDULER
#include "scheduler.h"

#include "etcd.h"
#include "fiber.h"
#include "fleet.h"
#include "mask.h"
#include "oracle.h"
#include "preemption.h"
#include "process.h"
#include "trace.h"
#include "world.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/strbuf.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_MS = 3,
    CALL_MS = 10000, /* httpTimeout */
    FLUSH_MS = 5 * 60 * 1000,
    PODS_MAX = 512,
};

enum state { NOBODY, ACTIVE, BACKS_OFF, REFUSED, ASKS, BINDS, ASSUMED };

struct pod {
    char uid[24], name[32], ns[16];
    enum state state;
    int64_t due_ns;   /* of ACTIVE: since when; BACKS_OFF, REFUSED: when it is tried at the latest */
    int64_t began_ns; /* of the call */
    uint64_t call;    /* an answer to an earlier one is not waited for any more */
    unsigned failed_n;
    unsigned edited; /* as object.edited */
    bool moved;      /* something changed while it was being asked about */
    bool alone;      /* asked about with the node that it is nominated to */
    unsigned asked;  /* which fgpu, last; 0: none yet */
    uint64_t shown;  /* ... whom to evict: up to which version it had been told of pods */
};

struct scheduler_counts scheduler_counts;

static struct {
    struct pod pods[PODS_MAX];
    uint64_t call;
    bool asks; /* one cycle at a time */
    uint32_t patches, preempts, lag;
    bool notes_failures;
    int64_t lag_ms;
} k;

static struct pod *find(const char *uid)
{
    for (size_t i = 0; i < PODS_MAX; i++) {
        if (k.pods[i].state != NOBODY && strcmp(k.pods[i].uid, uid) == 0) {
            return &k.pods[i];
        }
    }
    return NULL;
}

static void back_off(struct pod *p)
{
    const int64_t ms = p->failed_n < 4 ? INT64_C(1000) << p->failed_n : 10000;

    p->failed_n++;
    p->state = BACKS_OFF;
    p->due_ns = sim_now_ns() + ms * NS_PER_MS;
}

/* ---- calls ---- */

struct call_ctx {
    char uid[24];
    uint64_t call;
};

static struct call_ctx *begin_call(struct pod *p, enum state state)
{
    struct call_ctx *c = xmalloc(sizeof(*c));

    p->state = state;
    p->began_ns = sim_now_ns();
    p->call = ++k.call;
    memcpy(c->uid, p->uid, sizeof(c->uid));
    c->call = p->call;
    return c;
}

/* The pod that still waits for this answer, or NULL. */
static struct pod *end_call(void *ctx)
{
    struct call_ctx *c = ctx;
    struct pod *p = find(c->uid);

    p = p != NULL && p->call == c->call ? p : NULL;
    free(c);
    return p;
}

static const char *error_of(const cJSON *o)
{
    const cJSON *e = cJSON_GetObjectItemCaseSensitive(o, "Error");

    return o == NULL ? "broken" : cJSON_IsString(e) ? e->valuestring : "";
}

/* Only a text that is not there yet makes a new version, as in kube-scheduler's handleSchedulingFailure. */
static void note_failure(const struct pod *p, const char *text)
{
    struct object *o = k.notes_failures ? etcd_find_uid(p->uid) : NULL;
    uint64_t hash = 1;

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    if (o != NULL && o->node[0] == '\0' && o->condition != hash) {
        o->condition = hash;
        o->patched++;
        etcd_write(o);
    }
}

static void bound(void *ctx, const char *body)
{
    struct pod *p = end_call(ctx);
    cJSON *o = cJSON_Parse(body != NULL ? body : "");

    if (p != NULL && error_of(o)[0] == '\0') {
        scheduler_counts.bound_n++;
        p->state = ASSUMED; /* until its watch shows it; it is told "bound" only if it is */
        if (!world_pod_was_bound(p->uid)) {
            found("bind of pod %s was answered with success, and it is not bound", p->uid);
        }
    } else if (p != NULL) {
        TRACE("bind of %s: %s", p->uid, error_of(o));
        scheduler_counts.failed_n++;
        note_failure(p, error_of(o));
        back_off(p);
    }
    cJSON_Delete(o);
}

static void bind(struct pod *p, const char *node)
{
    struct process *target = fleet_target();
    char body[256];

    snprintf(body, sizeof(body), "{\"PodName\":\"%s\",\"PodNamespace\":\"%s\",\"PodUID\":\"%s\",\"Node\":\"%s\"}",
             p->name, p->ns, p->uid, node);
    scheduler_counts.bind_n++;
    TRACE("asks: bind %s (%s) to %s", p->name, p->uid, node);
    oracle_asked(target, p->uid);
    web_post(target, "/v1/bind", body, bound, begin_call(p, BINDS));
}

static void patch_status(const char *uid)
{
    struct object *o = etcd_find_uid(uid);

    if (o != NULL && o->node[0] == '\0') {
        o->patched++;
        etcd_write(o);
    }
}

static void refused(struct pod *p)
{
    p->state = p->moved ? ACTIVE : REFUSED;
    p->due_ns = sim_now_ns() + (p->moved ? 0 : FLUSH_MS * NS_PER_MS);
    if (p->moved) {
        back_off(p);
    }
    if (sim_chance(k.patches) && mask_allows(DO_STATUS_PATCHES)) {
        patch_status(p->uid);
    }
}

static void preempted(void *ctx, const char *body)
{
    struct pod *p = end_call(ctx);

    if (p != NULL) {
        k.asks = false;
        preemption_answered(p->uid, body, p->shown);
        refused(p);
    }
}

/* In the same cycle. False: there is nobody to evict. */
static bool preempt(struct pod *p)
{
    const struct object *o = etcd_find_uid(p->uid);
    struct strbuf b;
    bool asks = o != NULL && o->priority > 0 && sim_chance(k.preempts) && mask_allows(DO_PREEMPTION);

    strbuf_init(&b, 1024 * 1024);
    if (asks && preemption_ask(o, &b)) {
        struct process *target = fleet_target();

        k.asks = true;
        p->shown = target->pods_seen;
        web_post(target, "/v1/preempt", b.p, preempted, begin_call(p, ASKS));
    } else {
        asks = false;
    }
    strbuf_fini(&b);
    return asks;
}

static void filter(struct pod *p, bool alone);

static void filtered(void *ctx, const char *body)
{
    struct pod *p = end_call(ctx);
    cJSON *o = cJSON_Parse(body != NULL ? body : ""), *names = cJSON_GetObjectItemCaseSensitive(o, "NodeNames");
    const int n = cJSON_GetArraySize(names);

    if (p != NULL) {
        k.asks = false;
    }
    if (p != NULL && error_of(o)[0] != '\0') {
        scheduler_counts.error_n++;
        note_failure(p, error_of(o));
        back_off(p);
    } else if (p != NULL && n > 0) {
        bind(p, cJSON_GetArrayItem(names, (int)sim_below(sim_chance(700) ? 1 : (uint64_t)n))->valuestring);
    } else if (p != NULL) {
        scheduler_counts.refused_n++;
        TRACE("refused: %s%s: %s", p->uid, p->alone ? " on the node that it is nominated to" : "", body);
        if (p->alone) {
            filter(p, false);
        } else {
            note_failure(p, body);
            if (!preempt(p)) {
                refused(p);
            }
        }
    }
    cJSON_Delete(o);
}

static void filter(struct pod *p, bool alone)
{
    const struct object *o = etcd_find_uid(p->uid);
    const char *comma = "";
    struct process *target;
    struct strbuf b;

    if (o == NULL || o->node[0] != '\0' || o->deleting) {
        p->state = NOBODY; /* it comes again if that changes */
        return;
    }
    strbuf_init(&b, 1024 * 1024);
    strbuf_addf(&b, "{\"Pod\":");
    strbuf_add_cstr(&b, o->json);
    strbuf_add_cstr(&b, ",\"Nodes\":null,\"NodeNames\":[");
    p->alone = alone && o->nominated[0] != '\0' && etcd_find(NODES, o->nominated) != NULL;
    for (const struct object *n = etcd_first(NODES); n != NULL; n = n->next) {
        if (!p->alone || strcmp(n->name, o->nominated) == 0) {
            strbuf_addf(&b, "%s\"%s\"", comma, n->name);
            comma = ",";
        }
    }
    strbuf_add_cstr(&b, "]}");
    scheduler_counts.filter_n++;
    k.asks = true;
    p->moved = p->moved && !alone; /* the second call belongs to the same cycle */
    target = fleet_target();
    p->asked = target->number;
    web_post(target, "/v1/filter", b.p, filtered, begin_call(p, ASKS));
    strbuf_fini(&b);
}

bool scheduler_waits_for_flush(const char *uid, const struct process *ready)
{
    const struct pod *p = find(uid);
    const struct process *by = p != NULL && p->asked != 0 ? process_at(p->asked) : NULL;

    return by != NULL && p->state == REFUSED && by->ends && ready->ready_ns != 0 &&
           ready->ready_ns < p->due_ns - FLUSH_MS * NS_PER_MS;
}

/* ---- turns ---- */

static void end_late_calls(void)
{
    for (size_t i = 0; i < PODS_MAX; i++) {
        struct pod *p = &k.pods[i];

        if ((p->state == ASKS || p->state == BINDS) && sim_now_ns() > p->began_ns + CALL_MS * NS_PER_MS) {
            k.asks = k.asks && p->state != ASKS;
            p->call = 0;
            scheduler_counts.failed_n++;
            back_off(p);
        }
    }
}

static void turn(void *ctx)
{
    struct pod *first = NULL;

    (void)ctx;
    end_late_calls();
    for (size_t i = 0; i < PODS_MAX && !k.asks; i++) {
        struct pod *p = &k.pods[i];
        const bool due =
            p->state == ACTIVE || ((p->state == BACKS_OFF || p->state == REFUSED) && p->due_ns <= sim_now_ns());

        if (due && (first == NULL || p->due_ns < first->due_ns)) {
            first = p;
        }
    }
    if (first != NULL) {
        filter(first, true);
    }
    sim_in_ms(first != NULL ? 1 + (int64_t)sim_below(TURN_MS) : 20, turn, NULL);
}

/* ---- what its watch shows ---- */

static void move(struct pod *p)
{
    if (p->state == REFUSED) {
        back_off(p);
        p->failed_n = 1;
    }
    p->moved = p->moved || p->state == ASKS;
}

static void take_in(const char *uid)
{
    const struct object *o = etcd_find_uid(uid);
    struct pod *p = find(uid);

    if (o == NULL || o->node[0] != '\0' || o->deleting) {
        if (p != NULL && p->state != ASKS && p->state != BINDS) {
            p->state = NOBODY;
        }
        return;
    }
    if (p != NULL && p->edited != o->edited) { /* as all versions do at a pod's own update (contract.md 9.2) */
        p->edited = o->edited;
        move(p);
    }
    if (p != NULL) {
        return;
    }
    for (p = k.pods; p < &k.pods[PODS_MAX] && p->state != NOBODY; p++) {
    }
    if (p < &k.pods[PODS_MAX]) {
        *p = (struct pod){.state = ACTIVE, .due_ns = sim_now_ns(), .edited = o->edited};
        memcpy(p->uid, o->uid, sizeof(p->uid));
        memcpy(p->name, o->name, sizeof(p->name));
        memcpy(p->ns, o->ns, sizeof(p->ns));
    }
}

static void move_refused(void)
{
    for (size_t i = 0; i < PODS_MAX; i++) {
        move(&k.pods[i]);
    }
}

struct news {
    enum kind kind;
    bool makes_room;
    char uid[24];
};

static void news_arrive(void *ctx)
{
    struct news *n = ctx;

    if (n->kind == PODS) {
        take_in(n->uid);
    }
    if (n->makes_room) {
        move_refused();
    }
    free(n);
}

static void changed(const struct change *c)
{
    const int64_t lag_ms = sim_chance(k.lag) ? (int64_t)sim_below((uint64_t)k.lag_ms + 1) : (int64_t)sim_below(10);
    struct news *n;

    if (c->kind == RUN_OBJECT || c->kind == LEASE || c->kind == INTENTS) {
        return;
    }
    n = xcalloc(1, sizeof(*n));
    n->kind = c->kind;
    n->makes_room = c->kind != PODS || (c->shown && c->shows == DELETED);
    memcpy(n->uid, c->uid, sizeof(n->uid));
    sim_in_ms(lag_ms, news_arrive, n);
}

void scheduler_init(uint32_t patches, uint32_t lag, int64_t lag_ms, bool notes_failures)
{
    k.patches = patches;
    k.notes_failures = notes_failures;
    k.preempts = (uint32_t)sim_below(600);
    k.lag = lag;
    k.lag_ms = lag_ms;
    etcd_follow(changed);
    turn(NULL);
}

void scheduler_restart(void)
{
    TRACE("kube-scheduler restarts");
    memset(k.pods, 0, sizeof(k.pods));
    k.asks = false;
    for (const struct object *o = etcd_first(PODS); o != NULL; o = o->next) {
        take_in(o->uid);
    }
}
