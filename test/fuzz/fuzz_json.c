/* The strict JSON reader: its ways of reading agree with each other, what it read and wrote again
 * reads the same, and where cJSON accepts too, both understood the same. */
#include "fuzz.h"

#include "base/json_read.h"
#include "base/support/json_walk.h"
#include "support/read_json.h"

#include <cJSON.h>
#include <stdio.h>
#include <string.h>

#define MEMORY (8U << 20)

static struct json_reader reader, inner;

static bool skips(struct str text, bool fold)
{
    struct str raw = STR_NULL;

    json_reader_init(&reader, text, NULL);
    reader.fold_keys = fold;
    json_raw(&reader, &raw);
    if (json_read_end(&reader, NULL) != 0) {
        return false;
    }
    FUZZ_SAME(raw, str_trim(text));
    return true;
}

/* Reads with the typed calls and writes again. */
static bool walks(struct str text, struct arena *a, struct strbuf *out)
{
    struct json_writer w;
    struct err err;
    int rc;

    json_writer_init(&w, out);
    json_reader_init(&reader, text, a);
    json_walk(&reader, &w);
    rc = json_read_end(&reader, &err);
    FUZZ_CHECK(!a->overflowed && !out->overflowed);
    FUZZ_CHECK(rc == 0 || (rc == -(int)err.code && err.msg[0] != '\0'));
    return rc == 0;
}

static void same_number(const cJSON *c)
{
    struct str raw;
    char text[32];
    int64_t v;

    if (!json_raw(&reader, &raw)) {
        return;
    }
    json_reader_init(&inner, raw, NULL);
    if (json_i64(&inner, &v) && json_read_end(&inner, NULL) == 0) {
        snprintf(text, sizeof(text), "%lld", (long long)v);
        FUZZ_CHECK(str_eq_cstr(raw, text) || str_eq_cstr(raw, "-0"));
        FUZZ_CHECK(c->valuedouble == (double)v);
    }
}

/* The same tree on both sides. */
static void same(const cJSON *c)
{
    struct str s;
    bool truth;

    switch (json_peek(&reader)) {
    case JSON_NONE:
        fuzz_fail(__FILE__, __LINE__, "a value that was read before is gone");
    case JSON_NULL:
        FUZZ_CHECK(cJSON_IsNull(c) && json_null(&reader));
        return;
    case JSON_BOOL:
        FUZZ_CHECK(json_bool(&reader, &truth) && cJSON_IsBool(c) && cJSON_IsTrue(c) == truth);
        return;
    case JSON_NUMBER:
        FUZZ_CHECK(cJSON_IsNumber(c));
        same_number(c);
        return;
    case JSON_STRING:
        FUZZ_CHECK(json_string(&reader, &s) && cJSON_IsString(c));
        FUZZ_SAME(s, str_of(c->valuestring));
        return;
    case JSON_ARRAY:
        FUZZ_CHECK(cJSON_IsArray(c) && json_array_begin(&reader));
        c = c->child;
        while (json_array_next(&reader)) {
            FUZZ_CHECK(c != NULL);
            same(c);
            c = c->next;
        }
        FUZZ_CHECK(c == NULL);
        return;
    case JSON_OBJECT:
        FUZZ_CHECK(cJSON_IsObject(c) && json_object_begin(&reader));
        c = c->child;
        while (json_object_next(&reader, &s)) {
            FUZZ_CHECK(c != NULL);
            FUZZ_SAME(s, str_of(c->string));
            same(c);
            c = c->next;
        }
        FUZZ_CHECK(c == NULL);
        return;
    }
}

/* cJSON gives up on numbers of 64 characters and more. */
static bool has_long_number(struct str s)
{
    size_t run = 0;

    for (size_t i = 0; i < s.n && run < 63; i++) {
        run = memchr("0123456789+-.eE", s.p[i], 15) != NULL ? run + 1 : 0;
    }
    return run == 63;
}

static void compare_with_cjson(struct str text, struct arena *a)
{
    cJSON *c = read_json(text);

    FUZZ_CHECK(c != NULL || has_long_number(text));
    if (c != NULL) {
        json_reader_init(&reader, text, a);
        same(c);
        FUZZ_CHECK(json_read_end(&reader, NULL) == 0);
    }
    cJSON_Delete(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct arena a;
    struct strbuf once, twice;
    bool ok;

    arena_init(&a, MEMORY);
    strbuf_init(&once, MEMORY);
    strbuf_init(&twice, MEMORY);
    ok = walks(text, &a, &once);
    FUZZ_CHECK(skips(text, false) == ok);
    FUZZ_CHECK(ok || !skips(text, true)); /* folding only adds duplicates */
    if (ok) {
        FUZZ_CHECK(walks(strbuf_view(&once), &a, &twice));
        FUZZ_SAME(strbuf_view(&once), strbuf_view(&twice));
        compare_with_cjson(text, &a);
    }
    strbuf_fini(&twice);
    strbuf_fini(&once);
    arena_fini(&a);
    return 0;
}
