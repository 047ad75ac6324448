#include "cmd_node/answers.h"

#include "base/bug.h"
#include "base/sync.h"
#include "node/agent.h"

#include <stdlib.h>
#include <string.h>

#define START_BYTES_MAX (4U << 20) /* to read one record */

struct answers {
    const struct node_options *options;
    const struct log *log;
    struct mutex lock;
    struct agent *agent;
    struct agent_rules rules;
    struct device *devices; /* one block with their text */
};

struct answers *answers_new(const struct node_options *options, const struct log *log)
{
    struct answers *w = xcalloc(1, sizeof(*w));

    mutex_init(&w->lock, "node answers");
    w->options = options;
    w->log = log;
    w->agent = agent_new();
    w->rules.hand_over = (struct hand_over_rules){.way = HAND_OVER_NO_WAY, /* until the runtime says who it is */
                                                  .exempt = options->exempt,
                                                  .exempt_n = options->exempt_n,
                                                  .stand_back = options->stand_back};
    w->rules.node = (struct node_facts){.name = str_of(options->node_name),
                                        .overcommit_milli = options->overcommit_milli,
                                        .overcommit_mem_milli = options->overcommit_mem_milli};
    return w;
}

void answers_free(struct answers *w)
{
    agent_free(w->agent);
    sign_keyring_put(w->rules.node.keys);
    free(w->devices);
    mutex_destroy(&w->lock);
    free(w);
}

void answers_set_keys(struct answers *w, const struct sign_keyring *keys)
{
    const struct sign_keyring *before;

    mutex_lock(&w->lock);
    before = w->rules.node.keys;
    w->rules.node.keys = sign_keyring_ref(keys);
    mutex_unlock(&w->lock);
    sign_keyring_put(before);
}

static struct device *copy_devices(const struct device *devices, size_t n)
{
    struct device *copy;
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < n; i++) {
        bytes += devices[i].uuid.n + devices[i].model.n;
    }
    copy = xmalloc(n * sizeof(*copy) + bytes);
    text = (char *)(copy + n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = devices[i];
        copy[i].uuid = str_put(&text, devices[i].uuid);
        copy[i].model = str_put(&text, devices[i].model);
    }
    return copy;
}

void answers_set_devices(struct answers *w, const struct device *devices, size_t n)
{
    struct device *copy = copy_devices(devices, n), *before;

    mutex_lock(&w->lock);
    before = w->devices;
    w->devices = copy;
    w->rules.node.devices = copy;
    w->rules.node.device_n = n;
    mutex_unlock(&w->lock);
    free(before);
}

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
    mutex_unlock(&w->lock);
    LOG_INFO(w->log, "Connected to the container runtime", LOG_STR("runtime", runtime->name),
             LOG_STR("version", runtime->version));
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
                                    .cdi_n = c->cdi_device_n};
}

static void on_sync_begin(void *ctx)
{
    struct answers *w = ctx;

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
        agent_sync_container(w->agent, &facts);
        mutex_unlock(&w->lock);
    }
}

/* It has no GPU of ours: when it was created it could not be read either, and was refused (decision 0060). */
static void on_sync_unreadable(void *ctx, const char *what, const struct err *why)
{
    const struct answers *w = ctx;

    LOG_ERROR(w->log, "Cannot read what the container runtime lists", LOG_CSTR("what", what),
              LOG_CSTR("why", why->msg));
}

static void on_sync_end(void *ctx)
{
    struct answers *w = ctx;
    struct err err;
    size_t n;
    int rc;

    mutex_lock(&w->lock);
    rc = agent_sync_end(w->agent, &err);
    n = fence_container_n(agent_fence(w->agent));
    mutex_unlock(&w->lock);
    if (rc != 0) {
        LOG_ERROR(w->log, "No GPU is handed out", LOG_CSTR("why", err.msg));
    } else {
        LOG_INFO(w->log, "Knows what runs on the GPUs", LOG_I64("containers", (int64_t)n));
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

static int on_create(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct arena *a,
                     struct nri_adjustment *ret, struct err *reterr)
{
    const struct pod_facts pod_facts = pod_facts_of(pod);
    const struct container_facts facts = container_facts_of(container);
    struct answers *w = ctx;
    struct hand_over h;
    struct kv *env;

    mutex_lock(&w->lock);
    h = agent_create(w->agent, &w->rules, &pod_facts, &facts, a);
    mutex_unlock(&w->lock);
    if (h.answer == HAND_OVER_REFUSED) {
        return refuse(w, "Refused a container", pod, container, h.why, reterr);
    }
    ret->cdi_devices = h.cdi;
    ret->cdi_device_n = h.cdi_n;
    if (h.env.key.n > 0) {
        env = ARENA_NEW(a, struct kv);
        if (env == NULL) {
            return refuse(w, "Refused a container", pod, container, grant_sentence(STR_NULL), reterr);
        }
        *env = h.env;
        ret->env = (struct kv_list){env, 1};
    }
    if (h.answer == HAND_OVER_DEVICES) {
        LOG_V(w->log, 2, "Handed over GPUs", LOG_STR("namespace", pod->namespace), LOG_STR("pod", pod->name),
              LOG_STR("container", container->name), LOG_I64("gpus", (int64_t)h.device_n));
    }
    return 0;
}

static int on_start(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct err *reterr)
{
    const struct pod_facts pod_facts = pod_facts_of(pod);
    const struct container_facts facts = container_facts_of(container);
    struct answers *w = ctx;
    struct arena a;
    struct str why;
    int rc = 0;
    bool may;

    arena_init(&a, START_BYTES_MAX);
    mutex_lock(&w->lock);
    may = agent_start(w->agent, &w->rules, &pod_facts, &facts, &a, &why);
    mutex_unlock(&w->lock);
    if (!may) {
        rc = refuse(w, "Refused the start of a container", pod, container, why, reterr);
    }
    arena_fini(&a);
    return rc;
}

static void on_end(void *ctx, const struct nri_pod *pod, const struct nri_container *container)
{
    struct answers *w = ctx;

    (void)pod;
    mutex_lock(&w->lock);
    agent_ended(w->agent, container->id);
    mutex_unlock(&w->lock);
}

static void on_sandbox_removed(void *ctx, const struct nri_pod *pod)
{
    struct answers *w = ctx;

    mutex_lock(&w->lock);
    agent_sandbox_removed(w->agent, pod->id);
    mutex_unlock(&w->lock);
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
                                .create = on_create,
                                .start = on_start,
                                .stop = on_end,
                                .remove = on_end,
                                .sandbox_removed = on_sandbox_removed,
                                .disconnected = on_disconnected};
}
