/* Requests for GPUs, replicas and units of device plugins, which leave the choice to kubelet (decision 0028). */
#include "core/dialects/native/native_internal.h"

static enum demand_defect whole_amount(const struct container *c, struct str resource, int64_t *ret)
{
    const struct str *text = native_amount(c, resource);
    enum demand_defect defect = DEMAND_OK;

    *ret = 0;
    if (text != NULL) {
        defect = native_read_integer(*text, ret);
    }
    return defect == DEMAND_OK && *ret > DEMAND_UNSTEERED_MAX ? DEMAND_COUNT : defect;
}

/* What the pod's effective request for `resource` is: the larger of (app containers + sidecars) and
 * of each ordinary init container with the sidecars started before it. Source: Kubernetes, "Sidecar
 * Containers", resource sharing within containers. */
static enum demand_defect effective_request(const struct pod *pod, struct str resource,
                                            int64_t *ret, int64_t *most)
{
    int64_t sidecars =
        0; /* no overflow: each amount is bounded, a pod has fewer than 2^40 containers */
    int64_t init_peak = 0;
    int64_t apps = 0;
    int64_t amount;

    for (size_t i = 0; i < pod->init_container_n; i++) {
        const struct container *c = &pod->init_containers[i];
        enum demand_defect defect = whole_amount(c, resource, &amount);
        if (defect != DEMAND_OK) {
            return defect;
        }
        *most = amount > *most ? amount : *most;
        if (c->sidecar) {
            sidecars += amount;
        } else if (amount + sidecars > init_peak) {
            init_peak = amount + sidecars;
        }
    }
    for (size_t i = 0; i < pod->container_n; i++) {
        enum demand_defect defect = whole_amount(&pod->containers[i], resource, &amount);
        if (defect != DEMAND_OK) {
            return defect;
        }
        *most = amount > *most ? amount : *most;
        apps += amount;
    }
    *ret = apps + sidecars > init_peak ? apps + sidecars : init_peak;
    return DEMAND_OK;
}

static enum demand_defect add_plugin(const struct pod *pod, struct str resource, uint64_t name,
                                     struct native_plugin_ask *ask)
{
    int64_t amount = 0;
    enum demand_defect defect = effective_request(pod, resource, &amount, &ask->most);

    ask->total += amount;
    ask->names |= amount > 0 ? name : 0;
    return defect == DEMAND_OK && ask->total > DEMAND_UNSTEERED_MAX ? DEMAND_COUNT : defect;
}

enum demand_defect native_read_plugin(const struct policy *p, const struct pod *pod, struct native_plugin_ask *ret)
{
    enum demand_defect defect = DEMAND_OK;

    for (size_t i = 0; i < p->whole_resource_n && defect == DEMAND_OK; i++) {
        defect = add_plugin(pod, p->whole_resources[i], POLICY_WHOLE_NAME(i), ret);
    }
    for (size_t i = 0; i < p->compute_resource_n && defect == DEMAND_OK; i++) {
        if (p->compute_resources[i].picks == PICKS_KUBELET) {
            defect = add_plugin(pod, p->compute_resources[i].name, POLICY_UNIT_NAME(i), ret);
        }
    }
    return defect;
}
