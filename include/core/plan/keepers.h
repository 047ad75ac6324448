/* core/plan/keepers.h - pods whose required anti-affinity may keep others off nodes.
 *
 * kube-scheduler's InterPodAffinity refuses a node where a pod runs, or is nominated, whose required anti-affinity
 * selects the newcomer. The selectors and topologies of others are not known here, only that there are some. So where a
 * pod with one is seen, nobody whom it may mean is planned: the pods of its namespace, or all if its terms name others
 * (POD_KEEPS_OTHERS_OFF and POD_KEEPS_ALL_OFF, model/pod.h). Pods that wait count as those that run do, because they
 * may run by the time the plan comes true.
 *
 * KEEPERS_MAX pods are known; of more, nobody whom those may mean is planned until a list shows fewer. About 100 bytes
 * each. O(1). No lock.
 */
#ifndef CORE_PLAN_KEEPERS_H
#define CORE_PLAN_KEEPERS_H

#include "base/compiler.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define KEEPERS_MAX 32768

struct keepers;
struct keepers *keepers_new(void);
void keepers_free(struct keepers *k); /* NULL is fine */

/* A pod as it was observed; `only` of struct pod.scheduler_only. One without either bit is none, and is forgotten. */
void keepers_observed(struct keepers *k, struct str uid, struct str namespace_, unsigned only);
void keepers_gone(struct keepers *k, struct str uid);
/* Around a list of all pods: after a complete one, who was not observed since it began is forgotten. */
void keepers_list_begin(struct keepers *k);
void keepers_list_end(struct keepers *k, bool complete);

/* May a pod of this namespace be kept off some node by another's anti-affinity? */
bool keepers_mean(const struct keepers *k, struct str namespace_);

#endif
