/* The types of one value: what there is to know of each. Rows of the schema point here, and nobody else does: what the
 * types have in common (scalar.c) and their functions are below. */
#include "config/scalar_internal.h"

#include "config/patterns.h"

#define MIB (INT64_C(1) << 20)

#define TEXT .size = sizeof(struct str), .format = text_format
/* Text that `error_` accepts. */
#define GRAMMAR(error_, accepts_, pattern_)                                                                            \
    TEXT, .decode = text_decode, .error = (error_), .accepts = (accepts_), .pattern = (pattern_)
/* A number that fits into the C type, written by `add_`. */
#define NUMBER(c_type_, decode_, add_)                                                                                 \
    .size = sizeof(c_type_), .decode = (decode_), .format = number_format, .accepts_of = number_range,                 \
    .add_number = (add_)
#define BYTES(decode_, add_, unit_, pattern_)                                                                          \
    NUMBER(int64_t, decode_, add_), .unit = (unit_), .pattern = (pattern_), .form = number_form

const struct scalar_type scalar_types[SCHEMA__MAX] = {
    [SCHEMA_CONST] = {.decode = const_decode, .format = const_format, .accepts_of = words_accepts, .form = const_form},
    [SCHEMA_WORD] = {.size = sizeof(unsigned int),
                     .decode = word_decode,
                     .format = word_format,
                     .accepts_of = words_accepts,
                     .form = words_form},
    [SCHEMA_FLAG] = {.size = sizeof(bool),
                     .decode = flag_decode,
                     .format = flag_format,
                     .describe = flag_describe,
                     .accepts = "true, false",
                     .form = flag_form},

    [SCHEMA_INT] = {NUMBER(int32_t, int_decode, strbuf_add_i64), .describe = int_describe, .form = int_form},
    [SCHEMA_DURATION] = {NUMBER(int32_t, duration_decode, add_duration), .pattern = PATTERN_DURATION,
                         .form = duration_form},
    [SCHEMA_FACTOR] = {NUMBER(int32_t, factor_decode, add_factor), .pattern = PATTERN_FACTOR, .form = factor_form},
    [SCHEMA_BYTES] = {BYTES(bytes_decode, add_bytes, 1, PATTERN_QUANTITY)},
    [SCHEMA_MIB] = {BYTES(bytes_decode, add_mib, MIB, PATTERN_QUANTITY)},
    [SCHEMA_PERCENT] = {NUMBER(int32_t, percent_decode, add_percent), .pattern = PATTERN_PERCENT},
    [SCHEMA_MIB_OR_PERCENT] = {.size = sizeof(int64_t),
                               .size2 = sizeof(int32_t),
                               .decode = mib_or_percent_decode,
                               .format = mib_or_percent_format,
                               .accepts_of = mib_or_percent_range,
                               .add_number = add_mib,
                               .unit = MIB,
                               .pattern = PATTERN_QUANTITY_OR_PERCENT,
                               .form = number_form},

    [SCHEMA_TEXT] = {TEXT, .decode = text_decode, .accepts = "text", .number = "number", .form = length_form},
    [SCHEMA_NAME] = {GRAMMAR(name_error, "a name", PATTERN_NAME), .number = "number"},
    [SCHEMA_NAMESPACE] = {GRAMMAR(namespace_error, "a namespace or a pattern", PATTERN_NAMESPACE), .number = "integer"},
    [SCHEMA_LABEL_KEY] = {GRAMMAR(label_key_error, "a label key", PATTERN_LABEL_KEY)},
    [SCHEMA_LABEL_VALUE] = {GRAMMAR(label_value_error, "a label value", PATTERN_LABEL_VALUE), .number = "number"},
    [SCHEMA_RESOURCE] = {GRAMMAR(resource_name_error, "DOMAIN/NAME", PATTERN_RESOURCE)},
    [SCHEMA_OBJECT] = {GRAMMAR(object_name_error, "NAMESPACE/NAME or empty", PATTERN_OBJECT)},
    [SCHEMA_INSTANT] = {GRAMMAR(instant_error, "a time in UTC or empty", PATTERN_INSTANT)},
    [SCHEMA_STRATEGY] = {TEXT, .decode = strategy_decode, .accepts_of = strategy_accepts, .form = strategy_form},
    [SCHEMA_CRITERIA] = {.size = sizeof(struct str),
                         .size2 = sizeof(struct criteria),
                         .decode = criteria_decode,
                         .decodes_any = true,
                         .format = criteria_format,
                         .describe = criteria_describe,
                         .accepts = "a strategy, [a, b], or {a: WEIGHT, b: WEIGHT}",
                         .form = criteria_form},
    [SCHEMA_LABEL] = {.size = sizeof(struct str),
                      .size2 = sizeof(struct str),
                      .decode = label_decode,
                      .format = label_format,
                      .accepts = "KEY=VALUE",
                      .pattern = PATTERN_LABEL},
    [SCHEMA_ADDRESS] = {.size = sizeof(struct address),
                        .decode = address_decode,
                        .format = address_format,
                        .accepts = "HOST:PORT",
                        .pattern = PATTERN_ADDRESS},
    [SCHEMA_ADDRESS_OR_NONE] = {.size = sizeof(struct address),
                                .decode = address_or_none_decode,
                                .format = address_format,
                                .accepts = "HOST:PORT or none",
                                .pattern = PATTERN_ADDRESS_OR_NONE},

    [SCHEMA_TIME] = {.size = sizeof(int32_t),
                     .decode = time_decode,
                     .format = time_format,
                     .accepts_of = time_accepts,
                     .form = time_form},
    [SCHEMA_DAYS] = {.size = sizeof(uint32_t),
                     .decode = days_decode,
                     .format = days_format,
                     .accepts = "a day or days such as sat or mon-fri",
                     .pattern = PATTERN_DAYS},
    [SCHEMA_ZONE] = {.size = sizeof(const struct time_zone *),
                     .decode = zone_decode,
                     .format = zone_format,
                     .accepts = "a time zone such as Europe/Berlin",
                     .pattern = PATTERN_ZONE},

    /* several values: decode.c and overlay.c */
    [SCHEMA_SECTION] = {.accepts = "keys"},
    [SCHEMA_LIST] = {.accepts = "a list"},
    [SCHEMA_MAP] = {.accepts = "named entries"},
    [SCHEMA_OVERLAY] = {.accepts = "as at the top level"},
};
