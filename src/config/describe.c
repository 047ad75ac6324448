#include "config/describe.h"

#include "config/schema_internal.h"

void config_describe(const struct config *c, struct json_writer *w)
{
    describe_value(&schema_root, c, w);
}

/* Lists stand for themselves and, indented by their element, for what an element holds. */
static void reference_rows(const struct schema_field *f, const char *path, const void *defaults, struct strbuf *out)
{
    for (size_t i = 0; i < f->sub_n; i++) {
        const struct schema_field *row = &f->sub[i];
        bool is_scalar = row->sub == NULL;
        struct strbuf name;

        strbuf_init(&name, SCALAR_BYTES_MAX);
        strbuf_addf(&name, "%s%s%s", path, path[0] != '\0' ? "." : "", row->name);
        if (row->type != SCHEMA_SECTION) {
            strbuf_addf(out, "%s  ", name.p);
            scalar_accepts(row, out);
            if (is_scalar && defaults != NULL && !row->required) {
                strbuf_add_cstr(out, "  default ");
                scalar_format(row, defaults, out);
            }
            strbuf_addf(out, "%s  %s", row->required ? "  required" : "", row->help);
            if (defaults != NULL && row->type != SCHEMA_CONST) {
                strbuf_addf(out, "  (a change applies %s)", config_reload_text(row->reload));
            }
            strbuf_add_char(out, '\n');
        }
        if (row->type == SCHEMA_SECTION) {
            reference_rows(row, name.p, defaults, out);
        } else if (!is_scalar && row->sub->type == SCHEMA_SECTION) {
            strbuf_add_cstr(&name, row->type == SCHEMA_MAP ? ".NAME" : "[]");
            reference_rows(row->sub, name.p, NULL, out);
        }
        strbuf_fini(&name);
    }
}

void config_reference(struct strbuf *out)
{
    struct config *defaults = config_defaults();

    reference_rows(&schema_root, "", defaults, out);
    config_free(defaults);
}
