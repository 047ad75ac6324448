/* extender/binder_internal.h - one Binding on its way. binder.c has all of them, their callers and the time;
 * bind_steps.c takes one from its first step to its end; binder_exchange.c sends what is due; binder_server.c
 * asks what the API server is; binder_rights.c what fgpu may do there; bind_intent.c and binder_intents*.c are
 * `consistency: strict` (bind_node.h). */
#ifndef EXTENDER_BINDER_INTERNAL_H
#define EXTENDER_BINDER_INTERNAL_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "extender/bind_machine.h"
#include "extender/binder.h"
#include "extender/intents.h"
#include "kube/binding.h"
#include "kube/intent_object.h"
#include "kube/transport.h"

#define BIND_DECISION_ID_BYTES 17 /* 16 digits */

struct bind_waiter {
    bind_done_fn *done;
    void *ctx;
    struct bind_waiter *next;
};

/* What a bind waits for, of `consistency: strict`. */
enum bind_intent {
    BIND_INTENT_NONE,
    BIND_INTENT_AWAITS_NODE, /* before devices are chosen: that every intent of the node is known and proven */
    BIND_INTENT_WANTED,      /* its intent goes into the next write */
    BIND_INTENT_WRITING,
    BIND_INTENT_FAILED, /* not written, or nobody knows: devices are to be chosen again */
};

struct bind {
    struct binder *binder;
    struct bind *next, *prev;
    char *text; /* the four names in one block */
    struct bind_request request;
    const struct rules *rules; /* from the first to the last step */
    char decision_id[BIND_DECISION_ID_BYTES];
    bool fetching;              /* the pod is not known yet: its GET comes before everything */
    bool names_ours;            /* the pod that was fetched names resources or annotations of ours */
    struct str leftovers;       /* ... and carries these to be overwritten (core/dialects/dialect.h); in `record` */
    struct store_looked looked; /* ... and asks for this by the rules in effect then, and those to come; in `record` */
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

    struct bind_node *node; /* of `consistency: strict`, with the next; NULL: not looked at yet */
    enum bind_intent intent;
    bool turn;               /* what it waited for has happened */
    uint64_t node_reading;   /* of the node, when devices were chosen */
    uint64_t intent_version; /* of the pod, of the intent that is known to be written; 0: none is */
    uint32_t again_n;        /* how often devices were chosen again */
};

/* What is known of the API server. Only one that looks at the preconditions of a Binding lets a new version of a
 * pod prove that earlier sends are dead; until it has said so, nothing is proven. */
struct binder_server {
    enum binding_preconditions preconditions;
    bool asking;
    uint32_t failed_n;
    int64_t ask_at_ns; /* next time; INT64_MAX: never again */
};

/* What is known of the rights that `consistency: strict` needs. */
struct binder_rights {
    size_t at; /* the verb that is asked about */
    bool asking;
    bool refused; /* by the last answer about all of them; it was told */
    uint32_t failed_n;
    int64_t ask_at_ns; /* next time; INT64_MAX: not before a request is refused */
};

/* So often devices are chosen again, because another process wrote first or nobody knows. */
#define BIND_AGAIN_MAX 8

/* The object of one node, as it was read or written last. */
struct bind_node {
    struct bind_node *next;
    struct binder *binder;
    char *name;
    bool busy;        /* an exchange is in flight */
    bool read;        /* `object` and `held` are of the newest revision, as far as is known */
    uint64_t reading; /* counts how often it was read: what others wrote may be in it */
    struct intent_object object;
    struct intents held, sent; /* sent: of the write in flight */
    struct strbuf text, sent_text;
    int64_t again_ns; /* not asked before */
    uint32_t failed_n;
    char *asked_uid;   /* of the intent whose pod is being asked for */
    bool in_doubt;     /* an intent has been unproven for more than a moment, and it was told */
    bool ranks_last;   /* what the store knows of it: store_doubt() */
    bool illegible;    /* when the object, or the pod of an intent, was asked for last */
    bool looking;      /* it is looked at although no bind waits for it: binder_tidy() */
    const char *error; /* static: why nothing can be decided here now */
};

#define BIND_NODE_BUCKETS 1024

/* What binder_tidy() has yet to look at (binder_intents_tidy.c): one node at a time, since binds come first. */
struct binder_tidy {
    char **names; /* of nodes: those in doubt, then those that are gone, a page at a time */
    size_t n, cap;
    bool busy;          /* one is being looked at, or a page is on its way */
    uint64_t round;     /* calls of binder_tidy(): what an earlier one has asked for is void */
    bool lists;         /* there is a page to ask for: */
    struct strbuf more; /* its token; empty: the first */
    bool refused;       /* the right is missing, and it was told */
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
    struct binder_rights rights;
    struct rng rng;
    char *intent_objects; /* "NAMESPACE/PREFIX"; NULL: consistency is not strict */
    char process[INTENT_DECIDER_BYTES];
    struct bind_node **nodes; /* by hash of the name */
    uint32_t ranks_last_n;    /* of them; while there are any, */
    int64_t doubts_at_ns;     /* it is looked then whether that is over, */
    int64_t doubts_ask_at_ns; /* and the API server is asked then */
    struct binder_tidy tidy;
};

/* An answer that is due; delivered without the lock. */
struct bind_answer_due {
    struct bind_waiter *waiters;
    enum bind_outcome outcome;
    const char *error;
    char decision_id[BIND_DECISION_ID_BYTES];
};

extern const char BIND_TEXT_OTHER[], BIND_TEXT_OVERLOADED[], BIND_TEXT_TRANSITION[];

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

/* Gives the devices back, and chooses again if somebody waits. Nothing that was sent for it can land. */
void bind_decide_again(struct bind *b, struct bind_answer_due *due);

/* ---- consistency: strict (binder_intents.c; the rules are in extender/intents.h) ---- */

/* Before devices are chosen: is every intent of the node known and proven? False: the bind waits for that
 * (BIND_INTENT_AWAITS_NODE), and gets a turn. */
bool bind_node_is_ready(struct bind *b);
/* Before a Binding is sent: is its intent known to be written? False: it waits for that. */
bool bind_has_intent(struct bind *b);
/* NULL, or why no Binding of this bind may be sent at all; static. */
const char *bind_intent_obstacle(const struct bind *b);
/* It waits, and it is its turn, or time is up (bind_intent.c, which binder.c alone calls). */
void bind_intent_turn(struct bind *b, bool expired, struct bind_answer_due *due);
/* When the thread has something to do for the node of a bind that waits; INT64_MAX: when told. */
int64_t bind_node_due_ns(const struct bind *b);
void bind_node_advance(struct bind_node *n);
void binder_free_nodes(struct binder *b);
/* Nodes whose doubt is over without a bind, by what the watch has shown, or the API server, which is asked now and
 * then; by the binder's thread. */
void binder_doubts_turn(struct binder *b);
/* The part of binder_tidy() that is about nodes in doubt, unless some of it is under way. */
void binder_ask_about_doubts(struct binder *b);
/* What is due of binder_tidy(), if nothing of it is under way; by the binder's thread. */
void binder_tidy_turn(struct binder *b);
void binder_tidy_init(struct binder_tidy *t);
void binder_tidy_fini(struct binder_tidy *t);

/* Sends what is due (binder_exchange.c). False: could not be submitted. */
bool bind_send_post(struct bind *b);
bool bind_send_get(struct bind *b);

/* GET /version, if it is time to (binder_server.c). */
void binder_ask_server(struct binder *b);
bool binder_versions_hold(const struct binder *b);

/* Asks for the rights of `consistency: strict`, if it is time to (binder_rights.c). */
void binder_ask_rights(struct binder *b);
void binder_rights_init(struct binder_rights *r);
/* A request was refused: they are asked for again. */
void binder_recheck_rights(struct binder *b);

/* The binder's thread looks again then, at the latest. */
static inline void bind_wake_at(struct binder *b, int64_t at_ns)
{
    if (at_ns < b->wake_ns) {
        b->wake_ns = at_ns;
        condvar_signal(&b->wake);
    }
}

void bind_deliver(struct bind_answer_due *due); /* without the lock */

#endif
