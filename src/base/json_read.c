/* base/json_read.c - the pull reader: structure, values, errors. */
#include "base/json_read.h"

#include "json_read_internal.h"

#include "base/bug.h"

void json_reader_init(struct json_reader *r, struct str text, struct arena *arena)
{
    r->text = text.p ? text.p : "";
    r->len = text.n;
    r->at = 0;
    r->value_at = 0;
    r->arena = arena;
    r->depth = 0;
    r->fold_keys = false;
    r->as_stored = false;
    r->want_value = true;
    r->index_clear = false;
    r->code = ERR_OK;
    r->why = NULL;
    r->why_at = 0;
    r->key_n = 0;
    r->levels[0] = (struct json_level){.first = true};
}

void json_fail(struct json_reader *r, enum err_code code, const char *why)
{
    json_fail_at(r, r->value_at, code, why);
}

/* By the first byte of a value; a table, because this is asked for every value that is skipped. */
static inline enum json_type type_of(char c)
{
    static const unsigned char TYPES[256] = {
        ['n'] = JSON_NULL,   ['t'] = JSON_BOOL,   ['f'] = JSON_BOOL,   ['"'] = JSON_STRING, ['['] = JSON_ARRAY,
        ['{'] = JSON_OBJECT, ['-'] = JSON_NUMBER, ['0'] = JSON_NUMBER, ['1'] = JSON_NUMBER, ['2'] = JSON_NUMBER,
        ['3'] = JSON_NUMBER, ['4'] = JSON_NUMBER, ['5'] = JSON_NUMBER, ['6'] = JSON_NUMBER, ['7'] = JSON_NUMBER,
        ['8'] = JSON_NUMBER, ['9'] = JSON_NUMBER,
    };
    _Static_assert(JSON_NONE == 0, "what is not in the table");
    return (enum json_type)TYPES[(unsigned char)c];
}

/* Moves to the first byte of the value to be read; false at the end of the input or after an error. */
static inline bool value_ahead(struct json_reader *r)
{
    if (r->why != NULL) {
        return false;
    }
    BUG_ON(!r->want_value);
    json_skip_blanks(r);
    r->value_at = r->at;
    if (r->at == r->len) {
        return json_fail_at(r, r->at, ERR_PARSE, "input ends where a value is expected");
    }
    return true;
}

static bool wrong_type(struct json_reader *r, const char *why)
{
    if (type_of(r->text[r->at]) == JSON_NONE) {
        return json_fail_at(r, r->at, ERR_PARSE, "not a JSON value");
    }
    return json_fail_at(r, r->at, ERR_INVALID, why);
}

enum json_type json_peek(struct json_reader *r)
{
    if (!value_ahead(r)) {
        return JSON_NONE;
    }
    enum json_type type = type_of(r->text[r->at]);
    if (type == JSON_NONE) {
        wrong_type(r, NULL);
    }
    return type;
}

static bool open_level(struct json_reader *r, bool is_object)
{
    if (r->depth == JSON_DEPTH_MAX) {
        return json_fail_at(r, r->at, ERR_LIMIT, "nested too deeply");
    }
    r->at++;
    r->depth++;
    r->levels[r->depth] = (struct json_level){
        .is_object = is_object,
        .first = true,
        .key_base = r->key_n,
    };
    r->want_value = false;
    return true;
}

bool json_object_begin(struct json_reader *r)
{
    if (!value_ahead(r)) {
        return false;
    }
    return r->text[r->at] == '{' ? open_level(r, true) : wrong_type(r, "expected an object");
}

bool json_array_begin(struct json_reader *r)
{
    if (!value_ahead(r)) {
        return false;
    }
    return r->text[r->at] == '[' ? open_level(r, false) : wrong_type(r, "expected an array");
}

/* What both kinds of container do between two elements. Returns true with r->at at the next element,
 * false at the end (`closed`: the bracket is consumed) or on an error. */
static bool next_element(struct json_reader *r, char bracket, const char *no_comma)
{
    struct json_level *level = &r->levels[r->depth];
    json_skip_blanks(r);
    char c = r->at < r->len ? r->text[r->at] : '\0';
    if (c == bracket) {
        if (level->is_object) {
            json_keys_close(r);
        }
        r->at++;
        r->depth--;
        return false;
    }
    if (!level->first) {
        if (c != ',') {
            return json_fail_at(r, r->at, ERR_PARSE, r->at < r->len ? no_comma : "input ends inside a container");
        }
        r->at++;
        json_skip_blanks(r);
        if (r->at < r->len && r->text[r->at] == bracket) {
            return json_fail_at(r, r->at, ERR_PARSE, "trailing comma");
        }
    }
    if (r->at == r->len) {
        return json_fail_at(r, r->at, ERR_PARSE, "input ends inside a container");
    }
    level->first = false;
    return true;
}

static bool next_key(struct json_reader *r, struct json_raw_string *ret)
{
    if (r->why != NULL) {
        return false;
    }
    BUG_ON(r->want_value || !r->levels[r->depth].is_object);
    if (!next_element(r, '}', "expected ',' or '}'")) {
        return false;
    }
    size_t key_at = r->at;
    if (r->text[r->at] != '"') {
        return json_fail_at(r, r->at, ERR_PARSE, "expected a key in quotes");
    }
    struct json_raw_string key;
    if (!json_take_string(r, &key) || !json_keys_add(r, &key, key_at)) {
        return false;
    }
    json_skip_blanks(r);
    if (r->at == r->len || r->text[r->at] != ':') {
        return json_fail_at(r, r->at, ERR_PARSE, "expected ':' after a key");
    }
    r->at++;
    r->value_at = key_at;
    r->want_value = true;
    *ret = key;
    return true;
}

/* The text behind the escapes; `at` is where the string begins, for the error. */
static bool decode(struct json_reader *r, const struct json_raw_string *s, size_t at, struct str *ret)
{
    if (!s->escaped) {
        *ret = s->raw;
        return true;
    }
    if (r->arena == NULL) {
        return json_fail_at(r, at, ERR_INVALID, "escape in a string that must be plain");
    }
    char *text = arena_alloc(r->arena, s->raw.n);
    if (text == NULL) {
        return json_fail_at(r, at, ERR_LIMIT, "too much escaped text");
    }
    *ret = (struct str){text, json_unescape(s->raw, text)};
    return true;
}

bool json_object_next(struct json_reader *r, struct str *ret_key)
{
    struct json_raw_string key;
    return next_key(r, &key) && decode(r, &key, r->value_at, ret_key);
}

bool json_array_next(struct json_reader *r)
{
    if (r->why != NULL) {
        return false;
    }
    BUG_ON(r->want_value || r->depth == 0 || r->levels[r->depth].is_object);
    if (!next_element(r, ']', "expected ',' or ']'")) {
        return false;
    }
    r->want_value = true;
    return true;
}

bool json_string(struct json_reader *r, struct str *ret)
{
    if (!value_ahead(r)) {
        return false;
    }
    if (r->text[r->at] != '"') {
        return wrong_type(r, "expected a string");
    }
    struct json_raw_string s;
    if (!json_take_string(r, &s) || !decode(r, &s, r->value_at, ret)) {
        return false;
    }
    r->want_value = false;
    return true;
}

#ifdef __SSE2__
/* The end of the plain string at `p`, its quote; NULL: it is not plain, or too near to `end` to tell. */
static const char *plain_end(const char *p, const char *end)
{
    for (; end - p >= 16; p += 16) {
        unsigned mask = json_not_plain_16(p);

        if (mask != 0) {
            p += __builtin_ctz(mask);
            return *p == '"' ? p : NULL;
        }
    }
    return NULL;
}

/* Takes strings that are plain and of one length, each with its comma before it: ret[0] is the first one, read already
 * at `text`. Where the next one begins is known without waiting for what was found in this one, so the processor looks
 * at several at once. Returns how many were taken beside the first. */
static size_t take_alike(struct str *ret, size_t max, const char *end)
{
    const size_t length = ret[0].n, pieces = length / 16;
    const unsigned quote = 1U << (length % 16), upto = quote * 2 - 1; /* of the last piece */
    const char *text = ret[0].p;
    size_t n;

    for (n = 1; n < max; n++) {
        const char *p = text + length + 3; /* behind a quote, a comma, a quote */
        size_t i;

        if (end - p < (ptrdiff_t)(length + 16) || p[-2] != ',' || p[-1] != '"') {
            break;
        }
        text = p;
        for (i = 0; i < pieces && json_not_plain_16(p) == 0; i++) {
            p += 16;
        }
        if (i < pieces || (json_not_plain_16(p) & upto) != quote || text[length] != '"') {
            break;
        }
        ret[n] = (struct str){text, length};
    }
    return n - 1;
}
#endif

/* Names of one list are mostly of one length: that is tried first. */
size_t json_take_plain_strings(struct json_reader *r, struct str *ret, size_t max)
{
    size_t n = 0;

    BUG_ON(r->why == NULL && (r->want_value || r->depth == 0 || r->levels[r->depth].is_object));
#ifdef __SSE2__
    const char *p = r->text + r->at;
    const char *const end = r->text + r->len;

    if (r->why != NULL || r->levels[r->depth].first) {
        return 0; /* only after a first element each one begins with a comma */
    }
    while (n < max && end - p >= 18 && p[0] == ',' && p[1] == '"') {
        const char *quote = plain_end(p + 2, end);

        if (quote == NULL) {
            break;
        }
        ret[n] = (struct str){p + 2, (size_t)(quote - p) - 2};
        n += 1 + take_alike(ret + n, max - n, end);
        p = ret[n - 1].p + ret[n - 1].n + 1;
    }
    if (n > 0) {
        r->value_at = (size_t)(ret[n - 1].p - r->text) - 1;
        r->at = (size_t)(p - r->text);
    }
#else
    (void)ret;
    (void)max;
#endif
    return n;
}

/* `text` is an integer as RFC 8259 writes it. */
static bool to_i64(struct str text, int64_t *ret)
{
    bool negative = text.p[0] == '-';
    uint64_t magnitude;
    if (!str_to_u64(str_drop(text, negative), (uint64_t)INT64_MAX + negative, &magnitude)) {
        return false;
    }
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool json_i64(struct json_reader *r, int64_t *ret)
{
    static const char EXPECTED[] = "expected an integer of 64 bits";
    if (!value_ahead(r)) {
        return false;
    }
    if (type_of(r->text[r->at]) != JSON_NUMBER) {
        return wrong_type(r, EXPECTED);
    }
    bool is_integer;
    if (!json_scan_number(r, &is_integer)) {
        return false;
    }
    struct str text = {r->text + r->value_at, r->at - r->value_at};
    if (!is_integer || !to_i64(text, ret)) {
        return json_fail_at(r, r->value_at, ERR_INVALID, EXPECTED);
    }
    r->want_value = false;
    return true;
}

static bool literal(struct json_reader *r, struct str word)
{
    r->want_value = !json_scan_word(r, word);
    return !r->want_value;
}

bool json_bool(struct json_reader *r, bool *ret)
{
    if (!value_ahead(r)) {
        return false;
    }
    char c = r->text[r->at];
    if (c != 't' && c != 'f') {
        return wrong_type(r, "expected true or false");
    }
    if (!literal(r, c == 't' ? STR("true") : STR("false"))) {
        return false;
    }
    *ret = c == 't';
    return true;
}

bool json_null(struct json_reader *r)
{
    if (!value_ahead(r)) {
        return false;
    }
    return r->text[r->at] == 'n' ? literal(r, STR("null")) : wrong_type(r, "expected null");
}

bool json_accept_null(struct json_reader *r)
{
    return json_peek(r) == JSON_NULL && json_null(r);
}

bool json_skip(struct json_reader *r)
{
    if (!value_ahead(r) || !json_pass_value(r)) {
        return false;
    }
    r->want_value = false;
    return true;
}

bool json_raw(struct json_reader *r, struct str *ret)
{
    if (!json_skip(r)) {
        return false;
    }
    *ret = (struct str){r->text + r->value_at, r->at - r->value_at};
    return true;
}

int json_read_end(struct json_reader *r, struct err *reterr)
{
    if (r->why == NULL) {
        BUG_ON(r->depth > 0);
        json_skip_blanks(r);
        if (r->want_value) {
            json_fail_at(r, r->at, ERR_PARSE, "no value");
        } else if (r->at < r->len) {
            json_fail_at(r, r->at, ERR_PARSE, "more text after the value");
        }
    }
    if (r->why == NULL) {
        return 0;
    }
    return err_set(reterr, r->code, "JSON at byte %zu: %s", r->why_at, r->why);
}
