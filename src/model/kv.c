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
