/* fgpu version */
#include "cmd/commands.h"
#include "cmd/options.h"

#include "base/build_info.h"
#include "routes/page.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdio.h>

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu version\n\n"
           "Prints the version of fgpu, the commit and the compiler of the build, and the versions of its libraries:\n"
           "what a report of a fault needs. `fgpu --version` is the same.\n\n"
           "Example:\n"
           "  fgpu version\n");
}

int cmd_version(int argc, char **argv)
{
    static const struct command_line line = {"version", long_options, ":h", false, print_help, NULL};
    int code = options_read(&line, argc, argv, NULL);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    printf("fgpu %s (%s, %s)\n", FGPU_VERSION, build_commit, __VERSION__);
    printf("page: %s\n", page_is_built ? "built in" : "not built in; scripts/page makes it, then scripts/build");
    printf("libcurl: %s\ncJSON: %s\n", curl_version(), cJSON_Version());
    return EXIT_OK;
}
