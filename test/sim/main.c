/* fgpu-world: the production code in a simulated cluster that is meaner than reality (decision 0098).
 *
 *     fgpu_world [--seed N] [--seeds N] [--steps N] [--until STEP] [--trace] [--log]
 *                [--draw N] [--servers N] [--nodes N] [--gpus N] [--pods N] [--fgpus N]
 *                [--fleet alone|lease|mistake|strict] [--without NAME,NAME...] [--names]
 *
 * A step is one event of the world: something lands, a watch tells, an answer arrives, somebody acts. The same seed
 * gives the same run. Each seed is a process of its own, because nothing of one may be left for the next. Exit 1:
 * something was found; it says what, with the seed and the step.
 *
 * The seed draws the kind of world, then what happens in it. For smaller runs of the same kind (scripts/sim-shrink):
 * --draw is another seed of what happens, the numbers and the fleet are used in the place of those that the seed draws,
 * and what --without names does not happen; --names prints what may be named. */
#include "api.h"
#include "fiber.h"
#include "fleet.h"
#include "kubelets.h"
#include "mask.h"
#include "oracle.h"
#include "process.h"
#include "scheduler.h"
#include "trace.h"
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
    uint64_t seed, seeds, steps, until;
    uint64_t draw, servers, nodes, gpus, pods, fgpus; /* 0: as the seed says */
    const char *without;
    int fleet; /* -1: as the seed says */
    bool trace, log;
    uint64_t digest; /* of all lines that a trace has, or would have */
} run = {.seed = 1, .seeds = 1, .steps = 100000, .without = "", .fleet = -1};

static const struct {
    const char *name;
    uint64_t *to;
} numbers[] = {
    {"--seed", &run.seed}, {"--seeds", &run.seeds},     {"--steps", &run.steps}, {"--until", &run.until},
    {"--draw", &run.draw}, {"--servers", &run.servers}, {"--nodes", &run.nodes}, {"--gpus", &run.gpus},
    {"--pods", &run.pods}, {"--fgpus", &run.fgpus},
};
static const char *const fleets[FLEET__MAX] = {"alone", "lease", "mistake", "strict"};
enum { NUMBER_N = sizeof(numbers) / sizeof(numbers[0]), FIRST_OF_SMALLER = 4 };

bool trace_on = true;
int __real_clock_gettime(clockid_t id, struct timespec *ret);

void trace_line(const char *format, ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (const char *p = line; *p != '\0'; p++) {
        run.digest = (run.digest ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    }
    if (run.trace) {
        printf("%8llu %12.6f %s\n", (unsigned long long)sim_event_n(), (double)sim_now_ns() / 1e9, line);
    }
}

void found(const char *format, ...)
{
    va_list args;

    printf("FOUND with --seed %llu at step %llu (%.3f s): ", (unsigned long long)run.seed,
           (unsigned long long)sim_event_n(), (double)sim_now_ns() / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n    again: --seed %llu --steps %llu", (unsigned long long)run.seed,
           (unsigned long long)sim_event_n() + 1);
    for (size_t i = FIRST_OF_SMALLER; i < NUMBER_N; i++) {
        if (*numbers[i].to != 0) {
            printf(" %s %llu", numbers[i].name, (unsigned long long)*numbers[i].to);
        }
    }
    if (run.fleet >= 0) {
        printf(" --fleet %s", fleets[run.fleet]);
    }
    printf("%s%s --trace\n", run.without[0] != '\0' ? " --without " : "", run.without);
    fflush(stdout);
    _exit(1);
}

static double seconds(void)
{
    struct timespec t;

    (void)__real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned given(uint64_t number, unsigned drawn)
{
    return number != 0 ? (unsigned)number : drawn;
}

static struct climate climate(void)
{
    struct climate c = {.servers = 1 + (unsigned)sim_below(3),
                        .nodes = 1 + (unsigned)sim_below(3),
                        .gpus = 1 + (unsigned)sim_below(4),
                        .pods = 6 + (unsigned)sim_below(24),
                        .late_after_death = sim_chance(250),
                        .forgeries = sim_chance(500),
                        .node_changes = sim_chance(500),
                        .rich = sim_chance(700),
                        .mean_life_ms = 2000 + (int64_t)sim_below(40000),
                        .fleet = sim_chance(400)   ? FLEET_ONE
                                 : sim_chance(650) ? FLEET_LEASE
                                                   : FLEET_MISTAKE};
    const unsigned elect_n = sim_chance(150) ? 1 : 2 + (unsigned)sim_below(2);

    c.servers = given(run.servers, c.servers);
    c.nodes = given(run.nodes, c.nodes);
    c.gpus = given(run.gpus, c.gpus);
    c.pods = given(run.pods, c.pods);
    c.fgpus = elect_n;
    return c;
}

/* Drawn last, so that a seed is what it was before there were strict ones, but for those that are. */
static void settle_fleet(struct climate *c)
{
    const bool strict = sim_chance(200);
    const unsigned strict_n = 1 + (unsigned)sim_below(3);

    c->fleet = run.fleet >= 0 ? (enum fleet)run.fleet : strict ? FLEET_STRICT : c->fleet;
    switch (c->fleet) {
    case FLEET_LEASE:
        break;
    case FLEET_ONE:
        c->fgpus = 1;
        break;
    case FLEET_STRICT:
        c->fgpus = strict_n;
        break;
    case FLEET_MISTAKE:
    case FLEET__MAX:
        c->fgpus = 2;
        break;
    }
    if (run.fgpus != 0 && run.fgpus < c->fgpus) {
        c->fgpus = (unsigned)run.fgpus;
    }
}

static void run_seed(void)
{
    const int64_t lag_ms = 1500;
    const double began = seconds();
    struct climate c;
    uint32_t switches;
    char text[160];
    double took;

    sim_init(run.seed, 0);
    c = climate();
    switches = sim_chance(300) ? 0 : 2 + (uint32_t)sim_below(60);
    settle_fleet(&c);
    sim_init((run.draw != 0 ? run.draw : run.seed) ^ UINT64_C(0x5eed), mask_allows(DO_SWITCHES) ? switches : 0);
    process_init(run.log, c.rich, c.fleet);
    world_init(&c, lag_ms);
    while (sim_event_n() < run.steps && sim_turn()) {
        run.trace = run.trace || (run.until > 0 && sim_event_n() + 500 >= run.until);
        world_step();
    }
    world_end();
    took = seconds() - began;
    printf(
        "seed %llu: %llu steps, %.0f s of the world in %.1f s (%.0f steps/s): %llu pods, %llu granted, %llu refused, "
        "%llu preempted, %llu kills, %llu ends, %llu skips, %llu calms, %llu late, %llu over, %llu pending checked, "
        "%s, %llu containers, %llu refused, %llu agents restarted, digest %016llx\n",
        (unsigned long long)run.seed, (unsigned long long)sim_event_n(), (double)sim_now_ns() / 1e9, took,
        (double)sim_event_n() / took, (unsigned long long)world_counts.created_n,
        (unsigned long long)oracle_counts.granted_n, (unsigned long long)scheduler_counts.refused_n,
        (unsigned long long)world_counts.preempted_n, (unsigned long long)world_counts.killed_n,
        (unsigned long long)world_counts.ended_n, (unsigned long long)oracle_counts.skipped_n,
        (unsigned long long)oracle_counts.compared_n, (unsigned long long)oracle_counts.late_n,
        (unsigned long long)oracle_counts.over_n, (unsigned long long)oracle_counts.pending_checked_n,
        fleet_text(text, sizeof(text)), (unsigned long long)kubelets_counts.admitted_n,
        (unsigned long long)kubelets_counts.refused_n, (unsigned long long)kubelets_counts.restarted_n,
        (unsigned long long)run.digest);
    fflush(stdout);
}

static uint64_t number(const char *text)
{
    char *end;
    const uint64_t n = strtoull(text != NULL ? text : "", &end, 10);

    if (text == NULL || *text == '\0' || *end != '\0') {
        fprintf(stderr, "fgpu_world: \"%s\" is not a number\n", text != NULL ? text : "");
        exit(2);
    }
    return n;
}

static void usage(void)
{
    fprintf(stderr, "fgpu_world [--trace] [--log] [--names] [--fleet NAME] [--without NAME,NAME...]");
    for (size_t i = 0; i < NUMBER_N; i++) {
        fprintf(stderr, " [%s N]", numbers[i].name);
    }
    fprintf(stderr, "\n");
    exit(2);
}

static void choose_fleet(const char *name)
{
    run.fleet = 0;
    while (name != NULL && run.fleet < FLEET__MAX && strcmp(name, fleets[run.fleet]) != 0) {
        run.fleet++;
    }
    if (name == NULL || run.fleet == FLEET__MAX) {
        fprintf(stderr, "fgpu_world: a fleet is alone, lease, mistake or strict\n");
        exit(2);
    }
}

static void leave_out(const char *names)
{
    const char *wrong = "";
    size_t n = 0;

    if (names == NULL || !mask_without(names, &wrong, &n)) {
        fprintf(stderr, "fgpu_world: nothing is called \"%.*s\"; --names prints what may be left out\n", (int)n, wrong);
        exit(2);
    }
    run.without = names;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        size_t at = 0;

        while (at < NUMBER_N && strcmp(argv[i], numbers[at].name) != 0) {
            at++;
        }
        if (strcmp(argv[i], "--trace") == 0) {
            run.trace = true;
        } else if (strcmp(argv[i], "--log") == 0) {
            run.log = true;
        } else if (strcmp(argv[i], "--names") == 0) {
            mask_print();
            exit(0);
        } else if (strcmp(argv[i], "--fleet") == 0) {
            choose_fleet(next);
            i++;
        } else if (strcmp(argv[i], "--without") == 0) {
            leave_out(next);
            i++;
        } else if (at < NUMBER_N) {
            *numbers[at].to = number(next);
            i++;
        } else {
            usage();
        }
    }
    run.steps = run.until > 0 ? run.until + 1 : run.steps;
}

int main(int argc, char **argv)
{
    int failed = 0;

    read_options(argc, argv);
    trace_on = true;
    if (run.seeds == 1) {
        run_seed();
        return 0;
    }
    for (uint64_t i = 0; i < run.seeds; i++, run.seed++) {
        int status = 1;
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0) {
            run_seed();
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            failed++;
            printf("seed %llu: failed\n", (unsigned long long)run.seed);
        }
    }
    printf("%llu seeds, %d failed\n", (unsigned long long)run.seeds, failed);
    return failed == 0 ? 0 : 1;
}
