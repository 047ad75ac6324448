/* Writing the record. */
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

int assignment_no_memory(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": out of memory for this request");
}

int assignment_format(const struct assignment *as, struct arena *a, struct str *ret, struct err *reterr)
{
    struct strbuf text;
    struct str copy = STR_NULL;
    bool too_long;

    strbuf_init(&text, ASSIGNMENT_BYTES_MAX);
    write_record(as, &text);
    too_long = text.overflowed;
    if (!too_long) {
        copy = arena_str(a, strbuf_view(&text));
    }
    strbuf_fini(&text);
    if (too_long) {
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": longer than %d bytes", ASSIGNMENT_BYTES_MAX);
    }
    if (a->overflowed) {
        return assignment_no_memory(reterr);
    }
    *ret = copy;
    return 0;
}
