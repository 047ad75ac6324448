#include "extender/unreadable.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct unreadable_object object;
    bool listed; /* noted since the present list of its resource began */
};

struct unreadable {
    atomic_size_t n;   /* readable without the lock: nearly always 0 */
    struct mutex lock; /* of the rest */
    struct entry entries[UNREADABLE_MAX];
    bool more[KUBE_RESOURCE__MAX];
    bool more_listed[KUBE_RESOURCE__MAX];
};

struct unreadable *unreadable_new(void)
{
    struct unreadable *u = xcalloc(1, sizeof(*u));

    mutex_init(&u->lock, "unreadable");
    return u;
}

void unreadable_free(struct unreadable *u)
{
    if (u != NULL) {
        mutex_destroy(&u->lock);
        free(u);
    }
}

/* Pods are told apart by uid, nodes by name, as in the ledger. */
static size_t find_object(const struct unreadable *u, const struct kube_object *o)
{
    size_t i = 0;

    for (; i < u->n; i++) {
        const struct unreadable_object *known = &u->entries[i].object;

        if (known->resource == o->resource &&
            (o->pod != NULL ? str_eq_cstr(o->pod->uid, known->uid) : str_eq_cstr(o->node->name, known->name))) {
            break;
        }
    }
    return i;
}

#define COPY(array, text) ((void)snprintf((array), sizeof(array), "%.*s", STR_ARG(text)))

static void add(struct unreadable *u, const struct kube_object *o, int64_t now_ms)
{
    struct unreadable_object *new = &u->entries[u->n].object;

    new->resource = o->resource;
    COPY(new->namespace_, o->pod != NULL ? o->pod->namespace_ : STR_NULL);
    COPY(new->name, o->pod != NULL ? o->pod->name : o->node->name);
    COPY(new->uid, o->pod != NULL ? o->pod->uid : o->node->uid);
    new->since_ms = now_ms;
    u->n++;
}

void unreadable_note(struct unreadable *u, const struct kube_object *o, const char *why, int64_t now_ms)
{
    size_t i;

    if (u == NULL) {
        return;
    }
    mutex_lock(&u->lock);
    i = find_object(u, o);
    if (i == u->n && i < UNREADABLE_MAX) {
        add(u, o, now_ms);
    }
    if (i < u->n) {
        u->entries[i].listed = true;
        COPY(u->entries[i].object.why, str_of(why));
    } else {
        u->more[o->resource] = u->more_listed[o->resource] = true;
    }
    mutex_unlock(&u->lock);
}

static void drop(struct unreadable *u, size_t i)
{
    u->n--;
    memmove(&u->entries[i], &u->entries[i + 1], (u->n - i) * sizeof(u->entries[0]));
}

void unreadable_clear(struct unreadable *u, const struct kube_object *o)
{
    size_t i;

    if (u == NULL || atomic_load(&u->n) == 0) {
        return;
    }
    mutex_lock(&u->lock);
    i = find_object(u, o);
    if (i < u->n) {
        drop(u, i);
    }
    mutex_unlock(&u->lock);
}

void unreadable_list_begin(struct unreadable *u, enum kube_resource resource)
{
    if (u == NULL) {
        return;
    }
    mutex_lock(&u->lock);
    for (size_t i = 0; i < u->n; i++) {
        u->entries[i].listed = u->entries[i].listed && u->entries[i].object.resource != resource;
    }
    u->more_listed[resource] = false;
    mutex_unlock(&u->lock);
}

void unreadable_list_end(struct unreadable *u, enum kube_resource resource)
{
    if (u == NULL) {
        return;
    }
    mutex_lock(&u->lock);
    for (size_t i = u->n; i > 0; i--) {
        if (u->entries[i - 1].object.resource == resource && !u->entries[i - 1].listed) {
            drop(u, i - 1);
        }
    }
    u->more[resource] = u->more_listed[resource];
    mutex_unlock(&u->lock);
}

struct unreadable_object *unreadable_copy(struct unreadable *u, size_t *ret_n, bool *ret_more)
{
    struct unreadable_object *copy;

    *ret_n = 0;
    *ret_more = false;
    if (u == NULL || atomic_load(&u->n) == 0) {
        return NULL;
    }
    mutex_lock(&u->lock);
    *ret_n = u->n;
    copy = xreallocarray(NULL, *ret_n + 1, sizeof(*copy)); /* the last one may have gone meanwhile */
    for (size_t i = 0; i < *ret_n; i++) {
        copy[i] = u->entries[i].object;
    }
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        *ret_more = *ret_more || u->more[i];
    }
    mutex_unlock(&u->lock);
    return copy;
}
