#include "routes/support/unit.h"

cJSON *json_of(const char *text, size_t n)
{
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, n, &end, 0);

    if (json == NULL || end != text + n) {
        fail_msg("not one JSON value: %.*s", (int)(n < 2000 ? n : 2000), text);
    }
    return json;
}

static const cJSON *child(const cJSON *from, const char *name)
{
    if (cJSON_IsArray(from)) {
        return cJSON_GetArrayItem(from, (int)strtol(name, NULL, 10));
    }
    return cJSON_GetObjectItemCaseSensitive(from, name);
}

const cJSON *json_at(const cJSON *from, const char *path)
{
    char copy[128];
    char *rest = copy;

    assert_true(strlen(path) < sizeof(copy));
    memcpy(copy, path, strlen(path) + 1);
    for (char *name = strsep(&rest, "."); name != NULL; name = strsep(&rest, ".")) {
        from = child(from, name);
        if (from == NULL) {
            fail_msg("%s: there is no %s", path, name);
        }
    }
    return from;
}

const char *json_text_at(const cJSON *from, const char *path)
{
    const cJSON *item = json_at(from, path);

    if (!cJSON_IsString(item)) {
        fail_msg("%s is no text", path);
    }
    return item->valuestring;
}

int64_t json_number_at(const cJSON *from, const char *path)
{
    const cJSON *item = json_at(from, path);

    if (!cJSON_IsNumber(item)) {
        fail_msg("%s is no number", path);
    }
    return (int64_t)item->valuedouble;
}
