/* Writing an assignment: the record, and the keys for the downward API. */
#include "core/record/assignment.h"

#include "base/base64.h"
#include "base/json_write.h"
#include "base/strbuf.h"
#include "model/mig.h"
#include "model/qos.h"

static void write_device(struct json_writer *w, const struct assigned_device *dev)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "uuid", dev->uuid);
    json_write_kv_i64(w, "index", dev->index);
    json_write_kv_i64(w, "milli", dev->milli);
    json_write_kv_i64(w, "memMib", dev->mem_mib);
    if (dev->profile != 0) {
        char text[MIG_PROFILE_BYTES_MAX];

        json_write_kv_cstr(w, "mig", mig_profile_text(dev->profile, text));
    } else if (dev->exclusive) {
        json_write_kv_bool(w, "exclusive", true);
    }
    json_write_object_end(w);
}

static void write_container(struct json_writer *w, const struct assigned_container *c)
{
    json_write_object_begin(w);
    json_write_kv_str(w, "name", c->name);
    json_write_kv_bool(w, "init", c->init);
    json_write_key(w, "devices");
    json_write_array_begin(w);
    for (size_t i = 0; i < c->device_n; i++) {
        write_device(w, &c->devices[i]);
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

static void write_signature(struct json_writer *w, const struct assignment *as)
{
    struct strbuf text;

    strbuf_init(&text, 4 * ASSIGNMENT_SIG_BYTES);
    base64_encode((struct str){(const char *)as->sig, ASSIGNMENT_SIG_BYTES}, &text);
    json_write_key(w, "sig");
    json_write_object_begin(w);
    json_write_kv_str(w, "key", as->sig_key);
    json_write_kv_str(w, "value", strbuf_view(&text));
    json_write_object_end(w);
    strbuf_fini(&text);
}

static void write_record(const struct assignment *as, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_i64(&w, "v", 1);
    json_write_kv_str(&w, "id", as->id);
    if (as->qos != QOS_FIXED_SHARE) {
        json_write_kv_cstr(&w, "qos", qos_name(as->qos));
    }
    json_write_key(&w, "containers");
    json_write_array_begin(&w);
    for (size_t i = 0; i < as->container_n; i++) {
        write_container(&w, &as->containers[i]);
    }
    json_write_array_end(&w);
    if (as->sig != NULL) {
        write_signature(&w, as);
    }
    json_write_object_end(&w);
}

static void write_visible(const struct assigned_container *c, struct strbuf *out)
{
    bool uuids_known = true;

    for (size_t i = 0; i < c->device_n; i++) {
        uuids_known = uuids_known && c->devices[i].uuid.n > 0;
    }
    for (size_t i = 0; i < c->device_n; i++) {
        if (i > 0) {
            strbuf_add_char(out, ',');
        }
        if (uuids_known) {
            strbuf_add_str(out, c->devices[i].uuid);
        } else {
            strbuf_add_i64(out, c->devices[i].index);
        }
    }
}

/* Whose compute is divided by something else: the hardware, the scheduler of the host. */
static bool is_divided_already(const struct assigned_device *d)
{
    return d->profile != 0 || d->slice;
}

static int32_t active_thread_percentage(const struct assigned_container *c, bool capped)
{
    int32_t milli = DEVICE_MILLI;

    for (size_t i = 0; capped && i < c->device_n; i++) {
        if (!is_divided_already(&c->devices[i]) && c->devices[i].milli > 0 && c->devices[i].milli < milli) {
            milli = c->devices[i].milli;
        }
    }
    return milli < 10 ? 1 : milli / 10;
}

static void write_mem_limit(const struct assigned_container *c, struct strbuf *out)
{
    for (size_t i = 0; i < c->device_n; i++) {
        if (c->devices[i].mem_mib > 0 && !is_divided_already(&c->devices[i])) {
            if (out->n > 0) {
                strbuf_add_char(out, ',');
            }
            strbuf_add_u64(out, i);
            strbuf_add_char(out, '=');
            strbuf_add_i64(out, c->devices[i].mem_mib);
            strbuf_add_char(out, 'M');
        }
    }
}

/* The annotations under construction; `text` is used for one value at a time. */
struct annotations {
    struct arena *arena;
    struct strbuf text;
    struct kv *items;
    size_t n;
    bool too_long;
};

static void take_text(struct annotations *out, struct str key)
{
    out->too_long = out->too_long || out->text.overflowed;
    out->items[out->n++] =
        (struct kv){.key = key, .value = arena_str(out->arena, strbuf_view(&out->text))};
    strbuf_reset(&out->text);
}

static struct str container_key(struct arena *a, const char *key,
                                const struct assigned_container *c)
{
    return arena_printf(a, "%s.%c%u", key, c->init ? 'i' : 'c', (unsigned)c->position);
}

static void add_container_keys(struct annotations *out, const struct assigned_container *c,
                               bool capped)
{
    if (c->device_n == 0) {
        return;
    }
    write_visible(c, &out->text);
    take_text(out, container_key(out->arena, ASSIGNMENT_VISIBLE_KEY, c));
    strbuf_add_i64(&out->text, active_thread_percentage(c, capped));
    take_text(out, container_key(out->arena, ASSIGNMENT_PERCENTAGE_KEY, c));
    write_mem_limit(c, &out->text);
    if (out->text.n > 0) {
        take_text(out, container_key(out->arena, ASSIGNMENT_MEM_LIMIT_KEY, c));
    }
}

int assignment_format(const struct assignment *as, struct arena *a, struct kv_list *ret,
                      struct err *reterr)
{
    struct annotations out = {.arena = a,
                              .items = ARENA_ARRAY(a, 1 + 3 * as->container_n, struct kv)};

    if (out.items == NULL) {
        return err_set(reterr, ERR_LIMIT,
                       "annotation " ASSIGNMENT_KEY ": out of memory for this request");
    }
    strbuf_init(&out.text, ASSIGNMENT_BYTES_MAX);
    write_record(as, &out.text);
    take_text(&out, STR(ASSIGNMENT_KEY));
    for (size_t i = 0; i < as->container_n; i++) {
        add_container_keys(&out, &as->containers[i], !qos_lifts_cap(as->qos, as->lending));
    }
    strbuf_fini(&out.text);

    if (out.too_long) {
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": longer than %d bytes",
                       ASSIGNMENT_BYTES_MAX);
    }
    if (a->overflowed) {
        return err_set(reterr, ERR_LIMIT,
                       "annotation " ASSIGNMENT_KEY ": out of memory for this request");
    }
    *ret = (struct kv_list){.items = out.items, .n = out.n};
    return 0;
}
