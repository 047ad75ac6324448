/* extender/support/tested_binder.h - a binder whose time and whose API server are the test's.
 *
 * Its store has the nodes n1 and n2 with two GPUs each, in step, and the API server has said that it is 1.33. The
 * answers of that are the test's (fake_client.h). The clock stands still but for pass_ms(), and what must not have
 * happened yet is looked at when the binder's thread has looked at the clock: nothing waits for time.
 */
#ifndef EXTENDER_SUPPORT_TESTED_BINDER_H
#define EXTENDER_SUPPORT_TESTED_BINDER_H

#include "extender/binder_internal.h"
#include "extender/support/tested_store.h"

#include <stdatomic.h>

#define DEADLINE_MS 5000
#define BINDING "/pods/a/binding"
#define POD "/pods/a"

extern struct clock_manual now;
extern struct policy_set *policies;
extern struct ingest facts;
extern struct binder *binder;
extern struct binder_options options; /* of the next start */

/* ---- for the setup and the teardown of each test ---- */

int tested_binder_setup(void **state);
int tested_binder_teardown(void **state);
void stop(void);
/* Another binder on the same store, which knows nothing of the API server's version yet. */
void restart(void);

/* ---- who asks ---- */

struct asked {
    _Atomic unsigned calls;
    enum bind_outcome outcome;
    const char *error;
    char decision_id[BIND_DECISION_ID_BYTES];
};

/* For pod d/a; `by` is static, because an answer may still come when a test fails. */
void ask(struct asked *by, const char *node);
void ask_for(struct asked *by, const char *pod, const char *node); /* d/<pod>, whose uid is its name */
void expect_open(const struct asked *by);
void expect_bound(const struct asked *by);
void expect_refused(const struct asked *by, enum bind_outcome outcome, const char *part);

/* ---- time ---- */

/* Until the binder's thread has gone through what is due; it answers one bind at a time, and at most two may be. */
void turn(void);
void pass_ms(int64_t ms);

/* ---- the pod ---- */

extern const char *nominated_node; /* of the pods that the watch shows, by kube-scheduler; "" in the beginning */
/* Pod d/a with 300 milli, as the watch shows it; node and annotation may be NULL. */
void watch(const char *version, const char *node, const struct kv *annotation);
void watch_pod(const char *name, const char *version, const char *node, const struct kv *annotation); /* d/<name> */
/* d/a bound to n1 by this decision. */
void watch_bound(const char *id);
const char *decision(void); /* of the bind that began last */
/* As a GET shows it. */
const char *pod_json(const char *version, const char *uid);
enum ledger_pod_state state_of_pod(void);

/* ---- the API server ---- */

void answer_post(int status);
/* The pod is as it was: whether the Binding lands nobody knows. */
void answer_get_unbound(void);
void expect_none_pending(void);
/* No bind is under way, and nothing is asked. */
void expect_ended(void);

#endif
