/* sim/process.h - a process `fgpu serve`: the production runtime (cmd/runtime.h), with all of its threads as fibers,
 * its real reflectors, decoders, ingest, store, ledger, binder, verifier, audit, run keeper, requeue trigger and
 * routes.
 *
 * A process is killed by cutting it off: from that moment nothing that it does reaches anybody, and no answer reaches
 * it. What is left of it in memory is then taken down in order, which nobody outside can tell from kill -9.
 * Its struct stays, because the oracle asks who sent what; so a run has at most PROCESSES_MAX.
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "oracle.h"

#include "httpd/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESSES_MAX 131072    /* far more than start in 10^7 steps */
#define DECIDED_BEFORE_MS 12000 /* longer than any call of kube-scheduler takes a process that runs */
#define HOLD_OFF_MS 6000
#define LEASE_DURATION_MS 5000 /* of those that elect one */
#define RENEW_DEADLINE_MS 3000

struct runtime;
struct call;

struct process {
    unsigned number;         /* from 1 */
    bool rehearses;          /* reads only: what restart equals live is compared with */
    bool cut;                /* killed, or at its end */
    bool in_order;           /* it was asked to end */
    bool ends;               /* it was told to, or has lost its Lease */
    bool gone;               /* nothing is left in memory */
    bool lost;               /* it has said so: it must end */
    unsigned readers;        /* fibers that give it another configuration */
    struct runtime *runtime; /* NULL: not started yet, or gone */
    struct fiber *main;
    struct process *next; /* of which something is left */
    struct httpd_server *server;
    uint64_t pods_seen, nodes_seen; /* versions up to which its watches have told it everything */
    int64_t paused_ns, resumed_ns;  /* when it was paused, and went on, the last time; 0: never */
    int64_t slept_ns;               /* till then; with what it slept less than DECIDED_BEFORE_MS before */
    int64_t unreachable_until_ns;   /* till then it reaches no API server */
    int64_t renewed_ns; /* when it sent its last renewal of the Lease that it knows to have landed; 0: none */
    int64_t bound_ns;   /* when its last Binding that gives GPUs left */
    bool succeeded;     /* another one has begun to decide */
    int64_t started_ns, ready_ns, ended_ns; /* 0: not yet */
    bool skipped_hold_off;
    bool claimed;     /* its write of the run object has landed: else it is unaware (decision 0091) */
    bool had_silence; /* one of its watches was made silent: then it missed something, and an audit may say so */
};

/* Once, before the first. */
void process_init(bool trace_log, bool rich_settings, enum fleet fleet);
const char *process_key_path(void); /* of the private key that all of them sign with */
struct process *process_start(bool rehearses);
void process_kill(struct process *p);
/* SIGTERM: it ends in order, within `drain_ms` of grace. */
void process_end(struct process *p, int64_t drain_ms);
/* Looks whether it has become ready, and notes when. */
bool process_is_ready(struct process *p);
/* SIGSTOP: at once, or at the next lock that one of its threads takes; and SIGCONT. */
void process_pause(struct process *p, bool at_lock);
void process_resume(struct process *p);
bool process_is_paused(const struct process *p);
/* How long it was paused, of late: so much longer ago may it have decided what it sends now. */
int64_t process_slept_ns(const struct process *p);
/* Those of which something is left; NULL: the first. */
struct process *process_next(const struct process *p);
struct process *process_at(unsigned number);
unsigned process_n(void);
/* Wait until nothing is left of any of them; for the end of a run. */
bool process_all_gone(void);

/* ---- its web server (httpd/server.h is defined in web.c) ---- */

/* POSTs to the listener of the verbs. `done` is called once, outside of fibers, with the body of the answer; NULL: the
 * connection broke. The body is the caller's until then. */
typedef void web_done_fn(void *ctx, const char *body);
void web_post(struct process *p, const char *path, const char *body, web_done_fn *done, void *ctx);
/* The connections of a process break. */
void web_cut(struct process *p);

#endif
