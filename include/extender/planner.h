/* extender/planner.h - planning ahead: pods that wait are nominated to nodes, so that kube-scheduler need not look.
 *
 * kube-scheduler asks about status.nominatedNodeName of a pod before anything else, and where that node takes the pod
 * it looks at no other one and scores nothing (contract.md 3.3). So for the head of its queue, a few seconds' worth of
 * the binds observed, fgpu chooses the nodes beforehand (core/plan) and writes them there (kube/nomination.h). Opt-in:
 * planAhead.enabled, with rights of its own (manifests/plan-ahead; decision 0090).
 *
 * Nothing of safety rests on it: bind judges each pod anew, and a patch carries uid and resourceVersion of the pod that
 * was looked at. What a nomination can do is to keep room that nobody takes: kube-scheduler holds the cpu, memory and
 * ports of a nominated pod against all pods of the same or a lower priority. Therefore
 *   - a nomination that has not led to a bind is taken back PLANNER_KEPT_MS after it was sent; so is, at once, one that
 *     is seen and that this process did not make (an earlier process of fgpu did), and all of them when fgpu stops in
 *     order, or planning is switched off;
 *   - a pod that a withdrawal has hit waits PLANNER_AGAIN_MS, doubled each time, until it is nominated again; where
 *     nominations expire and nobody binds, all planning pauses (PLANNER_PAUSE_MS, doubled): withdrawals are few,
 * because each makes kube-scheduler try all pods of lower or equal priority again;
 *   - nobody else's nomination is ever touched, and no pod is nominated that a scheduler asks about or binds just now,
 *     nor one of a scheduler that has not asked this process about any pod;
 *   - where the API server refuses a nomination, that pod waits, and its scheduler's pods are not planned for a minute.
 *
 * What was once ours stays ours until another value is seen, whatever becomes of managedFields: whoever may patch a pod
 * may empty them, and a proxy may leave them out.
 *
 * What the watch shows is the truth. An answer that is lost needs no question: the patch lands on that version of the
 * pod or never, and either is seen (kube/nomination.h).
 *
 * PLANNER_PODS_MAX pods are kept. Of more, those that would be nominated last are not: they are scheduled as without
 * planning, until another event of theirs, or the next list, finds room.
 *
 * One thread, and one for answers that wait; the lock is a leaf and is held for a pass over the pods; nodes are chosen
 * without it. Everything may be called from any thread.
 */
#ifndef EXTENDER_PLANNER_H
#define EXTENDER_PLANNER_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "core/plan/head.h"
#include "kube/nomination.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLANNER_PODS_MAX 8192
#define PLANNER_IN_FLIGHT_MAX 12    /* patches; more would not land more a second, but each later */
#define PLANNER_HORIZON_MS 2000     /* that many binds are planned ahead, */
#define PLANNER_OUTSTANDING_MIN 32  /* at least this many, */
#define PLANNER_OUTSTANDING_MAX 192 /* each is promised its node (store_tentative), and of promises there are few */
#define PLANNER_BLOCK_MAX 64        /* nodes that are chosen at once, and sent as answers come */
#define PLANNER_BLOCK_MS 500        /* a choice that could not be sent for so long is forgotten */
#define PLANNER_LEAD_MIN 4  /* pods at the very front are left alone: the scheduler takes them before a patch lands, */
#define PLANNER_LEAD_MAX 64 /* as many as it takes in the time of a patch, as far as is observed */
#define PLANNER_READY 8     /* so many of the next pods are to be known as nominated, or an answer waits, */
#define PLANNER_HOLD_MAX_MS 100
#define PLANNER_HELD_MAX 8   /* answers that wait at a time */
#define PLANNER_SETTLE_MS 10 /* from the API server's answer until the scheduler knows, at first; then as observed, */
#define PLANNER_SETTLE_MAX_MS 100
#define PLANNER_TICK_MS 40    /* between two looks for pods to nominate, */
#define PLANNER_LOOK_MS 1000  /* if something has happened; else so long */
#define PLANNER_KEPT_MS 4000  /* from the patch to its withdrawal; with both patches 5 s */
#define PLANNER_ASKED_MS 5000 /* after filter said yes, or bind was asked for: no patch for this pod */
#define PLANNER_AGAIN_MS 10000
#define PLANNER_AGAIN_MAX_MS 300000
#define PLANNER_UNFIT_MS 1000 /* a pod that no node takes is looked at again after so long, doubled each time */
#define PLANNER_UNFIT_MAX_MS 30000
#define PLANNER_PAUSE_MS 5000 /* after trouble, or where nobody binds */
#define PLANNER_PAUSE_MAX_MS 60000
#define PLANNER_STOP_MS 2000 /* withdrawals of an orderly end */

struct planner;
struct planner_call; /* one patch under way */

/* A pod and the node that was chosen for it; the name is in the arena of the question. */
struct planner_choice {
    const struct waiting_pod *pod;
    struct str node_name;
};
/* Nodes for the first `max` of these pods, in kube-scheduler's order, that have one; beside what is held already. */
struct planner_question {
    const struct waiting_pod *const *pods;
    size_t pod_n;
    size_t front_n;         /* so many of them, in front, are with the scheduler first: counted, not chosen */
    struct plan_held *held; /* pods that are nominated, by whomever, or promised a node by filter, and not bound */
    size_t held_n;
    size_t max;
    struct arena *arena;
    struct planner_choice *ret; /* room for `max` */
    size_t looked_n;            /* out: of the pods, from the front; who is not chosen of those has no node now */
    size_t differ_n;            /* out: of core/plan/head.h */
};

/* Borrowed for the planner's life. */
struct planner_options {
    const struct clock *clock;
    const struct log *log;
    void *ctx; /* of all of these */
    /* Starts one PATCH and returns; planner_sent() follows exactly once with the same `call`, from any thread, also
     * from inside. */
    void (*send)(void *ctx, struct planner *p, struct planner_call *call, const struct nomination *n);
    /* Without the planner's lock, by one thread at a time. Returns how many were chosen; none where nothing is promised
     * to anybody now. */
    size_t (*choose)(void *ctx, struct planner_question *q);
    /* Without the lock, when a node was chosen: its room is promised to the pod, for as long as a nomination may last,
     * so that filter sends others there only if nothing else is left. No node: not any more. */
    void (*promise)(void *ctx, const struct waiting_pod *pod, struct str node_name);
};

struct planner *planner_new(const struct planner_options *o);
/* Stopped, and everything sent was answered: free it after the API client. NULL is fine. */
void planner_free(struct planner *p);
/* Plans from now on. Before, pods are taken in, and nothing is sent. */
WARN_UNUSED int planner_start(struct planner *p, struct err *reterr);
/* One look, as the thread makes them: sends what is due; returns when to look again at the latest (monotonic). For
 * tests that have no thread. */
int64_t planner_turn(struct planner *p);
/* Nominates no more, takes back what is outstanding, and waits for that for PLANNER_STOP_MS at most. NULL is fine. */
void planner_stop(struct planner *p);

/* ---- what is observed; a NULL planner is fine ---- */

/* A pod was seen. `waits`, which the planner takes over, is of one that waits and may be planned, or is nominated by
 * whomever; NULL: the planner has nothing to do with it. */
void planner_observed(struct planner *p, const struct pod *pod, struct waiting_pod *waits);
void planner_gone(struct planner *p, struct str uid);
/* Is the nomination of this pod the planner's? By managedFields, or by what this process sent or saw before. The one
 * verdict for ledger and planner (contract.md R24). Without a planner managedFields alone count. */
bool planner_nominated(struct planner *p, const struct pod *pod);
/* Around a list of all pods: what a complete one did not bring is gone. */
void planner_list_begin(struct planner *p);
void planner_list_end(struct planner *p, bool complete);
/* What filter was asked, and answers. */
struct planner_ask {
    struct str uid, scheduler_name;
    size_t name_n;        /* nodes that it was asked about */
    bool some_fit;        /* bind follows within milliseconds; else no node takes it */
    struct str node_name; /* the only one that is answered, if it is one */
};
void planner_asked(struct planner *p, const struct planner_ask *ask);
/* Should the answer of filter about this pod, of which planner_asked() was told, wait? A scheduler that overtakes the
 * patches would look at all nodes for every pod, and keep the API server from the CPUs meanwhile. A NULL planner is
 * fine. */
bool planner_holds(struct planner *p, struct str uid);
/* Asks so again, and takes the answer over. False: `go` is called once, from another thread, when nominations of the
 * next pods are known to the scheduler, or when waiting would cost it more than looking at all nodes does
 * (PLANNER_HOLD_MAX_MS at most). True: it may go at once. */
bool planner_lets_go(struct planner *p, struct str uid, void (*go)(void *ctx), void *ctx);
/* A scheduler binds it. */
void planner_binding(struct planner *p, struct str uid);
/* Whether to nominate; off at first. Off takes back what is outstanding. */
void planner_enable(struct planner *p, bool enabled);

/* `detail` is for the log, valid during the call. */
void planner_sent(struct planner *p, struct planner_call *call, const struct nomination_answer *a, const char *detail);

/* ---- what is sent ---- */

struct kube_client;
/* For planner_options.send: one PATCH through this client. */
void planner_patch_send(struct kube_client *client, struct planner *p, struct planner_call *call,
                        const struct nomination *n);

/* ---- what is shown ---- */

#define PLANNER_TROUBLE_MAX 256
struct planner_status {
    bool enabled;
    uint32_t waiting_n;                       /* pods that it could nominate */
    uint32_t outstanding_n;                   /* nominations that are not bound yet */
    uint64_t made_n, withdrawn_n, used_n;     /* used: bound where it was nominated */
    uint64_t failed_n[NOMINATION_REPLY__MAX]; /* patches by answer, without DONE */
    uint64_t left_out_n;                      /* pods for which there was no room */
    uint64_t differ_n;                        /* pods that were skipped because of a fault of ours (core/plan/head.h) */
    uint64_t paced_n;                         /* answers of filter that waited */
    uint32_t lead_n;                          /* pods at the front that are left alone now */
    int32_t patch_us;                         /* from sending a nomination to its answer, smoothed; 0: not known */
    int32_t hits_permille;                    /* of nominations: what led to a bind there, smoothed */
    char trouble[PLANNER_TROUBLE_MAX];        /* why nothing can be nominated, with the remedy; "": it can */
};
void planner_read(struct planner *p, struct planner_status *ret); /* NULL: all zero */

#endif
