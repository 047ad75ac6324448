/* bench_micro: the parts of a decision in one process, without HTTP. For profilers (perf,
 * callgrind) and for finding out which part a change moved.
 *
 * bench_micro [-n NODES] [-p PODS_A_NODE] [-t SECONDS] [PART...]     all parts without a name
 * bench_micro -r REPEATS PART                                        so many times, for counting
 * instructions
 */
#include "base/bug.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "extender/ingest.h"
#include "extender/placement.h"
#include "kube/objects.h"
#include "model/policy.h"
#include "routes/wire.h"
#include "support/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BODIES = 8 };

struct micro {
    struct bench_cluster cluster;
    const struct policy *policy;
    struct store *store;
    struct ingest ingest;
    struct placement_context placement;
    struct json_reader reader;
    struct arena arena;
    struct strbuf bodies[BODIES]; /* of filter: same shape, names in different orders */
    struct strbuf odd[BODIES];    /* of filter: a shape each */
    struct strbuf event;
    struct strbuf reply;
    uint32_t round;
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

static void write_body(struct strbuf *out, uint32_t node_n, uint32_t pod, bool odd, uint64_t seed)
{
    strbuf_init(out, 64 << 20);
    strbuf_add_cstr(out, "{\"Pod\":");
    bench_write_pending(out, pod, odd, NULL, 1);
    strbuf_add_cstr(out, ",\"Nodes\":null,\"NodeNames\":");
    bench_write_names(out, node_n, seed);
    strbuf_add_char(out, '}');
}

static void set_up(struct micro *m)
{
    const struct ledger_limits limits = {
        .hash_key = {1, 2}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct err err;

    m->policy = policy_defaults();
    m->store = store_new(&limits, clock_system());
    m->ingest = (struct ingest){.store = m->store, .policy = m->policy};
    must(placement_context_init(&m->placement, m->store, m->policy, &err), &err);
    arena_init(&m->arena, 64 << 20);
    strbuf_init(&m->event, 1 << 20);
    strbuf_init(&m->reply, 64 << 20);
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
        write_body(&m->odd[i], m->cluster.node_n, i, true, i + 1);
    }
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
    must(placement_filter(&m->placement, &m->arena, &args.pod, args.names, args.name_n, &result,
                          &err),
         &err);
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

/* The same shape again after a pod of some node changed: what a scheduler does all day. */
static void part_filter_warm(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_bound(&m->event, &m->cluster, m->round * 7919 % bench_bound_n(&m->cluster),
                      m->round + 2);
    feed_pod(m);
    filter(m, &m->bodies[m->round % BODIES]);
}

static void part_filter_cold(struct micro *m)
{
    struct strbuf *body = &m->odd[m->round % BODIES];

    strbuf_fini(body);
    write_body(body, m->cluster.node_n, m->round, true, m->round);
    filter(m, body);
}

/* What writing the body costs in the part above, to be taken off. */
static void part_write_body(struct micro *m)
{
    struct strbuf *body = &m->odd[m->round % BODIES];

    strbuf_fini(body);
    write_body(body, m->cluster.node_n, m->round, true, m->round);
}

static void part_event(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_bound(&m->event, &m->cluster, m->round * 7919 % bench_bound_n(&m->cluster),
                      m->round + 2);
    feed_pod(m);
}

/* A pod without GPUs comes; beyond those there are, it is seen again. */
static void part_event_light(struct micro *m)
{
    enum { LIGHT_PODS = 100000 };

    strbuf_reset(&m->event);
    bench_write_light(&m->event, &m->cluster, m->round * 7919 % LIGHT_PODS, m->round + 2);
    feed_pod(m);
}

static void part_write_light(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_light(&m->event, &m->cluster, m->round, m->round + 2);
}

static void part_write_event(struct micro *m)
{
    strbuf_reset(&m->event);
    bench_write_bound(&m->event, &m->cluster, m->round * 7919 % bench_bound_n(&m->cluster),
                      m->round + 2);
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
static void part_walk(struct micro *m)
{
    const struct ledger_walk_filter all = {0};
    struct arena a;
    struct store_head head;
    struct snapshot section;
    struct store_walk *w;

    arena_init(&a, (size_t)64 << 20);
    w = store_walk_open(m->store, &all, (size_t)64 << 20, &a, &head);
    while (store_walk_next(w, &a, &section) == LEDGER_WALK_MORE) {
        arena_reset(&a);
    }
    store_walk_close(w);
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
    {"write-body", part_write_body},
    {"event", part_event},
    {"write-event", part_write_event},
    {"event-light", part_event_light},
    {"write-light", part_write_light},
    {"snapshot", part_snapshot},
    {"walk", part_walk},
    {"check", part_check},
};

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Of this thread: what others do on the machine is not counted, though it is felt in the caches. */
static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void measure(struct micro *m, const struct part *p, int64_t budget_ns)
{
    enum { SAMPLES_MAX = 100000 };
    int64_t *took_ns = xcalloc(SAMPLES_MAX, sizeof(*took_ns));
    int64_t end = cpu_ns() + budget_ns, now;
    size_t n = 0;

    do {
        int64_t start = cpu_ns();

        p->run(m);
        now = cpu_ns();
        arena_reset(&m->arena);
        took_ns[n++] = now - start;
        m->round++;
    } while (now < end && n < SAMPLES_MAX);
    qsort(took_ns, n, sizeof(*took_ns), by_value);
    printf("%-12s %9.1f us least %9.1f us p50 %9.1f us p99   %zu times\n", p->name, (double)took_ns[0] / 1e3,
           (double)took_ns[n / 2] / 1e3, (double)took_ns[n * 99 / 100] / 1e3, n);
    fflush(stdout);
    free(took_ns);
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
        strbuf_fini(&m->odd[i]);
    }
    free(m);
}

static uint32_t number(const char *text)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), UINT32_MAX, &v)) {
        fprintf(stderr, "bench_micro: \"%s\" is not a number\n", text);
        exit(2);
    }
    return (uint32_t)v;
}

int main(int argc, char **argv)
{
    struct micro *m = xcalloc(1, sizeof(*m));
    uint32_t repeats = 0, seconds = 2;
    int c;

    m->cluster = (struct bench_cluster){5000, 8, 10, 0};
    while ((c = getopt(argc, argv, "n:p:t:r:")) != -1) {
        switch (c) {
        case 'n':
            m->cluster.node_n = number(optarg);
            break;
        case 'p':
            m->cluster.per_node = number(optarg);
            break;
        case 't':
            seconds = number(optarg);
            break;
        case 'r':
            repeats = number(optarg);
            break;
        default:
            return 2;
        }
    }
    set_up(m);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!is_wanted(parts[i].name, argc, argv)) {
            continue;
        }
        if (repeats == 0) {
            measure(m, &parts[i], (int64_t)seconds * 1000000000);
        }
        for (uint32_t k = 0; k < repeats; k++, m->round++) {
            parts[i].run(m);
            arena_reset(&m->arena);
        }
    }
    tear_down(m);
    return 0;
}
