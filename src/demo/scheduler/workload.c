/* Everybody but the scheduler: those who create pods, those who delete them, and the kubelets. */
#include "demo/scheduler/player_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "demo/checker/checker.h"
#include "demo/doc_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 20
#define LIFE_MIN_S 8
#define LIFE_MAX_S 40
#define PATIENCE_NS (20 * NS_PER_S) /* a pod that waits longer is deleted by its owner */
#define GRACE_NS (NS_PER_S / 2)     /* from the deletion to the end of the processes */
#define REMAINS_NS NS_PER_S         /* for which a finished pod stays to be looked at */
#define LOAD_PCT 105                /* compute asked for, of what there is */
#define RAMP_PCT 80                 /* of the steady population arrives RAMP_FACTOR times as fast */
#define RAMP_FACTOR 6
#define SERIAL_LABEL "demo.fgpu.io/serial"

enum gpu_request_form { FORM_MILLI, FORM_MEMORY, FORM_DEVICES, FORM_FRACTION };

struct shape {
    const char *name;
    uint32_t share; /* of 100 */
    enum gpu_request_form form;
    int32_t devices;
    int32_t from, to, step; /* milli, or MiB for FORM_MEMORY */
    int32_t typical_milli;  /* all devices together, to set the arrival rate */
};

static const struct shape shapes[] = {
    {"notebook", 22, FORM_MILLI, 1, 100, 300, 100, 200}, {"infer", 24, FORM_MILLI, 1, 200, 500, 50, 350},
    {"train", 16, FORM_MILLI, 1, 400, 700, 100, 550},    {"embed", 12, FORM_MEMORY, 1, 4096, 12288, 4096, 140},
    {"half", 6, FORM_FRACTION, 1, 500, 500, 1, 500},     {"pair", 8, FORM_MILLI, 2, 400, 500, 100, 900},
    {"whole", 8, FORM_DEVICES, 1, 1000, 1000, 1, 1000},  {"multi", 4, FORM_DEVICES, 2, 1000, 1000, 1, 2000},
};

struct life {
    int64_t due_ns; /* of what comes next */
};

struct workload {
    struct rng rng;
    struct life *lives; /* by serial */
    size_t life_n;
    int64_t next_arrival_ns;
    int64_t interval_ns; /* mean time between arrivals, real */
    int64_t steady_n;    /* pods at once when the load is what was asked for */
    bool pairs;          /* nodes have two devices or more */
    int64_t now_ns;
    struct player *p;
};

struct workload *workload_new(uint64_t seed)
{
    struct workload *w = xcalloc(1, sizeof(*w));
    rng_init(&w->rng, seed + 1); /* not the scheduler's sequence */
    return w;
}

void workload_free(struct workload *w)
{
    if (w) {
        free(w->lives);
        free(w);
    }
}

/* Little's law: population = rate * life; demand = population * typical demand. */
static void plan(struct workload *w)
{
    struct checker_report r;
    int64_t typical = 0, total = 0;
    checker_run(w->p->apiserver, &r);
    w->pairs = r.device_n >= 2 * r.node_n;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (w->pairs || shapes[i].devices == 1) {
            typical += shapes[i].typical_milli * (int64_t)shapes[i].share;
            total += shapes[i].share;
        }
    }
    BUG_ON(typical <= 0); /* some shape has one device */
    w->steady_n = r.milli_capacity * LOAD_PCT / 100 * total / typical;
    w->steady_n = w->steady_n > 0 ? w->steady_n : 1;
    w->interval_ns = player_scaled_ns(w->p, (LIFE_MIN_S + LIFE_MAX_S) * NS_PER_S / 2) / w->steady_n;
    checker_report_fini(&r);
}

static const struct shape *pick_shape(struct workload *w)
{
    for (;;) {
        uint64_t at = rng_below(&w->rng, 100);
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
            if (at < shapes[i].share) {
                if (shapes[i].devices > 1 && !w->pairs) {
                    break;
                }
                return &shapes[i];
            }
            at -= shapes[i].share;
        }
    }
}

static void add_limits(struct strbuf *out, const struct shape *s, int64_t amount)
{
    bool counted = s->devices > 1 || s->form == FORM_DEVICES,
         measured = s->form == FORM_MILLI || s->form == FORM_MEMORY;

    if (measured) {
        strbuf_addf(out, "\"fgpu.io/gpu-%s\":\"%" PRId64 "\"%s", s->form == FORM_MILLI ? "milli" : "memory-mib", amount,
                    counted ? "," : "");
    }
    if (counted) {
        strbuf_addf(out, "\"fgpu.io/gpu-count\":\"%d\"", s->devices);
    }
}

static void add_pod(struct strbuf *out, const struct shape *s, int64_t amount, size_t serial)
{
    static const char *const teams[] = {"team-a", "team-b", "team-c"};

    strbuf_addf(out, "{\"metadata\":{\"name\":\"%s-%04zu\",\"namespace\":\"%s\"", s->name, serial,
                teams[serial % ARRAY_LEN(teams)]);
    strbuf_addf(out, ",\"labels\":{\"app\":\"%s\",\"" SERIAL_LABEL "\":\"%zu\"}", s->name, serial);
    if (s->form == FORM_FRACTION) {
        strbuf_addf(out, ",\"annotations\":{\"fgpu.io/gpu-fraction\":\"0.%03" PRId64 "\"}", amount);
    }
    strbuf_add_cstr(out, "},\"spec\":{\"schedulerName\":\"" PLAYER_SCHEDULER "\",\"containers\":[{\"name\":\"main\","
                         "\"image\":\"example.com/demo\",\"resources\":{\"limits\":{");
    add_limits(out, s, amount);
    strbuf_add_cstr(out, "}}}]}}");
}

static void arrive(struct workload *w)
{
    struct strbuf out;
    struct err err;
    const struct shape *s = pick_shape(w);
    uint64_t steps = (uint64_t)((s->to - s->from) / s->step) + 1;
    int64_t amount = s->from + s->step * (int64_t)rng_below(&w->rng, steps);
    strbuf_init(&out, 65536);
    add_pod(&out, s, amount, w->life_n);
    int rc = apiserver_create(w->p->apiserver, APISERVER_PODS, out.p, &err);
    strbuf_fini(&out);
    if ((w->life_n & (w->life_n - 1)) == 0) {
        w->lives = xreallocarray(w->lives, w->life_n ? w->life_n * 2 : 1, sizeof(*w->lives));
    }
    w->lives[w->life_n++].due_ns = w->now_ns + player_scaled_ns(w->p, PATIENCE_NS);
    if (rc == 0) { /* it fails when somebody else has taken the name */
        mutex_lock(&w->p->lock);
        w->p->stats.created++;
        mutex_unlock(&w->p->lock);
    }
}

static void arrivals(struct workload *w)
{
    while (w->now_ns >= w->next_arrival_ns && !atomic_load(&w->p->stop)) {
        bool ramp = (int64_t)w->life_n < w->steady_n * RAMP_PCT / 100;
        int64_t mean = ramp ? w->interval_ns / RAMP_FACTOR : w->interval_ns;
        arrive(w);
        w->next_arrival_ns += 1 + (int64_t)rng_below(&w->rng, 2 * (uint64_t)mean + 1);
    }
}

/* The life of a pod of ours; NULL for one that somebody else created. */
static struct life *life_of(struct workload *w, const cJSON *pod)
{
    uint64_t serial;
    const char *text = cJSON_GetStringValue(doc_field(doc_at(pod, "metadata.labels"), SERIAL_LABEL));
    if (!text || !str_to_u64(str_of(text), UINT32_MAX, &serial) || serial >= w->life_n) {
        return NULL;
    }
    return &w->lives[serial];
}

static void count(struct player *p, uint64_t *counter)
{
    mutex_lock(&p->lock);
    (*counter)++;
    mutex_unlock(&p->lock);
}

static void delete_pod(struct workload *w, const cJSON *pod, int32_t grace_s)
{
    /* Gone already is as good. */
    (void)!apiserver_delete(w->p->apiserver, APISERVER_PODS, doc_text(pod, "metadata.namespace"),
                            doc_text(pod, "metadata.name"), grace_s, NULL);
}

static void set_phase(struct workload *w, const cJSON *pod, const char *phase)
{
    char json[64];
    snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"}}", phase);
    (void)!apiserver_patch(w->p->apiserver, APISERVER_PODS, doc_text(pod, "metadata.namespace"),
                           doc_text(pod, "metadata.name"), json, NULL);
}

/* A pod that runs has come to its end: half finish, half are deleted by their owners. */
static void end_running(struct workload *w, const cJSON *pod, struct life *life)
{
    count(w->p, &w->p->stats.finished);
    if (rng_below(&w->rng, 2) == 0) {
        set_phase(w, pod, "Succeeded");
        life->due_ns = w->now_ns + player_scaled_ns(w->p, REMAINS_NS);
    } else {
        delete_pod(w, pod, 30);
        life->due_ns = w->now_ns + player_scaled_ns(w->p, GRACE_NS);
    }
}

static void tend(void *ctx, const cJSON *pod)
{
    struct workload *w = ctx;
    struct life *life = life_of(w, pod);
    const char *phase = doc_text(pod, "status.phase");
    bool due = !life || w->now_ns >= life->due_ns;

    if (doc_text(pod, "metadata.deletionTimestamp")[0]) {
        if (due) {
            delete_pod(w, pod, 0);
        }
    } else if (doc_text(pod, "spec.nodeName")[0] == '\0') {
        if (life && due) {
            count(w->p, &w->p->stats.gave_up);
            delete_pod(w, pod, 0);
        }
    } else if (strcmp(phase, "Pending") == 0) {
        set_phase(w, pod, "Running");
        if (life) {
            int64_t ms = (int64_t)rng_below(&w->rng, (LIFE_MAX_S - LIFE_MIN_S) * 1000) + LIFE_MIN_S * 1000;
            life->due_ns = w->now_ns + player_scaled_ns(w->p, ms * NS_PER_MS);
        }
    } else if (strcmp(phase, "Running") == 0) {
        if (life && due) {
            end_running(w, pod, life);
        }
    } else if (life && due) {
        delete_pod(w, pod, 0);
    }
}

void *player_work(void *ctx)
{
    struct player *p = ctx;
    struct workload *w = p->workload;
    w->p = p;
    plan(w);
    w->next_arrival_ns = clock_mono_ns(p->clock);
    while (!atomic_load(&p->stop)) {
        w->now_ns = clock_mono_ns(p->clock);
        arrivals(w);
        apiserver_each(p->apiserver, APISERVER_PODS, tend, w);
        player_sleep_ms(TICK_MS);
    }
    return NULL;
}
