/* The table of pods that wait, and what observations do to it. */
#include "extender/planner_internal.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(struct str uid)
{
    /* The API server makes uids; who makes equal hashes makes each look at most PLANNER_PODS_MAX steps long. */
    const struct hash_key key = {0x66677075, 0x706c616e};

    return hash_name(key, uid);
}

static bool has_uid(const void *owner, uint32_t value, const void *key)
{
    const struct planner *p = owner;

    return str_eq(p->pods[value]->seen->pod->uid, *(const struct str *)key);
}

struct planned_pod *planner_find(const struct planner *p, struct str uid)
{
    const uint32_t i = hashmap_find(&p->by_uid, hash_of(uid), has_uid, p, &uid);

    return i == HASHMAP_NONE ? NULL : p->pods[i];
}

void planner_seen_put(struct counted_pod *s)
{
    if (--s->ref_n == 0) {
        waiting_pod_free(s->pod);
        free(s);
    }
}

bool planner_is_outstanding(const struct planned_pod *w)
{
    return w->nominated == NOMINATED_SENT || w->nominated == NOMINATED_OURS;
}

void planner_set_nominated(struct planner *p, struct planned_pod *w, enum nominated to, struct str node_name)
{
    const bool before = planner_is_outstanding(w);

    w->nominated = to;
    if (before && !planner_is_outstanding(w)) {
        struct planned_pod *last = p->outstanding[--p->outstanding_n];

        p->outstanding[w->outstanding_at] = last;
        last->outstanding_at = w->outstanding_at;
    } else if (!before && planner_is_outstanding(w)) {
        w->outstanding_at = p->outstanding_n;
        p->outstanding[p->outstanding_n++] = w;
    }
    if (!str_eq(str_of(w->node_name), node_name)) {
        free(w->node_name);
        w->node_name = node_name.n > 0 ? str_dup(node_name) : NULL;
    }
}

void planner_set_our_node(struct planned_pod *w, struct str node_name)
{
    char *to = node_name.n > 0 ? str_dup(node_name) : NULL; /* it may be the present one */

    free(w->our_node);
    w->our_node = to;
}

void planner_let_wait(struct planned_pod *w, int64_t now_ns)
{
    const int64_t ms = (int64_t)PLANNER_AGAIN_MS << (w->again_n < 16 ? w->again_n : 16);

    w->not_before_ns = now_ns + (ms < PLANNER_AGAIN_MAX_MS ? ms : PLANNER_AGAIN_MAX_MS) * NS_PER_MS;
    w->again_n++;
}

void planner_note_news(struct planner *p)
{
    p->news = true;
    p->news_n++;
    condvar_signal(&p->changed);
}

void planner_remove(struct planner *p, struct planned_pod *w)
{
    struct planned_pod *last = p->pods[p->pod_n - 1];

    planner_set_nominated(p, w, NOMINATED_NOT, STR_NULL);
    planner_set_our_node(w, STR_NULL);
    planner_unchoose(p, w);
    free(w->asked_node);
    hashmap_remove(&p->by_uid, w->hash, w->index);
    if (last != w) {
        hashmap_remove(&p->by_uid, last->hash, last->index);
        p->pods[w->index] = last;
        last->index = w->index;
        hashmap_insert(&p->by_uid, last->hash, last->index);
    }
    p->pod_n--;
    planner_seen_put(w->seen);
    free(w);
}

/* ---- room ---- */

int planner_compare(const struct planned_pod *a, const struct planned_pod *b)
{
    return waiting_pod_compare(a->seen->pod, b->seen->pod);
}

/* Makes room for a pod in a full table: the last of those that nothing is under way for. False: that is this one. */
static bool make_room(struct planner *p, int32_t priority, bool ours)
{
    struct planned_pod *last = NULL;

    if (!ours && priority <= p->least_priority) {
        return false;
    }
    for (uint32_t i = 0; i < p->pod_n; i++) {
        struct planned_pod *w = p->pods[i];

        if (!planner_is_outstanding(w) && !w->busy && (last == NULL || planner_compare(w, last) > 0)) {
            last = w;
        }
    }
    if (last == NULL) { /* at most PLANNER_OUTSTANDING_MAX of ours; more are another's doing, and are seen again */
        return false;
    }
    p->least_priority = last->seen->pod->priority;
    if (!ours && priority <= p->least_priority) {
        return false;
    }
    planner_remove(p, last);
    return true;
}

/* Takes `seen` over, if there is room. */
static struct planned_pod *add(struct planner *p, struct counted_pod *seen)
{
    struct planned_pod *w;

    if (p->pod_n == PLANNER_PODS_MAX && !make_room(p, seen->pod->priority, seen->pod->nominated_by_us)) {
        p->status.left_out_n++;
        return NULL;
    }
    w = xcalloc(1, sizeof(*w));
    w->seen = seen;
    w->hash = hash_of(seen->pod->uid);
    w->index = p->pod_n;
    seen->pod->arrival = p->arrival++;
    w->since_ns = w->asked_ns = w->binding_ns = w->not_before_ns = w->retry_ns = PLANNER_NEVER;
    p->pods[p->pod_n++] = w;
    hashmap_insert(&p->by_uid, w->hash, w->index);
    return w;
}

/* ---- what is observed ---- */

static void note_bind(struct planner *p, const struct planned_pod *w, struct str node_name, int64_t now_ns)
{
    const int64_t part = now_ns / (PLANNER_HORIZON_MS / PLANNER_RATE_PARTS * NS_PER_MS);

    if (part - p->bind_part >= PLANNER_RATE_PARTS) {
        memset(p->binds, 0, sizeof(p->binds));
        p->bind_part = part;
    }
    for (; p->bind_part < part; p->bind_part++) {
        p->binds[(p->bind_part + 1) % PLANNER_RATE_PARTS] = 0;
    }
    p->binds[part % PLANNER_RATE_PARTS]++;
    p->last_bind_ns = now_ns;
    if (planner_is_outstanding(w)) {
        const bool hit = str_eq(str_of(w->node_name), node_name);

        p->status.used_n += hit;
        planner_note_hit(p, hit, now_ns);
    }
}

static bool is_ours(const struct planned_pod *w, struct str node_name, bool recorded)
{
    return node_name.n > 0 && (recorded || (w != NULL && str_eq(str_of(w->our_node), node_name)));
}

bool planner_nominated(struct planner *p, const struct pod *pod)
{
    bool ours = pod->nominated_by_planner;

    if (p != NULL && !ours && pod->nominated_node_name.n > 0) {
        mutex_lock(&p->lock);
        ours = is_ours(planner_find(p, pod->uid), pod->nominated_node_name, false);
        mutex_unlock(&p->lock);
    }
    return ours;
}

/* What the object says about its nomination. */
static void follow_nomination(struct planner *p, struct planned_pod *w, int64_t now_ns)
{
    const struct waiting_pod *seen = w->seen->pod;

    if (seen->nominated.n == 0) {
        if (w->nominated == NOMINATED_SENT && seen->version <= w->sent_version) {
            return; /* the same version once more: the patch may still land on it */
        }
        if (planner_is_outstanding(w)) { /* kube-scheduler tried, and took it back */
            planner_let_wait(w, now_ns);
        }
        planner_set_nominated(p, w, NOMINATED_NOT, STR_NULL);
        if (seen->version > w->sent_version) { /* no patch of ours can land any more */
            planner_set_our_node(w, STR_NULL);
        }
        return;
    }
    if (!is_ours(w, seen->nominated, seen->nominated_by_us)) {
        planner_set_our_node(w, STR_NULL);
        planner_set_nominated(p, w, NOMINATED_OTHERS, seen->nominated);
        return;
    }
    if (!planner_is_outstanding(w)) { /* an earlier process's, or one that was taken back and lands late */
        w->since_ns = PLANNER_NEVER;
    }
    planner_set_nominated(p, w, NOMINATED_OURS, seen->nominated);
    planner_set_our_node(w, seen->nominated);
}

static void observe_waiting(struct planner *p, struct waiting_pod *waits, int64_t now_ns)
{
    struct planned_pod *w = planner_find(p, waits->uid);
    struct counted_pod *seen = xcalloc(1, sizeof(*seen));

    *seen = (struct counted_pod){waits, 1};
    if (w != NULL) {
        waits->queued_ms = w->seen->pod->queued_ms; /* it keeps its place */
        waits->arrival = w->seen->pod->arrival;
        planner_seen_put(w->seen);
        w->seen = seen;
    } else {
        w = add(p, seen);
    }
    if (w == NULL) {
        planner_seen_put(seen);
        return;
    }
    w->epoch = p->epoch;
    follow_nomination(p, w, now_ns);
}

void planner_observed(struct planner *p, const struct pod *pod, struct waiting_pod *waits)
{
    struct planned_pod *w;
    int64_t now_ns;

    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    now_ns = clock_mono_ns(p->options.clock);
    keepers_observed(p->keepers, pod->uid, pod->namespace_, pod->scheduler_only);
    if (waits != NULL) {
        observe_waiting(p, waits, now_ns);
        planner_note_news(p);
    } else if ((w = planner_find(p, pod->uid)) != NULL) {
        if (pod->node_name.n > 0) {
            note_bind(p, w, pod->node_name, now_ns);
        }
        planner_remove(p, w);
        planner_note_news(p);
    }
    mutex_unlock(&p->lock);
}

void planner_gone(struct planner *p, struct str uid)
{
    struct planned_pod *w;

    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    keepers_gone(p->keepers, uid);
    w = planner_find(p, uid);
    if (w != NULL) {
        planner_remove(p, w);
        planner_note_news(p);
    }
    mutex_unlock(&p->lock);
}

void planner_list_begin(struct planner *p)
{
    if (p != NULL) {
        mutex_lock(&p->lock);
        p->epoch++;
        keepers_list_begin(p->keepers);
        mutex_unlock(&p->lock);
    }
}

void planner_list_end(struct planner *p, bool complete)
{
    if (p == NULL || !complete) {
        return;
    }
    mutex_lock(&p->lock);
    keepers_list_end(p->keepers, true);
    for (uint32_t i = p->pod_n; i > 0; i--) { /* the last one takes the place of one that is removed */
        if (p->pods[i - 1]->epoch != p->epoch) {
            planner_remove(p, p->pods[i - 1]);
        }
    }
    planner_note_news(p);
    mutex_unlock(&p->lock);
}

/* ---- what schedulers do ---- */

struct planned_scheduler *planner_scheduler(struct planner *p, struct str name)
{
    for (size_t i = 0; i < p->scheduler_n; i++) {
        if (str_eq_cstr(name, p->schedulers[i].name)) {
            return &p->schedulers[i];
        }
    }
    return NULL;
}

static void learn_scheduler(struct planner *p, struct str name)
{
    struct planned_scheduler *s;

    if (name.n == 0 || name.n > KUBE_SUBDOMAIN_MAX || p->scheduler_n == PLANNER_SCHEDULERS_MAX ||
        planner_scheduler(p, name) != NULL) {
        return;
    }
    s = &p->schedulers[p->scheduler_n++];
    memcpy(s->name, name.p, name.n);
    s->name[name.n] = '\0';
    s->not_before_ns = PLANNER_NEVER;
}

void planner_asked(struct planner *p, const struct planner_ask *ask)
{
    struct planned_pod *w;
    int64_t now_ns;

    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    now_ns = clock_mono_ns(p->options.clock);
    learn_scheduler(p, ask->scheduler_name);
    w = planner_find(p, ask->uid);
    if (w != NULL) {
        planner_note_ask(p, w, ask, now_ns);
        free(w->asked_node);
        w->asked_node = ask->some_fit && ask->node_name.n > 0 ? str_dup(ask->node_name) : NULL;
    }
    if (w != NULL && ask->some_fit) {
        w->asked_ns = now_ns;
    } else if (w != NULL) { /* it goes to the end of the scheduler's queue */
        w->asked_ns = PLANNER_NEVER;
        w->seen->pod->queued_ms = clock_wall_ms(p->options.clock);
        w->seen->pod->arrival = p->arrival++;
    }
    mutex_unlock(&p->lock);
}

void planner_binding(struct planner *p, struct str uid)
{
    struct planned_pod *w;

    if (p == NULL) {
        return;
    }
    mutex_lock(&p->lock);
    w = planner_find(p, uid);
    if (w != NULL) {
        w->binding_ns = clock_mono_ns(p->options.clock);
    }
    mutex_unlock(&p->lock);
}
