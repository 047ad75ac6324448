#include "cmd/commands.h"
#include "cmd/terminal.h"
#include "config/load.h"
#include "core/fit/strategy.h"

#include <stdarg.h>
#include <stdio.h>

#define STRATEGIES_MAX 32
#define MESSAGE_BYTES_MAX 65536

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
    struct strbuf message;
    va_list ap;

    strbuf_init(&message, MESSAGE_BYTES_MAX);
    va_start(ap, fmt);
    strbuf_vaddf(&message, fmt, ap);
    va_end(ap);
    strbuf_addf(&message, "; fgpu %s --help explains it", command);
    terminal_complain(command, message.p);
    strbuf_fini(&message);
    return EXIT_USAGE;
}
