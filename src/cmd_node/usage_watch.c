#include "cmd_node/usage_watch.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cmd_node/proc.h"
#include "node/cgroup_path.h"
#include "nvml/processes.h"
#include "obs/node_catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BYTES_MAX (8U << 20)
#define UUID_BYTES 96

/* A GPU that somebody holds, in one look. */
struct look_gpu {
    struct str uuid; /* NUL-terminated */
    bool read;
    struct nvml_processes processes;
    struct usage_process *list; /* of processes.list, with their start */
    size_t *containers;         /* of each, in look.ids; CGROUP_NOBODY */
};

struct look {
    struct arena arena;
    struct node_view view;
    struct str *ids; /* of the containers, each once */
    size_t id_n;
    struct look_gpu *gpus;
    size_t gpu_n;
    int64_t now_ns;
    size_t foreign_n;
};

/* Somebody above the memory of the record. */
struct excess {
    struct usage_row row; /* texts in the look's arena */
    bool is_new;          /* not told yet */
    bool is_due;          /* to be killed */
};

struct usage_watch {
    struct usage_watch_options o;
    struct thread thread;
    struct nvml *nvml; /* NULL: not open */
    struct {
        char uuid[UUID_BYTES];
        uint64_t us;
    } seen[DEVICES_PER_NODE_MAX]; /* compute that was read already */
    size_t seen_n;
    bool said_failure;
    struct metric *looks[2], *look_time, *foreign, *over, *killed;

    struct mutex lock; /* of the rest */
    struct condvar wake;
    bool stop;
    struct usage *usage;
};

/* ---- what to look at ---- */

static void add_id(struct look *l, struct str id)
{
    for (size_t i = 0; i < l->id_n; i++) {
        if (str_eq(l->ids[i], id)) {
            return;
        }
    }
    l->ids[l->id_n++] = id;
}

static void add_gpu(struct look *l, struct str uuid)
{
    for (size_t i = 0; i < l->gpu_n; i++) {
        if (str_eq(l->gpus[i].uuid, uuid)) {
            return;
        }
    }
    l->gpus[l->gpu_n++] = (struct look_gpu){.uuid = uuid};
}

static bool list_what_is_held(struct look *l)
{
    l->ids = ARENA_ARRAY(&l->arena, l->view.hold_n + 1, struct str);
    l->gpus = ARENA_ARRAY(&l->arena, l->view.hold_n + 1, struct look_gpu);
    if (l->ids == NULL || l->gpus == NULL) {
        return false;
    }
    for (size_t i = 0; i < l->view.hold_n; i++) {
        add_id(l, l->view.holds[i].container_id);
        add_gpu(l, l->view.holds[i].gpu);
    }
    return true;
}

/* ---- reading ---- */

/* The latest sample of that GPU; the table holds as many as a node can have, and begins anew when they change. */
static uint64_t *seen_of(struct usage_watch *w, const char *uuid)
{
    for (size_t i = 0; i < w->seen_n; i++) {
        if (strcmp(w->seen[i].uuid, uuid) == 0) {
            return &w->seen[i].us;
        }
    }
    w->seen_n = w->seen_n == ARRAY_LEN(w->seen) ? 0 : w->seen_n;
    snprintf(w->seen[w->seen_n].uuid, UUID_BYTES, "%s", uuid);
    w->seen[w->seen_n].us = 0;
    return &w->seen[w->seen_n++].us;
}

/* The container of each process. One that is gone by now is nobody's. */
static bool find_containers(struct usage_watch *w, struct look *l, struct look_gpu *g)
{
    g->list = ARENA_ARRAY(&l->arena, g->processes.n + 1, struct usage_process);
    g->containers = ARENA_ARRAY(&l->arena, g->processes.n + 1, size_t);
    for (size_t i = 0; g->list != NULL && g->containers != NULL && i < g->processes.n; i++) {
        const struct nvml_process *p = &g->processes.list[i];
        struct proc_process is = {.container = CGROUP_NOBODY};

        if (!proc_look(w->o.proc, p->pid, l->ids, l->id_n, &is)) {
            is.container = CGROUP_NOBODY;
        }
        g->containers[i] = is.container;
        g->list[i] =
            (struct usage_process){.pid = p->pid, .started = is.started, .mem_bytes = p->mem_bytes, .milli = p->milli};
    }
    return g->list != NULL && g->containers != NULL;
}

static int read_gpu(struct usage_watch *w, struct look *l, struct look_gpu *g, struct err *reterr)
{
    const int rc = nvml_read_processes(w->nvml, g->uuid.p, seen_of(w, g->uuid.p), &l->arena, &g->processes, reterr);

    if (rc != 0) {
        return rc;
    }
    g->read = find_containers(w, l, g);
    return g->read ? 0 : err_set(reterr, ERR_LIMIT, "more processes than fit");
}

/* The library counts who has it open: an agent that kept it open would keep a driver from being unloaded, and a driver
 * that was loaded anew from being asked. So it is open while somebody holds a GPU, and opened anew after a failure. */
static void close_library(struct usage_watch *w)
{
    nvml_close(w->nvml);
    w->nvml = NULL;
}

static int open_library(struct usage_watch *w, struct err *reterr)
{
    return w->nvml != NULL ? 0 : nvml_open(w->o.library, &w->nvml, reterr);
}

static void read_gpus(struct usage_watch *w, struct look *l)
{
    struct err err;
    const int opened = l->gpu_n > 0 ? open_library(w, &err) : 0;
    bool failed = false;

    for (size_t i = 0; i < l->gpu_n; i++) {
        struct look_gpu *g = &l->gpus[i];
        const int rc = opened != 0 ? opened : read_gpu(w, l, g, &err);

        metric_inc(w->looks[rc == 0 ? 0 : 1]);
        failed = failed || rc != 0;
        if (rc != 0 && !w->said_failure) {
            w->said_failure = true;
            LOG_WARNING(w->o.log, "Cannot tell who uses a GPU; who uses too much of it goes unseen",
                        LOG_STR("gpu", g->uuid), LOG_CSTR("why", err.msg));
        }
    }
    w->said_failure = w->said_failure && failed;
    if (failed || l->gpu_n == 0) {
        close_library(w);
    }
}

/* ---- what it means ---- */

static struct usage_holder holder_of(const struct view_hold *h)
{
    return (struct usage_holder){.container_id = h->container_id,
                                 .pod_uid = h->pod_uid,
                                 .namespace_ = h->namespace_,
                                 .pod = h->pod,
                                 .container = h->container,
                                 .gpu = h->gpu,
                                 .milli = h->milli,
                                 .mem_bytes = h->mem_mib << 20,
                                 .alone = h->alone};
}

static void tell_usage(struct usage *u, struct look *l)
{
    usage_look_begin(u, l->now_ns);
    for (size_t i = 0; i < l->view.hold_n; i++) {
        const struct usage_holder h = holder_of(&l->view.holds[i]);

        usage_look_holder(u, &h);
    }
    for (size_t i = 0; i < l->gpu_n; i++) {
        const struct look_gpu *g = &l->gpus[i];

        if (!g->read) {
            continue;
        }
        usage_look_gpu(u, g->uuid, g->processes.knows_compute);
        for (size_t k = 0; k < g->processes.n; k++) {
            l->foreign_n +=
                g->containers[k] == CGROUP_NOBODY || !usage_look_process(u, l->ids[g->containers[k]], &g->list[k]);
        }
    }
    usage_look_end(u);
}

/* Those above their memory, with texts that outlive the lock. */
static struct excess *find_excess(const struct usage_watch *w, struct look *l, size_t *ret_n)
{
    struct excess *list = ARENA_ARRAY(&l->arena, usage_n(w->usage) + 1, struct excess);
    size_t n = 0;

    for (size_t i = 0; list != NULL && i < usage_n(w->usage); i++) {
        const struct usage_row *r = usage_at(w->usage, i);
        struct usage_holder *h = &list[n].row.holder;

        if (r->over_since_ns == USAGE_UNKNOWN) {
            continue;
        }
        list[n] = (struct excess){.row = *r,
                                  .is_new = r->over_since_ns == l->now_ns,
                                  .is_due = w->o.kill && usage_is_due(w->usage, r, w->o.grace_ms * NS_PER_MS)};
        h->container_id = arena_str(&l->arena, h->container_id);
        h->pod_uid = arena_str(&l->arena, h->pod_uid);
        h->namespace_ = arena_str(&l->arena, h->namespace_);
        h->pod = arena_str(&l->arena, h->pod);
        h->container = arena_str(&l->arena, h->container);
        h->gpu = arena_str(&l->arena, h->gpu);
        n++;
    }
    *ret_n = l->arena.overflowed ? 0 : n;
    return list;
}

/* ---- what becomes of it ---- */

#define NOTE_BYTES 512

/* The same words each time, but for the container and the GPU: what goes on is one Event with a count. Numbers are in
 * the log and in the metrics. */
static void tell(struct usage_watch *w, enum event_reason reason, const struct usage_holder *h, const char *what)
{
    char note[NOTE_BYTES];
    const int n = snprintf(note, sizeof(note),
                           "Container %.*s uses more memory of GPU %.*s than the %lld MiB that its record gives it%s",
                           STR_ARG(h->container), STR_ARG(h->gpu), (long long)(h->mem_bytes >> 20), what);
    const struct event e = {
        .reason = reason,
        .regarding = {EVENT_OBJECT_POD, .namespace_ = h->namespace_, .name = h->pod, .uid = h->pod_uid},
        .note = {note, n < (int)sizeof(note) ? (size_t)n : sizeof(note) - 1}};

    events_record(w->o.events, &e);
}

static void report(struct usage_watch *w, const struct excess *x)
{
    const struct usage_row *r = &x->row;

    metric_inc(w->over);
    LOG_WARNING(w->o.log, "A container uses more memory of a GPU than its record gives it",
                LOG_STR("namespace", r->holder.namespace_), LOG_STR("pod", r->holder.pod),
                LOG_STR("container", r->holder.container), LOG_STR("gpu", r->holder.gpu),
                LOG_I64("used_mib", r->mem_bytes.now >> 20), LOG_I64("given_mib", r->holder.mem_bytes >> 20),
                LOG_I64("pid", r->largest.pid));
    tell(w, EVENT_MEMORY_EXCEEDED, &r->holder,
         w->o.kill ? "; its largest process will be killed if this goes on" : "; give it more, or make it use less");
}

static void kill_largest(struct usage_watch *w, const struct excess *x)
{
    const struct usage_row *r = &x->row;
    struct err err;
    const int rc = proc_kill(w->o.proc, r->largest.pid, r->largest.started, r->holder.container_id, &err);

    if (rc == 0) {
        metric_inc(w->killed);
        LOG_WARNING(w->o.log, "Killed a process: its container uses more memory of a GPU than its record gives it",
                    LOG_STR("namespace", r->holder.namespace_), LOG_STR("pod", r->holder.pod),
                    LOG_STR("container", r->holder.container), LOG_STR("gpu", r->holder.gpu),
                    LOG_I64("used_mib", r->mem_bytes.now >> 20), LOG_I64("given_mib", r->holder.mem_bytes >> 20),
                    LOG_I64("pid", r->largest.pid), LOG_I64("process_mib", r->largest.mem_bytes >> 20));
        tell(w, EVENT_PROCESS_KILLED, &r->holder, ", so its process with the most memory there was killed");
    } else if (rc != -ERR_NOT_FOUND) { /* one that ended by itself is fine */
        LOG_ERROR(w->o.log, "Cannot kill a process whose container uses too much memory of a GPU",
                  LOG_STR("namespace", r->holder.namespace_), LOG_STR("pod", r->holder.pod),
                  LOG_STR("container", r->holder.container), LOG_CSTR("why", err.msg));
    }
}

/* ---- the thread ---- */

static void look(struct usage_watch *w, struct look *l)
{
    struct excess *list;
    size_t n;

    if (!answers_view(w->o.answers, &l->arena, &l->view) || !list_what_is_held(l)) {
        LOG_ERROR(w->o.log, "There is more on this node than can be looked at");
        return;
    }
    read_gpus(w, l);
    l->now_ns = clock_mono_ns(clock_system());
    mutex_lock(&w->lock);
    tell_usage(w->usage, l);
    list = find_excess(w, l, &n);
    mutex_unlock(&w->lock);
    metric_set(w->foreign, (int64_t)l->foreign_n);
    for (size_t i = 0; i < n; i++) {
        if (list[i].is_new) {
            report(w, &list[i]);
        }
        if (list[i].is_due) {
            kill_largest(w, &list[i]);
        }
    }
}

/* False: asked to stop. */
static bool wait_until(struct usage_watch *w, int64_t until_ns)
{
    bool goes_on;

    mutex_lock(&w->lock);
    while (!w->stop && condvar_wait_until(&w->wake, &w->lock, until_ns)) {
    }
    goes_on = !w->stop;
    mutex_unlock(&w->lock);
    return goes_on;
}

static void *run(void *ctx)
{
    struct usage_watch *w = ctx;

    do {
        const int64_t began_ns = clock_mono_ns(clock_system());
        struct look l = {.gpu_n = 0};

        arena_init(&l.arena, LOOK_BYTES_MAX);
        look(w, &l);
        arena_fini(&l.arena);
        metric_set(w->look_time, clock_mono_ns(clock_system()) - began_ns);
    } while (wait_until(w, sync_in_ns(w->o.interval_ms * NS_PER_MS)));
    return NULL;
}

int usage_watch_start(const struct usage_watch_options *o, struct usage_watch **ret, struct err *reterr)
{
    struct usage_watch *w = xcalloc(1, sizeof(*w));
    int rc;

    w->o = *o;
    w->looks[0] = METRIC(o->metrics, NODE_USAGE_LOOKS_TOTAL, "ok");
    w->looks[1] = METRIC(o->metrics, NODE_USAGE_LOOKS_TOTAL, "failed");
    w->look_time = METRIC(o->metrics, NODE_USAGE_LOOK_SECONDS);
    w->foreign = METRIC(o->metrics, NODE_FOREIGN_PROCESSES);
    w->over = METRIC(o->metrics, NODE_OVER_LIMIT_TOTAL);
    w->killed = METRIC(o->metrics, NODE_PROCESSES_KILLED_TOTAL);
    w->usage = usage_new();
    mutex_init(&w->lock, "usage watch");
    condvar_init(&w->wake, "usage watch");
    rc = thread_start(&w->thread, "usage", run, w, reterr);
    if (rc != 0) {
        condvar_destroy(&w->wake);
        mutex_destroy(&w->lock);
        usage_free(w->usage);
        nvml_close(w->nvml);
        free(w);
        return rc;
    }
    *ret = w;
    return 0;
}

void usage_watch_stop(struct usage_watch *w)
{
    if (w == NULL) {
        return;
    }
    mutex_lock(&w->lock);
    w->stop = true;
    condvar_broadcast(&w->wake);
    mutex_unlock(&w->lock);
    thread_join(&w->thread);
    condvar_destroy(&w->wake);
    mutex_destroy(&w->lock);
    usage_free(w->usage);
    nvml_close(w->nvml);
    free(w);
}

const struct usage *usage_watch_lock(struct usage_watch *w)
{
    mutex_lock(&w->lock);
    return w->usage;
}

void usage_watch_unlock(struct usage_watch *w)
{
    mutex_unlock(&w->lock);
}
