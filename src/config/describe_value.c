/* The value of a row, as JSON. */
#include "config/schema_internal.h"

#include <string.h>

static void describe_section(const struct schema_field *f, const void *base, struct json_writer *w)
{
    for (size_t i = 0; i < f->sub_n; i++) {
        json_write_key(w, f->sub[i].name);
        describe_value(&f->sub[i], base, w);
    }
}

struct schema_items schema_items(const struct schema_field *f, const void *base)
{
    struct schema_items items;

    memcpy(&items.p, (const char *)base + f->offset, sizeof(items.p));
    memcpy(&items.n, (const char *)base + f->offset2, sizeof(items.n));
    return items;
}

struct str schema_item_name(const struct schema_field *f, const void *item)
{
    struct str name;

    memcpy(&name, (const char *)item + f->key->offset, sizeof(name));
    return name;
}

static bool differs(const struct schema_field *f, const void *item, const void *absent)
{
    struct strbuf a, b;
    bool different = false;

    for (size_t i = 0; f->type == SCHEMA_SECTION && i < f->sub_n; i++) {
        different = different || differs(&f->sub[i], item, absent);
    }
    if (f->type == SCHEMA_SECTION) {
        return different;
    }
    if (f->sub != NULL) {
        return schema_items(f, item).n > 0;
    }
    strbuf_init(&a, SCALAR_BYTES_MAX);
    strbuf_init(&b, SCALAR_BYTES_MAX);
    scalar_format(f, item, &a);
    scalar_format(f, absent, &b);
    different = !str_eq(strbuf_view(&a), strbuf_view(&b));
    strbuf_fini(&a);
    strbuf_fini(&b);
    return different;
}

/* A zero in an optional number of a size means that it was not given. */
static bool is_given(const struct schema_field *f, const void *item, const void *absent)
{
    struct strbuf text;
    bool given;

    if (f->type == SCHEMA_OVERLAY) {
        return overlay_is_given(f, item);
    }
    if (absent != NULL) {
        return f->required || differs(f, item, absent);
    }
    if (f->type == SCHEMA_LIST || f->type == SCHEMA_MAP) {
        return schema_items(f, item).n > 0;
    }
    if (f->type != SCHEMA_INT && f->type != SCHEMA_MIB) {
        return true;
    }
    strbuf_init(&text, SCALAR_BYTES_MAX);
    scalar_format(f, item, &text);
    given = f->min == 0 || !str_eq_cstr(strbuf_view(&text), "0");
    strbuf_fini(&text);
    return given;
}

static void describe_given(const struct schema_field *f, const void *item, const void *absent, struct json_writer *w)
{
    if (f->type != SCHEMA_SECTION) {
        describe_value(f, item, w);
        return;
    }
    json_write_object_begin(w);
    for (size_t i = 0; i < f->sub_n; i++) {
        if (is_given(&f->sub[i], item, absent)) {
            json_write_key(w, f->sub[i].name);
            describe_given(&f->sub[i], item, absent, w);
        }
    }
    json_write_object_end(w);
}

void describe_item(const struct schema_field *f, const void *item, struct json_writer *w)
{
    describe_given(f, item, f->item_absent, w);
}

static void describe_items(const struct schema_field *f, const void *base, struct json_writer *w)
{
    struct schema_items items = schema_items(f, base);

    for (size_t i = 0; i < items.n; i++) {
        const char *item = items.p + i * f->item_size;
        if (f->key != NULL) {
            json_write_key_str(w, schema_item_name(f, item));
        }
        describe_item(f->sub, item, w);
    }
}

void describe_value(const struct schema_field *f, const void *base, struct json_writer *w)
{
    if (f->type == SCHEMA_SECTION) {
        json_write_object_begin(w);
        describe_section(f, base, w);
        json_write_object_end(w);
    } else if (f->type == SCHEMA_LIST) {
        json_write_array_begin(w);
        describe_items(f, base, w);
        json_write_array_end(w);
    } else if (f->type == SCHEMA_MAP) {
        json_write_object_begin(w);
        describe_items(f, base, w);
        json_write_object_end(w);
    } else if (f->type == SCHEMA_OVERLAY) {
        overlay_describe(f, base, w);
    } else {
        scalar_describe(f, base, w);
    }
}
