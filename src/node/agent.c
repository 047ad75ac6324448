#include "node/agent.h"

#include "base/bug.h"
#include "cdi/spec.h"
#include "node/gpu_check.h"

#include <stdlib.h>

#define SYNC_BYTES_MAX (32U << 20)  /* what is kept of all pods and containers while they are told */
#define RECORD_BYTES_MAX (4U << 20) /* to read one record */

/* A container that a record which holds gives devices. */
struct sync_grant {
    struct sync_grant *next;
    struct fence_container c; /* without an id; with the nodes of its devices */
};

/* For containers that have GPUs without a grant. */
struct sync_pod {
    struct sync_pod *next;
    struct fence_container of; /* names; without an id */
    bool exempt;
};

struct sync_container {
    struct sync_container *next;
    struct str id, sandbox_id, name;
    struct gpu_nodes gpus;
    struct gpu_nodes by_runtime; /* if it has no grant, and is not exempt */
};

struct agent {
    struct fence *fence;
    struct fence *others; /* who had GPUs of somebody else when it was created: nobody tells it again */
    bool knows;
    bool shown; /* the runtime tells of nodes that are handed over: not where NVIDIA's makes them */
    struct arena sync, record;
    struct sync_pod *pods;
    struct sync_grant *grants;
    struct sync_container *containers;
};

struct agent *agent_new(void)
{
    struct agent *g = xcalloc(1, sizeof(*g));

    g->fence = fence_new();
    g->others = fence_new();
    arena_init(&g->sync, SYNC_BYTES_MAX);
    arena_init(&g->record, RECORD_BYTES_MAX);
    return g;
}

void agent_free(struct agent *g)
{
    if (g != NULL) {
        fence_free(g->fence);
        fence_free(g->others);
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
    g->pods = NULL;
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
    g->knows = g->shown = false;
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
static void keep_grant(struct agent *g, const struct agent_rules *rules, const struct fence_container *pod,
                       const struct assigned_container *c)
{
    struct sync_grant *kept = ARENA_NEW(&g->sync, struct sync_grant);

    if (kept != NULL) {
        kept->c = *pod;
        kept->c.name = arena_str(&g->sync, c->name);
        kept->c.devices = keep_devices(&g->sync, c);
        kept->c.device_n = c->device_n;
        kept->c.nodes = node_facts_nodes(&rules->node, c->devices, c->device_n, NULL);
        kept->next = g->grants;
        g->grants = kept;
    }
}

void agent_sync_pod(struct agent *g, const struct agent_rules *rules, struct str sandbox_id,
                    const struct pod_facts *pod)
{
    struct sync_pod *kept = ARENA_NEW(&g->sync, struct sync_pod);
    struct assignment as;

    if (kept == NULL) {
        return;
    }
    g->shown = rules->hand_over.way == HAND_OVER_BY_CDI;
    kept->of = (struct fence_container){.sandbox_id = arena_str(&g->sync, sandbox_id),
                                        .pod_uid = arena_str(&g->sync, pod->uid),
                                        .namespace_ = arena_str(&g->sync, pod->namespace_),
                                        .pod = arena_str(&g->sync, pod->name)};
    kept->exempt = hand_over_exempts_namespace(&rules->hand_over, pod->namespace_);
    kept->next = g->pods;
    g->pods = kept;
    if (!grant_record(&rules->node, pod, &g->record, &as)) {
        g->sync.overflowed = g->sync.overflowed || g->record.overflowed;
        as.container_n = 0;
    }
    for (size_t i = 0; i < as.container_n; i++) {
        if (as.containers[i].device_n > 0) {
            keep_grant(g, rules, &kept->of, &as.containers[i]);
        }
    }
    arena_reset(&g->record);
}

void agent_sync_container(struct agent *g, const struct agent_rules *rules, const struct container_facts *c)
{
    struct sync_container *kept = ARENA_NEW(&g->sync, struct sync_container);

    if (kept != NULL) {
        kept->id = arena_str(&g->sync, c->id);
        kept->sandbox_id = arena_str(&g->sync, c->sandbox_id);
        kept->name = arena_str(&g->sync, c->name);
        kept->gpus = c->gpus;
        kept->by_runtime = hand_over_made_by_runtime(&rules->hand_over, &rules->node, c);
        kept->next = g->containers;
        g->containers = kept;
    }
}

/* A container with a grant: what it was to get, and what the runtime tells that it has. */
static void add_with_nodes(struct agent *g, const struct fence_container *granted, const struct gpu_nodes *told)
{
    struct fence_container c = *granted;

    if (g->shown && !told->everything) {
        c.nodes = *told;
    } else if (!told->everything) {
        gpu_nodes_add(&c.nodes, told);
    }
    fence_add(g->fence, &c);
}

static bool add_if_granted(struct agent *g, const struct sync_container *c)
{
    for (struct sync_grant *s = g->grants; s != NULL; s = s->next) {
        if (str_eq(s->c.sandbox_id, c->sandbox_id) && str_eq(s->c.name, c->name)) {
            s->c.id = c->id;
            add_with_nodes(g, &s->c, &c->gpus);
            return true;
        }
    }
    return false;
}

/* Without a grant: does what a container can open say what it uses? */
static bool counts_by_nodes(bool exempt, const struct gpu_nodes *gpus)
{
    return !exempt && !gpus->everything && gpu_nodes_first(gpus) >= 0;
}

/* One whose sandbox is not listed is in no namespace that anybody knows, so it is not exempt. */
static void add_listed(struct agent *g, const struct sync_container *c)
{
    struct fence_container of = {.sandbox_id = c->sandbox_id, .nodes = c->gpus};
    const struct sync_pod *pod = g->pods;

    if (add_if_granted(g, c)) {
        return;
    }
    while (pod != NULL && !str_eq(pod->of.sandbox_id, c->sandbox_id)) {
        pod = pod->next;
    }
    if (pod != NULL) {
        of = pod->of;
        of.nodes = c->gpus;
    }
    gpu_nodes_add(&of.nodes, &c->by_runtime);
    if (counts_by_nodes(pod != NULL && pod->exempt, &of.nodes)) {
        of.id = c->id;
        of.name = c->name;
        fence_add(g->fence, &of);
    }
}

static bool keep_admitted(struct agent *g, struct fence *before, const struct sync_container *c)
{
    struct fence_container there;

    if (!fence_keep(g->fence, before, c->id)) {
        return false;
    }
    /* It was admitted, but perhaps created without: the answer came too late. */
    if (fence_find(g->fence, c->id, &there) && there.device_n > 0) {
        add_with_nodes(g, &there, &c->gpus);
    }
    return true;
}

/* What was admitted is a fact of the container, and nothing that the runtime tells later says more: a key may have been
 * taken away since, its sandbox may not be listed, its GPU may have another number. */
static void add_what_runs(struct agent *g)
{
    struct fence *before = g->fence, *others = g->others;

    g->fence = fence_new();
    g->others = fence_new();
    for (const struct sync_container *c = g->containers; c != NULL; c = c->next) {
        (void)fence_keep(g->others, others, c->id);
        if (!fence_has(g->fence, c->id) && !keep_admitted(g, before, c)) {
            add_listed(g, c);
        }
    }
    fence_free(before);
    fence_free(others);
}

int agent_sync_end(struct agent *g, struct err *reterr)
{
    g->knows = !g->sync.overflowed;
    if (g->knows) {
        add_what_runs(g);
    }
    forget_sync(g);
    return g->knows
               ? 0
               : err_set(reterr, ERR_LIMIT,
                         "the container runtime told of more pods and containers than fgpu-node can hold; it hands "
                         "out no GPU until the runtime tells again, on the next connection");
}

/* ---- what should not be ---- */

static bool find(const struct agent_rules *rules, const struct fence_container *c, struct agent_finding *ret)
{
    bool known;
    const struct gpu_nodes granted = node_facts_nodes(&rules->node, c->devices, c->device_n, &known);
    struct gpu_nodes other;

    *ret =
        (struct agent_finding){.pod_uid = c->pod_uid, .namespace_ = c->namespace_, .pod = c->pod, .container = c->name};
    other = gpu_nodes_without(&c->nodes, &granted);
    ret->kind = c->device_n > 0 ? AGENT_HAS_ANOTHER : AGENT_HAS_NO_GRANT;
    ret->minor = gpu_nodes_first(&other);
    if (known && ret->minor >= 0) {
        return true;
    }
    other = gpu_nodes_without(&granted, &c->nodes);
    ret->kind = AGENT_RUNS_WITHOUT;
    ret->minor = gpu_nodes_first(&other);
    return known && rules->hand_over.way == HAND_OVER_BY_CDI && ret->minor >= 0;
}

const struct agent_finding *agent_findings(const struct agent *g, const struct agent_rules *rules, struct arena *a,
                                           size_t *ret_n)
{
    struct agent_finding *found = ARENA_ARRAY(a, AGENT_FINDINGS_MAX, struct agent_finding);
    size_t n = 0;

    for (size_t i = 0; found != NULL && i < fence_container_n(g->fence) && n < AGENT_FINDINGS_MAX; i++) {
        const struct fence_container c = fence_at(g->fence, i);

        if (find(rules, &c, &found[n])) {
            found[n].pod_uid = arena_str(a, c.pod_uid);
            found[n].namespace_ = arena_str(a, c.namespace_);
            found[n].pod = arena_str(a, c.pod);
            found[n].container = arena_str(a, c.name);
            n++;
        }
    }
    *ret_n = n;
    return a->overflowed ? NULL : found;
}

/* ---- the steps of a container ---- */

static struct hand_over refused(struct hand_over h, struct str why)
{
    return (struct hand_over){.answer = HAND_OVER_REFUSED, .devices = h.devices, .device_n = h.device_n, .why = why};
}

static struct fence_container fence_container_of(const struct pod_facts *pod, const struct container_facts *c)
{
    return (struct fence_container){.id = c->id,
                                    .sandbox_id = c->sandbox_id,
                                    .pod_uid = pod->uid,
                                    .namespace_ = pod->namespace_,
                                    .pod = pod->name,
                                    .name = c->name};
}

struct hand_over agent_create(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                              const struct container_facts *c, struct arena *a)
{
    const struct hand_over h = hand_over_decide(&rules->hand_over, &rules->node, pod, c, a);
    struct fence_container wanted = fence_container_of(pod, c);
    struct str why;

    if (h.answer == HAND_OVER_NOTHING && hand_over_sees_others(c)) {
        fence_add(g->others, &wanted);
    }
    if (h.answer != HAND_OVER_DEVICES) {
        return h;
    }
    if (!g->knows) {
        return refused(h,
                       STR("fgpu-node does not know yet what runs on the GPUs of this node; it will be tried again"));
    }
    wanted.devices = h.devices;
    wanted.device_n = h.device_n;
    return fence_admit(g->fence, &rules->node, &wanted, a, &why) ? h : refused(h, why);
}

static bool starts_without_a_grant(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                                   const struct container_facts *c, struct arena *a, struct str *ret_why)
{
    struct fence_container of = fence_container_of(pod, c);

    if (!fence_has(g->others, c->id) && !hand_over_exempts(&rules->hand_over, pod)) {
        if (!hand_over_is_hidden(&rules->hand_over, c)) {
            *ret_why = STR("this container was created while fgpu-node was away, and asks NVIDIA's runtime for GPUs by "
                           "its variable " CDI_VISIBLE_DEVICES ", or by a mount; it will be created again");
            return false;
        }
        if (!hand_over_allows_none(&rules->hand_over, &rules->node, pod, c, a, ret_why)) {
            return false;
        }
    }
    of.nodes = c->gpus;
    return !counts_by_nodes(hand_over_exempts_namespace(&rules->hand_over, pod->namespace_), &c->gpus) ||
           fence_admit_other(g->fence, &rules->node, &of, a, ret_why);
}

/* Beside what it is granted. */
static void count_what_it_has(struct agent *g, const struct pod_facts *pod, const struct container_facts *c)
{
    struct fence_container of = fence_container_of(pod, c);

    if (counts_by_nodes(false, &c->gpus)) {
        (void)fence_find(g->fence, c->id, &of);
        gpu_nodes_add(&of.nodes, &c->gpus);
        fence_add(g->fence, &of);
    }
}

static bool may_start(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                      const struct container_facts *c, struct arena *a, struct str *ret_why)
{
    struct fence_container there;
    struct grant granted;

    if (fence_find(g->fence, c->id, &there) && there.device_n > 0) {
        return gpu_check(&rules->node, pod, c, there.devices, there.device_n, rules->hand_over.way == HAND_OVER_BY_CDI,
                         a, ret_why);
    }
    granted = grant_of(&rules->node, pod, c->name, a);
    if (granted.kind == GRANT_NOTHING) {
        return starts_without_a_grant(g, rules, pod, c, a, ret_why);
    }
    *ret_why =
        granted.kind == GRANT_REFUSED
            ? granted.why
            : STR("this container was created while fgpu-node was away, so it has no GPU; it will be created again");
    return false;
}

bool agent_start(struct agent *g, const struct agent_rules *rules, const struct pod_facts *pod,
                 const struct container_facts *c, struct arena *a, struct str *ret_why)
{
    const bool may = may_start(g, rules, pod, c, a, ret_why);

    if (!may && rules->starts_anyway) {
        count_what_it_has(g, pod, c);
    }
    return may;
}

void agent_ended(struct agent *g, struct str container_id)
{
    fence_drop(g->fence, container_id);
    fence_drop(g->others, container_id);
}

void agent_sandbox_removed(struct agent *g, struct str sandbox_id)
{
    fence_drop_sandbox(g->fence, sandbox_id);
    fence_drop_sandbox(g->others, sandbox_id);
}
