/* fgpu version */
#include "cmd/commands.h"
#include "cmd/options.h"

#include "base/build_info.h"
#include "routes/page.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdio.h>

const struct page page_version = {
    .command = "fgpu version",
    .usage = "",
    .about =
        "Prints the version of fgpu, the commit and the compiler of the build, and the versions of its libraries: what "
        "a report of a fault needs. `fgpu --version` is the same.",
    .examples = "fgpu version",
};

int cmd_version(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_version};
    int code = options_read(&line, argc, argv, NULL);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    printf("fgpu %s (%s, %s)\n", FGPU_VERSION, build_commit, __VERSION__);
    printf("page: %s\n", page_is_built ? "built in" : "not built in; scripts/page makes it, then scripts/build");
    printf("libcurl: %s\ncJSON: %s\n", curl_version(), cJSON_Version());
    return EXIT_OK;
}
