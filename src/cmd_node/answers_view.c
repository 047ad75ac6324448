#include "cmd_node/answers_internal.h"

static void view_holds_of(const struct node_facts *node, const struct fence_container *c, struct arena *a,
                          struct view_hold *ret)
{
    const struct view_hold of = {.container_id = arena_str(a, c->id),
                                 .pod_uid = arena_str(a, c->pod_uid),
                                 .namespace_ = arena_str(a, c->namespace_),
                                 .pod = arena_str(a, c->pod),
                                 .container = arena_str(a, c->name)};

    for (size_t i = 0; i < c->device_n; i++) {
        const struct assigned_device *d = &c->devices[i];
        const struct device *known = node_facts_device(node, d);

        ret[i] = of;
        ret[i].gpu = arena_str(a, known != NULL ? known->uuid : d->uuid);
        ret[i].milli = d->milli;
        ret[i].mem_mib = d->mem_mib;
        ret[i].alone = d->exclusive || d->profile != 0 || (known != NULL && known->profile != 0);
    }
}

static bool view_holds(const struct answers *w, struct arena *a, struct node_view *ret)
{
    const struct fence *f = agent_fence(w->agent);
    struct view_hold *holds;
    size_t n = 0, at = 0;

    for (size_t i = 0; i < fence_container_n(f); i++) {
        n += fence_at(f, i).device_n;
    }
    holds = ARENA_ARRAY(a, n + 1, struct view_hold);
    for (size_t i = 0; holds != NULL && i < fence_container_n(f); i++) {
        const struct fence_container c = fence_at(f, i);

        view_holds_of(&w->rules.node, &c, a, &holds[at]);
        at += c.device_n;
    }
    ret->holds = holds;
    ret->hold_n = n;
    ret->container_n = fence_container_n(f);
    return holds != NULL;
}

static bool view_gpus(const struct answers *w, struct arena *a, struct node_view *ret)
{
    const struct node_facts *node = &w->rules.node;
    struct view_gpu *gpus = ARENA_ARRAY(a, node->device_n + 1, struct view_gpu);

    for (size_t i = 0; gpus != NULL && i < node->device_n; i++) {
        const struct device *d = &node->devices[i];

        gpus[i] = (struct view_gpu){.device = *d,
                                    .held = fence_use_of(agent_fence(w->agent), &w->rules.node, d),
                                    .over = fence_is_over(agent_fence(w->agent), node, d)};
        gpus[i].device.uuid = arena_str(a, d->uuid);
        gpus[i].device.model = arena_str(a, d->model);
    }
    ret->gpus = gpus;
    ret->gpu_n = node->device_n;
    return gpus != NULL;
}

bool answers_view(struct answers *w, struct arena *a, struct node_view *ret)
{
    bool whole;

    mutex_lock(&w->lock);
    ret->runtime = arena_str(a, str_of(w->runtime));
    ret->runtime_version = arena_str(a, str_of(w->runtime_version));
    ret->limits = arena_str(a, str_of(w->limits));
    ret->not_by_driver = arena_str(a, str_of(w->not_by_driver[0] != '\0' ? w->not_by_driver : NULL));
    whole = view_gpus(w, a, ret) && view_holds(w, a, ret);
    mutex_unlock(&w->lock);
    return whole && !a->overflowed;
}
