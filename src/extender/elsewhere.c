#include "extender/elsewhere.h"

#include "base/bug.h"
#include "base/sync.h"
#include "extender/elsewhere_budget.h"
#include "extender/elsewhere_pods.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 1024

struct elsewhere {
    struct store *store;
    struct policy_set *policies;
    const struct clock *clock;
    const struct log *log;
    struct requeue_trigger *trigger;
    struct thread thread;

    struct mutex lock; /* of the queue, the flags and the counts */
    struct condvar changed;
    struct elsewhere_question *first, **end;
    size_t queued_n;
    bool busy, stopping;
    struct elsewhere_counts counts;

    /* The thread's own. */
    struct elsewhere_pods pods;
    struct elsewhere_budget budget;
};

/* ---- questions ---- */

static void question_free(struct elsewhere_question *q)
{
    free(q->demand);
    free(q->text);
    free(q->labels);
    free(q->asked);
    free(q);
}

static uint64_t *copy_words(const uint64_t *words, size_t n)
{
    uint64_t *copy = xcalloc(n + 1, sizeof(*copy));

    if (n > 0) {
        memcpy(copy, words, n * sizeof(*copy));
    }
    return copy;
}

static struct elsewhere_question *question_new(const struct filter_result *r)
{
    struct elsewhere_question *q = xcalloc(1, sizeof(*q));
    char *at;

    q->pod = r->pod;
    q->pod.demand = q->demand = demand_copy(r->pod.demand);
    q->pod.label_hashes = q->labels = copy_words(r->pod.label_hashes, r->pod.label_n);
    at = q->text = xmalloc(r->pod.uid.n + r->pod.namespace_.n + 1);
    q->pod.uid = str_put(&at, r->pod.uid);
    q->pod.namespace_ = str_put(&at, r->pod.namespace_);
    q->asked = copy_words(r->asked.bits, r->asked.word_n);
    q->asked_word_n = r->asked.word_n;
    q->names_version = r->asked.names_version;
    q->name_n = r->result_n;
    return q;
}

void elsewhere_refused(struct elsewhere *e, const struct filter_result *result)
{
    struct elsewhere_question *q;

    if (e == NULL || result->result_n < ELSEWHERE_NAMES_MIN || result->asked.bits == NULL) {
        return;
    }
    q = question_new(result);
    mutex_lock(&e->lock);
    if (e->queued_n < QUEUE_MAX && !e->stopping) {
        *e->end = q;
        e->end = &q->next;
        e->queued_n++;
        condvar_broadcast(&e->changed);
        q = NULL;
    } else {
        e->counts.dropped_n++;
    }
    mutex_unlock(&e->lock);
    if (q != NULL) {
        question_free(q);
    }
}

/* ---- what is done ---- */

/* So many samples make the cluster. */
static size_t sample_n_of(const struct elsewhere_question *q)
{
    return (q->asked_word_n * 64 + q->name_n - 1) / q->name_n;
}

static int64_t stale_pause_ms(unsigned stale_n)
{
    int64_t ms = ELSEWHERE_STALE_PAUSE_MS;

    for (unsigned i = 1; i < stale_n && ms < ELSEWHERE_REFILL_MS; i++) {
        ms *= 2;
    }
    return stale_n == 0 ? 0 : ms < ELSEWHERE_REFILL_MS ? ms : ELSEWHERE_REFILL_MS;
}

/* In how many ms it may have one more PATCH. Its own are twice what leads to any node if others take no turn. */
static int64_t spend_ms(struct elsewhere *e, struct elsewhere_pod *p, const struct elsewhere_question *q,
                        int64_t now_ns)
{
    const uint64_t most = 2 * sample_n_of(q) + ELSEWHERE_SPARE;
    const int64_t delay_ms = stale_pause_ms(p->stale_n);

    p->shared = p->spent_n >= most;
    if (p->shared) {
        return elsewhere_budget_ask_ms(&e->budget, most, delay_ms, now_ns);
    }
    p->spent_n++;
    return delay_ms;
}

/* There is a node for it. */
static void wake(struct elsewhere *e, struct elsewhere_pod *p, const struct elsewhere_question *q,
                 struct elsewhere_counts *counts)
{
    const int64_t now_ns = clock_mono_ns(e->clock);
    bool twice = p->stale_n % 2 == 1;
    int64_t delay_ms;

    if (p->due_ns > now_ns && !p->shared) {
        delay_ms =
            (p->due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS; /* as before: it was tried for somebody else's sake */
    } else {
        delay_ms = spend_ms(e, p, q, now_ns);
        p->due_ns = now_ns + delay_ms * NS_PER_MS;
    }
    counts->woken_n++;
    requeue_trigger_elsewhere(e->trigger, delay_ms, twice, sample_n_of(q));
    LOG_V(e->log, 4, "Refused on a sample of the nodes; another node takes the pod",
          LOG_STR("namespace", q->pod.namespace_), LOG_STR("uid", q->pod.uid), LOG_I64("delayMs", delay_ms),
          LOG_I64("stale", p->stale_n));
}

/* kube-scheduler does not name the nodes that are left. */
static int give_up(struct elsewhere *e, struct elsewhere_pod *p, const struct elsewhere_question *q,
                   const struct rules *rules, struct elsewhere_counts *counts, struct err *reterr)
{
    size_t n;

    p->stale_n = 0;
    counts->given_up_n++;
    LOG_V(e->log, 2, "Nodes take the pod, but kube-scheduler does not ask about them: it refuses them itself",
          LOG_STR("namespace", q->pod.namespace_), LOG_STR("uid", q->pod.uid));
    return store_fits_elsewhere(e->store, &q->pod, &rules->placement.plans, &p->tried, true, &n, reterr);
}

/* An attempt before its time, of which others were the reason, is no sign that more of them are in vain. */
static void note_progress(struct elsewhere_pod *p, bool progress, int64_t now_ns)
{
    if (progress) {
        p->due_ns = p->stale_n > 0 ? 0 : p->due_ns;
        p->stale_n = 0;
    } else if (now_ns >= p->due_ns) {
        p->stale_n++;
    }
}

static int look_by(struct elsewhere *e, const struct elsewhere_question *q, const struct rules *rules,
                   struct elsewhere_counts *counts, struct err *reterr)
{
    const int64_t now_ns = clock_mono_ns(e->clock);
    struct elsewhere_pod *p = elsewhere_pods_of(&e->pods, q, rules->generation, now_ns);
    size_t fresh_n, fit_n = 0;
    int rc;

    store_tried_follow(e->store, &p->asked);
    store_tried_follow(e->store, &p->tried);
    fresh_n = elsewhere_add_asked(&p->asked, q);
    (void)elsewhere_add_asked(&p->tried, q);
    if (fresh_n > 0 && p->spent_n > 0 && elsewhere_budget_progress(&e->budget, now_ns)) {
        requeue_trigger_elsewhere(e->trigger, ELSEWHERE_REFILL_MS, false, sample_n_of(q));
    }
    rc = store_fits_elsewhere(e->store, &q->pod, &rules->placement.plans, &p->tried, false, &fit_n, reterr);
    note_progress(p, fresh_n > 0 || fit_n == 0, now_ns);
    if (rc == 0 && p->stale_n > ELSEWHERE_STALE_MAX) {
        rc = give_up(e, p, q, rules, counts, reterr);
    } else if (rc == 0 && fit_n > 0) {
        wake(e, p, q, counts);
    }
    return rc;
}

static void look(struct elsewhere *e, const struct elsewhere_question *q, struct elsewhere_counts *counts)
{
    const struct rules *rules = policy_set_take(e->policies);
    struct err err;

    counts->searched_n++;
    if (look_by(e, q, rules, counts, &err) != 0) {
        LOG_WARNING(e->log, "Could not look for a node beside those that kube-scheduler asked about",
                    LOG_STR("uid", q->pod.uid), LOG_CSTR("err", err.msg));
    }
    rules_put(rules);
}

/* ---- the thread ---- */

static struct elsewhere_question *take_first(struct elsewhere *e)
{
    struct elsewhere_question *q = e->first;

    e->first = q->next;
    e->queued_n--;
    if (e->first == NULL) {
        e->end = &e->first;
    }
    return q;
}

static void *elsewhere_main(void *arg)
{
    struct elsewhere *e = arg;

    mutex_lock(&e->lock);
    while (!e->stopping) {
        struct elsewhere_counts counts = e->counts;
        struct elsewhere_question *q;

        if (e->first == NULL) {
            condvar_wait(&e->changed, &e->lock);
            continue;
        }
        q = take_first(e);
        e->busy = true;
        mutex_unlock(&e->lock);
        look(e, q, &counts);
        question_free(q);
        mutex_lock(&e->lock);
        e->busy = false;
        counts.dropped_n = e->counts.dropped_n;
        e->counts = counts;
        condvar_broadcast(&e->changed);
    }
    mutex_unlock(&e->lock);
    return NULL;
}

int elsewhere_new(struct store *store, struct policy_set *policies, const struct clock *clock, const struct log *log,
                  struct requeue_trigger *trigger, struct elsewhere **ret, struct err *reterr)
{
    struct elsewhere *e = xcalloc(1, sizeof(*e));
    int rc;

    e->store = store;
    e->policies = policies;
    e->clock = clock;
    e->log = log;
    e->trigger = trigger;
    e->end = &e->first;
    elsewhere_budget_init(&e->budget, clock_mono_ns(clock));
    mutex_init(&e->lock, "elsewhere");
    condvar_init(&e->changed, "elsewhere changed");
    rc = thread_start(&e->thread, "elsewhere", elsewhere_main, e, reterr);
    if (rc != 0) {
        condvar_destroy(&e->changed);
        mutex_destroy(&e->lock);
        free(e);
        return rc;
    }
    *ret = e;
    return 0;
}

void elsewhere_free(struct elsewhere *e)
{
    if (e == NULL) {
        return;
    }
    mutex_lock(&e->lock);
    e->stopping = true;
    condvar_broadcast(&e->changed);
    mutex_unlock(&e->lock);
    thread_join(&e->thread);
    while (e->first != NULL) {
        question_free(take_first(e));
    }
    elsewhere_pods_free(&e->pods);
    condvar_destroy(&e->changed);
    mutex_destroy(&e->lock);
    free(e);
}

void elsewhere_counts(struct elsewhere *e, struct elsewhere_counts *ret)
{
    mutex_lock(&e->lock);
    *ret = e->counts;
    mutex_unlock(&e->lock);
}

void elsewhere_drain(struct elsewhere *e)
{
    mutex_lock(&e->lock);
    while (e->first != NULL || e->busy) {
        condvar_wait(&e->changed, &e->lock);
    }
    mutex_unlock(&e->lock);
}
