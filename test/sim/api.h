/* sim/api.h - API servers over one etcd: what they do with a request, when, and what its sender hears.
 *
 * A write may land at once and be answered; or be answered with an error, or not at all, and land later or never; or be
 * sent twice by the connection. It lands if its preconditions (uid, resourceVersion, not bound, not being deleted) hold
 * at that moment, as upstream checks them before every attempt of its transaction. Reads and lists are of the moment
 * they arrive. Each server has a watch cache that lags, for each kind of object on its own; watches are served from it.
 * Connections break, go silent, are told 410. How often, says the weather.
 */
#ifndef SIM_API_H
#define SIM_API_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct kube_stream;
struct object;
struct process;

/* Per mille, and milliseconds. */
struct weather {
    uint32_t refuse;   /* a call reaches nobody */
    uint32_t busy;     /* 429 */
    uint32_t forbid;   /* 403, as of a server that has just started and knows no roles yet */
    uint32_t late;     /* a write is answered before it lands (if it ever does) */
    uint32_t never;    /* of those: it does not */
    uint32_t lose;     /* the answer is lost */
    uint32_t twice;    /* sent again on another connection */
    uint32_t fail;     /* a read fails */
    uint32_t slow;     /* an answer takes up to a second, otherwise some ms */
    int64_t late_ms;   /* at most so late */
    int64_t orphan_ms; /* what a process leaves behind lands at most so long after its end */
    uint32_t lag;      /* a change is late in a watch cache, */
    int64_t lag_ms;    /* by at most this; otherwise some ms */
    uint32_t expire;   /* a watch is told 410 */
    uint32_t no_lists; /* a server does not know WatchList */
    uint32_t pages;    /* a server ends a page of a list after some objects, whatever limit was asked for */
};

#define SERVERS_MAX 3

void api_init(unsigned server_n);
/* Holds from now on; all zero: nothing goes wrong. */
void api_weather(const struct weather *w);

void api_call(struct call *c);
void api_open(struct kube_stream *s, const char *path);
void api_close(struct kube_stream *s);

/* Breaks one open watch, or makes it silent. */
void api_break_a_watch(bool silent);
void api_break_silent(void);
/* The process reaches nobody for so long: its watches break, answers do not come, what it sends does not arrive. */
void api_unreachable(struct process *p, int64_t ms);
/* All connections of the process break; of what it sent, what is too late never lands. */
void api_cut(struct process *p);
/* kubectl delete. */
void api_delete_intents(struct object *o);
/* Bindings that may still land. */
unsigned api_pending_n(void);
/* Of these, each that would land if it did so now. */
void api_each_pending(void (*fn)(struct process *of, const char *uid, const char *node, int64_t left_ns));

#endif
