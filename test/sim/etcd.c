#include "etcd.h"

#include "fiber.h"
#include "oracle.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    uint64_t version, uid_n;
    struct object *objects[KIND__MAX];
    size_t count[KIND__MAX];
    struct change history[ETCD_HISTORY]; /* a ring: version v is at v % ETCD_HISTORY */
    void (*follow[ETCD_FOLLOWERS_MAX])(const struct change *c);
    size_t follow_n;
} etcd;

static char *copy_of(const char *s)
{
    const size_t n = strlen(s) + 1;

    return memcpy(xmalloc(n), s, n);
}

uint64_t etcd_version(void)
{
    return etcd.version;
}

void etcd_follow(void (*fn)(const struct change *c))
{
    BUG_ON(etcd.follow_n == ETCD_FOLLOWERS_MAX);
    etcd.follow[etcd.follow_n++] = fn;
}

struct object *etcd_first(enum kind k)
{
    return etcd.objects[k];
}

size_t etcd_count(enum kind k)
{
    return etcd.count[k];
}

struct object *etcd_at(enum kind k, uint64_t n)
{
    struct object *o = etcd.objects[k];

    while (n-- > 0) {
        o = o->next;
    }
    return o;
}

struct object *etcd_find(enum kind k, const char *name)
{
    struct object *o = etcd.objects[k];

    while (o != NULL && strcmp(o->name, name) != 0) {
        o = o->next;
    }
    return o;
}

struct object *etcd_find_uid(const char *uid)
{
    struct object *o = etcd.objects[PODS];

    while (o != NULL && strcmp(o->uid, uid) != 0) {
        o = o->next;
    }
    return o;
}

struct object *etcd_new(enum kind k, const char *name)
{
    struct object *o = xcalloc(1, sizeof(*o));

    BUG_ON(etcd_find(k, name) != NULL);
    o->kind = k;
    memcpy(o->ns, "default", sizeof("default"));
    snprintf(o->name, sizeof(o->name), "%s", name);
    snprintf(o->uid, sizeof(o->uid), "uid-%06llu", (unsigned long long)++etcd.uid_n);
    o->created_ns = sim_now_ns();
    o->next = etcd.objects[k];
    etcd.objects[k] = o;
    etcd.count[k]++;
    return o;
}

void object_note(struct object *o, const char *key, const char *value)
{
    struct note *at = NULL;

    for (size_t i = 0; i < o->note_n && at == NULL; i++) {
        at = strcmp(o->notes[i].key, key) == 0 ? &o->notes[i] : NULL;
    }
    if (at == NULL) {
        BUG_ON(o->note_n == ETCD_NOTES_MAX);
        at = &o->notes[o->note_n++];
        *at = (struct note){copy_of(key), NULL};
    }
    free(at->value);
    at->value = copy_of(value);
}

const char *object_note_of(const struct object *o, const char *key)
{
    for (size_t i = 0; i < o->note_n; i++) {
        if (strcmp(o->notes[i].key, key) == 0) {
            return o->notes[i].value;
        }
    }
    return NULL;
}

/* ---- writing ---- */

static bool is_shown(const struct object *o)
{
    return o->kind != PODS || o->phase != SUCCEEDED;
}

static void record(struct object *o, enum change_type type, bool was_shown)
{
    struct change *c;

    o->version = ++etcd.version;
    o->born = type == ADDED ? o->version : o->born;
    free(o->json);
    o->json = object_json(o);
    c = &etcd.history[o->version % ETCD_HISTORY];
    free(c->json);
    *c = (struct change){.version = o->version, .kind = o->kind, .type = type, .shows = type, .json = copy_of(o->json)};
    memcpy(c->uid, o->uid, sizeof(c->uid));
    if (type == DELETED) {
        c->shown = was_shown;
    } else if (is_shown(o)) {
        c->shown = true;
        c->shows = was_shown ? MODIFIED : ADDED;
    } else {
        c->shown = was_shown;
        c->shows = DELETED;
    }
    oracle_saw(o, type);
    for (size_t i = 0; i < etcd.follow_n; i++) {
        etcd.follow[i](c);
    }
}

void etcd_write(struct object *o)
{
    const bool is_new = o->version == 0;
    /* a pod does not come back from Succeeded */
    const bool was_shown = !is_new && (o->kind != PODS || strstr(o->json, "\"phase\":\"Succeeded\"") == NULL);

    record(o, is_new ? ADDED : MODIFIED, was_shown);
}

void etcd_delete(struct object *o)
{
    struct object **at = &etcd.objects[o->kind];

    while (*at != o) {
        at = &(*at)->next;
    }
    *at = o->next;
    etcd.count[o->kind]--;
    record(o, DELETED, is_shown(o));
    for (size_t i = 0; i < o->note_n; i++) {
        free(o->notes[i].key);
        free(o->notes[i].value);
    }
    free(o->json);
    free(o->data);
    free(o);
}

const struct change *etcd_next(enum kind k, uint64_t after, bool *ret_gone)
{
    *ret_gone = etcd.version > ETCD_HISTORY && after < etcd.version - ETCD_HISTORY;
    for (uint64_t v = after + 1; !*ret_gone && v <= etcd.version; v++) {
        const struct change *c = &etcd.history[v % ETCD_HISTORY];

        if (c->kind == k) {
            return c;
        }
    }
    return NULL;
}
