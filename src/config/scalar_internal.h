/* What there is to know of a type of one value. The table of all of them is in scalar_types.c: a new type is a name in
 * enum schema_type, a row there, and the functions that no other type has. */
#ifndef CONFIG_SCALAR_INTERNAL_H
#define CONFIG_SCALAR_INTERNAL_H

#include "config/schema_internal.h"

/* Of the JSON Schema. */
struct generator {
    struct json_writer *w;
    const struct config_names *names;
    const struct config *defaults;
    bool in_window; /* only what may change while fgpu runs, and no defaults */
};

/* Stores the value of the node behind `base`, or says what is wrong with it. */
typedef void scalar_decode_fn(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n,
                              void *base);
/* Writes the value in the notation of the file. */
typedef void scalar_format_fn(const struct schema_field *f, const void *base, struct strbuf *out);
typedef void scalar_describe_fn(const struct schema_field *f, const void *base, struct json_writer *w);
/* Writes half a sentence. */
typedef void scalar_accepts_fn(const struct schema_field *f, struct strbuf *out);
/* Writes the members of a JSON Schema that accepts what the decoder does. */
typedef void scalar_form_fn(const struct schema_field *f, const struct generator *g);
/* NULL, or static text that says what is wrong. */
typedef const char *scalar_error_fn(struct str s);

struct scalar_type {
    size_t size, size2; /* of what is stored at `offset` and at `offset2`; 0: nothing */
    scalar_decode_fn *decode;
    bool decodes_any;       /* lists and mappings too, not text alone */
    scalar_error_fn *error; /* the grammar of text_decode(); NULL: any text of `max` bytes */
    scalar_format_fn *format;
    scalar_describe_fn *describe; /* as JSON; NULL: what `format` writes, as text */
    const char *accepts;          /* or, if it depends on the row, the next one */
    scalar_accepts_fn *accepts_of;
    const char *pattern;                               /* of its text */
    const char *number;                                /* text that may be one: which ("number"); 100 is "100" then */
    scalar_form_fn *form;                              /* NULL: text with the pattern */
    void (*add_number)(struct strbuf *out, int64_t v); /* a number in its notation */
    int64_t unit;                                      /* of numbers of bytes: what a stored one means */
};

/* Indexed by the type. Beside the rows of the schema nobody asks it: they lead here. */
extern const struct scalar_type scalar_types[SCHEMA__MAX];
#define SCALAR(type_) .type = (type_), .scalar = &scalar_types[type_]

/* What stands at `offset`; the C type is in the comment of enum schema_type. */
void scalar_load(const struct schema_field *f, const void *base, void *ret);
void scalar_store(const struct schema_field *f, void *base, const void *value);

/* scalar_text.c: words, text and addresses. */
scalar_decode_fn const_decode, word_decode, flag_decode, text_decode, strategy_decode, label_decode, address_decode,
    address_or_none_decode;
scalar_format_fn const_format, word_format, flag_format, text_format, label_format, address_format;
scalar_describe_fn flag_describe;
scalar_accepts_fn words_accepts, strategy_accepts;
/* Is the text a strategy? If not, says so. */
bool strategy_name_check(struct decode *c, const struct yaml_doc_node *n);

/* number.c: numbers with their units, and their ranges. */
scalar_decode_fn int_decode, duration_decode, bytes_decode, factor_decode, percent_decode, mib_or_percent_decode;
scalar_format_fn number_format, mib_or_percent_format;
scalar_describe_fn int_describe;
scalar_accepts_fn number_range, mib_or_percent_range;
void add_duration(struct strbuf *out, int64_t ms);
void add_factor(struct strbuf *out, int64_t milli);
void add_bytes(struct strbuf *out, int64_t bytes);
void add_mib(struct strbuf *out, int64_t mib);
void add_percent(struct strbuf *out, int64_t permille);
#define PERMILLE_MAX 1000

/* daytime.c: times of day, days of the week, time zones. */
scalar_decode_fn time_decode, days_decode, zone_decode;
scalar_format_fn time_format, days_format, zone_format;
scalar_accepts_fn time_accepts;

/* criteria.c: one strategy, [first, second], or {one: 0.7, other: 0.3}. */
scalar_decode_fn criteria_decode;
scalar_format_fn criteria_format;
scalar_describe_fn criteria_describe;

/* scalar_form.c: what the JSON Schema says of it. */
scalar_form_fn const_form, words_form, flag_form, int_form, number_form, factor_form, duration_form, length_form,
    strategy_form, criteria_form, time_form;
void scalar_form(const struct schema_field *f, const struct generator *g);

/* "type": one of several; NULL-terminated. */
void json_schema_types(struct json_writer *w, const char *const *types);
/* on and off are true and false to programs that go by YAML 1.1. */
bool json_schema_is_switch(const char *const *words);

/* names.c: the grammars of Kubernetes names. */
scalar_error_fn resource_name_error, label_key_error, label_value_error, name_error, namespace_error, object_name_error,
    instant_error;

#endif
