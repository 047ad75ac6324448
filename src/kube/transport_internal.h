/* kube/transport_internal.h - what the transport's files share: how a curl handle is set up for one
 * exchange, and what its end means. */
#ifndef KUBE_TRANSPORT_INTERNAL_H
#define KUBE_TRANSPORT_INTERNAL_H

#include "kube/identity.h"
#include "kube/transport.h"

#include "base/bug.h"
#include "base/strbuf.h"

#include <curl/curl.h>
#include <stdbool.h>

/* An option that cannot be set is a wrong build of libcurl, not something to go on with. */
#define EASY_SET(easy, option, value) BUG_ON(curl_easy_setopt((easy), (option), (value)) != CURLE_OK)

#define EASY_GET(easy, info, ret) BUG_ON(curl_easy_getinfo((easy), (info), (ret)) != CURLE_OK)

/* Where the server is, as libcurl wants it. */
struct endpoint {
    char *base;                    /* scheme, host, port, path prefix; no trailing slash */
    char *host_header;             /* "Host: ..." when `base` has the TLS server name instead; or NULL */
    struct curl_slist *connect_to; /* the real host then; or NULL */
};

int endpoint_init(struct endpoint *e, const struct credentials *creds, struct err *reterr);
void endpoint_fini(struct endpoint *e);

/* What both kinds of calls need; constant after kube_client_new, so read without a lock. */
struct easy_context {
    const struct credentials *creds;
    const struct clock *clock;
    char *user_agent;
    struct endpoint endpoint;
    struct identity *identity;
    kube_observe_fn *observe;
    void *observe_ctx;
    bool (*may_write)(void *ctx); /* NULL: always */
    void *may_write_ctx;
};

/* One exchange on one handle. `easy` belongs to whoever made it. */
struct exchange {
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    const struct proof *proof;                /* one reference while it runs; or NULL */
    bool told;                                /* the identity knows the status */
    unsigned sent_n;                          /* how often libcurl was about to send the request */
    const struct easy_context *asks_to_write; /* by its may_write; NULL: nobody has to be asked */
    int64_t begun_ns;
};

#define EXCHANGE_CALL_UNACKED_MS 5000 /* less than the hold-off that is shipped */

struct exchange_request {
    const char *method;
    const char *path;
    struct str body;
    const char *content_type;
    const char *const *headers;
    bool gzip;   /* offered; libcurl decodes while the bytes come */
    bool writes; /* it would change something, so may_write is asked */
};

/* Sets `x->easy` up from nothing. The body is borrowed until the exchange ends. Time limits and the
 * write function are the caller's. exchange_end must follow, after a failure exchange_abandon.
 * Failures of identity_get are passed on: ERR_UNAVAILABLE means to try again in a moment. */
int exchange_begin(struct exchange *x, const struct easy_context *c, const struct exchange_request *request,
                   struct err *reterr);

/* CURLOPT_SOCKOPTFUNCTION of the short calls: nothing of them is sent when they are over. */
int exchange_call_socket(void *ctx, curl_socket_t fd, curlsocktype purpose);

/* What libcurl's verdict means. Reads the handle only. */
void exchange_outcome(const struct exchange *x, CURLcode code, struct kube_outcome *ret);

/* For replies that take long: tells the identity of the status as soon as there is one. */
void exchange_progress(struct exchange *x, const struct easy_context *c);

/* What it means that the exchange could not begin: KUBE_NOT_SENT, and status 401 when it is because
 * the server rejects our credentials. */
struct kube_outcome exchange_refused(const struct err *why);

/* After exchange_outcome: tells the identity and the observer, frees. Whether the same request is
 * to be sent once more at once, because it was answered 401 and there is something else to show. */
bool exchange_end(struct exchange *x, const struct easy_context *c, const char *verb, const char *resource,
                  const struct kube_outcome *o);

void exchange_abandon(struct exchange *x);

/* Puts what an error reply says (Status.message) into o->detail, if it is a JSON object that says
 * so. */
void outcome_describe(struct kube_outcome *o, struct str body);

bool kube_request_writes(const struct kube_request *r); /* it would change something */

struct call_queue; /* transport_calls.c: the thread of the short calls */

struct kube_client {
    struct easy_context context;
    struct call_queue *calls;
    bool read_only;
};

int call_queue_new(const struct easy_context *context, uint32_t connections_max, struct call_queue **ret,
                   struct err *reterr);
void call_queue_stop(struct call_queue *q);
void call_queue_free(struct call_queue *q);
int call_queue_submit(struct call_queue *q, const struct kube_request *request, kube_done_fn *done, void *ctx,
                      struct err *reterr);

#endif
