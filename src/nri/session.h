/* nri/session.h - one connection to the runtime as a machine without I/O: bytes in, callbacks, bytes out.
 *
 * The order on the wire: we send RegisterPlugin; the runtime sends Configure, before or after it answers us; then
 * Synchronize, in several calls if there is much (all but the last say "more"); then what happens, one call each. A
 * call that comes too early is refused: nobody may decide about a container while what runs is not known.
 *
 * Memory: a call is read into an arena and forgotten when it is answered; of a Synchronize, each pod and each container
 * by itself, so that one which a tenant made huge neither hides the others nor fills the memory.
 *
 * Source: NRI pkg/adaptation/plugin.go, plugin_type.go; api.proto.
 */
#ifndef NRI_SESSION_H
#define NRI_SESSION_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "mux.h"
#include "nri/plugin.h"
#include "ttrpc.h"

#define SESSION_NRI_VERSION "v0.12.0"        /* of api.proto, whose fields we know; the runtime writes it to its log */
#define SESSION_CALL_MAX (64U * 1024 * 1024) /* bytes of memory that a call, a pod or a container may take */

enum session_stage {
    SESSION_REGISTERING,
    SESSION_CONFIGURED,
    SESSION_SYNCHRONIZING,
    SESSION_READY,
};

/* What stays the same from connection to connection; borrowed. */
struct session_setup {
    const struct nri_handler *handler;
    const char *name, *index;
    bool fail_request;
    const struct clock *clock;
    struct nri_plugin_stats *stats; /* added to; `synchronized` is as of this session */
    size_t call_max;                /* 0: SESSION_CALL_MAX */
};

struct session {
    struct session_setup setup;
    enum session_stage stage;
    struct mux_reader mux;
    struct ttrpc_reader calls;   /* MUX_PLUGIN */
    struct ttrpc_reader answers; /* MUX_RUNTIME */
    struct arena arena;          /* of the call that is being answered */
    struct arena one;            /* of a pod or container in it */
    struct strbuf payload;       /* of the answer */
    struct strbuf message;
    struct strbuf out;
    size_t out_sent;
};

/* The first thing to send is there at once. */
void session_init(struct session *s, const struct session_setup *setup);
void session_fini(struct session *s);

/* Takes all bytes and makes the callbacks. Negative: this connection is of no use any more.
 *   ERR_LIMIT, ERR_PARSE  what came is not NRI      ERR_DENIED  the runtime does not take us */
WARN_UNUSED int session_feed(struct session *s, struct str bytes, struct err *reterr);

/* What is to be sent, and how much of it was. */
struct str session_output(const struct session *s);
void session_sent(struct session *s, size_t n);

/* Something has begun that the runtime has to go on with: it has not configured us, a message has not come as a whole,
 * or an answer was not taken. */
bool session_waits(const struct session *s);

/* ---- src/nri/service.c: the calls of the runtime ---- */

/* Answers one call in s->payload. Negative: with an error, and *ret_code is its code. */
WARN_UNUSED int service_call(struct session *s, struct str service, struct str method, struct str payload,
                             enum ttrpc_code *ret_code, struct err *reterr);

#endif
