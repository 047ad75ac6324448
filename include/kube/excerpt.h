/* kube/excerpt.h - what fgpu reads of an object that is too large to be kept, cut out of it while it streams past.
 * No I/O.
 *
 * etcd holds objects of 1.5 MiB, but as JSON they grow: a byte of a command line may become the six of \u0000 or
 * \u003c. Such an object must neither end the list or watch it comes in nor escape being counted (design.md 3.1.8).
 * So its bytes are taken one after the other, by brackets and quotes; the members that the decoders of
 * kube/objects.h read are copied, as they stand, into a small document of the same shape, and the rest is
 * forgotten. Which members these are is told by the tables of the decoders themselves.
 *
 * Grammar is not checked; the excerpt is, by the decoder that reads it.
 */
#ifndef KUBE_EXCERPT_H
#define KUBE_EXCERPT_H

#include "base/compiler.h"
#include "base/err.h"
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
struct kube_field;

/* `fields`: what is read of the object (src/kube/objects_internal.h). */
struct excerpt *excerpt_new(enum excerpt_kind kind, const struct kube_field *fields);
void excerpt_free(struct excerpt *e); /* NULL is fine */
void excerpt_reset(struct excerpt *e);

/* Takes bytes up to the end of the object, if it is in them. BROKEN (brackets or quotes that do not match, too large)
 * lasts until the next reset. */
enum excerpt_state excerpt_feed(struct excerpt *e, struct str bytes);

/* When DONE: the document, until the next reset, and what became of it. */
struct str excerpt_text(const struct excerpt *e);
struct excerpt_note excerpt_note(const struct excerpt *e);

/* ---- one text out of a stream ---- */

/* Texts of a stream one after the other, each in any number of parts: as they are up to CUT_TEXT_MAX bytes, an excerpt
 * of those that are larger. */
#define CUT_TEXT_MAX (8U * 1024 * 1024)

struct cut_text {
    struct strbuf begun; /* the beginning of a text whose end has not come yet */
    struct excerpt *excerpt;
    bool is_cut;              /* the present text goes into the excerpt */
    struct excerpt_note note; /* of the text that is complete */
};

void cut_text_init(struct cut_text *t, enum excerpt_kind kind, const struct kube_field *fields);
void cut_text_fini(struct cut_text *t);
void cut_text_reset(struct cut_text *t); /* for the next text */
bool cut_text_is_empty(const struct cut_text *t);

/* Takes a part, with which the text `ends` or not; then *ret is the text, until the next reset. It lies in `part` when
 * that is all of it. ERR_PARSE: `what` ("a list item") is too large, and no object. */
WARN_UNUSED int cut_text_add(struct cut_text *t, struct str part, bool ends, const char *what, struct str *ret,
                             struct err *reterr);

/* 0, or ERR_LIMIT: what fgpu reads of the complete text did not fit into the excerpt either. */
WARN_UNUSED int cut_text_judge(const struct cut_text *t, struct err *reterr);

#endif
