/* A saved cluster as the one that is replayed on. */
#include "sim/trace.h"

#include "core/ledger/ledger.h"
#include "core/ledger/view.h"
#include "model/device.h"

#define VIEW_BYTES_MAX ((size_t)64 << 20)

/* What counts as GPUs of a node: its devices, or where none is known those of its plugin. */
static void add_node(struct trace *t, const struct ledger_view *v, const struct node_state *n)
{
    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *d = &v->devices[n->first_device + i];

        if ((d->flags & DEVICE_LOST) == 0) {
            t->capacity_milli += d->milli_cap;
            t->placed_milli += d->milli_cap - (d->milli_free > 0 ? d->milli_free : 0);
        }
    }
    if (n->device_n == 0) {
        t->capacity_milli += plugin_units_milli(n->plugin_managed_cap, n->plugin_managed_per_gpu);
    }
    t->placed_milli += plugin_units_milli(n->plugin_managed_used, n->plugin_managed_per_gpu);
}

static int add_nodes(struct trace *t, const struct ledger *l, struct arena *a, struct err *reterr)
{
    const struct demand none = {.dialect = ""};
    struct ledger_view v;
    int rc = ledger_view(l, a, &(struct view_pod){.demand = &none}, &v, reterr);

    if (rc != 0) {
        return rc;
    }
    t->node_n = v.node_n;
    t->capacity_milli = t->placed_milli = 0;
    for (uint32_t i = 0; i < v.node_n; i++) {
        add_node(t, &v, &v.nodes[i]);
    }
    return 0;
}

int trace_use_state(struct trace *t, const struct state_file *f, struct err *reterr)
{
    struct ledger *l;
    struct arena a;
    int rc = state_file_ledger(f, &l, reterr);

    if (rc != 0) {
        return rc;
    }
    arena_init(&a, VIEW_BYTES_MAX);
    rc = add_nodes(t, l, &a, reterr);
    arena_fini(&a);
    ledger_free(l);
    t->state = f;
    if (rc == 0 && t->capacity_milli == 0) {
        rc = err_set(reterr, ERR_INVALID, "the saved state has no GPU; nothing can be packed");
    }
    return rc;
}
