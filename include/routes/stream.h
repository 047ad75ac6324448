/* routes/stream.h - GET /v1/stream: what changes in /state, as server-sent events.
 *
 * The contract is config/stream.schema.json. A client reads /state, then follows with `?generation=N&startedAt=T` of
 * its metadata, or with Last-Event-ID after a cut; each event carries a generation as its id, and after all events up
 * to N the client's nodes are those of /state at N. Events replace whole nodes, so an
 * event that comes twice does no harm. Decisions may come twice and are told apart by their id.
 *
 *   hello      first, without an id
 *   nodes      what may have changed, coalesced: at most one in STREAM_TICK_MS, and rarer where making them takes more
 *              than a fifth of a core
 *   cluster    metadata, summary, pending pods and what is wrong, when it is another one, at most one a second
 *   decisions  new ones
 *   reload     read /state anew: the client is too far behind, or of another process; the stream ends
 *
 * One thread makes the events, once for all clients (src/routes/stream_log.h has their text), and only while somebody
 * follows; it reads the ledger as /state does, and nobody else ever waits for it. A stream ends by itself after
 * STREAM_LIFE_MS, so that whoever guards the listener judges its caller again; the client comes back with the last id.
 */
#ifndef ROUTES_STREAM_H
#define ROUTES_STREAM_H

#include "httpd/server.h"
#include "obs/metrics.h"
#include "routes/state.h"

#include <stdint.h>

#define STREAM_CLIENTS_MAX 16
#define STREAM_TICK_MS 250
#define STREAM_CLUSTER_MS 1000
#define STREAM_KEEP_ALIVE_MS 15000
#define STREAM_LIFE_MS 300000
#define STREAM_PENDING_MAX 1000

struct stream_feed;

/* `state` must outlive it. ERR_INTERNAL: no thread. */
WARN_UNUSED int stream_feed_new(struct state_context *state, struct stream_feed **ret, struct err *reterr);
/* Ends the thread; streams that are open say nothing more. NULL is fine. */
void stream_feed_stop(struct stream_feed *f);
/* After the server. NULL is fine. */
void stream_feed_free(struct stream_feed *f);

struct stream_handler {
    struct stream_feed *feed; /* NULL: 404 */
    struct state_context *state;
};
enum httpd_action stream_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* A collector (obs/metrics.h); ctx is the feed. */
void stream_collect(void *feed, struct metrics *m);

#endif
