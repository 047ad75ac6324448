#include "sim/replay.h"

#include "sim/replay_internal.h"

#include <math.h>

struct fill {
    const struct replay_job *job;
    struct replay_result *result;
    int64_t arrived_milli, placed_milli, refused_milli;
    double curve_sum[REPLAY_PCT_MAX + 1];
    uint32_t curve_n[REPLAY_PCT_MAX + 1];
};

static double percent(int64_t part, int64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

/* One record after every arrival, allocation rounded to 0.01 and arrived to a whole percent: as
 * published. */
static void record(struct fill *f, struct testbed *b)
{
    int64_t capacity = f->job->trace->capacity_milli;
    double allocated = round(percent(f->placed_milli, capacity) * 100) / 100;
    long arrived = lround(percent(f->arrived_milli, capacity));

    if (arrived <= REPLAY_PCT_MAX) {
        if (f->job->fragmentation && f->curve_n[arrived] == 0) {
            f->result->fragmentation[arrived] = testbed_fragmentation(b);
        }
        f->curve_sum[arrived] += allocated;
        f->curve_n[arrived]++;
    }
}

static void refuse(struct fill *f, const struct trace_pod *p)
{
    int64_t capacity = f->job->trace->capacity_milli;
    struct replay_result *r = f->result;

    f->refused_milli += p->gpu_milli;
    if (isnan(r->first_refusal_pct)) {
        r->first_refusal_pct = percent(f->arrived_milli, capacity);
    }
    if (isnan(r->refused_1pp_pct) && f->refused_milli * 100 >= capacity) {
        r->refused_1pp_pct = percent(f->arrived_milli, capacity);
    }
}

static void conclude(struct fill *f)
{
    struct replay_result *r = f->result;
    int64_t asked = f->arrived_milli - f->job->trace->placed_milli;

    for (int i = 0; i <= REPLAY_PCT_MAX; i++) {
        r->curve[i] = f->curve_n[i] > 0 ? f->curve_sum[i] / f->curve_n[i] : REPLAY_NEVER;
    }
    r->a100 = r->curve[100];
    r->a130 = r->curve[130];
    r->allocation_pct = percent(f->placed_milli, f->job->trace->capacity_milli);
    r->refused_pct = asked > 0 ? percent(f->refused_milli, asked) : 0;
}

void replay_fill(const struct replay_job *job, struct replay_result *ret)
{
    const struct arrivals *a = job->arrivals;
    struct fill f = {
        .job = job, .result = ret, .arrived_milli = job->trace->placed_milli, .placed_milli = job->trace->placed_milli};
    struct testbed *b = testbed_new(job->trace, a->node_rank, job->strategy, job->mix);
    int64_t began_ns;

    *ret = (struct replay_result){.first_refusal_pct = REPLAY_NEVER, .refused_1pp_pct = REPLAY_NEVER};
    for (int i = 0; i <= REPLAY_PCT_MAX; i++) {
        ret->fragmentation[i] = REPLAY_NEVER;
    }
    testbed_write_scores(b, job->scores);
    began_ns = replay_cpu_ns();
    for (size_t i = 0; i < a->pod_n; i++) {
        const struct trace_pod *p = &job->trace->pods[a->pods[i]];
        bool placed = testbed_arrive(b, (uint32_t)i, a->pods[i], NULL);

        f.arrived_milli += p->gpu_milli;
        f.placed_milli += placed ? p->gpu_milli : 0;
        replay_count(&ret->classes[p->class], p, placed);
        if (!placed) {
            refuse(&f, p);
        }
        record(&f, b);
        replay_progress(job, i, a->pod_n);
    }
    ret->decision_n = a->pod_n;
    ret->ns_per_decision = (double)(replay_cpu_ns() - began_ns) / (double)a->pod_n;
    conclude(&f);
    testbed_free(b);
}
