/* model/kv.h - ordered key/value text, as in labels, annotations and resource lists. */
#ifndef MODEL_KV_H
#define MODEL_KV_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct kv {
    struct str key;
    struct str value;
};

struct kv_list {
    const struct kv *items;
    size_t n;
};

/* The value of `key`, or NULL when absent. Keys are unique (the JSON reader refuses duplicates). */
const struct str *kv_find(struct kv_list list, struct str key);
/* Is every pair of `wanted` in `list`? The matchLabels of a selector; an empty one matches everything. */
bool kv_has_all(struct kv_list list, struct kv_list wanted);

#endif
