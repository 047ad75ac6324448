/* Pods that come and go at given times. The times do not depend on what is placed, so all strategies see the same
 * pods. */
#include "base/bug.h"
#include "sim/replay_internal.h"

#include <stdlib.h>

struct timed {
    const struct replay_job *job;
    struct replay_result *result;
    struct testbed *testbed;
    uint32_t *by_departure; /* arrivals, soonest to end first */
    size_t departed_n;      /* of these, looked at already */
    bool *placed;           /* by arrival */
    int64_t now_ms, placed_milli;
    double milli_ms; /* allocated milli x time, measured */
};

/* ---- departures ---- */

struct departure {
    int64_t at_ms;
    uint32_t arrival;
};

static int by_time(const void *a, const void *b)
{
    const struct departure *p = a, *q = b;

    return p->at_ms != q->at_ms ? (p->at_ms > q->at_ms) - (p->at_ms < q->at_ms)
                                : (p->arrival > q->arrival) - (p->arrival < q->arrival);
}

static uint32_t *sort_departures(const struct arrivals *a)
{
    struct departure *all = xcalloc(a->pod_n, sizeof(*all));
    uint32_t *ret = xcalloc(a->pod_n, sizeof(*ret));

    for (uint32_t i = 0; i < a->pod_n; i++) {
        all[i] = (struct departure){a->stays[i].depart_ms, i};
    }
    qsort(all, a->pod_n, sizeof(*all), by_time);
    for (size_t i = 0; i < a->pod_n; i++) {
        ret[i] = all[i].arrival;
    }
    free(all);
    return ret;
}

/* ---- time ---- */

static const struct trace_pod *pod_of(const struct timed *s, uint32_t arrival)
{
    return &s->job->trace->pods[s->job->arrivals->pods[arrival]];
}

static void pass_time(struct timed *s, int64_t until_ms)
{
    int64_t from_ms = s->now_ms > s->job->warm_up_ms ? s->now_ms : s->job->warm_up_ms;

    s->milli_ms += until_ms > from_ms ? (double)(until_ms - from_ms) * (double)s->placed_milli : 0;
    s->now_ms = until_ms;
}

/* Who ends at this very moment makes room for who arrives. All that end by now have arrived: a stay takes time. */
static void depart_until(struct timed *s, int64_t until_ms)
{
    const struct arrivals *a = s->job->arrivals;

    for (; s->departed_n < a->pod_n; s->departed_n++) {
        uint32_t i = s->by_departure[s->departed_n];

        if (a->stays[i].depart_ms > until_ms) {
            return;
        }
        if (s->placed[i]) {
            pass_time(s, a->stays[i].depart_ms);
            s->placed_milli -= pod_of(s, i)->gpu_milli;
            testbed_leave(s->testbed, i);
        }
    }
}

static void arrive(struct timed *s, uint32_t i)
{
    const struct trace_pod *p = pod_of(s, i);
    struct testbed_place *place = s->job->places != NULL ? &s->job->places[i] : NULL;

    s->placed[i] = testbed_arrive(s->testbed, i, s->job->arrivals->pods[i], place);
    s->placed_milli += s->placed[i] ? p->gpu_milli : 0;
    if (s->now_ms >= s->job->warm_up_ms) {
        replay_count(&s->result->classes[p->class], p, s->placed[i]);
    }
}

/* ---- the whole ---- */

static void conclude(struct timed *s)
{
    struct replay_result *r = s->result;
    const double measured_ms = (double)(s->now_ms - s->job->warm_up_ms);

    r->refused_pct = replay_refused_pct(r->classes);
    r->allocation_pct =
        measured_ms > 0 ? 100.0 * s->milli_ms / measured_ms / (double)s->job->trace->capacity_milli : REPLAY_NEVER;
}

void replay_timed(const struct replay_job *job, struct replay_result *ret)
{
    const struct arrivals *a = job->arrivals;
    struct timed s = {.job = job,
                      .result = ret,
                      .placed_milli = job->trace->placed_milli,
                      .by_departure = sort_departures(a),
                      .placed = xcalloc(a->pod_n, sizeof(*s.placed)),
                      .testbed = testbed_new(job->trace, a->node_rank, job->strategy, job->mix)};
    int64_t began_ns = replay_cpu_ns();

    *ret = (struct replay_result){
        .a100 = REPLAY_NEVER, .a130 = REPLAY_NEVER, .first_refusal_pct = REPLAY_NEVER, .refused_1pp_pct = REPLAY_NEVER};
    testbed_write_scores(s.testbed, job->scores);
    for (uint32_t i = 0; i < a->pod_n; i++) {
        depart_until(&s, a->stays[i].arrive_ms);
        pass_time(&s, a->stays[i].arrive_ms);
        arrive(&s, i);
        replay_progress(job, i, a->pod_n);
    }
    ret->decision_n = a->pod_n;
    ret->ns_per_decision = (double)(replay_cpu_ns() - began_ns) / (double)a->pod_n;
    conclude(&s);
    testbed_free(s.testbed);
    free(s.placed);
    free(s.by_departure);
}
