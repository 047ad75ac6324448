/* fgpu sim: replays a trace under one or several strategies. */
#include "cmd/commands.h"
#include "cmd/sim_options.h"
#include "cmd/terminal.h"

#include "base/bug.h"
#include "sim/placements.h"
#include "sim/report.h"
#include "sim/scores.h"
#include "sim/state_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPORT_BYTES_MAX (64 * 1024 * 1024)
#define QUIET_MS 2000 /* without a terminal nothing is said for so long */

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

static int read_stays(const struct sim_options *o, struct trace *t, const char *path, struct arrivals *ret,
                      struct err *reterr)
{
    int rc = arrivals_read_stays(t, path, ret, reterr);

    if (rc == 0 && ret->stays[ret->pod_n - 1].arrive_ms < o->warm_up_ms) {
        rc = err_set(reterr, ERR_INVALID, "%s: the last pod arrives at %lld ms, so nothing is left after --warm-up",
                     path, (long long)ret->stays[ret->pod_n - 1].arrive_ms);
    }
    return rc;
}

static int read_input(const struct sim_options *o, const struct state_file *saved, struct trace *t,
                      struct arrivals *all, size_t *ret_n, struct err *reterr)
{
    int rc = o->state != NULL ? trace_use_state(t, saved, reterr) : trace_read_nodes(t, o->nodes, reterr);

    rc = rc != 0 ? rc : trace_read_pods(t, o->pods, reterr);
    if (rc == 0 && o->mode == REPLAY_STEADY && !trace_asks_gpus(t)) {
        return err_set(reterr, ERR_INVALID, "%s: no pod asks for a GPU, so no load can be offered", o->pods);
    }
    *ret_n = 0;
    for (size_t i = 0; i < o->arrivals_n && rc == 0; i++) {
        all[*ret_n].seed = o->seeds[i % o->seed_n];
        rc = o->mode == REPLAY_TIMED ? read_stays(o, t, o->arrivals[i], &all[(*ret_n)++], reterr)
                                     : arrivals_read(t, o->arrivals[i], &all[(*ret_n)++], reterr);
    }
    for (size_t i = 0; i < o->seed_n && o->arrivals_n == 0 && rc == 0; i++) {
        rc = arrivals_draw(t, o->seeds[i], &all[(*ret_n)++], reterr);
    }
    return rc;
}

/* Two runs of the same pods are one: counted twice, it would make chance look like certainty. In steady mode pods come
 * from the seed. */
static int check_orders(const struct sim_options *o, const struct trace *t, const struct arrivals *all)
{
    for (size_t i = 1; i < o->arrivals_n && o->mode != REPLAY_STEADY; i++) {
        for (size_t k = 0; k < i; k++) {
            if (arrivals_equal(t, &all[k], &all[i])) {
                return cmd_usage_error(
                    "sim", "--arrivals %s and --arrivals %s are the same order, so both would be the same run",
                    all[k].label, all[i].label);
            }
        }
    }
    return EXIT_OK;
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
            fprintf(stderr, "fgpu sim: %zu replays, %d %% done after %d s\n", job_n, percent, QUIET_MS / 1000);
        }
        said = true;
    }
    if (terminal && said) {
        fprintf(stderr, "\r%60s\r", "");
    }
}

static void print_report(const struct sim_options *o, const struct report *report)
{
    struct strbuf out;

    strbuf_init(&out, REPORT_BYTES_MAX);
    if (o->json || o->curves) {
        report_json(report, &out);
        terminal_print_json(strbuf_view(&out));
    } else {
        report_table(report, &out);
        terminal_print(strbuf_view(&out));
    }
    strbuf_fini(&out);
}

/* Space for where each arrival of each job goes; NULL: nobody asked. */
static struct testbed_place *add_places(const struct sim_options *o, struct replay_job *todo, size_t job_n)
{
    struct testbed_place *places, *next;
    size_t sum = 0;

    if (o->placements == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < job_n; i++) {
        sum += todo[i].arrivals->pod_n;
    }
    next = places = xcalloc(sum, sizeof(*places));
    for (size_t i = 0; i < job_n; i++) {
        todo[i].places = next;
        next += todo[i].arrivals->pod_n;
    }
    return places;
}

static int conclude(const struct sim_options *o, const struct arrivals *all, size_t n, const struct replay_job *todo,
                    const struct replay_result *results)
{
    struct report_strategy strategies_of[SIM_STRATEGIES_MAX];
    const struct report report = {.mode = o->mode,
                                  .arrivals = all,
                                  .strategies = strategies_of,
                                  .strategy_n = o->strategy_n,
                                  .curves = o->curves};
    struct err err;

    for (size_t i = 0; i < o->strategy_n; i++) {
        strategies_of[i] = (struct report_strategy){o->strategies[i]->name, &results[i * n], n};
    }
    if (o->placements != NULL && placements_write(o->placements, todo, o->strategy_n * n, &err) != 0) {
        terminal_complain("sim", err.msg);
        return EXIT_RUNTIME;
    }
    print_report(o, &report);
    return EXIT_OK;
}

static int run_replays(const struct sim_options *o, const struct trace *t, const struct arrivals *all, size_t n,
                       FILE *scores)
{
    size_t job_n = o->strategy_n * n;
    struct replay_job *todo = xcalloc(job_n, sizeof(*todo));
    struct replay_result *results = xcalloc(job_n, sizeof(*results));
    struct testbed_place *places;
    struct jobs *jobs;
    int code;

    for (size_t i = 0; i < job_n; i++) {
        todo[i] = (struct replay_job){.mode = o->mode,
                                      .trace = t,
                                      .strategy = o->strategies[i / n],
                                      .arrivals = &all[i % n],
                                      .mix = o->mix,
                                      .load = o->load,
                                      .warm_up_ms = o->warm_up_ms,
                                      .scores = scores,
                                      .fragmentation = o->curves};
    }
    places = add_places(o, todo, job_n);
    jobs = jobs_start(todo, results, job_n, o->job_n);
    follow(jobs, job_n);
    jobs_free(jobs);
    code = conclude(o, all, n, todo, results);
    free(places);
    free(todo);
    free(results);
    return code;
}

/* The file of the scores is written while the one replay runs: it would not fit in memory. */
static int run_scored(const struct sim_options *o, const struct trace *t, const struct arrivals *all, size_t n)
{
    struct err err;
    FILE *scores;
    int code;

    if (scores_open(o->scores, &scores, &err) != 0) {
        terminal_complain("sim", err.msg);
        return EXIT_RUNTIME;
    }
    code = run_replays(o, t, all, n, scores);
    if (scores_close(scores, o->scores, &err) != 0) {
        terminal_complain("sim", err.msg);
        return EXIT_RUNTIME;
    }
    return code;
}

static int replay_all(const struct sim_options *o, const struct state_file *saved)
{
    struct arrivals *all = xcalloc(o->arrivals_n + o->seed_n, sizeof(*all));
    struct trace t;
    struct err err;
    size_t n = 0;
    int code = EXIT_OK;

    trace_init(&t);
    if (read_input(o, saved, &t, all, &n, &err) != 0) {
        terminal_complain("sim", err.msg);
        code = EXIT_RUNTIME;
    } else if ((code = check_orders(o, &t, all)) == EXIT_OK) {
        code = o->scores != NULL ? run_scored(o, &t, all, n) : run_replays(o, &t, all, n, NULL);
    }
    trace_fini(&t);
    free(all);
    return code;
}

int cmd_sim(int argc, char **argv)
{
    static struct sim_options o; /* large, and only one */
    struct config_names names;
    struct state_file saved;
    struct err err;
    int code = sim_options_read(argc, argv, &o);

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
