/* cmd_node/ops.h - what fgpu-node shows of itself: metrics, its state, its health.
 *
 *   ops listener      /metrics  /state  /livez  /readyz      on loopback; elsewhere only with --ops-anonymous, and then
 *                                                            without /state and without the reasons of /readyz
 *   health listener   /livez  /readyz                        anywhere, for probes; without the reasons
 *   metrics listener  /metrics                               anywhere, by TLS with a certificate that it makes itself,
 *                                                            for who may read it (guard/ops_auth.h)
 *
 * The first two do not ask who calls; nothing here can change anything. /metrics names pods, containers and GPUs, as
 * those of other exporters do; /state is the same with more of each (config/node-state.schema.json).
 *
 * An address that cannot be had keeps nobody from GPUs, and not the other listener: it is said, and tried again at
 * each ops_listen().
 *
 * Alive is who answers. Ready is who looked for a driver and, if there is one, was told by the container runtime what
 * runs.
 */
#ifndef CMD_NODE_OPS_H
#define CMD_NODE_OPS_H

#include "base/log.h"
#include "cmd_node/answers.h"
#include "cmd_node/api.h"
#include "cmd_node/options.h"
#include "nri/plugin.h"
#include "obs/logsink.h"

struct ops;

/* All are borrowed and outlive it; `api` may be NULL. Before the plugin starts. */
struct ops *ops_new(const struct node_options *options, struct answers *answers, const struct node_api *api,
                    struct logsink *sink);

/* Listens where the options say, unless it does already. */
void ops_listen(struct ops *o);
/* There was a look for a driver. `library`: of the driver that was found; NULL: there is none. */
void ops_looked(struct ops *o, const char *library);
/* From now on the plugin's numbers are shown; it must live until ops_stop(). */
void ops_set_plugin(struct ops *o, struct nri_plugin *plugin);

/* Nothing is shown and nobody is looked at any more. */
void ops_stop(struct ops *o); /* NULL is fine, here and below */
void ops_free(struct ops *o); /* after ops_stop() and the plugin, whose callbacks are counted here */

#endif
