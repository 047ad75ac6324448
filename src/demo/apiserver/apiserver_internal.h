/* demo/apiserver/apiserver_internal.h - the server's parts: objects and handlers (api), requests and faults
 * (serve.c), open watches (streams.c), late replies (apiserver.c). */
#ifndef DEMO_APISERVER_APISERVER_INTERNAL_H
#define DEMO_APISERVER_APISERVER_INTERNAL_H

#include "base/sync.h"
#include "demo/apiserver/api_internal.h"
#include "demo/apiserver/fault_internal.h"
#include "httpd/server.h"

#include <stdatomic.h>

/* ---- open watches ---- */

struct stream;

struct streams { /* every watch connection that is open */
    struct mutex lock;
    struct stream *first;
    uint32_t n;
    const struct clock *clock;
};

void streams_init(struct streams *s, const struct clock *clock);
void streams_fini(struct streams *s); /* none may be open */
/* A watch, taken over; or, with NULL, the text alone, copied. The result is one reference for a
 * response. */
struct httpd_stream *streams_open(struct streams *s, struct watch *w, struct str text, const struct fault_flow *flow);
/* After a write: every watch looks again. */
void streams_wake(struct streams *s);
/* Wakes those that have a bookmark or their end due. */
void streams_tick(struct streams *s);
/* Cuts all connections in mid-stream. */
void streams_cut(struct streams *s);
uint32_t streams_count(struct streams *s);

/* ---- requests that wait for their fault's delay ---- */

struct late { /* in the request's arena; everything needed without the connection */
    struct late *next;
    int64_t due_ns;
    struct httpd_request *req;
    struct str content_type;
    bool gzip; /* the client takes it */
    uint16_t peer_port;
    struct fault_rule rule;
};

struct apiserver {
    struct api api;
    struct faults faults;
    struct streams streams;
    struct httpd_server *http;
    struct httpd_route route;
    char url[48];
    uint16_t port;
    atomic_uint_fast64_t requests;
    struct thread ticker;
    bool ticking; /* the thread exists */
    struct mutex late_lock;
    struct condvar late_cond;
    struct late *late;
    bool stopping;      /* under late_lock */
    atomic_uint clears; /* of the faults; changes under late_lock */
};

/* The catch-all route: faults, then the API. */
enum httpd_action apiserver_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);
/* Does what `late` waited for and resumes the request. */
void apiserver_serve_late(struct apiserver *a, struct late *late);

#endif
