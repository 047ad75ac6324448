#include "extender/shadow.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/sync.h"
#include "core/forecast/forecast.h"
#include "core/placement/plan.h"
#include "core/placement/shadow_decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES_MAX ((size_t)64 << 20)
#define REST 4 /* times as long as work */

/* A decision on its way to the thread. Everything is the job's own. */
struct job {
    uint64_t key;
    struct resolved_plan live, shadow; /* their plans are in: */
    struct pack_plan *plans;
    bool ruled;
    struct view_pod pod; /* without labels */
    struct demand *demand;
    char *text;
    struct str *names;
    size_t name_n;
};

struct shadow {
    struct store *store;
    struct thread thread;
    bool started;
    struct mutex lock; /* job, flags, report */
    struct condvar changed;
    struct job *job; /* waiting; NULL: none */
    bool busy, stopping;
    struct shadow_report report;
    /* the thread's own */
    struct mirror mirror;
    struct forecast *forecast;
    struct hashmap index; /* of names in the mirror */
    uint64_t index_version;
    bool index_made;
};

static void job_free(struct job *j)
{
    if (j != NULL) {
        free(j->demand);
        free(j->plans);
        free(j->text);
        free(j->names);
        free(j);
    }
}

/* ---- offers ---- */

/* Counts it; true when it may be compared, and then nobody else's may before this one. */
static bool take_turn(struct shadow *s, const struct placement_context *c)
{
    bool mine;

    mutex_lock(&s->lock);
    if (!s->report.on || s->report.key != c->shadow_key) {
        s->report =
            (struct shadow_report){.on = true, .key = c->shadow_key, .live = c->plans.rest, .shadow = c->shadow.rest};
    }
    s->report.decision_n++;
    mine = !s->busy && !s->stopping;
    s->busy = s->busy || mine;
    mutex_unlock(&s->lock);
    return mine;
}

static void copy_names(struct job *j, const struct view_pod *pod, const struct str *names, size_t name_n)
{
    size_t bytes = pod->uid.n + pod->namespace_.n;
    char *at;

    for (size_t i = 0; i < name_n; i++) {
        bytes += names[i].n;
    }
    at = j->text = xmalloc(bytes + 1);
    j->names = xcalloc(name_n + 1, sizeof(*j->names));
    j->name_n = name_n;
    for (size_t i = 0; i < name_n; i++) {
        j->names[i] = str_put(&at, names[i]);
    }
    j->pod.uid = str_put(&at, pod->uid);
    j->pod.namespace_ = str_put(&at, pod->namespace_);
}

/* Plans of its own: those of the policy may be gone by then. */
static void own_plans(struct resolved_plan *a, struct pack_plan *plans)
{
    for (size_t i = 0; i < a->n; i++) {
        plans[i] = *a->steps[i].plan;
        a->steps[i].plan = &plans[i];
    }
    a->plans = NULL;
}

static struct job *job_new(const struct placement_context *c, const struct view_pod *pod, const struct str *names,
                           size_t name_n)
{
    struct job *j = xcalloc(1, sizeof(*j));

    resolved_plan_make(&j->live, &c->plans, pod->namespace_, pod->label_hashes, pod->label_n);
    resolved_plan_make(&j->shadow, &c->shadow, pod->namespace_, pod->label_hashes, pod->label_n);
    j->key = c->shadow_key;
    j->ruled = j->live.n > 1 || j->live.steps[0].plan != &c->plans.rest;
    j->plans = xcalloc(j->live.n + j->shadow.n, sizeof(*j->plans));
    own_plans(&j->live, j->plans);
    own_plans(&j->shadow, j->plans + j->live.n);
    j->pod.demand = j->demand = demand_copy(pod->demand);
    j->pod.priority = pod->priority;
    copy_names(j, pod, names, name_n);
    return j;
}

void shadow_offer(struct shadow *s, const struct placement_context *c, const struct view_pod *pod,
                  const struct str *names, size_t name_n)
{
    struct job *j;

    if (!c->has_shadow || !take_turn(s, c)) {
        return;
    }
    j = job_new(c, pod, names, name_n);
    mutex_lock(&s->lock);
    s->job = j;
    condvar_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

/* ---- comparing ---- */

static const struct hash_key index_key = {0x66677075,
                                          0x736861646f77}; /* names are the API server's, not a stranger's */

static bool is_name(const void *owner, uint32_t value, const void *key)
{
    const struct mirror *m = owner;
    const struct str *name = key;

    return str_eq(m->names[value], *name);
}

static void follow_names(struct shadow *s)
{
    const struct mirror *m = &s->mirror;

    if (s->index_made && s->index_version == m->names_version) {
        return;
    }
    hashmap_fini(&s->index);
    hashmap_init(&s->index);
    for (uint32_t i = 0; i < m->node_n; i++) {
        if (m->names[i].n > 0) {
            hashmap_insert(&s->index, hash_str(index_key, m->names[i]), i);
        }
    }
    s->index_version = m->names_version;
    s->index_made = true;
}

/* The places of the names; what the ledger does not know is left out. */
static size_t find_nodes(const struct shadow *s, const struct job *j, uint32_t *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < j->name_n; i++) {
        uint32_t node = hashmap_find(&s->index, hash_str(index_key, j->names[i]), is_name, &s->mirror, &j->names[i]);

        if (node != HASHMAP_NONE) {
            ret[n++] = node;
        }
    }
    return n;
}

static void look_ahead(struct shadow *s, const struct resolved_plan *resolved_plan)
{
    const struct strategy *by[RESOLVED_PLAN_STRATEGIES_MAX];
    size_t n = resolved_plan_strategies(resolved_plan, by);

    for (size_t i = 0; i < n; i++) {
        store_forecast(s->store, s->forecast, by[i]);
    }
}

static bool compare(struct shadow *s, struct job *j, struct arena *a, struct shadow_difference *ret)
{
    struct shadow_decision t = {.mirror = &s->mirror, .demand = j->demand};
    struct store_shadow from;
    struct shadow_choice live, shadow;
    uint32_t *nodes = ARENA_ARRAY(a, j->name_n, uint32_t);

    if (nodes == NULL || store_shadow(s->store, a, &j->pod, &s->mirror, &from, NULL) != 0 || !from.plain) {
        return false;
    }
    follow_names(s);
    look_ahead(s, &j->live);
    look_ahead(s, &j->shadow);
    store_forecast(s->store, s->forecast, strategy_find(STR("fgd"))); /* the typical pods, for F */
    t.allowed_models = from.allowed_models;
    t.tenant_residual = from.limits_tenant ? &from.tenant_residual : NULL;
    t.nodes = nodes;
    t.node_n = find_nodes(s, j, nodes);
    live = shadow_choose(&t, &j->live, s->forecast, a);
    shadow = shadow_choose(&t, &j->shadow, s->forecast, a);
    if (!live.fits || !shadow.fits) {
        return false; /* the place is gone by now */
    }
    *ret = shadow_compare(&t, s->forecast, &live, &shadow);
    return true;
}

/* ---- the thread ---- */

static void count(struct shadow *s, const struct job *j, const struct shadow_difference *d)
{
    if (s->report.key != j->key) {
        return; /* counting has begun anew meanwhile */
    }
    s->report.compared_n++;
    s->report.ruled_n += j->ruled;
    s->report.other_node_n += d->node;
    s->report.other_device_n += d->devices;
    s->report.frag_umilli += (int64_t)floor(d->frag_milli * 1000 + 0.5);
}

static void rest(struct shadow *s, int64_t worked_ns)
{
    const int64_t until_ns = sync_in_ns(worked_ns * REST);

    while (!s->stopping && condvar_wait_until(&s->changed, &s->lock, until_ns)) {
    }
}

static void work(struct shadow *s, struct arena *a)
{
    struct job *j = s->job;
    struct shadow_difference d;
    int64_t start_ns = clock_mono_ns(clock_system());
    bool done;

    s->job = NULL;
    mutex_unlock(&s->lock);
    done = compare(s, j, a, &d);
    arena_reset(a);
    mutex_lock(&s->lock);
    if (done) {
        count(s, j, &d);
    }
    job_free(j);
    rest(s, clock_mono_ns(clock_system()) - start_ns);
    s->busy = false;
    condvar_broadcast(&s->changed);
}

static void *shadow_main(void *ctx)
{
    struct shadow *s = ctx;
    struct arena a;

    arena_init(&a, ARENA_BYTES_MAX);
    mutex_lock(&s->lock);
    while (!s->stopping) {
        if (s->job != NULL) {
            work(s, &a);
        } else {
            condvar_wait(&s->changed, &s->lock);
        }
    }
    mutex_unlock(&s->lock);
    arena_fini(&a);
    return NULL;
}

int shadow_new(struct store *store, struct shadow **ret, struct err *reterr)
{
    struct shadow *s = xcalloc(1, sizeof(*s));
    int rc;

    s->store = store;
    mirror_init(&s->mirror);
    hashmap_init(&s->index);
    s->forecast = forecast_new();
    mutex_init(&s->lock, "shadow");
    condvar_init(&s->changed, "shadow changed");
    rc = thread_start(&s->thread, "shadow", shadow_main, s, reterr);
    s->started = rc == 0;
    if (rc != 0) {
        shadow_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void shadow_free(struct shadow *s)
{
    if (s == NULL) {
        return;
    }
    if (s->started) {
        mutex_lock(&s->lock);
        s->stopping = true;
        condvar_broadcast(&s->changed);
        mutex_unlock(&s->lock);
        thread_join(&s->thread);
    }
    job_free(s->job);
    mirror_fini(&s->mirror);
    hashmap_fini(&s->index);
    forecast_free(s->forecast);
    condvar_destroy(&s->changed);
    mutex_destroy(&s->lock);
    free(s);
}

void shadow_read(struct shadow *s, struct shadow_report *ret)
{
    mutex_lock(&s->lock);
    *ret = s->report;
    mutex_unlock(&s->lock);
}

void shadow_drain(struct shadow *s)
{
    mutex_lock(&s->lock);
    while (s->busy) {
        condvar_wait(&s->changed, &s->lock);
    }
    mutex_unlock(&s->lock);
}
