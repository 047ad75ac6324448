#include "core/strategies/strategies_internal.h"

const struct strategy *const strategies[] = {
    &strategy_binpack,
    &strategy_spread,
    &strategy_best_fit,
    NULL,
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
