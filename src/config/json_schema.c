/* The JSON Schema of the configuration file, from the rows of schema.c.
 *
 * A scalar of the file is text to the reader, a typed value to an editor: an unquoted 0 is a
 * number, 0s is text. So a row may accept both. Where a pattern would repeat arithmetic (the range
 * of 1m30s, of 4Gi), the schema accepts more than the reader; it never accepts less. Patterns are
 * ECMA 262. */
#include "base/bug.h"
#include "config/describe.h"
#include "config/schema_internal.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define HELP_BYTES_MAX 1024
#define COMPACT_BYTES_MAX (256 * 1024)

#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define NAME "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
#define PORT ":0*(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})$"
#define BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"

static const char PATTERN_DURATION[] = "^(0|([0-9]+(ms|s|m|h))+)$";
static const char PATTERN_QUANTITY[] =
    "^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$";
#define PERCENT "([0-9]+[.]?[0-9]*|[.][0-9]+)%"
static const char PATTERN_PERCENT[] = "^" PERCENT "$";
static const char PATTERN_QUANTITY_OR_PERCENT[] =
    "^([+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?|" PERCENT ")$";
static const char PATTERN_NAMESPACE[] = "^[-a-z0-9*]{1,63}$";
static const char PATTERN_FACTOR[] = "^([0-9]+[.]?[0-9]*|[.][0-9]+)$";
static const char PATTERN_RESOURCE[] = "^(?!requests[.])(?!([^/]*[.])?kubernetes[.]io/)"
                                       "(?=[^/]{1,244}/)" SUBDOMAIN "/" NAME "$";
static const char PATTERN_OBJECT[] = "^((?=[^/]{1,63}/)" LABEL "/(?=.{1,253}$)" SUBDOMAIN ")?$";
static const char PATTERN_INSTANT[] = "^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z)?$";
static const char PATTERN_SWITCH[] = "^(on|off|true|false)$";
static const char PATTERN_LABEL[] = "^((?=[^/]{1,253}/)" SUBDOMAIN "/)?" NAME "=(" NAME ")?$";
static const char PATTERN_LABEL_KEY[] = "^((?=[^/]{1,253}/)" SUBDOMAIN "/)?" NAME "$";
static const char PATTERN_LABEL_VALUE[] = "^(" NAME ")?$"; /* of text */
static const char PATTERN_NAME[] = "^(?=.{1,63}$)" SUBDOMAIN "$";
static const char PATTERN_TIME[] = "^([01][0-9]|2[0-3]):[0-5][0-9]$";
static const char PATTERN_TIME_OR_24[] = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$";
#define DAY "(mon|tue|wed|thu|fri|sat|sun)"
static const char PATTERN_DAYS[] = "^" DAY "(-" DAY ")?$";
#define ZONE_PART "[A-Za-z0-9][-+_A-Za-z0-9]*"
static const char PATTERN_ZONE[] = "^(?=.{1,64}$)" ZONE_PART "(/" ZONE_PART ")*$";
static const char PATTERN_ADDRESS[] =
    "^(localhost|" BYTE "([.]" BYTE "){3}|\\[[0-9A-Fa-f:.]{2,45}\\])?" PORT;

struct generator {
    const struct config *defaults;
    const struct config_names *names;
    struct json_writer *w;
    bool in_window; /* only what may change while fgpu runs, and no defaults */
};

/* on and off are true and false to programs that go by YAML 1.1. */
static bool is_switch(const char *const *words)
{
    return str_eq_cstr(STR("on"), words[0]);
}

static void write_words(struct json_writer *w, const char *const *words)
{
    json_write_key(w, "enum");
    json_write_array_begin(w);
    for (size_t i = 0; words[i] != NULL; i++) {
        json_write_cstr(w, words[i]);
    }
    if (is_switch(words)) {
        json_write_cstr(w, "true");
        json_write_cstr(w, "false");
        json_write_bool(w, true);
        json_write_bool(w, false);
    }
    json_write_array_end(w);
}

static void write_strategies(const struct generator *g, const struct schema_field *f)
{
    json_write_key(g->w, "enum");
    json_write_array_begin(g->w);
    if (f != NULL && f->words != NULL) {
        json_write_cstr(g->w, f->words[0]);
    }
    for (size_t i = 0; i < g->names->strategy_n; i++) {
        json_write_str(g->w, g->names->strategies[i]);
    }
    json_write_array_end(g->w);
}

static void write_pattern(struct json_writer *w, const char *pattern)
{
    json_write_kv_cstr(w, "type", "string");
    json_write_kv_cstr(w, "pattern", pattern);
}

static void write_range(struct json_writer *w, const char *type, int64_t min, int64_t max)
{
    json_write_kv_cstr(w, "type", type);
    json_write_kv_i64(w, "minimum", min);
    json_write_kv_i64(w, "maximum", max);
}

/* {"anyOf": [{number}, {text}]}, left open after the first '{' for the caller. */
static void any_of_begin(struct json_writer *w)
{
    json_write_key(w, "anyOf");
    json_write_array_begin(w);
    json_write_object_begin(w);
}

static void or_pattern(struct json_writer *w, const char *pattern)
{
    json_write_object_end(w);
    json_write_object_begin(w);
    write_pattern(w, pattern);
    json_write_object_end(w);
    json_write_array_end(w);
}

static void write_number(struct json_writer *w, const struct schema_field *f)
{
    int64_t unit = f->type == SCHEMA_MIB || f->type == SCHEMA_MIB_OR_PERCENT ? INT64_C(1) << 20 : 1;

    any_of_begin(w);
    if (f->type == SCHEMA_FACTOR) {
        BUG_ON(f->min % 1000 != 0 || f->max % 1000 != 0);
        write_range(w, "number", f->min / 1000, f->max / 1000);
        or_pattern(w, PATTERN_FACTOR);
        return;
    }
    write_range(w, "integer", f->min * unit, f->max * unit);
    if (unit > 1) {
        json_write_kv_i64(w, "multipleOf", unit);
    }
    or_pattern(w, f->type == SCHEMA_MIB_OR_PERCENT ? PATTERN_QUANTITY_OR_PERCENT : PATTERN_QUANTITY);
}

static void write_criteria(const struct generator *g)
{
    struct json_writer *w = g->w;

    json_write_key(w, "anyOf");
    json_write_array_begin(w);
    json_write_object_begin(w);
    write_strategies(g, NULL);
    json_write_object_end(w);
    json_write_object_begin(w);
    json_write_kv_cstr(w, "type", "array");
    json_write_kv_i64(w, "minItems", 1);
    json_write_kv_i64(w, "maxItems", CRITERIA_MAX);
    json_write_kv_bool(w, "uniqueItems", true);
    json_write_key(w, "items");
    json_write_object_begin(w);
    write_strategies(g, NULL);
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_object_begin(w);
    json_write_kv_cstr(w, "type", "object");
    json_write_kv_i64(w, "minProperties", 1);
    json_write_kv_i64(w, "maxProperties", CRITERIA_MAX);
    json_write_key(w, "propertyNames");
    json_write_object_begin(w);
    write_strategies(g, NULL);
    json_write_object_end(w);
    json_write_key(w, "additionalProperties");
    json_write_object_begin(w);
    any_of_begin(w);
    json_write_kv_cstr(w, "type", "number");
    json_write_kv_i64(w, "exclusiveMinimum", 0);
    json_write_kv_i64(w, "maximum", 1000);
    or_pattern(w, PATTERN_FACTOR);
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_array_end(w);
}

static void write_duration(struct json_writer *w, const struct schema_field *f)
{
    if (f->min > 0) { /* a number has no unit; only 0 needs none */
        write_pattern(w, PATTERN_DURATION);
        return;
    }
    any_of_begin(w);
    json_write_kv_i64(w, "const", 0);
    or_pattern(w, PATTERN_DURATION);
}

/* Any scalar is text: an unquoted 100 is the model "100". `number`: which ones. */
static void write_any_scalar(struct json_writer *w, const char *number)
{
    json_write_key(w, "type");
    json_write_array_begin(w);
    json_write_cstr(w, "string");
    json_write_cstr(w, number);
    json_write_cstr(w, "boolean");
    json_write_array_end(w);
}

/* The same where the text has a grammar, in which no number is negative. */
static void write_word_or_number(struct json_writer *w, const char *number, const char *pattern)
{
    write_any_scalar(w, number);
    json_write_kv_i64(w, "minimum", 0);
    json_write_kv_cstr(w, "pattern", pattern);
}

static void write_text(struct json_writer *w, const struct schema_field *f)
{
    write_any_scalar(w, "number");
    json_write_kv_i64(w, "maxLength", f->max);
}

static void write_scalar(const struct generator *g, const struct schema_field *f)
{
    switch (f->type) {
    case SCHEMA_CONST:
        json_write_kv_cstr(g->w, "const", f->words[0]);
        return;
    case SCHEMA_INT:
        write_range(g->w, "integer", f->min, f->max);
        return;
    case SCHEMA_DURATION:
        write_duration(g->w, f);
        return;
    case SCHEMA_BYTES:
    case SCHEMA_MIB:
    case SCHEMA_FACTOR:
    case SCHEMA_MIB_OR_PERCENT:
        write_number(g->w, f);
        return;
    case SCHEMA_PERCENT:
        write_pattern(g->w, PATTERN_PERCENT);
        return;
    case SCHEMA_NAMESPACE:
        write_word_or_number(g->w, "integer", PATTERN_NAMESPACE);
        return;
    case SCHEMA_LABEL_KEY:
        write_pattern(g->w, PATTERN_LABEL_KEY);
        return;
    case SCHEMA_LABEL_VALUE:
        write_word_or_number(g->w, "number", PATTERN_LABEL_VALUE);
        return;
    case SCHEMA_WORD:
        write_words(g->w, f->words);
        return;
    case SCHEMA_FLAG:
        json_write_kv_cstr(g->w, "type", "boolean");
        return;
    case SCHEMA_STRATEGY:
        write_strategies(g, f);
        return;
    case SCHEMA_CRITERIA:
        write_criteria(g);
        return;
    case SCHEMA_TEXT:
        write_text(g->w, f);
        return;
    case SCHEMA_NAME:
        write_word_or_number(g->w, "number", PATTERN_NAME);
        return;
    case SCHEMA_RESOURCE:
        write_pattern(g->w, PATTERN_RESOURCE);
        return;
    case SCHEMA_OBJECT:
        write_pattern(g->w, PATTERN_OBJECT);
        return;
    case SCHEMA_INSTANT:
        write_pattern(g->w, PATTERN_INSTANT);
        return;
    case SCHEMA_LABEL:
        write_pattern(g->w, PATTERN_LABEL);
        return;
    case SCHEMA_ADDRESS:
        write_pattern(g->w, PATTERN_ADDRESS);
        return;
    case SCHEMA_TIME:
        write_pattern(g->w, f->min > 0 ? PATTERN_TIME_OR_24 : PATTERN_TIME);
        return;
    case SCHEMA_DAYS:
        write_pattern(g->w, PATTERN_DAYS);
        return;
    case SCHEMA_ZONE:
        write_pattern(g->w, PATTERN_ZONE);
        return;
    case SCHEMA_SECTION:
    case SCHEMA_LIST:
    case SCHEMA_MAP:
    case SCHEMA_OVERLAY:
        break;
    }
    BUG("a row of several values in write_scalar");
}

/* "packing:" with nothing below it means the defaults; the root and elements cannot be left out. */
static void write_type(struct json_writer *w, const char *type, bool may_be_null)
{
    if (!may_be_null) {
        json_write_kv_cstr(w, "type", type);
        return;
    }
    json_write_key(w, "type");
    json_write_array_begin(w);
    json_write_cstr(w, type);
    json_write_cstr(w, "null");
    json_write_array_end(w);
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

/* Keys below it, or one word in their place: what is said of objects and of text does not meet. */
static void write_type_or_switch(struct json_writer *w)
{
    json_write_key(w, "type");
    json_write_array_begin(w);
    json_write_cstr(w, "object");
    json_write_cstr(w, "null");
    json_write_cstr(w, "boolean");
    json_write_cstr(w, "string");
    json_write_array_end(w);
    json_write_kv_cstr(w, "pattern", PATTERN_SWITCH);
}

static void write_section(const struct generator *g, const struct schema_field *f, bool in_item)
{
    if (f->alone) {
        BUG_ON(!is_switch(f->sub[0].words));
        write_type_or_switch(g->w);
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
        write_scalar(g, f->key);
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
        write_scalar(g, f);
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
    const struct generator g = {defaults, names, &w, false};

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
