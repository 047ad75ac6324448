#include "cmd_node/api.h"

#include "base/bug.h"
#include "config/kubeconfig.h"
#include "kube/incluster.h"

#include <stdlib.h>

#define EVENTS_FLUSH_MS 1000
#define CONNECTIONS_MAX 3 /* Events, one for what is published, and one for who reads metrics */

struct node_api {
    struct credentials credentials;
    struct kube_client *client;
    struct events *events;
    struct access *access; /* NULL: nobody asks */
};

/* *ret_any false: there is no API server for us. */
static int read_credentials(const struct node_options *o, struct credentials *ret, bool *ret_any, struct err *reterr)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");

    *ret_any = o->kubeconfig != NULL || host != NULL;
    if (!*ret_any) {
        return 0;
    }
    return o->kubeconfig != NULL ? kubeconfig_load(o->kubeconfig, NULL, ret, reterr)
                                 : incluster_load(host, getenv("KUBERNETES_SERVICE_PORT"), INCLUSTER_DIR, ret, reterr);
}

static int start(struct node_api *api, const struct node_options *o, const struct log *log, struct err *reterr)
{
    const struct kube_client_options client = {
        .user_agent = "fgpu-node", .connections_max = CONNECTIONS_MAX, .clock = clock_system(), .log = log};
    const struct events_options events = {.source = {EVENT_CONTROLLER_NODE, o->node_name}};
    int rc = kube_client_new(&api->credentials, &client, &api->client, reterr);

    rc = rc != 0 ? rc : events_new(api->client, clock_system(), log, &events, &api->events, reterr);
    return rc != 0 || o->metrics_off ? rc : access_new(api->client, clock_system(), log, &api->access, reterr);
}

int node_api_open(const struct node_options *options, const struct log *log, struct node_api **ret, struct err *reterr)
{
    struct node_api *api = xcalloc(1, sizeof(*api));
    bool any;
    int rc = read_credentials(options, &api->credentials, &any, reterr);

    *ret = NULL;
    if (rc == 0 && any) {
        rc = start(api, options, log, reterr);
    }
    if (rc != 0 || !any) {
        node_api_close(api);
        return rc;
    }
    *ret = api;
    return 0;
}

void node_api_close(struct node_api *api)
{
    if (api == NULL) {
        return;
    }
    events_stop(api->events, EVENTS_FLUSH_MS);
    if (api->client != NULL) {
        kube_client_stop(api->client);
    }
    access_free(api->access);
    events_free(api->events);
    kube_client_free(api->client);
    credentials_fini(&api->credentials);
    free(api);
}

struct kube_client *node_api_client(const struct node_api *api)
{
    return api == NULL ? NULL : api->client;
}

struct events *node_api_events(const struct node_api *api)
{
    return api == NULL ? NULL : api->events;
}

struct access *node_api_access(const struct node_api *api)
{
    return api == NULL ? NULL : api->access;
}
