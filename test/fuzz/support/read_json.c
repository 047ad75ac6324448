#include "support/read_json.h"

#include <string.h>

cJSON *read_json(struct str text)
{
    const char *end = NULL;
    cJSON *c = cJSON_ParseWithLengthOpts(text.n > 0 ? text.p : "", text.n, &end, 0);

    while (c != NULL && end < text.p + text.n) {
        if (memchr(" \t\r\n", *end++, 4) == NULL) {
            cJSON_Delete(c);
            return NULL;
        }
    }
    return c;
}

const cJSON *read_json_at(const cJSON *c, const char *path)
{
    struct str rest = str_of(path), part;

    while (c != NULL && str_split(&rest, '.', &part)) {
        char key[64];

        memcpy(key, part.p, part.n);
        key[part.n] = '\0';
        c = cJSON_GetObjectItemCaseSensitive(c, key);
    }
    return c;
}

struct str read_json_text(const cJSON *c, const char *path)
{
    return str_of(cJSON_GetStringValue(read_json_at(c, path)));
}
