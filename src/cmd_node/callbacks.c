#include "cmd_node/answers_internal.h"

#include "base/clock.h"
#include "cmd_node/findings.h"
#include "cmd_node/gpus_told.h"

#include <stdio.h>
#include <string.h>

#define START_BYTES_MAX (4U << 20) /* to read one record */
#define FINDINGS_BYTES_MAX (1U << 20)
#define LIMITS_BYTES_MAX (64U << 10)

/* ---- who is at the other end ---- */

static enum hand_over_way way_of(enum node_hand_over wanted, enum runtime_cdi cdi)
{
    switch (wanted) {
    case NODE_HAND_OVER_CDI:
        return HAND_OVER_BY_CDI;
    case NODE_HAND_OVER_ENV:
        return HAND_OVER_BY_ENV;
    case NODE_HAND_OVER_AUTO:
        break;
    }
    return cdi == RUNTIME_CDI_INJECTED ? HAND_OVER_BY_CDI : HAND_OVER_NO_WAY;
}

static void on_connected(void *ctx, const struct nri_runtime *runtime)
{
    struct answers *w = ctx;
    const enum runtime_cdi cdi = runtime_cdi_of(runtime->name, runtime->version);
    const enum hand_over_way way = way_of(w->options->hand_over, cdi);

    mutex_lock(&w->lock);
    w->rules.hand_over.way = way;
    w->rules.starts_anyway = !runtime_start_can_fail(runtime->name);
    snprintf(w->runtime, sizeof(w->runtime), "%.*s", STR_ARG(runtime->name));
    snprintf(w->runtime_version, sizeof(w->runtime_version), "%.*s", STR_ARG(runtime->version));
    mutex_unlock(&w->lock);
    LOG_INFO(w->log, "Connected to the container runtime", LOG_STR("runtime", runtime->name),
             LOG_STR("version", runtime->version));
    limiting_connected(w->limiting, runtime);
    answers_keep_limits(w);
    if (way == HAND_OVER_NO_WAY) {
        LOG_ERROR(w->log,
                  "This container runtime takes no devices from fgpu-node, so it refuses containers with a record",
                  LOG_CSTR("remedy", cdi == RUNTIME_CDI_IF_ENABLED
                                         ? "set enable_cdi in containerd's configuration and give --hand-over=cdi"
                                         : "containerd 2.1, CRI-O 1.34, or --hand-over=env with NVIDIA's runtime"));
    } else if (way == HAND_OVER_BY_CDI && cdi == RUNTIME_CDI_IGNORED) {
        LOG_WARNING(w->log, "This container runtime is not known to take CDI devices from plugins");
    }
}

static void on_disconnected(void *ctx, const struct err *why)
{
    const struct answers *w = ctx;

    LOG_WARNING(w->log, "No connection to the container runtime", LOG_CSTR("why", why->msg));
}

/* ---- what there is ---- */

static struct pod_facts pod_facts_of(const struct nri_pod *pod)
{
    return (struct pod_facts){
        .uid = pod->uid, .namespace_ = pod->namespace, .name = pod->name, .annotations = pod->annotations};
}

static struct container_facts container_facts_of(const struct nri_container *c)
{
    return (struct container_facts){.id = c->id,
                                    .sandbox_id = c->pod_id,
                                    .name = c->name,
                                    .env = c->env,
                                    .env_n = c->env_n,
                                    .cdi = c->cdi_devices,
                                    .cdi_n = c->cdi_device_n,
                                    .gpus = gpus_told(c)};
}

static void on_sync_begin(void *ctx)
{
    struct answers *w = ctx;

    limiting_sync_begin(w->limiting);
    mutex_lock(&w->lock);
    agent_sync_begin(w->agent);
    mutex_unlock(&w->lock);
}

static void on_sync_pod(void *ctx, const struct nri_pod *pod)
{
    const struct pod_facts facts = pod_facts_of(pod);
    struct answers *w = ctx;

    mutex_lock(&w->lock);
    agent_sync_pod(w->agent, &w->rules, pod->id, &facts);
    mutex_unlock(&w->lock);
}

/* A state that nobody knows counts as one that runs. */
static void on_sync_container(void *ctx, const struct nri_container *container)
{
    const struct container_facts facts = container_facts_of(container);
    struct answers *w = ctx;

    if (container->state != NRI_CONTAINER_STOPPED) {
        mutex_lock(&w->lock);
        agent_sync_container(w->agent, &w->rules, &facts);
        mutex_unlock(&w->lock);
        limiting_sync_container(w->limiting, container->id, container->pid);
    }
}

/* It has no GPU of ours: when it was created it could not be read either, and was refused (decision 0060). */
static void on_sync_unreadable(void *ctx, const char *what, const struct err *why)
{
    const struct answers *w = ctx;

    LOG_ERROR(w->log, "Cannot read what the container runtime lists", LOG_CSTR("what", what),
              LOG_CSTR("why", why->msg));
}

/* Before its program runs if it was not started yet; a container of which the agent knows no grant needs none. */
static int limit(struct answers *w, struct str container_id, uint32_t pid, struct err *reterr)
{
    struct limits_memory limits[DEVICES_PER_NODE_MAX];
    struct arena a;
    size_t n;
    int rc;

    arena_init(&a, LIMITS_BYTES_MAX);
    n = answers_wanted_limits(w, container_id, &a, limits);
    rc = limiting_start(w->limiting, container_id, pid, limits, n, reterr);
    arena_fini(&a);
    return rc;
}

static void on_sync_end(void *ctx)
{
    const struct agent_finding *found;
    struct answers *w = ctx;
    size_t n, found_n;
    struct arena a;
    struct err err;
    bool takes;
    int rc;

    arena_init(&a, FINDINGS_BYTES_MAX);
    mutex_lock(&w->lock);
    takes = w->rules.hand_over.way != HAND_OVER_NO_WAY;
    rc = agent_sync_end(w->agent, &err);
    n = fence_container_n(agent_fence(w->agent));
    found = agent_findings(w->agent, &w->rules, &a, &found_n);
    mutex_unlock(&w->lock);
    if (found != NULL) {
        findings_tell(found, found_n, w->events, w->log);
    }
    arena_fini(&a);
    if (rc != 0) {
        LOG_ERROR(w->log, "No GPU is handed out", LOG_CSTR("why", err.msg));
    } else {
        LOG_INFO(w->log, "Knows what runs on the GPUs", LOG_I64("containers", (int64_t)n));
        limiting_sync_end(w->limiting);
        limiting_running(w->limiting, answers_wanted_limits, w); /* the main thread does what is left of them */
    }
    if (rc == 0 && takes && w->ready != NULL) {
        w->ready(w->ready_ctx);
    }
}

/* ---- the steps of a container ---- */

static int refuse(const struct answers *w, const char *msg, const struct nri_pod *pod, const struct nri_container *c,
                  struct str why, struct err *reterr)
{
    LOG_WARNING(w->log, msg, LOG_STR("namespace", pod->namespace), LOG_STR("pod", pod->name),
                LOG_STR("container", c->name), LOG_STR("why", why));
    return err_set(reterr, ERR_CONFLICT, "%.*s", STR_ARG(why));
}

/* NULL: the arena is full. */
static const struct str *mounts_of(const struct nri_container *c, struct arena *a)
{
    struct str *mounts = ARENA_ARRAY(a, c->mount_n + 1, struct str);

    for (size_t i = 0; mounts != NULL && i < c->mount_n; i++) {
        mounts[i] = c->mounts[i].destination;
    }
    return mounts;
}

static void forget(struct answers *w, struct str container_id)
{
    mutex_lock(&w->lock);
    agent_ended(w->agent, container_id);
    mutex_unlock(&w->lock);
    limiting_ended(w->limiting, container_id);
}

static int on_create(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct arena *a,
                     struct nri_adjustment *ret, struct err *reterr)
{
    const struct pod_facts pod_facts = pod_facts_of(pod);
    struct container_facts facts = container_facts_of(container);
    struct answers *w = ctx;
    struct kv *env = ARENA_NEW(a, struct kv); /* before the container is admitted */
    struct hand_over h;
    struct str why;

    facts.mounts = mounts_of(container, a);
    facts.mount_n = container->mount_n;
    if (facts.mounts == NULL || env == NULL) {
        return refuse(w, "Refused a container", pod, container, grant_sentence(STR_NULL), reterr);
    }
    mutex_lock(&w->lock);
    h = agent_create(w->agent, &w->rules, &pod_facts, &facts, a);
    mutex_unlock(&w->lock);
    if (h.answer == HAND_OVER_REFUSED) {
        return refuse(w, "Refused a container", pod, container, h.why, reterr);
    }
    ret->cdi_devices = h.cdi;
    ret->cdi_device_n = h.cdi_n;
    if (h.env.key.n > 0) {
        *env = h.env;
        ret->env = (struct kv_list){env, 1};
    }
    if (!limiting_create(w->limiting, &pod_facts, &facts, &h, a, ret, &why)) {
        forget(w, container->id);
        return refuse(w, "Refused a container", pod, container, why, reterr);
    }
    if (h.answer == HAND_OVER_DEVICES) {
        LOG_V(w->log, 2, "Handed over GPUs", LOG_STR("namespace", pod->namespace), LOG_STR("pod", pod->name),
              LOG_STR("container", container->name), LOG_I64("gpus", (int64_t)h.device_n));
    }
    return 0;
}

static int refuse_start(const struct answers *w, const struct nri_pod *pod, const struct nri_container *c,
                        struct str why, struct err *reterr)
{
    return refuse(w, "Refused the start of a container", pod, c, why, reterr);
}

static int on_start(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct err *reterr)
{
    const struct pod_facts pod_facts = pod_facts_of(pod);
    const struct container_facts facts = container_facts_of(container);
    struct answers *w = ctx;
    struct arena a;
    struct str why;
    struct err err;
    int rc = 0;
    bool may;

    arena_init(&a, START_BYTES_MAX);
    mutex_lock(&w->lock);
    may = agent_start(w->agent, &w->rules, &pod_facts, &facts, &a, &why);
    mutex_unlock(&w->lock);
    if (!may) {
        rc = refuse_start(w, pod, container, why, reterr);
    } else if (limit(w, container->id, container->pid, &err) != 0) {
        why = grant_sentence(arena_printf(&a,
                                          "container %.*s of pod %.*s/%.*s would run without its limit of GPU "
                                          "memory, so it is tried again: %s",
                                          STR_ARG(container->name), STR_ARG(pod->namespace), STR_ARG(pod->name),
                                          err.msg));
        rc = refuse_start(w, pod, container, why, reterr);
    }
    arena_fini(&a);
    return rc;
}

static void on_end(void *ctx, const struct nri_pod *pod, const struct nri_container *container)
{
    (void)pod;
    forget(ctx, container->id);
}

static void on_sandbox_removed(void *ctx, const struct nri_pod *pod)
{
    struct answers *w = ctx;

    mutex_lock(&w->lock);
    agent_sandbox_removed(w->agent, pod->id);
    mutex_unlock(&w->lock);
}

/* ---- how long it takes ---- */

static void observe_since(struct metric *m, int64_t began_ns)
{
    if (m != NULL) {
        metric_observe(m, clock_mono_ns(clock_system()) - began_ns);
    }
}

static int timed_create(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct arena *a,
                        struct nri_adjustment *ret, struct err *reterr)
{
    const struct answers *w = ctx;
    const int64_t began_ns = clock_mono_ns(clock_system());
    const int rc = on_create(ctx, pod, container, a, ret, reterr);

    observe_since(w->create_time, began_ns);
    return rc;
}

static int timed_start(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct err *reterr)
{
    const struct answers *w = ctx;
    const int64_t began_ns = clock_mono_ns(clock_system());
    const int rc = on_start(ctx, pod, container, reterr);

    observe_since(w->start_time, began_ns);
    return rc;
}

struct nri_handler answers_handler(struct answers *w)
{
    return (struct nri_handler){.ctx = w,
                                .connected = on_connected,
                                .sync_begin = on_sync_begin,
                                .sync_pod = on_sync_pod,
                                .sync_container = on_sync_container,
                                .sync_unreadable = on_sync_unreadable,
                                .sync_end = on_sync_end,
                                .create = timed_create,
                                .start = timed_start,
                                .stop = on_end,
                                .remove = on_end,
                                .sandbox_removed = on_sandbox_removed,
                                .disconnected = on_disconnected};
}
