/* Nodes whose GPUs the agent of another system hands out.
 *
 * Such an agent gives parts of the same GPUs to pods that fgpu cannot read, so nothing of them is ours to share. It
 * shows by the annotation in which it registers its GPUs, or by the resources it publishes: an amount of 0 is an agent
 * that is switched off. A name that the configuration has among its resources is served, and not foreign. Sources:
 * HAMi pkg/device, Volcano and its vGPU plugin, gpushare-device-plugin, gpu-manager, elastic-gpu-agent, Koordinator,
 * metagpu, nvshare, the AWS virtual GPU plugin, nos.
 */
#include "core/dialects/foreign_internal.h"

#include "base/compiler.h"
#include "core/dialects/dialect.h"

#define NOTE(system, what)                                                                                             \
    system " assigns GPUs here (" what                                                                                 \
           "): no shares are placed here. If that system is gone, remove what it left on the "                         \
           "Node object"

struct foreign_agent {
    struct str prefix, suffix; /* of the key */
    const char *note;
};

static const struct foreign_agent registers[] = {
    {STR("hami.io/node-"), STR("-register"), NOTE("HAMi", "annotation hami.io/node-*-register")},
    {STR("hami.io/node-register-"), STR(""), NOTE("HAMi", "annotation hami.io/node-register-*")},
    {STR("volcano.sh/node-vgpu-register"), STR(""), NOTE("Volcano", "annotation volcano.sh/node-vgpu-register")},
    {STR("metax-tech.com/node-gpu-devices"), STR(""), NOTE("HAMi", "annotation metax-tech.com/node-gpu-devices")},
    {STR("nos.nebuly.com/status-gpu-"), STR(""), NOTE("nos", "annotations nos.nebuly.com/status-gpu-*")},
};

static const struct foreign_agent resources[] = {
    {STR("aliyun.com/gpu-"), STR(""), NOTE("gpushare", "resources aliyun.com/gpu-*")},
    {STR("volcano.sh/vgpu-"), STR(""), NOTE("Volcano", "resources volcano.sh/vgpu-*")},
    {STR("volcano.sh/gpu-"), STR(""), NOTE("Volcano", "resources volcano.sh/gpu-*")},
    {STR("koordinator.sh/gpu"), STR(""), NOTE("Koordinator", "resources koordinator.sh/gpu*")},
    {STR("elasticgpu.io/gpu-"), STR(""), NOTE("elastic-gpu", "resources elasticgpu.io/gpu-*")},
    {STR("tencent.com/vcuda-"), STR(""), NOTE("gpu-manager", "resources tencent.com/vcuda-*")},
    {STR("cnvrg.io/metagpu"), STR(""), NOTE("metagpu", "resource cnvrg.io/metagpu")},
    {STR("nvshare.com/gpu"), STR(""), NOTE("nvshare", "resource nvshare.com/gpu")},
    {STR("k8s.amazonaws.com/vgpu"), STR(""), NOTE("the AWS virtual GPU plugin", "resource k8s.amazonaws.com/vgpu")},
};

static bool is_key_of(const struct foreign_agent *agent, struct str key)
{
    return str_starts(key, agent->prefix) && str_ends(str_drop(key, agent->prefix.n), agent->suffix);
}

static bool is_registered(const struct foreign_agent *agent, const struct node *node)
{
    bool found = false;

    for (size_t i = 0; i < node->annotations.n && !found; i++) {
        found = is_key_of(agent, node->annotations.items[i].key);
    }
    return found;
}

static bool is_offering(const struct foreign_agent *agent, const struct policy *p, const struct node *node)
{
    bool found = false;

    for (size_t i = 0; i < node->allocatable.n && !found; i++) {
        const struct kv *r = &node->allocatable.items[i];
        int64_t amount;

        found = is_key_of(agent, r->key) && !dialect_owns_resource(p, r->key) &&
                !(inventory_read_amount(r->value, INT64_MAX, &amount) && amount == 0);
    }
    return found;
}

/* In the order of the tables, so that the order of keys does not matter where there are two. */
const char *foreign_agent(const struct policy *p, const struct node *node)
{
    for (size_t i = 0; i < ARRAY_LEN(registers); i++) {
        if (is_registered(&registers[i], node)) {
            return registers[i].note;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        if (is_offering(&resources[i], p, node)) {
            return resources[i].note;
        }
    }
    return NULL;
}
