/* sim/oracle_internal.h - what the oracle knows of each GPU: oracle.c keeps it, oracle_ledger.c holds ledgers against
 * it, oracle_decisions.c knows what was known. */
#ifndef SIM_ORACLE_INTERNAL_H
#define SIM_ORACLE_INTERNAL_H

#include "meaning.h"
#include "oracle.h"

#define ORACLE_DEVICES_MAX 512
#define ORACLE_HOLDERS_MAX 64
#define ORACLE_PAST 16
#define ORACLE_TAGS 3

struct oracle_holder {
    char uid[24];
    unsigned process;
    uint64_t version;
    uint64_t nodes_seen; /* of who gave it, then */
    int64_t left_ns, landed_ns;
    int milli, mem_mib;
    bool whole;
    int64_t sent_ns; /* for the first time */
    struct caps cap; /* what the GPU had then, as its process could know */
    struct team limit;
    char ns[16];
};

struct oracle_state {
    int mem_mib;            /* 0: not there, or nobody may be given it */
    unsigned pool, profile; /* profile of an instance (struct offer); 0: a GPU */
};

struct oracle_past {
    int64_t until_ns;
    uint64_t until; /* the version of the node in which it is not so any more */
    struct oracle_state was;
};

struct oracle_device {
    char uuid[24], node[32];
    struct oracle_state now;
    uint64_t version; /* of the node, since it has that */
    struct oracle_past past[ORACLE_PAST];
    struct oracle_holder holders[ORACLE_HOLDERS_MAX];
    size_t holder_n;
};

extern struct oracle_device oracle_devices[ORACLE_DEVICES_MAX];
extern size_t oracle_device_n;
extern enum fleet oracle_fleet;
/* Several at once, each of which may bind any pod. */
static inline bool oracle_many_decide(void)
{
    return oracle_fleet == FLEET_MISTAKE || oracle_fleet == FLEET_STRICT;
}
/* Was a write of one of them so late that the other could not know of it? Of processes without an election: had the
 * hold-off of somebody between them been over when the older one's landed? */
struct oracle_write {
    unsigned process;
    int64_t left_ns, landed_ns;
};
bool oracle_was_late(struct oracle_write a, struct oracle_write b);
struct oracle_device *oracle_find(const char *uuid);

struct oracle_tags {
    unsigned tags[2 * ORACLE_TAGS];
    size_t n;
};

/* What a process could know when it decided: what its watches had told, and the settings that were in effect in it
 * (settings.h), or had been a moment before. */
struct oracle_known {
    int64_t at_ns;      /* when the Binding was sent */
    int64_t decided_ns; /* at the earliest */
    uint64_t pods_seen, nodes_seen;
    struct oracle_tags in_effect;
    struct oracle_tags all; /* with what is to come: pods and nodes are read by it already (extender/policy_set.h) */
};

/* What the process that sent the Binding with this record knew (id of its decision; of one that gives nothing: uid of
 * the pod). NULL: none was sent. */
const struct oracle_known *oracle_decided(const char *id);
/* Which settings are in effect there: to be called often. */
void oracle_note_settings(const struct process *p);
struct oracle_known oracle_knows(const struct process *p);
/* The most that the GPU had by any of that. */
struct caps oracle_caps(const struct oracle_device *d, const struct oracle_known *k);
/* By which settings may `given`, of each of `count` GPUs, be what was asked for? If any, it also says whether that is
 * the whole GPU. */
struct oracle_tags oracle_means(const struct oracle_device *d, const struct oracle_known *k, const struct ask *ask,
                                struct amounts *given);
/* Its record was edited, so a process that starts later goes by its request, which may mean less today (3.1.1). One
 * that saw it neither unbound nor in its first list, because its watch was interrupted, does not take an annotation for
 * a request: a tenant could close a node by it (3.1.8). */
bool oracle_may_count_less(const struct oracle_holder *h, unsigned process);
/* Was a Binding of the pod sent that gives it nothing? */
bool oracle_gave_nothing(const char *uid);
/* Is it no request by any of that? */
bool oracle_is_none(const struct oracle_known *k, const struct ask *ask);
/* What those that are on the node without a record, as the process knows, take of the GPU at least: they count on every
 * one that they could be using (design.md 3.1.9), by the settings by which the other pod was read as well. */
struct amounts oracle_strangers(const struct oracle_device *d, const struct oracle_known *k,
                                const struct oracle_tags *by);
/* The most that the namespace may hold; what it holds as far as the process could know, with or without what is on GPUs
 * that are not there any more, which a process that starts does not know. */
struct team oracle_team_limit(const char *ns, const struct oracle_known *k);
struct amounts oracle_team_holds(const char *ns, const struct oracle_known *k, unsigned process, bool with_lost);
/* What the pod was given, of all its GPUs. */
struct amounts oracle_pod_holds(const char *uid);

#endif
