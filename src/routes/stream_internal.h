/* routes/stream_internal.h - shared by stream*.c. */
#ifndef ROUTES_STREAM_INTERNAL_H
#define ROUTES_STREAM_INTERNAL_H

#include "base/json_write.h"
#include "routes/state_internal.h"
#include "routes/stream.h"
#include "routes/stream_log.h"

#define STREAM_API_VERSION "stream.fgpu.io/v1alpha1"
/* One event's text that is held at once: a node, or all that is said of the cluster. */
#define STREAM_PIECE_BYTES_MAX ((size_t)64 << 20)

struct stream_log *stream_feed_log(struct stream_feed *f);

/* What is wrong on one node, as elements of "conflicts": kept, because only changed nodes are looked at. */
struct stream_conflicts {
    struct stream_conflict {
        struct str node;    /* malloc'ed */
        struct strbuf text; /* with a comma behind each */
    } * items;              /* by name */
    size_t n, cap;
};
/* What the node of the section shows takes the place of what it showed before. */
void stream_conflicts_put(struct stream_conflicts *all, struct state_document *d, const struct node_item *item);
void stream_conflicts_remove(struct stream_conflicts *all, struct str node);
void stream_conflicts_clear(struct stream_conflicts *all);

/* The event "cluster" from its summary to its end, so that it can be compared with the last one. */
void stream_write_cluster(struct strbuf *out, struct state_document *d, const struct stream_conflicts *conflicts);

#endif
