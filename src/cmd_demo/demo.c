/* fgpu demo: the whole thing without a cluster. */
#include "cmd_demo/commands.h"
#include "cmd/commands.h"
#include "cmd_demo/stage.h"

#include "base/str.h"
#include "demo/apiserver/cluster.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct demo_options d;
    bool list;        /* of the scenarios */
    bool own_cluster; /* --nodes or --gpus was given */
};

enum { OPT_NODES = 256, OPT_GPUS, OPT_SPEED, OPT_FOR, OPT_SEED, OPT_SCENARIO, OPT_NO_BROWSER };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"gpus", required_argument, NULL, OPT_GPUS},
    {"speed", required_argument, NULL, OPT_SPEED},
    {"for", required_argument, NULL, OPT_FOR},
    {"seed", required_argument, NULL, OPT_SEED},
    {"scenario", required_argument, NULL, OPT_SCENARIO},
    {"no-browser", no_argument, NULL, OPT_NO_BROWSER},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu demo [options]\n\n"
           "Shows fgpu filling a simulated cluster, live in the terminal.\n\n"
           "  --nodes N      1 to %d, default 8\n"
           "  --gpus N       per node, 1 to %d, default 4\n"
           "  --speed X      times real time, 0.1 to 1000, default 5\n"
           "  --for SECONDS  default 60\n"
           "  --seed N       of the workload, default 1\n"
           "  --scenario NAME  a scenario instead, with a cluster of its own: scenes that say what happens and\n"
           "                 prove it, a minute long; --for says how long, --speed how many times faster (then\n"
           "                 default 1). --scenario list shows the names\n"
           "  --no-browser   accepted for scripts; nothing opens a browser yet\n\n"
           "Exit code 0 only if every invariant held and, of a scenario, everything it claims came true.\n\n"
           "Examples:\n"
           "  fgpu demo\n"
           "  fgpu demo --nodes 16 --gpus 8 --for 30\n"
           "  fgpu demo --scenario runai\n",
           CLUSTER_NODES_MAX, CLUSTER_GPUS_MAX);
}

static bool parse_count(const char *text, uint64_t max, int32_t *ret)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), max, &v) || v == 0) {
        return false;
    }
    *ret = (int32_t)v;
    return true;
}

/* "2", "0.5", "12.25" in thousandths. */
static bool parse_speed(const char *text, int32_t *ret)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || *end != '\0' || !(x >= 0.1 && x <= 1000)) {
        return false;
    }
    *ret = (int32_t)(x * 1000);
    return true;
}

static void print_scenarios(FILE *to)
{
    const struct scenario *s;

    for (size_t i = 0; (s = scenario_at(i)) != NULL; i++) {
        fprintf(to, "  %-13s %s\n", s->name, s->line);
    }
}

static int parse_scenario(const char *name, struct options *o)
{
    o->list = strcmp(name, "list") == 0;
    o->d.scenario = scenario_find(name);
    if (o->d.scenario == NULL && !o->list) {
        fprintf(stderr, "fgpu demo: there is no scenario \"%s\"; there are\n", name);
        print_scenarios(stderr);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* What goes with a scenario and what does not. */
static int settle_scenario(struct options *o)
{
    if (o->d.scenario != NULL && o->own_cluster) {
        return cmd_usage_error("demo", "a scenario has its own nodes: leave out --nodes and --gpus");
    }
    if (o->d.for_s == 0) {
        o->d.for_s = 60;
    }
    if (o->d.speed_milli == 0) {
        o->d.speed_milli = o->d.scenario != NULL ? 1000 : 5000;
    }
    return EXIT_OK;
}

/* EXIT_OK, or the exit code; -1: help was printed. */
static int parse_options(int argc, char **argv, struct options *o)
{
    int c;

    *o = (struct options){.d = {.nodes = 8, .gpus = 4, .seed = 1}};
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        bool ok = true;

        switch (c) {
        case OPT_NODES:
            ok = parse_count(optarg, CLUSTER_NODES_MAX, &o->d.nodes);
            o->own_cluster = true;
            break;
        case OPT_GPUS:
            ok = parse_count(optarg, CLUSTER_GPUS_MAX, &o->d.gpus);
            o->own_cluster = true;
            break;
        case OPT_SPEED:
            ok = parse_speed(optarg, &o->d.speed_milli);
            break;
        case OPT_FOR:
            ok = parse_count(optarg, 1000000, &o->d.for_s);
            break;
        case OPT_SEED:
            ok = str_to_u64(str_of(optarg), UINT64_MAX, &o->d.seed);
            break;
        case OPT_SCENARIO:
            if (parse_scenario(optarg, o) != EXIT_OK) {
                return EXIT_USAGE;
            }
            break;
        case OPT_NO_BROWSER:
            break;
        case 'h':
            print_help();
            return -1;
        case ':':
            return cmd_usage_error("demo", "%s needs a value", argv[optind - 1]);
        default:
            return cmd_usage_error("demo", "unknown option %s", argv[optind - 1]);
        }
        if (!ok) {
            return cmd_usage_error("demo", "\"%s\" is out of range", optarg);
        }
    }
    return optind < argc ? cmd_usage_error("demo", "unexpected \"%s\"", argv[optind]) : settle_scenario(o);
}

static void on_signal(int sig)
{
    (void)sig;
    demo_stop();
}

int cmd_demo(int argc, char **argv)
{
    const struct sigaction act = {.sa_handler = on_signal};
    struct options o;
    int code = parse_options(argc, argv, &o);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (o.list) {
        print_scenarios(stdout);
        return EXIT_OK;
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    return demo_run(&o.d);
}
