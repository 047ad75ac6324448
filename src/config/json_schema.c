/* The JSON Schema of the configuration file, from the rows of schema.c. */
#include "config/describe.h"

#include "base/bug.h"
#include "config/patterns.h"
#include "config/scalar_internal.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define HELP_BYTES_MAX 1024
#define COMPACT_BYTES_MAX (256 * 1024)

/* "packing:" with nothing below it means the defaults; the root and elements cannot be left out. */
static void write_type(struct json_writer *w, const char *type, bool may_be_null)
{
    if (!may_be_null) {
        json_write_kv_cstr(w, "type", type);
        return;
    }
    json_schema_types(w, (const char *const[]){type, "null", NULL});
}

static void write_description(const struct generator *g, const struct schema_field *f, bool is_key)
{
    struct strbuf text;

    if (f->help == NULL) {
        return;
    }
    strbuf_init(&text, HELP_BYTES_MAX);
    strbuf_add_cstr(&text, f->help);
    if (f->sub == NULL && f->type != SCHEMA_OVERLAY) {
        strbuf_add_cstr(&text, ": ");
        scalar_accepts(f, &text);
    }
    if (is_key && f->type != SCHEMA_CONST) {
        strbuf_addf(&text, " (a change applies %s)", config_reload_text(f->reload));
    }
    json_write_kv_str(g->w, "description", strbuf_view(&text));
    strbuf_fini(&text);
}

static void write_row(const struct generator *g, const struct schema_field *f, bool in_item);

static void write_section(const struct generator *g, const struct schema_field *f, bool in_item)
{
    if (f->alone) {
        BUG_ON(!json_schema_is_switch(f->sub[0].words));
        /* Keys below it, or one word in their place: what is said of objects and of text does not meet. */
        json_schema_types(g->w, (const char *const[]){"object", "null", "boolean", "string", NULL});
        json_write_kv_cstr(g->w, "pattern", PATTERN_SWITCH);
    } else {
        write_type(g->w, "object", f->name != NULL);
    }
    json_write_kv_bool(g->w, "additionalProperties", false);
    json_write_key(g->w, "required");
    json_write_array_begin(g->w);
    for (size_t i = 0; i < f->sub_n; i++) {
        if (f->sub[i].required) {
            json_write_cstr(g->w, f->sub[i].name);
        }
    }
    json_write_array_end(g->w);
    json_write_key(g->w, "properties");
    json_write_object_begin(g->w);
    for (size_t i = 0; i < f->sub_n; i++) {
        if (g->in_window && !in_item && schema_is_cold(&f->sub[i])) {
            continue;
        }
        json_write_key(g->w, f->sub[i].name);
        json_write_object_begin(g->w);
        write_row(g, &f->sub[i], in_item);
        json_write_object_end(g->w);
    }
    json_write_object_end(g->w);
}

static void write_items(const struct generator *g, const struct schema_field *f)
{
    bool is_map = f->type == SCHEMA_MAP;

    write_type(g->w, is_map ? "object" : "array", f->min == 0);
    if (f->min > 0) {
        json_write_kv_i64(g->w, is_map ? "minProperties" : "minItems", f->min);
    }
    json_write_kv_i64(g->w, is_map ? "maxProperties" : "maxItems", f->max);
    if (is_map) {
        json_write_key(g->w, "propertyNames");
        json_write_object_begin(g->w);
        scalar_form(f->key, g);
        json_write_object_end(g->w);
    }
    json_write_key(g->w, is_map ? "additionalProperties" : "items");
    json_write_object_begin(g->w);
    write_row(g, f->sub, true);
    json_write_object_end(g->w);
}

static void write_row(const struct generator *g, const struct schema_field *f, bool in_item)
{
    if (f->type == SCHEMA_OVERLAY) {
        struct generator in_window = *g;

        in_window.in_window = true;
        write_row(&in_window, schema_find_root(str_of(f->name)), false);
        return;
    }
    write_description(g, f, !in_item && !g->in_window);
    if (f->type == SCHEMA_SECTION) {
        write_section(g, f, in_item);
        return;
    }
    if (f->sub != NULL) {
        write_items(g, f);
    } else {
        scalar_form(f, g);
    }
    if (!in_item && !f->required && !g->in_window) {
        json_write_key(g->w, "default");
        describe_value(f, g->defaults, g->w);
    }
}

static void new_line(struct strbuf *out, int depth)
{
    strbuf_add_char(out, '\n');
    for (int i = 0; i < depth; i++) {
        strbuf_add_cstr(out, "  ");
    }
}

/* Copies text up to and with its closing quote; returns where it ends. */
static size_t copy_text(struct str json, size_t i, struct strbuf *out)
{
    strbuf_add_char(out, json.p[i++]);
    for (; json.p[i] != '"'; i++) {
        strbuf_add_char(out, json.p[i]);
        if (json.p[i] == '\\') {
            strbuf_add_char(out, json.p[++i]);
        }
    }
    strbuf_add_char(out, '"');
    return i;
}

/* The same JSON with a member to a line; `json` is valid and has no blanks. */
static void pretty(struct str json, struct strbuf *out)
{
    int depth = 0;

    for (size_t i = 0; i < json.n; i++) {
        char ch = json.p[i];
        bool opens = ch == '{' || ch == '[', closes = ch == '}' || ch == ']';

        if (ch == '"') {
            i = copy_text(json, i, out);
            continue;
        }
        if (closes && json.p[i - 1] != '{' && json.p[i - 1] != '[') {
            new_line(out, depth - 1);
        }
        strbuf_add_char(out, ch);
        depth += opens ? 1 : closes ? -1 : 0;
        if (ch == ',' || (opens && json.p[i + 1] != '}' && json.p[i + 1] != ']')) {
            new_line(out, depth);
        } else if (ch == ':') {
            strbuf_add_char(out, ' ');
        }
    }
    strbuf_add_char(out, '\n');
}

void config_json_schema(const struct config_names *names, struct strbuf *out)
{
    struct config *defaults = config_defaults();
    struct strbuf compact;
    struct json_writer w;
    const struct generator g = {.w = &w, .names = names, .defaults = defaults};

    strbuf_init(&compact, COMPACT_BYTES_MAX);
    json_writer_init(&w, &compact);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "$schema", DIALECT);
    json_write_kv_cstr(&w, "title", "fgpu configuration");
    json_write_kv_cstr(&w, "$comment",
                       "written by: fgpu check-config --schema; more is checked by: fgpu "
                       "check-config FILE");
    write_row(&g, &schema_root, false);
    json_write_object_end(&w);
    BUG_ON(compact.overflowed);
    pretty(strbuf_view(&compact), out);
    strbuf_fini(&compact);
    config_free(defaults);
}
