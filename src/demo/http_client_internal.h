/* demo/http_client_internal.h - one keep-alive connection that posts JSON, as kube-scheduler's
 * client does. */
#ifndef DEMO_HTTP_CLIENT_INTERNAL_H
#define DEMO_HTTP_CLIENT_INTERNAL_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdint.h>

struct http_client;

/* A transfer in progress ends soon after *stop becomes true. The flag outlives the client. */
WARN_UNUSED struct http_client *http_client_new(const atomic_bool *stop);
void http_client_free(struct http_client *c);

/* The body of a 200 goes to `ret_body` (reset first). Anything but 200 is an error, as it is for
 * kube-scheduler: ERR_UNAVAILABLE (no connection, other status), ERR_TIMEOUT, ERR_CANCELLED,
 * ERR_LIMIT. */
WARN_UNUSED int http_client_post(struct http_client *c, const char *url, struct str body, int32_t timeout_ms,
                                 struct strbuf *ret_body, struct err *reterr);

/* The same with GET. */
WARN_UNUSED int http_client_get(struct http_client *c, const char *url, int32_t timeout_ms, struct strbuf *ret_body,
                                struct err *reterr);

#endif
