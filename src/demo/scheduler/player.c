#include "demo/scheduler/player_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/hash.h"
#include "demo/checker/checker.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct hash_key entry_key = {3, 4};

static bool entry_is(const void *owner, uint32_t value, const void *uid)
{
    const struct player *p = owner;
    return strcmp(p->entries[value].uid, uid) == 0;
}

struct queue_entry *player_entry(struct player *p, const char *uid)
{
    uint32_t i = hashmap_find(&p->entry_ix, hash_str(entry_key, str_of(uid)), entry_is, p, uid);
    return i == HASHMAP_NONE ? NULL : &p->entries[i];
}

struct queue_entry *player_entry_add(struct player *p, const char *uid)
{
    if ((p->entry_n & (p->entry_n - 1)) == 0) { /* grow at powers of two */
        size_t cap = p->entry_n ? p->entry_n * 2 : 1;
        p->entries = xreallocarray(p->entries, cap, sizeof(*p->entries));
    }
    struct queue_entry *e = &p->entries[p->entry_n];
    *e = (struct queue_entry){0};
    snprintf(e->uid, sizeof(e->uid), "%s", uid);
    hashmap_insert(&p->entry_ix, hash_str(entry_key, str_of(e->uid)), (uint32_t)p->entry_n++);
    return e;
}

void player_sweep(struct player *p)
{
    size_t n = p->entry_n, kept = 0;
    p->stats.refused_now = 0;
    for (size_t i = 0; i < n; i++) {
        struct queue_entry *e = &p->entries[i];
        if (e->seen || e->binding) {
            e->seen = false;
            p->stats.refused_now += e->refused;
            p->entries[kept++] = *e;
        }
    }
    if (kept == n) {
        return; /* nothing moved */
    }
    p->entry_n = kept;
    hashmap_fini(&p->entry_ix);
    hashmap_init(&p->entry_ix);
    for (size_t i = 0; i < kept; i++) {
        hashmap_insert(&p->entry_ix, hash_str(entry_key, str_of(p->entries[i].uid)), (uint32_t)i);
    }
}

/* kube-scheduler's podInitialBackoffSeconds 1 and podMaxBackoffSeconds 10. */
void player_back_off(struct player *p, struct queue_entry *e)
{
    int64_t seconds = e->attempts < 4 ? INT64_C(1) << e->attempts : 10;
    e->attempts++;
    e->not_before_ns = clock_mono_ns(p->clock) + player_scaled_ns(p, seconds * NS_PER_S);
}

/* A pod that is tried again and refused for the same reason is no news; a few of them would push all others out of
 * sight. */
static bool is_known_refusal(const struct player_stats *s, const struct decision *d)
{
    for (size_t i = 0; d->kind == DECISION_REFUSED && i < s->decision_n; i++) {
        if (strcmp(s->decisions[i].pod, d->pod) == 0) {
            return s->decisions[i].kind == DECISION_REFUSED && strcmp(s->decisions[i].reason, d->reason) == 0;
        }
    }
    return false;
}

void player_record(struct player *p, const struct decision *d)
{
    struct player_stats *s = &p->stats;
    if (is_known_refusal(s, d)) {
        return;
    }
    uint64_t seq = s->decision_n ? s->decisions[0].seq + 1 : 1;
    size_t keep = s->decision_n < PLAYER_DECISIONS ? s->decision_n : PLAYER_DECISIONS - 1;
    memmove(s->decisions + 1, s->decisions, keep * sizeof(s->decisions[0]));
    s->decisions[0] = *d;
    s->decisions[0].seq = seq;
    s->decision_n = keep + 1;
}

void player_failed(struct player *p, const char *uid, struct decision *d, const struct err *err)
{
    if (err->code == ERR_CANCELLED) {
        return; /* we are stopping: nobody failed */
    }
    struct decision failed = *d;
    failed.kind = DECISION_FAILED;
    snprintf(failed.reason, sizeof(failed.reason), "%.*s", (int)sizeof(failed.reason) - 1, err->msg);
    mutex_lock(&p->lock);
    p->stats.failures++;
    p->stats.protocol_errors += err->code == ERR_PARSE || err->code == ERR_INVALID;
    snprintf(p->stats.last_failure, sizeof(p->stats.last_failure), "%.*s", (int)sizeof(p->stats.last_failure) - 1,
             err->msg);
    player_record(p, &failed);
    struct queue_entry *e = uid ? player_entry(p, uid) : NULL;
    if (e) {
        e->binding = false;
        e->refused = false;
        e->wait_cluster = 0;
        player_back_off(p, e);
    }
    mutex_unlock(&p->lock);
}

void player_submit(struct player *p, const struct bind_job *job)
{
    struct bind_job *copy = xmalloc(sizeof(*copy)), **at = &p->jobs;
    *copy = *job;
    copy->next = NULL;
    mutex_lock(&p->lock);
    struct queue_entry *e = player_entry(p, job->uid);
    if (e) {
        e->binding = true;
        e->refused = false;
    }
    while (*at) {
        at = &(*at)->next;
    }
    *at = copy;
    condvar_signal(&p->jobs_cond);
    mutex_unlock(&p->lock);
}

struct bound_pod {
    const struct bind_job *job;
    bool seen; /* this very pod is still there */
    char node[254];
    char devices[48];
};

static void read_bound(void *ctx, const cJSON *pod)
{
    struct bound_pod *b = ctx;
    const char *uid = doc_text(pod, "metadata.uid"), *node = doc_text(pod, "spec.nodeName");
    if (strcmp(uid, b->job->uid) == 0) {
        b->seen = true;
        snprintf(b->node, sizeof(b->node), "%s", node);
        checker_devices_text(pod, b->devices, sizeof(b->devices));
    }
}

/* "Success" must mean that the Binding is in the API server (unless the pod has gone since). */
static bool verify_bound(struct player *p, struct bind_job *job, struct err *reterr)
{
    struct bound_pod b = {.job = job};
    apiserver_find(p->apiserver, APISERVER_PODS, job->namespace_, job->name, read_bound, &b);
    snprintf(job->decision.devices, sizeof(job->decision.devices), "%s", b.devices);
    if (b.seen && strcmp(b.node, job->node) != 0) {
        err_set(reterr, ERR_INVALID, "bind said success for %s, but the pod's node is \"%s\"", job->node, b.node);
        return false;
    }
    return true;
}

static void bind_one(struct player *p, struct verbs *v, struct bind_job *job)
{
    struct err err;
    int64_t us;
    if (verbs_bind(v, job->namespace_, job->name, job->uid, job->node, &us, &err) || !verify_bound(p, job, &err)) {
        player_failed(p, job->uid, &job->decision, &err);
        return;
    }
    job->decision.kind = DECISION_BOUND;
    job->decision.us += us;
    mutex_lock(&p->lock);
    latency_add(&p->stats.bind, us);
    p->stats.bound++;
    player_record(p, &job->decision);
    struct queue_entry *e = player_entry(p, job->uid);
    if (e) {
        e->binding = false;
        e->not_before_ns = INT64_MAX; /* never again; swept when the pod is seen bound */
    }
    mutex_unlock(&p->lock);
}

static void *serve_binds(void *ctx)
{
    struct player *p = ctx;
    struct verbs *v = verbs_new(p->verbs_url, &p->stop);
    mutex_lock(&p->lock);
    for (;;) {
        while (!p->jobs && !atomic_load(&p->stop)) {
            condvar_wait(&p->jobs_cond, &p->lock);
        }
        struct bind_job *job = p->jobs;
        if (atomic_load(&p->stop)) {
            break;
        }
        p->jobs = job->next;
        mutex_unlock(&p->lock);
        bind_one(p, v, job);
        free(job);
        mutex_lock(&p->lock);
    }
    mutex_unlock(&p->lock);
    verbs_free(v);
    return NULL;
}

int64_t player_scaled_ns(const struct player *p, int64_t ns)
{
    return ns / p->speed_milli * 1000 + ns % p->speed_milli * 1000 / p->speed_milli;
}

void player_sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static int check_options(const struct player_options *o, struct err *reterr)
{
    if (!o->apiserver || !o->verbs_url || strlen(o->verbs_url) >= sizeof(((struct player *)NULL)->verbs_url)) {
        return err_set(reterr, ERR_INVALID, "player: give an API server and the URL of the verbs");
    }
    if (o->speed_milli < 0 || o->speed_milli > 1000000) {
        return err_set(reterr, ERR_INVALID, "speed %d/1000: give more than 0 and at most 1000 times", o->speed_milli);
    }
    return 0;
}

static int start_threads(struct player *p, struct err *reterr)
{
    void *(*bodies[2 + PLAYER_BINDERS])(void *) = {player_schedule};
    size_t n = 1;
    while (n <= PLAYER_BINDERS) {
        bodies[n++] = serve_binds;
    }
    if (p->workload) {
        bodies[n++] = player_work;
    }
    for (size_t i = 0; i < n; i++) {
        int rc = thread_start(&p->threads[i], "demo-player", bodies[i], p, reterr);
        if (rc) {
            return rc;
        }
        p->thread_n++;
    }
    return 0;
}

int player_start(const struct player_options *o, struct player **ret, struct err *reterr)
{
    int rc = check_options(o, reterr);
    if (rc) {
        return rc;
    }
    struct player *p = xcalloc(1, sizeof(*p));
    p->apiserver = o->apiserver;
    p->clock = clock_system();
    snprintf(p->verbs_url, sizeof(p->verbs_url), "%s", o->verbs_url);
    p->speed_milli = o->speed_milli ? o->speed_milli : 1000;
    rng_init(&p->rng, o->seed);
    p->workload = o->workload ? workload_new(o->seed) : NULL;
    hashmap_init(&p->entry_ix);
    mutex_init(&p->lock, "demo player");
    condvar_init(&p->jobs_cond, "demo player jobs");
    rc = start_threads(p, reterr);
    if (rc) {
        player_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void player_stats(struct player *p, struct player_stats *ret)
{
    mutex_lock(&p->lock);
    *ret = p->stats;
    mutex_unlock(&p->lock);
}

void player_stop(struct player *p)
{
    if (p->stopped) {
        return;
    }
    mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    condvar_broadcast(&p->jobs_cond);
    mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->thread_n; i++) {
        thread_join(&p->threads[i]);
    }
    p->stopped = true;
}

void player_free(struct player *p)
{
    if (!p) {
        return;
    }
    player_stop(p);
    while (p->jobs) {
        struct bind_job *next = p->jobs->next;
        free(p->jobs);
        p->jobs = next;
    }
    free(p->entries);
    hashmap_fini(&p->entry_ix);
    workload_free(p->workload);
    condvar_destroy(&p->jobs_cond);
    mutex_destroy(&p->lock);
    free(p);
}
