/* Cores and memory of the machines: what each has left, beside the pods with GPUs and those without
 * (ledger/cpu_only.c). */
#include "core/ledger/host_sums.h"
#include "core/ledger/state.h"
#include "core/ledger/snapshot_iterators.h"

static int32_t saturate(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

void host_sum_add(struct host_sum *s, struct host_request r)
{
    s->cpu_milli += r.cpu_milli;
    s->mem_mib += r.mem_mib;
}

void host_sum_subtract(struct host_sum *s, struct host_request r)
{
    s->cpu_milli -= r.cpu_milli;
    s->mem_mib -= r.mem_mib;
}

static int32_t left_of(int32_t cap, int64_t asked)
{
    return cap == 0 ? 0 : saturate(cap - asked);
}

struct host_state ledger_host_left(const struct node_entry *n, const struct host_sum *with_gpus)
{
    struct host_sum asked = n->cpu_only_host;

    asked.cpu_milli += with_gpus->cpu_milli;
    asked.mem_mib += with_gpus->mem_mib;
    host_sum_add(&asked, n->host_taken);
    return (struct host_state){
        .cpu_cap_milli = n->host.cpu_milli,
        .cpu_free_milli = left_of(n->host.cpu_milli, asked.cpu_milli),
        .mem_cap_mib = n->host.mem_mib,
        .mem_free_mib = left_of(n->host.mem_mib, asked.mem_mib),
    };
}

bool ledger_node_has_gpus(const struct ledger *l, uint32_t node)
{
    return l->nodes[node].device_n > 0 || l->rows[node].plugin_managed_cap > 0;
}

void ledger_host_changed(struct ledger *l, uint32_t node)
{
    struct node_state *row = &l->rows[node];
    struct host_state left = ledger_host_left(&l->nodes[node], &l->nodes[node].host_asked);
    bool more;

    if (left.cpu_free_milli == row->host.cpu_free_milli && left.mem_free_mib == row->host.mem_free_mib) {
        return;
    }
    more = left.cpu_free_milli > row->host.cpu_free_milli || left.mem_free_mib > row->host.mem_free_mib;
    ledger_iterators_node_changes(l, node);
    row->host = left;
    if (ledger_node_has_gpus(l, node)) { /* of others no score is remembered */
        row->version = ledger_next_version(l, node);
        l->nodes[node].gained = more ? l->version : l->nodes[node].gained;
    }
}

void ledger_pod_set_host(struct ledger *l, struct pod_entry *p, struct host_request host)
{
    struct host_request before = p->demand->host;

    if (before.cpu_milli == host.cpu_milli && before.mem_mib == host.mem_mib) {
        return;
    }
    p->demand->host = host;
    if (p->node != LEDGER_NONE) {
        host_sum_subtract(&l->nodes[p->node].host_asked, before);
        host_sum_add(&l->nodes[p->node].host_asked, host);
        ledger_host_changed(l, p->node);
    }
}
