#include "core/placement/strategies/strategies_internal.h"

/* A part that is 0 is none. */
static size_t keep(struct score_part *ret, size_t n, enum score_part_kind kind, int64_t value)
{
    ret[n] = (struct score_part){.kind = kind, .value = value};
    return value != 0 ? n + 1 : n;
}

/* The division of node_used_share() is one of the sum, so the second part is what the first one leaves. */
size_t node_used_share_parts(const struct strategy_node *n, int64_t sign, struct score_part *ret)
{
    int64_t all = node_used_share(n), used = 0, compute = 0;
    size_t part_n;

    for (size_t i = 0; i < n->device_n; i++) {
        used += 2 * SHARE_ALL - share_free(&n->after[i]);
        compute += SHARE_ALL - share_free_milli(&n->after[i]);
    }
    if (n->device_n == 0 || used / (int64_t)n->device_n != all) {
        return keep(ret, 0, SCORE_PART_USED_UNITS, sign * all);
    }
    compute /= (int64_t)n->device_n;
    part_n = keep(ret, 0, SCORE_PART_USED_COMPUTE, sign * compute);
    return keep(ret, part_n, SCORE_PART_USED_MEMORY, sign * (all - compute));
}

int64_t node_used_share(const struct strategy_node *n)
{
    int64_t used = 0, whole = 0;

    for (size_t i = 0; i < n->device_n; i++) {
        used += 2 * SHARE_ALL - share_free(&n->after[i]);
    }
    if (n->device_n > 0) {
        used /= (int64_t)n->device_n;
    }
    if (n->plugin_managed_cap > 0) {
        whole =
            2 * (int64_t)SHARE_ALL * ((int64_t)n->plugin_managed_cap - n->plugin_managed_free) / n->plugin_managed_cap;
    }
    return used > whole ? used : whole;
}
