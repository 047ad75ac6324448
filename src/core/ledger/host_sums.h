/* core/ledger/host_sums.h - cores and memory of the machines: what pods ask for, added up, and what is left. */
#ifndef CORE_LEDGER_HOST_SUMS_H
#define CORE_LEDGER_HOST_SUMS_H

#include "core/fit/device_state.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct node_entry;
struct pod_entry;

/* What pods ask of a machine, together. Incremental: see ledger/cpu_only.c. */
struct host_sum {
    int64_t cpu_milli;
    int64_t mem_mib;
};

void host_sum_add(struct host_sum *s, struct host_request r);
void host_sum_subtract(struct host_sum *s, struct host_request r);
bool ledger_node_has_gpus(const struct ledger *l, uint32_t node);
/* What the pods without GPUs and `with_gpus` leave of the machine. */
struct host_state ledger_host_left(const struct node_entry *n, const struct host_sum *with_gpus);
/* Said after a change of the node's sums. */
void ledger_host_changed(struct ledger *l, uint32_t node);
/* What is asked of the machine by the latest observation, attached or not. */
void ledger_pod_set_host(struct ledger *l, struct pod_entry *p, struct host_request host);

#endif
