/* Whether the election that a configuration asks for can work. */
#include "config/load.h"

/* The default is the name of a Lease that no scheduler has. */
const char *config_election_problem(const struct config *c)
{
    return c->election == ELECTION_FOLLOW_SCHEDULER && str_eq(c->lease.object, STR(CONFIG_OWN_LEASE))
               ? "election: follow-scheduler needs lease.object, the Lease of the schedulers: "
                 "leaderElection.resourceNamespace/resourceName of their configuration (kube-system/kube-scheduler if "
                 "it has none)"
               : NULL;
}
