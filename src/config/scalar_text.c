/* Values that are words, text or addresses. */
#include "config/scalar_internal.h"

#include "base/bug.h"
#include "base/suggest.h"

#include <string.h>

#define WORDS_MAX 8

static void store_str(struct decode *c, size_t offset, struct str s, void *base)
{
    struct str copy = arena_str(c->arena, s); /* an overflow is seen at the end, by the arena's flag */

    memcpy((char *)base + offset, &copy, sizeof(copy));
}

static void add_str_at(struct strbuf *out, const void *base, size_t offset)
{
    struct str s;

    memcpy(&s, (const char *)base + offset, sizeof(s));
    strbuf_add_str(out, s);
}

static size_t word_index(const char *const *words, struct str s)
{
    size_t i = 0;

    while (words != NULL && words[i] != NULL && !str_eq_cstr(s, words[i])) {
        i++;
    }
    return i;
}

static void refuse_word(struct decode *c, const struct yaml_doc_node *n, const struct str *words, size_t words_n)
{
    struct str word = diagnostics_word(c->d, n->text);
    const struct str *near = suggest(n->text, words, words_n);
    struct strbuf list;

    strbuf_init(&list, 1024);
    for (size_t i = 0; i < words_n; i++) {
        strbuf_addf(&list, "%s%.*s", i > 0 ? ", " : "", STR_ARG(words[i]));
    }
    if (near != NULL) {
        config_decode_error(c, n, "'%.*s' is not one of: %s; did you mean '%.*s'?", STR_ARG(word), list.p,
                            STR_ARG(*near));
    } else {
        config_decode_error(c, n, "'%.*s' is not one of: %s", STR_ARG(word), list.p);
    }
    strbuf_fini(&list);
}

/* ---- one of several words ---- */

void const_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str wanted = str_of(f->words[0]);

    (void)base;
    if (!str_eq(n->text, wanted)) {
        refuse_word(c, n, &wanted, 1);
    }
}

void const_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    (void)base;
    strbuf_add_cstr(out, f->words[0]);
}

/* Programs that go by YAML 1.1 write the words on and off as true and false. */
static struct str word_of(const struct yaml_doc_node *n)
{
    return str_eq_cstr(n->text, "true") ? STR("on") : str_eq_cstr(n->text, "false") ? STR("off") : n->text;
}

void word_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    unsigned int value = (unsigned int)word_index(f->words, word_of(n));
    struct str words[WORDS_MAX];
    size_t words_n = 0;

    if (f->words[value] != NULL) {
        scalar_store(f, base, &value);
    } else {
        for (; f->words[words_n] != NULL; words_n++) {
            BUG_ON(words_n == WORDS_MAX);
            words[words_n] = str_of(f->words[words_n]);
        }
        refuse_word(c, n, words, words_n);
    }
}

void word_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    unsigned int word;

    scalar_load(f, base, &word);
    strbuf_add_cstr(out, f->words[word] != NULL ? f->words[word] : ""); /* behind the last: not given */
}

void words_accepts(const struct schema_field *f, struct strbuf *out)
{
    for (size_t i = 0; f->words[i] != NULL; i++) {
        strbuf_addf(out, "%s%s", i > 0 ? ", " : "", f->words[i]);
    }
}

void flag_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    static const struct str words[] = {{"false", 5}, {"true", 4}};
    bool value = str_eq(n->text, words[1]);

    if (!n->plain || !(value || str_eq(n->text, words[0]))) {
        refuse_word(c, n, words, ARRAY_LEN(words));
        return;
    }
    scalar_store(f, base, &value);
}

void flag_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    bool flag;

    scalar_load(f, base, &flag);
    strbuf_add_cstr(out, flag ? "true" : "false");
}

void flag_describe(const struct schema_field *f, const void *base, struct json_writer *w)
{
    bool flag;

    scalar_load(f, base, &flag);
    json_write_bool(w, flag);
}

bool strategy_name_check(struct decode *c, const struct yaml_doc_node *n)
{
    for (size_t i = 0; i < c->names->strategy_n; i++) {
        if (str_eq(n->text, c->names->strategies[i])) {
            return true;
        }
    }
    refuse_word(c, n, c->names->strategies, c->names->strategy_n);
    return false;
}

void strategy_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    bool is_word = f->words != NULL && str_eq_cstr(n->text, f->words[0]);

    if (is_word || strategy_name_check(c, n)) {
        store_str(c, f->offset, n->text, base);
    }
}

void strategy_accepts(const struct schema_field *f, struct strbuf *out)
{
    strbuf_add_cstr(out, f->words != NULL ? "a strategy or none" : "a strategy");
}

/* ---- text ---- */

void text_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    const char *why = n->text.n > (size_t)f->max ? "too long" : NULL;

    why = f->scalar->error != NULL ? f->scalar->error(n->text) : why;
    if (why != NULL) {
        config_decode_error(c, n, "'%.*s': %s", STR_ARG(word), why);
    } else {
        store_str(c, f->offset, n->text, base);
    }
}

void text_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    add_str_at(out, base, f->offset);
}

void label_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);
    const char *equals = n->text.n > 0 ? memchr(n->text.p, '=', n->text.n) : NULL;

    if (equals == NULL) {
        config_decode_error(c, n, "'%.*s' is not of the form key=value", STR_ARG(word));
        return;
    }
    struct str key = {n->text.p, (size_t)(equals - n->text.p)};
    struct str value = str_drop(n->text, key.n + 1);
    const char *why = label_key_error(key);
    why = why != NULL ? why : label_value_error(value);
    if (why != NULL) {
        config_decode_error(c, n, "'%.*s': %s", STR_ARG(word), why);
        return;
    }
    store_str(c, f->offset, key, base);
    store_str(c, f->offset2, value, base);
}

void label_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    add_str_at(out, base, f->offset);
    strbuf_add_char(out, '=');
    add_str_at(out, base, f->offset2);
}

void address_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct address a;
    struct err err;

    if (address_parse(n->text, &a, &err) < 0) {
        config_decode_error(c, n, "%s", err.msg);
    } else {
        scalar_store(f, base, &a);
    }
}

void address_or_none_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct address a = {.port = 0};
    struct err err;

    if (!str_eq(n->text, STR("none")) && address_parse(n->text, &a, &err) < 0) {
        config_decode_error(c, n, "%s; or none", err.msg);
    } else {
        scalar_store(f, base, &a);
    }
}

void address_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    char text[ADDRESS_TEXT_MAX];
    struct address a;

    scalar_load(f, base, &a);
    strbuf_add_cstr(out, address_is_none(&a) ? "none" : address_text(&a, text));
}
