/* fgpu check-config FILE: every error of a configuration file at once. */
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "config/describe.h"
#include "config/load.h"

#include <stdio.h>
#include <string.h>

#define REPORT_BYTES_MAX (1024 * 1024)

static void print_help(void)
{
    printf("Usage: fgpu check-config FILE\n"
           "       fgpu check-config --keys\n\n"
           "Checks a configuration file of kind FgpuConfiguration and prints every error with its place.\n"
           "--keys lists all keys with range, default and meaning.\n"
           "Exit code: 0 valid, 3 invalid, 2 usage.\n");
}

int cmd_check_config(int argc, char **argv)
{
    struct config_names names;
    struct strbuf out;
    int code = EXIT_OK;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_help();
        return EXIT_OK;
    }
    if (argc != 2 || (argv[1][0] == '-' && strcmp(argv[1], "--keys") != 0)) {
        return cmd_usage_error("check-config", "give one file, or --keys");
    }
    strbuf_init(&out, REPORT_BYTES_MAX);
    if (strcmp(argv[1], "--keys") == 0) {
        config_reference(&out);
    } else {
        cmd_config_names(&names);
        code = config_check_file(argv[1], &names, &out);
    }
    fputs(out.p, code == EXIT_OK ? stdout : stderr);
    strbuf_fini(&out);
    return code;
}
