#include "core/ledger/sight.h"

#include "base/bug.h"
#include "core/ledger/state.h"

#include <stdlib.h>

void ledger_sight_init(struct ledger_sight *s)
{
    *s = (struct ledger_sight){.models = NULL};
    tenancy_init(&s->tenancy, (struct hash_key){0x74656e61, 0x6e7473});
}

void ledger_sight_fini(struct ledger_sight *s)
{
    free(s->models);
    free(s->residuals);
    tenancy_fini(&s->tenancy);
    ledger_sight_init(s);
}

/* One block: the texts lie behind the array. */
static void copy_models(struct ledger_sight *s, const struct intern *models)
{
    size_t bytes = 0;
    char *at;

    if (s->models != NULL && s->model_version == intern_version(models) && s->model_n == intern_count(models)) {
        return;
    }
    free(s->models);
    s->model_n = intern_count(models);
    s->model_version = intern_version(models);
    for (uint32_t i = 0; i < s->model_n; i++) {
        bytes += intern_text(models, i).n;
    }
    s->models = xmalloc((s->model_n + 1) * sizeof(*s->models) + bytes);
    at = (char *)(s->models + s->model_n);
    for (uint32_t i = 0; i < s->model_n; i++) {
        s->models[i] = str_put(&at, intern_text(models, i));
    }
}

static void copy_tenants(struct ledger_sight *s, const struct tenancy *from)
{
    struct tenant *tenants;

    if (s->tenancy.tenant_n == 0 && from->tenant_n == 0) {
        return;
    }
    tenants = xcalloc(from->tenant_n + 1, sizeof(*tenants));
    s->residuals = xreallocarray(s->residuals, from->tenant_n + 1, sizeof(*s->residuals));
    for (uint32_t i = 0; i < from->tenant_n; i++) {
        tenants[i] = from->tenants[i].limits;
        s->residuals[i] = tenancy_residual(from, i);
    }
    tenancy_set(&s->tenancy, tenants, from->tenant_n);
    free(tenants);
}

void ledger_sight_take(struct ledger_sight *s, const struct ledger *l)
{
    copy_models(s, l->models);
    copy_tenants(s, &l->tenancy);
    s->isolates = l->isolating_n > 0;
    s->sliced = l->sliced;
    s->synced = ledger_is_synced(l);
}
