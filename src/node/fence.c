#include "node/fence.h"

#include "base/bug.h"
#include "base/sentence.h"
#include "node/grant.h"

#include <stdlib.h>
#include <string.h>

/* One block: this, its devices, its text. */
struct held {
    struct str id, sandbox_id, pod_uid, namespace_, pod, name;
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

void fence_add(struct fence *f, const struct fence_container *c)
{
    struct held *h = held_of(c); /* before anything is freed that it may be borrowed from */

    fence_drop(f, h->id);
    if (f->n == f->cap) {
        f->cap = f->cap == 0 ? 16 : 2 * f->cap;
        f->held = xreallocarray(f->held, f->cap, sizeof(struct held *));
    }
    f->held[f->n++] = h;
}

bool fence_has(const struct fence *f, struct str id)
{
    for (size_t i = 0; i < f->n; i++) {
        if (str_eq(f->held[i]->id, id)) {
            return true;
        }
    }
    return false;
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
}

/* No overflow: amounts of records are bounded (32 bits), and so are the containers of a node. */
static void use_add(struct fence_use *u, const struct fence_use *v)
{
    u->milli += v->milli;
    u->mem_mib += v->mem_mib;
    u->sharers += v->sharers;
    u->alone = u->alone || v->alone;
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

/* Of all instances of this container from the i-th on, the most. */
static struct fence_use use_of_container(const struct fence *f, size_t from, struct str pod_uid, struct str name,
                                         const struct device *device)
{
    struct fence_use most = {0};

    for (size_t i = from; i < f->n; i++) {
        if (same_container(f->held[i], pod_uid, name)) {
            const struct fence_use u = use_of_list(f->held[i]->devices, f->held[i]->device_n, device);

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

/* Of all containers but one (NULL: of all). *ret_holder becomes one of those who hold it, if anybody does. */
static struct fence_use use_of_others(const struct fence *f, const struct fence_container *but,
                                      const struct device *device, const struct held **ret_holder)
{
    struct fence_use sum = {0};

    for (size_t i = 0; i < f->n; i++) {
        const struct held *h = f->held[i];
        struct fence_use u;

        if ((but != NULL && same_container(h, but->pod_uid, but->name)) || counted_before(f, i)) {
            continue;
        }
        u = use_of_container(f, i, h->pod_uid, h->name, device);
        if (u.sharers > 0) {
            use_add(&sum, &u);
            *ret_holder = h;
        }
    }
    return sum;
}

struct fence_use fence_use_of(const struct fence *f, const struct device *device)
{
    const struct held *holder;

    return use_of_others(f, NULL, device, &holder);
}

/* ---- room ---- */

struct capacity {
    int64_t milli, mem_mib;
    int32_t sharers;
};

static struct capacity capacity_of(const struct node_facts *node, const struct device *d)
{
    struct capacity c = {DEVICE_MILLI, d->mem_mib, d->slot_n};

    if (d->profile == 0) {
        c.milli = c.milli * node->overcommit_milli / 1000;
        c.mem_mib = c.mem_mib * node->overcommit_mem_milli / 1000;
    }
    return c;
}

static bool is_within(const struct fence_use *u, const struct capacity *c)
{
    return u->alone ? u->sharers <= 1 : u->milli <= c->milli && u->mem_mib <= c->mem_mib && u->sharers <= c->sharers;
}

bool fence_is_over(const struct fence *f, const struct node_facts *node, const struct device *device)
{
    const struct fence_use u = fence_use_of(f, device);
    const struct capacity c = capacity_of(node, device);

    return !is_within(&u, &c);
}

#define AMOUNT_BYTES 160

/* "700 of 1000 milli, 400 of 1000 MiB, 1 of 4 places"; whoever told of the device may know no number of places. */
static void say_taken(const struct fence_use *there, const struct capacity *cap, char text[AMOUNT_BYTES])
{
    struct sentence t = sentence_begin(text, AMOUNT_BYTES);

    sentence_add(&t, "%lld of %lld milli, %lld of %lld MiB", (long long)there->milli, (long long)cap->milli,
                 (long long)there->mem_mib, (long long)cap->mem_mib);
    if (cap->sharers != INT32_MAX) {
        sentence_add(&t, ", %d of %d places", there->sharers, cap->sharers);
    }
    sentence_add(&t, there->alone ? " are taken by somebody who has it alone" : " are taken");
}

static void say_wanted(const struct fence_use *wanted, char text[AMOUNT_BYTES])
{
    struct sentence t = sentence_begin(text, AMOUNT_BYTES);

    if (wanted->alone) {
        sentence_add(&t, "it alone");
    } else {
        sentence_add(&t, "%lld milli and %lld MiB", (long long)wanted->milli, (long long)wanted->mem_mib);
    }
}

/* Both pods come first, because whoever shows the sentence may cut it. */
static struct str no_room(const struct device *d, const struct fence_container *c, const struct fence_use *wanted,
                          const struct fence_use *there, const struct capacity *cap, const struct held *holder,
                          struct arena *a)
{
    char wants[AMOUNT_BYTES], taken[AMOUNT_BYTES], others[32];
    struct sentence t = sentence_begin(others, sizeof(others));

    say_wanted(wanted, wants);
    if (holder == NULL) {
        return arena_printf(
            a,
            "container %.*s of pod %.*s/%.*s wants %s of GPU %.*s, which has %lld milli and %lld MiB; delete "
            "the pod so that it is placed again",
            STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), wants, STR_ARG(d->uuid), (long long)cap->milli,
            (long long)cap->mem_mib);
    }
    say_taken(there, cap, taken);
    if (there->sharers > 1) {
        sentence_add(&t, " and %d more", there->sharers - 1);
    }
    return arena_printf(
        a,
        "container %.*s of pod %.*s/%.*s finds no room beside container %.*s of pod %.*s/%.*s%s: it wants "
        "%s of GPU %.*s, where %s; it is tried again until there is room",
        STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), STR_ARG(holder->name), STR_ARG(holder->namespace_),
        STR_ARG(holder->pod), others, wants, STR_ARG(d->uuid), taken);
}

/* Has this device room for what the container wants of it? */
static bool has_room(const struct fence *f, const struct node_facts *node, const struct fence_container *c,
                     const struct device *d, struct arena *a, struct str *ret_why)
{
    const struct capacity cap = capacity_of(node, d);
    const struct fence_use has = use_of_container(f, 0, c->pod_uid, c->name, d); /* of instances before this one */
    const struct held *holder = NULL;
    const struct fence_use there = use_of_others(f, c, d, &holder);
    struct fence_use mine = use_of_list(c->devices, c->device_n, d), all = there;

    use_max(&mine, &has);
    use_add(&all, &mine);
    if (is_within(&all, &cap)) {
        return true;
    }
    *ret_why = grant_sentence(no_room(d, c, &mine, &there, &cap, holder, a));
    return false;
}

bool fence_admit(struct fence *f, const struct node_facts *node, const struct fence_container *c, struct arena *a,
                 struct str *ret_why)
{
    for (size_t i = 0; i < c->device_n; i++) {
        const struct device *d = node_facts_device(node, &c->devices[i]);

        if (d == NULL) {
            *ret_why =
                grant_sentence(arena_printf(a,
                                            "GPU %.*s, which container %.*s of pod %.*s/%.*s was given, is not on "
                                            "node %.*s",
                                            STR_ARG(c->devices[i].uuid), STR_ARG(c->name), STR_ARG(c->namespace_),
                                            STR_ARG(c->pod), STR_ARG(node->name)));
            return false;
        }
        if (!has_room(f, node, c, d, a, ret_why)) {
            return false;
        }
    }
    fence_add(f, c);
    return true;
}
