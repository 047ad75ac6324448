/* Bound pods without GPUs.
 *
 * They can be many more than pods with GPUs, on nodes that nobody asks fgpu about, and all that is
 * wanted of them is a sum per node. So of each only a few words are kept, and a change of one adds
 * to and subtracts from the sums of its node; ledger_check() compares them with the pods. */
#include "base/bug.h"
#include "base/order.h"
#include "core/ledger/host_sums.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/node_table.h"
#include "core/ledger/state.h"
#include "core/request/demand_histogram.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };
#define EPOCH_MASK (UINT32_MAX >> 1)

/* ---- the table: linear probing in the order of the hash, so that any size will do ---- */

static uint32_t home_of(const struct cpu_only_pods *t, uint64_t id)
{
    return (uint32_t)((unsigned __int128)id * t->slot_n >> 64);
}

static uint32_t next(const struct cpu_only_pods *t, uint32_t i)
{
    return i + 1 == t->slot_n ? 0 : i + 1;
}

static uint32_t distance(const struct cpu_only_pods *t, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + t->slot_n - from;
}

static void place(struct cpu_only_pods *t, const struct cpu_only_pod *p)
{
    uint32_t i = home_of(t, p->id);

    while (t->slots[i].node != LEDGER_NONE) {
        i = next(t, i);
    }
    t->slots[i] = *p;
}

/* At most 4/5 full, and a quarter larger each time: a pod costs 30 to 38 bytes. */
static void grow(struct cpu_only_pods *t)
{
    struct cpu_only_pods more = {.slot_n = t->slot_n == 0 ? FIRST_SLOTS : t->slot_n + t->slot_n / 4};

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

static struct cpu_only_pod *find_pod(const struct cpu_only_pods *t, uint64_t id)
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
static void empty_slot(struct cpu_only_pods *t, uint32_t hole)
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

/* The key is fixed, so that what is done in the order of the table is done in the same order
 * everywhere. Nobody chooses UIDs but API servers. */
static uint64_t id_of(struct str uid)
{
    return hash_str((struct hash_key){0x6c69676874, 0x706f6473}, uid);
}

/* ---- on a node ---- */

static struct demand demand_of(const struct cpu_only_pod *p)
{
    return (struct demand){.dialect = "", .host = p->host};
}

static void count(struct ledger *l, struct cpu_only_pod *p)
{
    const struct demand d = demand_of(p);

    demand_histogram_arrived(l->demand_histogram, &d);
    p->counted = true;
    l->nodes[p->node].cpu_only_uncounted_n--;
}

static void enter(struct ledger *l, struct cpu_only_pod *p, uint32_t node, struct host_request host)
{
    struct node_entry *n = &l->nodes[node];

    p->node = node;
    p->host = host;
    host_sum_add(&n->cpu_only_host, host);
    n->cpu_only_n++;
    n->cpu_only_uncounted_n += !p->counted;
    if (!p->counted && ledger_node_has_gpus(l, node)) {
        count(l, p);
    }
    ledger_host_changed(l, node);
}

static void leave(struct ledger *l, const struct cpu_only_pod *p)
{
    struct node_entry *n = &l->nodes[p->node];

    host_sum_subtract(&n->cpu_only_host, p->host);
    n->cpu_only_n--;
    n->cpu_only_uncounted_n -= !p->counted;
    ledger_host_changed(l, p->node);
}

static void resize(struct ledger *l, struct cpu_only_pod *p, struct host_request host)
{
    struct node_entry *n = &l->nodes[p->node];

    host_sum_subtract(&n->cpu_only_host, p->host);
    host_sum_add(&n->cpu_only_host, host);
    p->host = host;
    ledger_host_changed(l, p->node);
}

/* ---- what happens to them ---- */

void ledger_cpu_only_observed(struct ledger *l, const struct ledger_pod_fact *f, bool counted)
{
    struct cpu_only_pods *t = &l->cpu_only;
    /* One that was read by itself is no list's: the end of the next one takes it out, and if it is newer than that, the
     * watch says so. */
    struct cpu_only_pod fresh = {
        .id = id_of(f->uid), .epoch = (l->pod_epoch - f->read) & EPOCH_MASK, .counted = counted};
    struct cpu_only_pod *p = find_pod(t, fresh.id);
    uint32_t node;

    if (p != NULL && str_eq(l->names[p->node], f->node_name)) {
        p->epoch = f->read ? p->epoch : fresh.epoch;
        resize(l, p, f->demand->host);
        return;
    }
    fresh.counted = ledger_cpu_only_forget(l, f->uid) || counted;
    node = t->used_n < l->limits.pods_max ? ledger_node_named(l, f->node_name) : LEDGER_NONE;
    if (node == LEDGER_NONE) {
        return; /* at a bound: its node shows more than it has, which harms scores and nothing else */
    }
    enter(l, &fresh, node, f->demand->host);
    grow(t);
    place(t, &fresh);
    t->used_n++;
}

/* Of whom it was one. */
static void take_out(struct ledger *l, uint32_t slot)
{
    const struct cpu_only_pod gone = l->cpu_only.slots[slot];

    empty_slot(&l->cpu_only, slot);
    leave(l, &gone);
    ledger_node_drop_if_empty(l, gone.node);
}

bool ledger_cpu_only_forget(struct ledger *l, struct str uid)
{
    struct cpu_only_pod *p = find_pod(&l->cpu_only, id_of(uid));
    bool counted = p != NULL && p->counted;

    if (p != NULL) {
        take_out(l, (uint32_t)(p - l->cpu_only.slots));
    }
    return counted;
}

static void end(struct ledger *l, uint32_t slot)
{
    const struct demand d = demand_of(&l->cpu_only.slots[slot]);

    if (l->cpu_only.slots[slot].counted) {
        demand_histogram_departed(l->demand_histogram, &d);
    }
    take_out(l, slot);
}

void ledger_cpu_only_gone(struct ledger *l, struct str uid)
{
    struct cpu_only_pod *p = find_pod(&l->cpu_only, id_of(uid));

    if (p != NULL) {
        end(l, (uint32_t)(p - l->cpu_only.slots));
    }
}

void ledger_cpu_only_sweep(struct ledger *l)
{
    struct cpu_only_pods *t = &l->cpu_only;

    for (uint32_t i = 0; i < t->slot_n;) {
        if (t->slots[i].node == LEDGER_NONE || t->slots[i].epoch == (l->pod_epoch & EPOCH_MASK)) {
            i++;
        } else {
            end(l, i); /* another one may stand here now */
        }
    }
}

/* ---- those whose node turns out to have GPUs ---- */

static int by_id(const void *a, const void *b)
{
    const struct cpu_only_pod *const *x = a, *const *y = b;

    return ORDER((*x)->id, (*y)->id);
}

/* In an order that does not depend on how the table came about. */
static void count_all(struct ledger *l, uint32_t node, uint32_t n)
{
    struct cpu_only_pod **found = xcalloc((size_t)n + 1, sizeof(struct cpu_only_pod *));
    uint32_t found_n = 0;

    for (uint32_t i = 0; i < l->cpu_only.slot_n && found_n < n; i++) {
        struct cpu_only_pod *p = &l->cpu_only.slots[i];

        if (p->node != LEDGER_NONE && !p->counted && (node == LEDGER_NONE || p->node == node) &&
            ledger_node_has_gpus(l, p->node)) {
            found[found_n++] = p;
        }
    }
    qsort(found, found_n, sizeof(struct cpu_only_pod *), by_id);
    for (uint32_t i = 0; i < found_n; i++) {
        count(l, found[i]);
    }
    free(found);
}

void ledger_cpu_only_node_described(struct ledger *l, uint32_t node)
{
    uint32_t n = l->nodes[node].cpu_only_uncounted_n;

    if (n > 0 && ledger_is_synced(l) && ledger_node_has_gpus(l, node)) {
        count_all(l, node, n);
    }
}

void ledger_cpu_only_synced(struct ledger *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->node_n; i++) {
        n += l->nodes[i].used && ledger_node_has_gpus(l, i) ? l->nodes[i].cpu_only_uncounted_n : 0;
    }
    if (n > 0 && ledger_is_synced(l)) {
        count_all(l, LEDGER_NONE, n);
    }
}

/* ---- the check ---- */

const char *ledger_check_cpu_only(const struct ledger *l, struct cpu_only_sum *ret_by_node)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < l->cpu_only.slot_n; i++) {
        const struct cpu_only_pod *p = &l->cpu_only.slots[i];

        if (p->node == LEDGER_NONE) {
            continue;
        }
        used++;
        if (p->node >= l->node_n || !l->nodes[p->node].used) {
            return "a pod without GPUs is on a node that is not known";
        }
        if (find_pod(&l->cpu_only, p->id) != p) {
            return "a pod without GPUs is not found by its UID";
        }
        ret_by_node[p->node].pod_n++;
        ret_by_node[p->node].uncounted_n += !p->counted;
        host_sum_add(&ret_by_node[p->node].host, p->host);
    }
    return used == l->cpu_only.used_n ? NULL : "the number of pods without GPUs is wrong";
}
