#include "kube/lease.h"

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
    struct str metadata, strategy, preferred_holder; /* as they stand */
    struct str holder, acquired, renewed;
    int32_t duration_s, transition_n;
};

struct metadata_fields {
    struct str revision, uid;
};

static const struct kube_field spec_fields[] = {
    {STR("holderIdentity"), kube_decode_text, offsetof(struct fields, holder)},
    {STR("acquireTime"), kube_decode_text, offsetof(struct fields, acquired)},
    {STR("renewTime"), kube_decode_text, offsetof(struct fields, renewed)},
    {STR("leaseDurationSeconds"), kube_decode_i32, offsetof(struct fields, duration_s)},
    {STR("leaseTransitions"), kube_decode_i32, offsetof(struct fields, transition_n)},
    {STR("strategy"), kube_decode_raw, offsetof(struct fields, strategy)},
    {STR("preferredHolder"), kube_decode_raw, offsetof(struct fields, preferred_holder)},
    {STR_NULL},
};

static const struct kube_field object_fields[] = {
    {STR("metadata"), kube_decode_raw, offsetof(struct fields, metadata)},
    {STR("spec"), .inner = spec_fields},
    {STR_NULL},
};

static const struct kube_field metadata_rows[] = {
    {STR("resourceVersion"), kube_decode_text, offsetof(struct metadata_fields, revision)},
    {STR("uid"), kube_decode_text, offsetof(struct metadata_fields, uid)},
    {STR_NULL},
};

void lease_kept_init(struct lease_kept *k)
{
    strbuf_init(&k->metadata, LEASE_BODY_MAX);
    strbuf_init(&k->strategy, LEASE_BODY_MAX);
    strbuf_init(&k->preferred_holder, LEASE_BODY_MAX);
}

void lease_kept_fini(struct lease_kept *k)
{
    strbuf_fini(&k->metadata);
    strbuf_fini(&k->strategy);
    strbuf_fini(&k->preferred_holder);
}

/* Cut where it does not fit; false then, or where it holds a NUL. */
static bool copy(struct str s, char *buf, size_t size)
{
    const size_t n = s.n < size ? s.n : size - 1;

    if (n > 0) {
        memcpy(buf, s.p, n);
    }
    buf[n] = '\0';
    return s.n < size && strlen(buf) == n;
}

static void keep(struct strbuf *at, struct str value)
{
    strbuf_reset(at);
    strbuf_add_str(at, value);
}

static int decode(struct json_reader *r, struct str text, struct arena *a, const struct kube_field *fields, void *into,
                  struct err *reterr)
{
    json_reader_init(r, text, a);
    r->as_stored = true;
    (void)kube_decode_object(r, fields, into);
    return json_read_end(r, reterr);
}

int lease_read(struct str body, struct lease_record *ret, struct lease_kept *kept, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct fields f = {.metadata = STR_NULL};
    struct metadata_fields m = {.revision = STR_NULL};
    struct arena arena;
    int rc;

    memset(ret, 0, sizeof(*ret));
    arena_init(&arena, ARENA_BYTES);
    rc = decode(r, body, &arena, object_fields, &f, reterr);
    if (rc == 0) {
        rc = decode(r, f.metadata.n > 0 ? f.metadata : STR("{}"), &arena, metadata_rows, &m, reterr);
    }
    if (rc == 0 && (m.revision.n == 0 || !copy(m.revision, ret->revision, sizeof(ret->revision)) ||
                    !copy(m.uid, ret->uid, sizeof(ret->uid)))) {
        rc = err_set(reterr, ERR_INVALID, "the Lease has no resourceVersion");
    }
    if (rc == 0) {
        if (!copy(f.holder, ret->holder, sizeof(ret->holder)) && ret->holder[0] == '\0') {
            ret->holder[0] = '?'; /* somebody, at any rate */
        }
        (void)copy(f.acquired, ret->acquired, sizeof(ret->acquired));
        (void)copy(f.renewed, ret->renewed, sizeof(ret->renewed));
        ret->duration_s = f.duration_s;
        ret->transition_n = f.transition_n;
    }
    if (rc == 0 && kept != NULL) {
        keep(&kept->metadata, f.metadata);
        keep(&kept->strategy, f.strategy);
        keep(&kept->preferred_holder, f.preferred_holder);
    }
    arena_fini(&arena);
    free(r);
    return rc;
}

void lease_create_path(struct str object, struct strbuf *path)
{
    struct str rest = object, namespace_ = STR_NULL;

    (void)str_split(&rest, '/', &namespace_);
    strbuf_add_cstr(path, "/apis/coordination.k8s.io/v1/namespaces/");
    kube_url_escape(path, namespace_);
    strbuf_add_cstr(path, "/leases");
}

void lease_path(struct str object, struct strbuf *path)
{
    struct str name = object, namespace_ = STR_NULL;

    (void)str_split(&name, '/', &namespace_);
    lease_create_path(object, path);
    strbuf_add_cstr(path, "/");
    kube_url_escape(path, name);
}

static void write_new_metadata(struct json_writer *w, struct str object)
{
    struct str name = object, namespace_ = STR_NULL;

    (void)str_split(&name, '/', &namespace_);
    json_write_kv_object_begin(w, "metadata");
    json_write_kv_str(w, "namespace", namespace_);
    json_write_kv_str(w, "name", name);
    json_write_object_end(w);
}

static void write_raw(struct json_writer *w, const char *key, const struct strbuf *value)
{
    if (value->n > 0) {
        json_write_key(w, key);
        json_write_raw(w, strbuf_view(value));
    }
}

void lease_body(struct str object, const struct lease_record *r, const struct lease_kept *kept, struct strbuf *body)
{
    struct json_writer w;

    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "coordination.k8s.io/v1");
    json_write_kv_cstr(&w, "kind", "Lease");
    if (kept != NULL) {
        write_raw(&w, "metadata", &kept->metadata);
    } else {
        write_new_metadata(&w, object);
    }
    json_write_kv_object_begin(&w, "spec");
    json_write_kv_cstr(&w, "holderIdentity", r->holder);
    json_write_kv_i64(&w, "leaseDurationSeconds", r->duration_s);
    json_write_kv_cstr(&w, "acquireTime", r->acquired);
    json_write_kv_cstr(&w, "renewTime", r->renewed);
    json_write_kv_i64(&w, "leaseTransitions", r->transition_n);
    if (kept != NULL) {
        write_raw(&w, "strategy", &kept->strategy);
        write_raw(&w, "preferredHolder", &kept->preferred_holder);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
}

void lease_time(int64_t wall_us, char buf[LEASE_TIME_BYTES])
{
    char text[CLOCK_RFC3339_MAX], *dot;

    clock_rfc3339(wall_us / 1000, text);
    dot = strchr(text, '.');
    BUG_ON(dot == NULL);
    *dot = '\0';
    snprintf(buf, LEASE_TIME_BYTES, "%s.%06" PRId64 "Z", text, wall_us % INT64_C(1000000));
}
