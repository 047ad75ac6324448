/* core/ledger/numbers.h - the numbers of a node, derived from its inventory and its pods. */
#ifndef CORE_LEDGER_NUMBERS_H
#define CORE_LEDGER_NUMBERS_H

#include "core/fit/device_state.h"
#include "core/fit/placement.h"
#include "core/ledger/device_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger;
struct host_sum;
struct ledger_device;
struct node_entry;
struct pod_entry;

/* ---- of a node (recompute.c, without.c) ---- */

void ledger_recompute(struct ledger *l, uint32_t node);
/* Does the pod leave? */
typedef bool ledger_leaves_fn(const struct pod_entry *p, const void *ctx);
/* The numbers of a node whose devices are empty in `states`, from what its pods are charged, but for those that leave
 * (NULL: nobody does). */
void ledger_add_up(const struct ledger *l, uint32_t node, ledger_leaves_fn *leaves, const void *ctx,
                   struct node_state *row, struct device_state *states, struct host_sum *ret_asked);
/* The node's numbers without the pods that leave. ret_states has room for DEVICES_PER_NODE_MAX. */
void ledger_without(const struct ledger *l, uint32_t node, ledger_leaves_fn *leaves, const void *ctx,
                    struct node_state *ret_row, struct device_state *ret_states);
/* Flags in `states` (the node's own copy) what isolation and UUID lists deny to this demand. `leaves` may be
 * NULL. */
void ledger_mark_denied(const struct ledger *l, uint32_t node, struct device_state *states, struct str namespace_,
                        struct str uid, const struct demand *d, const uint64_t *label_hashes, size_t label_n,
                        ledger_leaves_fn *leaves, const void *ctx);

/* ---- what they are made of (charges.c, counted.c) ---- */

/* A device that nobody uses. */
struct device_state ledger_empty_state(const struct node_entry *n, const struct ledger_device *d);
/* The devices of `p` as a placement over the node's ordinals; false when they are not all known. */
bool ledger_pod_placement(const struct node_entry *n, const struct pod_entry *p, struct placement *ret);
/* Devices that containers of one phase want, none of them shared between containers: the peak over the phases, as
 * kubelet counts. Of this profile; -1: of any. */
int32_t ledger_devices_at_once(const struct demand *d, int profile);
/* Its bit of node_state.pod_classes, from its charges; 0: it holds nothing here. */
uint8_t ledger_pod_class(const struct node_entry *n, const struct pod_entry *p);
/* Raises each dimension of `c` to that of `floor`. */
void ledger_charge_max(struct charge *c, const struct charge *floor);
/* Raises what is known to have been charged on a device. */
void ledger_floor_raise(struct pod_entry *p, struct device_ref ref, const struct charge *c);
/* Charges what kubelet picked: devices that are not in `taken` (bits). */
void ledger_charge_counted(struct ledger *l, uint32_t node, uint64_t taken);
/* Flags GPUs and instances that are held in their other form. */
void ledger_block_other_form(const struct node_entry *n, struct device_state *states);

#endif
