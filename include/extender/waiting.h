/* extender/waiting.h - what is known of pods that wait, beside what they ask for: which scheduler is theirs, what that
 * says about them, and whether it has asked fgpu.
 *
 * Nobody decides by it; it is for explanations (extender/explain.h) and /state, and a restart forgets what was asked.
 * WAITING_MAX pods are kept; more push out those that were heard of the longest time ago. So of a pod that is not found
 * nothing may be concluded.
 *
 * Lock: its own, a leaf; any thread. Times are wall milliseconds.
 */
#ifndef EXTENDER_WAITING_H
#define EXTENDER_WAITING_H

#include "base/arena.h"
#include "core/fit/verdict.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITING_MAX 1024
#define WAITING_MESSAGE_MAX 1024 /* bytes of a message; the rest is cut */

/* Nodes by their place in the ledger, which means something while its names_version (core/ledger/view.h) is the same.
 */
struct node_set {
    const uint64_t *bits; /* NULL: not known */
    size_t word_n;
    uint64_t names_version;
};

static inline bool node_set_has(const struct node_set *s, uint32_t node)
{
    return node / 64 < s->word_n && (s->bits[node / 64] >> node % 64 & 1) != 0;
}

struct waiting;

struct waiting *waiting_new(void);
void waiting_free(struct waiting *w); /* NULL is fine */

/* A pod that asks for GPUs was seen: not bound, it is kept; bound, it is forgotten. */
void waiting_observed(struct waiting *w, const struct pod *pod);
void waiting_gone(struct waiting *w, struct str uid);

/* A scheduler has asked about so many nodes, of which so many take the pod. The rest is copied where none does. */
struct waiting_answer {
    size_t node_n, fit_n;
    uint64_t generation;    /* of the ledger when the first of them was judged */
    const uint64_t *counts; /* VERDICT__MAX numbers of nodes, together node_n */
    struct node_set asked;
};
void waiting_asked(struct waiting *w, const struct pod *pod, const struct waiting_answer *answer, int64_t now_ms);

struct waiting_note {
    bool known;
    struct str scheduler_name; /* of its object */
    struct str message;        /* of its condition PodScheduled while that is False; empty: none */
    uint32_t asked_n;          /* times since this process began */
    uint32_t node_n, fit_n;    /* of the last one */
    int64_t asked_ms;          /* when */
    struct node_set asked;     /* of the last one, if no node took the pod; all others the scheduler had left out */
    struct str asking;         /* the scheduler of the last pod, this or another, that fgpu was asked about; empty: it
                                  was never asked */
};
/* Text is in `a`. */
void waiting_find(struct waiting *w, struct arena *a, struct str uid, struct waiting_note *ret);

/* A pod that no node took when it was last asked about. */
struct waiting_refusal {
    struct str uid;
    int64_t since_ms, last_ms; /* since when no node has taken it, without an end; when it was last asked about, */
    uint64_t generation;       /* and then: of the ledger, */
    uint64_t node_n, counts[VERDICT__MAX]; /* nodes that were asked about, and how many of them gave which reason */
};
/* All of them, by UID, in `a`, as they are at this moment; at most WAITING_MAX. O(n log n). */
size_t waiting_refusals(struct waiting *w, struct arena *a, const struct waiting_refusal **ret);
/* Of that list; NULL: none. */
const struct waiting_refusal *waiting_refusal_of(const struct waiting_refusal *all, size_t n, struct str uid);

/* A pod that has been refused everywhere for `after_ms`, without an end, and was not taken for `again_ms`, each in its
 * turn; its names in `a`. False: there is none. */
struct waiting_refused {
    struct str namespace_, name, uid;
    uint64_t told; /* what waiting_told() was given; 0: nothing */
};
bool waiting_take_refused(struct waiting *w, struct arena *a, int64_t now_ms, int64_t after_ms, int64_t again_ms,
                          struct waiting_refused *ret);
/* People were told this about the pod. */
void waiting_told(struct waiting *w, struct str uid, uint64_t told);

#endif
