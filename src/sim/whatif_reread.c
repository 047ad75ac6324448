/* A saved state as another policy would read it, as far as the document tells: amounts of GPUs, and
 * the tenants. */
#include "sim/whatif_internal.h"

static int64_t memory_of(const struct device *d, const struct policy *old, const struct policy *new)
{
    int64_t mem_mib = d->mem_mib + old->mem_reserve_mib - new->mem_reserve_mib;
    bool instance = d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE; /* nothing is kept back of those */

    return d->mem_mib == 0 || instance ? d->mem_mib : mem_mib > 0 ? mem_mib : 0; /* 0: not known */
}

/* What equals the old setting for all nodes is taken to come from it: the document does not say
 * which override a node goes by. */
static const struct inventory *reread_inventory(const struct inventory *inv, const struct policy *old,
                                                const struct policy *new, struct arena *a)
{
    struct device *devices = ARENA_ARRAY(a, inv->device_n, struct device);
    struct inventory *copy = ARENA_NEW(a, struct inventory);

    if (copy == NULL || devices == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < inv->device_n; i++) {
        devices[i] = inv->devices[i];
        devices[i].mem_mib = memory_of(&inv->devices[i], old, new);
        if (devices[i].slot_n == old->max_sharers) {
            devices[i].slot_n = new->max_sharers;
        }
    }
    *copy = *inv;
    copy->devices = devices;
    if (copy->overcommit_milli == old->overcommit_milli) {
        copy->overcommit_milli = new->overcommit_milli;
    }
    if (copy->overcommit_mem_milli == old->overcommit_mem_milli) {
        copy->overcommit_mem_milli = new->overcommit_mem_milli;
    }
    if (copy->memory_only == old->memory_only) {
        copy->memory_only = new->memory_only;
    }
    return copy;
}

static int apply_state(struct ledger *l, const struct state_file *state, const struct policy *new, struct arena *a,
                       struct err *reterr)
{
    int rc = 0;

    for (size_t i = 0; i < state->op_n && rc == 0; i++) {
        struct ledger_op op = state->ops[i];

        if (op.kind == LEDGER_NODE_DESCRIBED) {
            op.node.inventory = reread_inventory(op.node.inventory, &state->config->policy, new, a);
            op.node.closed = op.node.closed && new->node_pool_n > 0;
        } else if (op.kind == LEDGER_TENANTS) {
            op.tenants.items = new->tenants;
            op.tenants.n = new->tenant_n;
        }
        rc = a->overflowed ? err_set(reterr, ERR_LIMIT, "the state does not fit its memory")
                           : ledger_apply(l, &op, reterr);
    }
    return rc;
}

int whatif_reread(const struct state_file *state, const struct policy *policy, struct arena *a, struct ledger **ret,
                  struct err *reterr)
{
    const struct ledger_limits limits = ledger_limits_of(policy, state->limits.hash_key);
    struct ledger *l = ledger_new(&limits);
    int rc = apply_state(l, state, policy, a, reterr);

    if (rc != 0) {
        ledger_free(l);
        return rc;
    }
    *ret = l;
    return 0;
}
