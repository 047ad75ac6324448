/* A cluster in use. Everything random is drawn at an arrival, whether the pod is taken or not, so
 * all strategies see the same pods. */
#include "base/bug.h"
#include "base/rng.h"
#include "sim/replay_internal.h"

#include <math.h>
#include <stdlib.h>

#define WARM_UP 3.0 /* in mean life times */
#define MEASURED 6.0
#define END (WARM_UP + MEASURED)

struct departure {
    double at;
    uint32_t id;
    uint32_t row;
};

struct steady {
    const struct replay_job *job;
    struct replay_result *result;
    struct testbed *testbed;
    struct rng rng;
    double rate; /* arrivals in a mean life time */
    double now;
    double milli_time; /* allocated milli x time, measured */
    int64_t placed_milli;
    struct departure *heap; /* soonest on top */
    size_t heap_n, heap_cap;
};

/* ---- departures ---- */

static bool before(const struct departure *a, const struct departure *b)
{
    return a->at != b->at ? a->at < b->at : a->id < b->id;
}

static void push(struct steady *s, struct departure d)
{
    size_t i = s->heap_n++;

    if (i == s->heap_cap) {
        s->heap_cap = s->heap_cap == 0 ? 1024 : 2 * s->heap_cap;
        s->heap = xreallocarray(s->heap, s->heap_cap, sizeof(*s->heap));
    }
    for (; i > 0 && before(&d, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        s->heap[i] = s->heap[(i - 1) / 2];
    }
    s->heap[i] = d;
}

static struct departure pop(struct steady *s)
{
    struct departure top = s->heap[0], last = s->heap[--s->heap_n];
    size_t i = 0;

    for (size_t child = 1; child < s->heap_n; child = 2 * i + 1) {
        child += child + 1 < s->heap_n && before(&s->heap[child + 1], &s->heap[child]);
        if (!before(&s->heap[child], &last)) {
            break;
        }
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* ---- time ---- */

/* Exponential with mean 1. */
static double exponential(struct rng *rng)
{
    double u = (double)(rng_u64(rng) >> 11) * 0x1p-53; /* 0 <= u < 1 */

    return -log1p(-u);
}

static void pass_time(struct steady *s, double until)
{
    double from = s->now > WARM_UP ? s->now : WARM_UP, to = until < END ? until : END;

    s->milli_time += to > from ? (to - from) * (double)s->placed_milli : 0;
    s->now = until;
}

static void depart_until(struct steady *s, double until)
{
    while (s->heap_n > 0 && s->heap[0].at <= until) {
        struct departure d = pop(s);

        pass_time(s, d.at);
        s->placed_milli -= s->job->trace->pods[d.row].gpu_milli;
        testbed_leave(s->testbed, d.id);
    }
}

static void arrive(struct steady *s, uint32_t id)
{
    uint32_t row = (uint32_t)rng_below(&s->rng, s->job->trace->pod_n);
    double life = exponential(&s->rng);
    const struct trace_pod *p = &s->job->trace->pods[row];
    bool placed = testbed_arrive(s->testbed, id, row, NULL);

    if (placed) {
        s->placed_milli += p->gpu_milli;
        push(s, (struct departure){s->now + life, id, row});
    }
    if (s->now >= WARM_UP) {
        replay_count(&s->result->classes[p->class], p, placed);
    }
}

/* ---- the whole ---- */

static double arrivals_in_a_life(const struct replay_job *job)
{
    int64_t milli = 0;

    for (size_t i = 0; i < job->trace->pod_n; i++) {
        milli += job->trace->pods[i].gpu_milli;
    }
    BUG_ON(milli == 0); /* refused by who read the trace */
    return job->load * (double)job->trace->capacity_milli * (double)job->trace->pod_n / (double)milli;
}

static void conclude(struct steady *s)
{
    struct replay_result *r = s->result;

    r->refused_pct = replay_refused_pct(r->classes);
    r->allocation_pct = 100.0 * s->milli_time / MEASURED / (double)s->job->trace->capacity_milli;
}

void replay_steady(const struct replay_job *job, struct replay_result *ret)
{
    struct steady s = {.job = job,
                       .result = ret,
                       .placed_milli = job->trace->placed_milli,
                       .rate = arrivals_in_a_life(job),
                       .testbed = testbed_new(job->trace, job->arrivals->node_rank, job->strategy, job->mix)};
    int64_t began_ns = replay_cpu_ns();
    uint32_t n = 0;
    double next;

    *ret = (struct replay_result){
        .a100 = REPLAY_NEVER, .a130 = REPLAY_NEVER, .first_refusal_pct = REPLAY_NEVER, .refused_1pp_pct = REPLAY_NEVER};
    testbed_write_scores(s.testbed, job->scores);
    rng_init(&s.rng, job->arrivals->seed);
    next = exponential(&s.rng) / s.rate;
    while (next < END) {
        depart_until(&s, next);
        pass_time(&s, next);
        arrive(&s, n++);
        replay_progress(job, n, (size_t)(END * s.rate) + 1);
        next += exponential(&s.rng) / s.rate;
    }
    depart_until(&s, END);
    pass_time(&s, END);
    ret->decision_n = n;
    ret->ns_per_decision = n > 0 ? (double)(replay_cpu_ns() - began_ns) / n : 0;
    conclude(&s);
    testbed_free(s.testbed);
    free(s.heap);
}
