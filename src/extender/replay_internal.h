/* extender/replay_internal.h - what the parts of a replay share: replay.c goes through the trace, replay_decisions.c
 * makes decisions again. */
#ifndef EXTENDER_REPLAY_INTERNAL_H
#define EXTENDER_REPLAY_INTERNAL_H

#include "base/clock.h"
#include "extender/placement.h"
#include "extender/replay.h"
#include "extender/store_trace.h"

#define REPLAY_CONFIGURATIONS_MAX 4096
#define REPLAY_DECISION_BYTES_MAX ((size_t)256 << 20)

/* A decision by filter or prioritize, from when it looked up promises to when it judged. */
struct replay_pending {
    struct arena arena;
    const struct pack_tentative *tentatives;
    size_t tentative_n;
};

enum replay_kind {
    REPLAY_OP,
    REPLAY_DECISION, /* filter, prioritize */
    REPLAY_BINDING,
    REPLAY_TENTATIVE,
    REPLAY_TENTATIVE_END,
    REPLAY_DOUBT,
    REPLAY_DOUBT_END,
    REPLAY_CONFIGURATION,
};

struct replay_line {
    struct trace_line line;
    enum replay_kind kind;
    bool moved;
    uint64_t promises_at, judged_at; /* of a decision */
    int64_t promises_ns;
    struct replay_pending *pending;
};

struct replay_configuration {
    uint64_t generation;
    struct placement_context context;
};

struct replay {
    const struct replay_options *o;
    struct replay_report *report;
    struct store *store; /* NULL until the first configuration says its factors */
    struct clock_manual clock;
    struct json_reader *reader;
    struct arena arena; /* of the whole replay: the ledger borrows notes from it */
    struct replay_line *lines;
    size_t line_n;
    struct replay_configuration *configurations; /* complete before the first act: then none of them moves */
    size_t configuration_n, configuration_cap;
    struct placement_context *other; /* NULL: as recorded */
    bool stopped;
};

/* "line number 17: ...". */
int replay_bad_line(const struct replay *r, const struct replay_line *l, int rc, struct err *reterr);
/* Counts it, and tells; `what` NULL: of a verb. */
void replay_differs(struct replay *r, const struct replay_line *l, const char *what, struct str namespace_,
                    struct str name, const char *recorded, const char *now);
/* The plans that a decision by this configuration goes by now. NULL: the trace does not have it. */
const struct placement_context *replay_context(const struct replay *r, uint64_t generation);

/* The three acts of a line that is a decision. */
WARN_UNUSED int replay_promises(struct replay *r, struct replay_line *l, struct err *reterr);
WARN_UNUSED int replay_judge(struct replay *r, struct replay_line *l, struct err *reterr);
WARN_UNUSED int replay_bind(struct replay *r, struct replay_line *l, struct err *reterr);

#endif
