#include "scan_internal.h"

#include <string.h>

/* Behind the closing quote, or n when it is not in this text. */
static size_t skip_string(struct json_scan *s, const char *p, size_t at, size_t n)
{
    while (at < n) {
        if (s->escaped) {
            s->escaped = false;
            at++;
            continue;
        }
        char c = p[at++];
        if (c == '\\') {
            s->escaped = true;
        } else if (c == '"') {
            s->in_string = false;
            break;
        }
    }
    return at;
}

size_t scan_to_depth(struct json_scan *s, const char *p, size_t at, size_t n, uint32_t floor)
{
    while (at < n) {
        if (s->in_string) {
            at = skip_string(s, p, at, n);
            continue;
        }
        char c = p[at++];
        if (c == '"') {
            s->in_string = true;
        } else if (c == '{' || c == '[') {
            s->depth++;
        } else if ((c == '}' || c == ']') && --s->depth == floor) {
            break;
        }
    }
    return at;
}

size_t scan_value(struct json_scan *s, const char *p, size_t at, size_t n)
{
    if (s->depth > 0) {
        return scan_to_depth(s, p, at, n, 0);
    }
    if (!s->in_string && at < n) {
        if (p[at] != '"') {
            return scan_to_depth(s, p, at, n, 0);
        }
        s->in_string = true;
        at++;
    }
    return skip_string(s, p, at, n);
}

static size_t skip_blanks(struct str t, size_t at)
{
    while (at < t.n && scan_is_blank(t.p[at])) {
        at++;
    }
    return at;
}

/* Behind the value that begins at `at`. */
static size_t value_end(struct str t, size_t at)
{
    struct json_scan s = {0};
    if (at < t.n && t.p[at] == '"') {
        s.in_string = true;
        return skip_string(&s, t.p, at + 1, t.n);
    }
    if (at < t.n && (t.p[at] == '{' || t.p[at] == '[')) {
        return scan_to_depth(&s, t.p, at, t.n, 0);
    }
    while (at < t.n && t.p[at] != ',' && t.p[at] != '}' && t.p[at] != ']') {
        at++;
    }
    return at;
}

struct str scan_member(struct str text, struct str key)
{
    size_t at = skip_blanks(text, 0);
    if (text.p == NULL || at == text.n || text.p[at] != '{') {
        return STR_NULL;
    }
    at = skip_blanks(text, at + 1);
    while (at < text.n && text.p[at] == '"') {
        size_t key_at = at + 1;
        at = value_end(text, at);
        struct str name = {text.p + key_at, at - key_at - (at > key_at)};
        at = skip_blanks(text, at);
        if (at == text.n || text.p[at] != ':') {
            break;
        }
        size_t value_at = skip_blanks(text, at + 1);
        at = value_end(text, value_at);
        if (str_eq(name, key)) {
            return (struct str){text.p + value_at, at - value_at};
        }
        at = skip_blanks(text, at);
        if (at < text.n && text.p[at] == ',') {
            at = skip_blanks(text, at + 1);
        }
    }
    return STR_NULL;
}

struct str scan_member_text(struct str text, struct str key)
{
    struct str v = scan_member(text, key);
    if (v.n < 2 || v.p[0] != '"' || v.p[v.n - 1] != '"' || memchr(v.p, '\\', v.n) != NULL) {
        return STR_NULL;
    }
    return (struct str){v.p + 1, v.n - 2};
}

int scan_err_of_object(struct str object, const struct err *why, struct err *reterr)
{
    struct str metadata = scan_member(object, STR("metadata"));
    struct str namespace_ = scan_member_text(metadata, STR("namespace"));
    struct str name = scan_member_text(metadata, STR("name"));
    return name.n == 0 ? err_set(reterr, ERR_PARSE, "%s", why->msg)
                       : err_set(reterr, ERR_PARSE, "%.*s%s%.*s: %s", STR_ARG(namespace_), namespace_.n > 0 ? "/" : "",
                                 STR_ARG(name), why->msg);
}
