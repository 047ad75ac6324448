#include "config/yaml_doc.h"

#include "base/bug.h"
#include "base/err.h"
#include "config/text_internal.h"

#include <string.h>
#include <yaml.h>

struct frame {
    struct yaml_doc_node *node;
    struct yaml_doc_node *last;      /* child */
    const struct yaml_doc_node *key; /* read, its value is still to come */
    bool is_map;
    bool drop; /* the value to come belongs to a refused key */
};

struct builder {
    yaml_parser_t parser;
    struct arena *arena;
    struct diagnostics *d;
    struct yaml_doc_node *root;
    size_t depth;
    struct frame frames[YAML_DEPTH_MAX];
};

/* libyaml's words and what they mostly mean. */
static const struct {
    const char *problem;
    const char *remedy;
} remedies[] = {
    {"did not find expected key", "check the indentation of this line"},
    {"did not find expected '-' indicator", "check the indentation of this line"},
    {"could not find expected ':'", "a key needs ': ' after it"},
    {"mapping values are not allowed in this context",
     "check the indentation, and put text that contains ': ' in quotes"},
    {"did not find expected ',' or ']'", "a '[' is not closed"},
    {"did not find expected ',' or '}'", "a '{' is not closed"},
    {"found unexpected end of stream", "a quote is not closed"},
    {"found unknown escape character", "use single quotes, or '\\\\' for one backslash"},
    {"control characters are not allowed", "save the file as plain text"},
};

static struct text_pos pos_of(yaml_mark_t mark)
{
    return (struct text_pos){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

static int refuse_syntax(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem != NULL ? p->problem : "unreadable";
    const char *remedy = NULL;
    struct text_pos pos = pos_of(p->problem_mark);
    struct str line;

    if (p->error == YAML_MEMORY_ERROR) {
        diagnostics_add(b->d, (struct text_pos){0, 0}, "not enough memory to read the file");
        return -ERR_LIMIT;
    }
    if (p->error == YAML_READER_ERROR) {
        pos = text_pos_at(b->d->text, p->problem_offset);
        remedy = "save the file as UTF-8";
    } else if (!text_line(b->d->text, pos.line, &line)) {
        pos = text_pos_at(b->d->text, b->d->text.n); /* libyaml counts a line behind the last one */
    }
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
        if (strcmp(problem, remedies[i].problem) == 0) {
            remedy = remedies[i].remedy;
        }
    }
    if (strcmp(problem, "found character that cannot start any token") == 0) {
        bool tab = text_line(b->d->text, pos.line, &line) && line.n >= pos.column && line.p[pos.column - 1] == '\t';
        remedy = tab ? "indent with spaces, not with a tab" : "put text that starts with this in quotes";
    }
    diagnostics_add(b->d, pos, "not valid YAML: %s%s%s", problem, remedy != NULL ? "; " : "",
                    remedy != NULL ? remedy : "");
    return -ERR_PARSE;
}

static int refuse_size(struct builder *b)
{
    diagnostics_add(b->d, (struct text_pos){0, 0}, "too large to read");
    return -ERR_LIMIT;
}

/* Directives are only meaningful before a document, so only there can a line start with '%'. */
static bool has_directive(struct diagnostics *d)
{
    bool before_document = true;
    struct str rest = d->text;
    uint32_t number = 1;

    while (rest.n > 0) {
        size_t n = 0;
        while (n < rest.n && text_break_len(str_drop(rest, n)) == 0) {
            n++;
        }
        struct str line = str_trim((struct str){rest.p, n});
        if (before_document && rest.p[0] == '%') {
            diagnostics_add(d, (struct text_pos){number, 1}, "directives are not accepted; remove this line");
            return true;
        }
        if (str_starts((struct str){rest.p, n}, STR("..."))) {
            before_document = true;
        } else if (line.n > 0 && line.p[0] != '#') {
            before_document = false;
        }
        rest = str_drop(rest, n);
        rest = str_drop(rest, text_break_len(rest));
        number++;
    }
    return false;
}

/* Reports a text that libyaml would decode although it is not UTF-8. */
static bool is_other_encoding(struct diagnostics *d)
{
    struct str t = d->text;
    const char *nul = t.n > 0 ? memchr(t.p, 0, t.n) : NULL;

    if (str_starts(t, STR("\xff\xfe")) || str_starts(t, STR("\xfe\xff"))) {
        diagnostics_add(d, (struct text_pos){1, 1}, "the file is UTF-16; save it as UTF-8");
        return true;
    }
    if (nul != NULL) {
        diagnostics_add(d, text_pos_at(t, (size_t)(nul - t.p)),
                        "a NUL byte: the file is UTF-16 or not text at all; save it as UTF-8");
        return true;
    }
    return false;
}

/* A key arrived. Always leaves a key pending; `drop` says that its value shall vanish. */
static void take_key(struct builder *b, struct frame *f, const struct yaml_doc_node *key)
{
    const struct yaml_doc_node *same;

    f->key = key;
    f->drop = true;
    if (key->type == YAML_DOC_REFUSED) {
        return;
    }
    if (key->type != YAML_DOC_TEXT) {
        diagnostics_add(b->d, key->pos, "a key must be text, not %s", yaml_doc_type_name(key));
        return;
    }
    if (key->plain && str_eq(key->text, STR("<<"))) {
        diagnostics_add(b->d, key->pos, "merge keys are not accepted; write the keys out");
        return;
    }
    same = yaml_doc_find(f->node, key->text);
    if (same != NULL) {
        struct str word = diagnostics_word(b->d, key->text);
        diagnostics_add(b->d, key->pos, "duplicate key '%.*s', first on line %u", STR_ARG(word), same->key->pos.line);
        return;
    }
    f->drop = false;
}

/* Hangs a node that begins (list, map) or is complete (text) under the innermost open list or map.
 */
static int attach(struct builder *b, struct yaml_doc_node *n)
{
    if (b->depth == 0) {
        b->root = n;
        return 0;
    }
    struct frame *f = &b->frames[b->depth - 1];
    if (f->is_map && f->key == NULL) {
        if (f->node->child_n == YAML_KEYS_MAX) {
            diagnostics_add(b->d, n->pos, "more than %d keys here", YAML_KEYS_MAX);
            return -ERR_LIMIT;
        }
        take_key(b, f, n);
        return 0;
    }
    n->key = f->key;
    f->key = NULL;
    if (f->drop) {
        f->drop = false;
        return 0;
    }
    if (f->last == NULL) {
        f->node->first = n;
    } else {
        f->last->next = n;
    }
    f->last = n;
    f->node->child_n++;
    return 0;
}

static int begin_node(struct builder *b, struct yaml_doc_node *n, bool is_map)
{
    if (b->depth == YAML_DEPTH_MAX) {
        diagnostics_add(b->d, n->pos, "nested deeper than %d levels", YAML_DEPTH_MAX);
        return -ERR_LIMIT;
    }
    int rc = attach(b, n);
    b->frames[b->depth++] = (struct frame){.node = n, .is_map = is_map};
    return rc;
}

static void judge_properties(struct builder *b, struct yaml_doc_node *n, const yaml_char_t *anchor,
                             const yaml_char_t *tag)
{
    if (tag != NULL) {
        diagnostics_add(b->d, n->pos, "tags are not accepted; remove the '!...' before the value");
        n->type = YAML_DOC_REFUSED;
    }
    if (anchor != NULL && b->d->secret) { /* it may be the beginning of a password */
        diagnostics_add(b->d, n->pos, "anchors are not accepted; put text that starts with '&' in quotes");
    } else if (anchor != NULL) {
        diagnostics_add(b->d, n->pos, "anchors are not accepted; remove the '&%.20s'", (const char *)anchor);
    }
}

static void refuse_alias(struct builder *b, struct yaml_doc_node *n, const char *name)
{
    n->type = YAML_DOC_REFUSED;
    if (b->d->secret) {
        diagnostics_add(b->d, n->pos, "aliases are not accepted; put text that starts with '*' in quotes");
    } else {
        diagnostics_add(b->d, n->pos, "aliases are not accepted; write the value out instead of '*%.20s'", name);
    }
}

static int take_scalar(struct builder *b, struct yaml_doc_node *n, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;

    n->type = YAML_DOC_TEXT;
    n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    n->text = arena_str(b->arena, (struct str){value, e->data.scalar.length});
    if (b->arena->overflowed) {
        return refuse_size(b);
    }
    if (n->text.n > 0 && memchr(n->text.p, 0, n->text.n) != NULL) {
        diagnostics_add(b->d, n->pos, "text must not contain a NUL");
        n->type = YAML_DOC_REFUSED;
    }
    judge_properties(b, n, e->data.scalar.anchor, e->data.scalar.tag);
    return attach(b, n);
}

/* One event into the tree; *ret_done at the end of the input or where the rest is of no interest.
 */
static int take_event(struct builder *b, const yaml_event_t *e, bool *ret_done)
{
    struct yaml_doc_node *n = ARENA_NEW(b->arena, struct yaml_doc_node);

    if (n == NULL) {
        return refuse_size(b);
    }
    n->pos = pos_of(e->start_mark);
    switch (e->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (b->root != NULL) {
            diagnostics_add(b->d, n->pos, "a second document starts here; the file must hold only one");
            *ret_done = true;
        }
        return 0;
    case YAML_STREAM_END_EVENT:
        *ret_done = true;
        return 0;
    case YAML_ALIAS_EVENT:
        refuse_alias(b, n, (const char *)e->data.alias.anchor);
        return attach(b, n);
    case YAML_SCALAR_EVENT:
        return take_scalar(b, n, e);
    case YAML_SEQUENCE_START_EVENT:
        n->type = YAML_DOC_LIST;
        judge_properties(b, n, e->data.sequence_start.anchor, e->data.sequence_start.tag);
        return begin_node(b, n, false);
    case YAML_MAPPING_START_EVENT:
        n->type = YAML_DOC_MAP;
        judge_properties(b, n, e->data.mapping_start.anchor, e->data.mapping_start.tag);
        return begin_node(b, n, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        BUG_ON(b->depth == 0);
        b->depth--;
        return 0;
    }
    BUG("an event that libyaml does not have");
}

static int build(struct builder *b)
{
    bool done = false;

    while (!done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event)) {
            return refuse_syntax(b);
        }
        int rc = take_event(b, &event, &done);
        yaml_event_delete(&event);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

int yaml_doc_read(struct str text, struct arena *arena, struct diagnostics *d, const struct yaml_doc_node **ret_root)
{
    struct builder b = {.arena = arena, .d = d};

    if (str_starts(text, STR("\xef\xbb\xbf"))) {
        text = str_drop(text, 3); /* columns then count from the first visible character */
    }
    d->text = text;
    if (is_other_encoding(d) || has_directive(d)) {
        return -ERR_PARSE;
    }
    if (!yaml_parser_initialize(&b.parser)) {
        return refuse_size(&b);
    }
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)(text.n > 0 ? text.p : ""), text.n);
    int rc = build(&b);
    yaml_parser_delete(&b.parser);
    if (rc == 0) {
        *ret_root = b.root;
    }
    return rc;
}

bool yaml_doc_is_null(const struct yaml_doc_node *n)
{
    return n->type == YAML_DOC_TEXT && n->plain &&
           (n->text.n == 0 || str_eq_cstr(n->text, "~") || str_eq_cstr(n->text, "null"));
}

const struct yaml_doc_node *yaml_doc_find(const struct yaml_doc_node *map, struct str key)
{
    if (map == NULL || map->type == YAML_DOC_LIST || map->type == YAML_DOC_TEXT) {
        return NULL;
    }
    for (const struct yaml_doc_node *n = map->first; n != NULL; n = n->next) {
        if (n->key != NULL && str_eq(n->key->text, key)) {
            return n;
        }
    }
    return NULL;
}

const char *yaml_doc_type_name(const struct yaml_doc_node *n)
{
    switch (n->type) {
    case YAML_DOC_TEXT:
        return yaml_doc_is_null(n) ? "nothing" : "text";
    case YAML_DOC_LIST:
        return "a list";
    case YAML_DOC_MAP:
        return "a mapping";
    case YAML_DOC_REFUSED:
        return "something refused";
    }
    BUG("a type that is not in the enum");
}
