#include "config/schema_internal.h"

#include "base/bug.h"
#include "base/suggest.h"

#include <string.h>

static void store(void *base, size_t offset, const void *value, size_t size)
{
    memcpy((char *)base + offset, value, size);
}

static void store_str(struct decode *c, size_t offset, struct str s, void *base)
{
    struct str copy =
        arena_str(c->arena, s); /* an overflow is seen at the end, by the arena's flag */
    store(base, offset, &copy, sizeof(copy));
}

static struct str load_str(const void *base, size_t offset)
{
    struct str s;
    memcpy(&s, (const char *)base + offset, sizeof(s));
    return s;
}

static size_t word_index(const char *const *words, struct str s)
{
    size_t i = 0;

    while (words != NULL && words[i] != NULL && !str_eq_cstr(s, words[i])) {
        i++;
    }
    return i;
}

static void join(struct strbuf *out, const struct str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(out, "%s%.*s", i > 0 ? ", " : "", STR_ARG(words[i]));
    }
}

static void refuse_word(struct decode *c, const struct yaml_doc_node *n, const struct str *words,
                        size_t words_n)
{
    struct str word = diagnostics_word(c->d, n->text);
    const struct str *near = suggest(n->text, words, words_n);
    struct strbuf list;

    strbuf_init(&list, 1024);
    join(&list, words, words_n);
    if (near != NULL) {
        config_decode_error(c, n, "'%.*s' is not one of: %s; did you mean '%.*s'?", STR_ARG(word),
                            list.p, STR_ARG(*near));
    } else {
        config_decode_error(c, n, "'%.*s' is not one of: %s", STR_ARG(word), list.p);
    }
    strbuf_fini(&list);
}

static size_t words_of(const struct schema_field *f, struct str ret[8])
{
    size_t n = 0;

    for (; f->words[n] != NULL; n++) {
        BUG_ON(n == 8);
        ret[n] = str_of(f->words[n]);
    }
    return n;
}

/* Programs that go by YAML 1.1 write the words on and off as true and false. */
static struct str word_of(const struct yaml_doc_node *n)
{
    return str_eq_cstr(n->text, "true") ? STR("on") : str_eq_cstr(n->text, "false") ? STR("off") : n->text;
}

static void decode_word(struct decode *c, const struct schema_field *f,
                        const struct yaml_doc_node *n, void *base)
{
    struct str words[8];
    size_t i = word_index(f->words, word_of(n));

    if (f->words[i] != NULL) {
        unsigned int value = (unsigned int)i;
        store(base, f->offset, &value, sizeof(value));
    } else if (f->later != NULL && f->later[word_index(f->later, n->text)] != NULL) {
        config_decode_error(c, n, "'%.*s' is not supported yet; use '%s'", STR_ARG(n->text),
                            f->words[0]);
    } else {
        refuse_word(c, n, words, words_of(f, words));
    }
}

static void decode_flag(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    static const struct str words[] = {{"false", 5}, {"true", 4}};
    bool value = str_eq(n->text, words[1]);

    if (!n->plain || !(value || str_eq(n->text, words[0]))) {
        refuse_word(c, n, words, ARRAY_LEN(words));
        return;
    }
    store(base, f->offset, &value, sizeof(value));
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

static void decode_strategy(struct decode *c, const struct schema_field *f,
                            const struct yaml_doc_node *n, void *base)
{
    bool is_word = f->words != NULL && str_eq_cstr(n->text, f->words[0]);

    if (is_word || strategy_name_check(c, n)) {
        store_str(c, f->offset, n->text, base);
    }
}

static void decode_name(struct decode *c, const struct schema_field *f,
                        const struct yaml_doc_node *n, const char *why, void *base)
{
    struct str word = diagnostics_word(c->d, n->text);

    if (why != NULL) {
        config_decode_error(c, n, "'%.*s': %s", STR_ARG(word), why);
    } else {
        store_str(c, f->offset, n->text, base);
    }
}

static void decode_label(struct decode *c, const struct schema_field *f,
                         const struct yaml_doc_node *n, void *base)
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

static void decode_address(struct decode *c, const struct schema_field *f,
                           const struct yaml_doc_node *n, void *base)
{
    struct address a;
    struct err err;

    if (address_parse(n->text, &a, &err) < 0) {
        config_decode_error(c, n, "%s", err.msg);
    } else {
        store(base, f->offset, &a, sizeof(a));
    }
}

void scalar_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n,
                   void *base)
{
    if (f->type == SCHEMA_CRITERIA) {
        criteria_decode(c, f, n, base);
        return;
    }
    if (n->type != YAML_DOC_TEXT) {
        config_decode_error(c, n, "expected one value, found %s", yaml_doc_type_name(n));
        return;
    }
    if (yaml_doc_is_null(n)) {
        config_decode_error(c, n, "no value; give one or remove the key");
        return;
    }
    switch (f->type) {
    case SCHEMA_CONST: {
        struct str wanted = str_of(f->words[0]);
        if (!str_eq(n->text, wanted)) {
            refuse_word(c, n, &wanted, 1);
        }
        return;
    }
    case SCHEMA_INT:
    case SCHEMA_DURATION:
    case SCHEMA_BYTES:
    case SCHEMA_MIB:
    case SCHEMA_FACTOR:
    case SCHEMA_PERCENT:
    case SCHEMA_MIB_OR_PERCENT:
        number_decode(c, f, n, base);
        return;
    case SCHEMA_WORD:
        decode_word(c, f, n, base);
        return;
    case SCHEMA_FLAG:
        decode_flag(c, f, n, base);
        return;
    case SCHEMA_TEXT:
        decode_name(c, f, n, n->text.n > (size_t)f->max ? "too long" : NULL, base);
        return;
    case SCHEMA_NAME:
        decode_name(c, f, n, name_error(n->text), base);
        return;
    case SCHEMA_NAMESPACE:
        decode_name(c, f, n, namespace_error(n->text), base);
        return;
    case SCHEMA_LABEL_KEY:
        decode_name(c, f, n, label_key_error(n->text), base);
        return;
    case SCHEMA_LABEL_VALUE:
        decode_name(c, f, n, label_value_error(n->text), base);
        return;
    case SCHEMA_RESOURCE:
        decode_name(c, f, n, resource_name_error(n->text), base);
        return;
    case SCHEMA_OBJECT:
        decode_name(c, f, n, object_name_error(n->text), base);
        return;
    case SCHEMA_INSTANT:
        decode_name(c, f, n, instant_error(n->text), base);
        return;
    case SCHEMA_STRATEGY:
        decode_strategy(c, f, n, base);
        return;
    case SCHEMA_LABEL:
        decode_label(c, f, n, base);
        return;
    case SCHEMA_ADDRESS:
        decode_address(c, f, n, base);
        return;
    case SCHEMA_TIME:
    case SCHEMA_DAYS:
    case SCHEMA_ZONE:
        daytime_decode(c, f, n, base);
        return;
    case SCHEMA_CRITERIA:
    case SCHEMA_SECTION:
    case SCHEMA_LIST:
    case SCHEMA_MAP:
    case SCHEMA_OVERLAY:
        break;
    }
    BUG("a row of several values in scalar_decode");
}

void scalar_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    char text[ADDRESS_TEXT_MAX];
    struct address address;
    unsigned int word;
    bool flag;

    switch (f->type) {
    case SCHEMA_CONST:
        strbuf_add_cstr(out, f->words[0]);
        return;
    case SCHEMA_INT:
    case SCHEMA_DURATION:
    case SCHEMA_BYTES:
    case SCHEMA_MIB:
    case SCHEMA_FACTOR:
    case SCHEMA_PERCENT:
    case SCHEMA_MIB_OR_PERCENT:
        number_format(f, base, out);
        return;
    case SCHEMA_WORD:
        memcpy(&word, (const char *)base + f->offset, sizeof(word));
        strbuf_add_cstr(out, f->words[word] != NULL ? f->words[word] : ""); /* behind the last: not given */
        return;
    case SCHEMA_FLAG:
        memcpy(&flag, (const char *)base + f->offset, sizeof(flag));
        strbuf_add_cstr(out, flag ? "true" : "false");
        return;
    case SCHEMA_TEXT:
    case SCHEMA_NAME:
    case SCHEMA_NAMESPACE:
    case SCHEMA_LABEL_KEY:
    case SCHEMA_LABEL_VALUE:
    case SCHEMA_RESOURCE:
    case SCHEMA_OBJECT:
    case SCHEMA_INSTANT:
    case SCHEMA_STRATEGY:
        strbuf_add_str(out, load_str(base, f->offset));
        return;
    case SCHEMA_TIME:
    case SCHEMA_DAYS:
    case SCHEMA_ZONE:
        daytime_format(f, base, out);
        return;
    case SCHEMA_CRITERIA:
        criteria_format(f, base, out);
        return;
    case SCHEMA_LABEL:
        strbuf_add_str(out, load_str(base, f->offset));
        strbuf_add_char(out, '=');
        strbuf_add_str(out, load_str(base, f->offset2));
        return;
    case SCHEMA_ADDRESS:
        memcpy(&address, (const char *)base + f->offset, sizeof(address));
        strbuf_add_cstr(out, address_text(&address, text));
        return;
    case SCHEMA_SECTION:
    case SCHEMA_LIST:
    case SCHEMA_MAP:
    case SCHEMA_OVERLAY:
        break;
    }
    BUG("a row of several values in scalar_format");
}

void scalar_accepts(const struct schema_field *f, struct strbuf *out)
{
    switch (f->type) {
    case SCHEMA_CONST:
    case SCHEMA_WORD:
        for (size_t i = 0; f->words[i] != NULL; i++) {
            strbuf_addf(out, "%s%s", i > 0 ? ", " : "", f->words[i]);
        }
        return;
    case SCHEMA_FLAG:
        strbuf_add_cstr(out, "true, false");
        return;
    case SCHEMA_INT:
    case SCHEMA_DURATION:
    case SCHEMA_BYTES:
    case SCHEMA_MIB:
    case SCHEMA_FACTOR:
    case SCHEMA_PERCENT:
    case SCHEMA_MIB_OR_PERCENT:
        number_range(f, out);
        return;
    case SCHEMA_TEXT:
        strbuf_add_cstr(out, "text");
        return;
    case SCHEMA_NAME:
        strbuf_add_cstr(out, "a name");
        return;
    case SCHEMA_NAMESPACE:
        strbuf_add_cstr(out, "a namespace or a pattern");
        return;
    case SCHEMA_LABEL_KEY:
        strbuf_add_cstr(out, "a label key");
        return;
    case SCHEMA_LABEL_VALUE:
        strbuf_add_cstr(out, "a label value");
        return;
    case SCHEMA_RESOURCE:
        strbuf_add_cstr(out, "DOMAIN/NAME");
        return;
    case SCHEMA_OBJECT:
        strbuf_add_cstr(out, "NAMESPACE/NAME or empty");
        return;
    case SCHEMA_INSTANT:
        strbuf_add_cstr(out, "a time in UTC or empty");
        return;
    case SCHEMA_STRATEGY:
        strbuf_add_cstr(out, f->words != NULL ? "a strategy or none" : "a strategy");
        return;
    case SCHEMA_CRITERIA:
        strbuf_add_cstr(out, "a strategy, [a, b], or {a: WEIGHT, b: WEIGHT}");
        return;
    case SCHEMA_LABEL:
        strbuf_add_cstr(out, "KEY=VALUE");
        return;
    case SCHEMA_ADDRESS:
        strbuf_add_cstr(out, "HOST:PORT");
        return;
    case SCHEMA_SECTION:
        strbuf_add_cstr(out, "keys");
        return;
    case SCHEMA_LIST:
        strbuf_add_cstr(out, "a list");
        return;
    case SCHEMA_MAP:
        strbuf_add_cstr(out, "named entries");
        return;
    case SCHEMA_OVERLAY:
        strbuf_add_cstr(out, "as at the top level");
        return;
    case SCHEMA_TIME:
    case SCHEMA_DAYS:
    case SCHEMA_ZONE:
        strbuf_add_cstr(out, daytime_accepts(f));
        return;
    }
    BUG("a type that is not in the enum");
}
