#include "cmd/sim_options.h"

#include "cmd/commands.h"
#include "cmd/options.h"

#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_ARRIVALS = 256,
    OPT_STRATEGY,
    OPT_MODE,
    OPT_LOAD,
    OPT_SEED,
    OPT_MIX,
    OPT_CURVES,
    OPT_SVG,
    OPT_WARM_UP,
    OPT_JOBS,
};

#define TEXT(member_) OPTION_AT(struct sim_options, member_)

static const char *strategy_word(size_t i, const char **ret_text)
{
    *ret_text = strategies[i] != NULL ? strategies[i]->summary : "";
    return strategies[i] != NULL ? strategies[i]->name : NULL;
}

static const char *strategy_or_all(size_t i, const char **ret_text)
{
    *ret_text = "every strategy";
    return i == 0 ? "all" : strategy_word(i - 1, ret_text);
}

static const struct page_option options[] = {
    {"nodes", .value = "FILE", .text = "machines and their GPUs", .id = TEXT(nodes)},
    {"state", .value = "FILE", .text = "instead: a saved /state, with the pods that hold GPUs there",
     .id = TEXT(state)},
    {"pods", .value = "FILE", .text = "pods that may arrive", .id = TEXT(pods)},
    {"arrivals", .value = "FILE", .id = OPT_ARRIVALS,
     .text =
         "order of arrival and of nodes; may be given several times (without one: drawn from --seed, up to 130 % of "
         "the GPUs); steady: only the order of nodes counts, and each file needs a seed of its own"},
    {"strategy", .value = "NAME[,NAME...]", .id = OPT_STRATEGY, .words = strategy_or_all,
     .text = "one or several strategies to compare; all: every strategy"},
    {"mode", .value = "fill|steady|timed", .id = OPT_MODE,
     .text = "pods never leave (default), or come and go at random, or at the times that the files of --arrivals say: "
             "arrive_ms, depart_ms, pod_row"},
    {"warm-up", .value = "MS", .text = "timed: what comes before is not measured, default 0", .id = OPT_WARM_UP},
    {"placements", .value = "FILE", .text = "timed: also writes where each pod went", .id = TEXT(placements)},
    {"scores", .value = "FILE", .id = TEXT(scores),
     .text = "of one strategy and one order: also writes the score of every node for every pod (columns decision, pod, "
             "scarce_cpu, churn, places, node, verdict, score)"},
    {"load", .value = "X", .text = "steady: the part of all GPUs that pods ask for, default 0.93", .id = OPT_LOAD},
    {"seed", .value = "N[,N...]", .id = OPT_SEED,
     .text = "seeds of random choices, default 1; one replay for each seed, which may come once"},
    {"mix", .value = "given|learned", .id = OPT_MIX,
     .text = "what look-ahead strategies expect: the pods of the file (default), or what they have seen so far"},
    {"jobs", .value = "N", .text = "replays at once, default one for each core", .id = OPT_JOBS},
    {"output", 'o', "table|json", "default table"},
    {"curves", .text = "json with allocation and fragmentation against what has arrived", .id = OPT_CURVES},
    {"svg", .value = "FILE", .id = OPT_SVG}, /* gone, with a word about it */
};

const struct page page_sim = {
    .command = "fgpu sim",
    .usage = "--nodes FILE --pods FILE --strategy NAME[,NAME...] [options]",
    .about =
        "Replays a trace: the pods arrive one by one, and the same code places them as in a cluster.\n"
        "Files are tables (CSV) with the columns of the public openb trace:\n\n"
        "  nodes     sn or name, cpu_milli, memory_mib, gpu (how many), model; and, if you like, gpu_mem_mib,\n"
        "            memory_only (share or free), mig (as 3g.20gb|2g.10gb)\n"
        "  pods      name, cpu_milli, memory_mib, num_gpu, gpu_milli (of each); and, if you like, gpu_spec (models as\n"
        "            A|B), gpu_mem_mib (of each), mig_profile, counts_milli (what it counts for in percentages)",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .list_title = "Strategies",
    .list = strategy_word,
    .exit_codes = "0 ok, 1 failure, 2 usage",
    .examples = "fgpu sim --nodes nodes.csv --pods pods.csv --strategy all\n"
                "fgpu sim --state state.json --pods pods.csv --strategy binpack,fgd --seed 1,2,3",
};

static int add_strategy(const struct strategy *s, struct sim_options *o)
{
    for (size_t i = 0; i < o->strategy_n; i++) {
        if (o->strategies[i] == s) {
            return cmd_usage_error("sim", "strategy %s is given twice", s->name);
        }
    }
    BUG_ON(o->strategy_n == SIM_STRATEGIES_MAX); /* there are not that many */
    o->strategies[o->strategy_n++] = s;
    return EXIT_OK;
}

static int add_all_strategies(struct sim_options *o)
{
    int code = EXIT_OK;

    for (size_t i = 0; strategies[i] != NULL && code == EXIT_OK; i++) {
        code = add_strategy(strategies[i], o);
    }
    return code;
}

static int add_strategies(const char *list, struct sim_options *o)
{
    struct str rest = str_of(list), name;
    int code = EXIT_OK;

    while (code == EXIT_OK && str_split(&rest, ',', &name)) {
        const struct strategy *s = strategy_find(name);

        if (str_eq_cstr(name, "all")) {
            code = add_all_strategies(o);
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
        code = add_strategy(s, o);
    }
    return code;
}

/* The same seed draws the same pods, and a run that is counted twice would make chance look like certainty. */
static int add_seed(uint64_t seed, struct sim_options *o)
{
    for (size_t i = 0; i < o->seed_n; i++) {
        if (o->seeds[i] == seed) {
            return cmd_usage_error("sim", "--seed %llu is given twice; both would be the same run, so give other seeds",
                                   (unsigned long long)seed);
        }
    }
    if (o->seed_n == SIM_SEEDS_MAX) {
        return cmd_usage_error("sim", "more than %d seeds", SIM_SEEDS_MAX);
    }
    o->seeds[o->seed_n++] = seed;
    return EXIT_OK;
}

static int add_seeds(const char *list, struct sim_options *o)
{
    struct str rest = str_of(list), text;
    int code = EXIT_OK;

    while (code == EXIT_OK && str_split(&rest, ',', &text)) {
        uint64_t seed;

        code = str_to_u64(text, UINT64_MAX, &seed)
                   ? add_seed(seed, o)
                   : cmd_usage_error("sim", "--seed \"%.*s\" is not a whole number", STR_ARG(text));
    }
    return code;
}

static bool parse_load(const char *text, double *ret)
{
    char *end;
    double x = strtod(text, &end);

    *ret = x;
    return end != text && *end == '\0' && x >= 0.01 && x <= 10;
}

static int choose_mode(const char *value, struct sim_options *o)
{
    static const char *const names[] = {[REPLAY_FILL] = "fill", [REPLAY_STEADY] = "steady", [REPLAY_TIMED] = "timed"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(value, names[i]) == 0) {
            o->mode = (enum replay_mode)i;
            return EXIT_OK;
        }
    }
    return cmd_usage_error("sim", "--mode \"%s\" is none of fill, steady and timed", value);
}

static int set_number(const char *option, const char *value, uint64_t max, uint64_t *ret)
{
    return str_to_u64(str_of(value), max, ret)
               ? EXIT_OK
               : cmd_usage_error("sim", "%s \"%s\" is not a whole number from 0 to %llu", option, value,
                                 (unsigned long long)max);
}

/* One word of two; *ret: the second. */
static int choose(const char *option, const char *value, const char *first, const char *second, bool *ret)
{
    *ret = strcmp(value, second) == 0;
    return *ret || strcmp(value, first) == 0
               ? EXIT_OK
               : cmd_usage_error("sim", "%s \"%s\" is neither %s nor %s", option, value, first, second);
}

static int take_option(void *ret, int option, const char *value)
{
    struct sim_options *o = ret;
    bool second = false;
    uint64_t number = 0;
    int code;

    switch (option) {
    case OPT_ARRIVALS:
        if (o->arrivals_n == SIM_ARRIVALS_MAX) {
            return cmd_usage_error("sim", "more than %d files of arrivals", SIM_ARRIVALS_MAX);
        }
        o->arrivals[o->arrivals_n++] = value;
        return EXIT_OK;
    case OPT_STRATEGY:
        return add_strategies(value, o);
    case OPT_MODE:
        return choose_mode(value, o);
    case OPT_LOAD:
        return parse_load(value, &o->load)
                   ? EXIT_OK
                   : cmd_usage_error("sim", "--load \"%s\" is not a number from 0.01 to 10", value);
    case OPT_SEED:
        return add_seeds(value, o);
    case OPT_MIX:
        code = choose("--mix", value, "given", "learned", &second);
        o->mix = second ? TESTBED_MIX_LEARNED : TESTBED_MIX_GIVEN;
        return code;
    case OPT_CURVES:
        o->curves = true;
        return EXIT_OK;
    case OPT_SVG:
        return cmd_usage_error("sim", "--svg is gone; pipe `fgpu sim ... --curves` to `scripts/plot-packing %s`",
                               value);
    case OPT_WARM_UP:
        code = set_number("--warm-up", value, STAY_MS_MAX, &number);
        o->warm_up_ms = (int64_t)number;
        return code;
    case OPT_JOBS:
        code = set_number("--jobs", value, SIM_JOBS_MAX, &number);
        o->job_n = (unsigned)number;
        return code;
    default:
        return choose("-o", value, "table", "json", &o->json);
    }
}

/* Files of arrivals say who arrives, and in steady mode only which node wins ties: there the seed draws the pods, and
 * two files with one seed would be the same pods twice. */
static int check_seeds(const struct sim_options *o)
{
    if (o->arrivals_n == 0) {
        return EXIT_OK;
    }
    if (o->mode != REPLAY_STEADY && o->seed_n > 0) {
        return cmd_usage_error(
            "sim", "--seed changes nothing beside --arrivals, which says who arrives; leave one of the two out");
    }
    if (o->mode == REPLAY_STEADY && o->arrivals_n != (o->seed_n > 0 ? o->seed_n : 1)) {
        return cmd_usage_error(
            "sim", "--mode steady draws the pods from the seed; give one seed for each file of --arrivals, here %zu",
            o->arrivals_n);
    }
    return EXIT_OK;
}

static int check_complete(const struct sim_options *o)
{
    if (o->state != NULL && (o->nodes != NULL || o->arrivals_n > 0)) {
        return cmd_usage_error("sim", "--state already has the nodes; leave out --nodes and --arrivals");
    }
    if ((o->nodes == NULL && o->state == NULL) || o->pods == NULL || o->strategy_n == 0) {
        return cmd_usage_error("sim", "%s is missing",
                               o->nodes == NULL && o->state == NULL ? "--nodes FILE"
                               : o->pods == NULL                    ? "--pods FILE"
                                                                    : "--strategy NAME");
    }
    if (o->mode == REPLAY_TIMED && o->arrivals_n == 0) {
        return cmd_usage_error("sim", "--mode timed needs --arrivals FILE, which says when pods come and go");
    }
    if (o->scores != NULL && o->state != NULL) {
        return cmd_usage_error("sim", "--scores names nodes by their row; give --nodes FILE instead of --state");
    }
    if (o->scores != NULL && o->strategy_n * (o->arrivals_n > 0 ? o->arrivals_n : o->seed_n) > 1) {
        return cmd_usage_error("sim", "--scores is of one replay; give one strategy and one order or seed");
    }
    if (o->mode != REPLAY_TIMED && (o->warm_up_ms > 0 || o->placements != NULL)) {
        return cmd_usage_error("sim", "%s needs --mode timed", o->placements != NULL ? "--placements" : "--warm-up");
    }
    return EXIT_OK;
}

int sim_options_read(int argc, char **argv, struct sim_options *o)
{
    static const struct command_line line = {.page = &page_sim, .once = true, .take = take_option};
    int code;

    *o = (struct sim_options){.load = 0.93};
    code = options_read(&line, argc, argv, o);
    code = code == EXIT_OK ? check_seeds(o) : code;
    if (o->seed_n == 0) {
        o->seeds[o->seed_n++] = 1;
    }
    code = code == EXIT_OK ? check_complete(o) : code;
    return code == EXIT_OK ? sim_outputs_check(o) : code;
}
