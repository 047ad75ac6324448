/* The schema: one table row per key of the configuration file, walked by the reader (decode.c), the
 * writer and the reference (describe.c), the comparison (diff.c) and the JSON Schema for editors
 * (json_schema.c). To add a key: a field in the struct, its default, a row in schema.c, or for an
 * element of a list in schema_items.c, a paragraph in config/fgpu.yaml, and config/fgpu.schema.json
 * written anew by `fgpu check-config --schema` (tests compare all of them).
 */
#ifndef CONFIG_SCHEMA_INTERNAL_H
#define CONFIG_SCHEMA_INTERNAL_H

#include "base/arena.h"
#include "base/json_write.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "config/diagnostics.h"
#include "config/diff.h"
#include "config/load.h"
#include "config/yaml_doc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_type {
    /* one value (scalar_internal.h); the comment names the C type behind `offset` and the notation */
    SCHEMA_CONST,          /* nothing stored; must read words[0] */
    SCHEMA_INT,            /* int32_t; 100 */
    SCHEMA_DURATION,       /* int32_t milliseconds; 500ms, 3s, 1m30s, 0 */
    SCHEMA_BYTES,          /* int64_t bytes; a Kubernetes quantity */
    SCHEMA_MIB,            /* int64_t MiB; a quantity of bytes that is a multiple of 1Mi */
    SCHEMA_FACTOR,         /* int32_t thousandths; 1.25 */
    SCHEMA_WORD,           /* an enum whose values are the indexes of `words` */
    SCHEMA_FLAG,           /* bool; true or false, bare */
    SCHEMA_TEXT,           /* struct str */
    SCHEMA_NAME,           /* struct str; lower-case word */
    SCHEMA_NAMESPACE,      /* struct str; a namespace, '*' for any text in it */
    SCHEMA_PERCENT,        /* int32_t thousandths; 12.5% */
    SCHEMA_MIB_OR_PERCENT, /* int64_t MiB at `offset`, or int32_t thousandths at `offset2` */
    SCHEMA_RESOURCE,       /* struct str; an extended resource name */
    SCHEMA_OBJECT,         /* struct str; NAMESPACE/NAME, or empty */
    SCHEMA_INSTANT,        /* struct str; 2026-03-28T18:59:50Z, or empty */
    SCHEMA_STRATEGY,       /* struct str; one of config_names.strategies */
    SCHEMA_CRITERIA,       /* struct str as SCHEMA_STRATEGY at `offset`, struct criteria at `offset2`: criteria.c */
    SCHEMA_LABEL_KEY,
    SCHEMA_LABEL_VALUE,     /* struct str */
    SCHEMA_LABEL,           /* struct str key at `offset`, struct str value at `offset2`; "key=value" */
    SCHEMA_ADDRESS,         /* struct address; HOST:PORT */
    SCHEMA_ADDRESS_OR_NONE, /* the same; none is ADDRESS_NONE */
    SCHEMA_TIME,            /* int32_t minutes; 20:30. With min 1, midnight is the end of the day */
    SCHEMA_DAYS,            /* uint32_t set of days; mon, mon-fri */
    SCHEMA_ZONE,            /* const struct time_zone *; Europe/Berlin */
    /* several values */
    SCHEMA_SECTION, /* a mapping with the rows `sub`, stored in the same struct */
    SCHEMA_LIST,    /* const T * at `offset`, size_t at `offset2`; `sub` is one element's row */
    SCHEMA_MAP,     /* as a list, of a mapping; row `key` says where its keys go in T */
    SCHEMA_OVERLAY, /* of a time window: the keys of the row of this name at the top level (overlay.c) */
    SCHEMA__MAX
};

struct decode;
struct scalar_type;

/* Two elements of a list of which the later one has no effect. */
struct schema_clash {
    bool (*is)(const void *before, const void *item);
    const char *same;  /* what both have; or: */
    const char *never; /* how the earlier one keeps the later one from being used */
    const char *at;    /* the key that is pointed at; NULL: the element */
};

struct schema_field {
    const char *name;
    enum schema_type type;
    const struct scalar_type *scalar; /* of `type`; both are set by SCALAR() */
    bool required;
    size_t offset;
    size_t offset2;
    int64_t min, max;         /* of numbers, in stored units; also of elements */
    const char *const *words; /* NULL-terminated */
    const struct schema_field *sub;
    size_t sub_n;
    const struct schema_field *key;
    size_t item_size; /* of T */
    /* Of an element's row: a T in which nothing is given. NULL: all zero. Then a key of the element that is not
     * there stays so when it is written. */
    const void *item_absent;
    bool alone;                       /* of a section: one word in its place is the value of its first row */
    bool appended;                    /* what a time window says of a list comes behind it, instead of replacing it */
    const struct schema_clash *clash; /* of the elements of a list; NULL: they all go together */
    /* Called when the value itself is fine; `base` is the struct it was stored in. */
    void (*check)(struct decode *c, const struct yaml_doc_node *n, const void *base);
    enum config_reload reload; /* RESTART unless the row says more: the safe side for a new key */
    const char *help;          /* half a sentence */
};

#define SCHEMA_RESOURCES_MAX POLICY_NAMES_MAX
#define SCHEMA_PATH_MAX 256 /* "resources.compute[1].name" */

/* The whole file; base struct is struct config. */
extern const struct schema_field schema_root;

struct decode {
    struct diagnostics *d;
    struct arena *arena; /* of the configuration under construction */
    const struct config_names *names;
    struct config_origin *origins; /* one for each value of the file */
    size_t origin_n, origin_max;
    size_t refused_n; /* values that the YAML reader refused; no check looks at what holds one */
    const struct yaml_doc_node
        *agent_at;                  /* the first handOff that names fgpu-node, in a time window or not; NULL: none */
    uint32_t item_depth;            /* elements of lists and maps around the value: their origin is the list's */
    struct config_overlay *overlay; /* being read; NULL: none */
    uint32_t overlay_depth;
    size_t overlay_path_n; /* of what stands before its keys in the path: "timeWindows[0]." */
    char path[SCHEMA_PATH_MAX];
    size_t path_n;
};

/* Calls `visit` for every row that has a value of its own in struct config, in file order; `key` is its
 * path and valid for the call. */
typedef void schema_visit_fn(void *ctx, const struct schema_field *row, const char *key);
void schema_each_key(schema_visit_fn *visit, void *ctx);
size_t schema_key_count(void);

/* The elements behind a row of type SCHEMA_LIST or SCHEMA_MAP. */
struct schema_items {
    const char *p; /* the first one; f->item_size bytes each */
    size_t n;
};
struct schema_items schema_items(const struct schema_field *f, const void *base);
/* The name of an element of a map; `f` is the map's row. */
struct str schema_item_name(const struct schema_field *f, const void *item);

/* Instead of what was said about the same key before. */
void config_set_origin(struct config *c, const struct config_origin *from);

/* One element as JSON; `f` is the row of an element. */
void describe_item(const struct schema_field *f, const void *item, struct json_writer *w);
/* The value of one row as JSON, in the notation of the file (describe_value.c). */
void describe_value(const struct schema_field *f, const void *base, struct json_writer *w);

/* The row with this name at the top level, or NULL. */
const struct schema_field *schema_find_root(struct str name);

void config_decode_value(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base);

/* "path: message" at the node. */
void config_decode_error(struct decode *c, const struct yaml_doc_node *n, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* schema_check.c: the columns `check` and `clash`. */
extern const struct schema_clash schema_clash_templates, schema_clash_rules, schema_clash_overrides, schema_clash_names;
void schema_check_size_milli(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_variant_milli(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_size(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_compute(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_variant(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_template(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_rule(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_hand_off(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_override(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_tenant(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_tenants(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_resources(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_serving(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_command(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_pool(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_window(struct decode *c, const struct yaml_doc_node *n, const void *base);
/* Of the whole file. */
void schema_check_change_overs(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_election(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_client(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_lease(struct decode *c, const struct yaml_doc_node *n, const void *base);
void schema_check_limits(struct decode *c, const struct yaml_doc_node *n, const void *base);

/* scalar.c: text to value and back, for the types of one value. */
#define SCALAR_BYTES_MAX 1024 /* of one that is written */
void scalar_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base);
/* In the notation of the file. */
void scalar_format(const struct schema_field *f, const void *base, struct strbuf *out);
void scalar_describe(const struct schema_field *f, const void *base, struct json_writer *w);
void scalar_copy(const struct schema_field *f, const void *from, void *to);
/* "0..100000", "text, json", "HOST:PORT on loopback": what is accepted. Of rows of several values, too. */
void scalar_accepts(const struct schema_field *f, struct strbuf *out);

/* overlay.c: what a time window says about keys of the file. */
void overlay_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base);
/* A value of the overlay that is being read is one that the window changes. */
void overlay_note(struct decode *c, const struct schema_field *row, const struct yaml_doc_node *n);
/* Does the window `base` say something about the key `f`? */
bool overlay_is_given(const struct schema_field *f, const void *base);
void overlay_describe(const struct schema_field *f, const void *base, struct json_writer *w);
/* A change of it, or of all below it, needs a restart. */
bool schema_is_cold(const struct schema_field *f);
/* Fills config.timetable from the windows that were read. */
void overlay_make_timetable(struct config *c);

#endif
