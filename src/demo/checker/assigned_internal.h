/* demo/checker/assigned_internal.h - reading fgpu.io/assignment off a pod, apart from core's own reader on
 * purpose: the checker must not share a mistake with what it checks. */
#ifndef DEMO_CHECKER_ASSIGNED_INTERNAL_H
#define DEMO_CHECKER_ASSIGNED_INTERNAL_H

#include "base/compiler.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct assigned { /* one device of one container */
    char container[64];
    bool init;
    char uuid[96]; /* "": unknown */
    int32_t index;
    int64_t milli;
    int64_t mem_mib;
};

struct assigned_list {
    struct assigned *items;
    size_t n;
};

/* NULL, or a static sentence about what is wrong (nothing to release then). A pod without the
 * annotation gives an empty list. */
WARN_UNUSED const char *assigned_read(const cJSON *pod, struct assigned_list *ret);
void assigned_fini(struct assigned_list *l);

/* Does some container get less than its limits ask (fgpu.io/gpu-milli, gpu-memory-mib, gpu-count), or nothing for a
 * size, or a pod that asks by annotation nothing at all? The reason goes to `buf`. */
bool assigned_short(const cJSON *pod, const struct assigned_list *l, char *buf, size_t size);

#endif
