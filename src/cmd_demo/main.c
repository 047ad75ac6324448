/* fgpu-demo: what shows and tests fgpu without a cluster. `fgpu demo` and `fgpu apiserver` start it. */
#include "cmd/commands.h"
#include "cmd/dispatch.h"
#include "cmd_demo/commands.h"

#include "base/compiler.h"

static const struct command commands[] = {
    {"demo", CMD_DEMO_SUMMARY, cmd_demo},
    {"apiserver", CMD_APISERVER_SUMMARY, cmd_apiserver},
    {"version", CMD_VERSION_SUMMARY, cmd_version},
};

int main(int argc, char **argv)
{
    static const struct program fgpu_demo = {
        .name = "fgpu-demo",
        .purpose = "fgpu-demo shows fgpu without a cluster. Do not install it in production.",
        .commands = commands,
        .command_n = ARRAY_LEN(commands),
    };

    return dispatch(&fgpu_demo, argc, argv);
}
