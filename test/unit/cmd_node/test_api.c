#include "cmd_node/api.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void open__outside_a_cluster_without_a_kubeconfig__is_no_api_server(void **state)
{
    const struct node_options o = {.node_name = "n1"};
    struct node_api *api;
    struct err err;

    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(node_api_open(&o, NULL, &api, &err), 0);
    assert_null(api);
    assert_null(node_api_client(api));
    events_record(node_api_events(api), &(struct event){.reason = EVENT_DEVICE_LOST});
}

static void open__kubeconfig_that_is_not_there__is_named(void **state)
{
    const struct node_options o = {.node_name = "n1", .kubeconfig = "/nowhere/kubeconfig"};
    struct node_api *api;
    struct err err;

    assert_int_equal(node_api_open(&o, NULL, &api, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/nowhere/kubeconfig"));
    assert_null(api);
}

static void open__kubeconfig__makes_a_client_and_waits_for_nobody_at_the_end(void **state)
{
    char path[] = "/tmp/fgpu-node-api-XXXXXX";
    const struct node_options o = {.node_name = "n1", .kubeconfig = path};
    struct node_api *api;
    struct err err;
    FILE *f = fdopen(mkstemp(path), "w");

    assert_non_null(f);
    fputs("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
          "contexts: [{name: c, context: {cluster: k}}]\n"
          "clusters: [{name: k, cluster: {server: \"http://127.0.0.1:1\"}}]\n",
          f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(node_api_open(&o, NULL, &api, &err), 0);
    unlink(path);
    assert_non_null(node_api_client(api));
    events_record(node_api_events(api), &(struct event){.reason = EVENT_DEVICE_LOST,
                                                        .regarding = {EVENT_OBJECT_NODE, STR_NULL, STR("n1"), STR_NULL},
                                                        .note = STR("nobody hears this")});
    node_api_close(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__outside_a_cluster_without_a_kubeconfig__is_no_api_server),
        cmocka_unit_test(open__kubeconfig_that_is_not_there__is_named),
        cmocka_unit_test(open__kubeconfig__makes_a_client_and_waits_for_nobody_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
