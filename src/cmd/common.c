#include "cmd/commands.h"
#include "config/load.h"
#include "core/strategy.h"

#include <stdarg.h>
#include <stdio.h>

#define STRATEGIES_MAX 32

void cmd_config_names(struct config_names *ret)
{
    static struct str names[STRATEGIES_MAX];
    size_t n = 0;

    for (; n < STRATEGIES_MAX && strategies[n] != NULL; n++) {
        names[n] = str_of(strategies[n]->name);
    }
    *ret = (struct config_names){names, n};
}

int cmd_usage_error(const char *command, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "fgpu %s: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "; fgpu %s --help explains it\n", command);
    return EXIT_USAGE;
}
