#include "demo/support/server.h"

#include "support/cmocka.h"

#include <stdio.h>

struct apiserver *server;

void server_start_with(const struct apiserver_options *o)
{
    struct err err;
    if (apiserver_start(o, &server, &err)) {
        fail_msg("%s", err.msg);
    }
}

int server_start(void **state)
{
    (void)state;
    return apiserver_start(NULL, &server, NULL);
}

int server_stop(void **state)
{
    (void)state;
    apiserver_free(server);
    server = NULL;
    return 0;
}

void server_create(enum apiserver_kind kind, const char *json)
{
    struct err err;
    if (apiserver_create(server, kind, json, &err)) {
        fail_msg("%s: %s", json, err.msg);
    }
}

void server_pod(const char *name, const char *node, const char *annotations)
{
    char json[4096], spec[300] = "";
    if (node) {
        snprintf(spec, sizeof(spec), "\"nodeName\":\"%s\",", node);
    }
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"annotations\":%s},"
             "\"spec\":{%s\"containers\":[{\"name\":\"main\"}]}}",
             name, annotations ? annotations : "{}", spec);
    server_create(APISERVER_PODS, json);
}

void server_delete(const char *name)
{
    struct err err;
    if (apiserver_delete(server, APISERVER_PODS, "ns", name, 0, &err)) {
        fail_msg("%s: %s", name, err.msg);
    }
}
