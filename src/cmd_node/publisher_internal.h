/* cmd_node/publisher_internal.h - the two halves of cmd_node/publisher.h: what is wanted (publisher.c), and the
 * exchanges that bring it about (publisher_exchange.c).
 */
#ifndef CMD_NODE_PUBLISHER_INTERNAL_H
#define CMD_NODE_PUBLISHER_INTERNAL_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "cmd_node/publisher.h"
#include "node/publication.h"

#define PUBLISHER_PATH_BYTES_MAX 1024

/* What was read of devices, by their UUIDs. Belongs to the thread that reads; `lock` is for the others. */
struct kept_details {
    struct arena arena;
    const struct device *devices;
    const struct gpu_details *details;
    size_t n;
    int64_t read_ns;
};

struct publisher {
    struct kube_client *client;
    const struct node_options *options;
    const struct clock *clock;
    const struct log *log;
    struct strbuf path, status_path;

    bool looked_for_doors; /* set before the devices, by the same thread */
    unsigned doors;

    struct mutex lock;
    struct kept_details kept;
    struct publication wanted;
    struct strbuf text; /* of wanted.gpus */
    bool is_wanted;     /* something was said yet */
    bool is_open;       /* GPUs are handed out */
    bool changed;       /* since the exchanges began */
    bool in_flight;     /* an exchange, or the reading of its answer */
    bool cached;        /* an answer from the cache will do */
    int64_t due_ns;
    int64_t retry_ms;    /* 0: the last exchange did not fail */
    unsigned write_n;    /* in a row */
    unsigned conflict_n; /* of the exchanges that go on */
    struct rng rng;
    size_t said_left_out; /* atomic */
    /* Told already; of the thread of the client alone. */
    int said_status;
    bool said_foreign;
};

#endif
