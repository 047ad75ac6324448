#include "demo/doc_internal.h"

#include "base/bug.h"

#include <string.h>

cJSON *doc_parse(struct str text)
{
    const char *end = NULL;
    if (text.n == 0) {
        return NULL;
    }
    cJSON *o = cJSON_ParseWithLengthOpts(text.p, text.n, &end, 0);
    if (o && str_trim(str_drop(text, (size_t)(end - text.p))).n > 0) {
        cJSON_Delete(o);
        return NULL;
    }
    return o;
}

cJSON *doc_field(const cJSON *o, const char *key)
{
    return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

/* The next part of a dotted path, NUL-terminated; false at its end. */
static bool next_part(struct str *rest, char name[64])
{
    struct str part;
    if (!str_split(rest, '.', &part)) {
        return false;
    }
    BUG_ON(part.n >= 64);
    memcpy(name, part.p, part.n);
    name[part.n] = '\0';
    return true;
}

cJSON *doc_at(const cJSON *o, const char *path)
{
    struct str rest = str_of(path);
    const cJSON *at = o;
    char name[64];
    while (at && next_part(&rest, name)) {
        at = doc_field(at, name);
    }
    /* cJSON hands out non-const members of a const tree itself; this is the same promise. */
    union {
        const cJSON *in;
        cJSON *out;
    } ret = {.in = at};
    return ret.out;
}

const char *doc_text(const cJSON *o, const char *path)
{
    const char *s = cJSON_GetStringValue(doc_at(o, path));
    return s ? s : "";
}

cJSON *doc_object(cJSON *o, const char *path)
{
    struct str rest = str_of(path);
    cJSON *at = o;
    char name[64];
    while (next_part(&rest, name)) {
        cJSON *next = doc_field(at, name);
        if (!cJSON_IsObject(next)) {
            next = cJSON_CreateObject();
            doc_set(at, name, next);
        }
        at = next;
    }
    return at;
}

void doc_set(cJSON *o, const char *key, cJSON *value)
{
    BUG_ON(!cJSON_IsObject(o) || !value);
    if (doc_field(o, key)) {
        BUG_ON(!cJSON_ReplaceItemInObjectCaseSensitive(o, key, value));
    } else {
        BUG_ON(!cJSON_AddItemToObject(o, key, value));
    }
}

void doc_set_text(cJSON *o, const char *key, const char *value)
{
    doc_set(o, key, cJSON_CreateString(value));
}

void doc_merge(cJSON *target, const cJSON *patch)
{
    const cJSON *p;
    cJSON_ArrayForEach(p, patch)
    {
        cJSON *t = doc_field(target, p->string);
        if (cJSON_IsNull(p)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, p->string);
        } else if (cJSON_IsObject(p)) {
            if (!cJSON_IsObject(t)) {
                t = cJSON_CreateObject();
                doc_set(target, p->string, t);
            }
            doc_merge(t, p);
        } else {
            doc_set(target, p->string, cJSON_Duplicate(p, 1));
        }
    }
}

char *doc_print(const cJSON *o)
{
    char *text = cJSON_PrintUnformatted(o);
    BUG_ON(!text);
    return text;
}
