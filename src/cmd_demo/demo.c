/* fgpu demo: the whole thing without a cluster. */
#include "cmd_demo/commands.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd_demo/stage.h"
#include "cmd_demo/until_signal.h"

#include "base/bug.h"
#include "base/str.h"
#include "demo/apiserver/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct demo_options d;
    bool list;        /* of the scenarios */
    bool own_cluster; /* --nodes or --gpus was given */
};

enum { OPT_NODES = 256, OPT_GPUS, OPT_SPEED, OPT_FOR, OPT_SEED, OPT_SCENARIO, OPT_NO_BROWSER };

static const char *scenario_word(size_t i, const char **ret_text)
{
    const struct scenario *s = scenario_at(i);

    *ret_text = s != NULL ? s->line : "";
    return s != NULL ? s->name : NULL;
}

static const char *scenario_or_list(size_t i, const char **ret_text)
{
    *ret_text = "shows the names";
    return i == 0 ? "list" : scenario_word(i - 1, ret_text);
}

static const struct page_option options[] = {
    {"nodes", .value = "N", .text = "1 to " QUOTE(CLUSTER_NODES_MAX) ", default 8", .id = OPT_NODES},
    {"gpus", .value = "N", .text = "per node, 1 to " QUOTE(CLUSTER_GPUS_MAX) ", default 4", .id = OPT_GPUS},
    {"speed", .value = "X", .text = "times real time, 0.1 to 1000, default 5", .id = OPT_SPEED},
    {"for", .value = "SECONDS", .text = "default 60, or until Ctrl-C where a browser was opened", .id = OPT_FOR},
    {"seed", .value = "N", .text = "of the workload, default 1", .id = OPT_SEED},
    {"scenario", .value = "NAME", .id = OPT_SCENARIO, .words = scenario_or_list,
     .text = "a scenario instead, with a cluster of its own: scenes that say what happens and prove it, a minute long; "
             "--for says how long, --speed how many times faster (then default 1). --scenario list shows the names"},
    {"no-browser",
     .text =
         "only print the address of the web page; without it xdg-open shows the page, if standard output is a terminal "
         "and there is a display",
     .id = OPT_NO_BROWSER},
};

const struct page page_demo = {
    .command = "fgpu demo",
    .usage = "[options]",
    .about = "Shows fgpu filling a simulated cluster, live in the terminal and on its web page.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 only if every invariant held and, of a scenario, everything it claims came true",
    .examples = "fgpu demo\nfgpu demo --nodes 16 --gpus 8 --for 30\nfgpu demo --scenario runai",
};

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
    if (o->d.speed_milli == 0) {
        o->d.speed_milli = o->d.scenario != NULL ? 1000 : 5000;
    }
    return EXIT_OK;
}

static int take_option(void *ret, int option, const char *value)
{
    struct options *o = ret;
    bool ok = true;

    switch (option) {
    case OPT_NODES:
        ok = parse_count(value, CLUSTER_NODES_MAX, &o->d.nodes);
        o->own_cluster = true;
        break;
    case OPT_GPUS:
        ok = parse_count(value, CLUSTER_GPUS_MAX, &o->d.gpus);
        o->own_cluster = true;
        break;
    case OPT_SPEED:
        ok = parse_speed(value, &o->d.speed_milli);
        break;
    case OPT_FOR:
        ok = parse_count(value, 1000000, &o->d.for_s);
        break;
    case OPT_SEED:
        ok = str_to_u64(str_of(value), UINT64_MAX, &o->d.seed);
        break;
    case OPT_SCENARIO:
        return parse_scenario(value, o);
    case OPT_NO_BROWSER:
        o->d.no_browser = true;
        break;
    default:
        BUG("unknown option");
    }
    return ok ? EXIT_OK
              : cmd_usage_error("demo", "--%s: \"%s\" is out of range", options_name(&page_demo, option), value);
}

static int play(void *ctx)
{
    return demo_run(ctx);
}

int cmd_demo(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_demo, .take = take_option};
    struct options o = {.d = {.nodes = 8, .gpus = 4, .seed = 1}};
    int code = options_read(&line, argc, argv, &o);

    code = code == EXIT_OK ? settle_scenario(&o) : code;
    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (o.list) {
        print_scenarios(stdout);
        return EXIT_OK;
    }
    return until_signal("demo", play, &o.d, demo_stop);
}
