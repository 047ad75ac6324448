#include "extender/unreadable.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unreadable {
    atomic_size_t n;   /* readable without the lock: nearly always 0 */
    struct mutex lock; /* of the rest */
    struct unreadable_object *objects[UNREADABLE_MAX];
    bool listed[UNREADABLE_MAX]; /* noted since the present list of their resource began */
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
    if (u == NULL) {
        return;
    }
    for (size_t i = 0; i < u->n; i++) {
        free(u->objects[i]);
    }
    mutex_destroy(&u->lock);
    free(u);
}

static struct str name_of(const struct kube_object *o)
{
    return o->pod != NULL ? o->pod->name : o->node->name;
}

static struct str uid_of(const struct kube_object *o)
{
    return o->pod != NULL ? o->pod->uid : o->node->uid;
}

/* Pods are told apart by uid, nodes by name, as in the ledger. */
static size_t find_object(const struct unreadable *u, const struct kube_object *o)
{
    size_t i = 0;

    while (i < u->n && (u->objects[i]->resource != o->resource ||
                        !(o->pod != NULL ? str_eq_cstr(o->pod->uid, u->objects[i]->uid)
                                         : str_eq_cstr(o->node->name, u->objects[i]->name)))) {
        i++;
    }
    return i;
}

#define COPY(array, text) ((void)snprintf((array), sizeof(array), "%.*s", STR_ARG(text)))

static void add(struct unreadable *u, const struct kube_object *o, int64_t now_ms)
{
    struct unreadable_object *new = xcalloc(1, sizeof(*new));

    new->resource = o->resource;
    COPY(new->namespace_, o->pod != NULL ? o->pod->namespace_ : STR_NULL);
    COPY(new->name, name_of(o));
    COPY(new->uid, uid_of(o));
    new->since_ms = now_ms;
    u->objects[u->n++] = new;
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
        u->listed[i] = true;
        COPY(u->objects[i]->why, str_of(why));
    } else {
        u->more[o->resource] = u->more_listed[o->resource] = true;
    }
    mutex_unlock(&u->lock);
}

static void drop(struct unreadable *u, size_t i)
{
    free(u->objects[i]);
    u->n--;
    memmove(&u->objects[i], &u->objects[i + 1], (u->n - i) * sizeof(u->objects[0]));
    memmove(&u->listed[i], &u->listed[i + 1], (u->n - i) * sizeof(u->listed[0]));
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
        u->listed[i] = u->listed[i] && u->objects[i]->resource != resource;
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
        if (u->objects[i - 1]->resource == resource && !u->listed[i - 1]) {
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
        copy[i] = *u->objects[i];
    }
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        *ret_more = *ret_more || u->more[i];
    }
    mutex_unlock(&u->lock);
    return copy;
}
