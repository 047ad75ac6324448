/* kube/watch_decoder.h - bytes of a watch stream in, events out. No I/O.
 *
 * A stream is one JSON document per line, {"type":"ADDED","object":{...}}; the pieces fed here may
 * end anywhere (contract.md 5.4). A line that lies within one piece is read in place; the rest is
 * collected in a buffer that grows to CUT_TEXT_MAX; of a longer line an excerpt is read instead (kube/excerpt.h).
 *
 * An event is applied only when its whole line was proved well-formed: `decode` looks at the object
 * while the line is being read, `event` says that it stands. The first error sticks.
 */
#ifndef KUBE_WATCH_DECODER_H
#define KUBE_WATCH_DECODER_H

#include "base/json_read.h"
#include "base/strbuf.h"
#include "kube/excerpt.h"

#include <stddef.h>

enum watch_event_type {
    WATCH_ADDED,
    WATCH_MODIFIED,
    WATCH_DELETED,
    WATCH_BOOKMARK,
    WATCH_ERROR,
    WATCH_EVENT_TYPE__MAX
};

const char *watch_event_type_name(enum watch_event_type type); /* "ADDED" */

struct watch_sink {
    /* Consumes the object, exactly one value; what it decodes must not be acted on before `event`.
     */
    bool (*decode)(void *ctx, enum watch_event_type type, struct json_reader *r);
    /* The line is complete and sound; `object` is its text, until return. Negative: no more events,
     * watch_decoder_feed returns that code. */
    int (*event)(void *ctx, enum watch_event_type type, struct str object, struct err *reterr);
    /* Instead of `event`, for an object that `decode` refused or that is beyond the reader's limits
     * (ERR_PARSE, ERR_INVALID, ERR_LIMIT): the line is JSON, or at least its brackets match. kube_salvage_pod can look
     * at `object`. */
    int (*unusable)(void *ctx, enum watch_event_type type, struct str object, const struct err *why,
                    struct err *reterr);
    void *ctx;
};

struct watch_decoder {
    struct json_reader *reader; /* borrowed */
    struct arena *arena;        /* borrowed; reset before every line */
    struct watch_sink sink;
    struct cut_text line; /* its note: how the present line came, for the sink */
    uint64_t event_n;     /* lines decoded since the last reset, ERROR included */
};

/* `fields`: what is read of an object, for kube/excerpt.h. */
void watch_decoder_init(struct watch_decoder *d, struct json_reader *reader, struct arena *arena,
                        const struct kube_field *fields, const struct watch_sink *sink);
void watch_decoder_fini(struct watch_decoder *d);
void watch_decoder_reset(struct watch_decoder *d); /* for the next stream; memory is kept */

/*   ERR_PARSE  not a watch event
 *   or whatever a callback returned. After an error: reset before anything else. */
WARN_UNUSED int watch_decoder_feed(struct watch_decoder *d, struct str bytes, struct err *reterr);

/* The stream ended: ERR_PARSE when inside a line. */
WARN_UNUSED int watch_decoder_end(struct watch_decoder *d, struct err *reterr);

#endif
