/* core/report/mix.h - what pods ask for, as /state shows it: a copy of the most frequent shapes of
 * a mix.
 *
 * Bounded and without pointers, so that it is taken under a lock in a few microseconds and kept for
 * as long as somebody writes it out. Weights are those that readers of the mix go by (core/request/mix.h,
 * settled), so a mix can be made anew from a report as far as that goes: of the shapes that it has,
 * and whose models are not cut.
 */
#ifndef CORE_REPORT_MIX_H
#define CORE_REPORT_MIX_H

#include "core/request/mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIX_REPORT_SHAPES_MAX 32
#define MIX_REPORT_MODELS_BYTES 128

struct mix_report_shape {
    struct host_request host;
    uint16_t count; /* as in struct mix_shape, with the next four */
    bool plugin_managed;
    enum gpu_request_kind kind;
    int32_t milli;
    int64_t mem_mib;
    uint64_t weight;                      /* MIX_POD for one pod */
    char models[MIX_REPORT_MODELS_BYTES]; /* as the annotation fgpu.io/gpu-model would say it:
                                             "A100*,!T4" */
    bool models_cut;                      /* there are more than have room */
};

struct mix_report {
    uint64_t arrived_n, departed_n; /* mix_arrived_n(), mix_departed_n() */
    int churn;                      /* mix_churn() */
    uint64_t weight;                /* of all shapes */
    size_t shape_n;                 /* that have a weight; more than stand below perhaps */
    size_t top_n;
    struct mix_report_shape
        top[MIX_REPORT_SHAPES_MAX]; /* most frequent first, then for more GPUs and larger parts */
};

void mix_report_take(const struct mix *m, struct mix_report *ret);

#endif
