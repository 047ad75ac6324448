/* cmd/runtime.h - the extender as a whole: everything started in order, stopped in reverse.
 *
 * `fgpu serve` and `fgpu demo` run the same runtime; they differ in where the API server is and in who
 * waits for signals.
 */
#ifndef CMD_RUNTIME_H
#define CMD_RUNTIME_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/config_apply.h"
#include "config/load.h"
#include "kube/event.h"
#include "model/credentials.h"

#include <stdint.h>

struct runtime;
struct logsink;
struct signing;

/* Borrowed for the life of the runtime. */
struct runtime_options {
    const struct config *config; /* at the start; replaced through runtime_config_apply() */
    const struct credentials *credentials;
    const struct clock *clock;
    const struct log *log;
    const char *instance;     /* who reports in events: the name of our pod or host */
    struct event_object self; /* our own pod, EVENT_OBJECT_NONE when it is not known */
    struct signing *signing;  /* the keys that records are signed with and judged by; NULL: signing is off */
    struct logsink *sink;     /* takes the verbosity of a new configuration; may be NULL */
    bool rehearses;           /* writes nothing to the API server, binds nothing, runs no command of a pool */
    /* The Lease is lost, so that another replica decides: end the process. From any thread; NULL: nobody is told. */
    void (*lost)(void *ctx);
    void *lost_ctx;
    int64_t holdoff_ms; /* how long bindings of a predecessor may still land (design.md 8) */
};

/* The last one only with serving.metricsAddress. */
enum runtime_listener { RUNTIME_VERBS, RUNTIME_OPS, RUNTIME_HEALTH, RUNTIME_METRICS, RUNTIME_LISTENER__MAX };

/* Listens at once (and answers "not ready"), reads the cluster in the background. */
WARN_UNUSED int runtime_start(const struct runtime_options *o, struct runtime **ret, struct err *reterr);
uint16_t runtime_port(const struct runtime *s, enum runtime_listener l); /* 0: there is no such listener */

/* Reads certificate, key and client CA again, without waiting until their change is seen. What is wrong
 * with them is logged, and the old ones stay. */
void runtime_reload_tls(struct runtime *s);

/* Reads the signing keys again, likewise. */
void runtime_reload_keys(struct runtime *s);

/* Both resources listed and the hold-off over? */
bool runtime_is_ready(struct runtime *s);
/* Both resources listed at least once? */
bool runtime_is_listed(struct runtime *s);
/* Is this the replica that decides? Always true where there is no election. */
bool runtime_is_active(struct runtime *s);
/* Was it, and is not any more? */
bool runtime_has_lost(struct runtime *s);
/* ... and may it still say that it has ended in order? */
bool runtime_may_end_in_order(const struct runtime *s);
/* NULL, or the first broken invariant of the ledger. Counts it in the metrics. */
const char *runtime_check(struct runtime *s);

/* Where another configuration is offered. */
struct config_apply *runtime_config_apply(struct runtime *s);

/* Starts an audit of the ledger (extender/audit.h) as soon as none is on. */
void runtime_audit(struct runtime *s);

/* Not ready any more, finishes what is in flight (up to drain_ms), stops every thread, frees. */
void runtime_stop(struct runtime *s, int64_t drain_ms);

#endif
