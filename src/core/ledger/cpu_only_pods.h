/* core/ledger/cpu_only_pods.h - bound pods without GPUs: a table of hashes, and a sum for each node: cpu_only.c. */
#ifndef CORE_LEDGER_CPU_ONLY_PODS_H
#define CORE_LEDGER_CPU_ONLY_PODS_H

#include "base/str.h"
#include "core/ledger/host_sums.h"
#include "core/request/demand.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct ledger_pod_fact;

/* A pod without GPUs that is bound: a few bytes, because they may be many. A keyed hash stands for the UID; should
 * two ever be the same, a node shows a little more than it has. */
struct cpu_only_pod {
    uint64_t id;
    struct host_request host;
    uint32_t node; /* LEDGER_NONE: an empty slot */
    uint32_t epoch : 31;
    uint32_t counted : 1; /* in the demand histogram */
};

struct cpu_only_pods {
    struct cpu_only_pod *slots;
    uint32_t slot_n;
    uint32_t used_n;
};

/* A bound one. `counted`: the demand histogram has it already. */
void ledger_cpu_only_observed(struct ledger *l, const struct ledger_pod_fact *f, bool counted);
/* It is kept in full from now on. Was it in the demand histogram? */
bool ledger_cpu_only_forget(struct ledger *l, struct str uid);
void ledger_cpu_only_gone(struct ledger *l, struct str uid); /* if it was one */
void ledger_cpu_only_sweep(struct ledger *l);                /* those that the list of this epoch did not have */
/* The node may have GPUs now, all nodes and pods may be known now: more pods belong into the demand histogram. */
void ledger_cpu_only_node_described(struct ledger *l, uint32_t node);
void ledger_cpu_only_synced(struct ledger *l);

/* What the check counts, per node. */
struct cpu_only_sum {
    struct host_sum host;
    uint32_t pod_n;
    uint32_t uncounted_n;
};

const char *ledger_check_cpu_only(const struct ledger *l, struct cpu_only_sum *ret_by_node);

#endif
