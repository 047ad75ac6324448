/* fgpu-demo: what shows and tests fgpu without a cluster. `fgpu demo` and `fgpu apiserver` start it. */
#include "cmd/commands.h"
#include "cmd/dispatch.h"
#include "cmd_demo/commands.h"

#include "base/compiler.h"

static const struct command commands[] = {
    {"demo", CMD_DEMO_SUMMARY, cmd_demo, &page_demo},
    {"apiserver", CMD_APISERVER_SUMMARY, cmd_apiserver, &page_apiserver},
    {"version", CMD_VERSION_SUMMARY, cmd_version, &page_version},
};

int main(int argc, char **argv)
{
    static const struct program fgpu_demo = {
        .name = "fgpu-demo",
        .called = "fgpu",
        .purpose = "fgpu-demo shows fgpu without a cluster. Do not install it in production.",
        .commands = commands,
        .command_n = ARRAY_LEN(commands),
    };

    return dispatch(&fgpu_demo, argc, argv);
}
