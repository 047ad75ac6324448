/* What writes of Leases do when they land: of the one by which processes elect one (design.md 8), and of those in which
 * strict ones write their intents, one for each node (decision 0103). */
#include "api_internal.h"

#include "net.h"
#include "oracle.h"
#include "process.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "/leases/fgpu-intents."
#define INTENTS_NOTE "fgpu.io/intents"

/* ---- the election ---- */

/* PUT or POST. What changes nothing makes no revision. A PUT has to say which object and revision it replaces. */
static int land_election(const struct call *c)
{
    const bool creates = strcmp(c->method, "POST") == 0;
    struct object *o = etcd_find(LEASE, "lease");
    cJSON *body = cJSON_Parse(c->body);
    char *spec = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(body, "spec"));
    int status = creates ? 201 : 200;

    if (creates != (o == NULL)) {
        status = creates ? 409 : 404;
    } else if (o != NULL &&
               (api_text(body, "metadata", "uid")[0] == '\0' ||
                api_text(body, "metadata", "resourceVersion")[0] == '\0' || !api_is_of_version(o, body, "metadata"))) {
        status = 409;
    } else if (o == NULL || strcmp(o->data, spec) != 0) {
        if (o != NULL) {
            oracle_renewed(c, o->data, spec);
        }
        o = o == NULL ? etcd_new(LEASE, "lease") : o;
        free(o->data);
        o->data = spec;
        spec = NULL;
        TRACE("lands: the Lease by fgpu %u: %s", c->of->number, o->data);
        etcd_write(o);
    }
    free(spec);
    cJSON_Delete(body);
    return status;
}

/* ---- intents ---- */

static struct object *intents_at(const char *path)
{
    const char *at = strstr(path, PREFIX);
    char name[sizeof(((struct object *)0)->name)];

    if (at == NULL) {
        return NULL;
    }
    at += sizeof("/leases/") - 1;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "/?"), at);
    return etcd_find(INTENTS, name);
}

struct object *api_lease(const struct call *c)
{
    struct object *o;
    cJSON *body;

    if (strstr(c->path, "/fgpu-system/") == NULL) {
        return etcd_find(LEASE, "lease");
    }
    if (strcmp(c->method, "POST") != 0) {
        return intents_at(c->path);
    }
    body = cJSON_Parse(c->body);
    o = etcd_find(INTENTS, api_text(body, "metadata", "name"));
    cJSON_Delete(body);
    return o;
}

/* A write that changes nothing makes no revision; one that takes the last finalizer away from what is being deleted
 * ends it. */
static void put_intents(const struct call *c, struct object *o, const cJSON *body)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(body, "metadata"), *note;
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(metadata, "annotations");
    const bool finalizer = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(metadata, "finalizers")) > 0;
    bool same = o->version != 0 && finalizer == o->finalizer;

    cJSON_ArrayForEach(note, notes)
    {
        const char *was = object_note_of(o, note->string);

        same = same && was != NULL && strcmp(was, note->valuestring) == 0;
        object_note(o, note->string, note->valuestring);
    }
    o->finalizer = finalizer;
    TRACE("lands: %s by fgpu %u: \"%s\"%s", o->name, c->of->number, object_note_of(o, INTENTS_NOTE),
          same ? ", as it was" : "");
    if (o->deleting && !finalizer) {
        etcd_delete(o);
    } else if (!same) {
        etcd_write(o);
    }
}

static int create_intents(const struct call *c, const cJSON *body)
{
    const char *name = api_text(body, "metadata", "name");
    struct object *o = etcd_find(INTENTS, name);

    if (o != NULL) {
        return 409;
    }
    o = etcd_new(INTENTS, name);
    memcpy(o->ns, "fgpu-system", sizeof("fgpu-system"));
    put_intents(c, o, body);
    return 201;
}

void api_delete_intents(struct object *o)
{
    if (!o->finalizer) {
        etcd_delete(o);
    } else if (!o->deleting) {
        o->deleting = true;
        etcd_write(o);
    }
}

static int land_intents(const struct call *c)
{
    cJSON *body = cJSON_Parse(c->body);
    struct object *o = intents_at(c->path);
    const bool deletes = strcmp(c->method, "DELETE") == 0;
    int status = 200;

    if (strcmp(c->method, "POST") == 0) {
        status = create_intents(c, body);
    } else if (o == NULL) {
        status = 404;
    } else if (!api_is_of_version(o, body, deletes ? "preconditions" : "metadata")) {
        status = 409;
    } else if (deletes) {
        TRACE("lands: fgpu %u deletes %s", c->of->number, o->name);
        api_delete_intents(o);
    } else {
        put_intents(c, o, body);
    }
    cJSON_Delete(body);
    return status;
}

int api_land_lease(const struct call *c)
{
    return strstr(c->path, "/fgpu-system/") != NULL ? land_intents(c) : land_election(c);
}
