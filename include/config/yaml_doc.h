/* config/yaml_doc.h - the strict subset of YAML that fgpu reads, as a small tree with positions.
 *
 * The only user of libyaml, through its event interface. libyaml reports duplicate keys, anchors,
 * aliases, tags and merge keys without judging them; here all of those are errors, as are
 * directives, a second document, a key that is not plain text, an encoding other than UTF-8 and an
 * escaped NUL. Scalars stay text: what "010" or "yes" means is decided by who asks for it
 * (config/schema_internal.h).
 *
 * JSON is read too, being a subset. Hostile input stops early: libyaml 0.2.5 takes time quadratic
 * in the depth of nested brackets and in the number of %TAG lines, so depth has a cap and
 * directives are looked for before libyaml sees the text.
 */
#ifndef CONFIG_YAML_DOC_H
#define CONFIG_YAML_DOC_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/str.h"
#include "config/diagnostics.h"

#include <stdbool.h>
#include <stddef.h>

#define YAML_DEPTH_MAX 32
#define YAML_KEYS_MAX 1000 /* in one mapping */

enum yaml_doc_type {
    YAML_DOC_TEXT,
    YAML_DOC_LIST,
    YAML_DOC_MAP,
    YAML_DOC_REFUSED, /* an alias, a tagged value: already reported, readers pass over it */
};

struct yaml_doc_node {
    enum yaml_doc_type type;
    bool plain; /* of a text: written without quotes and not as a block */
    struct text_pos pos;
    struct str text;                   /* of a text; never holds a NUL */
    const struct yaml_doc_node *key;   /* the key before it, where this is the value in a map */
    const struct yaml_doc_node *first; /* child of a list or map; children are in file order */
    const struct yaml_doc_node *next;  /* sibling */
    size_t child_n;
};

/* Reads `text` into a tree in `arena`. Everything refused is added to `d`.
 * Returns 0 when the tree is complete: then *ret_root is set (NULL for a file without content) and
 * readers can go on to find further errors, even if `d` has some. Negative: reading stopped
 * (malformed, too deep, too large) and `d` says why. */
WARN_UNUSED int yaml_doc_read(struct str text, struct arena *arena, struct diagnostics *d,
                              const struct yaml_doc_node **ret_root);

/* Nothing, or ~ or null without quotes. */
bool yaml_doc_is_null(const struct yaml_doc_node *n);

/* The value of `key`, or NULL. `map` may be NULL or of another type. */
const struct yaml_doc_node *yaml_doc_find(const struct yaml_doc_node *map, struct str key);

/* "a list", "text", ...: for messages. */
const char *yaml_doc_type_name(const struct yaml_doc_node *n);

#endif
