/* core/fit/feasibility.h - can this node take this demand, and on which devices?
 *
 * One procedure for every strategy: backtracking over containers and devices. Devices that are equal in every number
 * are interchangeable and tried once, which keeps the search small; beyond FEASIBILITY_STEPS_MAX it gives up with
 * VERDICT_SEARCH_LIMIT (never a wrong "fits"). Up to that bound the answer is exact: it equals that of the oracle that
 * tries everything (test/unit/core/support/oracle.c).
 *
 * The strategy's device order decides which placement is found first; it never decides whether there is one.
 *
 * Pure functions of their arguments: nothing is kept, nothing is allocated, any thread may call. Up to 60 KiB of stack.
 */
#ifndef CORE_FIT_FEASIBILITY_H
#define CORE_FIT_FEASIBILITY_H

#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/fit/strategy.h"
#include "core/fit/verdict.h"
#include "core/request/demand.h"

/* A step is one device judged, or one set of devices tried. */
#define FEASIBILITY_STEPS_MAX 20000

/* What speaks against the node as a whole, whatever its devices; VERDICT_FITS when nothing does. */
enum verdict feasibility_of_node(const struct node_state *n, const struct demand *d);

/* `allowed_models`: a byte per model_id of the devices, not 0 where the model is allowed, or NULL when the demand has
 * no model constraint (models_allowed() in core/fit/cluster_view.h). `ret` is written only on VERDICT_FITS, and only as
 * many GPU requests as the demand has; whole GPUs of a plugin have none, because kubelet picks them. Any other verdict
 * names the need that is unmet. The demand must have no defect. */
enum verdict feasibility_place(const struct node_state *n, const struct device_state *devices,
                               const uint8_t *allowed_models, const struct demand *d,
                               const struct strategy *device_strategy, struct placement *ret);

/* What `p` takes of the device with this ordinal: the peak over the phases, each dimension by itself. */
struct charge placement_charge(const struct demand *d, const struct placement *p, const struct device_state *devices,
                               size_t ordinal);

/* What a pod takes of a device if nobody knows which of its containers use it: all of them (the pessimistic
 * charge of pods that bypassed fgpu). A defective demand takes the whole device. */
struct charge demand_pessimistic_charge(const struct demand *d, const struct device_state *device);

#endif
