/* bench_minimal: the least that an extender can be. fgpu's own HTTP layer and API client, and between them nothing:
 * filter gives back the first name, without reading the pod; bind posts a Binding without a record. No watch, no
 * ledger, no signature. So what it costs beside kube-scheduler is what an extender costs that is written in C with
 * these libraries, and fgpu's difference to it is what fgpu does.
 *
 * bench_minimal ADDRESS KUBECONFIG   runs until it is killed
 */
#include "base/bug.h"
#include "config/kubeconfig.h"
#include "httpd/server.h"
#include "kube/transport.h"
#include "support/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct kube_client *client;

static enum httpd_action handle_ready(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    (void)req;
    strbuf_add_cstr(&resp->body, "{}");
    return HTTPD_REPLY;
}

static enum httpd_action handle_filter(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str name = text_between(httpd_request_body(req), "\"NodeNames\":[\"", "\"");

    (void)ctx;
    strbuf_addf(&resp->body, "{\"NodeNames\":[\"%.*s\"]}", STR_ARG(name));
    return HTTPD_REPLY;
}

static void posted(void *ctx, const struct kube_response *response)
{
    struct httpd_response resp;

    httpd_response_init(&resp, 4096);
    strbuf_add_cstr(&resp.body, response->outcome.http_status == 201 ? "{\"Error\":\"\"}" : "{\"Error\":\"no\"}");
    httpd_resume(ctx, &resp);
}

static enum httpd_action handle_bind(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct str args = httpd_request_body(req);
    const struct str name = text_between(args, "\"PodName\":\"", "\""),
                     namespace_ = text_between(args, "\"PodNamespace\":\"", "\""),
                     uid = text_between(args, "\"PodUID\":\"", "\""), node = text_between(args, "\"Node\":\"", "\"");
    char path[512], body[1024];
    struct kube_request request = {
        .method = "POST", .path = path, .deadline_ms = 5000, .verb = "create", .resource = "pods/binding"};

    (void)ctx;
    (void)resp;
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%.*s/pods/%.*s/binding?timeout=4s", STR_ARG(namespace_),
                   STR_ARG(name));
    request.body = (struct str){
        body, (size_t)snprintf(
                  body, sizeof(body),
                  "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%.*s\",\"uid\":\"%.*s\"},"
                  "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%.*s\"}}",
                  STR_ARG(name), STR_ARG(uid), STR_ARG(node))};
    BUG_ON(kube_client_submit(client, &request, posted, req, NULL) != 0);
    return HTTPD_SUSPENDED;
}

static __attribute__((noreturn)) void die(const char *why)
{
    fprintf(stderr, "bench_minimal: %s\n", why);
    exit(1);
}

int main(int argc, char **argv)
{
    const struct httpd_route routes[] = {
        {.method = "GET", .path = "/readyz", .handle = handle_ready},
        {.method = "POST", .path = "/v1/filter", .handle = handle_filter},
        {.method = "POST", .path = "/v1/bind", .handle = handle_bind},
    };
    struct httpd_listener_config listener = {.name = "minimal", .routes = routes, .route_n = 3, .thread_n = 2};
    const struct httpd_config config = {.listeners = &listener, .listener_n = 1};
    struct httpd_server *server;
    struct credentials creds;
    struct err err;

    if (argc != 3) {
        die("usage: bench_minimal ADDRESS KUBECONFIG");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    listener.address = argv[1];
    if (kubeconfig_load(argv[2], NULL, &creds, &err) != 0 ||
        kube_client_new(&creds, &(struct kube_client_options){0}, &client, &err) != 0 ||
        httpd_server_new(&config, &server, &err) != 0 || httpd_server_start(server, &err) != 0) {
        die(err.msg);
    }
    for (;;) {
        pause();
    }
}
