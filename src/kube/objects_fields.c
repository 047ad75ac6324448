/* Decoding of single fields, whatever object they are in. */
#include "objects_internal.h"

#include "base/clock.h"

#include <string.h>

unsigned kube_word_value(const struct kube_word *words, struct str word)
{
    while (words->word.p != NULL && !str_eq(word, words->word)) {
        words++;
    }
    return words->value;
}

static void decode_word(struct json_reader *r, const struct kube_word *words, void *at)
{
    struct str word = STR_NULL;
    if (kube_decode_text(r, &word)) {
        *(unsigned *)at = kube_word_value(words, word);
    }
}

bool kube_decode_object(struct json_reader *r, const struct kube_field *fields, void *into)
{
    if (json_accept_null(r)) {
        return true;
    }
    struct str key;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        const struct kube_field *f = fields;
        while (f->key.p != NULL && !str_eq(key, f->key)) {
            f++;
        }
        if (f->key.p == NULL) {
            json_skip(r);
        } else if (f->words != NULL) {
            decode_word(r, f->words, (char *)into + f->offset);
        } else if (f->decode == NULL) {
            kube_decode_object(r, f->inner, into);
        } else {
            f->decode(r, (char *)into + f->offset);
        }
    }
    return !json_failed(r);
}

bool kube_decode_text(struct json_reader *r, void *at)
{
    return json_accept_null(r) || json_string(r, at);
}

bool kube_decode_raw(struct json_reader *r, void *at)
{
    return json_accept_null(r) || json_raw(r, at);
}

bool kube_decode_flag(struct json_reader *r, void *at)
{
    return json_accept_null(r) || json_bool(r, at);
}

bool kube_decode_i32(struct json_reader *r, void *at)
{
    int64_t v;
    if (json_accept_null(r)) {
        return true;
    }
    if (!json_i64(r, &v)) {
        return false;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        json_fail(r, ERR_INVALID, "number does not fit 32 bits");
        return false;
    }
    *(int32_t *)at = (int32_t)v;
    return true;
}

/* For times of which only the existence matters. */
bool kube_decode_presence(struct json_reader *r, void *at)
{
    *(bool *)at = json_peek(r) != JSON_NULL;
    return json_skip(r);
}

/* A moment that cannot be read is not known, and no reason to refuse the object. */
bool kube_decode_moment(struct json_reader *r, void *at)
{
    struct str text;

    if (json_peek(r) != JSON_STRING) {
        return json_skip(r);
    }
    if (!json_string(r, &text)) {
        return false;
    }
    if (!clock_rfc3339_parse(text, at)) {
        *(int64_t *)at = 0;
    }
    return true;
}

void *kube_grow(struct json_reader *r, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return items;
    }
    size_t more = *cap == 0 ? 4 : *cap * 2;
    void *bigger = arena_calloc(r->arena, more, size);
    if (bigger == NULL) {
        json_fail(r, ERR_LIMIT, "the object needs more memory than one object may use");
        return NULL;
    }
    if (n > 0) {
        memcpy(bigger, items, n * size);
    }
    *cap = more;
    return bigger;
}

void *kube_decode_array(struct json_reader *r, const struct kube_field *fields, size_t size, size_t *ret_n)
{
    char *items = NULL;
    size_t n = 0, cap = 0;
    *ret_n = 0;
    if (json_accept_null(r)) {
        return NULL;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        char *more = kube_grow(r, items, n, &cap, size);
        if (more == NULL || !kube_decode_object(r, fields, more + n * size)) {
            return NULL;
        }
        items = more;
        n++;
    }
    *ret_n = n;
    return items;
}

/* Kubernetes writes quantities as strings; its own decoders take a plain number as well. */
static bool decode_value(struct json_reader *r, struct str *ret)
{
    return json_peek(r) == JSON_NUMBER ? json_raw(r, ret) : kube_decode_text(r, ret);
}

bool kube_decode_kv_list(struct json_reader *r, void *at)
{
    struct kv *items = NULL;
    size_t n = 0, cap = 0;
    struct str key;
    if (json_accept_null(r)) {
        return true;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        struct kv *more = kube_grow(r, items, n, &cap, sizeof(*items));
        if (more == NULL || !decode_value(r, &more[n].value)) {
            return false;
        }
        items = more;
        items[n++].key = key;
    }
    *(struct kv_list *)at = (struct kv_list){items, n};
    return !json_failed(r);
}
