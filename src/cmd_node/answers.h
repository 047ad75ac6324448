/* cmd_node/answers.h - the agent (node/agent.h) as a plugin of the container runtime (nri/plugin.h): translates, logs
 * refusals, and keeps what it judges by.
 *
 * One lock: the plugin's thread holds it while the agent answers (microseconds, and the time of a signature), the main
 * thread while it puts other keys and devices in. Nothing that waits happens under it, no log line either.
 */
#ifndef CMD_NODE_ANSWERS_H
#define CMD_NODE_ANSWERS_H

#include "base/log.h"
#include "cmd_node/options.h"
#include "cmd_node/node_view.h"
#include "kube/events.h"
#include "model/device.h"
#include "node/fence.h"
#include "nri/plugin.h"
#include "nvml/inventory.h"
#include "obs/metrics.h"
#include "sign/keyring.h"

struct answers;

/* `options` and `log` must outlive it. */
struct answers *answers_new(const struct node_options *options, const struct log *log);
void answers_free(struct answers *w); /* after the plugin has stopped */

/* Before the plugin is started. NULL: people are told by the log alone. It must outlive the plugin. */
void answers_set_events(struct answers *w, struct events *events);

/* Before the plugin is started: the doors past the agent that are open, a bit for each enum door. */
void answers_set_doors(struct answers *w, unsigned doors);

/* From now on it judges by these; it is one more owner of the keys, and copies the devices. */
void answers_set_keys(struct answers *w, const struct sign_keyring *keys);
void answers_set_devices(struct answers *w, const struct device *devices, size_t n);

/* The GPUs that no container gets; copied. */
void answers_set_ill(struct answers *w, const struct health_ill *ill, size_t n);

/* The pods that hold some of this device, text in `a`; at most `max`, and none if `a` is full. */
size_t answers_pods_on(struct answers *w, struct str uuid, struct arena *a, struct fence_pod *ret, size_t max);
/* Before the plugin is started. Negative: the limits that the admin named cannot hold on this node. */
WARN_UNUSED int answers_found_library(struct answers *w, const struct nvml *n, struct err *reterr);
/* On the main thread, again and again, after the plugin was started: tries the driver's limits if it did not work yet,
 * and limits containers that run and have to be. Negative as above. */
WARN_UNUSED int answers_look_at_limits(struct answers *w, struct err *reterr);
/* Histograms of the time to decide about a container, in nanoseconds. Before the plugin starts. */
void answers_set_timers(struct answers *w, struct metric *create, struct metric *start);

/* What is there now, in `a`. False: the arena is full. */
WARN_UNUSED bool answers_view(struct answers *w, struct arena *a, struct node_view *ret);
/* Told, on the plugin's thread and without a lock, whenever the runtime has told all it knows and takes devices from
 * us: from then on GPUs are handed out. Set before the plugin starts. */
void answers_on_ready(struct answers *w, void (*ready)(void *ctx), void *ctx);

/* For nri_plugin_start. */
struct nri_handler answers_handler(struct answers *w);

#endif
