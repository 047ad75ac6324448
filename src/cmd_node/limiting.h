/* cmd_node/limiting.h - what keeps containers to their shares, carried out: node/limits.h decides, the limit helper
 * (cmd_node/limit_helper.h) tells the driver, MPS's daemon is asked whether it is there.
 *
 * Two threads: the plugin's answers about containers; the main thread tries the driver until it is known whether its
 * limits hold, and tells it what the plugin had no time for. One lock keeps what is known, and nothing waits under it;
 * another one is held while the driver is told, at most LIMIT_RUNNING_WITHIN_MS, which a container that starts waits at
 * worst.
 */
#ifndef CMD_NODE_LIMITING_H
#define CMD_NODE_LIMITING_H

#include "base/log.h"
#include "cmd_node/limit_helper.h"
#include "cmd_node/options.h"
#include "node/agent.h"
#include "node/limits.h"
#include "nri/plugin.h"
#include "nvml/inventory.h"

struct limiting;

/* `options` and `log` must outlive it. */
struct limiting *limiting_new(const struct node_options *options, const struct log *log);
void limiting_free(struct limiting *l);

#define LIMIT_RUNNING_WITHIN_MS 500 /* for all containers that run already, at a time */

/* Before the plugin runs. Negative: the kind that the admin named cannot hold on this node; the text says why. A driver
 * that does not work yet is no such reason: limiting_look tries it again. */
WARN_UNUSED int limiting_found_library(struct limiting *l, const struct nvml *n, struct err *reterr);
/* The same for a node that is like this. */
WARN_UNUSED int limiting_found_node(struct limiting *l, const struct limits_node *node,
                                    const struct limit_helper_options *helper, struct err *reterr);
/* On the main thread, again and again: tries the driver until it says yes or no, LIMIT_TRY_WITHIN_MS at most. Negative
 * as above. */
WARN_UNUSED int limiting_look(struct limiting *l, struct err *reterr);

/* Now it is known whether the start of a container can fail. */
void limiting_connected(struct limiting *l, const struct nri_runtime *runtime);
/* The kind; why it is not the driver where that was asked for, else empty. */
enum limits_kind limiting_kind(struct limiting *l, char ret_not_by_driver[ERR_MSG_MAX]);

/* Adds to *ret what the container gets beside its devices. False: it must not be created; *ret_why is the sentence. */
WARN_UNUSED bool limiting_create(struct limiting *l, const struct pod_facts *pod, const struct container_facts *c,
                                 const struct hand_over *h, struct arena *a, struct nri_adjustment *ret,
                                 struct str *ret_why);

/* What the driver is to be told before this container runs, texts in `a`; nothing with most kinds. Waits for nobody. */
size_t limiting_wanted(struct limiting *l, const struct agent *agent, const struct node_facts *node,
                       struct str container_id, struct arena *a, struct limits_memory ret[DEVICES_PER_NODE_MAX]);
/* Tells the driver and waits, LIMIT_WITHIN_MS at most. Negative: the container must not run. With auto it may while the
 * driver was not tried yet; it gets its limit as soon as that is done. */
WARN_UNUSED int limiting_start(struct limiting *l, struct str container_id, uint32_t pid,
                               const struct limits_memory *limits, size_t n, struct err *reterr);

void limiting_ended(struct limiting *l, struct str container_id);

/* ---- what runs when the agent comes: it may have been created by one before, and started by none ---- */

void limiting_sync_begin(struct limiting *l);
void limiting_sync_container(struct limiting *l, struct str id, uint32_t pid); /* 0: it was not started */
void limiting_sync_end(struct limiting *l); /* what is wanted of each is known from now on */

/* What limiting_wanted says of a container. */
typedef size_t (*limiting_wanted_of)(void *ctx, struct str container_id, struct arena *a,
                                     struct limits_memory ret[DEVICES_PER_NODE_MAX]);
/* Tells the driver of those that run and were not told yet, LIMIT_RUNNING_WITHIN_MS at most; the rest is for the next
 * time. On either thread. */
void limiting_running(struct limiting *l, limiting_wanted_of wanted, void *ctx);

#endif
