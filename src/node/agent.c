#include "node/agent.h"

#include "base/bug.h"

#include <stdlib.h>

#define SYNC_BYTES_MAX (32U << 20)  /* what is kept of all pods and containers while they are told */
#define RECORD_BYTES_MAX (4U << 20) /* to read one record */

/* A container that a record which holds gives devices. */
struct sync_grant {
    struct sync_grant *next;
    struct fence_container c; /* without an id */
};

struct sync_container {
    struct sync_container *next;
    struct str id, sandbox_id, name;
};

struct agent {
    struct fence *fence;
    bool knows;
    struct arena sync, record;
    struct sync_grant *grants;
    struct sync_container *containers;
};

struct agent *agent_new(void)
{
    struct agent *g = xcalloc(1, sizeof(*g));

    g->fence = fence_new();
    arena_init(&g->sync, SYNC_BYTES_MAX);
    arena_init(&g->record, RECORD_BYTES_MAX);
    return g;
}

void agent_free(struct agent *g)
{
    if (g != NULL) {
        fence_free(g->fence);
        arena_fini(&g->sync);
        arena_fini(&g->record);
        free(g);
    }
}

const struct fence *agent_fence(const struct agent *g)
{
    return g->fence;
}

/* ---- what is there ---- */

static void forget_sync(struct agent *g)
{
    g->grants = NULL;
    g->containers = NULL;
    /* It is needed once in the life of a runtime: give the memory back. */
    arena_fini(&g->sync);
    arena_fini(&g->record);
    arena_init(&g->sync, SYNC_BYTES_MAX);
    arena_init(&g->record, RECORD_BYTES_MAX);
}

void agent_sync_begin(struct agent *g)
{
    forget_sync(g);
    g->knows = false;
}

static const struct assigned_device *keep_devices(struct arena *a, const struct assigned_container *c)
{
    struct assigned_device *devices = ARENA_ARRAY(a, c->device_n, struct assigned_device);

    for (size_t i = 0; devices != NULL && i < c->device_n; i++) {
        devices[i] = c->devices[i];
        devices[i].uuid = arena_str(a, c->devices[i].uuid);
    }
    return devices;
}

/* What does not fit makes the arena overflow, which the end looks at. */
static void keep_grant(struct agent *g, const struct fence_container *pod, const struct assigned_container *c)
{
    struct sync_grant *kept = ARENA_NEW(&g->sync, struct sync_grant);

    if (kept != NULL) {
        kept->c = *pod;
        kept->c.name = arena_str(&g->sync, c->name);
        kept->c.devices = keep_devices(&g->sync, c);
        kept->c.device_n = c->device_n;
        kept->next = g->grants;
        g->grants = kept;
    }
}

void agent_sync_pod(struct agent *g, const struct agent_rules *rules, struct str sandbox_id,
                    const struct pod_facts *pod)
{
    struct fence_container of = {.device_n = 0};
    struct assignment as;

    if (!grant_record(&rules->node, pod, &g->record, &as)) {
        g->sync.overflowed = g->sync.overflowed || g->record.overflowed;
        arena_reset(&g->record);
        return;
    }
    of.sandbox_id = arena_str(&g->sync, sandbox_id);
    of.pod_uid = arena_str(&g->sync, pod->uid);
    of.namespace_ = arena_str(&g->sync, pod->namespace_);
    of.pod = arena_str(&g->sync, pod->name);
    for (size_t i = 0; i < as.container_n; i++) {
        if (as.containers[i].device_n > 0) {
            keep_grant(g, &of, &as.containers[i]);
        }
    }
    arena_reset(&g->record);
}

void agent_sync_container(struct agent *g, const struct container_facts *c)
{
    struct sync_container *kept = ARENA_NEW(&g->sync, struct sync_container);

    if (kept != NULL) {
        kept->id = arena_str(&g->sync, c->id);
        kept->sandbox_id = arena_str(&g->sync, c->sandbox_id);
        kept->name = arena_str(&g->sync, c->name);
        kept->next = g->containers;
        g->containers = kept;
    }
}

static void add_if_granted(struct agent *g, const struct sync_container *c)
{
    for (struct sync_grant *s = g->grants; s != NULL; s = s->next) {
        if (str_eq(s->c.sandbox_id, c->sandbox_id) && str_eq(s->c.name, c->name)) {
            s->c.id = c->id;
            fence_add(g->fence, &s->c);
            return;
        }
    }
}

int agent_sync_end(struct agent *g, struct err *reterr)
{
    g->knows = !g->sync.overflowed;
    fence_free(g->fence);
    g->fence = fence_new();
    for (const struct sync_container *c = g->containers; g->knows && c != NULL; c = c->next) {
        add_if_granted(g, c);
    }
    forget_sync(g);
    return g->knows
               ? 0
               : err_set(reterr, ERR_LIMIT,
                         "the container runtime told of more pods and containers than fgpu-node can hold; it hands "
                         "out no GPU until the runtime tells again, on the next connection");
}

/* ---- the steps of a container ---- */

static struct hand_over refused(struct hand_over h, struct str why)
{
    return (struct hand_over){.answer = HAND_OVER_REFUSED, .devices = h.devices, .device_n = h.device_n, .why = why};
}

struct hand_over agent_create(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                              const struct container_facts *c, struct arena *a)
{
    const struct hand_over h = hand_over_decide(&rules->hand_over, &rules->node, pod, c, a);
    const struct fence_container wanted = {.id = c->id,
                                           .sandbox_id = c->sandbox_id,
                                           .pod_uid = pod->uid,
                                           .namespace_ = pod->namespace_,
                                           .pod = pod->name,
                                           .name = c->name,
                                           .devices = h.devices,
                                           .device_n = h.device_n};
    struct str why;

    if (h.answer != HAND_OVER_DEVICES) {
        return h;
    }
    if (!g->knows) {
        return refused(h,
                       STR("fgpu-node does not know yet what runs on the GPUs of this node; it will be tried again"));
    }
    return fence_admit(g->fence, &rules->node, &wanted, a, &why) ? h : refused(h, why);
}

bool agent_start(const struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                 const struct container_facts *c, struct arena *a, struct str *ret_why)
{
    struct grant granted;

    if (fence_has(g->fence, c->id)) {
        return true;
    }
    granted = grant_of(&rules->node, pod, c->name, a);
    if (granted.kind == GRANT_NOTHING) {
        return true;
    }
    *ret_why =
        granted.kind == GRANT_REFUSED
            ? granted.why
            : STR("this container was created while fgpu-node was away, so it has no GPU; it will be created again");
    return false;
}

void agent_ended(struct agent *g, struct str container_id)
{
    fence_drop(g->fence, container_id);
}

void agent_sandbox_removed(struct agent *g, struct str sandbox_id)
{
    fence_drop_sandbox(g->fence, sandbox_id);
}
