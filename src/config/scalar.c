/* What all types of one value have in common. */
#include "config/scalar_internal.h"

#include "base/bug.h"

#include <string.h>

void scalar_load(const struct schema_field *f, const void *base, void *ret)
{
    memcpy(ret, (const char *)base + f->offset, f->scalar->size);
}

void scalar_store(const struct schema_field *f, void *base, const void *value)
{
    memcpy((char *)base + f->offset, value, f->scalar->size);
}

void scalar_copy(const struct schema_field *f, const void *from, void *to)
{
    const struct scalar_type *t = f->scalar;

    BUG_ON(t->decode == NULL); /* a row of several values */
    scalar_store(f, to, (const char *)from + f->offset);
    memcpy((char *)to + f->offset2, (const char *)from + f->offset2, t->size2);
}

void scalar_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    const struct scalar_type *t = f->scalar;

    BUG_ON(t->decode == NULL);
    if (n->type != YAML_DOC_TEXT && !t->decodes_any) {
        config_decode_error(c, n, "expected one value, found %s", yaml_doc_type_name(n));
    } else if (n->type == YAML_DOC_TEXT && yaml_doc_is_null(n)) {
        config_decode_error(c, n, "no value; give one or remove the key");
    } else {
        t->decode(c, f, n, base);
    }
}

void scalar_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    f->scalar->format(f, base, out);
}

void scalar_describe(const struct schema_field *f, const void *base, struct json_writer *w)
{
    struct strbuf text;

    if (f->scalar->describe != NULL) {
        f->scalar->describe(f, base, w);
        return;
    }
    strbuf_init(&text, SCALAR_BYTES_MAX);
    scalar_format(f, base, &text);
    json_write_str(w, strbuf_view(&text));
    strbuf_fini(&text);
}

void scalar_accepts(const struct schema_field *f, struct strbuf *out)
{
    const struct scalar_type *t = f->scalar;

    if (t->accepts != NULL) {
        strbuf_add_cstr(out, t->accepts);
    } else {
        t->accepts_of(f, out);
    }
}

void scalar_form(const struct schema_field *f, const struct generator *g)
{
    const struct scalar_type *t = f->scalar;

    if (t->form != NULL) {
        t->form(f, g);
        return;
    }
    BUG_ON(t->pattern == NULL);
    if (t->number == NULL) {
        json_write_kv_cstr(g->w, "type", "string");
    } else { /* no number that a grammar accepts is negative */
        json_schema_types(g->w, (const char *const[]){"string", t->number, "boolean", NULL});
        json_write_kv_i64(g->w, "minimum", 0);
    }
    json_write_kv_cstr(g->w, "pattern", t->pattern);
}
