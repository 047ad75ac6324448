/* core/request/demand_histogram.h - what pods ask for, counted: the demand that strategies which look ahead expect
 * to go on.
 *
 * Learned online by the ledger: a pod counts once, when it is first observed asking for GPUs, bound
 * or not (after a restart the running pods teach the demand histogram anew), or, asking for none, when it is
 * first seen bound to a node. A departure is counted when a pod that held something ends. Given
 * histograms (fgpu sim --mix given) have the same form.
 *
 * A pure fold of those events, so replicas that saw the same events have the same histogram.
 *
 * Pods count by shape: what decides where such a pod can run and what it leaves. Each arrival adds
 * DEMAND_HISTOGRAM_POD to its shape; whenever the sum reaches that of DEMAND_HISTOGRAM_PODS_MAX pods, all weights are
 * halved, so that the demand histogram follows a cluster whose users change. Shapes are bounded: when there is no place
 * for another one, the rarer half of them is forgotten, those for several GPUs last, because a
 * shape that is rare and hard to place is the one to know of.
 *
 * What the demand histogram says changes in steps, because whoever computes from it has much to compute: the counts
 * that readers go by are looked at after every 5 % more pods (at least DEMAND_HISTOGRAM_SETTLE_MIN, more often at the
 * very beginning), and settled when 1/DEMAND_HISTOGRAM_MOVED of the pods are others than before, when a shape for
 * several GPUs is new, or when the pods are DEMAND_HISTOGRAM_GROWN times as many: then the demand histogram is the
 * same, but much better known.
 */
#ifndef CORE_REQUEST_DEMAND_HISTOGRAM_H
#define CORE_REQUEST_DEMAND_HISTOGRAM_H

#include "core/request/demand.h"

#include <stddef.h>
#include <stdint.h>

#define DEMAND_HISTOGRAM_SHAPES_MAX 1024
#define DEMAND_HISTOGRAM_POD 1024
#define DEMAND_HISTOGRAM_PODS_MAX 32768
#define DEMAND_HISTOGRAM_SETTLE_MIN 32
#define DEMAND_HISTOGRAM_MOVED 32
#define DEMAND_HISTOGRAM_GROWN 4

/* Pods of one kind. A pod whose containers ask for GPUs one by one is described as if it asked at
 * once for as few devices as their sum needs: an approximation, which concerns only what is
 * expected, never what is decided. */
struct demand_histogram_shape {
    struct host_request host;
    uint16_t count;             /* devices; 0: none */
    bool plugin_managed;        /* whole GPUs of a plugin */
    enum gpu_request_kind kind; /* how milli and mem_mib are meant (core/request/demand.h) */
    int32_t milli;              /* per device */
    int64_t mem_mib;            /* per device */
    size_t model_n;
    const struct device_pattern *models; /* owned by the demand histogram */
    uint64_t weight;                     /* settled; 0: too new to count */
};

struct demand_histogram;

struct demand_histogram *demand_histogram_new(void);
void demand_histogram_free(struct demand_histogram *m); /* NULL is fine */

/* A pod with this demand has come; defective ones do not count. The demand is copied. */
void demand_histogram_arrived(struct demand_histogram *m, const struct demand *d);
/* A pod that held something has ended. */
void demand_histogram_departed(struct demand_histogram *m, const struct demand *d);

/* Settles what has been counted so far: after a demand histogram was given as a whole. */
void demand_histogram_settle(struct demand_histogram *m);
/* Counts the settlements; equal versions of one histogram mean equal shapes and weights. 0: nothing is
 * known. */
uint64_t demand_histogram_version(const struct demand_histogram *m);

/* In an order that is the same for the same events. Valid until the next event. */
size_t demand_histogram_shape_n(const struct demand_histogram *m);
const struct demand_histogram_shape *demand_histogram_shape(const struct demand_histogram *m, size_t i);

/* Since the beginning. */
uint64_t demand_histogram_arrived_n(const struct demand_histogram *m);
uint64_t demand_histogram_departed_n(const struct demand_histogram *m);
/* Twice the share of departures among the recent events, at most 1: 0 while a cluster fills up, 1
 * in a steady state. In sixteenths, 0..16. */
int demand_histogram_churn(const struct demand_histogram *m);

#endif
