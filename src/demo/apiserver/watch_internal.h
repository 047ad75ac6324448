/* demo/apiserver/watch_internal.h - one watch: from the store's history to lines of JSON. No sockets, no
 * clock.
 *
 * Pull, not push: the watch keeps a cursor into the history, and whoever writes to the connection
 * asks for the next lines. So a slow reader costs no memory; when the history it has not read yet
 * is compacted, it gets the ERROR event that the real server sends.
 */
#ifndef DEMO_APISERVER_WATCH_INTERNAL_H
#define DEMO_APISERVER_WATCH_INTERNAL_H

#include "base/strbuf.h"
#include "demo/apiserver/api_internal.h"
#include "demo/apiserver/selector_internal.h"

#include <stdint.h>

struct watch_start {
    enum apiserver_kind kind;
    uint64_t after_rv; /* ignored with `initial` */
    bool initial;      /* ADDED for everything first */
    bool end_bookmark; /* and a bookmark that says so */
    bool bookmarks;
    int64_t bookmark_interval_ns;
    int64_t now_ns;
    int64_t until_ns;
    struct faults *faults; /* may swallow events; NULL: none do */
};

enum watch_next {
    WATCH_LINES, /* something was added to the buffer */
    WATCH_WAIT,  /* nothing now: ask again after a change, or at watch_due_ns() */
    WATCH_END,   /* the stream ends cleanly */
};

/* Takes `selector` over. */
struct watch *watch_new(struct objects *s, const struct watch_start *start, struct selector *selector);
void watch_free(struct watch *w);

/* Adds whole lines until `out` holds about `want` bytes. */
enum watch_next watch_next(struct watch *w, struct strbuf *out, size_t want, int64_t now_ns);
/* When something is due without any change: a bookmark or the end. */
int64_t watch_due_ns(const struct watch *w);

#endif
