/* core/dialects/kai/kai.h - the dialect of Run:ai and KAI-Scheduler. */
#ifndef CORE_DIALECTS_KAI_KAI_H
#define CORE_DIALECTS_KAI_KAI_H

#include "core/dialects/dialect.h"

/* Run:ai and KAI-Scheduler (decision 0026), where the configuration says so: pod annotations gpu-fraction, a decimal
 * number above 0 and below 1, or gpu-memory in MiB; with gpu-fraction-num-devices of so many GPUs; for the first
 * container or that of gpu-fraction-container-name. fgpu's own constraints may stand beside them; its amounts, its
 * fgpu.io/container and resources may not. Devices are handed over in native's annotations, and its nodes are
 * described as everybody's: KAI-Scheduler has no words of its own for either. */
extern const struct dialect dialect_kai;

#endif
