/* Cores and memory of the machines: what each has left, and the pods without GPUs that take of it.
 *
 * Those can be many more than pods with GPUs, on nodes that nobody asks fgpu about, and all that is
 * wanted of them is a sum per node. So of each only a few words are kept, and a change of one adds
 * to and subtracts from the sums of its node; ledger_check() compares them with the pods. */
#include "base/bug.h"
#include "core/ledger_internal.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

static int32_t saturate(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

void host_sum_add(struct host_sum *s, struct host_request r)
{
    s->cpu_milli += r.cpu_milli;
    s->mem_mib += r.mem_mib;
}

void host_sum_subtract(struct host_sum *s, struct host_request r)
{
    s->cpu_milli -= r.cpu_milli;
    s->mem_mib -= r.mem_mib;
}

struct host_state ledger_host_left(const struct node_entry *n, const struct host_sum *with_gpus)
{
    const struct host_capacity *cap = &n->host;

    return (struct host_state){
        .cpu_cap_milli = cap->cpu_milli,
        .cpu_free_milli = cap->cpu_milli == 0 ? 0
                                              : saturate(cap->cpu_milli - with_gpus->cpu_milli -
                                                         n->light_host.cpu_milli),
        .mem_cap_mib = cap->mem_mib,
        .mem_free_mib = cap->mem_mib == 0
                            ? 0
                            : saturate(cap->mem_mib - with_gpus->mem_mib - n->light_host.mem_mib),
    };
}

bool ledger_node_has_gpus(const struct ledger *l, uint32_t node)
{
    return l->nodes[node].device_n > 0 || l->rows[node].unsteered_cap > 0;
}

/* After a change of its sums. Nobody asks for a node without GPUs, so nothing that was remembered
 * of one is wrong. */
static void node_changed(struct ledger *l, uint32_t node)
{
    struct node_state *row = &l->rows[node];
    struct host_state left = ledger_host_left(&l->nodes[node], &l->nodes[node].host_asked);

    if (left.cpu_free_milli == row->host.cpu_free_milli &&
        left.mem_free_mib == row->host.mem_free_mib) {
        return;
    }
    row->host = left;
    if (ledger_node_has_gpus(l, node)) {
        row->version = ++l->version;
    }
}

void ledger_pod_set_host(struct ledger *l, struct pod_entry *p, struct host_request host)
{
    struct host_request before = p->demand->host;

    if (before.cpu_milli == host.cpu_milli && before.mem_mib == host.mem_mib) {
        return;
    }
    p->demand->host = host;
    if (p->node != LEDGER_NONE) {
        host_sum_subtract(&l->nodes[p->node].host_asked, before);
        host_sum_add(&l->nodes[p->node].host_asked, host);
        node_changed(l, p->node);
    }
}

/* ---- the table of pods without GPUs: linear probing in order of the hash, so that any size will
 * do ---- */

static uint32_t home_of(const struct light_pods *t, uint64_t id)
{
    return (uint32_t)((unsigned __int128)id * t->slot_n >> 64);
}

static uint32_t next(const struct light_pods *t, uint32_t i)
{
    return i + 1 == t->slot_n ? 0 : i + 1;
}

static uint32_t distance(const struct light_pods *t, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + t->slot_n - from;
}

static void place(struct light_pods *t, const struct light_pod *p)
{
    uint32_t i = home_of(t, p->id);

    while (t->slots[i].node != LEDGER_NONE) {
        i = next(t, i);
    }
    t->slots[i] = *p;
}

/* At most 4/5 full, and a quarter larger each time: a pod costs 30 to 38 bytes. */
static void make_room(struct light_pods *t)
{
    struct light_pods more = {.slot_n = t->slot_n == 0 ? FIRST_SLOTS : t->slot_n + t->slot_n / 4};

    if (((uint64_t)t->used_n + 1) * 5 <= (uint64_t)t->slot_n * 4) {
        return;
    }
    more.used_n = t->used_n;
    more.slots = xreallocarray(NULL, more.slot_n, sizeof(*more.slots));
    for (uint32_t i = 0; i < more.slot_n; i++) {
        more.slots[i].node = LEDGER_NONE;
    }
    for (uint32_t i = 0; i < t->slot_n; i++) {
        if (t->slots[i].node != LEDGER_NONE) {
            place(&more, &t->slots[i]);
        }
    }
    free(t->slots);
    *t = more;
}

static struct light_pod *find(const struct light_pods *t, uint64_t id)
{
    if (t->slot_n == 0) {
        return NULL;
    }
    for (uint32_t i = home_of(t, id); t->slots[i].node != LEDGER_NONE; i = next(t, i)) {
        if (t->slots[i].id == id) {
            return &t->slots[i];
        }
    }
    return NULL;
}

/* Whoever stands behind the hole and may stand in it moves there. */
static void empty_slot(struct light_pods *t, uint32_t hole)
{
    for (uint32_t i = next(t, hole); t->slots[i].node != LEDGER_NONE; i = next(t, i)) {
        if (distance(t, home_of(t, t->slots[i].id), i) >= distance(t, hole, i)) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole].node = LEDGER_NONE;
    t->used_n--;
}

/* ---- what happens to them ---- */

static uint64_t light_id(const struct ledger *l, struct str uid)
{
    return hash_str(l->limits.hash_key, uid);
}

/* Off its node; the node may be forgotten by that. */
static void leave(struct ledger *l, const struct light_pod *p)
{
    struct node_entry *n = &l->nodes[p->node];

    host_sum_subtract(&n->light_host, p->host);
    n->light_n--;
    node_changed(l, p->node);
}

static void enter(struct ledger *l, struct light_pod *p, uint32_t node, struct host_request host)
{
    p->node = node;
    p->host = host;
    host_sum_add(&l->nodes[node].light_host, host);
    l->nodes[node].light_n++;
    node_changed(l, node);
}

void ledger_light_observed(struct ledger *l, const struct ledger_pod_fact *f)
{
    struct light_pods *t = &l->light;
    struct light_pod fresh = {.id = light_id(l, f->uid), .epoch = l->pod_epoch};
    struct light_pod *p = find(t, fresh.id);
    uint32_t node;

    if (p != NULL && str_eq(l->names[p->node], f->node_name)) {
        p->epoch = l->pod_epoch;
        if (p->host.cpu_milli != f->demand->host.cpu_milli ||
            p->host.mem_mib != f->demand->host.mem_mib) {
            struct node_entry *n = &l->nodes[p->node];

            host_sum_subtract(&n->light_host, p->host);
            host_sum_add(&n->light_host, f->demand->host);
            p->host = f->demand->host;
            node_changed(l, p->node);
        }
        return;
    }
    ledger_light_forget(l, f->uid);
    node = t->used_n < LEDGER_PODS_MAX ? ledger_node_add(l, f->node_name) : LEDGER_NONE;
    if (node == LEDGER_NONE) {
        return; /* at a bound: its node shows more than it has, which harms scores and nothing else
                 */
    }
    enter(l, &fresh, node, f->demand->host);
    make_room(t);
    place(t, &fresh);
    t->used_n++;
}

void ledger_light_forget(struct ledger *l, struct str uid)
{
    struct light_pod *p = find(&l->light, light_id(l, uid));
    struct light_pod gone;

    if (p == NULL) {
        return;
    }
    gone = *p;
    empty_slot(&l->light, (uint32_t)(p - l->light.slots));
    leave(l, &gone);
    ledger_node_drop_if_empty(l, gone.node);
}

void ledger_light_sweep(struct ledger *l)
{
    struct light_pods *t = &l->light;

    for (uint32_t i = 0; i < t->slot_n;) {
        struct light_pod gone = t->slots[i];

        if (gone.node == LEDGER_NONE || gone.epoch == l->pod_epoch) {
            i++;
            continue;
        }
        empty_slot(t, i); /* another one may stand here now */
        leave(l, &gone);
        ledger_node_drop_if_empty(l, gone.node);
    }
}

/* ---- the check ---- */

static const char *check_sums(const struct ledger *l, uint32_t node,
                              const struct node_entry *counted)
{
    const struct node_entry *n = &l->nodes[node];
    const struct host_state *h = &l->rows[node].host;
    struct host_sum asked = {0};
    struct host_state left;

    for (uint32_t i = 0; i < n->pod_n; i++) {
        host_sum_add(&asked, l->pods[n->pods[i]].demand->host);
    }
    if (counted->light_n != n->light_n ||
        counted->light_host.cpu_milli != n->light_host.cpu_milli ||
        counted->light_host.mem_mib != n->light_host.mem_mib ||
        asked.cpu_milli != n->host_asked.cpu_milli || asked.mem_mib != n->host_asked.mem_mib) {
        return "what the pods of a node ask of it is not the sum of what each asks";
    }
    left = ledger_host_left(n, &asked);
    if (h->cpu_cap_milli != left.cpu_cap_milli || h->cpu_free_milli != left.cpu_free_milli ||
        h->mem_cap_mib != left.mem_cap_mib || h->mem_free_mib != left.mem_free_mib) {
        return "cores and memory left are not what the node has less what its pods ask for";
    }
    return NULL;
}

const char *ledger_check_host(const struct ledger *l)
{
    struct node_entry *counted = xcalloc((size_t)l->node_n + 1, sizeof(*counted));
    const char *why = NULL;
    uint32_t used = 0;

    for (uint32_t i = 0; i < l->light.slot_n && why == NULL; i++) {
        const struct light_pod *p = &l->light.slots[i];

        if (p->node == LEDGER_NONE) {
            continue;
        }
        used++;
        if (p->node >= l->node_n || !l->nodes[p->node].used) {
            why = "a pod without GPUs is on a node that is not known";
        } else if (find(&l->light, p->id) != p) {
            why = "a pod without GPUs is not found by its UID";
        } else {
            counted[p->node].light_n++;
            host_sum_add(&counted[p->node].light_host, p->host);
        }
    }
    if (why == NULL && used != l->light.used_n) {
        why = "the number of pods without GPUs is wrong";
    }
    for (uint32_t i = 0; i < l->node_n && why == NULL; i++) {
        why = l->nodes[i].used ? check_sums(l, i, &counted[i]) : NULL;
    }
    free(counted);
    return why;
}
