/* cmd_node/publisher.h - keeps the Node object of this node true: annotation fgpu.io/gpus and the totals in its status.
 *
 * One short exchange after the other, on the thread of the API client; nobody waits for it, and no container needs it.
 * An answer to GET or PATCH is the node, so each answer says what to write next (node/publication.h), until nothing
 * differs. Then it looks again
 *
 *   at once              when there are other devices, or one fell ill
 *   after about 60 s     when all was as wanted: somebody may have changed it
 *   after about 10 min   where nothing of ours is wanted: no driver, --stand-back, an admin's own annotation
 *   after 10 to 60 s     when an exchange failed
 *
 * Looking after 60 s is a GET that the API server answers from its cache (resourceVersion=0): 5,000 nodes make 83 such
 * GETs a second, while their kubelets renew 500 leases a second. A watch would hold 5,000 connections and a thread
 * here.
 *
 * It never writes what an admin wrote by hand: publication.h.
 */
#ifndef CMD_NODE_PUBLISHER_H
#define CMD_NODE_PUBLISHER_H

#include "base/clock.h"
#include "base/log.h"
#include "cmd_node/options.h"
#include "kube/transport.h"
#include "model/device.h"
#include "nvml/inventory.h"

#include <stddef.h>

struct publisher;

/* All borrowed. `client` NULL: there is no API server, and nothing is published. */
struct publisher *publisher_new(struct kube_client *client, const struct node_options *options,
                                const struct clock *clock, const struct log *log);
/* After kube_client_stop. NULL is fine. */
void publisher_free(struct publisher *p);

/* What cmd_node/doors_look.h found; before anything else is said, and once. */
void publisher_set_doors(struct publisher *p, bool looked, unsigned doors);

/* GPUs are handed out here now, so they may be published; until then nobody is sent here. From any thread. */
void publisher_open(void *publisher);

/* From any thread; copied. An ill one is not `healthy`. */
void publisher_set_devices(struct publisher *p, const struct device *devices, size_t n);
/* There is no driver: what was published by an agent before is closed. */
void publisher_set_no_driver(struct publisher *p);

/* The thread that owns `nvml`, before publisher_set_devices: asks for what is not in struct device, when there are
 * other devices than before, or after 5 minutes. */
void publisher_read_details(struct publisher *p, const struct nvml *nvml, const struct device *devices, size_t n);

/* Now and then, from any thread: begins what is due. */
void publisher_look(struct publisher *p);
/* Is due at once. */
void publisher_look_now(struct publisher *p);

#endif
