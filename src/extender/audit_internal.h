/* extender/audit_internal.h - audit.c has the thread and who waits for it, audit_run.c and
 * audit_look.c what one run does. */
#ifndef EXTENDER_AUDIT_INTERNAL_H
#define EXTENDER_AUDIT_INTERNAL_H

#include "extender/audit.h"

#include "base/hash.h"
#include "base/rng.h"
#include "base/sync.h"
#include "extender/feed.h"
#include "kube/lister.h"

/* One object that looked different. */
struct suspect {
    enum kube_resource resource;
    uint64_t touched;
    char *text;                      /* id, namespace and name in one block */
    struct str id, namespace_, name; /* a pod's UID, a node's name; the name as in the API */
};

struct audit_waiter {
    audit_done_fn *done;
    void *ctx;
    struct audit_waiter *next;
};

struct audit {
    struct policy_set *policies;
    const struct log *log;
    const struct clock *clock;
    struct audit_options options;
    struct rng rng;
    struct hash_key hash_key;
    struct kube_stream *stream;
    struct kube_lister lister;
    struct thread thread;

    /* the run; of its thread */
    struct audit_report *report;
    const struct rules *rules;
    struct ingest ingest; /* of the rules, without a log: what the feed has said is not said again */
    struct ledger *scratch;
    struct arena arena; /* of one object */
    int64_t give_up_ns;
    uint64_t generation; /* before the list in progress was asked for */
    uint64_t *seen;      /* hashes of the ids in the list in progress */
    size_t seen_n, seen_cap;
    struct suspect *suspects;
    size_t suspect_n, suspect_cap;
    enum kube_resource resource;  /* being listed */
    const struct suspect *looked; /* the suspect being read again */
    bool found;                   /* and its object was there */
    bool relist[KUBE_RESOURCE__MAX];

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping;
    bool asked;
    struct audit_waiter *waiters;
    struct audit_report last;
};

/* Waits on the audit's condition; false at once when fgpu stops, or when that is later than the run
 * may last. */
bool audit_wait(struct audit *a, int64_t until_ns);

/* The first thing that went wrong is what the report says. */
void audit_fail(struct audit *a, const char *text);
struct str audit_id_of(const struct kube_object *o); /* a pod's UID, a node's name */
/* Waits for the watches, then looks at all suspects again. */
int audit_settle(struct audit *a, struct err *reterr);

/* One whole run; fills all of *ret but what spans runs. */
void audit_run(struct audit *a, struct audit_report *ret);

#endif
