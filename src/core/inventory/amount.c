/* Amounts in labels, annotations and allocatable. */
#include "base/quantity.h"
#include "core/inventory/internal.h"

bool inventory_read_amount(struct str text, int64_t max, int64_t *ret)
{
    struct quantity q;

    if (quantity_parse(text, &q) != QUANTITY_OK || q.nano < 0 || !quantity_is_integer(q) ||
        quantity_value(q) > max) {
        return false;
    }
    *ret = quantity_value(q);
    return true;
}
