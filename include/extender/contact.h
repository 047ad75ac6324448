/* extender/contact.h - do we still hear of changes? Blind is not ready (design.md 3.1.7).
 *
 * What contact is, the reflectors know (kube/reflector.h); here it is compared with the time that may pass without,
 * and told: to the verbs and the readiness probe as one constant sentence for each cause, to people in the log, at
 * once when it begins or has another cause (failures come at the pace of the backoff), then at most once a minute,
 * and once when it is over. Everything may be called from any
 * thread.
 */
#ifndef EXTENDER_CONTACT_H
#define EXTENDER_CONTACT_H

#include "base/clock.h"
#include "base/log.h"
#include "kube/reflector.h"

#include <stdbool.h>
#include <stdint.h>

struct contact;

/* Time counts from now. `stale_after_ms` 0: nothing is ever stale. */
struct contact *contact_new(const struct clock *clock, const struct log *log, int64_t stale_after_ms);
void contact_free(struct contact *c); /* NULL is fine */

/* From now on the resource counts. */
void contact_follow(struct contact *c, enum kube_resource resource);
/* For kube/watcher.h: `ctx` is the contact. */
void contact_news(void *ctx, enum kube_resource resource, const struct reflector_stats *stats);

/* NULL, or why we are blind: lives as long as `c`. A NULL `c` is never blind. */
const char *contact_lost(struct contact *c);
/* Time since the last contact, or since contact_new(). */
int64_t contact_age_ms(struct contact *c, enum kube_resource resource);

#endif
