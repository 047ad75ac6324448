/* config/slot.h - the configuration in effect, and how the last attempt to replace it went.
 *
 * One writer at a time (who reloads), any number of readers on any thread. A reader takes a
 * reference and works by that one to its end, whatever is set meanwhile. The lock is the slot's own
 * and covers a few assignments.
 */
#ifndef CONFIG_SLOT_H
#define CONFIG_SLOT_H

#include "base/err.h"
#include "base/json_write.h"
#include "config/load.h"

#include <stdbool.h>
#include <stdint.h>

/* What became of a file that was read. */
enum config_outcome {
    CONFIG_IN_EFFECT,     /* it is the configuration of the slot */
    CONFIG_UNCHANGED,     /* read again, it says what is in effect already */
    CONFIG_WAITING,       /* valid; takes effect once pods and nodes were listed again */
    CONFIG_NEEDS_RESTART, /* valid, but some key cannot change in a running process */
    CONFIG_INVALID,       /* cannot be read or is not valid */
    CONFIG_OUTCOME__MAX
};
const char *config_outcome_name(enum config_outcome o); /* "in_effect", for labels */

#define CONFIG_RESTART_KEYS_MAX 512 /* characters */

struct config_attempt {
    enum config_outcome outcome;
    int64_t at_ms;                              /* wall clock */
    char hash[CONFIG_HASH_LEN + 1];             /* of what was read; empty when nothing could be */
    char error[ERR_MSG_MAX];                    /* CONFIG_INVALID: "FILE:LINE:COLUMN: ..." */
    char restart_keys[CONFIG_RESTART_KEYS_MAX]; /* CONFIG_NEEDS_RESTART: "serving.opsAddress, ..." */
};

struct config_slot;

/* Takes `first` over. `path`: the file that is watched, for display; NULL: none. */
struct config_slot *config_slot_new(const struct config *first, const char *path, int64_t at_ms);
void config_slot_free(struct config_slot *s); /* NULL is fine */

/* The configuration in effect; the caller ends it with config_free. */
const struct config *config_slot_take(struct config_slot *s);

/* `next` is in effect from now on; takes it over. */
void config_slot_set(struct config_slot *s, const struct config *next, int64_t at_ms);
/* How an attempt went. */
void config_slot_record(struct config_slot *s, const struct config_attempt *a);

struct config_status {
    char hash[CONFIG_HASH_LEN + 1]; /* in effect */
    uint64_t generation;
    int64_t since_ms; /* in effect since */
    bool attempted;   /* `last` is set */
    struct config_attempt last;
};
void config_slot_status(struct config_slot *s, struct config_status *ret);

/* The body of /configz: the effective configuration, the origin of every value, and the status. */
void config_slot_write(struct config_slot *s, struct json_writer *w);

#endif
