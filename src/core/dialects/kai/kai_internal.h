/* core/dialects/kai/kai_internal.h - annotations of Run:ai and KAI-Scheduler. Unlike fgpu's own they have no prefix. */
#ifndef CORE_DIALECTS_KAI_KAI_INTERNAL_H
#define CORE_DIALECTS_KAI_KAI_INTERNAL_H

#define KAI_KEY_FRACTION "gpu-fraction"
#define KAI_KEY_MEMORY "gpu-memory" /* MiB */
#define KAI_KEY_DEVICES "gpu-fraction-num-devices"
#define KAI_KEY_CONTAINER "gpu-fraction-container-name"

#endif
