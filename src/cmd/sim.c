/* fgpu sim: replays a trace under one or several strategies. */
#include "cmd/commands.h"
#include "cmd/terminal.h"

#include "base/bug.h"
#include "sim/jobs.h"
#include "sim/plot.h"
#include "sim/report.h"
#include "sim/state_file.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRATEGIES_MAX 32
#define ARRIVALS_MAX 1024
#define SEEDS_MAX 1024
#define REPORT_BYTES_MAX (64 * 1024 * 1024)
#define QUIET_MS 2000 /* without a terminal nothing is said for so long */

struct options {
    const char *nodes, *pods, *state;
    const char *svg; /* folder; NULL: no pictures */
    const char *arrivals[ARRIVALS_MAX];
    size_t arrivals_n;
    const struct strategy *strategies[STRATEGIES_MAX];
    size_t strategy_n;
    enum replay_mode mode;
    enum testbed_mix mix;
    uint64_t seeds[SEEDS_MAX];
    size_t seed_n;
    double load;
    bool json;
};

enum {
    OPT_NODES = 256,
    OPT_PODS,
    OPT_ARRIVALS,
    OPT_STRATEGY,
    OPT_MODE,
    OPT_LOAD,
    OPT_SEED,
    OPT_MIX,
    OPT_SVG,
    OPT_STATE
};

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"pods", required_argument, NULL, OPT_PODS},
    {"arrivals", required_argument, NULL, OPT_ARRIVALS},
    {"strategy", required_argument, NULL, OPT_STRATEGY},
    {"mode", required_argument, NULL, OPT_MODE},
    {"load", required_argument, NULL, OPT_LOAD},
    {"seed", required_argument, NULL, OPT_SEED},
    {"mix", required_argument, NULL, OPT_MIX},
    {"output", required_argument, NULL, 'o'},
    {"state", required_argument, NULL, OPT_STATE},
    {"svg", required_argument, NULL, OPT_SVG},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu sim --nodes FILE --pods FILE --strategy NAME[,NAME...] [options]\n\n"
           "Replays a trace: the pods arrive one by one, and the same code places them as in a cluster.\n"
           "Files are tables as in the openb trace (include/sim/trace.h names the columns).\n\n"
           "  --nodes FILE         machines and their GPUs\n"
           "  --state FILE         instead: a saved /state, with the pods that hold GPUs there\n"
           "  --pods FILE          pods that may arrive\n"
           "  --arrivals FILE      order of arrival and of nodes; may be given several times\n"
           "                       (without one: drawn from --seed, up to 130 %% of the GPUs)\n"
           "  --strategy NAMES     one or several strategies to compare; all: every strategy\n"
           "  --mode fill|steady   pods never leave (default), or come and go at random\n"
           "  --load X             steady: the part of all GPUs that pods ask for, default 0.93\n"
           "  --seed N[,N...]      seeds of random choices, default 1; one replay for each seed\n"
           "  --mix given|learned  what look-ahead strategies expect: the pods of the file "
           "(default), or\n"
           "                       what they have seen so far\n"
           "  -o table|json        default table\n"
           "  --svg FOLDER         also draws pictures: allocation, fragmentation, refusals\n\n"
           "Strategies:\n");
    for (size_t i = 0; strategies[i] != NULL; i++) {
        printf("  %-15s %s\n", strategies[i]->name, strategies[i]->summary);
    }
}

/* ---- options ---- */

static int add_strategies(const char *list, struct options *o)
{
    struct str rest = str_of(list), name;

    while (str_split(&rest, ',', &name)) {
        const struct strategy *s = strategy_find(name);

        if (str_eq_cstr(name, "all")) {
            for (size_t i = 0; strategies[i] != NULL && o->strategy_n < STRATEGIES_MAX; i++) {
                o->strategies[o->strategy_n++] = strategies[i];
            }
            continue;
        }
        if (s == NULL) {
            fprintf(stderr, "fgpu sim: no strategy \"%.*s\"; there are", STR_ARG(name));
            for (size_t i = 0; strategies[i] != NULL; i++) {
                fprintf(stderr, "%s %s", i == 0 ? "" : ",", strategies[i]->name);
            }
            fprintf(stderr, " (or all)\n");
            return EXIT_USAGE;
        }
        for (size_t i = 0; i < o->strategy_n; i++) {
            if (o->strategies[i] == s) {
                return cmd_usage_error("sim", "strategy %s is given twice", s->name);
            }
        }
        if (o->strategy_n < STRATEGIES_MAX) {
            o->strategies[o->strategy_n++] = s;
        }
    }
    return EXIT_OK;
}

static int add_seeds(const char *list, struct options *o)
{
    struct str rest = str_of(list), text;

    while (str_split(&rest, ',', &text)) {
        if (o->seed_n == SEEDS_MAX) {
            return cmd_usage_error("sim", "more than %d seeds", SEEDS_MAX);
        }
        if (!str_to_u64(text, UINT64_MAX, &o->seeds[o->seed_n++])) {
            return cmd_usage_error("sim", "--seed \"%.*s\" is not a whole number", STR_ARG(text));
        }
    }
    return EXIT_OK;
}

static bool parse_load(const char *text, double *ret)
{
    char *end;
    double x = strtod(text, &end);

    *ret = x;
    return end != text && *end == '\0' && x >= 0.01 && x <= 10;
}

/* One word of several; false: neither. */
static bool choose(const char *text, const char *first, const char *second, int *ret)
{
    *ret = strcmp(text, second) == 0;
    return *ret == 1 || strcmp(text, first) == 0;
}

static int set_option(int c, struct options *o)
{
    int v = 0;

    switch (c) {
    case OPT_NODES:
        o->nodes = optarg;
        return EXIT_OK;
    case OPT_PODS:
        o->pods = optarg;
        return EXIT_OK;
    case OPT_ARRIVALS:
        if (o->arrivals_n == ARRIVALS_MAX) {
            return cmd_usage_error("sim", "more than %d files of arrivals", ARRIVALS_MAX);
        }
        o->arrivals[o->arrivals_n++] = optarg;
        return EXIT_OK;
    case OPT_STATE:
        o->state = optarg;
        return EXIT_OK;
    case OPT_SVG:
        o->svg = optarg;
        return EXIT_OK;
    case OPT_STRATEGY:
        return add_strategies(optarg, o);
    case OPT_MODE:
        if (!choose(optarg, "fill", "steady", &v)) {
            return cmd_usage_error("sim", "--mode \"%s\" is neither fill nor steady", optarg);
        }
        o->mode = v == 1 ? REPLAY_STEADY : REPLAY_FILL;
        return EXIT_OK;
    case OPT_LOAD:
        return parse_load(optarg, &o->load)
                   ? EXIT_OK
                   : cmd_usage_error("sim", "--load \"%s\" is not a number from 0.01 to 10",
                                     optarg);
    case OPT_SEED:
        return add_seeds(optarg, o);
    case OPT_MIX:
        if (!choose(optarg, "given", "learned", &v)) {
            return cmd_usage_error("sim", "--mix \"%s\" is neither given nor learned", optarg);
        }
        o->mix = v == 1 ? TESTBED_MIX_LEARNED : TESTBED_MIX_GIVEN;
        return EXIT_OK;
    case 'o':
        if (!choose(optarg, "table", "json", &v)) {
            return cmd_usage_error("sim", "-o \"%s\" is neither table nor json", optarg);
        }
        o->json = v == 1;
        return EXIT_OK;
    default:
        return cmd_usage_error("sim", "unknown option");
    }
}

/* EXIT_OK, or the exit code; -1: help was printed. */
static int parse_options(int argc, char **argv, struct options *o)
{
    int c, r;

    *o = (struct options){.load = 0.93};
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":ho:", long_options, NULL)) != -1) {
        if (c == 'h') {
            print_help();
            return -1;
        }
        if (c == ':') {
            return cmd_usage_error("sim", "%s needs a value", argv[optind - 1]);
        }
        if (c == '?') {
            return cmd_usage_error("sim", "unknown option %s", argv[optind - 1]);
        }
        r = set_option(c, o);
        if (r != EXIT_OK) {
            return r;
        }
    }
    if (optind < argc) {
        return cmd_usage_error("sim", "unexpected \"%s\"", argv[optind]);
    }
    if (o->state != NULL && (o->nodes != NULL || o->arrivals_n > 0)) {
        return cmd_usage_error(
            "sim", "--state already has the nodes; leave out --nodes and --arrivals");
    }
    if ((o->nodes == NULL && o->state == NULL) || o->pods == NULL || o->strategy_n == 0) {
        return cmd_usage_error("sim", "%s is missing",
                               o->nodes == NULL && o->state == NULL ? "--nodes FILE"
                               : o->pods == NULL                    ? "--pods FILE"
                                                                    : "--strategy NAME");
    }
    if (o->seed_n == 0) {
        o->seeds[o->seed_n++] = 1;
    }
    return EXIT_OK;
}

/* ---- input ---- */

static bool trace_asks_gpus(const struct trace *t)
{
    for (size_t i = 0; i < t->pod_n; i++) {
        if (t->pods[i].gpu_milli > 0) {
            return true;
        }
    }
    return false;
}

static int read_input(const struct options *o, const struct state_file *saved, struct trace *t,
                      struct arrivals *all, size_t *ret_n, struct err *reterr)
{
    int r = o->state != NULL ? trace_use_state(t, saved, reterr)
                             : trace_read_nodes(t, o->nodes, reterr);

    r = r != 0 ? r : trace_read_pods(t, o->pods, reterr);
    if (r == 0 && o->mode == REPLAY_STEADY && !trace_asks_gpus(t)) {
        return err_set(reterr, ERR_INVALID, "%s: no pod asks for a GPU, so no load can be offered",
                       o->pods);
    }
    *ret_n = 0;
    for (size_t i = 0; i < o->arrivals_n && r == 0; i++) {
        all[*ret_n].seed = o->seeds[i % o->seed_n];
        r = arrivals_read(t, o->arrivals[i], &all[(*ret_n)++], reterr);
    }
    for (size_t i = 0; i < o->seed_n && o->arrivals_n == 0 && r == 0; i++) {
        r = arrivals_draw(t, o->seeds[i], &all[(*ret_n)++], reterr);
    }
    return r;
}

/* ---- run ---- */

static void follow(struct jobs *jobs, size_t job_n)
{
    bool terminal = isatty(STDERR_FILENO) == 1, said = false;

    while (!jobs_wait(jobs, terminal || said ? 500 : QUIET_MS)) {
        size_t done;
        int percent = jobs_progress(jobs, &done);

        if (terminal) {
            fprintf(stderr, "\rfgpu sim: %zu of %zu replays done, %d %% ", done, job_n, percent);
        } else if (!said) {
            fprintf(stderr, "fgpu sim: %zu replays, %d %% done after %d s\n", job_n, percent,
                    QUIET_MS / 1000);
        }
        said = true;
    }
    if (terminal && said) {
        fprintf(stderr, "\r%60s\r", "");
    }
}

static int print_report(const struct options *o, const struct arrivals *all, size_t n,
                        const struct replay_result *results)
{
    struct report_strategy strategies_of[STRATEGIES_MAX];
    const struct report report = {
        .mode = o->mode, .arrivals = all, .strategies = strategies_of, .strategy_n = o->strategy_n};
    struct strbuf out;
    struct err err;

    for (size_t i = 0; i < o->strategy_n; i++) {
        strategies_of[i] = (struct report_strategy){o->strategies[i]->name, &results[i * n], n};
    }
    strbuf_init(&out, REPORT_BYTES_MAX);
    if (o->json) {
        report_json(&report, &out);
        terminal_print_json(strbuf_view(&out));
    } else {
        report_table(&report, &out);
        terminal_print(strbuf_view(&out));
    }
    strbuf_fini(&out);
    if (o->svg != NULL && plot_write(&report, o->svg, &err) != 0) {
        terminal_complain("sim", err.msg);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int run(const struct options *o, const struct trace *t, const struct arrivals *all, size_t n)
{
    size_t job_n = o->strategy_n * n;
    struct replay_job *todo = xcalloc(job_n, sizeof(*todo));
    struct replay_result *results = xcalloc(job_n, sizeof(*results));
    struct jobs *jobs;
    int code;

    for (size_t i = 0; i < job_n; i++) {
        todo[i] = (struct replay_job){.mode = o->mode,
                                      .trace = t,
                                      .strategy = o->strategies[i / n],
                                      .arrivals = &all[i % n],
                                      .mix = o->mix,
                                      .load = o->load,
                                      .fragmentation = o->svg != NULL};
    }
    jobs = jobs_start(todo, results, job_n, 0);
    follow(jobs, job_n);
    jobs_free(jobs);
    code = print_report(o, all, n, results);
    free(todo);
    free(results);
    return code;
}

static int replay_all(const struct options *o, const struct state_file *saved)
{
    struct arrivals *all = xcalloc(o->arrivals_n + o->seed_n, sizeof(*all));
    struct trace t;
    struct err err;
    size_t n = 0;
    int code;

    trace_init(&t);
    if (read_input(o, saved, &t, all, &n, &err) != 0) {
        terminal_complain("sim", err.msg);
        code = EXIT_RUNTIME;
    } else {
        code = run(o, &t, all, n);
    }
    trace_fini(&t);
    free(all);
    return code;
}

int cmd_sim(int argc, char **argv)
{
    static struct options o; /* large, and only one */
    struct config_names names;
    struct state_file saved;
    struct err err;
    int code = parse_options(argc, argv, &o);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (o.state == NULL) {
        return replay_all(&o, NULL);
    }
    cmd_config_names(&names);
    if (state_file_read(o.state, &names, &saved, &err) != 0) {
        terminal_complain("sim", err.msg);
        return EXIT_RUNTIME;
    }
    code = replay_all(&o, &saved);
    state_file_fini(&saved);
    return code;
}
