/* MIG in the ledger: instances that kubelet picks, and GPUs that are held in another form than they
 * have. */
#include "base/bug.h"
#include "core/fit/feasibility.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"
#include "core/ledger/tenants.h"

/* ---- counted instances ---- */

/* The next device of the profile that nobody has, healthy ones first: a plugin hands out no other. */
static uint32_t next_free(const struct node_entry *n, uint16_t profile, uint64_t taken)
{
    uint32_t found = LEDGER_NONE;

    for (uint32_t i = 0; i < n->device_n; i++) {
        const struct ledger_device *d = &n->devices[i];

        if (d->profile == profile && (taken >> i & 1) == 0 && (found == LEDGER_NONE || d->healthy)) {
            found = i;
            if (d->healthy) {
                break;
            }
        }
    }
    return found;
}

static uint32_t last_of(const struct node_entry *n, uint16_t profile)
{
    uint32_t found = LEDGER_NONE;

    for (uint32_t i = 0; i < n->device_n; i++) {
        found = n->devices[i].profile == profile ? i : found;
    }
    return found;
}

static void charge_profile(const struct node_entry *n, const struct device_state *states, struct pod_entry *p,
                           uint16_t profile, uint64_t *taken)
{
    int32_t wanted = ledger_devices_at_once(p->demand, profile);

    while (wanted > 0) {
        uint32_t i = next_free(n, profile, *taken);
        struct charge c;

        if (i == LEDGER_NONE) {
            break;
        }
        c = demand_pessimistic_charge(p->demand, &states[i]);
        p->charges[p->charge_n++] = (struct pod_charge){i, c};
        *taken |= UINT64_C(1) << i;
        wanted--;
    }
    if (wanted > 0) { /* more than there are: the last one is over-committed */
        uint32_t i = last_of(n, profile);
        size_t at = 0;

        if (i == LEDGER_NONE) {
            return; /* nothing that anybody could be given */
        }
        while (at < p->charge_n && p->charges[at].ordinal != i) {
            at++;
        }
        if (at == p->charge_n) {
            p->charges[p->charge_n++] = (struct pod_charge){i, {.profile = profile}};
        }
        p->charges[at].charge.slots += wanted;
    }
}

static void charge_pod(const struct node_entry *n, const struct device_state *states, struct pod_entry *p,
                       uint64_t *taken)
{
    const struct demand *d = p->demand;

    p->charge_n = 0;
    p->charges = xreallocarray(p->charges, n->device_n + 1, sizeof(*p->charges));
    for (size_t w = 0; w < d->gpu_request_n; w++) {
        size_t first = 0;

        while (d->gpu_requests[first].profile != d->gpu_requests[w].profile) {
            first++;
        }
        if (first == w) {
            charge_profile(n, states, p, d->gpu_requests[w].profile, taken);
        }
    }
}

/* The next pod by UID, so that who is shown on which device does not depend on the order in which they came. */
static struct pod_entry *next_pod(struct ledger *l, uint32_t node, const struct pod_entry *before)
{
    const struct node_entry *n = &l->nodes[node];
    struct pod_entry *found = NULL;

    for (uint32_t i = 0; i < n->pod_n; i++) {
        struct pod_entry *p = &l->pods[n->pods[i]];

        if (ledger_pod_is_counted(&l->rows[node], p) && (before == NULL || str_cmp(p->uid, before->uid) > 0) &&
            (found == NULL || str_cmp(p->uid, found->uid) < 0)) {
            found = p;
        }
    }
    return found;
}

void ledger_charge_counted(struct ledger *l, uint32_t node, uint64_t taken)
{
    const struct node_entry *n = &l->nodes[node];
    const struct node_state *row = &l->rows[node];

    for (struct pod_entry *p = NULL; (p = next_pod(l, node, p)) != NULL;) {
        charge_pod(n, &l->states[row->first_device], p, &taken);
        ledger_count_pod(l, p);
    }
}

/* ---- the other form ---- */

static bool is_held(const struct device_state *s, const struct ledger_device *d)
{
    /* A GPU in MIG mode is never free, so only what is charged on top of that shows. */
    return d->profile == DEVICE_IN_MIG_MODE ? device_is_overcommitted(s) : (s->flags & DEVICE_IN_USE) != 0;
}

/* Is this one gone, and another card in its place? */
static bool is_replaced(const struct node_entry *n, const struct device_state *states, const struct ledger_device *gpu)
{
    bool replaced = false;

    for (uint32_t i = 0; i < n->device_n && gpu->lost; i++) {
        replaced = replaced || (!n->devices[i].lost && !device_is_instance(&states[i]) &&
                                n->devices[i].ref.index == gpu->ref.index);
    }
    return replaced;
}

/* MIG mode changes only while nobody uses the GPU. Where the facts say otherwise somebody is mistaken: until it is
 * known who, nothing of that GPU is given away a second time. Of an instance that is gone only the number of its GPU is
 * known, from its record: another card with that number is blocked, too, until its pod ends. */
void ledger_block_other_form(const struct node_entry *n, struct device_state *states)
{
    for (uint32_t i = 0; i < n->device_n; i++) {
        const struct ledger_device *instance = &n->devices[i];

        if (!device_is_instance(&states[i]) || instance->gpu_index < 0) {
            continue;
        }
        for (uint32_t k = 0; k < n->device_n; k++) {
            const struct ledger_device *gpu = &n->devices[k];

            if (device_is_instance(&states[k]) || gpu->ref.index != instance->gpu_index ||
                is_replaced(n, states, gpu)) {
                continue;
            }
            if (is_held(&states[k], gpu)) {
                states[i].flags |= DEVICE_BLOCKED;
            }
            if (instance->lost && is_held(&states[i], instance) && gpu->profile == 0) {
                states[k].flags |= DEVICE_BLOCKED;
            }
        }
    }
}
