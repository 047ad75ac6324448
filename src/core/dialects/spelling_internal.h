/* core/dialects/spelling_internal.h - slips of the pen that would otherwise ask for nothing, or for next to nothing.
 *
 * `fgpu.io/gpu-fractoin: "0.5"` asks for no GPU, `fgpu.io/gpu-modell` excludes none, and a bare 4096 of
 * fgpu.io/gpu-memory is 4096 bytes. The names under the domain of a dialect are that dialect's, so one that is not
 * known was meant to be one that is, or is of a version that knows more than this one: both times the pod must not run
 * by what is left of it.
 */
#ifndef CORE_DIALECTS_SPELLING_INTERNAL_H
#define CORE_DIALECTS_SPELLING_INTERNAL_H

#include "core/dialects/dialect.h"
#include "core/request/demand.h"
#include "model/pod.h"
#include "model/policy.h"

/* DEMAND_OK, or the first slip in the words of `d`: annotations, then resources of the containers (limits and
 * requests), then what `d` itself doubts (check_unbound). Known are, among annotations, those that a dialect reads and
 * those that it writes, because copies of pods carry these; among resources, what the policy names. Labels, and keys of
 * other domains, are nobody's slip. The domain is read without regard to case, as the API server does with annotations;
 * the name is not. */
enum demand_defect spelling_defect(const struct policy *p, const struct dialect *d, const struct pod *pod);

/* Is the key under the domain of `d`, whatever the case of its letters? */
bool spelling_is_in_domain(const struct dialect *d, struct str key);

#endif
