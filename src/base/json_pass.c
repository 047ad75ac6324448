/* base/json_pass.c - over a value that nobody reads: structure and grammar, without looking at what it says.
 *
 * The way on is told by one bit per open bracket, so an object that is nested as deeply as any the API server can
 * hold costs 2 KiB of stack and no table.
 */
#include "json_read_internal.h"

struct brackets {
    uint32_t depth;
    uint64_t is_object[JSON_SKIP_DEPTH_MAX / 64]; /* a bit for each; only those below `depth` mean something */
};

static bool in_object(const struct brackets *b)
{
    uint32_t top = b->depth - 1;
    return (b->is_object[top / 64] >> (top % 64) & 1) != 0;
}

static bool push(struct json_reader *r, struct brackets *b, bool is_object)
{
    if (b->depth == JSON_SKIP_DEPTH_MAX) {
        return json_fail_at(r, r->at, ERR_LIMIT, "nested too deeply");
    }
    uint64_t bit = UINT64_C(1) << (b->depth % 64);
    uint64_t *word = &b->is_object[b->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    b->depth++;
    r->at++;
    return true;
}

/* The next byte that is no blank; NUL at the end, which no value begins with. */
static char next_byte(struct json_reader *r)
{
    while (r->at < r->len && (r->text[r->at] == ' ' || r->text[r->at] == '\n' || r->text[r->at] == '\r' ||
                              r->text[r->at] == '\t')) {
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
static bool pass_head(struct json_reader *r, struct brackets *b, bool *ret_done)
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
        if (!push(r, b, is_object)) {
            return false;
        }
        if (next_byte(r) == (is_object ? '}' : ']')) {
            r->at++;
            b->depth--;
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
static bool pass_tail(struct json_reader *r, struct brackets *b, bool *ret_done)
{
    while (b->depth > 0) {
        bool is_object = in_object(b);
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
        b->depth--;
    }
    *ret_done = true;
    return true;
}

bool json_pass_value(struct json_reader *r)
{
    struct brackets b;
    bool complete, done = false;

    b.depth = 0;
    while (!done) {
        if (!pass_head(r, &b, &complete) || (complete && !pass_tail(r, &b, &done))) {
            return false;
        }
    }
    return true;
}
