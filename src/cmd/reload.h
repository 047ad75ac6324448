/* cmd/reload.h - reads the configuration file again: when told to (SIGHUP), and when it changed.
 *
 * A thread of its own, so that neither a slow file system nor a large file delays a request or a
 * signal. Changes are found by reading the file every RELOAD_POLL_MS and comparing the bytes: that
 * sees a file replaced, rewritten, or reached through symbolic links that were swapped (the ..data
 * of a ConfigMap volume), on every file system, and needs no watch that must be set again after
 * each swap. A configuration is a few KiB. Content found so counts only when the next reading finds
 * the same, because an editor may be in the middle of writing, and half a file can be a valid one;
 * after SIGHUP the file is taken as it is.
 *
 * One reading at a time: several requests while one is under way are answered by one more.
 */
#ifndef CMD_RELOAD_H
#define CMD_RELOAD_H

#include "base/err.h"
#include "cmd/config_apply.h"
#include "config/load.h"

#define RELOAD_POLL_MS 1000

struct reload;

/* Borrowed for its life. */
struct reload_options {
    const char *path;
    const char *hash; /* of the content that is in effect */
    struct config_apply *config_apply;
    /* Puts the command line's values into a configuration just read; they win. */
    void (*override)(void *ctx, struct config *c);
    void *ctx;
};

WARN_UNUSED int reload_start(const struct reload_options *o, struct reload **ret, struct err *reterr);
/* Joins the thread. NULL is fine. */
void reload_stop(struct reload *r);

/* Reads the file now and says what came of it, changed or not. Returns at once. */
void reload_request(struct reload *r);

#endif
