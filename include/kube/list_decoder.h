/* kube/list_decoder.h - splits a list document into its items while it arrives. No I/O.
 *
 * {"kind":"PodList","metadata":{"resourceVersion":"7","continue":"..."},"items":[{...},{...}]} in
 * pieces that may end anywhere; keys may come in any order. Each item is handed out as soon as it
 * is complete, so memory is bounded by CUT_TEXT_MAX, whatever the length of the list. Of a larger item an excerpt is
 * handed out (kube/excerpt.h).
 *
 * The frame (everything but the items) is kept and checked by the strict reader at the end; items
 * are cut by brackets only: whoever takes one reads it with the strict reader.
 */
#ifndef KUBE_LIST_DECODER_H
#define KUBE_LIST_DECODER_H

#include "base/json_read.h"
#include "base/strbuf.h"
#include "kube/excerpt.h"

#include <stddef.h>

#define LIST_FRAME_MAX (64U * 1024)

struct list_decoder;

/* `item` is the text of one item, until return. Negative stops the decoder with that code. */
typedef int list_item_fn(void *ctx, struct str item, struct err *reterr);

/* `fields`: what is read of an item, for kube/excerpt.h. */
struct list_decoder *list_decoder_new(const struct kube_field *fields, list_item_fn *item, void *ctx);
void list_decoder_free(struct list_decoder *d);
void list_decoder_reset(struct list_decoder *d); /* for the next document; memory is kept */

/* From within the callback: how its item came. */
const struct cut_text *list_decoder_item(const struct list_decoder *d);

/*   ERR_PARSE  not a list     ERR_LIMIT  the frame is too large
 *   or whatever the callback returned. After an error: reset before anything else. */
WARN_UNUSED int list_decoder_feed(struct list_decoder *d, struct str bytes, struct err *reterr);

struct list_meta {
    struct str resource_version;
    struct str continue_; /* empty: this was the last page */
    uint64_t item_n;
};

/* The document ended: checks the frame. The text in *ret lives in `arena` and in the decoder, until
 * its next reset.
 *   ERR_PARSE    cut off or malformed
 *   ERR_INVALID  not a list, or no resourceVersion */
WARN_UNUSED int list_decoder_end(struct list_decoder *d, struct json_reader *reader, struct arena *arena,
                                 struct list_meta *ret, struct err *reterr);

/* Bytes held for text, whatever was fed: for metrics and tests. */
size_t list_decoder_held_bytes(const struct list_decoder *d);

#endif
