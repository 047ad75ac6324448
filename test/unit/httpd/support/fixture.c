#include "httpd/support/fixture.h"

#include <stdio.h>

void fixture_start(struct fixture *f, const struct httpd_config *config, const struct httpd_route *routes,
                   size_t route_n)
{
    const struct httpd_listener_config listener = {
        .name = "test",
        .address = "127.0.0.1:0",
        .routes = routes,
        .route_n = route_n,
        .thread_n = 2,
    };
    struct httpd_config c = config != NULL ? *config : (struct httpd_config){.listeners = NULL};
    c.listeners = &listener;
    c.listener_n = 1;
    struct err err = {.code = ERR_OK};
    if (httpd_server_new(&c, &f->server, &err) != 0 || httpd_server_start(f->server, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    f->port = httpd_server_port(f->server, 0);
    assert_int_not_equal(f->port, 0);
}

void fixture_stop(struct fixture *f)
{
    httpd_server_free(f->server);
    f->server = NULL;
}

enum httpd_action handler_echo(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx;
    strbuf_add_str(&resp->body, httpd_request_body(req));
    return HTTPD_REPLY;
}

enum httpd_action handler_ok(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)req;
    httpd_response_text(resp, 200, "ok");
    return HTTPD_REPLY;
}

void post(struct client *c, const char *path, const void *body, size_t n)
{
    char head[256];
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", path, n);
    client_text(c, head);
    client_send(c, body, n);
}

void get_once(uint16_t port, const char *path, struct reply *ret)
{
    char head[1024];
    snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    struct client c;
    client_open(&c, port);
    assert_true(client_text(&c, head));
    assert_true(client_reply(&c, ret));
    client_close(&c);
}
