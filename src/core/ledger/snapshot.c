#include "core/ledger/snapshot.h"

#include "core/ledger/node_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/snapshot_internal.h"
#include "core/ledger/state.h"

static void add_device_totals(const struct device_state *s, struct snapshot *ret)
{
    ret->device_n += !device_is_instance(s); /* physical ones, as far as they are known */
    ret->overcommitted_n += device_is_overcommitted(s);
    if (s->profile == DEVICE_IN_MIG_MODE) {
        return; /* counted by its instances */
    }
    ret->milli_cap += s->milli_cap;
    ret->milli_charged += (int64_t)s->milli_cap - s->milli_free;
    ret->mem_cap_mib += s->mem_cap_mib;
    ret->mem_charged_mib += (int64_t)s->mem_cap_mib - s->mem_free_mib;
}

void snapshot_totals(const struct ledger *l, struct snapshot *ret)
{
    struct ledger_turned_away turned_away;

    *ret = (struct snapshot){.generation = l->generation};
    for (uint32_t i = 0; i < l->node_n; i++) {
        ret->node_n += l->nodes[i].used && l->nodes[i].described;
        if (l->nodes[i].used && l->nodes[i].described) {
            ret->elsewhere_n += ledger_is_elsewhere(&l->nodes[i]);
            ret->unmeasured_n += l->nodes[i].unmeasured;
        }
        if (l->nodes[i].used && l->nodes[i].closed) {
            ret->closed_n++;
            ret->pod_on_closed_n += l->nodes[i].pod_n;
        }
        for (uint32_t j = 0; l->nodes[i].described && j < l->rows[i].device_n; j++) {
            add_device_totals(&l->states[l->rows[i].first_device + j], ret);
        }
    }
    for (size_t i = 0; i < LEDGER_POD_STATE__MAX; i++) {
        ret->pods_by_state[i] = l->pods_by_state[i];
    }
    for (size_t i = 0; i < INCIDENT_KIND__MAX; i++) {
        ret->incidents[i] = ledger_incident_count(l, (enum incident_kind)i);
    }
    ledger_turned_away(l, &turned_away);
    ret->turned_away_n = turned_away.pod_n;
    ret->turned_away_total_n = turned_away.total_n;
    ret->uncounted_n = turned_away.node_n;
    ret->pod_n = l->pod_used_n;
}

size_t snapshot_unmeasured(const struct ledger *l, struct str *ret, size_t max)
{
    size_t n = 0;

    for (uint32_t i = 0; i < l->node_used_n && n < max; i++) {
        const struct node_entry *node = &l->nodes[l->by_name[i]];

        if (node->described && node->unmeasured) {
            ret[n++] = l->names[l->by_name[i]];
        }
    }
    return n;
}

bool snapshot_wants(const struct snapshot_taker *t, const struct pod_entry *p)
{
    return t->namespace_.n == 0 || str_eq(t->namespace_, p->namespace_);
}

/* Is what the pod asked for to be seen from what it holds? */
static bool allocations_tell(const struct ledger *l, const struct pod_entry *p)
{
    struct placement at;

    return p->node != LEDGER_NONE && !ledger_pod_is_counted(&l->rows[p->node], p) &&
           (p->demand->plugin_managed_n > 0 || ledger_pod_placement(&l->nodes[p->node], p, &at));
}

void snapshot_take_pod(struct snapshot_taker *t, const struct pod_entry *p)
{
    struct str decision = str_of(p->decision_id);
    char *at = arena_alloc(t->a, p->namespace_.n + p->name.n + p->uid.n + decision.n);

    if (at == NULL) {
        return;
    }
    t->pods[t->pod_n++] = (struct snapshot_pod){
        .namespace_ = str_put(&at, p->namespace_),
        .name = str_put(&at, p->name),
        .uid = str_put(&at, p->uid),
        .node_name = p->node == LEDGER_NONE ? STR_NULL : t->node_name,
        .decision_id = str_put(&at, decision),
        .dialect = p->demand->dialect, /* static text of the dialect table */
        .state = p->state,
        .defect = p->demand->defect,
        .deleting = p->deleting,
        .conflict = p->conflict != NULL,
        .conflict_text = p->conflict,
        .plugin_managed_n = p->demand->plugin_managed_n,
        .priority = p->priority,
        .source = p->demand->source,
        .qos = p->qos,
        .record = p->record_parts == NULL ? RECORD_UNSIGNED : p->trust,
        .granted = p->record_parts != NULL,
        .demand = allocations_tell(t->l, p) ? NULL : demand_copy_to(p->demand, t->a),
        .since_ms = p->since_ms,
    };
    if (p->node != LEDGER_NONE && p->ref_n == 0 && demand_may_be_counted(p->demand) &&
        !ledger_is_counted(&t->l->rows[p->node], p->demand) && t->l->nodes[p->node].described) {
        struct snapshot_pod *taken = &t->pods[t->pod_n - 1];

        taken->state = LEDGER_FOREIGN; /* no plugin of this node picked its instance */
        taken->conflict = true;
        taken->conflict_text = ledger_conflict_no_record;
    }
}

bool snapshot_shows_node(const struct ledger *l, uint32_t node)
{
    return l->nodes[node].used && (l->nodes[node].described || l->nodes[node].pod_n > 0);
}
