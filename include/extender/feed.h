/* extender/feed.h - keeps the store in step with the API server: the handlers of the two reflectors.
 *
 * What cannot be taken in is never passed over: an object that cannot be decoded or interpreted is charged
 * pessimistically, one that is too large by what was read of it as it passed; both are
 * named (extender/unreadable.h). A pod for which there is no room is turned away (core/ledger/ledger.h), so that nobody
 * who creates pods can have the store closed. What fails all the same closes it (store_close), because capacity nobody
 * counts is capacity given away twice.
 */
#ifndef EXTENDER_FEED_H
#define EXTENDER_FEED_H

#include "extender/policy_set.h"
#include "kube/reflector.h"

/* Memory for interpreting one object; the largest object etcd stores is 1.5 MiB. */
#define FEED_ARENA_BYTES_MAX (64U * 1024 * 1024)

struct unreadable;

/* One per resource: a feed is used by one thread. */
struct feed {
    struct policy_set *policies;
    struct unreadable *unreadable; /* takes down what cannot be read in full; may be NULL */
    const struct clock *clock;     /* for that; NULL: the system's */
    const struct rules *rules;     /* what objects are read by; taken anew where a list begins */
    struct arena arena;
    /* The first complete list was applied; may be NULL. */
    void (*synced)(void *ctx, enum kube_resource resource);
    /* A list begins; may be NULL. */
    void (*begun)(void *ctx, enum kube_resource resource);
    /* Any complete list was applied, read by these rules; may be NULL. */
    void (*listed)(void *ctx, enum kube_resource resource, const struct rules *by);
    void *ctx;
    enum kube_resource resource;
    /* Of the list of pods that is being read, or was last: pods that a process of ours may have bound or may still
     * bind, because they carry a record (of whatever worth), or wait and ask for GPUs or any extended resource (it may
     * have been a name for GPUs), or could not be read in full. What a watch shows is not looked at. */
    uint64_t traces;
    bool lists;   /* a list is being read */
    bool rereads; /* other rules than the last complete list's */
};

void feed_init(struct feed *f, struct policy_set *policies, enum kube_resource resource);
void feed_fini(struct feed *f);

/* The callbacks for kube/watcher.h, with `f` as their context. */
struct reflector_handler feed_handler(struct feed *f);

#endif
