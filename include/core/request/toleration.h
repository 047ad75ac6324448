/* core/request/toleration.h - whom the taints of a node keep off it.
 *
 * kube-scheduler judges this in its own filters; but a bind may come from whoever reaches the verb, so bind judges
 * again (ledger_place_pod). Rules: core/v1 Toleration.ToleratesTaint of Kubernetes 1.36, and the scheduler's
 * NodeUnschedulable, for which a cordoned node has the taint node.kubernetes.io/unschedulable:NoSchedule. Only
 * NoSchedule and NoExecute keep pods off; tolerationSeconds says when a running pod must leave, and nothing here. Lt
 * and Gt, an alpha of 1.35, are understood always: where it is off, the API server lets no pod write them.
 */
#ifndef CORE_REQUEST_TOLERATION_H
#define CORE_REQUEST_TOLERATION_H

#include "base/arena.h"
#include "model/node.h"
#include "model/pod.h"

/* What one pod may have of them, in number and in bytes of text. One with more tolerates nothing: it is not for a
 * tenant to say how much memory a pending pod takes. */
#define TOLERATIONS_MAX 256
#define TOLERATIONS_BYTES_MAX 65536

#define TAINT_CORDON_KEY "node.kubernetes.io/unschedulable"

/* Is there, for every taint that keeps pods off, a toleration that matches? */
bool toleration_admits(const struct toleration *tolerations, size_t toleration_n, const struct taint *taints,
                       size_t taint_n);

/* The taints that keep pods off a node, that of a cordoned one among them; text borrowed, array in `a`. False when
 * the arena is full. */
WARN_UNUSED bool taints_of_node(const struct node *node, struct arena *a, const struct taint **ret, size_t *ret_n);

/* Puts a copy in one malloc'ed block in place of *list (NULL: none), of tolerations without those that match no taint
 * that keeps pods off. Nothing is done when it says the same already. */
void taints_replace(struct taint **list, size_t *list_n, const struct taint *taints, size_t n);
void tolerations_replace(struct toleration **list, size_t *list_n, const struct toleration *tolerations, size_t n);
bool taints_equal(const struct taint *a, size_t a_n, const struct taint *b, size_t b_n);
bool tolerations_equal(const struct toleration *a, size_t a_n, const struct toleration *b, size_t b_n);

#endif
