/* extender/notices.h - which transitions people are told about, and in which words: the one place.
 *
 * Everything here ends in events_record() and never blocks. An object that is first seen in a state
 * worth telling is told once per life of the process, because what was told before is not known.
 */
#ifndef EXTENDER_NOTICES_H
#define EXTENDER_NOTICES_H

#include "base/compiler.h"
#include "base/err.h"
#include "core/ledger/audit.h"
#include "core/ledger/incidents.h"
#include "core/ledger/ledger.h"
#include "kube/events.h"
#include "extender/store.h"

#include <stdbool.h>

struct bind_request;

/* store_apply(), and what the op made of its object is told to `events` (NULL: to nobody). */
WARN_UNUSED int notices_apply(struct store *s, struct events *events, struct ledger_op *op, struct err *reterr);

/* No node has had GPUs for the pod for a while; `why` is a sentence without its full stop. */
void notice_pod_waits(struct events *events, const struct event_object *pod, const char *why);

/* A Binding whose caller was told "not known yet" has ended. */
void notice_bind_resolved(struct events *events, const struct bind_request *request, const char *decision_id,
                          bool bound);

/* kube-scheduler asked whom to preempt for this pod, and nobody's leaving helps, most often because of `why`. Where it
 * counts the totals of nodes itself (the form advertised), it never asks filter about a full node, so nothing else
 * tells people this reason. */
void notice_preemption_refused(struct events *events, const struct pod *pod, enum verdict why);

/* A device began, or ceased, to be over-committed: on its node. */
void notice_overcommit(struct events *events, const struct ledger_overcommit *o);

/* An incident begins or grows: on every pod that joins it. Its end is told by nobody but the node, whose GPU is
 * within its capacity again. */
void notice_incident(struct events *events, const struct incident *in);
/* The signature of a pod's record does not hold. */
void notice_record_refuted(struct events *events, const struct store_unverified *pod);

/* An audit corrected the ledger about a pod, or, with an empty namespace, about a node. */
void notice_drift(struct events *events, struct str namespace_, struct str name, enum ledger_drift drift);

/* About fgpu itself, on its own pod. `note` is one or two sentences. */
void notice_self(struct events *events, enum event_reason reason, const char *note);

#endif
