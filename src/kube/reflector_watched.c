/* What is listed and watched. */
#include "reflector_internal.h"

const struct kube_watched kube_watched[KUBE_WATCHED__MAX] = {
    [KUBE_PODS] = {"pods", "/api/v1/pods", "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
                   "/api/v1/pods?limit=1"},
    [KUBE_NODES] = {"nodes", "/api/v1/nodes", "", "/api/v1/nodes?limit=1"},
    [KUBE_SLICES_V1] = {"resourceslices", "/apis/resource.k8s.io/v1/resourceslices", "",
                        "/apis/resource.k8s.io/v1/resourceslices?limit=1"},
    [KUBE_SLICES_V1BETA2] = {"resourceslices", "/apis/resource.k8s.io/v1beta2/resourceslices", "",
                             "/apis/resource.k8s.io/v1beta2/resourceslices?limit=1"},
    [KUBE_SLICES_V1BETA1] = {"resourceslices", "/apis/resource.k8s.io/v1beta1/resourceslices", "",
                             "/apis/resource.k8s.io/v1beta1/resourceslices?limit=1"},
};

const char *kube_resource_name(enum kube_resource resource)
{
    return kube_watched[resource].name;
}
