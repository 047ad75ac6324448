/* core/inventory/internal.h - the pieces of what describes a machine. Contract: core/inventory/draft.h. */
#ifndef CORE_INVENTORY_INTERNAL_H
#define CORE_INVENTORY_INTERNAL_H

#include "core/inventory/draft.h"

/* The first template of the configuration for the node; NULL: none. */
const struct node_template *inventory_template(const struct inventory_draft *d);
/* Labels of GPU Feature Discovery and fgpu-node speak of NVIDIA's GPUs. Else the names in allocatable say it; where
 * they are of several vendors, nobody says which of them an annotation or a template means but that nearly all are
 * NVIDIA's. */
enum gpu_vendor inventory_vendor(const struct inventory_draft *d, enum inventory_source source);
/* Where a label names the profile of virtual GPUs, it holds for every device found. */
void inventory_apply_profile(struct inventory_draft *d);
/* MIG instances of which only their numbers are known: what NVIDIA's plugin publishes, single or mixed. */
enum source_result inventory_from_mig_plugin(struct inventory_draft *d);
/* Instances that the annotation lists and a plugin hands out are counted; where their numbers differ, the smaller. */
void inventory_compare_mig_plugin(struct inventory_draft *d);
/* Is the MIG layout of the node as the MIG manager wants it? */
bool inventory_mig_is_changing(const struct node *node);

#endif
