/* routes/support/tested_cluster.h - the cluster of a test program: synced and empty when a test begins, checked when it
 * is over.
 */
#ifndef TEST_ROUTES_TESTED_CLUSTER_H
#define TEST_ROUTES_TESTED_CLUSTER_H

#include "routes/support/cluster.h"

extern struct cluster cluster;

/* Functions of cmocka; `state` is not used. */
int cluster_setup(void **state);
int cluster_teardown(void **state);

/* A row of the table of tests. */
#define CLUSTER_TEST(name) cmocka_unit_test_setup_teardown(name, cluster_setup, cluster_teardown)

#endif
