/* core/support/pod_notation.h - pods written in a small notation, demands rendered back to text, so
 * that tests of vocabularies are tables of two strings.
 *
 * Pod: parts separated by ';', each "[init|sidecar|app] NAME: resource=amount ..." or
 * "@annotation=value". A resource or annotation without '/' gets "fgpu.io/" in front, and one that begins with it loses
 * it ("/gpu-fraction");
 * "~resource=amount" is a request without a limit; cpu and memory are Kubernetes' own. "pod: ..." is what the pod as
 * a whole asks for, "overhead: resource=amount ..." what its runtime takes. Demand: "none", "defect NAME", or GPU
 * requests "NAME COUNTxKIND(milli,mem)@phases" with the phases in hex, and "mig PROFILE" behind those for MIG
 * instances; behind all that "annotated" for requests in annotations, and the vocabulary where it is not native.
 */
#ifndef CORE_SUPPORT_POD_NOTATION_H
#define CORE_SUPPORT_POD_NOTATION_H

#include "base/strbuf.h"
#include "core/dialects/dialect.h"

#define MADE_CONTAINERS_MAX 80
#define MADE_RESOURCES_MAX 6

struct made_container {
    struct kv limits[MADE_RESOURCES_MAX];
    struct kv requests[MADE_RESOURCES_MAX];
};

struct made_pod {
    struct pod pod;
    struct arena arena;
    struct container init[MADE_CONTAINERS_MAX], app[MADE_CONTAINERS_MAX];
    struct made_container init_lists[MADE_CONTAINERS_MAX], app_lists[MADE_CONTAINERS_MAX];
    struct kv annotations[8];
    struct made_container whole, overhead;
};

/* The notation is borrowed for the life of the pod. A malformed one fails the test. */
struct made_pod *made_pod_new(const char *notation);
void made_pod_free(struct made_pod *m);

struct demand_row {
    const char *name, *pod, *want;
};

/* Each pod's demand must read as wanted. */
void check_demands(const struct policy *p, const struct demand_row *rows, size_t n);

#endif
