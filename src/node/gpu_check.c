#include "node/gpu_check.h"

#include "node/grant.h"

struct checked {
    const struct node_facts *node;
    const struct pod_facts *pod;
    const struct container_facts *c;
    struct arena *a;
};

#define CONTAINER_FMT "container %.*s of pod %.*s/%.*s"
#define CONTAINER_ARG(k) STR_ARG((k)->c->name), STR_ARG((k)->pod->namespace_), STR_ARG((k)->pod->name)

/* The GPU that has this node; empty: nobody knows. */
static struct str uuid_of_minor(const struct node_facts *node, int32_t minor)
{
    for (size_t i = 0; i < node->device_n; i++) {
        if (node->devices[i].minor == minor && (node->devices[i].profile == 0 || node->devices[i].gpu_index < 0)) {
            return node->devices[i].uuid;
        }
    }
    return STR("that fgpu-node does not know");
}

static struct str has_another(const struct checked *k, int32_t minor, bool granted)
{
    const struct str uuid = uuid_of_minor(k->node, minor);

    return grant_sentence(arena_printf(
        k->a, CONTAINER_FMT " has /dev/nvidia%d, which is GPU %.*s and was not given to it by fgpu; %s",
        CONTAINER_ARG(k), minor, STR_ARG(uuid),
        granted ? "describe the GPUs of the node anew (nvidia-ctk cdi generate), and take annotations that name "
                  "devices out of the pod"
                : "take annotations that name devices out of the pod, or, where a device plugin gave it, run fgpu-node "
                  "with --stand-back"));
}

static struct str lacks_one(const struct checked *k, int32_t minor)
{
    const struct str uuid = uuid_of_minor(k->node, minor);

    return grant_sentence(arena_printf(
        k->a,
        CONTAINER_FMT " has no /dev/nvidia%d, which is its GPU %.*s: it was created while fgpu-node was away, or the "
                      "CDI files of the node describe another GPU by this name (nvidia-ctk cdi generate writes them "
                      "anew); it will be created again",
        CONTAINER_ARG(k), minor, STR_ARG(uuid)));
}

static struct str is_privileged(const struct checked *k)
{
    return grant_sentence(
        arena_printf(k->a,
                     CONTAINER_FMT " is privileged, so it would have every GPU of node %.*s and not only those that "
                                   "fgpu gave it; take `privileged` out of its securityContext",
                     CONTAINER_ARG(k), STR_ARG(k->node->name)));
}

static struct str is_gone(const struct checked *k)
{
    return grant_sentence(arena_printf(k->a,
                                       "a GPU of " CONTAINER_FMT
                                       " is no longer on node %.*s, or has no device node that is known; delete the "
                                       "pod so that it is placed again",
                                       CONTAINER_ARG(k), STR_ARG(k->node->name)));
}

static bool has_every_gpu(const struct node_facts *node, const struct gpu_nodes *granted)
{
    for (size_t i = 0; i < node->device_n; i++) {
        if (!gpu_nodes_has(granted, node->devices[i].minor) || node->devices[i].profile != 0) {
            return false; /* of a GPU in MIG mode there may be an instance that is not its own */
        }
    }
    return true;
}

bool gpu_check(const struct node_facts *node, const struct pod_facts *pod, const struct container_facts *c,
               const struct assigned_device *devices, size_t n, bool all_there, struct arena *a, struct str *ret_why)
{
    const struct checked k = {.node = node, .pod = pod, .c = c, .a = a};
    bool known;
    const struct gpu_nodes granted = node_facts_nodes(node, devices, n, &known);
    struct gpu_nodes other;
    int32_t minor;

    if (!known) {
        *ret_why = is_gone(&k);
        return false;
    }
    if (c->gpus.everything) {
        *ret_why = is_privileged(&k);
        return has_every_gpu(node, &granted);
    }
    other = gpu_nodes_without(&c->gpus, &granted);
    minor = gpu_nodes_first(&other);
    if (minor >= 0) {
        *ret_why = has_another(&k, minor, n > 0);
        return false;
    }
    other = gpu_nodes_without(&granted, &c->gpus);
    minor = gpu_nodes_first(&other);
    if (all_there && minor >= 0) {
        *ret_why = lacks_one(&k, minor);
        return false;
    }
    return true;
}
