#include "core/fit/cluster_view.h"

const uint8_t *models_allowed(const struct intern *models, const struct demand *d, uint8_t *ret)
{
    uint32_t n = intern_count(models);

    if (d->model_n == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        ret[i] = demand_allows_model(d, intern_text(models, i));
    }
    return ret;
}
