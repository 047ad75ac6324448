#include "node/fence.h"

#include "base/bug.h"
#include "fence_words.h"

#include <stdlib.h>
#include <string.h>

/* One block: this, its devices, its text. */
struct held {
    struct str id, sandbox_id, pod_uid, namespace_, pod, name;
    struct gpu_nodes nodes;
    size_t device_n;
    struct assigned_device devices[];
};

struct fence {
    struct held **held;
    size_t n, cap;
};

struct fence *fence_new(void)
{
    return xcalloc(1, sizeof(struct fence));
}

void fence_free(struct fence *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        free(f->held[i]);
    }
    free(f->held);
    free(f);
}

/* ---- the table ---- */

static struct held *held_of(const struct fence_container *c)
{
    size_t bytes = c->id.n + c->sandbox_id.n + c->pod_uid.n + c->namespace_.n + c->pod.n + c->name.n;
    struct held *h;
    char *text;

    for (size_t i = 0; i < c->device_n; i++) {
        bytes += c->devices[i].uuid.n;
    }
    h = xmalloc(sizeof(*h) + c->device_n * sizeof(h->devices[0]) + bytes);
    text = (char *)&h->devices[c->device_n];
    h->id = str_put(&text, c->id);
    h->sandbox_id = str_put(&text, c->sandbox_id);
    h->pod_uid = str_put(&text, c->pod_uid);
    h->namespace_ = str_put(&text, c->namespace_);
    h->pod = str_put(&text, c->pod);
    h->name = str_put(&text, c->name);
    h->nodes = c->nodes;
    h->device_n = c->device_n;
    for (size_t i = 0; i < c->device_n; i++) {
        h->devices[i] = c->devices[i];
        h->devices[i].uuid = str_put(&text, c->devices[i].uuid);
    }
    return h;
}

/* The order says nothing: the last one takes the place. */
static void remove_at(struct fence *f, size_t i)
{
    free(f->held[i]);
    f->held[i] = f->held[--f->n];
}

void fence_drop(struct fence *f, struct str id)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->held[i]->id, id)) {
            remove_at(f, i);
            return;
        }
    }
}

void fence_drop_sandbox(struct fence *f, struct str sandbox_id)
{
    for (size_t i = f->n; i-- > 0;) {
        if (str_eq(f->held[i]->sandbox_id, sandbox_id)) {
            remove_at(f, i);
        }
    }
}

static void push(struct fence *f, struct held *h)
{
    if (f->n == f->cap) {
        f->cap = f->cap == 0 ? 16 : 2 * f->cap;
        f->held = xreallocarray(f->held, f->cap, sizeof(struct held *));
    }
    f->held[f->n++] = h;
}

void fence_add(struct fence *f, const struct fence_container *c)
{
    struct held *h = held_of(c); /* before anything is freed that it may be borrowed from */

    fence_drop(f, h->id);
    push(f, h);
}

bool fence_keep(struct fence *f, struct fence *before, struct str id)
{
    for (size_t i = 0; i < before->n; i++) {
        struct held *h = before->held[i];

        if (str_eq(h->id, id)) {
            before->held[i] = before->held[--before->n];
            push(f, h);
            return true;
        }
    }
    return false;
}

static struct fence_container fence_container_of(const struct held *h)
{
    return (struct fence_container){.id = h->id,
                                    .sandbox_id = h->sandbox_id,
                                    .pod_uid = h->pod_uid,
                                    .namespace_ = h->namespace_,
                                    .pod = h->pod,
                                    .name = h->name,
                                    .devices = h->devices,
                                    .device_n = h->device_n,
                                    .nodes = h->nodes};
}

struct fence_container fence_at(const struct fence *f, size_t i)
{
    return fence_container_of(f->held[i]);
}

bool fence_find(const struct fence *f, struct str id, struct fence_container *ret)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->held[i]->id, id)) {
            *ret = fence_at(f, i);
            return true;
        }
    }
    return false;
}

bool fence_has(const struct fence *f, struct str id)
{
    struct fence_container there;

    return fence_find(f, id, &there);
}

size_t fence_container_n(const struct fence *f)
{
    return f->n;
}

/* ---- what is held ---- */

/* A container of a pod, whichever instance of it. */
static bool same_container(const struct held *h, struct str pod_uid, struct str name)
{
    return str_eq(h->pod_uid, pod_uid) && str_eq(h->name, name);
}

static void use_max(struct fence_use *u, const struct fence_use *v)
{
    u->milli = v->milli > u->milli ? v->milli : u->milli;
    u->mem_mib = v->mem_mib > u->mem_mib ? v->mem_mib : u->mem_mib;
    u->sharers = v->sharers > u->sharers ? v->sharers : u->sharers;
    u->alone = u->alone || v->alone;
    u->closed = u->closed || v->closed;
}

/* No overflow: amounts of records are bounded (32 bits), and so are the containers of a node. */
static void use_add(struct fence_use *u, const struct fence_use *v)
{
    u->milli += v->milli;
    u->mem_mib += v->mem_mib;
    u->sharers += v->sharers;
    u->alone = u->alone || v->alone;
    u->closed = u->closed || v->closed;
}

/* What this many devices of one container take of `device`. A record names a device once, so one of them or none does;
 * if not, they add up. */
static struct fence_use use_of_list(const struct assigned_device *devices, size_t n, const struct device *device)
{
    struct fence_use sum = {0};

    for (size_t i = 0; i < n; i++) {
        if (node_facts_means(&devices[i], device)) {
            sum.milli += devices[i].milli;
            sum.mem_mib += devices[i].mem_mib;
            sum.sharers = 1;
            sum.alone = sum.alone || devices[i].exclusive || devices[i].profile != 0;
        }
    }
    return sum;
}

/* Can it open the device by a node that none of its devices which are there explains? */
static bool opens_unexplained(const struct held *h, const struct node_facts *node, const struct device *device)
{
    if (!gpu_nodes_has(&h->nodes, device->minor)) {
        return false;
    }
    for (size_t i = 0; i < h->device_n; i++) {
        const struct device *d = node_facts_device(node, &h->devices[i]);

        if (d != NULL && d->minor == device->minor) {
            return false;
        }
    }
    return true;
}

static struct fence_use use_of_held(const struct held *h, const struct node_facts *node, const struct device *device)
{
    if (opens_unexplained(h, node, device)) {
        return (struct fence_use){.closed = true};
    }
    return use_of_list(h->devices, h->device_n, device);
}

/* Of all instances of this container from the i-th on, the most. */
static struct fence_use use_of_container(const struct fence *f, const struct node_facts *node, size_t from,
                                         struct str pod_uid, struct str name, const struct device *device)
{
    struct fence_use most = {0};

    for (size_t i = from; i < f->n; i++) {
        if (same_container(f->held[i], pod_uid, name)) {
            const struct fence_use u = use_of_held(f->held[i], node, device);

            use_max(&most, &u);
        }
    }
    return most;
}

static bool counted_before(const struct fence *f, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (same_container(f->held[k], f->held[i]->pod_uid, f->held[i]->name)) {
            return true;
        }
    }
    return false;
}

/* Of all containers but one (NULL: of all). *ret_holder becomes one of those who hold it, if anybody does; who closes
 * it comes first. */
static struct fence_use use_of_others(const struct fence *f, const struct node_facts *node,
                                      const struct fence_container *but, const struct device *device,
                                      const struct held **ret_holder)
{
    struct fence_use sum = {0};

    for (size_t i = 0; i < f->n; i++) {
        const struct held *h = f->held[i];
        struct fence_use u;

        if ((but != NULL && same_container(h, but->pod_uid, but->name)) || counted_before(f, i)) {
            continue;
        }
        u = use_of_container(f, node, i, h->pod_uid, h->name, device);
        if (u.sharers == 0 && !u.closed) {
            continue;
        }
        if (u.closed || !sum.closed) {
            *ret_holder = h;
        }
        use_add(&sum, &u);
    }
    return sum;
}

struct fence_use fence_use_of(const struct fence *f, const struct node_facts *node, const struct device *device)
{
    const struct held *holder;

    return use_of_others(f, node, NULL, device, &holder);
}

size_t fence_pods_on(const struct fence *f, const struct device *device, struct fence_pod *ret, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n && n < max; i++) {
        const struct held *h = f->held[i];
        bool is_new = use_of_list(h->devices, h->device_n, device).sharers > 0;

        for (size_t k = 0; is_new && k < n; k++) {
            is_new = !str_eq(ret[k].uid, h->pod_uid);
        }
        if (is_new) {
            ret[n++] = (struct fence_pod){.uid = h->pod_uid, .namespace_ = h->namespace_, .name = h->pod};
        }
    }
    return n;
}

/* ---- room ---- */

static struct fence_capacity capacity_of(const struct node_facts *node, const struct device *d)
{
    struct fence_capacity c = {DEVICE_MILLI, d->mem_mib, d->slot_n};

    if (d->profile == 0) {
        c.milli = c.milli * node->overcommit_milli / 1000;
        c.mem_mib = c.mem_mib * node->overcommit_mem_milli / 1000;
    }
    return c;
}

static bool is_within(const struct fence_use *u, const struct fence_capacity *c)
{
    if (u->closed) {
        return u->sharers == 0;
    }
    return u->alone ? u->sharers <= 1 : u->milli <= c->milli && u->mem_mib <= c->mem_mib && u->sharers <= c->sharers;
}

bool fence_is_over(const struct fence *f, const struct node_facts *node, const struct device *device)
{
    const struct fence_use u = fence_use_of(f, node, device);
    const struct fence_capacity c = capacity_of(node, device);

    return !is_within(&u, &c);
}

/* Has this device room for what the container wants of it? */
static bool has_room(const struct fence *f, const struct node_facts *node, const struct fence_container *c,
                     const struct device *d, struct arena *a, struct str *ret_why)
{
    const struct fence_capacity cap = capacity_of(node, d);
    const struct fence_use has =
        use_of_container(f, node, 0, c->pod_uid, c->name, d); /* of instances before this one */
    const struct held *holder = NULL;
    struct fence_container other;
    const struct fence_use there = use_of_others(f, node, c, d, &holder);
    struct fence_use mine = use_of_list(c->devices, c->device_n, d), all = there;

    use_max(&mine, &has);
    use_add(&all, &mine);
    if (is_within(&all, &cap)) {
        return true;
    }
    if (holder != NULL) {
        other = fence_container_of(holder);
    }
    *ret_why = fence_words_no_room(d, c, &mine, &there, &cap, holder != NULL ? &other : NULL, a);
    return false;
}

bool fence_admit(struct fence *f, const struct node_facts *node, const struct fence_container *c, struct arena *a,
                 struct str *ret_why)
{
    struct fence_container admitted = *c;

    for (size_t i = 0; i < c->device_n; i++) {
        const struct device *d = node_facts_device(node, &c->devices[i]);

        if (d == NULL) {
            *ret_why = fence_words_not_here(node, c, &c->devices[i], a);
            return false;
        }
        if (!has_room(f, node, c, d, a, ret_why)) {
            return false;
        }
        gpu_nodes_open(&admitted.nodes, GPU_NODES_MAJOR, d->minor);
    }
    fence_add(f, &admitted);
    return true;
}

/* NULL: this device is granted to no other container that is there. */
static const struct held *granted_to(const struct fence *f, const struct node_facts *node,
                                     const struct fence_container *but, const struct device *device)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct held *h = f->held[i];

        if (!same_container(h, but->pod_uid, but->name) && use_of_held(h, node, device).sharers > 0) {
            return h;
        }
    }
    return NULL;
}

bool fence_admit_other(struct fence *f, const struct node_facts *node, const struct fence_container *c, struct arena *a,
                       struct str *ret_why)
{
    for (size_t i = 0; i < node->device_n; i++) {
        const struct device *d = &node->devices[i];
        const struct held *h = gpu_nodes_has(&c->nodes, d->minor) ? granted_to(f, node, c, d) : NULL;

        if (h != NULL) {
            const struct fence_container there = fence_container_of(h);

            *ret_why = fence_words_granted(d, c, &there, a);
            return false;
        }
    }
    fence_add(f, c);
    return true;
}
