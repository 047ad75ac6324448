/* kube/outcome.h - how an exchange with the API server ended, in the terms that decisions need.
 *
 * The question behind the kinds: may the server have seen the request? A write that was never sent
 * can be forgotten; one that may have been sent is unknown until a GET decides (design.md 3.1, rule
 * 4).
 */
#ifndef KUBE_OUTCOME_H
#define KUBE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

enum kube_outcome_kind {
    KUBE_ANSWERED,  /* a complete HTTP reply; see http_status */
    KUBE_NOT_SENT,  /* no byte of the request left: name, connection or TLS failed, or time ran out
                       before */
    KUBE_LOST,      /* sent, at least in part; then the connection broke or the reply was no HTTP */
    KUBE_TIMED_OUT, /* sent, at least in part; no complete reply before the deadline */
    KUBE_SILENT,    /* streams: no byte for the agreed time */
    KUBE_ABORTED,   /* streams: the receiver of the bytes refused them */
    KUBE_TOO_LARGE, /* the reply passed the size cap; http_status is set */
    KUBE_CANCELLED, /* we are stopping */
    KUBE_OUTCOME_KIND__MAX
};

#define KUBE_NO_RETRY_AFTER (-1)
#define KUBE_OUTCOME_DETAIL_MAX 160

struct kube_outcome {
    enum kube_outcome_kind kind;
    bool maybe_sent; /* the server may have seen the request */
    /* It may have seen it twice: the connection broke before a reply came, and it was sent on another one. What
     * was answered says nothing of the first. */
    bool sent_again;
    /* 0: no status line was read. 401 with KUBE_NOT_SENT: not sent because the server rejects our
     * credentials (kube/identity.h) */
    int http_status;
    int64_t retry_after_ms;               /* from a Retry-After header in seconds; KUBE_NO_RETRY_AFTER without one */
    int64_t date_ms;                      /* from its Date header, whole seconds, since 1970; 0 without one */
    char detail[KUBE_OUTCOME_DETAIL_MAX]; /* for people: the transport's own words; may be empty */
};

/* Without an answer. */
struct kube_outcome kube_outcome_of(enum kube_outcome_kind kind, const char *detail);
const char *kube_outcome_name(enum kube_outcome_kind kind); /* "not_sent", usable as a metric label */

#endif
