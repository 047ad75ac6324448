/* core/support/tested_ledger.h - the ledger that a test program of this layer is about: a new one for each test, and
 * checked when the test is over. A program whose tests need more calls these from functions of its own; what it adds it
 * frees before ledger_teardown().
 */
#ifndef CORE_SUPPORT_TESTED_LEDGER_H
#define CORE_SUPPORT_TESTED_LEDGER_H

#include "core/support/ledger_fixture.h"

extern struct ledger_fixture fx;

/* Functions of cmocka, before and after a test; `state` is not used. */
int empty_ledger_setup(void **state); /* both lists were read, and nothing was in them */
int two_gpus_setup(void **state);     /* and node "n1" with GPUs "GPU-n1-0" and "GPU-n1-1" of 80 GiB */
int ledger_teardown(void **state);    /* fails the test if an invariant of the ledger is broken */

/* Rows of the table of tests. */
#define EMPTY_LEDGER_TEST(name) cmocka_unit_test_setup_teardown(name, empty_ledger_setup, ledger_teardown)
#define TWO_GPUS_TEST(name) cmocka_unit_test_setup_teardown(name, two_gpus_setup, ledger_teardown)

#endif
