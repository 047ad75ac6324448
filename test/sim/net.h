/* sim/net.h - the simulated network under kube/transport.h: its functions are defined here, and nothing of libcurl is
 * linked. A call goes to api_call(), a stream to api_open(); what they do with it, and when, is theirs (api.h).
 *
 * The callbacks of calls run on a fiber of the client, as they do on the client's thread in production. A write is let
 * through by the client's `may_write` when it is submitted and, on that fiber, when it leaves: at once, or after it has
 * waited for a connection; and once more where it leaves a second time (call_may_leave).
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "etcd.h"
#include "kube/transport.h"

struct process;

/* A short call. Lives until everybody has let go of it: the client until it was answered, the world while it may still
 * land. */
struct call {
    unsigned owner_n;
    struct process *of;
    int64_t sent_ns;   /* submitted */
    int64_t leaves_ns; /* not before that; when it did, once it has left */
    bool writes, left;
    char *method, *path, *body;
    struct kube_client *client; /* NULL: it was cancelled, nobody hears */
    bool answered;
    struct kube_outcome outcome;
    char *reply;
    kube_done_fn *done;
    void *ctx;
    struct call *next, *prev; /* of the client */
};

struct call *call_keep(struct call *c);
void call_drop(struct call *c);
/* Now, unless it was answered before or nobody hears any more. `body` may be NULL. */
void call_answer(struct call *c, struct kube_outcome o, const char *body);

/* May it be sent at this moment? */
bool call_may_leave(const struct call *c);

/* Of the stream that runs: */
struct process *stream_of(struct kube_stream *s);
void stream_status(struct kube_stream *s, int http_status);
void stream_bytes(struct kube_stream *s, const char *bytes, size_t n);
/* Who has read all bytes so far knows everything of this kind up to that version: not before, and never if the stream
 * is given up with bytes unread. */
void stream_tells(struct kube_stream *s, enum kind kind, uint64_t version);
void stream_end(struct kube_stream *s, struct kube_outcome o);

struct kube_outcome answered_with(int http_status);

#endif
