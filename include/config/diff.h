/* config/diff.h - what differs between two configurations, key by key, and what it takes to change
 * it in a running process.
 *
 * The second is a column of the schema (src/config/schema.c). A key is a line of
 * `fgpu check-config --keys`; a list counts as one key.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>

struct config;

/* What a running process does about a new value. */
enum config_reload {
    CONFIG_RELOAD_RESTART, /* only a new process takes it */
    CONFIG_RELOAD_NOW,     /* at once */
    CONFIG_RELOAD_RELIST,  /* pods and nodes mean something else: they are read again first */
};
const char *config_reload_text(enum config_reload r); /* "at once", "after a relist", "after a restart" */

struct config_change {
    struct str key;    /* "packing.candidates" */
    struct str before; /* in the notation of the file; lists as JSON; long ones are cut */
    struct str after;
    enum config_reload reload;
};

struct config_diff {
    struct arena arena;
    struct config_change *changes; /* in the order of the schema */
    size_t n;
};

/* The caller ends `ret` with config_diff_fini. Holds no secrets, as configurations do not. */
void config_diff(const struct config *before, const struct config *after, struct config_diff *ret);
void config_diff_fini(struct config_diff *d);

#endif
