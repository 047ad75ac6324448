/* The JSON Schema of one value.
 *
 * A scalar of the file is text to the reader, a typed value to an editor: an unquoted 0 is a number, 0s is text. So a
 * row may accept both. */
#include "config/scalar_internal.h"

#include "base/bug.h"
#include "config/patterns.h"

void json_schema_types(struct json_writer *w, const char *const *types)
{
    json_write_key(w, "type");
    json_write_array_begin(w);
    for (; *types != NULL; types++) {
        json_write_cstr(w, *types);
    }
    json_write_array_end(w);
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

/* ---- words ---- */

void const_form(const struct schema_field *f, const struct generator *g)
{
    json_write_kv_cstr(g->w, "const", f->words[0]);
}

bool json_schema_is_switch(const char *const *words)
{
    return str_eq_cstr(STR("on"), words[0]);
}

void words_form(const struct schema_field *f, const struct generator *g)
{
    json_write_key(g->w, "enum");
    json_write_array_begin(g->w);
    for (size_t i = 0; f->words[i] != NULL; i++) {
        json_write_cstr(g->w, f->words[i]);
    }
    if (json_schema_is_switch(f->words)) {
        json_write_cstr(g->w, "true");
        json_write_cstr(g->w, "false");
        json_write_bool(g->w, true);
        json_write_bool(g->w, false);
    }
    json_write_array_end(g->w);
}

void flag_form(const struct schema_field *f, const struct generator *g)
{
    (void)f;
    json_write_kv_cstr(g->w, "type", "boolean");
}

/* `word`: one that stands beside the strategies; NULL: none. */
static void write_strategies(const struct config_names *names, const char *word, struct json_writer *w)
{
    json_write_key(w, "enum");
    json_write_array_begin(w);
    if (word != NULL) {
        json_write_cstr(w, word);
    }
    for (size_t i = 0; i < names->strategy_n; i++) {
        json_write_str(w, names->strategies[i]);
    }
    json_write_array_end(w);
}

void strategy_form(const struct schema_field *f, const struct generator *g)
{
    write_strategies(g->names, f->words != NULL ? f->words[0] : NULL, g->w);
}

static void write_strategy_under(const char *key, const struct config_names *names, struct json_writer *w)
{
    json_write_key(w, key);
    json_write_object_begin(w);
    write_strategies(names, NULL, w);
    json_write_object_end(w);
}

void criteria_form(const struct schema_field *f, const struct generator *g)
{
    (void)f;
    any_of_begin(g->w);
    write_strategies(g->names, NULL, g->w);
    json_write_object_end(g->w);
    json_write_object_begin(g->w);
    json_write_kv_cstr(g->w, "type", "array");
    json_write_kv_i64(g->w, "minItems", 1);
    json_write_kv_i64(g->w, "maxItems", CRITERIA_MAX);
    json_write_kv_bool(g->w, "uniqueItems", true);
    write_strategy_under("items", g->names, g->w);
    json_write_object_end(g->w);
    json_write_object_begin(g->w);
    json_write_kv_cstr(g->w, "type", "object");
    json_write_kv_i64(g->w, "minProperties", 1);
    json_write_kv_i64(g->w, "maxProperties", CRITERIA_MAX);
    write_strategy_under("propertyNames", g->names, g->w);
    json_write_key(g->w, "additionalProperties");
    json_write_object_begin(g->w);
    any_of_begin(g->w);
    json_write_kv_cstr(g->w, "type", "number");
    json_write_kv_i64(g->w, "exclusiveMinimum", 0);
    json_write_kv_i64(g->w, "maximum", 1000);
    or_pattern(g->w, PATTERN_FACTOR);
    json_write_object_end(g->w);
    json_write_object_end(g->w);
    json_write_array_end(g->w);
}

/* ---- numbers ---- */

void int_form(const struct schema_field *f, const struct generator *g)
{
    write_range(g->w, "integer", f->min, f->max);
}

void number_form(const struct schema_field *f, const struct generator *g)
{
    const struct scalar_type *t = f->scalar;

    any_of_begin(g->w);
    write_range(g->w, "integer", f->min * t->unit, f->max * t->unit);
    if (t->unit > 1) {
        json_write_kv_i64(g->w, "multipleOf", t->unit);
    }
    or_pattern(g->w, t->pattern);
}

void factor_form(const struct schema_field *f, const struct generator *g)
{
    BUG_ON(f->min % 1000 != 0 || f->max % 1000 != 0);
    any_of_begin(g->w);
    write_range(g->w, "number", f->min / 1000, f->max / 1000);
    or_pattern(g->w, PATTERN_FACTOR);
}

void duration_form(const struct schema_field *f, const struct generator *g)
{
    if (f->min > 0) { /* a number has no unit; only 0 needs none */
        write_pattern(g->w, PATTERN_DURATION);
        return;
    }
    any_of_begin(g->w);
    json_write_kv_i64(g->w, "const", 0);
    or_pattern(g->w, PATTERN_DURATION);
}

/* ---- text ---- */

void length_form(const struct schema_field *f, const struct generator *g)
{
    json_schema_types(g->w, (const char *const[]){"string", f->scalar->number, "boolean", NULL});
    json_write_kv_i64(g->w, "maxLength", f->max);
}

void time_form(const struct schema_field *f, const struct generator *g)
{
    write_pattern(g->w, f->min > 0 ? PATTERN_TIME_OR_24 : PATTERN_TIME);
}
