/* What is due: withdrawals first, then nodes for the head of the queue. */
#include "extender/planner_internal.h"

#include "base/bug.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES_MAX = 16 * 1024 * 1024, PODS_OFFERED_MAX = PLANNER_LEAD_MAX + PLANNER_BLOCK_MAX };

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void planner_pause(struct planner *p, int64_t now_ns, int64_t at_least_ms)
{
    if (now_ns < p->not_before_ns) { /* one trouble, told by several patches */
        return;
    }
    p->pause_ms = p->pause_ms == 0 ? PLANNER_PAUSE_MS : p->pause_ms * 2;
    p->pause_ms = p->pause_ms < PLANNER_PAUSE_MAX_MS ? p->pause_ms : PLANNER_PAUSE_MAX_MS;
    p->not_before_ns = now_ns + (at_least_ms > p->pause_ms ? at_least_ms : p->pause_ms) * NS_PER_MS;
}

/* ---- patches ---- */

/* Copies, because the pod may be gone before the answer is there. */
static struct planner_call *call_new(struct planner *p, struct planned_pod *w, struct str node_name)
{
    const struct waiting_pod *pod = w->seen->pod;
    struct planner_call *c = xcalloc(1, sizeof(*c));
    char *at;

    c->text = at = xmalloc(pod->uid.n + pod->namespace_.n + pod->name.n + node_name.n + 1);
    c->patch.pod_uid = str_put(&at, pod->uid);
    c->patch.namespace_ = str_put(&at, pod->namespace_);
    c->patch.pod_name = str_put(&at, pod->name);
    c->patch.node_name = str_put(&at, node_name);
    c->patch.pod_version = pod->version;
    c->withdraws = node_name.n == 0;
    c->seen = w->seen;
    c->seen->ref_n++;
    c->sent_ns = clock_mono_ns(p->options.clock);
    w->busy = true;
    p->in_flight_n++;
    return c;
}

/* Without the lock. */
static void send_all(struct planner *p, struct planner_call *first)
{
    while (first != NULL) {
        struct planner_call *c = first;

        first = c->next; /* it may be answered, and freed, at once */
        if (c->withdraws) {
            p->options.promise(p->options.ctx, c->seen->pod, STR_NULL);
        }
        p->options.send(p->options.ctx, p, c, &c->patch);
    }
}

/* ---- what is chosen and not sent ---- */

void planner_unchoose(struct planner *p, struct planned_pod *w)
{
    for (size_t i = p->block_at; w->choice != NULL && i < p->block_n; i++) {
        p->block[i] = p->block[i] == w ? NULL : p->block[i];
    }
    free(w->choice);
    w->choice = NULL;
}

void planner_drop_block(struct planner *p)
{
    for (; p->block_at < p->block_n; p->block_at++) {
        if (p->block[p->block_at] != NULL) {
            planner_unchoose(p, p->block[p->block_at]);
        }
    }
    p->block_n = p->block_at = 0;
}

/* ---- withdrawals ---- */

/* When the nomination of this pod is to be taken back; INT64_MAX: that is no question. */
static int64_t withdrawal_due_ns(const struct planner *p, const struct planned_pod *w, int64_t now_ns)
{
    int64_t due_ns = w->since_ns == PLANNER_NEVER || !p->enabled || p->stopping
                         ? w->retry_ns
                         : w->since_ns + PLANNER_KEPT_MS * NS_PER_MS;

    if (!planner_is_outstanding(w) || w->busy || w->seen->pod->version == 0) {
        return INT64_MAX;
    }
    due_ns = due_ns > w->retry_ns ? due_ns : w->retry_ns;
    /* The scheduler has forgotten the nomination of a pod that it binds, and clears it where the bind fails. */
    if (now_ns - w->binding_ns < PLANNER_ASKED_MS * NS_PER_MS) {
        const int64_t over_ns = w->binding_ns + PLANNER_ASKED_MS * NS_PER_MS;

        due_ns = due_ns > over_ns ? due_ns : over_ns;
    }
    return due_ns;
}

/* It led to nothing. Where that is so for all, nobody schedules: nominating more would only be taken back again. */
static void note_expired(struct planner *p, const struct planned_pod *w, int64_t now_ns)
{
    if (w->since_ns != PLANNER_NEVER && now_ns - w->since_ns >= PLANNER_KEPT_MS * NS_PER_MS &&
        p->last_bind_ns < w->since_ns) {
        planner_pause(p, now_ns, 0);
    }
}

static struct planner_call *due_withdrawals(struct planner *p, int64_t now_ns, int64_t *wake_ns)
{
    struct planner_call *first = NULL;

    for (uint32_t i = 0; i < p->outstanding_n; i++) {
        struct planned_pod *w = p->outstanding[i];
        const int64_t due_ns = withdrawal_due_ns(p, w, now_ns);
        struct planner_call *c;

        if (due_ns > now_ns) {
            *wake_ns = earlier(*wake_ns, due_ns);
        } else if (p->in_flight_n < PLANNER_IN_FLIGHT_MAX) { /* else an answer says when to go on */
            note_expired(p, w, now_ns);
            c = call_new(p, w, STR_NULL);
            c->next = first;
            first = c;
        }
    }
    return first;
}

/* ---- the head of the queue ---- */

/* Has it asked us, and are its pods not refused? */
static bool scheduler_asks(struct planner *p, struct str name, int64_t now_ns)
{
    const struct planned_scheduler *s = planner_scheduler(p, name);

    return s != NULL && s->not_before_ns <= now_ns;
}

/* Does it stand in the queue of a scheduler that asks us, as far as is known? */
static bool is_queued(struct planner *p, const struct planned_pod *w, int64_t now_ns)
{
    const struct waiting_pod *pod = w->seen->pod;

    return pod->obstacle == PLAN_ELIGIBLE && now_ns - w->asked_ns >= PLANNER_ASKED_MS * NS_PER_MS &&
           now_ns - w->binding_ns >= PLANNER_ASKED_MS * NS_PER_MS && scheduler_asks(p, pod->scheduler_name, now_ns);
}

/* Not where another's anti-affinity may keep it off the node. */
static bool may_be_nominated(const struct planner *p, const struct planned_pod *w, int64_t now_ns)
{
    return w->nominated == NOMINATED_NOT && !w->busy && w->seen->pod->version > 0 && w->not_before_ns <= now_ns &&
           !keepers_mean(p->keepers, w->seen->pod->namespace_);
}

static int by_turn(const void *a, const void *b)
{
    return planner_compare(*(struct planned_pod *const *)a, *(struct planned_pod *const *)b);
}

/* How many nominations should be outstanding: what was bound in the last PLANNER_HORIZON_MS will be bound in the next.
 */
static uint32_t wanted(const struct planner *p, int64_t now_ns)
{
    const int64_t part = now_ns / (PLANNER_HORIZON_MS / PLANNER_RATE_PARTS * NS_PER_MS);
    uint32_t n = 0;

    for (int64_t i = 0; i < PLANNER_RATE_PARTS; i++) { /* parts that nothing was bound in are not written */
        n += p->bind_part - i > part - PLANNER_RATE_PARTS && p->bind_part >= i
                 ? p->binds[(p->bind_part - i) % PLANNER_RATE_PARTS]
                 : 0;
    }
    n = n > PLANNER_OUTSTANDING_MIN ? n : PLANNER_OUTSTANDING_MIN;
    return n < PLANNER_OUTSTANDING_MAX ? n : PLANNER_OUTSTANDING_MAX;
}

/* What nodes are chosen for, and beside what. The pods are counted, because the lock is given up meanwhile. */
struct head {
    struct arena arena;
    struct planner_question q;
    const struct waiting_pod **pods; /* those in front first */
    struct counted_pod **counted;    /* of the pods, then of what is held */
    size_t counted_n;
};

static const struct waiting_pod *take(struct head *h, struct planned_pod *w)
{
    w->seen->ref_n++;
    h->counted[h->counted_n++] = w->seen;
    return w->seen->pod;
}

static bool head_init(struct head *h, const struct planner *p, size_t max)
{
    struct arena *a = &h->arena;

    *h = (struct head){.q = {.max = max, .arena = a}};
    arena_init(a, ARENA_BYTES_MAX);
    h->pods = ARENA_ARRAY(a, PODS_OFFERED_MAX, const struct waiting_pod *);
    h->counted = ARENA_ARRAY(a, (size_t)p->pod_n + PODS_OFFERED_MAX, struct counted_pod *);
    h->q.held = ARENA_ARRAY(a, (size_t)p->pod_n + 1, struct plan_held);
    h->q.ret = ARENA_ARRAY(a, max + 1, struct planner_choice);
    h->q.pods = h->pods;
    return h->pods != NULL && h->counted != NULL && h->q.held != NULL && h->q.ret != NULL;
}

static int by_since(const void *a, const void *b)
{
    const struct planned_pod *x = *(struct planned_pod *const *)a, *y = *(struct planned_pod *const *)b;

    if (x->since_ns != y->since_ns) {
        return ORDER(x->since_ns, y->since_ns);
    }
    return ORDER(x->seen->pod->arrival, y->seen->pod->arrival);
}

/* Filter has answered one node, and bind is not seen yet. */
static bool is_promised(const struct planned_pod *w, int64_t now_ns)
{
    return w->asked_node != NULL && now_ns - w->asked_ns < PLANNER_ASKED_MS * NS_PER_MS;
}

/* In the order in which they were nominated; of those that others nominated or that are with the scheduler now that is
 * not known: before ours. */
static void take_held(struct planner *p, struct planned_pod **scratch, int64_t now_ns, struct head *h)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->pod_n; i++) {
        if (p->pods[i]->nominated != NOMINATED_NOT || is_promised(p->pods[i], now_ns)) {
            scratch[n++] = p->pods[i];
        }
    }
    if (n > 1) {
        qsort(scratch, n, sizeof(struct planned_pod *), by_since);
    }
    for (size_t i = 0; i < n; i++) {
        const char *node_name = is_promised(scratch[i], now_ns) ? scratch[i]->asked_node : scratch[i]->node_name;

        h->q.held[h->q.held_n++] =
            (struct plan_held){.pod = take(h, scratch[i]), .node_name = arena_str(&h->arena, str_of(node_name))};
    }
}

/* From the front: those that the scheduler takes before a patch lands, which are only counted; then as far back as its
 * binds of the horizon reach. Who waits for another look (no node took it, or its nomination came to nothing) is not
 * counted: the scheduler has set it aside, too. */
static void take_queue(struct planner *p, struct planned_pod **queue, uint32_t reach, int64_t now_ns, struct head *h)
{
    const size_t lead = planner_lead(p, now_ns);
    size_t n = 0;

    for (uint32_t i = 0; i < p->pod_n; i++) {
        struct planned_pod *w = p->pods[i];

        if (is_queued(p, w, now_ns) && (planner_is_outstanding(w) || w->not_before_ns <= now_ns)) {
            queue[n++] = w;
        }
    }
    if (n > 1) {
        qsort(queue, n, sizeof(struct planned_pod *), by_turn);
    }
    for (size_t i = 0; i < n && i < lead; i++) {
        if (queue[i]->nominated == NOMINATED_NOT) {
            h->pods[h->q.front_n++] = take(h, queue[i]);
        }
    }
    h->q.pod_n = h->q.front_n;
    for (size_t i = lead; i < n && i < lead + reach && h->q.pod_n < PODS_OFFERED_MAX; i++) {
        if (may_be_nominated(p, queue[i], now_ns)) {
            h->pods[h->q.pod_n++] = take(h, queue[i]);
        }
    }
}

/* With the lock. Fills `h`, which has no pods where nobody is to be nominated now. */
static void gather(struct planner *p, int64_t now_ns, struct head *h)
{
    const uint32_t target = wanted(p, now_ns);
    const uint32_t deficit = target > p->outstanding_n ? target - p->outstanding_n : 0;
    struct planned_pod **scratch;

    if (!head_init(h, p, deficit < PLANNER_BLOCK_MAX ? deficit : PLANNER_BLOCK_MAX) || h->q.max == 0) {
        return;
    }
    scratch = ARENA_ARRAY(&h->arena, (size_t)p->pod_n + 1, struct planned_pod *);
    if (scratch != NULL) {
        take_queue(p, scratch, target, now_ns, h);
        if (h->q.pod_n > h->q.front_n) {
            take_held(p, scratch, now_ns, h);
        }
    }
}

/* With the lock: what was chosen is the block, if the pod is still as it was. */
static void make_block(struct planner *p, const struct head *h, size_t n, int64_t now_ns)
{
    planner_drop_block(p);
    for (size_t i = 0; i < n; i++) {
        const struct planner_choice *c = &h->q.ret[i];
        struct planned_pod *w = planner_find(p, c->pod->uid);

        if (w != NULL && w->seen->pod == c->pod) {
            w->choice = str_dup(c->node_name);
            w->choice_version = c->pod->version;
            p->block[p->block_n++] = w;
        }
    }
    p->block_ns = now_ns;
}

/* In the order of the queue, as many as may be under way. Who is with the scheduler by now, or was changed, is left. */
static struct planner_call *nominate(struct planner *p, int64_t now_ns)
{
    struct planner_call *first = NULL, **end = &first;

    if (!p->enabled || p->stopping || now_ns < p->not_before_ns ||
        now_ns - p->block_ns > PLANNER_BLOCK_MS * NS_PER_MS) {
        planner_drop_block(p);
    }
    while (p->block_at < p->block_n && p->in_flight_n < PLANNER_IN_FLIGHT_MAX) {
        struct planned_pod *w = p->block[p->block_at++];
        char *node_name = w != NULL ? w->choice : NULL;

        if (w == NULL) {
            continue;
        }
        w->choice = NULL;
        if (w->seen->pod->version == w->choice_version && may_be_nominated(p, w, now_ns) && is_queued(p, w, now_ns)) {
            *end = call_new(p, w, str_of(node_name));
            end = &(*end)->next;
            w->since_ns = now_ns;
            w->sent_version = w->seen->pod->version;
            w->unfit_n = 0;
            planner_set_nominated(p, w, NOMINATED_SENT, str_of(node_name));
            planner_set_our_node(w, str_of(node_name));
        }
        free(node_name);
    }
    return first;
}

/* Who has no node now. Others take their places in the head, and are looked at next. */
static void set_aside(struct planner *p, const struct head *h, size_t chosen_n, int64_t now_ns)
{
    size_t at = 0; /* what was chosen is in the order of the pods */

    for (size_t i = h->q.front_n; i < h->q.looked_n; i++) {
        struct planned_pod *w;

        if (at < chosen_n && h->q.ret[at].pod == h->pods[i]) {
            at++;
            continue;
        }
        w = planner_find(p, h->pods[i]->uid);
        if (w != NULL && w->seen->pod == h->pods[i]) {
            const int64_t ms = (int64_t)PLANNER_UNFIT_MS << (w->unfit_n < 5 ? w->unfit_n : 5);

            w->unfit_n++;
            w->not_before_ns = now_ns + (ms < PLANNER_UNFIT_MAX_MS ? ms : PLANNER_UNFIT_MAX_MS) * NS_PER_MS;
            p->news = true;
        }
    }
}

/* Gives up the lock while nodes are chosen. */
static void plan(struct planner *p, int64_t now_ns)
{
    struct head h;

    p->news = false;
    p->looked_ns = now_ns;
    gather(p, now_ns, &h);
    if (h.q.pod_n > h.q.front_n) {
        size_t n;

        mutex_unlock(&p->lock);
        n = p->options.choose(p->options.ctx, &h.q);
        for (size_t i = 0; i < n; i++) { /* before it is sent: others would take the room meanwhile */
            p->options.promise(p->options.ctx, h.q.ret[i].pod, h.q.ret[i].node_name);
        }
        mutex_lock(&p->lock);
        now_ns = clock_mono_ns(p->options.clock);
        p->status.differ_n += h.q.differ_n;
        set_aside(p, &h, n, now_ns);
        make_block(p, &h, n, now_ns);
    }
    for (size_t i = 0; i < h.counted_n; i++) {
        planner_seen_put(h.counted[i]);
    }
    arena_fini(&h.arena);
}

/* When to look for pods to nominate; INT64_MAX: something has to happen first, which is news. */
static int64_t look_at_ns(const struct planner *p)
{
    const int64_t pause_ms = p->news ? PLANNER_TICK_MS : PLANNER_LOOK_MS;
    const int64_t at_ns = p->looked_ns + pause_ms * NS_PER_MS;
    const int64_t rests_ns = p->not_before_ns > p->poor_until_ns ? p->not_before_ns : p->poor_until_ns;

    if (!p->enabled || p->stopping || p->in_flight_n >= PLANNER_IN_FLIGHT_MAX || p->block_at < p->block_n ||
        (!p->news && p->pod_n == p->outstanding_n)) {
        return INT64_MAX;
    }
    return at_ns > rests_ns ? at_ns : rests_ns;
}

int64_t planner_turn(struct planner *p)
{
    struct planner_call *withdrawals, *nominations = NULL;
    int64_t now_ns, wake_ns = INT64_MAX;

    planner_release(p);
    mutex_lock(&p->lock);
    now_ns = clock_mono_ns(p->options.clock);
    withdrawals = due_withdrawals(p, now_ns, &wake_ns);
    nominations = nominate(p, now_ns);
    if (nominations == NULL && look_at_ns(p) <= now_ns) {
        plan(p, now_ns);
        nominations = nominate(p, clock_mono_ns(p->options.clock));
    }
    wake_ns = earlier(wake_ns, look_at_ns(p));
    mutex_unlock(&p->lock);
    send_all(p, withdrawals);
    send_all(p, nominations);
    return wake_ns;
}
