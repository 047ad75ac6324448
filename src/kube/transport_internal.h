/* kube/transport_internal.h - what the transport's files share: how a curl handle is set up for one
 * exchange, and what its end means. */
#ifndef KUBE_TRANSPORT_INTERNAL_H
#define KUBE_TRANSPORT_INTERNAL_H

#include "kube/token.h"
#include "kube/transport.h"

#include "base/bug.h"
#include "base/strbuf.h"

#include <curl/curl.h>
#include <stdbool.h>

/* An option that cannot be set is a wrong build of libcurl, not something to go on with. */
#define EASY_SET(easy, option, value)                                                              \
    BUG_ON(curl_easy_setopt((easy), (option), (value)) != CURLE_OK)

#define EASY_GET(easy, info, ret) BUG_ON(curl_easy_getinfo((easy), (info), (ret)) != CURLE_OK)

/* PEM text as a file name: libcurl's GnuTLS flavour takes no certificates from memory. The file has
 * no place in any file system. */
struct pem_file {
    int fd; /* -1: none */
    char path[40];
};

int pem_file_init(struct pem_file *f, const char *pem, struct err *reterr); /* pem NULL: none */
void pem_file_fini(struct pem_file *f);

/* Where the server is, as libcurl wants it. */
struct endpoint {
    char *base;        /* scheme, host, port, path prefix; no trailing slash */
    char *host_header; /* "Host: ..." when `base` has the TLS server name instead; or NULL */
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
    struct pem_file ca, cert, key;
    struct token_source *token;
    kube_observe_fn *observe;
    void *observe_ctx;
};

/* One exchange on one handle. `easy` belongs to whoever made it. */
struct exchange {
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    uint64_t token_generation;
    int64_t begun_ns;
};

struct exchange_request {
    const char *method;
    const char *path;
    struct str body;
    const char *content_type;
    const char *const *headers;
    bool gzip; /* offered; libcurl decodes while the bytes come */
};

/* Sets `x->easy` up from nothing. The body is borrowed until the exchange ends. Time limits and the
 * write function are the caller's. exchange_end must follow, after a failure exchange_abandon. */
int exchange_begin(struct exchange *x, const struct easy_context *c,
                   const struct exchange_request *request, struct err *reterr);

/* What libcurl's verdict means. Reads the handle only. */
void exchange_outcome(const struct exchange *x, CURLcode code, struct kube_outcome *ret);

/* After exchange_outcome: tells the token source of a 401 and the observer of everything, frees.
 * Returns the duration. */
int64_t exchange_end(struct exchange *x, const struct easy_context *c, const char *verb,
                     const char *resource, const struct kube_outcome *o);

void exchange_abandon(struct exchange *x);

/* Puts what an error reply says (Status.message) into o->detail, if it is a JSON object that says
 * so. */
void outcome_describe(struct kube_outcome *o, struct str body);

struct call_queue; /* transport_calls.c: the thread of the short calls */

struct kube_client {
    struct easy_context context;
    struct call_queue *calls;
};

int call_queue_new(const struct easy_context *context, uint32_t connections_max,
                   struct call_queue **ret, struct err *reterr);
void call_queue_stop(struct call_queue *q);
void call_queue_free(struct call_queue *q);
int call_queue_submit(struct call_queue *q, const struct kube_request *request, kube_done_fn *done,
                      void *ctx, struct err *reterr);

#endif
