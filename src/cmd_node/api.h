/* cmd_node/api.h - the API server, for whoever publishes facts of this node or tells people by Events.
 *
 * Nothing that a container waits for needs it: a node without an API server hands out GPUs and fences them all the
 * same.
 */
#ifndef CMD_NODE_API_H
#define CMD_NODE_API_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd_node/options.h"
#include "guard/access.h"
#include "kube/events.h"
#include "kube/transport.h"

struct node_api;

/* By the kubeconfig, else by the service account of the pod. *ret is NULL, with 0, where there is neither. No call is
 * made yet. Borrows options and log.
 *   ERR_NOT_FOUND, ERR_DENIED, ERR_INVALID, ...  the kubeconfig or the service account cannot be read */
WARN_UNUSED int node_api_open(const struct node_options *options, const struct log *log, struct node_api **ret,
                              struct err *reterr);
/* Whoever uses it has stopped; streams are freed. Waits a second for Events that are not told yet. NULL is fine. */
void node_api_close(struct node_api *api);

/* Of NULL all are NULL; events_record takes that. */
struct kube_client *node_api_client(const struct node_api *api);
struct events *node_api_events(const struct node_api *api);
/* Who may read /metrics; NULL without --metrics-address. */
struct access *node_api_access(const struct node_api *api);

/* A node as what an Event is about. Its uid is its name, as in kubelet's Events: those `kubectl describe node` asks for
 * (k8s.io/kubectl, describe.go), beside those with the uid of the object, which the agent does not know. */
static inline struct event_object node_event_object(struct str name)
{
    return (struct event_object){.kind = EVENT_OBJECT_NODE, .name = name, .uid = name};
}

#endif
