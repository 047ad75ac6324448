#include "cmd/options.h"

#include "cmd/commands.h"

#include <string.h>

int options_read(const struct command_line *l, int argc, char **argv, void *ret)
{
    int c, code = EXIT_OK;

    optind = 1;
    opterr = 0;
    while (code == EXIT_OK && (c = getopt_long(argc, argv, l->letters, l->options, NULL)) != -1) {
        if (c == 'h') {
            l->print_help();
            return -1;
        }
        if (c == ':' || c == '?') {
            return cmd_usage_error(l->command, c == ':' ? "%s needs a value" : "unknown option %s", argv[optind - 1]);
        }
        if (c >= OPTION_TEXT_VALUE) {
            memcpy((char *)ret + (c - OPTION_TEXT_VALUE), &optarg, sizeof(optarg));
        } else {
            code = l->take(ret, c, optarg);
        }
    }
    return code == EXIT_OK && optind < argc ? cmd_usage_error(l->command, "unexpected \"%s\"", argv[optind]) : code;
}
