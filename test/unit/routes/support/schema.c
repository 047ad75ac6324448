#include "routes/support/schema.h"

#include <regex.h>
#include <stdbool.h>
#include <stdio.h>

cJSON *schema_load(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, sizeof(text), file);
    assert_true(n > 0 && n < sizeof(text));
    assert_int_equal(fclose(file), 0);
    while (n > 0 && text[n - 1] == '\n') {
        n--;
    }
    return json_of(text, n);
}

struct check {
    const cJSON *root;
    char path[256];
    char text[512];
};

static bool violate(struct check *c, const char *what)
{
    if (c->text[0] == '\0') {
        snprintf(c->text, sizeof(c->text), "%s: %s", c->path, what);
    }
    return false;
}

static bool check_value(struct check *c, const cJSON *schema, const cJSON *v);

static bool check_below(struct check *c, const char *name, const cJSON *schema, const cJSON *v)
{
    size_t n = strlen(c->path);
    bool ok;

    snprintf(c->path + n, sizeof(c->path) - n, "/%s", name);
    ok = check_value(c, schema, v);
    c->path[n] = '\0';
    return ok;
}

/* ---- one function per keyword: is the value as it says? ---- */

static bool is_type(struct check *c, const cJSON *rule, const cJSON *v)
{
    const char *type = rule->valuestring;
    bool ok = false;

    if (strcmp(type, "object") == 0) {
        ok = cJSON_IsObject(v);
    } else if (strcmp(type, "array") == 0) {
        ok = cJSON_IsArray(v);
    } else if (strcmp(type, "string") == 0) {
        ok = cJSON_IsString(v);
    } else if (strcmp(type, "boolean") == 0) {
        ok = cJSON_IsBool(v);
    } else if (strcmp(type, "integer") == 0) {
        ok = cJSON_IsNumber(v) && v->valuedouble >= -1e15 && v->valuedouble <= 1e15 &&
             (double)(int64_t)v->valuedouble == v->valuedouble;
    } else {
        fail_msg("the schema uses type \"%s\", which this checker does not know", type);
    }
    return ok || violate(c, type);
}

static bool has_required(struct check *c, const cJSON *rule, const cJSON *v)
{
    const cJSON *name;

    cJSON_ArrayForEach(name, rule)
    {
        if (cJSON_IsObject(v) && !cJSON_HasObjectItem(v, name->valuestring)) {
            return violate(c, name->valuestring);
        }
    }
    return true;
}

static bool has_dependent(struct check *c, const cJSON *rule, const cJSON *v)
{
    const cJSON *when;

    cJSON_ArrayForEach(when, rule)
    {
        if (cJSON_HasObjectItem(v, when->string) && !has_required(c, when, v)) {
            return false;
        }
    }
    return true;
}

/* A key that is deprecated because it has another name now: "Older name of NAME." Both are there, with one value. */
static bool has_both_names(struct check *c, const cJSON *schema, const cJSON *v)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(schema, "description");
    const cJSON *before = cJSON_GetObjectItemCaseSensitive(v, schema->string), *now;
    char name[64];

    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schema, "deprecated"))) {
        return true;
    }
    assert_int_equal(sscanf(text->valuestring, "Older name of %63[^ .].", name), 1);
    now = cJSON_GetObjectItemCaseSensitive(v, name);
    return (now == NULL && before == NULL) || cJSON_Compare(now, before, true) || violate(c, schema->string);
}

static bool has_properties(struct check *c, const cJSON *rule, const cJSON *v)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, rule)
    {
        if (!has_both_names(c, item, v)) {
            return false;
        }
    }
    cJSON_ArrayForEach(item, v)
    {
        const cJSON *schema = cJSON_GetObjectItemCaseSensitive(rule, item->string);

        if (schema == NULL) {
            char what[128];

            snprintf(what, sizeof(what), "%s is not described", item->string);
            return violate(c, what);
        }
        if (!check_below(c, item->string, schema, item)) {
            return false;
        }
    }
    return true;
}

static bool has_items(struct check *c, const cJSON *rule, const cJSON *v)
{
    const cJSON *item;
    int i = 0;

    cJSON_ArrayForEach(item, v)
    {
        char name[16];

        snprintf(name, sizeof(name), "%d", i++);
        if (!check_below(c, name, rule, item)) {
            return false;
        }
    }
    return true;
}

static bool is_const(struct check *c, const cJSON *rule, const cJSON *v)
{
    return cJSON_Compare(rule, v, true) || violate(c, "const");
}

static bool is_one_of(struct check *c, const cJSON *rule, const cJSON *v)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, rule)
    {
        if (cJSON_Compare(item, v, true)) {
            return true;
        }
    }
    return violate(c, "enum");
}

static bool is_minimum(struct check *c, const cJSON *rule, const cJSON *v)
{
    return !cJSON_IsNumber(v) || v->valuedouble >= rule->valuedouble || violate(c, "minimum");
}

static bool is_maximum(struct check *c, const cJSON *rule, const cJSON *v)
{
    return !cJSON_IsNumber(v) || v->valuedouble <= rule->valuedouble || violate(c, "maximum");
}

static bool has_few_items(struct check *c, const cJSON *rule, const cJSON *v)
{
    return !cJSON_IsArray(v) || cJSON_GetArraySize(v) <= rule->valuedouble || violate(c, "maxItems");
}

static bool is_long_enough(struct check *c, const cJSON *rule, const cJSON *v)
{
    return !cJSON_IsString(v) || (double)strlen(v->valuestring) >= rule->valuedouble || violate(c, "minLength");
}

static bool is_pattern(struct check *c, const cJSON *rule, const cJSON *v)
{
    regex_t re;
    bool ok;

    assert_int_equal(regcomp(&re, rule->valuestring, REG_EXTENDED | REG_NOSUB), 0);
    ok = !cJSON_IsString(v) || regexec(&re, v->valuestring, 0, NULL, 0) == 0;
    regfree(&re);
    return ok || violate(c, "pattern");
}

static bool is_referred(struct check *c, const cJSON *rule, const cJSON *v)
{
    static const char prefix[] = "#/$defs/";
    const cJSON *def;

    assert_int_equal(strncmp(rule->valuestring, prefix, sizeof(prefix) - 1), 0);
    def = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(c->root, "$defs"),
                                           rule->valuestring + sizeof(prefix) - 1);
    assert_non_null(def);
    return check_value(c, def, v);
}

static bool is_anything(struct check *c, const cJSON *rule, const cJSON *v)
{
    (void)c, (void)rule, (void)v;
    return true;
}

static bool check_value(struct check *c, const cJSON *schema, const cJSON *v)
{
    static const struct {
        const char *name;
        bool (*holds)(struct check *c, const cJSON *rule, const cJSON *v);
    } keywords[] = {
        {"type", is_type},
        {"required", has_required},
        {"dependentRequired", has_dependent},
        {"properties", has_properties},
        {"items", has_items},
        {"const", is_const},
        {"enum", is_one_of},
        {"minimum", is_minimum},
        {"maximum", is_maximum},
        {"maxItems", has_few_items},
        {"minLength", is_long_enough},
        {"pattern", is_pattern},
        {"$ref", is_referred},
        {"$schema", is_anything},
        {"$id", is_anything},
        {"$defs", is_anything},
        {"title", is_anything},
        {"deprecated", is_anything},
        {"description", is_anything},
    };
    const cJSON *rule;

    cJSON_ArrayForEach(rule, schema)
    {
        size_t i = 0;

        while (i < sizeof(keywords) / sizeof(keywords[0]) && strcmp(keywords[i].name, rule->string) != 0) {
            i++;
        }
        if (i == sizeof(keywords) / sizeof(keywords[0])) {
            fail_msg("the schema uses \"%s\", which this checker does not know", rule->string);
        }
        if (!keywords[i].holds(c, rule, v)) {
            return false;
        }
    }
    return true;
}

const char *schema_violation(const cJSON *schema, const cJSON *document)
{
    static struct check c;

    c = (struct check){.root = schema};
    return check_value(&c, schema, document) ? NULL : c.text;
}
