#include "kube/excerpt.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* object, spec, containers, container, resources; and the event around them */
enum { LEVELS_MAX = 12, KEY_MAX = 63, STRUCTURE_MAX = 1024 * 1024 };

enum place {
    AT_VALUE,
    IN_VALUE, /* one that is copied or passed over */
    BEHIND_VALUE,
    AT_KEY,
    IN_KEY,
    AT_COLON,
    AT_END,
    NOWHERE, /* broken */
};

enum how { PASS, COPY, ENTER };

struct level {
    const struct kube_field *keys;
    bool is_list;
    bool any; /* something was written in it */
};

struct excerpt {
    const struct kube_field *root;
    struct kube_field event[3]; /* the root of an event */
    enum place place;
    struct level levels[LEVELS_MAX];
    uint32_t level_n;

    enum how how;                   /* of the value that comes, or is being read */
    const struct kube_field *inner; /* ENTER: its keys */
    struct json_scan scan;          /* of the value that is being read */
    bool is_word;                   /* it is a number or literal, which ends before the next delimiter */

    char key[KEY_MAX + 1];
    size_t key_n;
    bool key_is_odd; /* too long or with escapes: none of those in the tables */
    bool escaped;

    struct strbuf text;
    size_t value_at; /* in `text`: where the value that is being copied begins */
    uint64_t bytes;
    bool lost;
};

struct excerpt *excerpt_new(enum excerpt_kind kind, const struct kube_field *fields)
{
    struct excerpt *e = xcalloc(1, sizeof(*e));
    e->event[0].key = STR("type");
    e->event[1] = (struct kube_field){STR("object"), .inner = fields};
    e->root = kind == EXCERPT_EVENT ? e->event : fields;
    strbuf_init(&e->text, (size_t)EXCERPT_TEXT_MAX + STRUCTURE_MAX);
    excerpt_reset(e);
    return e;
}

void excerpt_free(struct excerpt *e)
{
    if (e != NULL) {
        strbuf_fini(&e->text);
        free(e);
    }
}

void excerpt_reset(struct excerpt *e)
{
    e->place = AT_VALUE;
    e->how = ENTER;
    e->inner = e->root;
    e->level_n = 0;
    e->bytes = 0;
    e->lost = false;
    strbuf_reset(&e->text);
}

static enum excerpt_state state_of(const struct excerpt *e)
{
    return e->place == AT_END ? EXCERPT_DONE : e->place == NOWHERE ? EXCERPT_BROKEN : EXCERPT_MORE;
}

struct str excerpt_text(const struct excerpt *e)
{
    BUG_ON(e->place != AT_END);
    return strbuf_view(&e->text);
}

struct excerpt_note excerpt_note(const struct excerpt *e)
{
    return (struct excerpt_note){.bytes = e->bytes, .whole = !e->lost};
}

static void write_comma(struct excerpt *e)
{
    struct level *l = &e->levels[e->level_n - 1];
    if (l->any) {
        strbuf_add_char(&e->text, ',');
    }
    l->any = true;
}

/* What becomes of the value of the key just read. */
static void choose(struct excerpt *e)
{
    const struct kube_field *k = e->levels[e->level_n - 1].keys;
    struct str key = {e->key, e->key_n};
    while (k->key.p != NULL && (e->key_is_odd || !str_eq(k->key, key))) {
        k++;
    }
    e->how = k->key.p == NULL ? PASS : k->inner != NULL ? ENTER : COPY;
    e->inner = k->inner;
    if (e->how != PASS) {
        write_comma(e);
        strbuf_addf(&e->text, "\"%.*s\":", STR_ARG(key));
    }
}

static void open_level(struct excerpt *e, char bracket)
{
    if (e->level_n == LEVELS_MAX) {
        e->place = NOWHERE;
        return;
    }
    e->levels[e->level_n++] = (struct level){.keys = e->inner, .is_list = bracket == '['};
    strbuf_add_char(&e->text, bracket);
    e->place = bracket == '[' ? AT_VALUE : AT_KEY;
}

static void close_level(struct excerpt *e, char bracket)
{
    if (e->level_n == 0 || (bracket == ']') != e->levels[e->level_n - 1].is_list) {
        e->place = NOWHERE;
        return;
    }
    e->level_n--;
    strbuf_add_char(&e->text, bracket);
    e->place = e->level_n == 0 ? AT_END : BEHIND_VALUE;
}

/* The first byte of a value; false: it is to be looked at again, as part of the value. */
static bool begin_value(struct excerpt *e, char c)
{
    bool in_list = e->level_n > 0 && e->levels[e->level_n - 1].is_list;
    if (c == ']' && in_list) {
        close_level(e, c);
        return true;
    }
    if (in_list) {
        e->how = ENTER;
        e->inner = e->levels[e->level_n - 1].keys;
        write_comma(e);
    }
    if (e->how == ENTER && (c == '{' || c == '[')) {
        open_level(e, c);
        return true;
    }
    if (e->level_n == 0) {
        e->place = NOWHERE; /* no object */
        return true;
    }
    e->how = e->how == PASS ? PASS : COPY;
    e->scan = (struct json_scan){0};
    e->is_word = c != '"' && c != '{' && c != '[';
    e->value_at = e->text.n;
    e->place = IN_VALUE;
    return false;
}

static bool ends_word(char c)
{
    return c == ',' || c == '}' || c == ']' || scan_is_blank(c);
}

static size_t word_end(struct str bytes, size_t at)
{
    while (at < bytes.n && !ends_word(bytes.p[at])) {
        at++;
    }
    return at;
}

static void copy(struct excerpt *e, struct str part)
{
    if (part.n <= EXCERPT_TEXT_MAX && e->text.n <= EXCERPT_TEXT_MAX - part.n) {
        strbuf_add_str(&e->text, part);
        return;
    }
    e->text.n = e->value_at;
    strbuf_add_cstr(&e->text, "null");
    e->lost = true;
    e->how = PASS;
}

/* Goes on inside a value; returns where it stopped. */
static size_t go_on_in_value(struct excerpt *e, struct str bytes, size_t from)
{
    size_t at = e->is_word ? word_end(bytes, from) : scan_value(&e->scan, bytes.p, from, bytes.n);
    bool ends = e->is_word ? at < bytes.n : at > from && e->scan.depth == 0 && !e->scan.in_string;
    if (e->how == COPY) {
        copy(e, (struct str){bytes.p + from, at - from});
    }
    if (ends) {
        e->place = BEHIND_VALUE;
    }
    return at;
}

static void key_byte(struct excerpt *e, char c)
{
    if (c == '"' && !e->escaped) {
        e->place = AT_COLON;
        return;
    }
    e->key_is_odd = e->key_is_odd || c == '\\' || e->key_n == KEY_MAX;
    e->escaped = c == '\\' && !e->escaped;
    if (!e->key_is_odd) {
        e->key[e->key_n++] = c;
    }
}

/* Between values. */
static void structural_byte(struct excerpt *e, char c)
{
    if (scan_is_blank(c)) {
        return;
    }
    if (e->place == AT_COLON && c == ':') {
        choose(e);
        e->place = AT_VALUE;
    } else if (e->place == AT_KEY && c == '"') {
        e->key_n = 0;
        e->key_is_odd = e->escaped = false;
        e->place = IN_KEY;
    } else if (e->place != AT_COLON && (c == '}' || c == ']')) {
        close_level(e, c);
    } else if (e->place == BEHIND_VALUE && c == ',') {
        e->place = e->levels[e->level_n - 1].is_list ? AT_VALUE : AT_KEY;
    } else {
        e->place = NOWHERE;
    }
}

enum excerpt_state excerpt_feed(struct excerpt *e, struct str bytes)
{
    size_t at = 0;
    while (at < bytes.n && e->place != AT_END && e->place != NOWHERE) {
        if (e->place == IN_VALUE) {
            at = go_on_in_value(e, bytes, at);
        } else if (e->place == IN_KEY) {
            key_byte(e, bytes.p[at++]);
        } else if (e->place == AT_VALUE && !scan_is_blank(bytes.p[at])) {
            at += begin_value(e, bytes.p[at]);
        } else if (e->place == AT_VALUE) {
            at++;
        } else {
            structural_byte(e, bytes.p[at++]);
        }
    }
    e->bytes += at;
    if (e->bytes > EXCERPT_OBJECT_MAX || e->text.overflowed) {
        e->place = NOWHERE;
    }
    return state_of(e);
}
