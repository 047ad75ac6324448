#include "cmd_node/health_watch.h"

#include "base/bug.h"
#include "base/sync.h"
#include "cmd_node/health_tell.h"
#include "node/health.h"
#include "nvml/health.h"

#include <stdlib.h>

#define WAIT_MS 1000        /* for an event; also how long the end may take */
#define OPEN_AGAIN_MS 10000 /* where there is no library */
#define SILENT_MS 8000      /* as long as this no call takes */
#define STOP_MS 3000        /* after this it hangs */
#define LOOK_BYTES_MAX (64U << 10)

struct health_watch {
    struct health_watch_options o;
    struct thread thread;
    struct mutex lock; /* "node health" */
    struct condvar changed;
    /* under the lock */
    struct health *health;
    bool stopping, ended, read_now, said_silent;
    int64_t beat_ms;                /* since when it is in the library; -1: it is not */
    struct device *found, *devices; /* as they were read; as they were marked */
    size_t found_n, device_n;
    /* of the thread alone */
    struct nvml *nvml;
    struct nvml_watch *watch;
    int64_t looked_ms, read_ms;
    bool said_no_driver, said_failing, said_too_old;
};

static int64_t now_ms(const struct health_watch *w)
{
    return clock_mono_ns(w->o.clock) / NS_PER_MS;
}

/* ---- judging ---- */

/* With the lock held, as the next one, so that the last word is the last judgement. */
static void mark_devices(struct health_watch *w)
{
    struct device marked[DEVICES_PER_NODE_MAX], *before = w->devices;

    w->device_n = health_mark(w->health, w->found, w->found_n, before, w->device_n, marked);
    w->devices = node_facts_copy_devices(marked, w->device_n);
    w->o.devices(w->o.ctx, w->devices, w->device_n);
    free(before);
}

static void judge(struct health_watch *w)
{
    struct health_change changes[HEALTH_DEVICES_MAX];
    struct health_ill ill[HEALTH_DEVICES_MAX];
    const size_t n = health_judge(w->health, now_ms(w), changes);

    if (n == 0) {
        return;
    }
    answers_set_ill(w->o.answers, ill, health_ill(w->health, ill));
    mark_devices(w);
    for (size_t i = 0; i < n; i++) {
        health_tell(&w->o, &changes[i]);
    }
}

/* ---- calls of the library ---- */

/* Around each: whoever looks sees how long it has lasted. */
static void enter_library(struct health_watch *w)
{
    mutex_lock(&w->lock);
    w->beat_ms = now_ms(w);
    mutex_unlock(&w->lock);
}

static void leave_library(struct health_watch *w)
{
    mutex_lock(&w->lock);
    w->beat_ms = -1;
    if (w->said_silent) {
        LOG_INFO(w->o.log, "The driver's library answers again");
        w->said_silent = false;
    }
    mutex_unlock(&w->lock);
}

static void close_library(struct health_watch *w)
{
    enter_library(w);
    nvml_watch_free(w->watch);
    nvml_close(w->nvml);
    leave_library(w);
    w->watch = NULL;
    w->nvml = NULL;
}

static bool open_library(struct health_watch *w)
{
    struct err err;
    int rc;

    enter_library(w);
    rc = nvml_open(w->o.library, &w->nvml, &err);
    leave_library(w);
    if (rc != 0) {
        if (!w->said_no_driver && rc != -ERR_NOT_FOUND) { /* a node without a library has no GPUs: nothing is wrong */
            LOG_WARNING(w->o.log, "The driver does not answer", LOG_CSTR("why", err.msg));
        }
        w->said_no_driver = true;
        w->o.no_driver(w->o.ctx);
        return false;
    }
    w->said_no_driver = false;
    w->watch = nvml_watch_new(w->nvml);
    w->looked_ms = w->read_ms = INT64_MIN / 2;
    return true;
}

/* ---- who is there ---- */

static void say_too_old(struct health_watch *w, const struct nvml_sight *sights, size_t n)
{
    for (size_t i = 0; i < n && !w->said_too_old; i++) {
        if (sights[i].too_old) {
            w->said_too_old = true;
            LOG_WARNING(w->o.log, "A GPU is too old to tell of errors; it counts as well until it is lost",
                        LOG_STR("gpu", sights[i].uuid));
        }
    }
}

static void take_sights(struct health_watch *w, const struct nvml_sight *seen, size_t n)
{
    struct health_sight sights[DEVICES_PER_NODE_MAX];

    for (size_t i = 0; i < n; i++) {
        sights[i] = (struct health_sight){.uuid = seen[i].uuid,
                                          .gpu = seen[i].gpu,
                                          .gpu_instance = seen[i].gpu_instance,
                                          .compute_instance = seen[i].compute_instance,
                                          .answers = seen[i].answers,
                                          .watched = seen[i].watched};
    }
    mutex_lock(&w->lock);
    health_saw(w->health, sights, n, now_ms(w));
    judge(w);
    mutex_unlock(&w->lock);
}

/* False: the library does not work any more. Then nobody can read a GPU, and a fresh start of it may help. */
static bool look(struct health_watch *w)
{
    const struct nvml_sight *sights = NULL;
    struct arena a;
    struct err err;
    size_t n = 0;
    int rc;

    w->looked_ms = now_ms(w);
    arena_init(&a, LOOK_BYTES_MAX);
    enter_library(w);
    rc = nvml_watch_look(w->watch, &a, &sights, &n, &err);
    leave_library(w);
    take_sights(w, sights, n);
    if (rc != 0 && !w->said_failing) {
        LOG_ERROR(w->o.log, "Cannot see which GPUs are well; none is handed out", LOG_CSTR("why", err.msg));
    } else if (rc == 0) {
        say_too_old(w, sights, n);
    }
    w->said_failing = rc != 0;
    arena_fini(&a);
    return rc == 0;
}

static bool takes_read_now(struct health_watch *w)
{
    bool now;

    mutex_lock(&w->lock);
    now = w->read_now;
    w->read_now = false;
    mutex_unlock(&w->lock);
    return now;
}

/* False: the library does not work any more. Before each read there is a look, so that a GPU that cannot be read is
 * judged by what it is now. */
static bool look_if_due(struct health_watch *w)
{
    const bool reads = takes_read_now(w) || now_ms(w) - w->read_ms >= HEALTH_WATCH_READ_MS;

    if ((reads || now_ms(w) - w->looked_ms >= HEALTH_WATCH_LOOK_MS) && !look(w)) {
        return false;
    }
    if (reads) {
        w->read_ms = now_ms(w);
        enter_library(w);
        w->o.read(w->o.ctx, w, w->nvml);
        leave_library(w);
    }
    return true;
}

void health_watch_found(struct health_watch *w, const struct device *devices, size_t n)
{
    struct device *copy = node_facts_copy_devices(devices, n), *before;

    mutex_lock(&w->lock);
    before = w->found;
    w->found = copy;
    w->found_n = n;
    mark_devices(w);
    mutex_unlock(&w->lock);
    free(before);
}

/* ---- what happens ---- */

static void hear(struct health_watch *w, const struct nvml_xid *x)
{
    LOG_V(w->o.log, 4, "The driver tells of an error", LOG_STR("gpu", x->gpu), LOG_I64("xid", (int64_t)x->xid),
          LOG_I64("gpu_instance", x->gpu_instance), LOG_I64("compute_instance", x->compute_instance));
    mutex_lock(&w->lock);
    health_heard(w->health, x->gpu, x->gpu_instance, x->compute_instance, x->xid);
    judge(w);
    mutex_unlock(&w->lock);
}

/* Not longer than `ms`, less if it is to stop or to read. */
static void pause_for(struct health_watch *w, int64_t ms)
{
    const int64_t until = sync_in_ns(ms * NS_PER_MS);

    mutex_lock(&w->lock);
    while (!w->stopping && !w->read_now && condvar_wait_until(&w->changed, &w->lock, until)) {
    }
    mutex_unlock(&w->lock);
}

static void hear_next(struct health_watch *w)
{
    const int64_t soon = sync_in_ns(WAIT_MS / 2 * NS_PER_MS);
    struct nvml_xid x;
    struct err err;
    int rc;

    enter_library(w);
    rc = nvml_watch_wait(w->watch, WAIT_MS, &x, &err);
    leave_library(w);
    if (rc == 1) {
        hear(w, &x);
        return;
    }
    if (rc < 0) {
        LOG_V(w->o.log, 2, "Cannot wait for errors of GPUs; looking at each", LOG_CSTR("why", err.msg));
        w->looked_ms = INT64_MIN / 2;
    }
    if (clock_mono_ns(clock_system()) < soon) { /* whatever comes back at once does so again */
        pause_for(w, WAIT_MS);
    }
}

static bool is_stopping(struct health_watch *w)
{
    bool stopping;

    mutex_lock(&w->lock);
    stopping = w->stopping;
    mutex_unlock(&w->lock);
    return stopping;
}

static void *watch_main(void *ctx)
{
    struct health_watch *w = ctx;

    while (!is_stopping(w)) {
        if (w->nvml == NULL && !open_library(w)) {
            (void)takes_read_now(w); /* that was it */
            pause_for(w, OPEN_AGAIN_MS);
        } else if (look_if_due(w)) {
            hear_next(w);
        } else {
            close_library(w); /* a driver that was loaded anew answers to a library that is opened anew */
            pause_for(w, WAIT_MS);
        }
    }
    if (w->nvml != NULL) {
        close_library(w);
    }
    mutex_lock(&w->lock);
    w->ended = true;
    condvar_broadcast(&w->changed);
    mutex_unlock(&w->lock);
    return NULL;
}

/* ---- the main thread ---- */

static void free_watch(struct health_watch *w)
{
    condvar_destroy(&w->changed);
    mutex_destroy(&w->lock);
    health_free(w->health);
    free(w->found);
    free(w->devices);
    free(w);
}

void health_watch_wake(struct health_watch *w)
{
    mutex_lock(&w->lock);
    w->read_now = true;
    condvar_broadcast(&w->changed);
    mutex_unlock(&w->lock);
}

void health_watch_guard(struct health_watch *w)
{
    mutex_lock(&w->lock);
    if (w->beat_ms >= 0 && now_ms(w) - w->beat_ms >= SILENT_MS) {
        if (!w->said_silent) {
            LOG_ERROR(w->o.log, "The driver's library does not return; nobody sees whether GPUs are ill",
                      LOG_I64("for_ms", now_ms(w) - w->beat_ms),
                      LOG_CSTR("remedy", "look at the kernel log of this machine and whether nvidia-smi answers"));
            w->said_silent = true;
        }
        judge(w);
    }
    mutex_unlock(&w->lock);
}

int health_watch_start(const struct health_watch_options *o, struct health_watch **ret, struct err *reterr)
{
    struct health_watch *w = xcalloc(1, sizeof(*w));
    int rc;

    w->o = *o;
    w->beat_ms = -1;
    w->health = health_new(o->ignored_xids, o->ignored_xid_n);
    mutex_init(&w->lock, "node health");
    condvar_init(&w->changed, "node health");
    rc = thread_start(&w->thread, "gpu-health", watch_main, w, reterr);
    if (rc != 0) {
        free_watch(w);
        return rc;
    }
    *ret = w;
    return 0;
}

bool health_watch_stop(struct health_watch *w)
{
    const int64_t until = sync_in_ns(STOP_MS * NS_PER_MS);
    bool ended;

    if (w == NULL) {
        return true;
    }
    mutex_lock(&w->lock);
    w->stopping = true;
    condvar_broadcast(&w->changed);
    while (!w->ended && condvar_wait_until(&w->changed, &w->lock, until)) {
    }
    ended = w->ended;
    mutex_unlock(&w->lock);
    if (!ended) {
        LOG_ERROR(w->o.log, "The driver's library does not return; ending without it");
        return false;
    }
    thread_join(&w->thread);
    free_watch(w);
    return true;
}

void health_watch_abandon(struct health_watch *w)
{
    thread_abandon(&w->thread);
}
