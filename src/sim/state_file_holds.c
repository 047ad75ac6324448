/* Pods of a document from their allocations, which become requests and records again. */
#include "sim/state_file_internal.h"

#include "base/order.h"

#include <stdlib.h>

static int by_device(const struct file_hold *a, const struct file_hold *b)
{
    return ORDER(a->gpu, b->gpu);
}

/* One pod's together, and in it one container's: init containers first, as records have them. */
static int by_pod(const void *x, const void *y)
{
    const struct file_hold *a = x, *b = y;
    int rc = str_cmp(a->pod.uid, b->pod.uid);

    if (rc == 0 && a->init != b->init) {
        rc = a->init ? -1 : 1;
    }
    rc = rc != 0 ? rc : str_cmp(a->container, b->container);
    rc = rc != 0 ? rc : (b->kind == GPU_REQUEST_WHOLE) - (a->kind == GPU_REQUEST_WHOLE); /* and then the rest */
    return rc != 0 ? rc : by_device(a, b);
}

static bool same_container(const struct file_hold *a, const struct file_hold *b)
{
    return str_eq(a->pod.uid, b->pod.uid) && a->init == b->init && str_eq(a->container, b->container);
}

/* What was asked for, which may be less than is charged. */
static int64_t asked_mem(const struct file_hold *h)
{
    return h->asked_mem_mib > 0 ? h->asked_mem_mib : h->mem_mib;
}

static int64_t asked_milli(const struct file_hold *h)
{
    return h->asked_milli > 0 ? h->asked_milli : h->asked_mem_mib > 0 ? 0 : h->milli;
}

static bool same_gpu_request(const struct file_hold *a, const struct file_hold *b)
{
    return a->kind == b->kind && a->phases == b->phases && a->pod.node == b->pod.node && a->gpu != b->gpu &&
           (!gpu_request_kind_has_milli(a->kind) || asked_milli(a) == asked_milli(b)) &&
           (!gpu_request_kind_has_mem(a->kind) || asked_mem(a) == asked_mem(b));
}

/* A container that wants two and a half GPUs: `b` is the half, `a` one of the whole ones, which stand first. */
static bool is_rest_of(const struct file_hold *a, const struct file_hold *b)
{
    return same_container(a, b) && a->kind == GPU_REQUEST_WHOLE && b->kind == GPU_REQUEST_MILLI &&
           a->phases == b->phases && a->pod.node == b->pod.node && a->gpu != b->gpu;
}

static struct gpu_request gpu_request_of(const struct file_hold *h, size_t count)
{
    struct gpu_request w = {.container = h->container,
                            .init = h->init,
                            .count = (uint16_t)count,
                            .kind = h->kind,
                            .phases = (uint64_t)h->phases};

    if (h->kind == GPU_REQUEST_WHOLE) {
        w.milli = DEVICE_MILLI;
    }
    if (gpu_request_kind_has_milli(h->kind)) {
        w.milli = (int32_t)asked_milli(h);
    }
    if (gpu_request_kind_has_mem(h->kind)) {
        w.mem_mib = asked_mem(h);
    }
    return w;
}

static struct assigned_device device_of(const struct file_reader *f, const struct file_hold *h)
{
    const struct device *d = &f->gpus[h->gpu].device;

    return (struct assigned_device){.uuid = d->uuid,
                                    .index = d->index,
                                    .milli = (int32_t)h->milli,
                                    .mem_mib = h->mem_mib,
                                    .profile = d->profile == DEVICE_IN_MIG_MODE ? 0 : d->profile,
                                    .exclusive = h->kind == GPU_REQUEST_WHOLE};
}

struct request {
    struct demand demand;
    struct assignment assignment;
    struct gpu_request *gpu_requests;
    struct assigned_container *containers;
    struct assigned_device *devices;
};

static bool is_granted(const struct file_hold *h)
{
    return h->record.n > 0;
}

static int check_holds(const struct file_hold *h, size_t n, struct err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        if (h[i].kind == GPU_REQUEST_KIND__MAX) {
            return state_file_bad_pod(
                &h->pod, "an allocation without kind: the document is of a version that did not say it", reterr);
        }
        if (h[i].pod.node != h->pod.node) {
            return state_file_bad_pod(&h->pod, "holds GPUs of two nodes", reterr);
        }
        if (is_granted(&h[i]) != is_granted(h)) { /* it is one record that grants all of them, or none */
            return state_file_bad_pod(
                &h->pod, "some of its allocations have a record and some have none: the document was edited", reterr);
        }
    }
    return 0;
}

/* Behind the last of the holds from h[0] on that one GPU request explains. What a record grants differs as it likes: it
 * says what each device is charged. */
static int end_of_request(const struct file_hold *h, size_t n, size_t *ret, struct err *reterr)
{
    size_t j = 1;

    while (j < n && same_container(h, &h[j]) && (is_granted(h) || !is_rest_of(&h[j - 1], &h[j]))) {
        if (!is_granted(h) && !same_gpu_request(h, &h[j])) {
            return state_file_bad_pod(&h->pod, "allocations of one container differ", reterr);
        }
        j++;
    }
    *ret = j;
    return 0;
}

/* The next GPU request, of h[0..n), and the container that it makes or goes on with. */
static void add_request(const struct file_reader *f, struct request *q, const struct file_hold *h, size_t n,
                        bool goes_on)
{
    struct gpu_request *w = &q->gpu_requests[q->demand.gpu_request_n++];
    struct assigned_container *containers = q->containers;

    *w = gpu_request_of(h, n);
    for (size_t i = 0; i < n; i++) {
        q->devices[i] = device_of(f, &h[i]);
    }
    if (h->kind == GPU_REQUEST_WHOLE) { /* an instance is held whole, by who asked for its profile */
        w->profile = q->devices[0].profile;
    }
    if (goes_on) {
        containers[q->assignment.container_n - 1].device_n += n;
    } else {
        containers[q->assignment.container_n++] =
            (struct assigned_container){.name = h->container, .init = h->init, .devices = q->devices, .device_n = n};
    }
    q->devices += n;
}

static struct request *new_request(struct file_reader *f, const struct file_hold *h, size_t n)
{
    struct request *q = ARENA_NEW(f->arena, struct request);
    struct gpu_request *gpu_requests = ARENA_ARRAY(f->arena, n, struct gpu_request);
    struct assigned_container *containers = ARENA_ARRAY(f->arena, n, struct assigned_container);
    struct assigned_device *devices = ARENA_ARRAY(f->arena, n, struct assigned_device);

    if (f->arena->overflowed) {
        return NULL;
    }
    *q = (struct request){.demand = {.dialect = state_file_dialect(&f->json, h->pod.dialect),
                                     .gpu_requests = gpu_requests,
                                     .source = h->editable ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES},
                          .assignment = {.id = h->pod.decision, .containers = containers, .qos = h->qos},
                          .gpu_requests = gpu_requests,
                          .containers = containers,
                          .devices = devices};
    return q;
}

/* The pod that holds h[0..n): all of one pod, sorted. */
static int pod_of_holds(struct file_reader *f, const struct file_hold *h, size_t n, struct file_pod *ret,
                        struct err *reterr)
{
    struct request *q = new_request(f, h, n);
    int rc;

    if (q == NULL) {
        return state_file_no_memory(reterr);
    }
    rc = check_holds(h, n, reterr);
    for (size_t i = 0, m = 0; i < n && rc == 0; i += m) {
        rc = end_of_request(&h[i], n - i, &m, reterr);
        if (rc == 0 && (q->demand.gpu_request_n == DEMAND_GPU_REQUESTS_MAX || m > DEVICES_PER_NODE_MAX)) {
            rc = state_file_bad_pod(&h->pod, "more than 64 containers or GPUs", reterr);
        }
        if (rc == 0) {
            add_request(f, q, &h[i], m, i > 0 && !is_granted(h) && is_rest_of(&h[i - 1], &h[i]));
        }
    }
    if (rc == 0) {
        *ret = h->pod;
        ret->demand = &q->demand;
        ret->assignment = &q->assignment;
        ret->record_trust = is_granted(h) ? RECORD_VERIFIED : RECORD_UNSIGNED;
    }
    return rc;
}

int state_file_pods_of_holds(struct file_reader *f, struct err *reterr)
{
    size_t alone_n = f->pod_n;

    if (f->hold_n > 0) {
        qsort(f->holds, f->hold_n, sizeof(*f->holds), by_pod);
    }
    for (size_t i = 0, j; i < f->hold_n; i = j) {
        struct file_pod pod;
        int rc;

        for (j = i; j < f->hold_n && str_eq(f->holds[i].pod.uid, f->holds[j].pod.uid); j++) {
        }
        if (state_file_find_pod(f, alone_n, f->holds[i].pod.uid) != NULL) {
            continue; /* known everywhere on its node */
        }
        rc = pod_of_holds(f, &f->holds[i], j - i, &pod, reterr);
        if (rc != 0) {
            return rc;
        }
        f->pods = state_file_grow(f->pods, &f->pod_n, &f->pod_cap, sizeof(*f->pods));
        f->pods[f->pod_n - 1] = pod;
    }
    return 0;
}
