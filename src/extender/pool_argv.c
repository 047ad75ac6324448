#include "extender/pool_argv.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* The command, the name of its pool, the state, NULL: one block with the strings behind the pointers. */
char **pool_argv_make(const struct str *command, size_t command_n, struct str name, enum node_pool_state wanted,
                      size_t *ret_n)
{
    const struct str state = wanted == NODE_POOL_OPEN ? STR("open") : STR("closed");
    const size_t n = command_n + 2;
    size_t bytes = (n + 1) * sizeof(char *) + name.n + 1 + state.n + 1;
    char **argv, *at;

    for (size_t i = 0; i < command_n; i++) {
        bytes += command[i].n + 1;
    }
    argv = xcalloc(1, bytes);
    at = (char *)(argv + n + 1);
    for (size_t i = 0; i < n; i++, at++) { /* a 0 is left behind each */
        argv[i] = at;
        (void)str_put(&at, i < command_n ? command[i] : i + 1 < n ? name : state);
    }
    *ret_n = n;
    return argv;
}

bool pool_argv_same(char **a, char **b)
{
    size_t i = 0;

    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0) {
        i++;
    }
    return a[i] == NULL && b[i] == NULL;
}

char **pool_argv_turn(char **argv, size_t n, enum node_pool_state wanted, size_t *ret_n)
{
    const size_t command_n = n - 2;
    struct str *command = xcalloc(command_n, sizeof(*command));
    char **turned;

    for (size_t i = 0; i < command_n; i++) {
        command[i] = str_of(argv[i]);
    }
    turned = pool_argv_make(command, command_n, str_of(argv[command_n]), wanted, ret_n);
    free(command);
    return turned;
}
