/* nodeStrategy: one strategy, a list of which each decides among equals of those before, or weights. */
#include "config/scalar_internal.h"

#include <string.h>

#define WEIGHT_MAX_MILLI 1000000
#define WEIGHT_BYTES_MAX 32

static const struct criteria *criteria_of(const struct schema_field *f, const void *base)
{
    return (const struct criteria *)(const void *)((const char *)base + f->offset2);
}

/* What is made of the weight of a criterion. */
static struct schema_field weight_row(size_t i)
{
    return (struct schema_field){SCALAR(SCHEMA_FACTOR), .offset = i * sizeof(int32_t), .min = 1,
                                 .max = WEIGHT_MAX_MILLI, .help = "how much this strategy counts"};
}

/* ---- reading ---- */

static bool add(struct decode *c, struct criteria *k, const struct yaml_doc_node *name)
{
    if (name->type != YAML_DOC_TEXT) {
        config_decode_error(c, name, "expected a strategy, found %s", yaml_doc_type_name(name));
        return false;
    }
    if (!strategy_name_check(c, name)) {
        return false;
    }
    for (size_t i = 0; i < k->n; i++) {
        if (str_eq(k->names[i], name->text)) {
            config_decode_error(c, name, "%.*s stands here twice", STR_ARG(name->text));
            return false;
        }
    }
    k->names[k->n++] = arena_str(c->arena, name->text);
    return true;
}

void criteria_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    struct criteria k = {.n = 0};
    bool weights = n->type == YAML_DOC_MAP, ok = true;

    if (n->type != YAML_DOC_TEXT && (n->child_n == 0 || n->child_n > CRITERIA_MAX)) {
        config_decode_error(c, n, "%zu strategies; give 1 to %d", n->child_n, CRITERIA_MAX);
        return;
    }
    if (n->type == YAML_DOC_TEXT) {
        ok = add(c, &k, n);
    }
    for (const struct yaml_doc_node *child = n->first; child != NULL; child = child->next) {
        struct schema_field row = weight_row(k.n);

        if (child->type == YAML_DOC_REFUSED) {
            ok = false;
        } else if (!add(c, &k, weights ? child->key : child)) {
            ok = false;
        } else if (weights) {
            scalar_decode(c, &row, child, k.weights_milli);
        }
    }
    if (!ok) {
        return;
    }
    scalar_store(f, base, &k.names[0]);
    k.n = k.n > 1 ? k.n : 0; /* of a single one the weight does not matter */
    memcpy((char *)base + f->offset2, &k, sizeof(k));
}

/* ---- writing ---- */

static void format_weight(const struct criteria *k, size_t i, struct strbuf *out)
{
    struct schema_field row = weight_row(i);

    number_format(&row, k->weights_milli, out);
}

void criteria_format(const struct schema_field *f, const void *base, struct strbuf *out)
{
    const struct criteria *k = criteria_of(f, base);
    bool weights = k->weights_milli[0] > 0;

    if (k->n == 0) {
        text_format(f, base, out);
        return;
    }
    strbuf_add_char(out, weights ? '{' : '[');
    for (size_t i = 0; i < k->n; i++) {
        strbuf_addf(out, "%s%.*s", i > 0 ? ", " : "", STR_ARG(k->names[i]));
        if (weights) {
            strbuf_add_cstr(out, ": ");
            format_weight(k, i, out);
        }
    }
    strbuf_add_char(out, weights ? '}' : ']');
}

static void describe_weights(const struct criteria *k, struct json_writer *w)
{
    json_write_object_begin(w);
    for (size_t i = 0; i < k->n; i++) {
        struct strbuf text;

        strbuf_init(&text, WEIGHT_BYTES_MAX);
        format_weight(k, i, &text);
        json_write_key_str(w, k->names[i]);
        json_write_str(w, strbuf_view(&text));
        strbuf_fini(&text);
    }
    json_write_object_end(w);
}

void criteria_describe(const struct schema_field *f, const void *base, struct json_writer *w)
{
    const struct criteria *k = criteria_of(f, base);
    struct str first;

    if (k->n == 0) {
        scalar_load(f, base, &first);
        json_write_str(w, first);
    } else if (k->weights_milli[0] > 0) {
        describe_weights(k, w);
    } else {
        json_write_array_begin(w);
        for (size_t i = 0; i < k->n; i++) {
            json_write_str(w, k->names[i]);
        }
        json_write_array_end(w);
    }
}
