#include "core/placement/strategies/strategies_internal.h"

const struct strategy *const strategies[] = {
    &strategy_binpack,     &strategy_spread,         &strategy_tight_fit, &strategy_best_fit, &strategy_dot_product,
    &strategy_gpu_packing, &strategy_gpu_clustering, &strategy_fgd,       &strategy_rsp,      NULL,
};

const struct strategy *strategy_find(struct str name)
{
    for (size_t i = 0; strategies[i] != NULL; i++) {
        if (str_eq_cstr(name, strategies[i]->name)) {
            return strategies[i];
        }
    }
    return NULL;
}
