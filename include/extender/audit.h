/* extender/audit.h - does the ledger still say what the API server says? Looks for itself, and
 * repairs.
 *
 * Watches can lose events without anybody noticing, and the cluster's state can go back (a restored
 * backup). So from time to time, and when asked, everything is listed afresh and compared with the
 * ledger, object by object (core/ledger/audit.h). A difference is drift only if it lasts:
 *
 *   1. it is there when the list is read, and nothing has touched the entry since the list was
 *      asked for;
 *   2. `settle` later nothing has touched it still, and the watch was not interrupted meanwhile;
 *   3. a second, quorum read of that one object shows it too, still under the same `touched`.
 *
 * Whatever the watch delivers in between ends the suspicion: resourceVersions are opaque, so only
 * the ledger itself can tell which news is later. Drift is repaired in the section that finds it,
 * by the same ops the watch would have brought; then the watch of that resource lists again,
 * because who lost one event may lose more. Reservations are left alone.
 *
 * Objects are read by the newest rules (extender/policy_set.h). While others are announced, or when
 * they changed during a run, the ledger is not comparable, and the run says so.
 *
 * One thread of its own; at most one run at a time. Memory: 8 bytes for each object of the cluster,
 * and at most AUDIT_SUSPECTS_MAX names. The store's lock is taken for one object at a time.
 */
#ifndef EXTENDER_AUDIT_H
#define EXTENDER_AUDIT_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "core/ledger/audit.h"
#include "extender/incident_words.h"
#include "extender/policy_set.h"
#include "kube/reflector.h"

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_SUSPECTS_MAX 10000
/* A run that the API server holds up longer is given up. */
#define AUDIT_RUN_MAX_MS 300000

enum audit_result {
    AUDIT_NEVER, /* no run has ended yet */
    AUDIT_CLEAN,
    AUDIT_DRIFT,     /* found and repaired */
    AUDIT_INCIDENTS, /* the ledger is right, but what it says must not be: core/ledger/incidents.h; drift, if there was
                        any, is repaired */
    AUDIT_FAILED,    /* something could not be read or repaired: `error`; what was found stands beside
                        it */
    AUDIT_BROKEN,    /* an invariant of the ledger does not hold */
    AUDIT_RESULT__MAX
};
const char *audit_result_name(enum audit_result r); /* "clean" */

/* Incidents that a report describes; /state has all of them. */
#define AUDIT_INCIDENTS_MAX 8

struct audit_incident {
    enum incident_kind kind;
    int64_t since_ms;
    char what[INCIDENT_SENTENCE_MAX]; /* incident_sentence() */
};

struct audit_report {
    uint64_t run_n; /* ended so far */
    enum audit_result result;
    int64_t started_ms, ended_ms; /* wall time */
    int64_t success_ms;           /* wall time of the last end that was not failed or broken; 0: never */
    int64_t duration_ns;
    uint64_t pod_n, node_n;     /* that the API server has */
    uint64_t suspect_n;         /* looked at again */
    uint64_t drift[DRIFT__MAX]; /* by cause */
    uint64_t drift_n;
    uint64_t unsettled_n;                                 /* could not be decided in this run */
    uint64_t incident_n;                                  /* at its end; */
    struct audit_incident incidents[AUDIT_INCIDENTS_MAX]; /* the first of them */
    size_t described_n;
    uint64_t excess[EXCESS_CAUSE_N]; /* over-committed devices by cause: store_excess_causes() */
    const char *invariant;           /* the broken one, static; NULL: none */
    char error[ERR_MSG_MAX];
};

struct audit_options {
    int64_t interval_ms; /* between runs, plus or minus a tenth; 0: only when asked */
    int64_t settle_ms;
    /* All called with ctx on the audit's thread; NULL: not wanted. */
    void (*finished)(void *ctx, const struct audit_report *r);
    void (*drifted)(void *ctx, enum kube_resource resource); /* its watch should list again */
    /* Counts whatever kept the watch from delivering: failures, lists of its own. *ret_now: there
     * is no watch at this moment. */
    uint64_t (*interruptions)(void *ctx, enum kube_resource resource, bool *ret_now);
    void *ctx;
};

struct kube_client;
struct audit;

/* Borrows everything but the options for its life. */
WARN_UNUSED int audit_new(struct policy_set *policies, struct kube_client *client, const struct clock *clock,
                          const struct log *log, const struct audit_options *options, struct audit **ret,
                          struct err *reterr);
/* Ends the run in progress, answers everybody who waits, joins. `finished` is not called any more.
 * Before the client is freed. NULL is fine. */
void audit_free(struct audit *a);

/* Called exactly once, on the audit's thread or that of audit_free. `stopped`: the report is of an
 * earlier run, because fgpu stops. */
typedef void audit_done_fn(void *ctx, const struct audit_report *r, bool stopped);

/* `done` hears of the first run that begins after this call; calls that wait share one. `done`
 * NULL: nobody wants to hear. From any thread. */
void audit_request(struct audit *a, audit_done_fn *done, void *ctx);

/* Of the last run that ended. From any thread. */
void audit_last(struct audit *a, struct audit_report *ret);

#endif
