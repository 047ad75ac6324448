/* cmd/config_apply.h - takes another configuration into use while everything runs.
 *
 * All or nothing: a configuration is in effect as a whole or not at all, so what is in effect is
 * always one file that was checked as a whole (src/decisions/0009). It is held back when it changes
 * a key that needs a restart. It waits when it changes what pods or nodes mean, until both were
 * listed again (extender/policy_set.h); without an API server that lasts. Otherwise it takes effect
 * at once.
 *
 * With time windows a file is several configurations, one for each set of windows that may be open; the
 * one of this moment is in effect (config_at). Both ways into use, another file and another time, are one.
 *
 * Whatever comes out of it is logged, one line per changed key, counted, and kept in the slot for
 * /configz. Thread-safe; offers are serialised. Its lock is the outermost
 * (src/base/lock_order.c); it is never held while objects are read.
 */
#ifndef CMD_CONFIG_APPLY_H
#define CMD_CONFIG_APPLY_H

#include "base/clock.h"
#include "base/log.h"
#include "config/slot.h"
#include "extender/policy_set.h"
#include "obs/metrics.h"

struct config_apply;

/* The configuration of this file, or of the one that `c` was made from, at this moment: a new owner's. */
struct config *config_apply_config_at(const struct config *c, int64_t wall_ms);

/* Borrowed for its life. */
struct config_apply_options {
    struct policy_set *policies;
    struct events *events; /* NULL: nobody is told */
    struct config_slot *slot;
    struct metrics *metrics;
    const struct clock *clock;
    const struct log *log;
    /* Passes on what is not policy (limits, log level, deadlines). Called when `c`, which is
     * borrowed for the call, takes effect. */
    void (*apply)(void *ctx, const struct config *c);
    /* Which pools of this policy may take pods (policy.admitted_pools). Asked with the lock held; NULL: none may. */
    uint64_t (*admitted_pools)(void *ctx, const struct policy *p);
    /* Lists the resource again as soon as possible. */
    void (*relist)(void *ctx, enum kube_resource resource);
    void *ctx;
};

/* Adds its collector to the metrics. */
struct config_apply *config_apply_new(const struct config_apply_options *o);
void config_apply_free(struct config_apply *c); /* NULL is fine */

/* Logs what config/warnings.h says about a file. */
void config_apply_warn(const struct log *log, const struct config *file);

/* Offers a valid configuration that nobody else has seen; takes it over. */
void config_apply_offer(struct config_apply *c, struct config *file);
/* The file could not be read, or is not valid. `hash` of its content, or "". */
void config_apply_refuse(struct config_apply *c, const char *hash, const struct err *why);

/* What holds now by the time windows of the file that is in effect, or waits, and by the pools that are admitted. Does
 * nothing while they are as they were; changes take effect, or are held back and told once, as other configurations. */
void config_apply_keep_time(struct config_apply *c);

/* Is this the configuration in effect, and does none wait? Then every object was read by it, or by one that reads
 * objects alike. */
bool config_apply_is_settled(struct config_apply *c, const struct config *in_effect);

/* "opens night, closes day". */
void config_apply_name_change(const struct timetable *tt, uint32_t before, uint32_t after, struct strbuf *out);

/* A feed has read a complete list by these rules (struct feed.listed). */
void config_apply_listed(struct config_apply *c, enum kube_resource resource, const struct rules *by);

#endif
