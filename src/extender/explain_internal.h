/* extender/explain_internal.h - shared by explain*.c and whatif.c. */
#ifndef EXTENDER_EXPLAIN_INTERNAL_H
#define EXTENDER_EXPLAIN_INTERNAL_H

#include "base/sentence.h"
#include "extender/explain.h"

/* What kube-scheduler may choose of all nodes. */
struct explain_choice {
    struct store_pack_answer answer; /* best first, while some node that it may choose fits */
    struct str *names;               /* of the answer, in its order, */
    bool *open;                      /* and whether it is open to the pod */
};
/* EXPLAIN_WAITING of `ret`, whose names, pod and `waiting` are given. The pod need not exist: then it has no UID, and
 * `waiting` is empty. Errors of explain_pod(). */
WARN_UNUSED int explain_waiting(const struct placement_context *c, struct arena *a, size_t node_max,
                                struct explanation *ret, struct explain_choice *choice, struct err *reterr);

/* ---- what helps beyond reasons: names that exist, and what nodes say of themselves ---- */

/* The notes and models of `ret`, of all nodes as they were judged. False: the arena is full. */
WARN_UNUSED bool explain_hints(const struct placement_context *c, struct arena *a,
                               const struct store_pack_answer *judged, struct explanation *ret);
/* Its sizes. False: the arena is full. */
WARN_UNUSED bool explain_sizes(const struct policy *p, struct arena *a, struct explanation *ret);

/* ---- words ---- */

/* ": 3 TEXT, 2 TEXT", the most frequent first; nothing where nothing is counted. */
void explain_add_reasons(struct sentence *t, const uint64_t counts[VERDICT__MAX]);
/* "; its tenant NAME holds ..."; nothing where it has no limit. */
void explain_add_tenant(struct sentence *t, const struct ledger_tenant *of);
/* "; bind refuses 2 of these now, because ...", if there are nodes in doubt with room. */
void explain_add_doubt(struct sentence *t, const struct explanation *e);

#endif
