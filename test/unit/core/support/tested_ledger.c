#include "core/support/tested_ledger.h"

struct ledger_fixture fx;

int empty_ledger_setup(void **state)
{
    (void)state;
    fixture_init(&fx);
    return 0;
}

int two_gpus_setup(void **state)
{
    (void)empty_ledger_setup(state);
    fixture_node(&fx, "n1", 2, 80 * GIB);
    return 0;
}

int ledger_teardown(void **state)
{
    (void)state;
    fixture_fini(&fx);
    return 0;
}
