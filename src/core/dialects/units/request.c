/* Pods that ask for units. */
#include "core/dialects/units/units_internal.h"

#include "core/dialects/native/native_internal.h"

bool units_claims_pod(const struct policy *p, const struct pod *pod)
{
    return dialect_pod_asks_for(pod, p, units_owns_resource);
}

static enum demand_defect whole_amount(const struct container *c, struct str resource, int64_t *ret)
{
    const struct str *text = native_amount(c, resource);
    enum demand_defect defect = DEMAND_OK;

    *ret = 0;
    if (text != NULL) {
        defect = native_read_integer(*text, ret);
    }
    return defect == DEMAND_OK && *ret > DEMAND_PLUGIN_MANAGED_MAX ? DEMAND_COUNT : defect;
}

/* What the pod's effective request for `resource` is: the larger of (app containers + sidecars) and
 * of each ordinary init container with the sidecars started before it. Source: Kubernetes, "Sidecar
 * Containers", resource sharing within containers. */
static enum demand_defect effective_request(const struct pod *pod, struct str resource, int64_t *ret, int64_t *most)
{
    int64_t running = 0; /* no overflow: each amount is bounded, a pod has fewer than 2^40 containers */
    int64_t init_peak = 0;

    for (size_t i = 0; i < pod->init_container_n + pod->container_n; i++) {
        int64_t amount;
        enum demand_defect defect = whole_amount(pod_container(pod, i), resource, &amount);

        if (defect != DEMAND_OK) {
            return defect;
        }
        *most = amount > *most ? amount : *most;
        if (pod_container_stays(pod, i)) {
            running += amount;
        } else if (running + amount > init_peak) {
            init_peak = running + amount;
        }
    }
    *ret = running > init_peak ? running : init_peak;
    return DEMAND_OK;
}

/* What a pod asks of device plugins. */
struct plugin_ask {
    int64_t total;
    int64_t most; /* in one container */
    uint64_t names;
};

static enum demand_defect add_plugin(const struct pod *pod, struct str resource, uint64_t name, struct plugin_ask *ask)
{
    int64_t amount = 0;
    enum demand_defect defect = effective_request(pod, resource, &amount, &ask->most);

    ask->total += amount;
    ask->names |= amount > 0 ? name : 0;
    return defect == DEMAND_OK && ask->total > DEMAND_PLUGIN_MANAGED_MAX ? DEMAND_COUNT : defect;
}

static enum demand_defect read_plugins(const struct policy *p, const struct pod *pod, struct plugin_ask *ret)
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

static enum demand_defect read_pod(const struct policy *p, const struct pod *pod, struct demand *d)
{
    struct plugin_ask ask = {0};
    enum demand_defect defect = read_plugins(p, pod, &ask);

    if (defect != DEMAND_OK) {
        return defect;
    }
    d->plugin_managed_n = (int32_t)ask.total;
    d->plugin_managed_most = (int32_t)ask.most;
    d->plugin_managed_names = ask.names;
    if (ask.total > 0 && kv_find(pod->annotations, STR(NATIVE_KEY_CONTAINER)) != NULL) {
        return DEMAND_TWICE; /* of amounts in annotations, of which there are none */
    }
    return DEMAND_OK;
}

bool units_parse_request(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret)
{
    struct demand d = {.source = DEMAND_FROM_RESOURCES, .dialect = dialect_native.name};
    enum demand_defect defect = read_pod(p, pod, &d);

    if (defect == DEMAND_OK && d.plugin_managed_n == 0) {
        *ret = (struct demand){.dialect = ""};
        return true;
    }
    if (defect == DEMAND_OK && !native_constraints(pod->annotations, a, &d, &defect)) {
        return false;
    }
    if (defect != DEMAND_OK) {
        d = (struct demand){.defect = defect, .source = d.source, .dialect = d.dialect};
    }
    *ret = d;
    return true;
}
