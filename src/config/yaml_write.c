/* Writes a configuration as YAML that yaml_doc.c, and any other reader of YAML, reads as the same
 * values: block style, text in double quotes (JSON's escapes are YAML's), numbers and the words of
 * the schema bare. */
#include "config/describe.h"
#include "config/schema_internal.h"

static void write_value(const struct schema_field *f, const void *base, struct strbuf *out)
{
    struct json_writer w;

    if (f->type == SCHEMA_WORD || f->type == SCHEMA_STRATEGY || f->type == SCHEMA_CRITERIA || f->type == SCHEMA_CONST ||
        f->type == SCHEMA_FLAG) {
        scalar_format(f, base, out);
        return;
    }
    json_writer_init(&w, out);
    describe_value(f, base, &w);
}

static void indent(struct strbuf *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        strbuf_add_cstr(out, "  ");
    }
}

/* Elements stand in one line each, as JSON, which is YAML too: {"name": "a", "unitsPerGPU": 1}. */
static void write_items(const struct schema_field *f, const void *base, size_t depth, struct strbuf *out)
{
    struct schema_items items = schema_items(f, base);

    if (items.n == 0) {
        strbuf_add_cstr(out, f->type == SCHEMA_MAP ? " {}\n" : " []\n");
        return;
    }
    strbuf_add_char(out, '\n');
    for (size_t i = 0; i < items.n; i++) {
        const char *item = items.p + i * f->item_size;
        struct json_writer w;

        indent(out, depth);
        if (f->type == SCHEMA_MAP) {
            json_writer_init(&w, out);
            json_write_str(&w, schema_item_name(f, item));
            strbuf_add_cstr(out, ": ");
        } else {
            strbuf_add_cstr(out, "- ");
        }
        json_writer_init(&w, out);
        describe_item(f->sub, item, &w);
        strbuf_add_char(out, '\n');
    }
}

static void write_section(const struct schema_field *section, const void *base, size_t depth, struct strbuf *out)
{
    for (size_t i = 0; i < section->sub_n; i++) {
        const struct schema_field *row = &section->sub[i];

        indent(out, depth);
        strbuf_addf(out, "%s:", row->name);
        if (row->type == SCHEMA_SECTION) {
            strbuf_add_char(out, '\n');
            write_section(row, base, depth + 1, out);
        } else if (row->sub != NULL) {
            write_items(row, base, depth + 1, out);
        } else {
            strbuf_add_char(out, ' ');
            write_value(row, base, out);
            strbuf_add_char(out, '\n');
        }
    }
}

void config_write_yaml(const struct config *c, struct strbuf *out)
{
    write_section(&schema_root, c, 0, out);
}

/* ---- with origins ---- */

struct effective {
    const struct config *config;
    struct strbuf *out;
};

static void write_effective(void *ctx, const struct schema_field *row, const char *key)
{
    const struct effective *e = ctx;

    strbuf_addf(e->out, "%s: ", key);
    write_value(row, e->config, e->out);
    strbuf_add_cstr(e->out, "  # ");
    config_origin_text(e->config, str_of(key), e->out);
    strbuf_add_char(e->out, '\n');
}

void config_write_effective(const struct config *c, struct strbuf *out)
{
    struct effective e = {c, out};

    schema_each_key(write_effective, &e);
}
