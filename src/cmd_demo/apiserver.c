/* fgpu apiserver: the simulated API server alone, for tests of anything that talks to Kubernetes. */
#include "cmd_demo/commands.h"
#include "cmd/commands.h"
#include "cmd/terminal.h"

#include "base/str.h"
#include "demo/apiserver/apiserver.h"
#include "demo/apiserver/cluster.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_NODES = 256, OPT_GPUS, OPT_PORT, OPT_SEED };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"gpus", required_argument, NULL, OPT_GPUS},
    {"port", required_argument, NULL, OPT_PORT},
    {"seed", required_argument, NULL, OPT_SEED},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu apiserver [--nodes N] [--gpus N] [--port N] [--seed N]\n\n"
           "Runs the simulated API server of the demo by itself, on 127.0.0.1, and prints its URL. Ends on\n"
           "SIGTERM, SIGINT, or when its standard input is closed. No nodes unless --nodes says so.\n"
           "It serves what fgpu needs of an API server, and nothing else: no kubelet runs what is bound.\n\n"
           "  --nodes N      nodes at the start, default 0\n"
           "  --gpus N       per node, default 4\n"
           "  --port N       default: any free one\n"
           "  --seed N       of the names and faults, default 1\n\n"
           "Example:\n"
           "  fgpu apiserver --nodes 8 --port 8001\n");
}

static atomic_bool stop_requested;

static void on_signal(int sig)
{
    (void)sig;
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

int cmd_apiserver(int argc, char **argv)
{
    const struct sigaction act = {.sa_handler = on_signal};
    struct apiserver_options o = {.seed = 1};
    uint64_t v, nodes = 0, gpus = 4;
    struct apiserver *api;
    struct err err;
    int c;

    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (c == 'h') {
            print_help();
            return EXIT_OK;
        }
        if (c == ':' || c == '?') {
            return cmd_usage_error("apiserver", "bad option %s", argv[optind - 1]);
        }
        if (!str_to_u64(str_of(optarg), c == OPT_PORT ? UINT16_MAX : c == OPT_SEED ? UINT64_MAX : INT32_MAX, &v)) {
            return cmd_usage_error("apiserver", "\"%s\" is not a number in range", optarg);
        }
        nodes = c == OPT_NODES ? v : nodes;
        gpus = c == OPT_GPUS ? v : gpus;
        o.port = c == OPT_PORT ? (uint16_t)v : o.port;
        o.seed = c == OPT_SEED ? v : o.seed;
    }
    if (optind < argc) {
        return cmd_usage_error("apiserver", "unexpected \"%s\"", argv[optind]);
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (apiserver_start(&o, &api, &err) != 0) {
        terminal_complain("apiserver", err.msg);
        return EXIT_RUNTIME;
    }
    if (nodes > 0 && cluster_create(api, (int32_t)nodes, (int32_t)gpus, &err) != 0) {
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
