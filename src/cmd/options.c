#include "cmd/options.h"

#include "cmd/commands.h"

/* False: it has been given before, and only one is possible. */
static bool take_text(const struct command_line *l, const char **ret)
{
    if (l->once && *ret != NULL) {
        return false;
    }
    *ret = optarg;
    return true;
}

int options_read(const struct command_line *l, int argc, char **argv, void *ret)
{
    int c, at = 0, code = EXIT_OK;

    optind = 1;
    opterr = 0;
    while (code == EXIT_OK && (c = getopt_long(argc, argv, l->letters, l->options, &at)) != -1) {
        if (c == 'h') {
            l->print_help();
            return -1;
        }
        if (c == ':' || c == '?') {
            return cmd_usage_error(l->command, c == ':' ? "%s needs a value" : "unknown option %s", argv[optind - 1]);
        }
        if (c < OPTION_TEXT_VALUE) {
            code = l->take(ret, c, optarg);
        } else if (!take_text(l, (const char **)(void *)((char *)ret + (c - OPTION_TEXT_VALUE)))) {
            code = cmd_usage_error(l->command, "--%s is given twice; one file is possible", l->options[at].name);
        }
    }
    if (code == EXIT_OK && l->word_at > 0 && optind < argc) {
        *(const char **)(void *)((char *)ret + l->word_at) = argv[optind++];
    }
    return code == EXIT_OK && optind < argc ? cmd_usage_error(l->command, "unexpected \"%s\"", argv[optind]) : code;
}
