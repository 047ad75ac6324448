/* httpd/request.h - one request, as a handler sees it.
 *
 * The server has checked the framing, decoded the target and collected the body before a handler
 * runs. Everything behind the views returned here lives in the request and stays valid until the
 * handler has answered or, for a suspended request, until httpd_resume() returns. Three getters read
 * memory of the connection and may be called from within the handler only: httpd_request_header,
 * httpd_request_peer and httpd_request_client.
 *
 * A request has one user at a time: the handler, then whoever resumes it.
 */
#ifndef HTTPD_REQUEST_H
#define HTTPD_REQUEST_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct httpd_request;
struct httpd_response;

enum httpd_body {
    HTTPD_BODY_COMPLETE,  /* httpd_request_body() is what was sent, perhaps nothing */
    HTTPD_BODY_TOO_LARGE, /* over the route's cap; the body has been read and thrown away */
    HTTPD_BODY_NO_BUDGET, /* over the server's budget of bytes in flight; thrown away likewise */
};

struct str httpd_request_method(const struct httpd_request *req);
/* Percent-decoded, without the query; never contains a NUL. */
struct str httpd_request_path(const struct httpd_request *req);

/* Empty unless httpd_request_body_state() is HTTPD_BODY_COMPLETE. */
struct str httpd_request_body(const struct httpd_request *req);
/* Routes without HTTPD_ROUTE_BODY_FAULTS only ever see HTTPD_BODY_COMPLETE. */
enum httpd_body httpd_request_body_state(const struct httpd_request *req);

/* The first value of a query parameter; "?verbose" has the value "". False when absent. */
bool httpd_request_query(const struct httpd_request *req, const char *name, struct str *ret_value);
/* All parameters in order: start with *at = 0 and call until it returns false. '+' is a blank. */
bool httpd_request_query_next(const struct httpd_request *req, size_t *at, struct str *ret_name, struct str *ret_value);

/* STR_NULL when absent; the name is compared ignoring case. Within the handler only. */
struct str httpd_request_header(const struct httpd_request *req, const char *name);
/* "127.0.0.1:53412", in the request's arena. Within the handler only. */
struct str httpd_request_peer(struct httpd_request *req);

/* The name by which the caller's certificate is allowed (httpd/tls.h), in the request's arena; STR_NULL
 * without one, which only a listener with client_cert_optional lets through. Within the handler
 * only. */
struct str httpd_request_client(struct httpd_request *req);

/* Memory for decoding this request; its cap is httpd_config.arena_max_bytes. */
struct arena *httpd_request_arena(struct httpd_request *req);

/* Gives back what was decoded there, and the query, for a request that is to wait for long. Method and path
 * stay known. Within the handler only. */
void httpd_request_forget(struct httpd_request *req);

/* Monotonic time at which the request line was complete: latency includes receiving the body. */
int64_t httpd_request_start_ns(const struct httpd_request *req);

/* Completes a request whose handler returned HTTPD_SUSPENDED, from any thread, exactly once.
 * Takes what `resp` owns and gives the request up: do not touch it afterwards. Harmless when the
 * client has hung up or the server has stopped and was even freed meanwhile: the response is
 * dropped then. */
void httpd_resume(struct httpd_request *req, struct httpd_response *resp);

/* Instead of httpd_resume: calls the handler of the route again, on a thread of the listener, so that
 * what may be called within the handler only may be called there. `note` lies in the request's arena
 * and is what httpd_request_note gives then. The handler may suspend again. */
void httpd_again(struct httpd_request *req, void *note);
void *httpd_request_note(const struct httpd_request *req); /* NULL in the first call */

#endif
