/* core/report/demand_histogram.h - what pods ask for, as /state shows it: a copy of the most frequent shapes of
 * a demand histogram.
 *
 * Bounded and without pointers, so that it is taken under a lock in a few microseconds and kept for
 * as long as somebody writes it out. Weights are those that readers of the demand histogram go by
 * (core/request/demand_histogram.h, settled), so a demand histogram can be made anew from a report as far as that goes:
 * of the shapes that it has, and whose models are not cut.
 */
#ifndef CORE_REPORT_DEMAND_HISTOGRAM_H
#define CORE_REPORT_DEMAND_HISTOGRAM_H

#include "core/request/demand_histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMAND_HISTOGRAM_REPORT_SHAPES_MAX 32
#define DEMAND_HISTOGRAM_REPORT_MODELS_BYTES 128

struct demand_histogram_report_shape {
    struct host_request host;
    uint16_t count; /* as in struct demand_histogram_shape, with the next four */
    bool plugin_managed;
    enum gpu_request_kind kind;
    int32_t milli;
    int64_t mem_mib;
    uint64_t weight;                                   /* DEMAND_HISTOGRAM_POD for one pod */
    char models[DEMAND_HISTOGRAM_REPORT_MODELS_BYTES]; /* as the annotation fgpu.io/gpu-model would say it:
                                             "A100*,!T4" */
    bool models_cut;                                   /* there are more than have room */
};

struct demand_histogram_report {
    uint64_t arrived_n, departed_n; /* demand_histogram_arrived_n(), demand_histogram_departed_n() */
    int churn;                      /* demand_histogram_churn() */
    uint64_t weight;                /* of all shapes */
    size_t shape_n;                 /* that have a weight; more than stand below perhaps */
    size_t top_n;
    struct demand_histogram_report_shape
        top[DEMAND_HISTOGRAM_REPORT_SHAPES_MAX]; /* most frequent first, then for more GPUs and larger parts */
};

void demand_histogram_report_take(const struct demand_histogram *m, struct demand_histogram_report *ret);

#endif
