/* kube/excerpt.h - what fgpu reads of an object that is too large to be kept, cut out of it while it streams past.
 * No I/O.
 *
 * etcd holds objects of 1.5 MiB, but as JSON they grow: a byte of a command line may become the six of \u0000 or
 * \u003c. Such an object must neither end the list or watch it comes in nor escape being counted (design.md 3.1.8).
 * So its bytes are taken one after the other, by brackets and quotes; the members that the decoders of
 * kube/objects.h read are copied, as they stand, into a small document of the same shape, and the rest is
 * forgotten. The table of members stands in excerpt.c: whoever adds a field to a decoder adds it there (a test compares
 * the two).
 *
 * Grammar is not checked; the excerpt is, by the decoder that reads it.
 */
#ifndef KUBE_EXCERPT_H
#define KUBE_EXCERPT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than all of an object that etcd holds by default, were all of it annotations (six bytes for one, at most 256
 * KiB) and resources. A member that does not fit is written as null, and the excerpt is not whole. */
#define EXCERPT_TEXT_MAX (8U * 1024 * 1024)
#define EXCERPT_OBJECT_MAX (UINT64_C(256) * 1024 * 1024) /* what is larger is no object of an API server */

/* How an object came. */
struct excerpt_note {
    uint64_t bytes; /* of the object (in a watch: of the event); 0: it was read whole */
    bool whole;     /* everything that fgpu reads is in the excerpt */
};

enum excerpt_kind {
    EXCERPT_OBJECT, /* {"metadata":...} */
    EXCERPT_EVENT,  /* {"type":...,"object":{...}} */
};

enum excerpt_state { EXCERPT_MORE, EXCERPT_DONE, EXCERPT_BROKEN };

struct excerpt;

struct excerpt *excerpt_new(enum excerpt_kind kind);
void excerpt_free(struct excerpt *e); /* NULL is fine */
void excerpt_reset(struct excerpt *e);

/* Takes bytes up to the end of the object, if it is in them. BROKEN (brackets or quotes that do not match, too large)
 * lasts until the next reset. */
enum excerpt_state excerpt_feed(struct excerpt *e, struct str bytes);
enum excerpt_state excerpt_state(const struct excerpt *e);

/* When DONE: the document, until the next reset, and what became of it. */
struct str excerpt_text(const struct excerpt *e);
struct excerpt_note excerpt_note(const struct excerpt *e);

#endif
