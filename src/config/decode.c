#include "config/schema_internal.h"

#include "base/bug.h"
#include "base/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to the path and returns the old length for path_pop. A path that does not fit is cut. */
static size_t path_push(struct decode *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static size_t path_push(struct decode *c, const char *fmt, ...)
{
    size_t old = c->path_n, buffer = sizeof(c->path) - old;
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(c->path + old, buffer, fmt, ap);
    va_end(ap);
    BUG_ON(n < 0);
    c->path_n += (size_t)n < buffer ? (size_t)n : buffer - 1;
    return old;
}

static void path_pop(struct decode *c, size_t old)
{
    c->path_n = old;
    c->path[old] = '\0';
}

/* What is wrong so far, and what was refused before anybody here could read it (aliases, tagged values). */
static size_t found_n(const struct decode *c)
{
    return c->d->n + c->d->dropped + c->refused_n;
}

static const struct schema_field *find_field(const struct schema_field *section, struct str name)
{
    for (size_t i = 0; i < section->sub_n; i++) {
        if (str_eq_cstr(name, section->sub[i].name)) {
            return &section->sub[i];
        }
    }
    return NULL;
}

const struct schema_field *schema_find_root(struct str name)
{
    return find_field(&schema_root, name);
}

/* The section that does have this key, or NULL. */
static const struct schema_field *find_owner(const struct schema_field *section, struct str name)
{
    for (size_t i = 0; i < section->sub_n; i++) {
        const struct schema_field *f = &section->sub[i];
        if (f->type != SCHEMA_SECTION) {
            continue;
        }
        const struct schema_field *owner = find_field(f, name) != NULL ? f : find_owner(f, name);
        if (owner != NULL) {
            return owner;
        }
    }
    return NULL;
}

static void refuse_key(struct decode *c, const struct schema_field *section, const struct yaml_doc_node *key)
{
    struct str names[32];
    struct strbuf hint;

    BUG_ON(section->sub_n > ARRAY_LEN(names));
    for (size_t i = 0; i < section->sub_n; i++) {
        names[i] = str_of(section->sub[i].name);
    }
    const struct str *near = suggest(key->text, names, section->sub_n);
    const struct schema_field *owner = find_owner(&schema_root, key->text);

    strbuf_init(&hint, 1024);
    if (near != NULL) {
        strbuf_addf(&hint, "did you mean '%.*s'?", STR_ARG(*near));
    } else if (owner != NULL) {
        strbuf_addf(&hint, "it belongs in the section '%s'", owner->name);
    } else if (find_field(&schema_root, key->text) != NULL) {
        strbuf_addf(&hint, "it belongs at the top level");
    } else {
        strbuf_add_cstr(&hint, "known here:");
        for (size_t i = 0; i < section->sub_n; i++) {
            strbuf_addf(&hint, "%s %s", i > 0 ? "," : "", section->sub[i].name);
        }
    }
    struct str word = diagnostics_word(c->d, key->text);
    diagnostics_add(c->d, key->pos, "unknown key '%.*s'%s%s; %s", STR_ARG(word), c->path_n > 0 ? " in " : "", c->path,
                    hint.p);
    strbuf_fini(&hint);
}

/* Remembers where the value of a row stands. */
static void note_origin(struct decode *c, const struct schema_field *row, const struct yaml_doc_node *n)
{
    if (row->type == SCHEMA_SECTION || c->item_depth > 0 || yaml_doc_is_null(n) ||
        c->origin_n == c->origin_max) { /* only duplicate keys make so many, and those are refused */
        return;
    }
    struct str key = arena_str(c->arena, (struct str){c->path, c->path_n});
    c->origins[c->origin_n++] =
        (struct config_origin){.key = key, .line = n->key->pos.line, .column = n->key->pos.column};
}

static void decode_section(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    if (f->alone && n->type == YAML_DOC_TEXT) {
        size_t old = path_push(c, ".%s", f->sub[0].name);
        note_origin(c, &f->sub[0], n);
        config_decode_value(c, &f->sub[0], n, base);
        path_pop(c, old);
        return;
    }
    if (n->type != YAML_DOC_MAP) {
        config_decode_error(c, n, "expected keys below it, found %s", yaml_doc_type_name(n));
        return;
    }
    for (const struct yaml_doc_node *child = n->first; child != NULL; child = child->next) {
        const struct schema_field *sub = find_field(f, child->key->text);
        if (sub == NULL) {
            refuse_key(c, f, child->key);
            continue;
        }
        size_t old = path_push(c, "%s%s", c->path_n > 0 ? "." : "", sub->name);
        note_origin(c, sub, child);
        overlay_note(c, sub, child);
        config_decode_value(c, sub, child, base);
        path_pop(c, old);
    }
    for (size_t i = 0; i < f->sub_n; i++) {
        if (f->sub[i].required && yaml_doc_find(n, str_of(f->sub[i].name)) == NULL) {
            config_decode_error(c, n, "'%s' is missing", f->sub[i].name);
        }
    }
}

static void refuse_few(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n)
{
    const char *or_else = f->required ? "" : ", or remove the key";

    if (n->child_n > 0) {
        config_decode_error(c, n, "%zu in it; give at least %zu%s", n->child_n, (size_t)f->min, or_else);
    } else if (f->min > 1) {
        config_decode_error(c, n, "nothing in it; give at least %zu%s", (size_t)f->min, or_else);
    } else {
        config_decode_error(c, n, "nothing in it; give at least one%s", or_else);
    }
}

/* Stores the elements of a list or map as one array. */
static void decode_items(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    bool is_map = f->type == SCHEMA_MAP;
    size_t i = 0;

    if (n->type != (is_map ? YAML_DOC_MAP : YAML_DOC_LIST)) {
        config_decode_error(c, n, "expected %s, found %s", is_map ? "names with keys below them" : "a list",
                            yaml_doc_type_name(n));
        return;
    }
    if (n->child_n > (size_t)f->max) {
        config_decode_error(c, n, "%zu elements, at most %zu are accepted", n->child_n, (size_t)f->max);
        return;
    }
    if (n->child_n < (size_t)f->min) {
        refuse_few(c, f, n);
        return;
    }
    char *items = arena_calloc(c->arena, n->child_n > 0 ? n->child_n : 1, f->item_size);
    if (items == NULL) {
        return; /* the arena remembers */
    }
    c->item_depth++;
    for (const struct yaml_doc_node *child = n->first; child != NULL; child = child->next, i++) {
        void *item = items + i * f->item_size;
        size_t old = is_map ? path_push(c, ".%.*s", STR_ARG(child->key->text)) : path_push(c, "[%zu]", i);
        if (f->sub->item_absent != NULL) {
            memcpy(item, f->sub->item_absent, f->item_size);
        }
        if (is_map) {
            scalar_decode(c, f->key, child->key, item);
        }
        config_decode_value(c, f->sub, child, item);
        path_pop(c, old);
    }
    c->item_depth--;
    memcpy((char *)base + f->offset, &items, sizeof(items));
    memcpy((char *)base + f->offset2, &n->child_n, sizeof(n->child_n));
}

static void check_clashes(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n,
                          const void *base)
{
    const struct schema_items items = schema_items(f, base);
    const struct yaml_doc_node *child = n->first, *at;

    for (size_t i = 0; i < items.n; i++, child = child->next) {
        size_t before = 0;

        while (before < i && !f->clash->is(items.p + before * f->item_size, items.p + i * f->item_size)) {
            before++;
        }
        if (before == i) {
            continue;
        }
        at = f->clash->at != NULL ? yaml_doc_find(child, str_of(f->clash->at)) : child;
        if (f->clash->never != NULL) {
            config_decode_error(c, at, "never used: element %zu %s", before, f->clash->never);
        } else {
            config_decode_error(c, at, "element %zu has the same %s as element %zu", i, f->clash->same, before);
        }
    }
}

void config_decode_value(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    size_t found_before = found_n(c);

    if (n->type == YAML_DOC_REFUSED) {
        c->refused_n++;
        return;
    }
    if (f->type == SCHEMA_SECTION || f->type == SCHEMA_LIST || f->type == SCHEMA_MAP) {
        if (yaml_doc_is_null(n) && f->min > 0) {
            config_decode_error(c, n, "no value; give one%s", f->required ? "" : " or remove the key");
            return;
        }
        if (yaml_doc_is_null(n) && f->name != NULL) {
            return; /* "packing:" with every key commented out: the defaults */
        }
        if (f->type == SCHEMA_SECTION) {
            decode_section(c, f, n, base);
        } else {
            decode_items(c, f, n, base);
        }
    } else if (f->type == SCHEMA_OVERLAY) {
        overlay_decode(c, f, n, base);
    } else {
        scalar_decode(c, f, n, base);
    }
    if (found_n(c) > found_before) {
        return;
    }
    if (f->clash != NULL) {
        check_clashes(c, f, n, base);
    }
    if (f->check != NULL) {
        f->check(c, n, base);
    }
}
