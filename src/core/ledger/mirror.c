#include "core/ledger/mirror.h"

#include "base/bug.h"
#include "base/shared_text.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>
#include <string.h>

void mirror_init(struct mirror *m)
{
    *m = (struct mirror){.node_n = 0};
}

void mirror_fini(struct mirror *m)
{
    for (uint32_t i = 0; i < m->node_cap; i++) {
        shared_text_drop(m->names[i]);
    }
    free(m->nodes);
    free(m->names);
    free(m->open);
    free(m->rules);
    free(m->pod_n);
    free(m->devices);
    mirror_init(m);
}

void mirror_grow(struct mirror *m)
{
    uint32_t before = m->node_cap;

    if (m->node_want > m->node_cap) {
        m->node_cap = m->node_want + m->node_want / 8;
        m->nodes = xreallocarray(m->nodes, m->node_cap, sizeof(*m->nodes));
        m->names = xreallocarray(m->names, m->node_cap, sizeof(*m->names));
        m->open = xreallocarray(m->open, m->node_cap, sizeof(*m->open));
        m->rules = xreallocarray(m->rules, m->node_cap, sizeof(*m->rules));
        m->pod_n = xreallocarray(m->pod_n, m->node_cap, sizeof(*m->pod_n));
        memset(m->nodes + before, 0, (m->node_cap - before) * sizeof(*m->nodes));
        memset(m->names + before, 0, (m->node_cap - before) * sizeof(*m->names));
    }
    if (m->device_want > m->device_cap) {
        m->device_cap = m->device_want + m->device_want / 8;
        m->devices = xreallocarray(m->devices, m->device_cap, sizeof(*m->devices));
    }
}

bool mirror_follow(struct mirror *m, const struct ledger *l)
{
    m->node_want = l->node_n;
    m->device_want = l->state_n;
    if (m->node_want > m->node_cap || m->device_want > m->device_cap) {
        return false;
    }
    for (uint32_t i = 0; i < l->node_n; i++) {
        const struct node_state *row = &l->rows[i];

        if (m->names[i].p != l->names[i].p) { /* as long as it is held here, no other has its address */
            shared_text_drop(m->names[i]);
            m->names[i] = shared_text_take(l->names[i]);
        }
        m->open[i] = l->nodes[i].described && l->nodes[i].schedulable && !l->nodes[i].closed && !l->nodes[i].shut;
        m->rules[i] = l->nodes[i].rules;
        m->pod_n[i] = l->nodes[i].pod_n + l->nodes[i].cpu_only_n;
        /* Versions are never given twice, so an equal one stands for equal numbers at an equal
         * place; free places have none. */
        if (row->version == m->nodes[i].version && row->version != 0) {
            continue;
        }
        m->nodes[i] = *row;
        if (row->device_n > 0) {
            memcpy(m->devices + row->first_device, l->states + row->first_device, row->device_n * sizeof(*m->devices));
        }
    }
    m->node_n = l->node_n;
    m->names_version = l->names_version;
    m->generation = l->generation;
    return true;
}

static bool is_pod(const struct pod_entry *p, const void *ctx)
{
    const struct str *uid = ctx;

    return str_eq(p->uid, *uid);
}

void mirror_without(struct mirror *m, const struct ledger *l, struct str uid)
{
    uint32_t pod = ledger_pod_lookup(l, uid);
    uint32_t node = pod == LEDGER_NONE ? LEDGER_NONE : l->pods[pod].node;
    struct device_state states[DEVICES_PER_NODE_MAX];
    struct node_state row;

    if (node == LEDGER_NONE) {
        return;
    }
    ledger_without(l, node, is_pod, &uid, &row, states);
    row.first_device = m->nodes[node].first_device;
    row.version = 0;
    m->nodes[node] = row;
    if (row.device_n > 0) {
        memcpy(m->devices + row.first_device, states, row.device_n * sizeof(*states));
    }
}
