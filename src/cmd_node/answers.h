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
#include "model/device.h"
#include "nri/plugin.h"
#include "sign/keyring.h"

struct answers;

/* `options` and `log` must outlive it. */
struct answers *answers_new(const struct node_options *options, const struct log *log);
void answers_free(struct answers *w); /* after the plugin has stopped */

/* From now on it judges by these; it is one more owner of the keys, and copies the devices. */
void answers_set_keys(struct answers *w, const struct sign_keyring *keys);
void answers_set_devices(struct answers *w, const struct device *devices, size_t n);

/* For nri_plugin_start. */
struct nri_handler answers_handler(struct answers *w);

#endif
