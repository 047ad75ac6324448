#include "kube/intent_object.h"

#include "objects_internal.h"

#include "base/arena.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (4U * 1024 * 1024)

/* DNS subdomains. The rest of a name that is too long is a hash; the annotation tells two of the same one apart. */
#define NAME_MAX_N 253
#define HASH_N 17 /* "-" and 16 digits */

#define PAGE 100 /* objects */

static const char LEASES[] = "/leases";
static const char NODE_KEY[] = "fgpu.io/node", INTENTS_KEY[] = "fgpu.io/intents";

struct fields {
    struct str revision, uid;
    struct kv_list annotations;
};

static const struct kube_field metadata_fields[] = {
    {STR("resourceVersion"), kube_decode_text, offsetof(struct fields, revision)},
    {STR("uid"), kube_decode_text, offsetof(struct fields, uid)},
    {STR("annotations"), kube_decode_kv_list, offsetof(struct fields, annotations)},
    {STR_NULL},
};

static const struct kube_field object_fields[] = {
    {STR("metadata"), .inner = metadata_fields},
    {STR_NULL},
};

int intent_object_read(struct str body, struct str node, struct strbuf *text, struct intent_object *ret,
                       struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct fields f = {.revision = STR_NULL};
    const struct str *of_node = NULL, *intents = NULL;
    struct arena arena;
    int rc;

    memset(ret, 0, sizeof(*ret));
    strbuf_reset(text);
    arena_init(&arena, ARENA_BYTES);
    json_reader_init(r, body, &arena);
    r->as_stored = true;
    (void)kube_decode_object(r, object_fields, &f);
    rc = json_read_end(r, reterr);
    if (rc == 0) {
        of_node = kv_find(f.annotations, str_of(NODE_KEY));
        intents = kv_find(f.annotations, str_of(INTENTS_KEY));
    }
    if (rc == 0 && (f.revision.n == 0 || !str_to_cstr(f.revision, ret->revision, sizeof(ret->revision)) ||
                    !str_to_cstr(f.uid, ret->uid, sizeof(ret->uid)))) {
        rc = err_set(reterr, ERR_INVALID, "the Lease has no resourceVersion");
    } else if (rc == 0 && (of_node == NULL || !str_eq(*of_node, node) || intents == NULL)) {
        rc =
            err_set(reterr, ERR_INVALID, "the annotations %s and %s are not those of this node", NODE_KEY, INTENTS_KEY);
    }
    if (rc == 0) {
        strbuf_add_str(text, *intents);
        ret->node = node;
        ret->intents = strbuf_view(text);
    } else {
        memset(ret, 0, sizeof(*ret));
    }
    arena_fini(&arena);
    free(r);
    return rc;
}

static struct str prefix_of(struct str objects, struct str *ret_namespace)
{
    *ret_namespace = STR_NULL;
    (void)str_split(&objects, '/', ret_namespace);
    return objects;
}

void intent_object_create_path(struct str objects, struct strbuf *path)
{
    struct str namespace_;

    (void)prefix_of(objects, &namespace_);
    strbuf_add_cstr(path, "/apis/coordination.k8s.io/v1/namespaces/");
    kube_url_escape(path, namespace_);
    strbuf_add_cstr(path, LEASES);
}

static void name_of(struct str objects, struct str node, struct strbuf *out)
{
    struct str namespace_;
    const struct str prefix = prefix_of(objects, &namespace_);
    const size_t room = NAME_MAX_N - prefix.n - 1;
    struct str shown = node;

    BUG_ON(prefix.n > NAME_MAX_N / 2);
    strbuf_add_str(out, prefix);
    strbuf_add_char(out, '.');
    if (node.n <= room) {
        strbuf_add_str(out, node);
        return;
    }
    shown.n = room - HASH_N;
    while (shown.n > 0 && (shown.p[shown.n - 1] == '.' || shown.p[shown.n - 1] == '-')) {
        shown.n--; /* no label may end so */
    }
    strbuf_add_str(out, shown);
    strbuf_addf(out, "-%016" PRIx64, hash_fnv1a(HASH_FNV1A_BASIS, node));
}

void intent_object_path(struct str objects, struct str node, struct strbuf *path)
{
    struct strbuf name;

    strbuf_init(&name, INTENT_PATH_MAX);
    name_of(objects, node, &name);
    intent_object_create_path(objects, path);
    strbuf_add_char(path, '/');
    kube_url_escape(path, strbuf_view(&name));
    strbuf_fini(&name);
}

void intent_object_list_path(struct str objects, struct str more, struct strbuf *path)
{
    intent_object_create_path(objects, path);
    strbuf_add_cstr(path, "?labelSelector=");
    kube_url_escape(path, str_of(INTENT_FINALIZER)); /* also the label of all of them */
    strbuf_addf(path, "&limit=%d", PAGE);
    if (more.n > 0) {
        strbuf_add_cstr(path, "&continue=");
        kube_url_escape(path, more);
    }
}

struct list_item {
    struct str name, node;
};

struct list_fields {
    struct str more;
    struct list_item *items;
    size_t n;
};

static bool decode_items(struct json_reader *r, void *at);

static const struct kube_field item_annotations[] = {
    {STR(NODE_KEY), kube_decode_text, offsetof(struct list_item, node)},
    {STR_NULL},
};

static const struct kube_field item_metadata[] = {
    {STR("name"), kube_decode_text, offsetof(struct list_item, name)},
    {STR("annotations"), .inner = item_annotations},
    {STR_NULL},
};

static const struct kube_field item_fields[] = {
    {STR("metadata"), .inner = item_metadata},
    {STR_NULL},
};

static const struct kube_field list_metadata[] = {
    {STR("continue"), kube_decode_text, offsetof(struct list_fields, more)},
    {STR_NULL},
};

static const struct kube_field list_fields[] = {
    {STR("metadata"), .inner = list_metadata},
    {STR("items"), decode_items, 0},
    {STR_NULL},
};

static bool decode_items(struct json_reader *r, void *at)
{
    struct list_fields *f = at;

    f->items = kube_decode_array(r, item_fields, sizeof(*f->items), &f->n);
    return !json_failed(r);
}

int intent_object_list_read(struct str objects, struct str body, intent_object_found_fn *found, void *ctx,
                            struct strbuf *more, struct err *reterr)
{
    struct json_reader *r = xmalloc(sizeof(*r));
    struct list_fields f = {.more = STR_NULL};
    struct arena arena;
    struct strbuf name;
    int rc;

    strbuf_init(&name, INTENT_PATH_MAX);
    arena_init(&arena, ARENA_BYTES);
    json_reader_init(r, body, &arena);
    r->as_stored = true;
    (void)kube_decode_object(r, list_fields, &f);
    rc = json_read_end(r, reterr);
    for (size_t i = 0; rc == 0 && i < f.n; i++) {
        strbuf_reset(&name);
        name_of(objects, f.items[i].node, &name);
        if (f.items[i].node.n > 0 && str_eq(f.items[i].name, strbuf_view(&name))) {
            found(ctx, f.items[i].node);
        }
    }
    strbuf_reset(more);
    if (rc == 0) {
        strbuf_add_str(more, f.more);
    }
    arena_fini(&arena);
    strbuf_fini(&name);
    free(r);
    return rc;
}

void intent_object_delete_body(const struct intent_object *seen, struct strbuf *body)
{
    struct json_writer w;

    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "v1");
    json_write_kv_cstr(&w, "kind", "DeleteOptions");
    json_write_kv_object_begin(&w, "preconditions");
    json_write_kv_cstr(&w, "uid", seen->uid);
    json_write_kv_cstr(&w, "resourceVersion", seen->revision);
    json_write_object_end(&w);
    json_write_object_end(&w);
}

static void write_metadata(struct json_writer *w, struct str objects, struct str node, const struct intent_object *seen)
{
    struct str namespace_;
    struct strbuf name;

    if (seen->revision[0] != '\0') {
        json_write_kv_cstr(w, "uid", seen->uid);
        json_write_kv_cstr(w, "resourceVersion", seen->revision);
        return;
    }
    (void)prefix_of(objects, &namespace_);
    strbuf_init(&name, INTENT_PATH_MAX);
    name_of(objects, node, &name);
    json_write_kv_str(w, "namespace", namespace_);
    json_write_kv_str(w, "name", strbuf_view(&name));
    json_write_kv_object_begin(w, "labels");
    json_write_kv_cstr(w, INTENT_FINALIZER, "");
    json_write_object_end(w);
    strbuf_fini(&name);
}

void intent_object_body(struct str objects, struct str node, const struct intent_object *seen, struct str intents,
                        struct str process, struct strbuf *body)
{
    struct json_writer w;

    json_writer_init(&w, body);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "coordination.k8s.io/v1");
    json_write_kv_cstr(&w, "kind", "Lease");
    json_write_kv_object_begin(&w, "metadata");
    write_metadata(&w, objects, node, seen);
    json_write_kv_object_begin(&w, "annotations");
    json_write_kv_str(&w, NODE_KEY, node);
    json_write_kv_str(&w, INTENTS_KEY, intents);
    json_write_object_end(&w);
    json_write_kv_array_begin(&w, "finalizers");
    if (intents.n > 0) {
        json_write_cstr(&w, INTENT_FINALIZER);
    }
    json_write_array_end(&w);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "spec");
    json_write_kv_str(&w, "holderIdentity", process);
    json_write_object_end(&w);
    json_write_object_end(&w);
}
