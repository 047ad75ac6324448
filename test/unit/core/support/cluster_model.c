#include "core/support/cluster_model.h"

#include "base/bug.h"
#include "core/support/cluster_model_demand.h"

#include <string.h>

void cluster_model_init(struct cluster_model *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    rng_init(&w->rng, seed);
    arena_init(&w->arena, 64U << 20);
    w->tampers = cluster_model_chance(w, 40);
    w->loses = cluster_model_chance(w, 40);
    w->editable_percent = cluster_model_chance(w, 50) ? 40 : 0;
    for (unsigned i = 0; i < CLUSTER_MODEL_NODES; i++) {
        (void)cluster_model_change_node(w);
    }
}

void cluster_model_fini(struct cluster_model *w)
{
    BUG_ON(w->arena.overflowed);
    arena_fini(&w->arena);
}

unsigned cluster_model_below(struct cluster_model *w, unsigned n)
{
    return (unsigned)rng_below(&w->rng, n);
}

bool cluster_model_chance(struct cluster_model *w, unsigned percent)
{
    return cluster_model_below(w, 100) < percent;
}

const struct cluster_model_pod *cluster_model_pick(struct cluster_model *w,
                                                   bool (*wanted)(const struct cluster_model_pod *p))
{
    const struct cluster_model_pod *found = NULL;
    unsigned n = 0;

    for (unsigned i = 0; i < w->pod_n; i++) {
        if (w->pods[i] != NULL && (wanted == NULL || wanted(w->pods[i])) && cluster_model_below(w, ++n) == 0) {
            found = w->pods[i];
        }
    }
    return found;
}

static unsigned node_number(struct str name)
{
    return (unsigned)(name.p[name.n - 1] - '0');
}

const struct cluster_model_node *cluster_model_node_of(const struct cluster_model *w, struct str name)
{
    return w->nodes[node_number(name)];
}

/* ---- pods ---- */

static void push(struct cluster_model_stream *s, struct cluster_model_event e)
{
    BUG_ON(s->n == CLUSTER_MODEL_EVENTS_MAX);
    s->events[s->n++] = e;
}

/* A new version to be changed, then published. */
static struct cluster_model_pod *next_version(struct cluster_model *w, const struct cluster_model_pod *p)
{
    struct cluster_model_pod *copy = ARENA_NEW(&w->arena, struct cluster_model_pod);

    *copy = *p;
    return copy;
}

static bool publish(struct cluster_model *w, const struct cluster_model_pod *p)
{
    w->pods[p->number] = p;
    push(&w->pod_stream, (struct cluster_model_event){.pod = p});
    return true;
}

static bool remove_pod(struct cluster_model *w, const struct cluster_model_pod *p)
{
    w->pods[p->number] = NULL;
    push(&w->pod_stream, (struct cluster_model_event){.pod = p, .gone = true});
    return true;
}

static struct str node_name(struct cluster_model *w, unsigned number)
{
    return arena_printf(&w->arena, "n%u", number);
}

bool cluster_model_create_pod(struct cluster_model *w)
{
    struct cluster_model_pod *p = ARENA_NEW(&w->arena, struct cluster_model_pod);
    uint64_t *label = ARENA_NEW(&w->arena, uint64_t);

    if (w->pod_n == CLUSTER_MODEL_PODS_MAX) {
        return false;
    }
    p->number = w->pod_n++;
    p->uid = arena_printf(&w->arena, "uid-%u", p->number);
    p->name = arena_printf(&w->arena, "pod-%u", p->number);
    p->namespace_ = cluster_model_chance(w, 70) ? STR("default") : STR("other");
    p->editable = cluster_model_chance(w, w->editable_percent);
    p->demand = cluster_model_demand(w, p->editable ? DEMAND_FROM_ANNOTATIONS : DEMAND_FROM_RESOURCES);
    if (cluster_model_chance(w, 15)) { /* a pod without GPUs, of a daemon set or for kube-scheduler to place */
        p->demand = cluster_model_no_demand(w, cluster_model_host(w));
        p->node_name =
            cluster_model_chance(w, 50) ? node_name(w, cluster_model_below(w, CLUSTER_MODEL_NODES)) : STR_NULL;
    }
    *label = label_pair_hash(STR("app"), cluster_model_chance(w, 30) ? STR("loud") : STR("quiet"));
    p->labels = label;
    p->label_n = 1;
    return publish(w, p);
}

static bool is_editable(const struct cluster_model_pod *p)
{
    return p->editable;
}

static bool is_bound(const struct cluster_model_pod *p)
{
    return p->node_name.n > 0;
}

static bool is_pending(const struct cluster_model_pod *p)
{
    return p->node_name.n == 0;
}

static bool has_no_record(const struct cluster_model_pod *p)
{
    return is_bound(p) && p->record == NULL && p->demand->defect == DEMAND_OK && p->demand->gpu_request_n > 0;
}

bool cluster_model_edit_request(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, is_editable);
    struct cluster_model_pod *next;
    unsigned how = cluster_model_below(w, 10);

    if (p == NULL || (is_bound(p) && !w->tampers)) {
        return false;
    }
    next = next_version(w, p);
    next->scarred = p->scarred || is_bound(p);
    if (how == 0) {
        next->demand = cluster_model_no_demand(w, p->demand->host);
    } else if (how < 7 && p->demand->gpu_request_n > 0) {
        next->demand = cluster_model_demand_like(w, p->demand);
    } else {
        next->demand = cluster_model_demand(w, DEMAND_FROM_ANNOTATIONS);
    }
    return publish(w, next);
}

bool cluster_model_resize(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, is_bound);
    struct demand *d = ARENA_NEW(&w->arena, struct demand);
    struct cluster_model_pod *next;

    if (p == NULL) {
        return false;
    }
    *d = *p->demand;
    d->host = cluster_model_host(w);
    next = next_version(w, p);
    next->demand = d;
    return publish(w, next);
}

/* Names a device or a container that does not exist. */
static const struct assignment *bad_record(struct cluster_model *w, const struct demand *d)
{
    struct assignment *as = ARENA_NEW(&w->arena, struct assignment);
    struct assigned_container *c = ARENA_NEW(&w->arena, struct assigned_container);
    struct assigned_device *dev = ARENA_NEW(&w->arena, struct assigned_device);
    bool stranger = cluster_model_chance(w, 50) || d->gpu_request_n == 0;

    *dev = (struct assigned_device){.uuid = STR("GPU-forged"), .index = 99, .milli = 10, .mem_mib = 10};
    *c = (struct assigned_container){
        .name = stranger ? STR("nobody") : d->gpu_requests[0].container, .devices = dev, .device_n = 1};
    *as = (struct assignment){STR("forged"), c, 1};
    return as;
}

bool cluster_model_edit_record(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, is_bound);
    const struct cluster_model_node *n;
    struct cluster_model_pod *next;

    if (p == NULL || !w->tampers) {
        return false;
    }
    n = cluster_model_node_of(w, p->node_name);
    next = next_version(w, p);
    next->scarred = true;
    if (cluster_model_chance(w, 40)) {
        next->record = NULL;
    } else if (n == NULL || cluster_model_chance(w, 40)) {
        next->record = bad_record(w, p->demand);
    } else {
        next->record = cluster_model_record(w, n, p->demand);
    }
    return publish(w, next);
}

bool cluster_model_delete_pod(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, NULL);
    struct cluster_model_pod *next;

    if (p == NULL) {
        return false;
    }
    if (is_pending(p) || p->deleting) {
        return remove_pod(w, p);
    }
    next = next_version(w, p);
    next->deleting = true;
    return publish(w, next);
}

bool cluster_model_finish_pod(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, is_bound);

    return p != NULL && remove_pod(w, p);
}

bool cluster_model_foreign_bind(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, is_pending);
    struct str node = node_name(w, cluster_model_below(w, CLUSTER_MODEL_NODES));
    const struct cluster_model_node *n = cluster_model_node_of(w, node);
    struct cluster_model_pod *next;
    unsigned how = cluster_model_below(w, 4);

    if (p == NULL) {
        return false;
    }
    next = next_version(w, p);
    next->node_name = node;
    if (how == 0) {
        next->record = bad_record(w, p->demand);
        /* What a record makes of a request that is gone or spoilt is for tests of single rules. */
        next->scarred = (p->editable && p->demand->gpu_request_n == 0) || demand_is_empty(p->demand);
    } else if (how == 1 && n != NULL && p->demand->defect == DEMAND_OK) {
        next->record = cluster_model_record(w, n, p->demand);
    }
    return publish(w, next);
}

bool cluster_model_agent_reports(struct cluster_model *w)
{
    const struct cluster_model_pod *p = cluster_model_pick(w, has_no_record);
    const struct cluster_model_node *n = p == NULL ? NULL : cluster_model_node_of(w, p->node_name);
    struct cluster_model_pod *next;

    if (n == NULL) {
        return false;
    }
    next = next_version(w, p);
    next->record = cluster_model_record(w, n, p->demand);
    next->scarred = p->scarred || p->editable; /* it keeps what it was charged before */
    return next->record != NULL && publish(w, next);
}

bool cluster_model_bind(struct cluster_model *w, unsigned pod, struct str node, const struct assignment *record,
                        const struct demand *demand)
{
    const struct cluster_model_pod *p = w->pods[pod];
    struct cluster_model_pod *next;

    if (p == NULL || p->deleting || is_bound(p)) {
        return false;
    }
    next = next_version(w, p);
    next->node_name = node;
    next->record = record;
    next->scarred = p->scarred || !demand_equal(p->demand, demand);
    return publish(w, next);
}

bool cluster_model_devices_present(const struct cluster_model *w, const struct cluster_model_pod *p)
{
    const struct cluster_model_node *n = cluster_model_node_of(w, p->node_name);

    for (size_t i = 0; p->record != NULL && i < p->record->container_n; i++) {
        const struct assigned_container *c = &p->record->containers[i];

        for (size_t j = 0; j < c->device_n; j++) {
            bool present = false;

            for (size_t k = 0; n != NULL && k < n->inventory.device_n; k++) {
                present = present || cluster_model_same_device(&c->devices[j], &n->inventory.devices[k]);
            }
            if (!present) {
                return false;
            }
        }
    }
    return true;
}

/* ---- nodes ---- */

static struct str fresh_uuid(struct cluster_model *w, unsigned node)
{
    return arena_printf(&w->arena, "GPU-%u-%u", node, w->serial++);
}

static void random_device(struct cluster_model *w, unsigned node, int32_t index, struct device *ret)
{
    *ret = (struct device){
        .uuid = fresh_uuid(w, node),
        .index = index,
        .minor = index,
        .model = cluster_model_chance(w, 50) ? STR("A100") : STR("L4"),
        .mem_mib = cluster_model_chance(w, 5) ? 0 : 1024 * (cluster_model_chance(w, 50) ? 40 : 80),
        .slot_n = cluster_model_chance(w, 80) ? 16 : 2,
        .numa = -1,
        .healthy = cluster_model_chance(w, 95),
        .part_milli = cluster_model_chance(w, 10) ? 1 + (int32_t)cluster_model_below(w, 999) : 0,
    };
}

static void change_devices(struct cluster_model *w, unsigned node, struct device *d, size_t *n)
{
    unsigned at = cluster_model_below(w, (unsigned)*n), other = cluster_model_below(w, (unsigned)*n);
    struct str uuid = d[at].uuid;
    bool with_uuids = cluster_model_chance(w, 50);

    switch (cluster_model_below(w, w->loses ? 9 : 5)) {
    case 0:
        d[at].mem_mib = 1024 * (10 + cluster_model_below(w, 80));
        break;
    case 1:
        d[at].slot_n = 1 + (int32_t)cluster_model_below(w, 16);
        if (cluster_model_chance(
                w, 25)) { /* the rest of the GPU is somebody else's from now on, or it is all there again */
            d[at].part_milli = d[at].part_milli > 0 ? 0 : 500;
        }
        break;
    case 2:
        d[at].healthy = !d[at].healthy;
        break;
    case 3: /* the driver numbers them otherwise after a reboot */
        d[at].uuid = d[other].uuid;
        d[other].uuid = uuid;
        break;
    case 4:
        if (*n < CLUSTER_MODEL_DEVICES_MAX) {
            random_device(w, node, d[*n - 1].index + 1, &d[*n]);
            d[*n].uuid = d[0].uuid.n == 0 ? STR_NULL : d[*n].uuid; /* a source tells all UUIDs or none */
            (*n)++;
        }
        break;
    case 5:
        memmove(&d[at], &d[at + 1], (*n - at - 1) * sizeof(*d));
        *n -= *n > 1;
        break;
    case 6:
        random_device(w, node, d[at].index, &d[at]);
        d[at].uuid = uuid.n == 0 ? STR_NULL : d[at].uuid;
        break;
    default: /* another source of the inventory: devices are indexes, or have UUIDs again */
        for (size_t i = 0; i < *n; i++) {
            d[i].uuid = with_uuids ? fresh_uuid(w, node) : STR_NULL;
        }
        break;
    }
}

/* What the node was like before, or something new. */
static struct inventory random_inventory(struct cluster_model *w, unsigned node,
                                         const struct cluster_model_node *before)
{
    struct device *d = ARENA_ARRAY(&w->arena, CLUSTER_MODEL_DEVICES_MAX + 1, struct device);
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = d};
    size_t n;

    if (before != NULL) {
        n = before->inventory.device_n;
        memcpy(d, before->inventory.devices, n * sizeof(*d));
        inventory.plugin_managed_n = before->inventory.plugin_managed_n;
        inventory.memory_only = before->inventory.memory_only;
        if (cluster_model_chance(w, 80)) {
            change_devices(w, node, d, &n);
        } else if (cluster_model_chance(w, 50)) {
            inventory.memory_only = inventory.memory_only == MEMORY_ONLY_FREE ? MEMORY_ONLY_SHARE : MEMORY_ONLY_FREE;
        } else {
            inventory.plugin_managed_n = (int32_t)cluster_model_below(w, 4);
        }
    } else {
        n = 1 + cluster_model_below(w, CLUSTER_MODEL_DEVICES_MAX - 1);
        for (size_t i = 0; i < n; i++) {
            random_device(w, node, (int32_t)i, &d[i]);
        }
        inventory.plugin_managed_n = cluster_model_chance(w, 30) ? (int32_t)n : 0;
        inventory.memory_only = cluster_model_chance(w, 30) ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    }
    inventory.device_n = n;
    return inventory;
}

/* The last description of the node, also of one that is gone. */
static const struct cluster_model_node *last_description(const struct cluster_model *w, struct str name)
{
    for (size_t i = w->node_stream.n; i-- > 0;) {
        if (str_eq(w->node_stream.events[i].node->name, name)) {
            return w->node_stream.events[i].node;
        }
    }
    return NULL;
}

static struct host_capacity random_host(struct cluster_model *w)
{
    return cluster_model_chance(w, 90) ? (struct host_capacity){64000, 1000 * (int32_t)cluster_model_below(w, 256)}
                                       : (struct host_capacity){0};
}

bool cluster_model_change_node(struct cluster_model *w)
{
    unsigned number = cluster_model_below(w, CLUSTER_MODEL_NODES);
    struct str name = node_name(w, number);
    const struct cluster_model_node *now = w->nodes[number], *before = last_description(w, name);
    struct cluster_model_node *next;
    bool keeps;

    if (now != NULL && cluster_model_chance(w, 15)) {
        w->nodes[number] = NULL;
        push(&w->node_stream, (struct cluster_model_event){.node = now, .gone = true});
        return true;
    }
    keeps = now != NULL && cluster_model_chance(w, 50); /* so that its GPUs change alone */
    next = ARENA_NEW(&w->arena, struct cluster_model_node);
    *next = (struct cluster_model_node){
        .name = name,
        .uid = now != NULL ? now->uid : arena_printf(&w->arena, "node-%u", w->serial++),
        .schedulable = keeps ? now->schedulable : cluster_model_chance(w, 90),
        .host = keeps ? now->host : random_host(w),
        .changes = ++w->node_changes[number],
    };
    if (w->loses && now == NULL && cluster_model_chance(w, 30)) {
        before = NULL; /* another machine under the old name */
    }
    next->inventory = random_inventory(w, number, before);
    w->nodes[number] = next;
    push(&w->node_stream, (struct cluster_model_event){.node = next});
    return true;
}
