/* One simulated API server per test: setup and teardown for cmocka, and short ways to fill it. */
#ifndef SUPPORT_SERVER_H
#define SUPPORT_SERVER_H

#include "demo/apiserver/apiserver.h"

extern struct apiserver *server;

int server_start(void **state);
int server_stop(void **state);
/* With the given options instead of the defaults; for tests without server_start. */
void server_start_with(const struct apiserver_options *o);

void server_create(enum apiserver_kind kind, const char *json); /* fails the test on an error */
/* A pod of namespace ns; `node` NULL: pending. `annotations` is a JSON object or NULL. */
void server_pod(const char *name, const char *node, const char *annotations);
void server_delete(const char *name); /* pod of ns, grace 0 */

#endif
