/* Starts one server with one listener on a free loopback port, and the usual cmocka includes. */
#ifndef TEST_HTTPD_FIXTURE_H
#define TEST_HTTPD_FIXTURE_H

#include "httpd/server.h"
#include "httpd/support/client.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct httpd_server *server;
    uint16_t port;
};

/* Fields of `config` other than the listeners are the caller's GPU requests; NULL: all defaults. */
void fixture_start(struct fixture *f, const struct httpd_config *config, const struct httpd_route *routes,
                   size_t route_n);
void fixture_stop(struct fixture *f);

/* Answers with the request's body. */
enum httpd_action handler_echo(void *ctx, struct httpd_request *req, struct httpd_response *resp);
/* Answers 200 "ok". */
enum httpd_action handler_ok(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* Sends a POST with Content-Length. */
void post(struct client *c, const char *path, const void *body, size_t n);
/* A GET on a fresh connection; the caller calls reply_fini. */
void get_once(uint16_t port, const char *path, struct reply *ret);

#endif
