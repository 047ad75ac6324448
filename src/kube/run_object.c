#include "kube/run_object.h"

#include "objects_internal.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (2U * 1024 * 1024) /* an object of etcd has at most 1.5 MiB */

struct fields {
    struct str revision, uid, state, process, wake, hold_off;
};

static const struct kube_field metadata_fields[] = {
    {STR("resourceVersion"), kube_decode_text, offsetof(struct fields, revision)},
    {STR("uid"), kube_decode_text, offsetof(struct fields, uid)},
    {STR_NULL},
};

static const struct kube_field data_fields[] = {
    {STR("state"), kube_decode_text, offsetof(struct fields, state)},
    {STR("process"), kube_decode_text, offsetof(struct fields, process)},
    {STR("wake"), kube_decode_text, offsetof(struct fields, wake)},
    {STR("holdOffMs"), kube_decode_text, offsetof(struct fields, hold_off)},
    {STR_NULL},
};

static const struct kube_field object_fields[] = {
    {STR("metadata"), .inner = metadata_fields},
    {STR("data"), .inner = data_fields},
    {STR_NULL},
};

static enum run_state state_of(const struct fields *f)
{
    if (f->state.n == 0 && f->process.n == 0 && f->wake.n == 0) {
        return RUN_NEVER;
    }
    if (str_eq(f->state, STR("running"))) {
        return RUN_RUNNING;
    }
    return str_eq(f->state, STR("ended")) ? RUN_ENDED : RUN_ILLEGIBLE;
}

static int64_t hold_off_of(struct str text)
{
    uint64_t ms;

    if (str_eq(text, STR("none"))) {
        return RUN_HOLD_OFF_NONE;
    }
    return str_to_u64(text, INT64_MAX - 1, &ms) ? (int64_t)ms : 0;
}

int run_object_read(struct str body, struct run_object *ret, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct fields f = {.revision = STR_NULL};
    struct arena arena;
    int rc;

    *ret = (struct run_object){.state = RUN_ILLEGIBLE};
    arena_init(&arena, ARENA_BYTES);
    json_reader_init(r, body, &arena);
    r->as_stored = true;
    (void)kube_decode_object(r, object_fields, &f);
    rc = json_read_end(r, reterr);
    if (rc == 0 && (f.revision.n == 0 || !str_to_cstr(f.revision, ret->revision, sizeof(ret->revision)) ||
                    !str_to_cstr(f.uid, ret->uid, sizeof(ret->uid)))) {
        rc = err_set(reterr, ERR_INVALID, "the object has no resourceVersion");
    }
    if (rc == 0) {
        const bool legible = str_to_cstr(f.process, ret->process, sizeof(ret->process)) &&
                             str_to_cstr(f.wake, ret->wake, sizeof(ret->wake));

        ret->state = legible ? state_of(&f) : RUN_ILLEGIBLE;
        ret->hold_off_ms = hold_off_of(f.hold_off);
    }
    arena_fini(&arena);
    free(r);
    return rc;
}

static void object_path(const char *group, const char *resource, struct str object, struct strbuf *path)
{
    struct str name = object, namespace_ = STR_NULL;

    (void)str_split(&name, '/', &namespace_);
    strbuf_add_cstr(path, group);
    strbuf_add_cstr(path, "/namespaces/");
    kube_url_escape(path, namespace_);
    strbuf_addf(path, "/%s/", resource);
    kube_url_escape(path, name);
}

void run_object_path(struct str object, struct strbuf *path)
{
    object_path("/api/v1", "configmaps", object, path);
}

void wake_object_path(struct str object, struct strbuf *path)
{
    object_path("/apis/storage.k8s.io/v1", "csistoragecapacities", object, path);
}

void run_object_patch(const struct run_object *seen, const struct run_entry *e, int64_t now_ms, struct strbuf *body)
{
    const bool ended = e->state == RUN_ENDED;
    char since[CLOCK_RFC3339_MAX], hold_off[24] = "";
    struct json_writer w;

    BUG_ON(seen->revision[0] == '\0' || (!ended && e->state != RUN_RUNNING));
    if (ended && e->hold_off_ms == RUN_HOLD_OFF_NONE) {
        snprintf(hold_off, sizeof(hold_off), "none");
    } else if (ended) {
        snprintf(hold_off, sizeof(hold_off), "%" PRId64, e->hold_off_ms);
    }
    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_object_begin(&w, "metadata");
    if (seen->uid[0] != '\0') {
        json_write_kv_cstr(&w, "uid", seen->uid);
    }
    json_write_kv_cstr(&w, "resourceVersion", seen->revision);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "data");
    json_write_kv_cstr(&w, "state", ended ? "ended" : "running");
    json_write_kv_cstr(&w, "process", e->process);
    json_write_kv_cstr(&w, "version", e->version);
    json_write_kv_cstr(&w, "since", clock_rfc3339(now_ms, since));
    json_write_kv_cstr(&w, "wake", ended ? e->wake : "");
    json_write_kv_cstr(&w, "holdOffMs", hold_off);
    json_write_object_end(&w);
    json_write_object_end(&w);
}

void wake_object_patch(int64_t now_ms, struct strbuf *body)
{
    strbuf_addf(body, "{\"metadata\":{\"annotations\":{\"fgpu.io/room-at-ms\":\"%" PRId64 "\"}}}", now_ms);
}
