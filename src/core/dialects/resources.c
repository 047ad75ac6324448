/* Whether somebody names a resource of a dialect: what claims_node and claims_pod have in common. */
#include "core/dialects/dialect.h"

bool dialect_names_any(struct kv_list resources, const struct policy *p,
                       bool (*owns)(const struct policy *p, struct str name))
{
    bool any = false;

    for (size_t i = 0; i < resources.n && !any; i++) {
        any = owns(p, resources.items[i].key);
    }
    return any;
}

bool dialect_pod_asks_for(const struct pod *pod, const struct policy *p,
                          bool (*owns)(const struct policy *p, struct str name))
{
    bool any = false;

    for (size_t i = 0; i < pod->init_container_n + pod->container_n && !any; i++) {
        const struct container *c = pod_container(pod, i);

        any = dialect_names_any(c->limits, p, owns) || dialect_names_any(c->requests, p, owns);
    }
    return any;
}
