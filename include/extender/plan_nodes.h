/* extender/plan_nodes.h - which nodes the pods of a plan get: the pure half (core/plan) on what is known now.
 *
 * Keeps what kube-scheduler's own filters look at in each node, where planning ahead is on, and a mirror of the ledger.
 * The store's lock is held for as long as changed nodes take to copy; the search is made on the mirror, in at most
 * PLAN_NODES_WORK_MAX judgements and comparisons of nodes.
 *
 * Lock: its own, a leaf, of the facts of nodes; held for a search, so that who reads nodes may wait some milliseconds.
 */
#ifndef EXTENDER_PLAN_NODES_H
#define EXTENDER_PLAN_NODES_H

#include "extender/planner.h"
#include "model/node.h"

#define PLAN_NODES_WORK_MAX 200000

struct plan_nodes;
struct policy_set;

struct plan_nodes *plan_nodes_new(void);
void plan_nodes_free(struct plan_nodes *n); /* NULL is fine */

/* What is read of nodes; a NULL `n` is fine. A node that cannot be read is not known. */
void plan_nodes_observed(struct plan_nodes *n, const struct node *node);
void plan_nodes_gone(struct plan_nodes *n, struct str name);
/* A list of all nodes begins: none is known until it is read again. */
void plan_nodes_list_begin(struct plan_nodes *n);

/* For planner_options.choose, by the rules that are current; for one thread. */
size_t plan_nodes_choose(struct plan_nodes *n, struct policy_set *policies, struct planner_question *q);

#endif
