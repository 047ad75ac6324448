/* fgpu apiserver: the simulated API server alone, for tests of anything that talks to Kubernetes. */
#include "cmd_demo/commands.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/terminal.h"
#include "cmd_demo/until_signal.h"

#include "base/str.h"
#include "demo/apiserver/apiserver.h"
#include "demo/apiserver/cluster.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_NODES = 256, OPT_GPUS, OPT_PORT, OPT_SEED };

static const struct page_option options[] = {
    {"nodes", .value = "N", .text = "nodes at the start, default 0", .id = OPT_NODES},
    {"gpus", .value = "N", .text = "per node, default 4", .id = OPT_GPUS},
    {"port", .value = "N", .text = "default: any free one", .id = OPT_PORT},
    {"seed", .value = "N", .text = "of the names and faults, default 1", .id = OPT_SEED},
};

const struct page page_apiserver = {
    .command = "fgpu apiserver",
    .usage = "[--nodes N] [--gpus N] [--port N] [--seed N]",
    .about =
        "Runs the simulated API server of the demo by itself, on 127.0.0.1, and prints its URL. Ends on SIGTERM, "
        "SIGINT, "
        "or when its standard input is closed. No nodes unless --nodes says so. It serves what fgpu needs of an API "
        "server, and nothing else: no kubelet runs what is bound.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .examples = "fgpu apiserver --nodes 8 --port 8001",
};

struct settings {
    struct apiserver_options o;
    uint64_t nodes, gpus;
};

static int take_option(void *ret, int option, const char *value)
{
    struct settings *s = ret;
    uint64_t v;

    if (!str_to_u64(str_of(value), option == OPT_PORT ? UINT16_MAX : option == OPT_SEED ? UINT64_MAX : INT32_MAX, &v)) {
        return cmd_usage_error("apiserver", "--%s: \"%s\" is not a number in range",
                               options_name(&page_apiserver, option), value);
    }
    s->nodes = option == OPT_NODES ? v : s->nodes;
    s->gpus = option == OPT_GPUS ? v : s->gpus;
    s->o.port = option == OPT_PORT ? (uint16_t)v : s->o.port;
    s->o.seed = option == OPT_SEED ? v : s->o.seed;
    return EXIT_OK;
}

static atomic_bool stop_requested;

static void stop(void)
{
    atomic_store(&stop_requested, true);
}

/* Whoever started us holds the other end: no test leaves a server behind. */
static void wait_for_the_end(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char drop[256];

    while (!atomic_load(&stop_requested)) {
        if (poll(&in, 1, 200) > 0 && read(STDIN_FILENO, drop, sizeof(drop)) <= 0) {
            return;
        }
    }
}

static int serve(void *ctx)
{
    struct settings *s = ctx;
    struct apiserver *api;
    struct err err;

    if (apiserver_start(&s->o, &api, &err) != 0) {
        terminal_complain("apiserver", err.msg);
        return EXIT_RUNTIME;
    }
    if (s->nodes > 0 && cluster_create(api, (int32_t)s->nodes, (int32_t)s->gpus, &err) != 0) {
        terminal_complain("apiserver", err.msg);
        apiserver_free(api);
        return EXIT_USAGE;
    }
    printf("%s\n", apiserver_url(api));
    fflush(stdout);
    wait_for_the_end();
    apiserver_free(api);
    return EXIT_OK;
}

int cmd_apiserver(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_apiserver, .take = take_option};
    struct settings s = {.o = {.seed = 1}, .gpus = 4};
    int code = options_read(&line, argc, argv, &s);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    return until_signal("apiserver", serve, &s, stop);
}
