/* core/support/oracle.h - feasibility decided by trying everything: slow and obviously right.
 *
 * It shares one thing with the code under test: gpu_request_charge(), which has its own table of expected
 * numbers. Rules it knows (design.md 3.2): a container's devices are distinct; containers may
 * share; per phase the sum of what runs then must be free; who wants a device alone has nobody else
 * on it, neither another pod nor another container of this pod in the same phase.
 */
#ifndef CORE_SUPPORT_ORACLE_H
#define CORE_SUPPORT_ORACLE_H

#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/request/demand.h"

#include <stddef.h>
#include <stdint.h>

#define ORACLE_DEVICES_MAX 8 /* it tries 2^n sets of them per GPU request */

/* NULL when the placement of the first `gpu_request_n` GPU requests is right in all respects, else what is
 * wrong. */
const char *oracle_objection(const struct device_state *devices, size_t device_n, const uint8_t *allowed_models,
                             const struct demand *d, size_t gpu_request_n, const struct placement *p);

/* Is there any placement? `ret` (may be NULL) becomes one of them. */
bool oracle_places(const struct device_state *devices, size_t device_n, const uint8_t *allowed_models,
                   const struct demand *d, struct placement *ret);

#endif
