/* From what stands in the document to ops: allocations become requests and records again. */
#include "sim/state_file_internal.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- pods from their allocations ---- */

static int by_device(const struct file_hold *a, const struct file_hold *b)
{
    return a->gpu < b->gpu ? -1 : a->gpu > b->gpu;
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
    struct gpu_request w = {
        .container = h->container, .init = h->init, .count = (uint16_t)count, .kind = h->kind, .phases = h->phases};

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

static int bad_pod(const struct file_pod *p, const char *why, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "pod %.*s/%.*s (%.*s): %s", STR_ARG(p->namespace_), STR_ARG(p->name),
                   STR_ARG(p->uid), why);
}

struct request {
    struct demand demand;
    struct assignment assignment;
};

/* The pod that holds h[0..n): all of one pod, sorted. */
static int pod_of_holds(struct file_reader *f, const struct file_hold *h, size_t n, struct file_pod *ret,
                        struct err *reterr)
{
    struct request *q = ARENA_NEW(f->arena, struct request);
    struct gpu_request *gpu_requests = ARENA_ARRAY(f->arena, n, struct gpu_request);
    struct assigned_container *containers = ARENA_ARRAY(f->arena, n, struct assigned_container);
    struct assigned_device *devices = ARENA_ARRAY(f->arena, n, struct assigned_device);
    size_t gpu_request_n = 0, container_n = 0;

    if (f->arena->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the document does not fit its memory");
    }
    *ret = h[0].pod;
    for (size_t i = 0, j; i < n; i = j) {
        bool goes_on = i > 0 && !h[0].granted && is_rest_of(&h[i - 1], &h[i]);

        for (j = i; j < n && same_container(&h[i], &h[j]); j++) {
            if (h[j].kind == GPU_REQUEST_KIND__MAX) {
                return bad_pod(ret, "an allocation without kind: the document is of a version that did not say it",
                               reterr);
            }
            if (h[j].pod.node != ret->node) {
                return bad_pod(ret, "holds GPUs of two nodes", reterr);
            }
            devices[j] = device_of(f, &h[j]);
            if (h[0].granted) {
                continue; /* its record says what each of them is charged */
            }
            if (j > i && is_rest_of(&h[j - 1], &h[j])) {
                break;
            }
            if (j > i && !same_gpu_request(&h[i], &h[j])) {
                return bad_pod(ret, "allocations of one container differ", reterr);
            }
        }
        if (gpu_request_n == DEMAND_GPU_REQUESTS_MAX || j - i > DEVICES_PER_NODE_MAX) {
            return bad_pod(ret, "more than 64 containers or GPUs", reterr);
        }
        gpu_requests[gpu_request_n] = gpu_request_of(&h[i], j - i);
        if (h[i].kind == GPU_REQUEST_WHOLE) { /* an instance is held whole, by who asked for its profile */
            gpu_requests[gpu_request_n].profile = devices[i].profile;
        }
        gpu_request_n++;
        if (goes_on) {
            containers[container_n - 1].device_n += j - i;
            continue;
        }
        containers[container_n++] = (struct assigned_container){
            .name = h[i].container, .init = h[i].init, .devices = &devices[i], .device_n = j - i};
    }
    q->demand = (struct demand){.dialect = ret->dialect,
                                .gpu_request_n = gpu_request_n,
                                .gpu_requests = gpu_requests,
                                .source = h[0].editable ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES};
    q->assignment =
        (struct assignment){.id = ret->decision, .containers = containers, .container_n = container_n, .qos = h[0].qos};
    ret->demand = &q->demand;
    ret->assignment = &q->assignment;
    ret->record_trust = h[0].granted ? RECORD_VERIFIED : RECORD_UNSIGNED;
    return 0;
}

static int pod_by_uid(const void *a, const void *b)
{
    const struct file_pod *x = a, *y = b;

    return str_cmp(x->uid, y->uid);
}

static bool stands_alone(const struct file_reader *f, size_t alone_n, struct str uid)
{
    const struct file_pod key = {.uid = uid};

    return alone_n > 0 && bsearch(&key, f->pods, alone_n, sizeof(key), pod_by_uid) != NULL;
}

/* Allocations of pods that stand elsewhere with their request (on every GPU of their node) say
 * nothing new. */
static int gather_pods(struct file_reader *f, struct err *reterr)
{
    size_t alone_n = f->pod_n;

    if (alone_n > 0) {
        qsort(f->pods, alone_n, sizeof(*f->pods), pod_by_uid);
    }
    if (f->hold_n > 0) {
        qsort(f->holds, f->hold_n, sizeof(*f->holds), by_pod);
    }
    for (size_t i = 0, j; i < f->hold_n; i = j) {
        struct file_pod pod;
        int rc;

        for (j = i; j < f->hold_n && str_eq(f->holds[i].pod.uid, f->holds[j].pod.uid); j++) {
        }
        if (stands_alone(f, alone_n, f->holds[i].pod.uid)) {
            continue;
        }
        rc = pod_of_holds(f, &f->holds[i], j - i, &pod, reterr);
        if (rc != 0) {
            return rc;
        }
        f->pods = state_file_grow(f->pods, &f->pod_n, &f->pod_cap, sizeof(*f->pods));
        f->pods[f->pod_n - 1] = pod;
    }
    if (f->pod_n > 0) {
        qsort(f->pods, f->pod_n, sizeof(*f->pods), pod_by_uid);
    }
    for (size_t i = 1; i < f->pod_n; i++) {
        if (str_eq(f->pods[i - 1].uid, f->pods[i].uid)) {
            return bad_pod(&f->pods[i], "is in the document twice", reterr);
        }
    }
    return 0;
}

static int raised_by_uid(const void *a, const void *b)
{
    const struct file_raised *x = a, *y = b;

    return str_cmp(x->uid, y->uid);
}

static int attach_raised(struct file_reader *f, struct err *reterr)
{
    struct ledger_known_charge *known = ARENA_ARRAY(f->arena, f->raised_n, struct ledger_known_charge);

    if (known == NULL) {
        return err_set(reterr, ERR_LIMIT, "the document does not fit its memory");
    }
    if (f->raised_n > 0) {
        qsort(f->raised, f->raised_n, sizeof(*f->raised), raised_by_uid);
    }
    for (size_t i = 0, j; i < f->raised_n; i = j) {
        const struct file_pod key = {.uid = f->raised[i].uid};
        struct file_pod *p = f->pod_n == 0 ? NULL : bsearch(&key, f->pods, f->pod_n, sizeof(key), pod_by_uid);

        for (j = i; j < f->raised_n && str_eq(key.uid, f->raised[j].uid); j++) {
            known[j] = f->raised[j].known;
        }
        if (p == NULL) {
            return bad_pod(&key, "a raised charge of a pod that holds nothing", reterr);
        }
        p->known = &known[i];
        p->known_n = j - i;
    }
    return 0;
}

/* ---- limits ---- */

static int read_configuration(struct file_reader *f, const struct config_names *names, struct err *reterr)
{
    struct config *file = NULL;
    int rc = config_parse(STR("configuration"), f->configuration, names, &f->file->config, NULL, reterr);

    if (rc == 0 && f->file_configuration.n > 0) {
        rc = config_parse(STR("fileConfiguration"), f->file_configuration, names, &file, NULL, reterr);
    }
    if (rc == 0) {
        f->file->file_config = file != NULL ? file : config_ref(f->file->config);
    }
    return rc;
}

static int read_limits(struct file_reader *f, const struct config_names *names, struct err *reterr)
{
    struct ledger_limits *l = &f->file->limits;
    int rc = read_configuration(f, names, reterr);

    if (rc != 0) {
        return rc;
    }
    l->overcommit_milli = f->file->config->policy.overcommit_milli;
    l->overcommit_mem_milli = f->file->config->policy.overcommit_mem_milli;
    for (size_t i = 0; i < f->node_n; i++) {
        const struct file_node *n = &f->nodes[i];
        int32_t factor = n->overcommit_milli > 0 ? n->overcommit_milli : l->overcommit_milli;
        int32_t mem_factor = n->overcommit_mem_milli > 0 ? n->overcommit_mem_milli : l->overcommit_mem_milli;

        for (uint32_t g = 0; g < n->gpu_n; g++) {
            const struct file_gpu *gpu = &f->gpus[n->first_gpu + g];
            int64_t mem = gpu->device.mem_mib * mem_factor / 1000;

            if (gpu->device.profile != 0 || gpu->device.slice) {
                continue; /* what is cut knows no factors */
            }
            if (gpu->milli_cap != factor || gpu->mem_cap_mib != (mem > INT32_MAX ? INT32_MAX : mem)) {
                return err_set(reterr, ERR_INVALID,
                               "nodes[%zu].gpus[%" PRIu32
                               "]: capacities do not follow from the over-commit factors of its "
                               "node",
                               i, g);
            }
        }
    }
    return 0;
}

/* ---- ops ---- */

struct builder {
    struct file_reader *f;
    struct ledger_op *ops;
    size_t n;
};

static void put(struct builder *b, struct ledger_op op)
{
    b->ops[b->n++] = op;
}

/* `lost`: with those that the node does not list any more. They come in where their index is; a
 * second fact without them makes them lost. */
static const struct inventory *inventory_of(struct builder *b, const struct file_node *n, bool lost)
{
    struct inventory *inv = ARENA_NEW(b->f->arena, struct inventory);
    struct device *devices = ARENA_ARRAY(b->f->arena, n->gpu_n, struct device);
    size_t k = 0;

    if (inv == NULL || devices == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < n->gpu_n; i++) {
        if (lost || !b->f->gpus[n->first_gpu + i].lost) {
            devices[k++] = b->f->gpus[n->first_gpu + i].device;
        }
    }
    *inv = (struct inventory){.source = n->source,
                              .devices = devices,
                              .device_n = k,
                              .plugin_managed_n = n->plugin_managed_n,
                              .plugin_managed_per_gpu = n->plugin_managed_per_gpu,
                              .plugin_managed_one = n->plugin_managed_one,
                              .overcommit_milli = n->overcommit_milli,
                              .overcommit_mem_milli = n->overcommit_mem_milli,
                              .memory_only = n->memory_only == MEMORY_ONLY__MAX ? b->f->file->config->policy.memory_only
                                                                                : n->memory_only,
                              .qos = n->qos,
                              .lending = n->lending,
                              .mig_changing = n->mig_changing,
                              .mig_single = n->mig_single,
                              .elsewhere = n->elsewhere,
                              .unmeasured = n->unmeasured};
    return inv;
}

static bool has_lost(const struct builder *b, const struct file_node *n)
{
    bool lost = false;

    for (uint32_t i = 0; i < n->gpu_n; i++) {
        lost = lost || b->f->gpus[n->first_gpu + i].lost;
    }
    return lost;
}

/* Pods that stand with their request take it themselves: their node keeps what the others take. */
static void share_hosts(struct file_reader *f)
{
    for (size_t i = 0; i < f->pod_n; i++) {
        const struct file_pod *p = &f->pods[i];
        struct host_request *taken;

        if (p->node != FILE_NONE) {
            taken = &f->nodes[p->node].host_taken;
            taken->cpu_milli -=
                p->demand->host.cpu_milli < taken->cpu_milli ? p->demand->host.cpu_milli : taken->cpu_milli;
            taken->mem_mib -= p->demand->host.mem_mib < taken->mem_mib ? p->demand->host.mem_mib : taken->mem_mib;
        }
    }
}

static void put_node(struct builder *b, const struct file_node *n, bool lost)
{
    put(b, (struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                              .node = {.name = n->name,
                                       .uid = n->uid,
                                       .schedulable = n->schedulable,
                                       .closed = n->closed,
                                       .inventory = inventory_of(b, n, lost),
                                       .host = n->host,
                                       .host_taken = n->host_taken,
                                       .note = n->note}});
}

static void put_pod(struct builder *b, const struct file_pod *p)
{
    bool pending = p->node == FILE_NONE;

    put(b, (struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                              .at_ms = p->since_ms,
                              .pod = {.uid = p->uid,
                                      .namespace_ = p->namespace_,
                                      .name = p->name,
                                      .node_name = pending ? STR_NULL : b->f->nodes[p->node].name,
                                      .deleting = p->deleting,
                                      .priority = p->priority,
                                      .demand = p->demand,
                                      .assignment = p->assignment,
                                      .record_trust = p->record_trust,
                                      .known = p->known,
                                      .known_n = p->known_n}});
    b->f->file->pending_n += pending;
    b->f->file->pod_n += !pending;
}

static int put_ops(struct file_reader *f, struct err *reterr)
{
    struct builder b = {f, ARENA_ARRAY(f->arena, f->node_n * 2 + f->pod_n + 5, struct ledger_op), 0};

    if (b.ops == NULL) {
        return err_set(reterr, ERR_LIMIT, "the document does not fit its memory");
    }
    put(&b, (struct ledger_op){.kind = LEDGER_TENANTS,
                               .tenants = {f->file->config->policy.tenants, f->file->config->policy.tenant_n}});
    put(&b, (struct ledger_op){.kind = LEDGER_NODES_BEGIN});
    put(&b, (struct ledger_op){.kind = LEDGER_PODS_BEGIN});
    for (size_t i = 0; i < f->node_n; i++) {
        put_node(&b, &f->nodes[i], true);
    }
    for (size_t i = 0; i < f->pod_n; i++) {
        put_pod(&b, &f->pods[i]);
    }
    for (size_t i = 0; i < f->node_n; i++) {
        if (!f->nodes[i].described) {
            put(&b, (struct ledger_op){.kind = LEDGER_NODE_GONE, .name = f->nodes[i].name});
        } else if (has_lost(&b, &f->nodes[i])) {
            put_node(&b, &f->nodes[i], false);
        }
    }
    put(&b, (struct ledger_op){.kind = LEDGER_NODES_END});
    put(&b, (struct ledger_op){.kind = LEDGER_PODS_END});
    if (f->arena->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the document does not fit its memory");
    }
    f->file->ops = b.ops;
    f->file->op_n = b.n;
    f->file->node_n = f->node_n;
    f->file->gpu_n = f->gpu_n;
    return 0;
}

int state_file_build(struct file_reader *f, const struct config_names *names, struct err *reterr)
{
    int rc = read_limits(f, names, reterr);

    rc = rc != 0 ? rc : gather_pods(f, reterr);
    rc = rc != 0 ? rc : attach_raised(f, reterr);
    if (rc != 0) {
        return rc;
    }
    share_hosts(f);
    return put_ops(f, reterr);
}
