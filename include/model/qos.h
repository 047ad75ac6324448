/* model/qos.h - quality of service: how the containers on one GPU divide its compute.
 *
 *                 charged                              may use (percentage for CUDA MPS)
 *   fixed-share   its milli                            its milli, always
 *   best-effort   its milli                            all that is idle
 *   equal-share   its milli, at least the even part    all that is idle
 *
 * The even part of a GPU is 1000 milli divided by the number of containers that may share it, so
 * that as many as may come have an even part each. Where the node forbids to lend idle compute,
 * nobody may use more than it is charged; then the percentages on one GPU add up to at most 100,
 * but for roundings up to 1. Memory is never lent.
 *
 * A GPU without MPS slices time among those who have work: percentages mean nothing to it.
 *
 * The names are those of the schedulers of NVIDIA's vGPU software, with this difference: there an
 * equal share is one of those that run at the moment. The percentage of an MPS client is read when
 * it starts and stays, so whoever comes later changes nothing for those who run; what is left for
 * it is what it is charged.
 *
 * Which one holds. The annotation fgpu.io/qos of the pod, else what the configuration says of the
 * node (devices.qos). It is decided when devices are reserved, recorded, and stays for the life of
 * the pod, whatever becomes of annotation and configuration; only a pod that is seen to ask for
 * equal-share is charged the even part from then on, because a charge is the largest ever asked
 * for. A pod bound past fgpu has what it asks for, else fixed-share. Whether idle compute is lent
 * is the configuration's affair alone.
 */
#ifndef MODEL_QOS_H
#define MODEL_QOS_H

#include "base/str.h"
#include "model/device.h"

#include <stdbool.h>
#include <stdint.h>

const char *qos_name(enum qos q); /* as in annotations, records and the configuration */
/* False: no such name; then nothing is written. */
bool qos_parse(struct str text, enum qos *ret);

/* Of a GPU with that many slots; 0: it has none. */
static inline int32_t qos_even_milli(int32_t slot_n)
{
    return slot_n > 0 ? DEVICE_MILLI / slot_n : 0;
}

/* May a container use more than it is charged? */
static inline bool qos_lifts_cap(enum qos q, enum lending l)
{
    return q != QOS_FIXED_SHARE && l == LEND_ALLOW;
}

#endif
