/* What a write does when it lands. */
#include "api_internal.h"

#include "net.h"
#include "oracle.h"
#include "process.h"
#include "trace.h"

#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *api_text(const cJSON *o, const char *a, const char *b)
{
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(o, a);

    at = b != NULL ? cJSON_GetObjectItemCaseSensitive(at, b) : at;
    return cJSON_IsString(at) ? at->valuestring : "";
}

static uint64_t number_of(const char *text)
{
    return strtoull(text, NULL, 10);
}

const char *api_pod_name(const char *path, char name[64])
{
    const char *at = strstr(path, "/pods/");

    snprintf(name, 64, "%.*s", at == NULL ? 0 : (int)strcspn(at + 6, "/?"), at == NULL ? "" : at + 6);
    return name;
}

bool api_is_of_version(const struct object *o, const cJSON *body, const char *member)
{
    const char *uid = api_text(body, member, "uid"), *version = api_text(body, member, "resourceVersion");

    return (uid[0] == '\0' || strcmp(uid, o->uid) == 0) && (version[0] == '\0' || number_of(version) == o->version);
}

/* Preconditions as pod/rest.BindingREST and its storage check them: uid and resourceVersion, then the state. */
int api_may_bind(const struct object *o, const cJSON *body)
{
    if (o == NULL) {
        return 404;
    }
    return !api_is_of_version(o, body, "metadata") || o->deleting || o->node[0] != '\0' || o->phase != PENDING ? 409
                                                                                                               : 201;
}

static int land_binding(const struct call *c, int64_t left_ns)
{
    cJSON *body = cJSON_Parse(c->body);
    char name[64];
    struct object *o = etcd_find(PODS, api_pod_name(c->path, name));
    const int status = body == NULL ? 400 : api_may_bind(o, body);

    if (status == 201) {
        const cJSON *notes =
            cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(body, "metadata"), "annotations");
        const cJSON *note;

        cJSON_ArrayForEach(note, notes)
        {
            object_note(o, note->string, note->valuestring);
        }
        snprintf(o->node, sizeof(o->node), "%s", api_text(body, "target", "name"));
        TRACE("lands: %s (%s) on %s by fgpu %u, sent %.3f s ago", o->name, o->uid, o->node, c->of->number,
              (double)(sim_now_ns() - left_ns) / 1e9);
        oracle_granted(c->of, o, left_ns);
        etcd_write(o);
    }
    cJSON_Delete(body);
    return status;
}

/* PATCH of the run object or the wake object. */
static int land_patch(const struct call *c, struct object *o)
{
    cJSON *body = cJSON_Parse(c->body), *data;
    int status = o == NULL ? 404 : api_is_of_version(o, body, "metadata") ? 200 : 409;

    data = cJSON_GetObjectItemCaseSensitive(body, "data");
    if (status == 200 && data != NULL) {
        free(o->data);
        o->data = cJSON_PrintUnformatted(data);
    }
    if (status == 200) {
        c->of->claimed = c->of->claimed || o->kind == RUN_OBJECT;
        TRACE("lands: patch of %s by fgpu %u", o->name, c->of->number);
        etcd_write(o);
    }
    cJSON_Delete(body);
    return status;
}

struct object *api_special(const struct call *c)
{
    return strstr(c->path, "/leases") != NULL                  ? api_lease(c)
           : strstr(c->path, "/configmaps/") != NULL           ? etcd_find(RUN_OBJECT, "run")
           : strstr(c->path, "/csistoragecapacities/") != NULL ? etcd_find(WAKE_OBJECT, "wake")
                                                               : NULL;
}

int api_land(const struct call *c, int64_t left_ns)
{
    if (strstr(c->path, "/binding") != NULL) {
        return land_binding(c, left_ns);
    }
    if (strstr(c->path, "/leases") != NULL) {
        return api_land_lease(c);
    }
    if (strcmp(c->method, "PATCH") == 0) {
        return land_patch(c, api_special(c));
    }
    return 201; /* Events, which nobody reads here, and reviews */
}
