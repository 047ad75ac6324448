/* core/dialects/dialect.h - the vocabularies in which pods ask for GPUs and nodes offer them.
 *
 * A dialect is a const struct of pure functions in one explicit table. `native` is fgpu's own, with
 * its resource names and units as settings (model/policy.h), which also serves nvidia.com/vgpu and
 * cnvrg.io/metagpu. `kai` is that of Run:ai and KAI-Scheduler. Further vocabularies are additions to the table.
 */
#ifndef CORE_DIALECTS_DIALECT_H
#define CORE_DIALECTS_DIALECT_H

#include "base/arena.h"
#include "core/request/demand.h"
#include "model/device.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/policy.h"

struct dialect {
    const char *name;
    bool steers; /* the devices it places on obey fgpu's choice */
    /* Does the pod speak this vocabulary at all? Cheap: keys only. */
    bool (*claims_pod)(const struct policy *p, const struct pod *pod);
    /* The demand; text borrowed from `pod`, arrays in `a`. False when the arena is full (nothing
     * else can fail: nonsense becomes a defect). */
    bool (*parse_request)(const struct policy *p, const struct pod *pod, struct arena *a,
                          struct demand *ret);
};

extern const struct dialect *const dialects[]; /* NULL-terminated */

/* Resource names and units are settings; design.md section 5 has the table of combinations.
 * Decisions where it leaves room: a resource of 0 asks for nothing, but a count of 0 beside another
 * wish is a defect, and so is a 0 in an annotation. fgpu.io/container without an annotated amount
 * beside a resource is DEMAND_TWICE. Constraints alone ask for nothing and are then not even read.
 * Whole GPUs of a plugin are counted by Kubernetes' rule for effective requests. */
extern const struct dialect dialect_native;

/* Run:ai and KAI-Scheduler (decision 0026), where the configuration says so: pod annotations gpu-fraction, a decimal number
 * above 0 and below 1, or gpu-memory in MiB; with gpu-fraction-num-devices of so many GPUs; for the first
 * container or that of gpu-fraction-container-name. fgpu's own constraints may stand beside them; its amounts, its
 * fgpu.io/container and resources may not. */
extern const struct dialect dialect_kai;

/* The demand of a pod in whichever vocabulary claims it; the empty demand when none does; a defect
 * when two vocabularies that cannot be joined do. What it asks of the machine (core/request/host.h) is in all
 * of them. False when the arena is full.
 * A pod that is not bound is also held to its spelling: a key under fgpu.io/ that nobody knows, and a memory wish
 * without a unit, are defects. A pod that is bound was let through by somebody, and its charge must not depend on
 * which version of fgpu reads its keys, so there they are overlooked. */
WARN_UNUSED bool dialect_demand(const struct policy *p, const struct pod *pod, struct arena *a,
                                struct demand *ret);

/* Does some vocabulary claim the pod, even if it asks for nothing? */
bool dialect_claims_pod(const struct policy *p, const struct pod *pod);

/* Hashes of the pod's labels for isolation (core/request/demand.h). False when the arena is full. */
WARN_UNUSED bool dialect_label_hashes(const struct pod *pod, struct arena *a, const uint64_t **ret,
                                      size_t *ret_n);

/* True for annotation keys that make up a request in any vocabulary, constraints included: those a pod's author
 * should not edit once the pod is bound. */
bool dialect_is_request_key(struct str key);

#endif
