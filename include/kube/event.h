/* kube/event.h - one Event of events.k8s.io/v1: its words, its bytes, and what a reply to it means.
 *
 * Pure. Limits and required fields: contract.md 6.2 (pkg/apis/core/validation/events.go). The API
 * server refuses an Event for one byte too many, so texts are cut here, whole characters at a time.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "kube/outcome.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENT_CONTROLLER "fgpu.io/extender"
#define EVENT_WORD_MAX 128 /* reason, action and reportingInstance */
#define EVENT_NOTE_MAX 1024
#define EVENT_NAME_MAX 253
#define EVENT_PATH_MAX 1024
#define EVENT_BODY_MAX 16384 /* every byte of the texts escaped */

enum event_reason {
    /* on a Node */
    EVENT_INVENTORY_INVALID,  /* its description of its GPUs is malformed or contradicts itself */
    EVENT_INVENTORY_RESTORED, /* ... is understood again */
    EVENT_DEVICE_LOST,        /* GPUs that pods hold left the inventory */
    EVENT_DEVICE_RETURNED,    /* ... are back */
    EVENT_DEVICE_UNHEALTHY,   /* GPUs are reported unhealthy */
    EVENT_DEVICE_HEALTHY,     /* ... no longer */
    EVENT_OVERCOMMITTED,      /* more was given away of a GPU than it has */
    EVENT_QUARANTINED,        /* a GPU takes no new pods until that is over */
    EVENT_RECOVERED,          /* the GPU is within its capacity again */
    /* on a Pod */
    EVENT_REQUEST_INVALID,     /* what it asks of GPUs cannot be understood */
    EVENT_ASSIGNMENT_MISSING,  /* bound without an assignment that can be used: counts everywhere */
    EVENT_ASSIGNMENT_FOREIGN,  /* bound with an assignment that this fgpu did not decide */
    EVENT_ASSIGNMENT_FORGED,   /* carried an assignment before it was bound; it will be replaced */
    EVENT_ASSIGNMENT_CONFLICT, /* request or assignment were edited after binding */
    EVENT_BIND_RESOLVED,       /* an unknown outcome of its binding is known now */
    /* on a Pod or a Node */
    EVENT_DRIFT_REPAIRED, /* the audit found the ledger wrong about it and corrected it */
    /* on fgpu's own Pod */
    EVENT_CONFIG_REJECTED, /* a new configuration is not valid; the old one stays */
    EVENT_CONFIG_RELOADED, /* ... is valid again and in force */
    EVENT_LEDGER_BROKEN,   /* an invariant does not hold; fgpu stops to read the cluster afresh */
    EVENT_REASON__MAX
};

struct event_words {
    const char *reason; /* CamelCase: "GPUInventoryInvalid" */
    const char *action; /* "ReadInventory" */
    bool warning;       /* type Warning, else Normal */
};
const struct event_words *event_words(enum event_reason r);

enum kube_object_kind { KUBE_OBJECT_NONE, KUBE_OBJECT_POD, KUBE_OBJECT_NODE, KUBE_OBJECT_SELF };

struct kube_object {
    enum kube_object_kind kind;
    struct str namespace_; /* empty for a node */
    struct str name;
    struct str uid; /* may be empty */
};

/* What to tell. Everything is borrowed for the call it is passed to. */
struct event {
    enum event_reason reason;
    struct kube_object regarding;
    struct kube_object related; /* KUBE_OBJECT_NONE: nothing */
    struct str note; /* one or two sentences: what happened, what to do; cut at EVENT_NOTE_MAX */
};

#endif
