/* extender/replay.h - the decisions of a trace (extender/store_trace.h) made again, by the parts that made them: a
 * store with its ledger, forecast and remembered scores, to which every op of the trace is applied in its order.
 *
 * Made again is, on the state of exactly that moment,
 *   filter, prioritize   the judgement of every node that was asked about: verdict, score, order; compared as a whole
 *                        (store_answer_digest) and by what is in the trace in words;
 *   bind                 whether it fits, which devices, and the record as it is written.
 * After every line the generation of the ledger is compared, too. Whatever was decided now, what is applied is what was
 * recorded; so one difference does not make others.
 *
 * Not made again: filter and prioritize while others changed the ledger (`moved`: with more nodes than one section has,
 * STORE_PACK_SECTION, the order of the sections is not recorded); preempt; what was refused before it came to a
 * judgement (not ready, a request with a defect, a bind in flight); how objects were interpreted.
 *
 * By another policy (`other`): its strategies and packing rules decide, everything else is as it was: promises,
 * tenants, factors, which pods and nodes there were. Compared is which node is the best, and which devices a bind gets
 * on the node that it was for.
 *
 * One thread; no I/O. Memory: two to three times the document.
 */
#ifndef EXTENDER_REPLAY_H
#define EXTENDER_REPLAY_H

#include "extender/trace_lines.h"
#include "model/policy.h"

enum replay_verb { REPLAY_FILTER, REPLAY_PRIORITIZE, REPLAY_BIND, REPLAY_VERB__MAX };
const char *replay_verb_name(enum replay_verb v); /* as in the trace */

#define REPLAY_WORDS_MAX 1024

/* A decision that came out otherwise; text is valid during the call. */
struct replay_difference {
    uint64_t seq;
    int64_t at_ms;
    const char *what;            /* "filter", or what is wrong with the line */
    struct str namespace_, name; /* of the pod; empty: it is of none */
    const char *recorded, *now;
};

struct replay_options {
    /* The policy of a recorded configuration; the caller keeps it until the replay is over. */
    int (*policy)(void *ctx, struct str configuration, const struct policy **ret, struct err *reterr);
    const struct policy *other; /* NULL: as recorded */
    /* False: stop. */
    bool (*differs)(void *ctx, const struct replay_difference *d);
    void *ctx;
};

struct replay_report {
    struct trace_head head;
    uint64_t op_n; /* applied */
    struct {
        uint64_t again_n, different_n, moved_n;
    } verbs[REPLAY_VERB__MAX];
    uint64_t different_n; /* of all, lines that do not fit included */
};

/* Differences are no error. ERR_INVALID: the document is no trace, or cannot be replayed; the message says which line.
 */
WARN_UNUSED int replay_run(struct str document, const struct replay_options *o, struct replay_report *ret,
                           struct err *reterr);

#endif
