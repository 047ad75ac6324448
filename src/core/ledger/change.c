/* What an op has done to the nodes it changed: whether room appeared for somebody, and whether capacity went that had
 * been given away. A node is copied before its first change, and compared at the end: within an op pods are taken off
 * and put back, which is neither. */
#include "core/ledger/change.h"
#include "core/ledger/device_table.h"
#include "core/ledger/overcommit.h"
#include "core/ledger/state.h"

void ledger_change_begin(struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];
    const struct node_state *row = &l->rows[node];
    struct node_before *b = &l->before[l->before_n];

    for (uint32_t i = 0; i < l->before_n; i++) {
        if (l->before[i].node == node) {
            return;
        }
    }
    if (l->before_n == NODES_BEFORE_MAX) {
        ledger_capacity_grew(l); /* nobody will know: rather once too often */
        l->nodes[node].gained = l->version + 1;
        return;
    }
    l->before_n++;
    b->node = node;
    b->schedulable = n->schedulable;
    b->rules = n->rules;
    b->row = *row;
    for (uint32_t i = 0; i < row->device_n; i++) {
        b->devices[i] = (struct device_before){n->devices[i].ref, l->states[row->first_device + i]};
    }
}

/* ---- room ---- */

/* Is it another device, or another size of one? Then nobody can say that it has less of everything. */
static bool is_other_device(const struct device_before *b, const struct device_state *now, struct device_ref ref)
{
    return b->ref.uuid_hash != ref.uuid_hash || b->ref.index != ref.index || b->state.model_id != now->model_id ||
           !device_same_capacity(&b->state, now);
}

static bool device_has_more(const struct device_state *b, const struct device_state *now)
{
    const unsigned obstacles =
        DEVICE_IN_USE | DEVICE_EXCLUSIVE | DEVICE_LOST | DEVICE_BLOCKED | DEVICE_ELSEWHERE | DEVICE_GROUP_TAKEN;

    return now->milli_free > b->milli_free || now->mem_free_mib > b->mem_free_mib || now->slot_free > b->slot_free ||
           (b->flags & ~now->flags & obstacles) != 0 || (now->flags & ~b->flags & DEVICE_HEALTHY) != 0;
}

static bool plugin_has_more(const struct node_state *b, const struct node_state *now)
{
    return now->plugin_managed_cap - now->plugin_managed_used > b->plugin_managed_cap - b->plugin_managed_used ||
           now->plugin_managed_per_gpu != b->plugin_managed_per_gpu ||
           now->plugin_managed_names != b->plugin_managed_names ||
           (b->plugin_managed_used > 0 && now->plugin_managed_used == 0) || (b->group_taken && !now->group_taken) ||
           (b->not_covered && !now->not_covered) || (b->share_pod_n > 0 && now->share_pod_n == 0);
}

/* As of all nodes, ledger_less_may_be_more(): but devices that are alike take the same, whichever is chosen. */
static bool less_may_be_more(const struct ledger *l, const struct node_before *b)
{
    const struct node_state *now = &l->rows[b->node];
    const struct device_state *states = &l->states[now->first_device];
    bool unlike = false;

    for (uint32_t i = 1; l->tenancy.tenant_n > 0 && i < now->device_n && !unlike; i++) {
        unlike = !device_same_capacity(&states[i], &states[0]);
    }
    return l->nominated_n > 0 || unlike;
}

static bool node_is_as_before(const struct ledger *l, const struct node_before *b)
{
    const struct node_state *now = &l->rows[b->node];
    bool same = now->device_n == b->row.device_n && now->plugin_managed_used == b->row.plugin_managed_used &&
                now->plugin_managed_cap == b->row.plugin_managed_cap && now->share_pod_n == b->row.share_pod_n &&
                now->flags == b->row.flags && now->group_taken == b->row.group_taken &&
                now->not_covered == b->row.not_covered;

    for (uint32_t i = 0; same && i < now->device_n; i++) {
        same = device_equal(&b->devices[i].state, &l->states[now->first_device + i]);
    }
    return same;
}

/* Could anybody fit here now who did not before? Every number that a decision reads is the same or says less, or there
 * is room: what is not compared here is room that nobody is told of. */
static bool node_has_more(const struct ledger *l, const struct node_before *b)
{
    const struct node_entry *n = &l->nodes[b->node];
    const struct node_state *now = &l->rows[b->node];
    const unsigned closing = NODE_DESCRIBED | NODE_CLOSED | NODE_SHUT | NODE_MIG_CHANGING;
    const unsigned changed = b->row.flags ^ now->flags;

    if (!n->used || (now->flags & NODE_DESCRIBED) == 0) {
        return false;
    }
    if ((changed & ~closing) != 0 || (changed & now->flags & NODE_DESCRIBED) != 0 ||
        (changed & b->row.flags & (NODE_CLOSED | NODE_SHUT | NODE_MIG_CHANGING)) != 0 ||
        (n->schedulable && !b->schedulable) || n->rules != b->rules || plugin_has_more(&b->row, now) ||
        now->device_n > b->row.device_n) {
        return true;
    }
    for (uint32_t i = 0; i < now->device_n; i++) {
        const struct device_state *s = &l->states[now->first_device + i];

        if (is_other_device(&b->devices[i], s, n->devices[i].ref) || device_has_more(&b->devices[i].state, s)) {
            return true;
        }
    }
    return less_may_be_more(l, b) && !node_is_as_before(l, b);
}

/* More of the CPU and memory that kube-scheduler looks at, or another description, such as a label that it looks at. */
static bool kube_scheduler_may_see_more(const struct ledger *l, const struct node_before *b, enum ledger_op_kind kind)
{
    const struct host_state *now = &l->rows[b->node].host;

    return kind == LEDGER_NODE_DESCRIBED || now->cpu_free_milli > b->row.host.cpu_free_milli ||
           now->mem_free_mib > b->row.host.mem_free_mib;
}

/* ---- capacity ---- */

static const struct device_before *device_before(const struct node_before *b, struct device_ref ref)
{
    const struct device_before *found = NULL;

    for (uint32_t i = 0; i < b->row.device_n; i++) {
        if (device_ref_equal(b->devices[i].ref, ref)) {
            found = found == NULL || b->devices[i].ref.uuid_hash == ref.uuid_hash ? &b->devices[i] : found;
        }
    }
    return found;
}

/* What whole devices and shares take falls with the capacity, so that what is free may stay as it was. */
static bool has_less(const struct device_state *b, const struct device_state *now)
{
    return now->milli_free < b->milli_free || now->mem_free_mib < b->mem_free_mib || now->slot_free < b->slot_free ||
           now->milli_cap < b->milli_cap || now->mem_cap_mib < b->mem_cap_mib || now->slot_cap < b->slot_cap;
}

/* Another description of an over-committed device decides anew whether capacity is a cause; the same one does not, nor
 * does anything that pods do. What whole devices and shares take falls with the capacity: then the device is not
 * over-committed until a request is read in another way, but what was granted of it went with that description. */
static void follow_device(const struct ledger *l, const struct node_before *b, enum ledger_op_kind kind,
                          const struct node_entry *n, uint32_t ordinal)
{
    struct ledger_device *d = &n->devices[ordinal];
    const struct device_state *now = &l->states[l->rows[b->node].first_device + ordinal];
    const struct device_before *before = device_before(b, d->ref);
    bool of_node = kind == LEDGER_NODE_DESCRIBED || kind == LEDGER_NODE_GONE || kind == LEDGER_NODES_END;
    bool over = device_is_overcommitted(now);

    if (of_node && (before == NULL || is_other_device(before, now, d->ref))) {
        d->outgrown = true;
        d->shrunk = before == NULL || has_less(&before->state, now) || ledger_grants_exceed(l, n, ordinal);
    }
    d->outgrown = d->outgrown && ledger_grants_outgrow(l, n, ordinal);
    d->shrunk = over && (d->shrunk || d->outgrown);
    d->overbooked =
        over && (d->overbooked || (kind == LEDGER_RESERVE && (before == NULL || has_less(&before->state, now))));
}

void ledger_change_follow(struct ledger *l, enum ledger_op_kind kind)
{
    for (uint32_t i = 0; i < l->before_n; i++) {
        struct node_entry *n = &l->nodes[l->before[i].node];
        const bool more = node_has_more(l, &l->before[i]);

        if (more) {
            ledger_capacity_grew(l);
        }
        if (more || kube_scheduler_may_see_more(l, &l->before[i], kind)) {
            n->gained = l->version;
        }
        for (uint32_t k = 0; n->used && k < n->device_n; k++) {
            follow_device(l, &l->before[i], kind, n, k);
        }
    }
    l->before_n = 0;
}
