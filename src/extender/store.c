#include "extender/store.h"

#include "base/bug.h"
#include "core/pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct hold {
    char *text; /* uid and node name in one block; NULL: free */
    struct str uid, node_name;
    struct demand *demand;
    int64_t until_ns;
};

struct store {
    pthread_mutex_t lock;
    const struct clock *clock;
    struct ledger *ledger;
    struct hold holds[STORE_HOLDS_MAX];
    uint32_t hold_next; /* the oldest, overwritten next */
    int64_t not_before_ns;
    const char *closed; /* NULL: open */
    pthread_mutex_t room_lock; /* held during a call of room_fn; taken after `lock` was given back */
    store_room_fn *room_fn;
    void *room_ctx;
};

struct store *store_new(const struct ledger_limits *limits, const struct clock *clock)
{
    struct store *s = xcalloc(1, sizeof(*s));

    BUG_ON(pthread_mutex_init(&s->lock, NULL) != 0);
    BUG_ON(pthread_mutex_init(&s->room_lock, NULL) != 0);
    s->clock = clock;
    s->not_before_ns = INT64_MIN;
    s->ledger = ledger_new(limits);
    return s;
}

static void hold_clear(struct hold *h)
{
    free(h->text);
    free(h->demand);
    *h = (struct hold){0};
}

void store_free(struct store *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < STORE_HOLDS_MAX; i++) {
        hold_clear(&s->holds[i]);
    }
    ledger_free(s->ledger);
    BUG_ON(pthread_mutex_destroy(&s->room_lock) != 0);
    BUG_ON(pthread_mutex_destroy(&s->lock) != 0);
    free(s);
}

static void lock(struct store *s)
{
    BUG_ON(pthread_mutex_lock(&s->lock) != 0);
}

static void unlock(struct store *s)
{
    BUG_ON(pthread_mutex_unlock(&s->lock) != 0);
}

/* ---- the ledger ---- */

static void say_room(struct store *s)
{
    BUG_ON(pthread_mutex_lock(&s->room_lock) != 0);
    if (s->room_fn != NULL) {
        s->room_fn(s->room_ctx);
    }
    BUG_ON(pthread_mutex_unlock(&s->room_lock) != 0);
}

int store_apply_noting(struct store *s, struct ledger_op *op, struct ledger_standing *ret_before,
                       struct ledger_standing *ret_after, struct err *reterr)
{
    uint64_t room;
    int r;

    op->at_ms = clock_wall_ms(s->clock);
    lock(s);
    if (ret_before != NULL) {
        ledger_standing(s->ledger, op, ret_before);
    }
    room = ledger_room_generation(s->ledger);
    r = ledger_apply(s->ledger, op, reterr);
    room = ledger_room_generation(s->ledger) - room;
    if (ret_after != NULL) {
        ledger_standing(s->ledger, op, ret_after);
    }
    unlock(s);
    if (room > 0) {
        say_room(s);
    }
    return r;
}

int store_apply(struct store *s, struct ledger_op *op, struct err *reterr)
{
    return store_apply_noting(s, op, NULL, NULL, reterr);
}

uint64_t store_room_generation(struct store *s)
{
    uint64_t generation;

    lock(s);
    generation = ledger_room_generation(s->ledger);
    unlock(s);
    return generation;
}

void store_watch_room(struct store *s, store_room_fn *fn, void *ctx)
{
    BUG_ON(pthread_mutex_lock(&s->room_lock) != 0);
    s->room_fn = fn;
    s->room_ctx = ctx;
    BUG_ON(pthread_mutex_unlock(&s->room_lock) != 0);
}

bool store_is_synced(struct store *s)
{
    bool synced;

    lock(s);
    synced = ledger_is_synced(s->ledger);
    unlock(s);
    return synced;
}

void store_hold_off(struct store *s, int64_t until_ns)
{
    lock(s);
    s->not_before_ns = until_ns;
    unlock(s);
}

void store_close(struct store *s, const char *why)
{
    lock(s);
    s->closed = s->closed != NULL ? s->closed : why;
    unlock(s);
}

const char *store_closed(struct store *s)
{
    const char *why;

    lock(s);
    why = s->closed;
    unlock(s);
    return why;
}

const char *store_not_ready(struct store *s)
{
    int64_t now = clock_mono_ns(s->clock);
    const char *why = NULL;

    lock(s);
    if (s->closed != NULL) {
        why = s->closed;
    } else if (!ledger_is_synced(s->ledger)) {
        why = "fgpu is not ready: it is still reading nodes and pods from the API server";
    } else if (now < s->not_before_ns) {
        why = "fgpu is not ready: it has just started and lets earlier bindings settle";
    }
    unlock(s);
    return why;
}

bool store_is_ready(struct store *s)
{
    return store_not_ready(s) == NULL;
}

bool store_has_node(struct store *s, struct str node_name)
{
    bool known;

    lock(s);
    known = ledger_has_node(s->ledger, node_name);
    unlock(s);
    return known;
}

int store_view(struct store *s, struct arena *a, const struct view_pod *pod, struct ledger_view *ret,
               struct err *reterr)
{
    int r;

    lock(s);
    r = ledger_view(s->ledger, a, pod, ret, reterr);
    unlock(s);
    return r;
}

bool store_preempt(struct store *s, struct arena *a, const struct preempt_request *r, const struct str **ret_victims,
                   size_t *ret_n)
{
    bool possible;

    lock(s);
    possible = ledger_preempt(s->ledger, a, r, ret_victims, ret_n);
    unlock(s);
    return possible;
}

static enum store_reserve_result result_of_state(const struct ledger_pod *pod, struct str node_name)
{
    switch (pod->state) {
    case LEDGER_PENDING:
        return pod->demand->defect != DEMAND_OK ? STORE_DEFECT : STORE_RESERVED;
    case LEDGER_RESERVED:
        return STORE_IN_FLIGHT;
    case LEDGER_FOREIGN:
        return STORE_BOUND_ELSEWHERE;
    case LEDGER_CONFIRMED:
    case LEDGER_BOUND:
        return str_eq(pod->node_name, node_name) ? STORE_ALREADY_BOUND : STORE_BOUND_ELSEWHERE;
    case LEDGER_POD_STATE__MAX:
        break;
    }
    BUG("unknown pod state");
}

static enum store_reserve_result reserve(struct store *s, struct arena *a, const struct ledger_pod *pod,
                                         struct ledger_op *op, const struct strategy *device_strategy,
                                         struct store_reservation *ret, struct err *reterr)
{
    struct placement at;

    ret->verdict = ledger_place_pod(s->ledger, op->reserve.node_name, op->reserve.uid, device_strategy, &at);
    if (ret->verdict != VERDICT_FITS) {
        return STORE_NO_FIT;
    }
    ret->qos = pod->demand->qos;
    ret->assignment = (struct assignment){.id = op->reserve.decision_id};
    op->reserve.placement = &at;
    if (ledger_apply(s->ledger, op, reterr) != 0) {
        return STORE_FAILED;
    }
    if (pod->demand->unsteered_n == 0 &&
        ledger_assignment(s->ledger, op->reserve.uid, a, &ret->assignment, reterr) != 0) {
        struct ledger_op undo = {.kind = LEDGER_RELEASE, .at_ms = op->at_ms, .name = op->reserve.uid};

        BUG_ON(ledger_apply(s->ledger, &undo, NULL) != 0);
        return STORE_FAILED;
    }
    return STORE_RESERVED;
}

enum store_reserve_result store_reserve(struct store *s, struct arena *a, struct str uid,
                                        struct str namespace_, struct str name, struct str node_name,
                                        struct str decision_id, const struct strategy *device_strategy,
                                        struct store_reservation *ret, struct err *reterr)
{
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .at_ms = clock_wall_ms(s->clock),
        .reserve = {.uid = uid, .node_name = node_name, .decision_id = decision_id},
    };
    struct ledger_pod pod;
    enum store_reserve_result r = STORE_UNKNOWN_POD;

    lock(s);
    if (ledger_find_pod(s->ledger, uid, &pod) && str_eq(pod.namespace_, namespace_) &&
        str_eq(pod.name, name)) {
        r = result_of_state(&pod, node_name);
        ret->defect = pod.demand->defect;
        ret->annotation_bytes = pod.annotation_bytes;
        if (r == STORE_RESERVED) {
            r = reserve(s, a, &pod, &op, device_strategy, ret, reterr);
        }
    }
    unlock(s);
    return r;
}

bool store_pod_state(struct store *s, struct str uid, struct arena *a, enum ledger_pod_state *ret_state,
                     struct str *ret_node)
{
    struct ledger_pod pod;
    bool known;

    lock(s);
    known = ledger_find_pod(s->ledger, uid, &pod);
    if (known) {
        *ret_state = pod.state;
        if (ret_node != NULL) {
            *ret_node = arena_str(a, pod.node_name);
        }
    }
    unlock(s);
    return known;
}

int store_snapshot(struct store *s, struct arena *a, struct str node_name, struct str namespace_,
                   struct snapshot *ret, struct err *reterr)
{
    int r;

    lock(s);
    r = snapshot_take(s->ledger, a, node_name, namespace_, ret, reterr);
    unlock(s);
    return r;
}

void store_totals(struct store *s, struct snapshot *ret)
{
    lock(s);
    snapshot_totals(s->ledger, ret);
    unlock(s);
}

uint64_t store_generation(struct store *s)
{
    uint64_t generation;

    lock(s);
    generation = ledger_generation(s->ledger);
    unlock(s);
    return generation;
}

const char *store_check(struct store *s)
{
    const char *why;

    lock(s);
    why = ledger_check(s->ledger);
    unlock(s);
    return why;
}

/* ---- advisory holds ---- */

static struct hold *hold_find(struct store *s, struct str uid)
{
    for (size_t i = 0; i < STORE_HOLDS_MAX; i++) {
        if (s->holds[i].text != NULL && str_eq(s->holds[i].uid, uid)) {
            return &s->holds[i];
        }
    }
    return NULL;
}

void store_hold(struct store *s, struct str uid, struct str node_name, const struct demand *d,
                int64_t hold_ms)
{
    struct hold fresh = {.text = xmalloc(uid.n + node_name.n),
                         .demand = demand_copy(d),
                         .until_ns = clock_mono_ns(s->clock) + hold_ms * 1000000};
    struct hold *h;

    if (uid.n > 0) { /* a caller may send a pod without one */
        memcpy(fresh.text, uid.p, uid.n);
    }
    memcpy(fresh.text + uid.n, node_name.p, node_name.n);
    fresh.uid = (struct str){fresh.text, uid.n};
    fresh.node_name = (struct str){fresh.text + uid.n, node_name.n};
    lock(s);
    h = hold_find(s, uid);
    if (h == NULL) {
        h = &s->holds[s->hold_next];
        s->hold_next = (s->hold_next + 1) % STORE_HOLDS_MAX;
    }
    hold_clear(h);
    *h = fresh;
    unlock(s);
}

void store_unhold(struct store *s, struct str uid)
{
    struct hold *h;

    lock(s);
    h = hold_find(s, uid);
    if (h != NULL) {
        hold_clear(h);
    }
    unlock(s);
}

int store_holds(struct store *s, struct arena *a, struct str except_uid, const struct pack_hold **ret,
                size_t *ret_n, struct err *reterr)
{
    struct pack_hold *holds = ARENA_ARRAY(a, STORE_HOLDS_MAX, struct pack_hold);
    int64_t now = clock_mono_ns(s->clock);
    size_t n = 0;
    bool ok = holds != NULL;

    lock(s);
    for (size_t i = 0; ok && i < STORE_HOLDS_MAX; i++) {
        struct hold *h = &s->holds[i];

        if (h->text != NULL && h->until_ns <= now) {
            hold_clear(h);
        }
        if (h->text == NULL || str_eq(h->uid, except_uid)) {
            continue;
        }
        holds[n].demand = demand_amounts(h->demand, a);
        ok = holds[n].demand != NULL;
        holds[n++].node_name = arena_str(a, h->node_name);
    }
    unlock(s);
    if (!ok || a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    *ret = holds;
    *ret_n = n;
    return 0;
}
