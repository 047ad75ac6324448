/* base/json_pass.c - over a value that nobody reads: structure and grammar, without looking at what it says.
 *
 * The way on is told by one bit per open bracket, so an object that is nested as deeply as any the API server can
 * hold costs 2 KiB.
 */
#include "json_read_internal.h"

static bool in_object(const struct json_reader *r, uint32_t depth)
{
    uint32_t top = depth - 1;
    return (r->passed[top / 64] >> (top % 64) & 1) != 0;
}

static bool push(struct json_reader *r, uint32_t *depth, bool is_object)
{
    if (*depth == JSON_SKIP_DEPTH_MAX) {
        return json_fail_at(r, r->at, ERR_LIMIT, "nested too deeply");
    }
    uint64_t bit = UINT64_C(1) << (*depth % 64);
    uint64_t *word = &r->passed[*depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    (*depth)++;
    r->at++;
    return true;
}

/* The next byte that is no blank; NUL at the end, which no value begins with. */
static char next_byte(struct json_reader *r)
{
    while (r->at < r->len &&
           (r->text[r->at] == ' ' || r->text[r->at] == '\n' || r->text[r->at] == '\r' || r->text[r->at] == '\t')) {
        r->at++;
    }
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
    if (!json_take_string(r, &key)) {
        return false;
    }
    if (next_byte(r) != ':') {
        return fail_here(r, "expected ':' after a key");
    }
    r->at++;
    return true;
}

static bool pass_word(struct json_reader *r, struct str word)
{
    if (!str_starts((struct str){r->text + r->at, r->len - r->at}, word)) {
        return json_fail_at(r, r->at, ERR_PARSE, "not a JSON value");
    }
    r->at += word.n;
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
        return pass_word(r, STR("true"));
    case 'f':
        return pass_word(r, STR("false"));
    case 'n':
        return pass_word(r, STR("null"));
    case '{':
    case '[':
        is_object = c == '{';
        if (!push(r, depth, is_object)) {
            return false;
        }
        if (next_byte(r) == (is_object ? '}' : ']')) {
            r->at++;
            (*depth)--;
            return true;
        }
        *ret_done = false;
        return !is_object || pass_key(r);
    default:
        if (c != '-' && (c < '0' || c > '9')) {
            return fail_here(r, "not a JSON value");
        }
        return json_scan_number(r, &ignored);
    }
}

/* Behind a value: out of the containers that end here and over the comma. *ret_done: there is nothing more. */
static bool pass_tail(struct json_reader *r, uint32_t *depth, bool *ret_done)
{
    while (*depth > 0) {
        bool is_object = in_object(r, *depth);
        char c = next_byte(r);
        if (c == ',') {
            r->at++;
            *ret_done = false;
            return !is_object || pass_key(r);
        }
        if (c != (is_object ? '}' : ']')) {
            return fail_here(r, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
        }
        r->at++;
        (*depth)--;
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
