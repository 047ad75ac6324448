/* extender/intents.h - which Bindings may land on a node: what `consistency: strict` writes before it sends one.
 *
 * Each node has an object (kube/intent_object.h) that lists an intent for every Binding to that node that was or may be
 * sent, and that may land or has landed. Processes change it by compare and swap alone. The rules (decision 0103;
 * proved in test/protocol/strict.pml):
 *   - a Binding of a pod at a version is sent only when the object is known to hold its intent, written by the process
 *     that sends it;
 *   - devices of a node are chosen only when the process knows a revision of the object and no intent of that revision
 *     is INTENT_UNPROVEN to it, and the intent is written over that very revision. If that fails, the object is read
 *     and the devices are chosen again;
 *   - a write keeps every intent but those that are INTENT_DEAD: what has landed stays until the pod is gone, because
 *     another process may not have heard of it.
 * So whoever chooses charges everything that may land or has landed, however late, and however many processes are
 * active. No time proves anything.
 *
 * Pure: no I/O, no clock, no lock. Text of an intent is its list's own.
 */
#ifndef EXTENDER_INTENTS_H
#define EXTENDER_INTENTS_H

#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With which an object of the API stays well below its limit of 256 KiB for annotations. */
#define INTENTS_BYTES_MAX (192U * 1024)
#define INTENT_DECIDER_BYTES 17 /* 16 digits */

struct intent {
    struct str uid, namespace_, name; /* of the pod */
    uint64_t version;                 /* that the Binding carries; not 0 */
    struct str decider;               /* the process that sends it */
    bool is_gone; /* found out by a read: nothing of it can land, or it has landed and the pod has ended. Not written */
    char *text;   /* of a list: where the others are */
};

struct intents {
    struct intent *items;
    size_t n, cap;
};

void intents_init(struct intents *l);
void intents_fini(struct intents *l);
void intents_add(struct intents *l, const struct intent *i);
void intents_move(struct intents *to, struct intents *from); /* `from` is empty then */

/* The text of the annotation: a line for each, "UID NAMESPACE/NAME VERSION DECIDER". */
void intents_write(const struct intents *l, struct strbuf *out);
/* Into an empty list. ERR_INVALID, with the line: then nobody knows what may land, and `ret` is empty. */
WARN_UNUSED int intents_read(struct str text, struct intents *ret, struct err *reterr);

/* What the ledger of this process says of a pod. */
enum pod_place {
    POD_PLACE_UNKNOWN, /* it does not have it */
    POD_PLACE_UNBOUND, /* as of a version */
    POD_PLACE_HERE,    /* bound to the node in question, and charged */
    POD_PLACE_ELSEWHERE,
};

/* What one process knows of an intent. */
enum intent_sight {
    INTENT_UNPROVEN, /* it may land or have landed, and is not charged here */
    INTENT_OPEN,     /* ours, charged by its reservation */
    INTENT_BOUND,    /* the pod is on the node, and charged */
    INTENT_DEAD,     /* it cannot land any more, or the pod is gone */
};

/* `is_ours`: this process is the decider. `is_open`: and its Binding of that version is not resolved, or not sent yet.
 * One of ours that is not open was resolved by the rules of extender/bind_machine.h, or its Binding was never sent: it
 * is bound or dead. One of others is dead if the pod was seen unbound at a greater version than it carries (design.md
 * 3.1, rule 4 (c); versions must hold), or bound elsewhere. A pod that the ledger does not have may be unknown to it:
 * it must be asked for. */
enum intent_sight intent_judge(const struct intent *i, bool is_ours, bool is_open, enum pod_place place,
                               uint64_t place_version);

/* The list with what the owner knows. */
typedef enum intent_sight intent_sight_fn(void *ctx, const struct intent *i);
/* The first that is unproven; NULL: none, devices may be chosen. It may be changed (is_gone). */
struct intent *intents_unproven(struct intents *l, intent_sight_fn *sight, void *ctx);
/* What the next write keeps, added to `ret`. */
void intents_keep(const struct intents *l, intent_sight_fn *sight, void *ctx, struct intents *ret);

#endif
