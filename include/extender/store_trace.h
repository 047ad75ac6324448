/* extender/store_trace.h - the flight recorder of a store: what changed the ledger and what was decided, in the order
 * in which it happened under the lock (extender/recorder.h; decision 0078).
 *
 * Lines are made before the lock is taken, as far as what they say is known then, and copied under it: ops packed
 * (extender/op_json.h), decisions as text. What they say is
 * enough to make the same decisions again (extender/replay.h): facts as the ledger took them, not the objects that they
 * were read from. So there are no environment variables, images or annotations in them; labels are there as hashes.
 */
#ifndef EXTENDER_STORE_TRACE_H
#define EXTENDER_STORE_TRACE_H

#include "extender/recorder.h"
#include "extender/store.h"

#define TRACE_API_VERSION "trace.fgpu.io/v1alpha1"

/* Records from now on, in so many bytes. Before anything is applied; once. Without it nothing is recorded. */
void store_record(struct store *s, size_t bytes);

/* The configuration in effect, by its number: `text` is the JSON of config_describe(). */
void store_record_configuration(struct store *s, uint64_t generation, const char *hash, struct str text);

/* What filter or prioritize has decided; nothing where nothing is recorded. */
struct store_decided {
    const char *verb; /* "filter" */
    const struct view_pod *pod;
    struct str pod_name;
    const struct store_pack_answer *answer; /* ranked: the best, and the next one, in front */
    size_t fit_n;
    uint64_t config; /* pack_plans.generation */
};
void store_record_decision(struct store *s, const struct store_decided *d);

/* What all judgements of an answer say, whatever their order: equal numbers, equal answers. Nodes that the ledger does
 * not know are left out. */
uint64_t store_answer_digest(const struct store_pack_answer *answer);

/* ---- reading ---- */

struct store_trace {
    struct recorder_cursor cursor;
    uint64_t first, next;
    uint64_t generation;
    struct strbuf frames, text; /* read and not yet text; text, of which `at` bytes were given away */
    size_t at;
    uint64_t seq; /* of the next line of text */
};
/* False: nothing is recorded, and nothing is to be closed. */
bool store_trace_open(struct store *s, struct store_trace *ret);
void store_trace_close(struct store_trace *t); /* one that was never opened, all zero, is fine */
/* Up to `max` bytes of lines; 0 at the end. False: what comes next has been overwritten meanwhile. Never more than
 * STORE_TRACE_SECTION bytes are copied under one lock. */
#define STORE_TRACE_SECTION 32768
bool store_trace_read(struct store *s, struct store_trace *t, char *buf, size_t max, size_t *ret_n);

/* ---- for decisions made again (extender/replay.h) ---- */

/* What store_reserve() would choose, and nothing is reserved. False: the ledger does not know the pod. */
bool store_judge_bind(struct store *s, struct str uid, struct str node_name, const struct pack_plans *plans,
                      enum verdict *ret_verdict, struct placement *ret);
/* The names of nodes by their places, as a line of the trace has them: "0-59,61". Text is borrowed from the ledger
 * until its next op, the array is in `a`. ERR_INVALID: it is no such text, or there is no node in a place. */
WARN_UNUSED int store_names_at(struct store *s, struct arena *a, const struct view_pod *pod, struct str places,
                               const struct str **ret, size_t *ret_n, struct err *reterr);
/* The record of a pod that is reserved; container_n 0: kubelet picks. */
WARN_UNUSED int store_reserved_assignment(struct store *s, struct arena *a, struct str uid, struct assignment *ret,
                                          struct err *reterr);

#endif
