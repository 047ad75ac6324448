/* extender/unreadable.h - objects of the cluster that could not be read in full, for /state (design.md 3.1.8).
 *
 * They are counted for the most they could be, or by what was read of them as they passed; here stands which they are
 * and why, until they can be read again or are gone. At most UNREADABLE_MAX are known by name; if there are more,
 * `more` says so. May be called from any thread; a NULL list takes nothing down.
 */
#ifndef EXTENDER_UNREADABLE_H
#define EXTENDER_UNREADABLE_H

#include "base/err.h"
#include "base/str.h"
#include "kube/reflector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNREADABLE_MAX 256

struct unreadable_object {
    enum kube_resource resource;
    char namespace_[64]; /* empty for nodes */
    char name[254];
    char uid[64];
    char why[ERR_MSG_MAX];
    int64_t since_ms; /* wall clock */
};

struct unreadable;

struct unreadable *unreadable_new(void);
void unreadable_free(struct unreadable *u); /* NULL is fine */

/* Known since the first of these; a later one may say another reason. Texts that do not fit are cut. */
void unreadable_note(struct unreadable *u, const struct kube_object *o, const char *why, int64_t now_ms);
/* It can be read, or is gone. */
void unreadable_clear(struct unreadable *u, const struct kube_object *o);
/* Around a list of all objects of the resource: what is not noted again in between is forgotten at a complete end. */
void unreadable_list_begin(struct unreadable *u, enum kube_resource resource);
void unreadable_list_end(struct unreadable *u, enum kube_resource resource);

/* A copy for the caller to free, in the order in which they were noted; may be NULL when there are none. */
struct unreadable_object *unreadable_copy(struct unreadable *u, size_t *ret_n, bool *ret_more);

#endif
