/* extender/support/tested_trace.h - a store that records what happens to it, the trace as GET /v1/trace gives it, and
 * what a replay says of that.
 */
#ifndef EXTENDER_SUPPORT_TESTED_TRACE_H
#define EXTENDER_SUPPORT_TESTED_TRACE_H

#include "base/strbuf.h"
#include "extender/placement.h"
#include "extender/replay.h"
#include "extender/support/tested_store.h"

#define NODES 6
#define PODS 40
#define DOCUMENT_BYTES_MAX (16U << 20)

extern struct clock_manual trace_clock;
extern struct placement_context context;         /* by the policy that the trace is begun with */
extern char node_names[NODES][8], uids[PODS][8]; /* the uid of a pod is its name; its namespace is d */
extern uint64_t binds;                           /* that came to a verdict */

/* Both lists are empty, and the configuration is {"a":1}. */
void traced_begin(const struct policy *p);
void traced_end(void);

/* ---- what happens ---- */

/* Pod p<i>, which asks for so much; what it points into is the caller's. */
struct pod pod_of(size_t i, struct container *c, struct kv *limit, char amount[16], unsigned milli);
/* A filter call over all nodes and one that nobody knows. */
void traced_ask(const struct pod *pod);
void traced_bind(size_t pod, const char *node);
/* Three pods on two nodes: p0 is reserved, p1 fills n0, p2 is refused there. */
void three_decisions(struct strbuf *document);

/* ---- the replay ---- */

void trace_text(struct strbuf *out);

/* Of the last replay: how many differences, and the first one, "line 9, filter: recorded; now". */
extern struct replay_found {
    unsigned n;
    uint64_t seq;
    char text[2 * REPLAY_WORDS_MAX + 64];
} found;

extern const struct policy *second_policy; /* of the configuration {"a":2}; NULL: there is none */

/* Another configuration is an error. `other` NULL: by what was recorded. `goes_on`: after a difference, too. */
int replay_by(const struct strbuf *document, const struct policy *other, bool goes_on, struct replay_report *ret,
              struct err *reterr);
int replay(const struct strbuf *document, struct replay_report *ret, struct err *reterr); /* until the first one */
/* What it said: its first difference, its error, or "". */
const char *replay_says(const struct strbuf *document);

/* In the n-th line of a type, the value behind `key` becomes `to`; `ret` is begun here. */
void altered(const struct strbuf *from, const char *type, unsigned n, const char *key, const char *to,
             struct strbuf *ret);

#endif
