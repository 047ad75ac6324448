/* extender/slices.h - nodes whose GPUs ResourceSlices publish: the handlers of the reflector of ResourceSlices.
 *
 * With dynamic resource allocation kube-scheduler hands such GPUs out by ResourceClaims, which fgpu does not read. So
 * as long as a slice of one of the drivers names a node, the ledger hears LEDGER_SLICES of it, and its devices take no
 * shares; a slice for nodes that only a selector knows closes them all. A slice that cannot be read counts for the most
 * it could be.
 *
 * Until it is known whether there are slices, the store is not ready: a first list, or 404 of every version, which
 * means none. 403 is an answer, too: then nothing is closed, and a warning and /state say that nobody can tell. What an
 * earlier list said stands through every failure but 404.
 */
#ifndef EXTENDER_SLICES_H
#define EXTENDER_SLICES_H

#include "base/hash.h"
#include "base/log.h"
#include "extender/store.h"
#include "kube/reflector.h"

struct slices;

enum slices_state {
    SLICES_OFF,       /* the configuration names no drivers */
    SLICES_READING,   /* not known yet */
    SLICES_SERVED,    /* listed, and followed */
    SLICES_ABSENT,    /* the API server has none */
    SLICES_FORBIDDEN, /* we may not list them */
    SLICES_STATE__MAX
};
const char *slices_state_name(enum slices_state s); /* "reading" */

struct slices_status {
    enum slices_state state;
    uint32_t node_n;  /* that slices name */
    const char *note; /* static: what to do about it; NULL: nothing */
};

/* Borrows all; `drivers` are names of drivers whose devices are GPUs, at least one; `key` is for tables. The store is
 * not ready from now on until it is known. */
struct slices *slices_new(struct store *store, const struct log *log, const struct str *drivers, size_t driver_n,
                          struct hash_key key);
void slices_free(struct slices *s); /* NULL is fine */

/* The callbacks for kube/watcher.h and KUBE_SLICES_V1. */
struct reflector_handler slices_handler(struct slices *s);

/* From any thread; NULL is off. */
void slices_status(struct slices *s, struct slices_status *ret);

#endif
