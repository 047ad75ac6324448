#include "model/kv.h"

const struct str *kv_find(struct kv_list list, struct str key)
{
    for (size_t i = 0; i < list.n; i++) {
        if (str_eq(list.items[i].key, key)) {
            return &list.items[i].value;
        }
    }
    return NULL;
}

bool kv_has_all(struct kv_list list, struct kv_list wanted)
{
    for (size_t i = 0; i < wanted.n; i++) {
        const struct str *value = kv_find(list, wanted.items[i].key);

        if (value == NULL || !str_eq(*value, wanted.items[i].value)) {
            return false;
        }
    }
    return true;
}
