/* Amounts in labels, annotations and allocatable. */
#include "base/quantity.h"
#include "core/inventory/internal.h"

struct gpu_amount inventory_amount_of(int64_t units, int64_t units_per_gpu)
{
    int64_t rest = units % units_per_gpu; /* fewer than 2^31, as units_per_gpu */

    return (struct gpu_amount){units / units_per_gpu, (int32_t)(rest * DEVICE_MILLI / units_per_gpu)};
}

bool inventory_read_amount(struct str text, int64_t max, int64_t *ret)
{
    struct quantity q;

    if (quantity_parse(text, &q) != QUANTITY_OK || q.nano < 0 || !quantity_is_integer(q) || quantity_value(q) > max) {
        return false;
    }
    *ret = quantity_value(q);
    return true;
}

bool inventory_sum_allocatable(const struct node *node, const struct str *names, size_t n, int64_t max, int64_t *ret)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        const struct str *text = kv_find(node->allocatable, names[i]);
        int64_t amount;
        if (text != NULL) {
            if (!inventory_read_amount(*text, max, &amount) || amount > max - sum) {
                return false;
            }
            sum += amount;
        }
    }
    *ret = sum;
    return true;
}
