/* kube/contact_check_internal.h - the quorum list beside a silent watch (kube/reflector.h): a short call, whose end is
 * told to the thread of the watch. Its verb in metrics is "check". */
#ifndef KUBE_CONTACT_CHECK_INTERNAL_H
#define KUBE_CONTACT_CHECK_INTERNAL_H

#include "kube/transport.h"

#include <stdbool.h>

struct contact_check;

/* Borrows both; `stream` is woken when a check has ended. */
struct contact_check *contact_check_new(struct kube_client *client, struct kube_stream *stream);
/* Before its stream is freed. A check under way ends by itself. NULL is fine. */
void contact_check_free(struct contact_check *c);

/* One at a time. A failure to send it is an end like any other. */
void contact_check_begin(struct contact_check *c, const char *path, uint32_t deadline_ms, const char *resource);
/* Once for each check: whether it has ended, and how. */
bool contact_check_take(struct contact_check *c, struct kube_outcome *ret);

#endif
