/* The ledgers of processes, held against what the oracle knows. */
#include "api.h"
#include "fiber.h"
#include "oracle_internal.h"
#include "process.h"
#include "scheduler.h"
#include "trace.h"

#include "base/bug.h"
#include "cmd/runtime_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOT_BYTES (64U * 1024 * 1024)

static void take(const struct process *p, struct arena *a, const char *node, struct snapshot *ret)
{
    arena_init(a, SNAPSHOT_BYTES);
    BUG_ON(store_snapshot(p->runtime->store, a, str_of(node), STR_NULL, ret, NULL) != 0);
}

/* ---- what may still land ---- */

static const struct process *judged;

static void is_charged(struct process *of, const char *uid, const char *node, int64_t left_ns)
{
    struct snapshot s;
    struct arena a;
    bool charged = false;

    (void)left_ns;
    if (of != judged || of->runtime == NULL || oracle_gave_nothing(uid)) {
        return;
    }
    take(of, &a, node, &s);
    for (size_t i = 0; i < s.pod_n; i++) {
        charged = charged || (str_eq(s.pods[i].uid, str_of(uid)) && str_eq(s.pods[i].node_name, str_of(node)));
    }
    arena_fini(&a);
    oracle_counts.pending_checked_n++;
    if (!charged) {
        found("a Binding of pod %s to %s may still land, and fgpu %u has given up its reservation", uid, node,
              of->number);
    }
}

static void cannot_land(struct process *of, const char *uid, const char *node, int64_t left_ns)
{
    const struct oracle_write theirs = {of->number, left_ns, sim_now_ns()}, ours = {judged->number, 0, 0};

    if (of->number < judged->number && !oracle_was_late(theirs, ours)) {
        found("fgpu %u is ready without a hold-off, and a Binding of pod %s to %s by fgpu %u may still land",
              judged->number, uid, node, of->number);
    }
}

void oracle_ready(struct process *p)
{
    judged = p;
    if (p->skipped_hold_off) {
        oracle_counts.skipped_n++;
        api_each_pending(cannot_land);
    }
    for (struct process *o = process_next(NULL); o != NULL && p->skipped_hold_off; o = process_next(o)) {
        /* Nobody can know of one that may not write the run object and began before the last one ended. */
        if (o != p && !o->cut && !o->ends && o->ready_ns > 0 && o->claimed) {
            found("fgpu %u is ready without a hold-off while fgpu %u decides", p->number, o->number);
        }
    }
}

/* ---- what is given twice ---- */

static bool is_over(const struct oracle_device *d, const struct process *p, uint64_t *ret_newest)
{
    const struct oracle_known known = oracle_knows(p);
    const struct caps cap = oracle_caps(d, &known);
    int milli = 0, mem = 0;

    *ret_newest = 0;
    for (size_t i = 0; i < d->holder_n; i++) {
        const bool counts = !oracle_may_count_less(&d->holders[i], p->number);

        milli += counts ? d->holders[i].milli : 0;
        mem += counts ? d->holders[i].mem_mib : 0;
        *ret_newest = d->holders[i].version > *ret_newest ? d->holders[i].version : *ret_newest;
    }
    return d->now.mem_mib > 0 && (milli > cap.milli || mem > cap.mem_mib);
}

static void must_be_closed(const struct process *p, const struct oracle_device *d)
{
    struct snapshot s;
    struct arena a;
    bool closed = false;

    take(p, &a, d->node, &s);
    for (size_t i = 0; i < s.node_n; i++) {
        for (size_t j = 0; j < s.nodes[i].device_n; j++) {
            const struct snapshot_device *e = &s.nodes[i].devices[j];

            closed =
                closed || (str_eq(e->uuid, str_of(d->uuid)) && (e->overcommitted || e->milli_charged >= e->milli_cap));
        }
    }
    arena_fini(&a);
    if (!closed) {
        found("GPU %s of %s has more than it has, fgpu %u was told, and it is open", d->uuid, d->node, p->number);
    }
}

/* Was it given twice, or has only become less: the GPU itself, or what settings say of it? Pods whose record somebody
 * has edited are not judged. */
static bool was_given_twice(const struct oracle_device *d)
{
    int64_t since_ns = INT64_MAX;
    int milli = 0, mem = 0;
    unsigned last;

    for (size_t i = 0; i < d->holder_n; i++) {
        const struct oracle_holder *h = &d->holders[i];
        const struct object *o = etcd_find_uid(h->uid);

        if (o == NULL || o->odd || h->nodes_seen < d->version) {
            return false;
        }
        since_ns = h->left_ns < since_ns ? h->left_ns : since_ns;
        milli += h->milli;
        mem += h->mem_mib;
    }
    for (unsigned tag = settings_first_tag(since_ns, &last); tag <= last && d->now.profile == 0; tag++) {
        const struct caps cap = meaning_of_gpu(settings_of(tag), d->now.pool, d->now.mem_mib);

        if (milli <= cap.milli && mem <= cap.mem_mib) {
            return false;
        }
    }
    return d->holder_n > 1;
}

static void must_be_incident(const struct process *p, const struct oracle_device *d)
{
    uint64_t n;
    struct incident *all = store_incidents(p->runtime->store, SIZE_MAX, &n);
    bool told = false;

    for (const struct incident *in = all; in != NULL; in = in->next) {
        told = told || (in->kind == INCIDENT_DOUBLE_BOOKING && str_eq(in->uuid, str_of(d->uuid)));
    }
    incidents_free(all);
    oracle_counts.incident_n++;
    if (!told) {
        found("GPU %s of %s was given twice, fgpu %u was told, and says of no incident", d->uuid, d->node, p->number);
    }
}

void oracle_step(struct process *live)
{
    uint64_t newest;

    if (live->runtime == NULL || live->cut || process_is_paused(live)) {
        return;
    }
    if (sim_event_n() % 16 == 0) {
        oracle_note_settings(live);
    }
    if (api_pending_n() > 0 && sim_event_n() % 4 == 0) {
        judged = live;
        api_each_pending(is_charged);
    }
    for (size_t i = 0; i < oracle_device_n; i++) {
        const struct oracle_device *d = &oracle_devices[i];

        if (d->holder_n > 0 && is_over(d, live, &newest) && live->pods_seen >= newest &&
            live->nodes_seen >= d->version && (live->ready_ns > 0 || store_is_synced(live->runtime->store))) {
            must_be_closed(live, d);
            if (was_given_twice(d)) {
                must_be_incident(live, d);
            }
        }
    }
}

/* ---- when all is calm ---- */

static bool has_odd(const char *node)
{
    for (const struct object *o = etcd_first(PODS); o != NULL; o = o->next) {
        if (o->odd && o->phase != SUCCEEDED && strcmp(o->node, node) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_room(const struct oracle_device *d, const struct settings *s, const struct amounts *m)
{
    const struct caps cap = meaning_of_gpu(s, d->now.pool, d->now.mem_mib);
    int milli = m->milli, mem = m->mem_mib;
    bool alone = m->whole && d->holder_n > 0;

    for (size_t i = 0; i < d->holder_n; i++) {
        milli += d->holders[i].milli;
        mem += d->holders[i].mem_mib;
        alone = alone || d->holders[i].whole;
    }
    return milli <= cap.milli && mem <= cap.mem_mib && (int)d->holder_n < cap.sharers && !alone;
}

/* As kube-scheduler does: a pod that waits and is nominated keeps its room from those that are no more important. */
static bool is_kept(const char *node, const struct object *from)
{
    for (const struct object *o = etcd_first(PODS); o != NULL; o = o->next) {
        if (o != from && o->node[0] == '\0' && o->priority >= from->priority && strcmp(o->nominated, node) == 0) {
            return true;
        }
    }
    return false;
}

/* Instances that are free. */
static const char *node_with_instance(const struct object *pod, const struct settings *s)
{
    for (size_t i = 0; i < oracle_device_n; i++) {
        const struct oracle_device *d = &oracle_devices[i];
        const bool fits = d->now.mem_mib > 0 && d->now.profile == pod->ask.size + 1 && d->holder_n == 0 &&
                          !s->closed[d->now.pool] && meaning_of_namespace(s, pod->ns) == NULL;

        if (fits && !has_odd(d->node) && !is_kept(d->node, pod)) {
            return d->node;
        }
    }
    return NULL;
}

/* Of several placements the one that the strategy prefers is compared with what is left to a tenant (decision 0018);
 * for who asks for memory alone that may be all of an instance that is free, more than what was asked for, and too
 * much. */
static bool may_take_instance(const char *node, const struct object *pod, const struct settings *s,
                              const struct team *limit, const struct amounts *held)
{
    static const struct amounts of[PROFILES] = {{.milli = 428, .mem_mib = 40192}, /* 3g.40gb of an A100 */
                                                {.milli = 285, .mem_mib = 19968},
                                                {.milli = 142, .mem_mib = 9728}};
    const int count = pod->ask.count > 1 ? pod->ask.count : 1; /* each of its GPUs may be one */

    for (size_t i = 0; i < oracle_device_n; i++) {
        const struct oracle_device *d = &oracle_devices[i];

        if (strcmp(d->node, node) == 0 && d->now.mem_mib > 0 && d->now.profile != 0 && d->holder_n == 0 &&
            meaning_takes_instance(&pod->ask, s, d->now.profile) &&
            (held->milli + count * of[d->now.profile - 1].milli > limit->milli ||
             held->mem_mib + count * of[d->now.profile - 1].mem_mib > limit->mem_mib)) {
            return true;
        }
    }
    return false;
}

static bool is_within(const struct team *limit, const struct amounts *held, const struct amounts *m)
{
    return limit == NULL || ((m->milli == 0 || held->milli + m->count * m->milli <= limit->milli) &&
                             (m->mem_mib == 0 || held->mem_mib + m->count * m->mem_mib <= limit->mem_mib));
}

/* Of an instance that is gone while a pod holds it, a record says the number of its GPU and not which card that was. So
 * the GPU with that number is taken for the same one in its other form, and closed until the pod ends
 * (core/ledger/counted.c). */
static bool has_lost_instance(const char *node)
{
    for (size_t i = 0; i < oracle_device_n; i++) {
        const struct oracle_device *d = &oracle_devices[i];

        if (strcmp(d->node, node) == 0 && d->now.mem_mib == 0 && d->now.profile != 0 && d->holder_n > 0) {
            return true;
        }
    }
    return false;
}

static const char *node_that_fits(const struct object *pod, const struct settings *s, const struct process *live)
{
    const struct oracle_known all = {.pods_seen = UINT64_MAX};
    const struct team *limit = meaning_of_namespace(s, pod->ns);
    const struct amounts held = oracle_team_holds(pod->ns, &all, live->number, true);

    for (const struct object *n = etcd_first(NODES); n != NULL && pod->ask.kind != ASK_MIG; n = n->next) {
        struct amounts m = {0};
        int fitting = 0;
        bool too_much = false; /* on the GPUs that the strategy may prefer */

        for (size_t i = 0; i < oracle_device_n; i++) {
            const struct oracle_device *d = &oracle_devices[i];

            if (strcmp(d->node, n->name) == 0 && d->now.mem_mib > 0 && d->now.profile == 0 && !s->closed[d->now.pool] &&
                meaning_of(&pod->ask, s, s, d->now.pool, d->now.mem_mib, &m) && has_room(d, s, &m)) {
                fitting++;
                too_much = too_much || !is_within(limit, &held, &m);
            }
        }
        if (m.count > 0 && fitting >= m.count && !too_much && !has_odd(n->name) && !is_kept(n->name, pod) &&
            !has_lost_instance(n->name) && (limit == NULL || !may_take_instance(n->name, pod, s, limit, &held))) {
            return n->name;
        }
    }
    return pod->ask.kind == ASK_MIG ? node_with_instance(pod, s) : NULL;
}

/* Of those that run at once nobody knows whom another one has refused, and perhaps nobody comes after that one. */
static bool may_wait(const char *uid, const struct process *ready)
{
    bool waits = oracle_fleet == FLEET_MISTAKE && scheduler_waits_for_flush(uid, ready);

    if (oracle_fleet == FLEET_STRICT) {
        waits = true;
        for (const struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
            waits = waits && (p->ready_ns == 0 || p->ends || scheduler_waits_for_flush(uid, p));
        }
    }
    return waits;
}

void oracle_calm_pods(const struct process *ready)
{
    const unsigned tag = settings_tag(ready);

    oracle_counts.calm_n++;
    for (const struct object *o = etcd_first(PODS); o != NULL && settings_are_settled(tag); o = o->next) {
        const char *node =
            o->node[0] == '\0' && !o->deleting && !o->odd ? node_that_fits(o, settings_of(tag), ready) : NULL;

        if (node != NULL && !may_wait(o->uid, ready)) {
            found("pod %s (%s) fits on %s and is not bound although all has been calm for long", o->name, o->uid, node);
        }
    }
}

void oracle_calm(struct process *live)
{
    const unsigned tag = settings_tag(live);
    struct snapshot s;
    struct arena a;

    if (settings_are_stale(tag)) {
        found("fgpu %u goes by settings %u although all has been calm for long since there are others", live->number,
              tag);
    }
    take(live, &a, "", &s);
    for (size_t i = 0; i < s.node_n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", STR_ARG(s.nodes[i].name));
        for (size_t j = 0; j < s.nodes[i].device_n && !has_odd(name); j++) {
            const struct snapshot_device *e = &s.nodes[i].devices[j];
            char uuid[24];
            const struct oracle_device *d;
            int milli = 0;

            snprintf(uuid, sizeof(uuid), "%.*s", STR_ARG(e->uuid));
            d = oracle_find(uuid);
            for (size_t k = 0; d != NULL && k < d->holder_n; k++) {
                milli += d->holders[k].milli;
            }
            if (e->milli_charged != milli) {
                found("fgpu %u charges %d milli on GPU %s of %.*s, and pods hold %d", live->number, e->milli_charged,
                      uuid, STR_ARG(s.nodes[i].name), milli);
            }
        }
    }
    arena_fini(&a);
}

/* ---- restart equals live ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

enum { LINES_MAX = 4096, LINE_BYTES = 160 };

/* A line for each charge, sorted. */
static size_t lines_of(const struct process *p, char (*lines)[LINE_BYTES])
{
    struct snapshot s;
    struct arena a;
    size_t n = 0;

    take(p, &a, "", &s);
    for (size_t i = 0; i < s.node_n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", STR_ARG(s.nodes[i].name));
        for (size_t j = 0; j < s.nodes[i].device_n && !has_odd(name); j++) {
            const struct snapshot_device *d = &s.nodes[i].devices[j];

            if (d->lost) { /* what it had is not known after a restart */
                continue;
            }
            snprintf(lines[n++], LINE_BYTES, "%s %.*s has %d of %d milli, %lld of %lld MiB%s%s", name, STR_ARG(d->uuid),
                     d->milli_charged, d->milli_cap, (long long)d->mem_charged_mib, (long long)d->mem_cap_mib,
                     d->overcommitted ? ", closed" : "", d->lost ? ", lost" : "");
            for (size_t k = 0; k < d->allocation_n && n < LINES_MAX; k++) {
                const struct snapshot_pod *q = &s.pods[d->allocations[k].pod];

                snprintf(lines[n++], LINE_BYTES, "%s %.*s is held by %.*s: %d milli, %lld MiB, %d", name,
                         STR_ARG(d->uuid), STR_ARG(q->uid), d->allocations[k].milli,
                         (long long)d->allocations[k].mem_mib, (int)q->granted);
            }
        }
    }
    arena_fini(&a);
    qsort(lines, n, LINE_BYTES, by_text);
    return n;
}

/* Its Binding is on the way, because another file or another pod made room since the calm ended: whoever starts does
 * not know of it. A reservation that stays is found by oracle_calm(). */
static bool has_reserved(const struct process *p)
{
    struct snapshot s;
    struct arena a;
    bool reserved = false;

    take(p, &a, "", &s);
    for (size_t i = 0; i < s.pod_n; i++) {
        reserved = reserved || s.pods[i].state == LEDGER_RESERVED || s.pods[i].state == LEDGER_CONFIRMED;
    }
    arena_fini(&a);
    return reserved;
}

void oracle_compare(struct process *live, struct process *fresh)
{
    static char ours[LINES_MAX][LINE_BYTES], theirs[LINES_MAX][LINE_BYTES];
    const size_t n = lines_of(live, ours), m = lines_of(fresh, theirs);

    if (settings_tag(live) != settings_tag(fresh) || has_reserved(live)) {
        return;
    }
    oracle_counts.compared_n++;
    for (size_t i = 0; i < n || i < m; i++) {
        const char *a = i < n ? ours[i] : "(nothing)", *b = i < m ? theirs[i] : "(nothing)";

        if (strcmp(a, b) != 0) {
            found("restart differs: live says \"%s\", after a restart \"%s\"", a, b);
        }
    }
}
