/* extender/planner_internal.h - the pods that wait, and the patches under way. planner_pods.c has the table and what is
 * observed; planner_turn.c decides what is due; planner.c has the thread, the answers and what is shown;
 * planner_patch.c sends; planner_pace.c keeps schedulers from overtaking. */
#ifndef EXTENDER_PLANNER_INTERNAL_H
#define EXTENDER_PLANNER_INTERNAL_H

#include "base/hashmap.h"
#include "base/sync.h"
#include "core/plan/keepers.h"
#include "extender/planner.h"
#include "model/names.h"

enum { PLANNER_SCHEDULERS_MAX = 8, PLANNER_RATE_PARTS = 8 };

/* Read without the lock while nodes are chosen; counted under it. */
struct counted_pod {
    struct waiting_pod *pod;
    uint32_t ref_n;
};

enum nominated {
    NOMINATED_NOT,
    NOMINATED_SENT,   /* by a patch of ours that the watch has not shown yet, and perhaps never will */
    NOMINATED_OURS,   /* as the watch shows */
    NOMINATED_OTHERS, /* by kube-scheduler, or whoever */
};

struct planned_pod {
    uint32_t index; /* in pods[] */
    uint64_t hash;
    struct counted_pod *seen; /* as it was last observed; its queued_ms and arrival are its place in the queue: since
                                 its creation, or since it was last refused */
    uint32_t epoch;           /* the list that brought it */
    enum nominated nominated;
    bool busy;                    /* a patch is under way */
    char *node_name;              /* that it is nominated to, by whomever; NULL: to none */
    char *our_node;               /* that this process sent it to, or saw it nominated to by us; until another value is
                                     seen, or the patch is known not to have landed. NULL: none */
    int64_t since_ns;             /* when the nomination was sent; PLANNER_NEVER: not by this process */
    uint64_t sent_version;        /* of the pod that the nomination was sent for */
    int64_t asked_ns, binding_ns; /* PLANNER_NEVER: not */
    int64_t landed_ns;            /* when the API server had answered the last patch */
    uint32_t outstanding_at;      /* in outstanding[], if it is */
    bool refused_alone;           /* by filter, asked about one node, and not asked again yet */
    char *asked_node;             /* that filter answered then, if it was one; NULL: not known */
    char *choice;                 /* in the block: the node that was chosen; NULL: none */
    uint64_t choice_version;      /* of the pod that it was chosen for */
    int64_t not_before_ns;        /* of the next nomination */
    uint32_t again_n;             /* nominations that came to nothing */
    uint32_t unfit_n;             /* looks that found no node, without an end */
    int64_t retry_ns;             /* of a withdrawal */
    uint32_t failed_n;
};
#define PLANNER_NEVER (INT64_MIN / 2)

/* One that has asked. */
struct planned_scheduler {
    char name[KUBE_SUBDOMAIN_MAX + 1];
    int64_t not_before_ns; /* of the next nomination of its pods */
};

struct planner_call {
    struct planner_call *next;
    char *text; /* one block */
    struct counted_pod *seen;
    int64_t sent_ns;
    struct nomination patch;
    bool withdraws;
};

/* An answer of filter that waits. */
struct planner_waiter {
    void (*go)(void *ctx);
    void *ctx;
    int64_t until_ns;
};

struct planner {
    struct planner_options options;
    struct mutex lock; /* of everything below */
    struct condvar changed, held_changed;
    struct thread thread, pace;
    bool started, paces, stopping;
    bool news;       /* something happened that may let somebody be nominated */
    uint64_t news_n; /* how often, so that the thread does not miss it */
    bool enabled;
    struct planned_pod *pods[PLANNER_PODS_MAX];
    uint32_t pod_n;
    struct hashmap by_uid;
    struct keepers *keepers;
    uint64_t arrival; /* of the next pod */
    uint32_t epoch;
    int32_t least_priority; /* once full: nobody has a lower one */
    struct planned_scheduler schedulers[PLANNER_SCHEDULERS_MAX];
    size_t scheduler_n;
    struct planned_pod *outstanding[PLANNER_PODS_MAX]; /* SENT and OURS, in no order */
    uint32_t outstanding_n;
    uint32_t in_flight_n;
    /* Binds observed, by parts of PLANNER_HORIZON_MS. */
    uint32_t binds[PLANNER_RATE_PARTS];
    int64_t bind_part; /* number of the newest part */
    int64_t last_bind_ns;
    struct planned_pod *block[PLANNER_BLOCK_MAX]; /* chosen and not sent yet, in the order of the queue; NULL: gone */
    size_t block_n, block_at;
    int64_t block_ns;
    int64_t asked_ns,
        ask_gap_ns;             /* the last pod that was asked about, and the time between two, smoothed; 0: unknown */
    int64_t answered_ns;        /* filter's last answer; PLANNER_NEVER: none */
    int64_t alone_ns, among_ns; /* from an answer to the next question, about one node and about many; smoothed */
    int64_t settle_ns;          /* from a landed nomination until the scheduler knows of it */
    struct planner_waiter held[PLANNER_HELD_MAX];
    size_t held_n;
    int64_t patch_ns;               /* from a nomination to its answer, smoothed; 0: not known */
    int32_t hits_permille;          /* nominations that led to a bind there, smoothed */
    int64_t poor_until_ns, poor_ms; /* they do not, and planning rests */
    int64_t looked_ns;              /* for pods to nominate, the last time */
    int64_t not_before_ns, pause_ms;
    bool told; /* the log knows about the trouble */
    struct planner_status status;
};

/* With the lock. */
struct planned_pod *planner_find(const struct planner *p, struct str uid);
void planner_remove(struct planner *p, struct planned_pod *w);
void planner_set_nominated(struct planner *p, struct planned_pod *w, enum nominated to, struct str node_name);
void planner_set_our_node(struct planned_pod *w, struct str node_name); /* empty: none */
/* NULL: it has never asked. */
struct planned_scheduler *planner_scheduler(struct planner *p, struct str name);
void planner_seen_put(struct counted_pod *s);
/* It came to nothing: the pod waits. */
void planner_let_wait(struct planned_pod *w, int64_t now_ns);
bool planner_is_outstanding(const struct planned_pod *w);
/* The pod leaves the block; all do. */
void planner_unchoose(struct planner *p, struct planned_pod *w);
void planner_drop_block(struct planner *p);
/* A nomination led to a bind where it said, or not. */
void planner_note_hit(struct planner *p, bool hit, int64_t now_ns);
/* How the scheduler comes nearer, and whether it knew of the nomination. */
void planner_note_ask(struct planner *p, struct planned_pod *w, const struct planner_ask *ask, int64_t now_ns);
/* How many pods the scheduler takes before a patch that is sent now lands. */
uint32_t planner_lead(const struct planner *p, int64_t now_ns);
/* kube-scheduler's order, as waiting_pod_compare(). */
int planner_compare(const struct planned_pod *a, const struct planned_pod *b);
void planner_note_news(struct planner *p);
/* Planning waits, longer each time. */
void planner_pause(struct planner *p, int64_t now_ns, int64_t at_least_ms);

/* Without the lock. Sends the answers that may go. */
void planner_release(struct planner *p);
/* The thread that does so, apart from the planner's own, which may be choosing nodes (defects.md, F134). */
void *planner_pace_main(void *arg); /* struct planner */

#endif
