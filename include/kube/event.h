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

/* reportingController, by program. */
#define EVENT_CONTROLLER_EXTENDER "fgpu.io/extender"
#define EVENT_CONTROLLER_NODE "fgpu.io/node"
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
    EVENT_NODE_CLOSED,        /* its node pool takes no new pods */
    EVENT_NODE_OPENED,        /* ... takes them again */
    EVENT_OVERCOMMITTED,      /* more is in use of a GPU than it has: it takes no new pods */
    EVENT_RECOVERED,          /* the GPU is within its capacity again */
    EVENT_DOOR_OPEN,          /* its container runtime lets containers have GPUs without fgpu-node */
    /* on a Pod */
    EVENT_REQUEST_INVALID,     /* what it asks of GPUs cannot be understood */
    EVENT_ASSIGNMENT_MISSING,  /* bound without an assignment that can be used: counts everywhere */
    EVENT_ASSIGNMENT_FOREIGN,  /* bound with an assignment that this fgpu did not decide */
    EVENT_DOUBLE_BOOKED,       /* it and others were given one GPU, together more than it has */
    EVENT_ASSIGNMENT_FORGED,   /* carried an assignment before it was bound; it will be replaced */
    EVENT_ASSIGNMENT_CONFLICT, /* request or assignment were edited after binding */
    EVENT_RECORD_REFUTED,      /* its assignment has a signature that does not hold */
    EVENT_MEMORY_EXCEEDED,     /* one of its containers uses more memory of a GPU than the record gives it */
    EVENT_PROCESS_KILLED,      /* ... so its process with the most memory was killed */
    EVENT_GPU_NOT_HANDED_OVER, /* a container of it runs without the GPU that it was given */
    EVENT_GPU_NOT_GRANTED,     /* a container of it has a GPU that it was not given */
    EVENT_PREEMPTION_REFUSED,  /* nobody's leaving would make it fit */
    EVENT_POD_WAITS,           /* no node has had GPUs for it for a while */
    EVENT_BIND_RESOLVED,       /* an unknown outcome of its binding is known now */
    /* on a Pod or a Node */
    EVENT_DRIFT_REPAIRED, /* the audit found the ledger wrong about it and corrected it */
    /* on fgpu's own Pod */
    EVENT_CONFIG_REJECTED,  /* a new configuration is not valid; the old one stays */
    EVENT_CONFIG_RELOADED,  /* ... is valid again and in force */
    EVENT_WINDOWS_AHEAD,    /* time windows will open or close */
    EVENT_WINDOWS_CHANGED,  /* ... have opened or closed */
    EVENT_CHANGE_OVER,      /* node pools of a group change over, or have */
    EVENT_CHANGE_OVER_HELD, /* ... cannot go on: a command fails, the configuration contradicts itself */
    EVENT_LEDGER_BROKEN,    /* an invariant does not hold; fgpu stops to read the cluster afresh */
    EVENT_REASON__MAX
};

struct event_words {
    const char *reason; /* CamelCase: "GPUInventoryInvalid" */
    const char *action; /* "ReadInventory" */
    bool warning;       /* type Warning, else Normal */
};
const struct event_words *event_words(enum event_reason r);

enum event_object_kind { EVENT_OBJECT_NONE, EVENT_OBJECT_POD, EVENT_OBJECT_NODE, EVENT_OBJECT_SELF };

struct event_object {
    enum event_object_kind kind;
    struct str namespace_; /* empty for a node */
    struct str name;
    struct str uid; /* may be empty */
};

/* What to tell. Everything is borrowed for the call it is passed to. */
struct event {
    enum event_reason reason;
    struct event_object regarding;
    struct event_object related; /* EVENT_OBJECT_NONE: nothing */
    struct str note;             /* one or two sentences: what happened, what to do; cut at EVENT_NOTE_MAX */
};

/* Who tells it. Borrowed. */
struct event_source {
    const char *controller; /* EVENT_CONTROLLER_... */
    const char *instance;   /* reportingInstance: the name of a pod, host or node; cut at EVENT_WORD_MAX bytes */
};

/* "<name of the object>.<16 hex digits of id>", cut to EVENT_NAME_MAX. Returns buf. */
char *event_name(struct str object_name, uint64_t id, char buf[EVENT_NAME_MAX + 1]);

/* Appends path and body of the POST. `name` is of event_name, `at_ms` the wall time of the first
 * occurrence.
 *   ERR_INVALID  an object has a name or a namespace that no API server has
 *   ERR_LIMIT    a buffer is too small */
WARN_UNUSED int event_post(const struct event *e, const char *name, const struct event_source *source, int64_t at_ms,
                           struct strbuf *path, struct strbuf *body, struct err *reterr);

/* Appends the body of the PATCH (EVENT_PATCH_TYPE, to the path of the POST with "/" and the name) that tells the
 * occurrences so far, at least 2, and the wall time of the last one. At most 128 bytes. */
#define EVENT_PATCH_TYPE "application/merge-patch+json"
void event_patch(uint32_t count, int64_t last_ms, struct strbuf *body);

enum event_reply {
    EVENT_REPLY_ACCEPTED,
    EVENT_REPLY_GONE,      /* 404: of a PATCH, the Event has expired; of a POST, its namespace is gone */
    EVENT_REPLY_FORBIDDEN, /* 403: we have no right to do this, now and for all others */
    EVENT_REPLY_REJECTED,  /* a definite no to this one */
    EVENT_REPLY_RETRY,     /* no usable answer, or a plea for patience */
    EVENT_REPLY__MAX
};

struct event_answer {
    enum event_reply reply;
    int64_t retry_after_ms; /* of RETRY: at least this long; 0: not said */
};

/* `body` is the reply's. A 403 because a namespace is being deleted or its quota is used up
 * concerns that one Event only. 409 says that the Event exists already: names are random, so an
 * earlier try of the same POST was seen after all. */
struct event_answer event_classify(const struct kube_outcome *outcome, struct str body);

#endif
