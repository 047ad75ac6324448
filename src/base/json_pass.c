/* base/json_pass.c - over a value that nobody reads: structure and grammar, without looking at what it says.
 *
 * The way on is told by one bit per open bracket, so an object that is nested as deeply as any the API server can
 * hold costs 2 KiB. What is not read as stored has levels as well, to compare the keys of its objects.
 */
#include "json_read_internal.h"

static bool in_object(const struct json_reader *r, uint32_t depth)
{
    uint32_t top = depth - 1;
    return (r->passed[top / 64] >> (top % 64) & 1) != 0;
}

static bool push(struct json_reader *r, uint32_t *depth, bool is_object)
{
    if (r->as_stored ? *depth == JSON_SKIP_DEPTH_MAX : r->depth == JSON_DEPTH_MAX) {
        return json_fail_at(r, r->at, ERR_LIMIT, "nested too deeply");
    }
    if (!r->as_stored) {
        r->levels[++r->depth] = (struct json_level){.is_object = is_object, .key_base = r->key_n};
    }
    uint64_t bit = UINT64_C(1) << (*depth % 64);
    uint64_t *word = &r->passed[*depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    (*depth)++;
    r->at++;
    return true;
}

static void pop(struct json_reader *r, uint32_t *depth)
{
    (*depth)--;
    r->at++;
    if (!r->as_stored) {
        if (r->levels[r->depth].is_object) {
            json_keys_close(r);
        }
        r->depth--;
    }
}

/* The next byte that is no blank; NUL at the end, which no value begins with. */
static char next_byte(struct json_reader *r)
{
    json_skip_blanks(r);
    return r->at < r->len ? r->text[r->at] : '\0';
}

static bool fail_here(struct json_reader *r, const char *why)
{
    return json_fail_at(r, r->at, ERR_PARSE, r->at < r->len ? why : "input ends inside a container");
}

static bool pass_key(struct json_reader *r)
{
    struct json_raw_string key;
    if (next_byte(r) != '"') {
        return fail_here(r, "expected a key in quotes");
    }
    size_t key_at = r->at;
    if (!json_take_string(r, &key) || (!r->as_stored && !json_keys_add(r, &key, key_at))) {
        return false;
    }
    if (next_byte(r) != ':') {
        return json_fail_at(r, r->at, ERR_PARSE, "expected ':' after a key");
    }
    r->at++;
    return true;
}

/* A value, of a container with something in it all that stands before its first value. *ret_done: the value is
 * complete. */
static bool pass_head(struct json_reader *r, uint32_t *depth, bool *ret_done)
{
    struct json_raw_string text;
    bool ignored, is_object;
    char c = next_byte(r);

    *ret_done = true;
    switch (c) {
    case '"':
        return json_take_string(r, &text);
    case 't':
        return json_scan_word(r, STR("true"));
    case 'f':
        return json_scan_word(r, STR("false"));
    case 'n':
        return json_scan_word(r, STR("null"));
    case '{':
    case '[':
        is_object = c == '{';
        if (!push(r, depth, is_object)) {
            return false;
        }
        if (next_byte(r) == (is_object ? '}' : ']')) {
            pop(r, depth);
            return true;
        }
        *ret_done = false;
        return !is_object || pass_key(r);
    default:
        if (c != '-' && (c < '0' || c > '9')) {
            bool is_member = *depth > 0 && in_object(r, *depth) && r->at == r->len;
            return is_member ? json_fail_at(r, r->at, ERR_PARSE, "input ends where a value is expected")
                             : fail_here(r, "not a JSON value");
        }
        return json_scan_number(r, &ignored);
    }
}

/* Behind a value: out of the containers that end here and over the comma. *ret_done: there is nothing more. */
static bool pass_tail(struct json_reader *r, uint32_t *depth, bool *ret_done)
{
    while (*depth > 0) {
        bool is_object = in_object(r, *depth);
        char bracket = is_object ? '}' : ']', c = next_byte(r);
        if (c == ',') {
            r->at++;
            *ret_done = false;
            if (next_byte(r) == bracket) {
                return json_fail_at(r, r->at, ERR_PARSE, "trailing comma");
            }
            return !is_object || pass_key(r);
        }
        if (c != bracket) {
            return fail_here(r, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
        }
        pop(r, depth);
    }
    *ret_done = true;
    return true;
}

bool json_pass_value(struct json_reader *r)
{
    uint32_t depth = 0;
    bool complete, done = false;

    while (!done) {
        if (!pass_head(r, &depth, &complete) || (complete && !pass_tail(r, &depth, &done))) {
            return false;
        }
    }
    return true;
}
