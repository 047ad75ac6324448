/* kube/transport.h - HTTP to one API server: many short calls at once, and streams.
 *
 * The only module that sees libcurl. HTTP/1.1, no redirects, no proxies but the one of the
 * credentials, gzip only where asked for, TLS 1.2 or newer. Plain http is for a simulated API server on
 * loopback; credentials are never sent over it to another host. A reply of 401 is followed by one
 * more try when there are other credentials to show by then.
 *
 * It decides nothing about retries: every exchange ends in one struct kube_outcome
 * (kube/outcome.h). Note that a request on an idle connection that the server closed meanwhile may
 * be sent twice by libcurl, which the outcome says (sent_again); a Binding may be (contract.md 4.4), other writes
 * have to consider it.
 *
 * libcurl is initialised by the first kube_client_new of the process. The process should ignore
 * SIGPIPE.
 */
#ifndef KUBE_TRANSPORT_H
#define KUBE_TRANSPORT_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/log.h"
#include "kube/identity.h"
#include "kube/outcome.h"
#include "model/credentials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUBE_IN_FLIGHT_MAX 1000
#define KUBE_RESPONSE_BYTES_MAX (4U * 1024 * 1024) /* default; etcd's objects end at 1.5 MiB */

struct kube_client;

/* Told about every exchange when it ends, on the thread that made it. `http_status` 0: no reply. */
typedef void kube_observe_fn(void *ctx, const char *verb, const char *resource, int http_status, int64_t duration_ns);

/* All zero is fine. */
struct kube_client_options {
    const char *user_agent;    /* NULL: "fgpu/<version>". Not curl/ or Mozilla: they get pretty-printing */
    uint32_t connections_max;  /* of short calls, opened one by one; 0: 64. Further calls wait inside */
    const struct clock *clock; /* NULL: the system's */
    kube_observe_fn *observe;
    void *observe_ctx;
    const struct log *log; /* NULL: silent; what happens to the credentials */
    bool read_only;        /* refuses every call that would change something in the cluster */
    /* Asked about each call that would change something, when it is submitted and again right before it leaves, each
     * time that it does; false: it is not sent (KUBE_NOT_SENT, unless an earlier copy was). From any thread, with any
     * lock held. NULL: always. */
    bool (*may_write)(void *ctx);
    void *may_write_ctx;
};

/* Borrows `creds` (and clock). Starts the thread that makes short calls.
 *   ERR_INVALID   a server address, certificate setting or combination that cannot work
 *   ERR_INTERNAL  the system or libcurl failed */
WARN_UNUSED int kube_client_new(const struct credentials *creds, const struct kube_client_options *options,
                                struct kube_client **ret, struct err *reterr);

/* Ends the thread: what is in flight or waiting is called back as KUBE_CANCELLED before this
 * returns. Not from a callback. Streams are not touched. */
void kube_client_stop(struct kube_client *c);
/* Stops if need be. All streams must be freed before. NULL is fine. */
void kube_client_free(struct kube_client *c);

/* How the credentials do (kube/identity.h). From any thread. */
void kube_client_identity(struct kube_client *c, struct identity_stats *ret);

/* ---- short calls ---- */

struct kube_request {
    const char *method;          /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;            /* "/api/v1/...", with query; already escaped */
    struct str body;             /* empty: none */
    const char *content_type;    /* of a body; NULL: application/json */
    const char *const *headers;  /* further "Name: value" lines, ends with NULL; NULL: none */
    uint32_t deadline_ms;        /* from now, waiting inside included; > 0 */
    size_t response_bytes_max;   /* 0: KUBE_RESPONSE_BYTES_MAX */
    const char *verb, *resource; /* for the observer; must outlive the client (constants) */
    bool asks;                   /* changes nothing although it is no GET: a review */
    bool unelected;              /* right also by one that does not lead: may_write is not asked */
};

struct kube_response {
    struct kube_outcome outcome;
    struct str body; /* of whatever status; complete only when KUBE_ANSWERED */
    int64_t duration_ns;
};

/* Runs on the client's thread: it must not block, and may submit. Everything is valid until it
 * returns. */
typedef void kube_done_fn(void *ctx, const struct kube_response *response);

/* From any thread. Copies the request. When it returns 0, `done` is called exactly once, also when
 * the client stops; otherwise never.
 *   ERR_UNAVAILABLE  KUBE_IN_FLIGHT_MAX calls are in flight; a write, and may_write says no
 *   ERR_CANCELLED    the client is stopping
 *   ERR_INVALID      a path or header that could break out of its line; a write, and the client is read-only */
WARN_UNUSED int kube_client_submit(struct kube_client *c, const struct kube_request *request, kube_done_fn *done,
                                   void *ctx, struct err *reterr);

/* ---- streams: lists and watches ---- */

struct kube_stream;

/* For one thread at a time; keeps its connection between runs. */
WARN_UNUSED int kube_stream_new(struct kube_client *c, struct kube_stream **ret, struct err *reterr);
void kube_stream_free(struct kube_stream *s);

/* Told what the status of the reply is, 0 before there is one: when the run begins, whenever something happens, after
 * kube_stream_wake, and when the time it returned last (in ms) has passed. Negative ends the run as KUBE_ABORTED. */
typedef int64_t kube_tick_fn(void *ctx, int http_status);

struct kube_stream_request {
    const char *path;
    uint32_t silence_ms;         /* KUBE_SILENT after so long without a byte, the reply's first included */
    const char *verb, *resource; /* for the observer */
    bool gzip;                   /* the reply may come compressed: for lists. In a watch, an event might wait in the
                                    server's compressor for the next one */
    kube_tick_fn *tick;          /* NULL: none; the context is that of `bytes` */
};

/* Bytes of the body of a reply with status 200, as they come. Negative ends the run as
 * KUBE_ABORTED. */
typedef int kube_bytes_fn(void *ctx, struct str bytes, struct err *reterr);

/* GETs and blocks until the reply is complete or fails. Bodies of other statuses do not reach
 * `bytes`; what they say stands in outcome.detail. */
void kube_stream_run(struct kube_stream *s, const struct kube_stream_request *request, kube_bytes_fn *bytes, void *ctx,
                     struct kube_outcome *ret);

/* From within `bytes`: from now on the present run may be silent for so long. */
void kube_stream_silence(struct kube_stream *s, uint32_t silence_ms);

/* From any thread: the tick function is called soon, if a run is in progress. */
void kube_stream_wake(struct kube_stream *s);

/* From any thread: ends the present run, or the next one if none is running, as KUBE_CANCELLED. */
void kube_stream_interrupt(struct kube_stream *s);

#endif
