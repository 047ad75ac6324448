/* cmd/service.h - the extender as a whole: everything started in order, stopped in reverse.
 *
 * `fgpu serve` and `fgpu demo` run the same service; they differ in where the API server is and in who
 * waits for signals.
 */
#ifndef CMD_SERVICE_H
#define CMD_SERVICE_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/changeover.h"
#include "config/load.h"
#include "kube/event.h"
#include "model/credentials.h"

#include <stdint.h>

struct service;
struct logsink;
struct signing;

/* Borrowed for the life of the service. */
struct service_options {
    const struct config *config; /* at the start; replaced through service_changeover() */
    const struct credentials *credentials;
    const struct clock *clock;
    const struct log *log;
    const char *instance;    /* who reports in events: the name of our pod or host */
    struct event_object self; /* our own pod, EVENT_OBJECT_NONE when it is not known */
    struct signing *signing; /* the keys that records are signed with and judged by; NULL: signing is off */
    struct logsink *sink; /* takes the verbosity of a new configuration; may be NULL */
    int64_t holdoff_ms;   /* how long bindings of a predecessor may still land (design.md 8) */
};

enum service_listener { SERVICE_VERBS, SERVICE_OPS, SERVICE_HEALTH, SERVICE_LISTENER__MAX };

/* Listens at once (and answers "not ready"), reads the cluster in the background. */
WARN_UNUSED int service_start(const struct service_options *o, struct service **ret, struct err *reterr);
uint16_t service_port(const struct service *s, enum service_listener l);

/* Reads certificate, key and client CA again, without waiting until their change is seen. What is wrong
 * with them is logged, and the old ones stay. */
void service_reload_tls(struct service *s);

/* Reads the signing keys again, likewise. */
void service_reload_keys(struct service *s);

/* Both resources listed and the hold-off over? */
bool service_is_ready(struct service *s);
/* Both resources listed at least once? */
bool service_is_listed(struct service *s);
/* NULL, or the first broken invariant of the ledger. Counts it in the metrics. */
const char *service_check(struct service *s);

/* Where another configuration is offered. */
struct changeover *service_changeover(struct service *s);

/* Starts an audit of the ledger (extender/audit.h) as soon as none is on. */
void service_audit(struct service *s);

/* Not ready any more, finishes what is in flight (up to drain_ms), stops every thread, frees. */
void service_stop(struct service *s, int64_t drain_ms);

#endif
