#include "core/inventory/host_group.h"

#include "base/quantity.h"

#define BYTES_PER_MIB (INT64_C(1) << 20)

static bool read_mib(struct str text, int64_t *ret)
{
    struct quantity q;

    if (quantity_parse(text, &q) != QUANTITY_OK || !quantity_is_integer(q) || quantity_value(q) < BYTES_PER_MIB ||
        quantity_value(q) / BYTES_PER_MIB > INT32_MAX) {
        return false;
    }
    *ret = quantity_value(q) / BYTES_PER_MIB;
    return true;
}

struct host_group host_group_of_node(const struct node *node)
{
    const struct str *name = kv_find(node->labels, STR(HOST_GROUP_LABEL));
    const struct str *mem = kv_find(node->labels, STR(HOST_GPU_MEMORY_LABEL));
    struct host_group g = {.name = name != NULL ? *name : STR_NULL};

    g.is_odd = mem != NULL && !read_mib(*mem, &g.mem_mib);
    return g;
}
