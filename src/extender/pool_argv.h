/* extender/pool_argv.h - what is run for a node pool: the command, the name of the pool, the state, NULL. One block,
 * the caller's to free. */
#ifndef EXTENDER_POOL_ARGV_H
#define EXTENDER_POOL_ARGV_H

#include "base/str.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>

char **pool_argv_make(const struct str *command, size_t command_n, struct str name, enum node_pool_state wanted,
                      size_t *ret_n);
/* The same for another state. */
char **pool_argv_turn(char **argv, size_t n, enum node_pool_state wanted, size_t *ret_n);
bool pool_argv_same(char **a, char **b);

#endif
