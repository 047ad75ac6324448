/* From what stands in the document to ops. */
#include "sim/state_file_internal.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdlib.h>

int state_file_no_memory(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the document does not fit its memory");
}

int state_file_bad_pod(const struct file_pod *p, const char *why, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "pod %.*s/%.*s (%.*s): %s", STR_ARG(p->namespace_), STR_ARG(p->name),
                   STR_ARG(p->uid), why);
}

/* ---- pods ---- */

static int pod_by_uid(const void *a, const void *b)
{
    const struct file_pod *x = a, *y = b;

    return str_cmp(x->uid, y->uid);
}

static void sort_pods(struct file_reader *f)
{
    if (f->pod_n > 0) {
        qsort(f->pods, f->pod_n, sizeof(*f->pods), pod_by_uid);
    }
}

struct file_pod *state_file_find_pod(const struct file_reader *f, size_t n, struct str uid)
{
    const struct file_pod key = {.uid = uid};

    return n == 0 ? NULL : bsearch(&key, f->pods, n, sizeof(key), pod_by_uid);
}

static int gather_pods(struct file_reader *f, struct err *reterr)
{
    int rc;

    sort_pods(f);
    rc = state_file_pods_of_holds(f, reterr);
    sort_pods(f);
    for (size_t i = 1; rc == 0 && i < f->pod_n; i++) {
        if (str_eq(f->pods[i - 1].uid, f->pods[i].uid)) {
            rc = state_file_bad_pod(&f->pods[i], "is in the document twice", reterr);
        }
    }
    return rc;
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
        return state_file_no_memory(reterr);
    }
    if (f->raised_n > 0) {
        qsort(f->raised, f->raised_n, sizeof(*f->raised), raised_by_uid);
    }
    for (size_t i = 0, j; i < f->raised_n; i = j) {
        struct str uid = f->raised[i].uid;
        struct file_pod *p = state_file_find_pod(f, f->pod_n, uid);

        for (j = i; j < f->raised_n && str_eq(uid, f->raised[j].uid); j++) {
            const struct device *d = &f->gpus[f->raised[j].gpu].device;

            known[j] = (struct ledger_known_charge){d->uuid, d->index, f->raised[j].charge};
        }
        if (p == NULL) {
            return state_file_bad_pod(&(struct file_pod){.uid = uid}, "a raised charge of a pod that holds nothing",
                                      reterr);
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

/* Do the capacities follow from the over-commit factors of the node? */
static bool has_its_capacities(const struct file_gpu *gpu, const struct inventory *inv, const struct ledger_limits *l)
{
    int32_t factor = inv->overcommit_milli > 0 ? inv->overcommit_milli : l->overcommit_milli;
    int32_t mem_factor = inv->overcommit_mem_milli > 0 ? inv->overcommit_mem_milli : l->overcommit_mem_milli;
    int64_t mem_mib = gpu->device.mem_mib * mem_factor / 1000;

    return gpu->device.profile != 0 || gpu->device.slice || gpu->device.part_milli > 0 || /* these know no factors */
           (gpu->milli_cap == factor && gpu->mem_cap_mib == (mem_mib > INT32_MAX ? INT32_MAX : mem_mib));
}

static int read_limits(struct file_reader *f, const struct config_names *names, struct err *reterr)
{
    struct ledger_limits *l = &f->file->limits;
    int rc = read_configuration(f, names, reterr);

    if (rc != 0) {
        return rc;
    }
    *l = ledger_limits_of(&f->file->config->policy, (struct hash_key){0, 0});
    for (size_t i = 0; i < f->node_n; i++) {
        for (uint32_t g = 0; g < f->nodes[i].gpu_n; g++) {
            if (!has_its_capacities(&f->gpus[f->nodes[i].first_gpu + g], &f->nodes[i].inventory, l)) {
                return err_set(reterr, ERR_INVALID,
                               "nodes[%zu].gpus[%" PRIu32
                               "]: capacities do not follow from the over-commit factors of its node",
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
    *inv = n->inventory;
    inv->devices = devices;
    inv->device_n = k;
    if (inv->memory_only == MEMORY_ONLY__MAX) {
        inv->memory_only = b->f->file->config->policy.memory_only;
    }
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
                                       .host_group = n->host_group,
                                       .host_gpu_mem_mib = n->host_gpu_mem_mib,
                                       .note = n->note.n > 0 ? arena_cstr(b->f->arena, n->note) : NULL}});
}

static void put_pod(struct builder *b, const struct file_pod *p)
{
    put(b, (struct ledger_op){.kind = LEDGER_POD_OBSERVED,
                              .at_ms = p->since_ms,
                              .pod = {.uid = p->uid,
                                      .namespace_ = p->namespace_,
                                      .name = p->name,
                                      .node_name = p->node == FILE_NONE ? STR_NULL : b->f->nodes[p->node].name,
                                      .deleting = str_eq_cstr(p->state, "terminating"),
                                      .priority = p->priority,
                                      .demand = p->demand,
                                      .assignment = p->assignment,
                                      .record_trust = p->record_trust,
                                      .known = p->known,
                                      .known_n = p->known_n}});
}

static int put_ops(struct file_reader *f, struct err *reterr)
{
    struct builder b = {f, ARENA_ARRAY(f->arena, f->node_n * 2 + f->pod_n + 5, struct ledger_op), 0};

    if (b.ops == NULL) {
        return state_file_no_memory(reterr);
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
        return state_file_no_memory(reterr);
    }
    f->file->ops = b.ops;
    f->file->op_n = b.n;
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
