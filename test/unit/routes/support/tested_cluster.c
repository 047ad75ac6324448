#include "routes/support/tested_cluster.h"

struct cluster cluster;

int cluster_setup(void **state)
{
    (void)state;
    cluster_init(&cluster);
    return 0;
}

int cluster_teardown(void **state)
{
    (void)state;
    cluster_fini(&cluster);
    return 0;
}
