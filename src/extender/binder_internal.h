/* extender/binder_internal.h - one Binding on its way. binder.c has all of them, their callers and the time;
 * bind_steps.c takes one from its first step to its end; binder_exchange.c sends what is due; binder_server.c
 * asks what the API server is. */
#ifndef EXTENDER_BINDER_INTERNAL_H
#define EXTENDER_BINDER_INTERNAL_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "extender/bind_machine.h"
#include "extender/binder.h"
#include "kube/binding.h"
#include "kube/transport.h"

#define BIND_DECISION_ID_BYTES 17 /* 16 digits */

struct bind_waiter {
    bind_done_fn *done;
    void *ctx;
    struct bind_waiter *next;
};

struct bind {
    struct binder *binder;
    struct bind *next, *prev;
    char *text; /* the four names in one block */
    struct bind_request request;
    const struct rules *rules; /* from the first to the last step */
    char decision_id[BIND_DECISION_ID_BYTES];
    bool fetching;        /* the pod is not known yet: its GET comes before everything */
    bool names_ours;      /* the pod that was fetched names resources or annotations of ours */
    struct str leftovers; /* ... and carries these to be overwritten (core/dialects/dialect.h); in `record` */
    uint32_t fetch_failed_n;
    int64_t fetch_at_ns; /* when to fetch again, while fetching and not busy */
    bool reserved;       /* the ledger holds devices for it */
    bool busy;           /* an exchange is in flight */
    bool news;           /* the watch has shown the pod: the thread looks what that means */
    bool told_unknown;   /* the caller was told that the outcome is not known */
    struct bind_machine machine;
    struct arena record; /* of the annotations */
    struct binding binding;
    size_t kept_bytes; /* binding_request() */
    struct strbuf path, body, get_path;
    struct bind_waiter *waiters;
};

/* What is known of the API server. Only one that looks at the preconditions of a Binding lets a new version of a
 * pod prove that earlier sends are dead; until it has said so, nothing is proven. */
struct binder_server {
    enum binding_preconditions preconditions;
    bool asking;
    uint32_t failed_n;
    int64_t ask_at_ns; /* next time; INT64_MAX: never again */
};

struct binder {
    struct policy_set *policies;
    struct store *store;
    struct kube_client *client;
    const struct clock *clock;
    const struct log *log;
    struct binder_options options;

    struct mutex lock;
    struct condvar wake;
    struct thread thread;
    struct condvar idle; /* the last bind has ended */
    bool closed, stopping;
    struct bind *binds;
    uint32_t bind_n;
    int64_t wake_ns; /* when the thread must look again; INT64_MAX: when told */
    struct binder_server server;
    struct rng rng;
};

/* An answer that is due; delivered without the lock. */
struct bind_answer_due {
    struct bind_waiter *waiters;
    enum bind_outcome outcome;
    const char *error;
    char decision_id[BIND_DECISION_ID_BYTES];
};

extern const char BIND_TEXT_OTHER[], BIND_TEXT_OVERLOADED[];

/* Everything below is called with the lock held. What has `due` may end (free) the bind; answers go there. */

struct bind *bind_new(struct binder *binder, const struct bind_request *r);
void bind_add_waiter(struct bind *b, bind_done_fn *done, void *ctx);
/* All who wait get this answer; the bind goes on. */
void bind_answer(struct bind *b, enum bind_outcome outcome, const char *error, struct bind_answer_due *due);
/* Chooses devices and prepares the Binding; or settles the bind with an answer. */
void bind_begin(struct bind *b, struct bind_answer_due *due);
/* Does what the machine says until it waits, is busy, or has ended. */
void bind_advance(struct bind *b, struct bind_answer_due *due);
/* Asks the API server for a pod that the ledger does not know. */
void bind_fetch(struct bind *b, struct bind_answer_due *due);
/* Has the watch shown where the pod was bound? Then nothing is open any more: spec.nodeName is never changed, so
 * what may still be on its way changes nothing. Its callers are answered now; the bind itself ends with its
 * exchange. Or has it shown the pod unbound, at a version on which nothing that was sent can land? Looked at while
 * no exchange is in flight; the bind may end or go on. */
void bind_resolve_by_watch(struct bind *b, struct bind_answer_due *due);
/* Is what was decided still right for the pod as the ledger has it, at this version? Then a Binding may be written
 * for it. */
bool bind_holds(struct bind *b, uint64_t version);
/* Ends the bind with an answer, without touching the ledger. */
void bind_settle(struct bind *b, enum bind_outcome outcome, const char *error, struct bind_answer_due *due);

/* Sends what is due (binder_exchange.c). False: could not be submitted. */
bool bind_send_post(struct bind *b);
bool bind_send_get(struct bind *b);

/* GET /version, if it is time to (binder_server.c). */
void binder_ask_server(struct binder *b);
bool binder_versions_hold(const struct binder *b);

/* The binder's thread looks again then, at the latest. */
void bind_wake_at(struct binder *b, int64_t at_ns);

void bind_deliver(struct bind_answer_due *due); /* without the lock */

#endif
