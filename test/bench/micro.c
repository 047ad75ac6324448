/* bench_micro: the parts of a decision in one process, without HTTP. For profilers (perf,
 * callgrind) and for finding out which part a change moved.
 *
 * bench_micro [-n NODES] [-g GPUS_A_NODE] [-p PODS_A_NODE] [-t SECONDS] [-s STRATEGY[,STRATEGY...]] [-x] [-f] [PART...]
 *     all parts without a name; several strategies are compared part by part; -x: hardly two nodes are alike;
 *     -f: with a flight recorder of 8 MiB
 * bench_micro -r REPEATS PART                                        so many times, for counting
 * instructions
 */
#include "base/bug.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "extender/ingest.h"
#include "extender/placement.h"
#include "extender/store_trace.h"
#include "kube/objects.h"
#include "model/policy.h"
#include "routes/wire.h"
#include "support/cluster.h"
#include "support/program.h"
#include "support/samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODIES = 8, FEW_NAMES = 500, RANKED_NAMES = 100, STRATEGIES_MAX = 8 };

struct micro {
    struct bench_cluster cluster;
    struct policy policy;
    struct store *store;
    struct ingest ingest;
    struct placement_context placement;
    struct json_reader reader;
    struct arena arena;
    struct strbuf bodies[BODIES]; /* of filter: same shape, names in different orders */
    struct strbuf odd;            /* of filter: another shape each time */
    struct strbuf few, ranked;    /* the same shape, fewer names */
    struct strbuf shuffled;       /* the same shape, names in no order */
    struct strbuf event;
    struct strbuf reply;
    uint32_t round;
    bool records;
    int64_t began_ns; /* of this round; later than the call where a part prepares something first */
};

static void must(int r, const struct err *err)
{
    if (r != 0) {
        fprintf(stderr, "bench_micro: %s\n", err->msg);
        exit(1);
    }
}

static void feed_node(struct micro *m, uint32_t i)
{
    struct node node;
    struct err err;

    strbuf_reset(&m->event);
    bench_write_node(&m->event, &m->cluster, i, 1);
    must(kube_parse_node(&m->reader, strbuf_view(&m->event), &m->arena, &node, &err), &err);
    must(ingest_node(&m->ingest, &m->arena, &node, &err), &err);
    arena_reset(&m->arena);
}

static void feed_pod(struct micro *m)
{
    struct pod pod;
    struct err err;

    must(kube_parse_pod(&m->reader, strbuf_view(&m->event), &m->arena, &pod, &err), &err);
    must(ingest_pod(&m->ingest, &m->arena, &pod, &err), &err);
    arena_reset(&m->arena);
}

static void bracket(struct micro *m, enum ledger_op_kind kind)
{
    struct ledger_op op = {.kind = kind};
    struct err err;

    must(store_apply(m->store, &op, &err), &err);
}

static void write_body_of(struct strbuf *out, uint32_t node_n, uint32_t piece, uint32_t pod, bool odd, uint64_t seed)
{
    strbuf_init(out, 64 << 20);
    strbuf_add_cstr(out, "{\"Pod\":");
    bench_write_pending(out, pod, odd, NULL, 1);
    strbuf_add_cstr(out, ",\"Nodes\":null,\"NodeNames\":");
    bench_write_names(out, 0, node_n, piece, seed);
    strbuf_add_char(out, '}');
}

static void write_body(struct strbuf *out, uint32_t node_n, uint32_t pod, bool odd, uint64_t seed)
{
    write_body_of(out, node_n, BENCH_PIECE, pod, odd, seed);
}

static void set_up(struct micro *m, struct str strategy)
{
    const struct ledger_limits limits = {.hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct err err;

    m->policy = *policy_defaults();
    if (strategy.n > 0) {
        m->policy.node_strategy = m->policy.device_strategy = strategy;
    }
    m->store = store_new(&limits, clock_system());
    m->ingest = (struct ingest){.store = m->store, .policy = &m->policy};
    must(placement_context_init(&m->placement, m->store, &m->policy, &err), &err);
    arena_init(&m->arena, 64 << 20);
    strbuf_init(&m->event, 1 << 20);
    strbuf_init(&m->reply, 64 << 20);
    if (m->records) {
        store_record(m->store, (size_t)8 << 20);
    }
    bracket(m, LEDGER_NODES_BEGIN);
    for (uint32_t i = 0; i < m->cluster.node_n; i++) {
        feed_node(m, i);
    }
    bracket(m, LEDGER_NODES_END);
    bracket(m, LEDGER_PODS_BEGIN);
    for (uint32_t i = 0; i < bench_bound_n(&m->cluster); i++) {
        strbuf_reset(&m->event);
        bench_write_bound(&m->event, &m->cluster, i, 1);
        feed_pod(m);
    }
    bracket(m, LEDGER_PODS_END);
    for (uint32_t i = 0; i < BODIES; i++) {
        write_body(&m->bodies[i], m->cluster.node_n, 0, false, i + 1);
    }
    write_body(&m->odd, 1, 0, true, 1);
    write_body_of(&m->shuffled, m->cluster.node_n, 1, 0, false, 1);
    write_body(&m->few, m->cluster.node_n < FEW_NAMES ? m->cluster.node_n : FEW_NAMES, 0, false, 1);
    write_body(&m->ranked, m->cluster.node_n < RANKED_NAMES ? m->cluster.node_n : RANKED_NAMES, 0, false, 1);
}

/* ---- parts ---- */

static void read_args(struct micro *m, const struct strbuf *body, struct extender_args *args)
{
    struct err err;

    must(wire_read_args(strbuf_view(body), &m->arena, args, &err), &err);
}

static void filter(struct micro *m, const struct strbuf *body)
{
    struct extender_args args;
    struct filter_result result;
    struct err err;

    read_args(m, body, &args);
    must(placement_filter(&m->placement, &m->arena, &args.pod, args.names, args.name_n, &result, &err), &err);
    BUG_ON(result.outcome != FILTER_SOME_FIT);
    strbuf_reset(&m->reply);
    wire_write_filter(&m->reply, &args, &result);
}

static void part_read(struct micro *m)
{
    struct extender_args args;

    read_args(m, &m->bodies[m->round % BODIES], &args);
}

/* The same shape again, nothing changed. */
static void part_filter_same(struct micro *m)
{
    filter(m, &m->bodies[m->round % BODIES]);
}

static void part_event(struct micro *m);

/* The same shape again after a pod of some node changed: what a scheduler does all day. */
static void part_filter_warm(struct micro *m)
{
    part_event(m);
    filter(m, &m->bodies[m->round % BODIES]);
}

/* In kube-scheduler's order, which is none: it has its nodes from a map. And between two calls others use the caches.
 */
static void part_filter_shuffled(struct micro *m)
{
    static char others[32 << 20];

    memset(others, (int)m->round, sizeof(others));
    m->began_ns = samples_now_ns();
    filter(m, &m->shuffled);
}

static void part_filter_500(struct micro *m)
{
    part_event(m);
    m->began_ns = samples_now_ns();
    filter(m, &m->few);
}

static void part_filter_cold(struct micro *m)
{
    strbuf_fini(&m->odd);
    write_body(&m->odd, m->cluster.node_n, m->round, true, m->round);
    m->began_ns = samples_now_ns();
    filter(m, &m->odd);
}

static void prioritize(struct micro *m, const struct strbuf *body)
{
    struct prioritize_result result;
    struct extender_args args;
    struct err err;

    read_args(m, body, &args);
    must(placement_prioritize(&m->placement, &m->arena, &args.pod, args.names, args.name_n, &result, &err), &err);
    strbuf_reset(&m->reply);
    wire_write_priorities(&m->reply, &result);
}

static void part_prioritize(struct micro *m)
{
    prioritize(m, &m->ranked);
}

/* With as many names as filter may answer with where `candidates` is 0. */
static void part_prioritize_all(struct micro *m)
{
    prioritize(m, &m->bodies[m->round % BODIES]);
}

/* What bind does with the ledger: one more pod of another shape each time, on any node, and away again. */
static void part_reserve(struct micro *m)
{
    char name[BENCH_NAME_MAX], uid[BENCH_NAME_MAX], node[BENCH_NAME_MAX];
    struct ledger_op op = {.kind = LEDGER_RELEASE};
    struct store_reservation reservation;
    struct err err;

    strbuf_reset(&m->event);
    bench_write_pending(&m->event, m->round, true, NULL, m->round + 2);
    feed_pod(m);
    bench_pending_name(m->round, name);
    bench_pending_uid(m->round, uid);
    bench_node_name(m->round * 5 % m->cluster.node_n, node); /* an empty one */
    m->began_ns = samples_now_ns();
    BUG_ON(store_reserve(m->store, &m->arena, str_of(uid), STR("bench"), str_of(name), str_of(node), STR("d-1"),
                         &m->placement.plans, NULL, &reservation, &err) != STORE_RESERVED);
    op.name = str_of(uid);
    must(store_apply(m->store, &op, &err), &err);
}

static void part_event(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_bound(&m->event, &m->cluster, m->round * 7919 % bench_bound_n(&m->cluster), m->round + 2);
    feed_pod(m);
}

/* A pod without GPUs comes; beyond those there are, it is seen again. */
static void part_event_cpu_only(struct micro *m)
{
    enum { CPU_ONLY_PODS = 100000 };

    strbuf_reset(&m->event);
    bench_write_cpu_only(&m->event, &m->cluster, m->round * 7919 % CPU_ONLY_PODS, m->round + 2);
    feed_pod(m);
}

static void part_write_cpu_only(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_cpu_only(&m->event, &m->cluster, m->round, m->round + 2);
}

static void part_write_event(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_bound(&m->event, &m->cluster, m->round * 7919 % bench_bound_n(&m->cluster), m->round + 2);
}

static void part_snapshot(struct micro *m)
{
    struct arena a;
    struct snapshot snapshot;
    struct err err;

    arena_init(&a, (size_t)512 << 20);
    must(store_snapshot(m->store, &a, STR_NULL, STR_NULL, &snapshot, &err), &err);
    arena_fini(&a);
}

/* One audit's look at the invariants, as a whole. */
static void part_check(struct micro *m)
{
    if (store_check(m->store) != NULL) {
        fprintf(stderr, "bench_micro: the ledger is broken\n");
        exit(1);
    }
}

/* All of the ledger as /state reads it. */
static void part_iterator(struct micro *m)
{
    const struct snapshot_iterator_filter all = {0};
    struct arena a;
    struct store_head head;
    struct snapshot section;
    struct store_iterator *w;

    arena_init(&a, (size_t)64 << 20);
    w = store_iterator_open(m->store, &all, (size_t)64 << 20, &a, &head);
    while (store_iterator_next(w, &a, &section) == SNAPSHOT_ITERATOR_MORE) {
        arena_reset(&a);
    }
    store_iterator_close(w);
    arena_fini(&a);
}

static const struct part {
    const char *name;
    void (*run)(struct micro *m);
} parts[] = {
    {"read", part_read},
    {"filter-same", part_filter_same},
    {"filter-warm", part_filter_warm},
    {"filter-cold", part_filter_cold},
    {"filter-500", part_filter_500},
    {"filter-shuffled", part_filter_shuffled},
    {"prioritize", part_prioritize},
    {"prioritize-all", part_prioritize_all},
    {"reserve", part_reserve},
    {"event", part_event},
    {"write-event", part_write_event},
    {"event-cpu-only", part_event_cpu_only},
    {"write-cpu-only", part_write_cpu_only},
    {"snapshot", part_snapshot},
    {"iterator", part_iterator},
    {"check", part_check},
};

static void measure(struct micro *m, const struct part *p, struct str strategy, int64_t budget_ns)
{
    enum { SAMPLES_MAX = 100000 };
    int64_t end = samples_now_ns() + budget_ns, now;
    struct samples s;

    samples_init(&s, SAMPLES_MAX);
    (void)samples_longest_hold_ns();
    do {
        m->began_ns = samples_now_ns();
        p->run(m);
        now = samples_now_ns();
        arena_reset(&m->arena);
        samples_add(&s, now - m->began_ns);
        m->round++;
    } while (now < end && s.n < SAMPLES_MAX);
    printf("%-15s %-11.*s %9.1f us least %9.1f us p50 %9.1f us p99 %9.1f us longest lock  %zu times\n", p->name,
           STR_ARG(strategy), (double)samples_at(&s, 0) / 1e3, (double)samples_at(&s, 0.5) / 1e3,
           (double)samples_at(&s, 0.99) / 1e3, (double)s.hold_ns / 1e3, s.n);
    fflush(stdout);
    samples_fini(&s);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = optind; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return optind == argc;
}

static void tear_down(struct micro *m)
{
    store_free(m->store);
    arena_fini(&m->arena);
    strbuf_fini(&m->event);
    strbuf_fini(&m->reply);
    for (size_t i = 0; i < BODIES; i++) {
        strbuf_fini(&m->bodies[i]);
    }
    strbuf_fini(&m->odd);
    strbuf_fini(&m->few);
    strbuf_fini(&m->shuffled);
    strbuf_fini(&m->ranked);
    free(m);
}

/* The first decision after a start: everything has to be looked at. */
static void measure_first(struct micro *m, struct str strategy)
{
    (void)samples_longest_hold_ns();
    m->began_ns = samples_now_ns();
    filter(m, &m->bodies[0]);
    printf("%-15s %-11.*s %9.1f us %57.1f us longest lock  once\n", "first", STR_ARG(strategy),
           (double)(samples_now_ns() - m->began_ns) / 1e3, (double)samples_longest_hold_ns() / 1e3);
    arena_reset(&m->arena);
}

/* At least one: without a name, as configured by default. */
static size_t split(const char *list, struct str ret[STRATEGIES_MAX])
{
    size_t n = 0;

    do {
        size_t len = strcspn(list, ",");

        ret[n++] = (struct str){list, len};
        list += len + (list[len] == ',');
    } while (*list != '\0' && n < STRATEGIES_MAX);
    return n;
}

int main(int argc, char **argv)
{
    struct bench_cluster cluster = {.node_n = 5000, .gpu_n = 8, .per_node = 10};
    struct micro *clusters[STRATEGIES_MAX];
    struct str chosen[STRATEGIES_MAX];
    uint32_t repeats = 0, seconds = 2;
    bool records = false;
    size_t n = split("", chosen);
    int c;

    while ((c = getopt(argc, argv, "n:g:p:t:r:s:xf")) != -1) {
        switch (c) {
        case 'n':
            cluster.node_n = option_number(optarg);
            break;
        case 'g':
            cluster.gpu_n = option_number(optarg);
            break;
        case 'p':
            cluster.per_node = option_number(optarg);
            break;
        case 't':
            seconds = option_number(optarg);
            break;
        case 'r':
            repeats = option_number(optarg);
            break;
        case 's':
            n = split(optarg, chosen);
            break;
        case 'x':
            cluster.scattered = true;
            break;
        case 'f':
            records = true;
            break;
        default:
            return 2;
        }
    }
    for (size_t k = 0; k < n; k++) {
        clusters[k] = xcalloc(1, sizeof(*clusters[k]));
        clusters[k]->cluster = cluster;
        clusters[k]->records = records;
        set_up(clusters[k], chosen[k]);
        if (repeats == 0) {
            measure_first(clusters[k], chosen[k]);
        }
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (size_t k = 0; k < n && is_wanted(parts[i].name, argc, argv); k++) {
            if (repeats == 0) {
                measure(clusters[k], &parts[i], chosen[k], (int64_t)seconds * 1000000000);
            }
            for (uint32_t r = 0; r < repeats; r++, clusters[k]->round++) {
                parts[i].run(clusters[k]);
                arena_reset(&clusters[k]->arena);
            }
        }
    }
    for (size_t k = 0; k < n; k++) {
        tear_down(clusters[k]);
    }
    return 0;
}
