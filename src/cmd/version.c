/* fgpu version */
#include "cmd/commands.h"

#include "base/build_info.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdio.h>

int cmd_version(int argc, char **argv)
{
    (void)argv;
    if (argc != 1) {
        return cmd_usage_error("version", "takes no arguments");
    }
    printf("fgpu %s (%s, %s)\n", FGPU_VERSION, build_commit, __VERSION__);
    printf("libcurl: %s\ncJSON: %s\n", curl_version(), cJSON_Version());
    return EXIT_OK;
}
