/* What the journal holds: shown, and told to other ledgers. */
#include "core/support/simulation.h"
#include "support/cmocka.h"

#include <stdlib.h>

struct ledger_op simulation_op(const struct simulation_fact *f)
{
    struct ledger_op op = {.kind = f->kind, .at_ms = 1};

    if (f->kind == LEDGER_POD_OBSERVED) {
        op.pod = (struct ledger_pod_fact){.uid = f->pod->uid,
                                          .namespace_ = f->pod->namespace_,
                                          .name = f->pod->name,
                                          .node_name = f->pod->node_name,
                                          .deleting = f->pod->deleting,
                                          .demand = f->pod->demand,
                                          .assignment = f->pod->record,
                                          .label_hashes = f->pod->labels,
                                          .label_n = f->pod->label_n};
    } else if (f->kind == LEDGER_NODE_DESCRIBED) {
        op.node = (struct ledger_node_fact){.name = f->node->name,
                                            .uid = f->node->uid,
                                            .schedulable = f->node->schedulable,
                                            .host = f->node->host,
                                            .inventory = &f->node->inventory};
    } else if (f->pod != NULL || f->node != NULL) {
        op.name = f->pod != NULL ? f->pod->uid : f->node->name;
    }
    return op;
}

/* What the ledger was told about one pod or node. */
static void print_facts(const struct simulation *s, struct str about)
{
    for (size_t i = 0; i < s->journal_n; i++) {
        const struct simulation_fact *f = &s->journal[i];
        const struct cluster_model_pod *p = f->pod;

        if (p != NULL && (str_eq(p->uid, about) || str_eq(p->node_name, about))) {
            print_error("%zu: %.*s op %d node \"%.*s\" record \"%.*s\" demand %s %zu gpu_requests%s%s%s\n", i,
                        STR_ARG(p->uid), (int)f->kind, STR_ARG(p->node_name),
                        STR_ARG(p->record == NULL ? STR_NULL : p->record->id), demand_defect_name(p->demand->defect),
                        p->demand->gpu_request_n, p->editable ? ", editable" : "", p->scarred ? ", scarred" : "",
                        p->deleting ? ", deleting" : "");
        } else if (f->node != NULL && str_eq(f->node->name, about)) {
            print_error("%zu: node op %d, version %u, %zu devices\n", i, (int)f->kind, f->node->changes,
                        f->node->inventory.device_n);
        } else if (p == NULL && f->node == NULL) {
            print_error("%zu: op %d\n", i, (int)f->kind);
        }
    }
}

void simulation_fail(const struct simulation *s, const char *why, struct str about)
{
    if (about.n > 0) {
        print_facts(s, about);
    }
    fail_msg("seed %llu, step %u (%s): %s [%.*s]", (unsigned long long)s->seed, s->step, s->action, why,
             STR_ARG(about));
    abort();
}

void simulation_replay(const struct simulation *s, struct ledger *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct ledger_op op = simulation_op(&s->journal[i]);

        if (ledger_apply(l, &op, NULL) != 0 || ledger_check(l) != NULL) {
            simulation_fail(s, "replay breaks an invariant", str_of(ledger_check(l)));
        }
    }
}

static void fold_fact(const struct simulation *s, struct ledger *l, struct simulation_fact f)
{
    struct ledger_op op = simulation_op(&f);

    if (ledger_apply(l, &op, NULL) != 0 || ledger_check(l) != NULL) {
        simulation_fail(s, "a fresh ledger is broken", str_of(ledger_check(l)));
    }
}

struct ledger *simulation_fold(struct simulation *s)
{
    struct ledger *l = ledger_new(&s->limits);
    struct simulation_fact facts[CLUSTER_MODEL_PODS_MAX + CLUSTER_MODEL_NODES] = {0};
    size_t n = 0;

    for (unsigned i = 0; i < s->w.pod_n + CLUSTER_MODEL_NODES; i++) {
        struct simulation_fact f = {.kind = LEDGER_POD_OBSERVED};
        size_t at = cluster_model_below(&s->w, (unsigned)n + 1);

        if (i < s->w.pod_n) {
            f.pod = s->w.pods[i];
        } else {
            f.kind = LEDGER_NODE_DESCRIBED;
            f.node = s->w.nodes[i - s->w.pod_n];
        }
        if (f.pod != NULL || f.node != NULL) {
            facts[n++] = facts[at];
            facts[at] = f;
        }
    }
    fold_fact(s, l, (struct simulation_fact){.kind = LEDGER_NODES_BEGIN});
    fold_fact(s, l, (struct simulation_fact){.kind = LEDGER_PODS_BEGIN});
    for (size_t i = 0; i < n; i++) {
        fold_fact(s, l, facts[i]);
    }
    fold_fact(s, l, (struct simulation_fact){.kind = LEDGER_NODES_END});
    fold_fact(s, l, (struct simulation_fact){.kind = LEDGER_PODS_END});
    return l;
}
