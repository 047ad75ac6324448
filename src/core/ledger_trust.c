/* Which records wait for a verdict on their signature. */
#include "core/ledger_internal.h"

size_t ledger_unverified(const struct ledger *l, struct str node_name, struct arena *a, struct ledger_unverified *ret,
                         size_t max)
{
    (void)l;
    (void)node_name;
    (void)a;
    (void)ret;
    (void)max;
    return 0; /* the ledger takes every record that it is given at its word */
}
