/* The scenario runner: takes the steps of a scenario, one after the other. */
#include "demo/scenarios/scenario_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/sync.h"
#include "demo/apiserver/apiserver.h"
#include "demo/doc_internal.h"
#include "demo/http_client_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 20
#define PATIENCE_MS 30000 /* for what must come true */
#define SAY_WEIGHT 5      /* of the time a step gets: a sentence wants to be read */
#define STATE_BYTES_MAX (4 << 20)
#define LINE_CHARS_MAX 680
#define LINE_BYTES_MAX 4096
#define STATE_TIMEOUT_MS 5000

struct scenario_runner {
    struct scenario_runner_options o;
    char state_url[192];
    const struct clock *clock;
    int64_t start_ns;
    struct thread thread;
    bool joined;
    struct mutex lock; /* of the rest */
    char said[512], held[sizeof(((struct claim *)NULL)->text)];
    struct scenario_result result;
};

static void lock(struct scenario_runner *t)
{
    mutex_lock(&t->lock);
}

static void unlock(struct scenario_runner *t)
{
    mutex_unlock(&t->lock);
}

static int64_t elapsed_ms(const struct scenario_runner *t)
{
    return (clock_mono_ns(t->clock) - t->start_ns) / NS_PER_MS;
}

static bool stopped(const struct scenario_runner *t)
{
    return atomic_load(t->o.stop);
}

static void wait_until(const struct scenario_runner *t, int64_t ms)
{
    while (!stopped(t) && elapsed_ms(t) < ms) {
        int64_t left = ms - elapsed_ms(t);
        const struct timespec ts = {.tv_nsec = (long)(left < LOOK_MS ? left + 1 : LOOK_MS) * 1000000L};

        nanosleep(&ts, NULL);
    }
}

/* One line for who reads instead of watching. Nobody is hurt when it cannot be written. */
static void narrate(const struct scenario_runner *t, const char *what, const char *text)
{
    struct strbuf line;
    int64_t s = elapsed_ms(t) / 1000;

    if (t->o.fd < 0) {
        return;
    }
    strbuf_init(&line, LINE_BYTES_MAX);
    strbuf_addf(&line, "%02" PRId64 ":%02" PRId64 "  %-5s ", s / 60, s % 60, what);
    (void)printable_add(&line, str_of(text), LINE_CHARS_MAX, "");
    strbuf_add_char(&line, '\n');
    (void)!write(t->o.fd, line.p, line.n);
    strbuf_fini(&line);
}

/* ---- steps ---- */

static void fail(struct scenario_runner *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void fail(struct scenario_runner *t, const char *fmt, ...)
{
    va_list ap;

    lock(t);
    va_start(ap, fmt);
    vsnprintf(t->result.failure, sizeof(t->result.failure), fmt, ap);
    va_end(ap);
    unlock(t);
}

static void say(struct scenario_runner *t, const char *text)
{
    lock(t);
    snprintf(t->said, sizeof(t->said), "%s", text);
    t->held[0] = '\0';
    t->result.scene_n++;
    unlock(t);
    narrate(t, "", text);
}

static int create_pods(struct scenario_runner *t, const struct scenario_step *s, struct err *reterr)
{
    int rc = 0;

    for (int32_t i = 1; i <= s->n && rc == 0; i++) {
        char name[128], *text;
        cJSON *pod;

        snprintf(name, sizeof(name), s->n > 1 ? "%s-%d" : "%s", s->a, i);
        pod = scenario_pod_object(name, &s->pod);
        text = doc_print(pod);
        rc = apiserver_create(t->o.apiserver, APISERVER_PODS, text, reterr);
        free(text);
        cJSON_Delete(pod);
    }
    return rc;
}

struct doomed {
    const char *pattern;
    struct {
        char namespace_[64], name[128];
    } pods[64];
    size_t n;
};

static void see_doomed(void *ctx, const cJSON *pod)
{
    struct doomed *d = ctx;
    const char *name = doc_text(pod, "metadata.name");

    if (str_match_glob(str_of(d->pattern), str_of(name)) && d->n < ARRAY_LEN(d->pods)) {
        snprintf(d->pods[d->n].namespace_, sizeof(d->pods[0].namespace_), "%s", doc_text(pod, "metadata.namespace"));
        snprintf(d->pods[d->n++].name, sizeof(d->pods[0].name), "%s", name);
    }
}

static int delete_pods(struct scenario_runner *t, const struct scenario_step *s, struct err *reterr)
{
    struct doomed d = {.pattern = s->a};
    int rc = 0;

    apiserver_each(t->o.apiserver, APISERVER_PODS, see_doomed, &d);
    if (d.n == 0) {
        return err_set(reterr, ERR_NOT_FOUND, "there is no pod %s to delete", s->a);
    }
    for (size_t i = 0; i < d.n && rc == 0; i++) {
        rc = apiserver_delete(t->o.apiserver, APISERVER_PODS, d.pods[i].namespace_, d.pods[i].name, 0, reterr);
    }
    return rc;
}

static int set_clock(struct scenario_runner *t, const struct scenario_step *s, struct err *reterr)
{
    int64_t wall_ms;

    if (!clock_rfc3339_parse(str_of(s->a), &wall_ms)) {
        return err_set(reterr, ERR_INVALID, "%s is no time", s->a);
    }
    clock_shifted_set(t->o.clock, wall_ms);
    narrate(t, "clock", s->a);
    return 0;
}

/* NULL, or /state; the caller deletes. */
static cJSON *read_state(struct scenario_runner *t, struct http_client *http)
{
    struct strbuf body;
    cJSON *doc = NULL;

    strbuf_init(&body, STATE_BYTES_MAX);
    if (http_client_get(http, t->state_url, STATE_TIMEOUT_MS, &body, NULL) == 0) {
        doc = doc_parse(strbuf_view(&body));
    }
    strbuf_fini(&body);
    return doc;
}

static void wait_for(struct scenario_runner *t, const struct scenario_step *s, struct http_client *http)
{
    struct claim c = {.apiserver = t->o.apiserver, .step = s};
    int64_t give_up_ms = elapsed_ms(t) + PATIENCE_MS;
    bool holds = false;

    while (!holds && !stopped(t) && elapsed_ms(t) < give_up_ms) {
        cJSON *state = s->act == SCENARIO_STATE ? read_state(t, http) : NULL;

        c.state = state;
        holds = claim_holds(&c);
        cJSON_Delete(state);
        if (!holds) {
            wait_until(t, elapsed_ms(t) + LOOK_MS);
        }
    }
    if (!holds) {
        fail(t, "expected of %.80s: %.160s; instead: %s", s->a, s->b != NULL ? s->b : "a place", c.text);
        return;
    }
    lock(t);
    t->result.claim_n++;
    memcpy(t->held, c.text, sizeof(t->held));
    unlock(t);
    narrate(t, "holds", c.text);
}

static void take_step(struct scenario_runner *t, const struct scenario_step *s, struct http_client *http)
{
    struct err err;
    int rc = 0;

    switch (s->act) {
    case SCENARIO_SAY:
        say(t, s->a);
        break;
    case SCENARIO_CREATE:
        rc = create_pods(t, s, &err);
        break;
    case SCENARIO_DELETE:
        rc = delete_pods(t, s, &err);
        break;
    case SCENARIO_CLOCK:
        rc = set_clock(t, s, &err);
        break;
    case SCENARIO_PATCH:
        rc = apiserver_patch(t->o.apiserver, APISERVER_NODES, NULL, s->a, s->b, &err);
        break;
    case SCENARIO_BOUND:
    case SCENARIO_REFUSED:
    case SCENARIO_TOGETHER:
    case SCENARIO_APART:
    case SCENARIO_HOLDS:
    case SCENARIO_TOLD:
    case SCENARIO_EVENT:
    case SCENARIO_STATE:
        wait_for(t, s, http);
        break;
    case SCENARIO_ACT__MAX:
        BUG("no act of a step");
    }
    if (rc != 0) {
        fail(t, "%s: %s", s->a, err.msg);
    }
}

static int64_t weight_of(const struct scenario_step *s)
{
    return s->act == SCENARIO_SAY ? SAY_WEIGHT : 1;
}

static void *scenario_runner_main(void *arg)
{
    struct scenario_runner *t = arg;
    const struct scenario *s = t->o.scenario;
    struct http_client *http = http_client_new(t->o.stop);
    int64_t total = 0, at = 0;

    for (size_t i = 0; i < s->step_n; i++) {
        total += weight_of(&s->steps[i]);
    }
    for (size_t i = 0; i < s->step_n && !stopped(t) && t->result.failure[0] == '\0'; i++) {
        take_step(t, &s->steps[i], http);
        at += weight_of(&s->steps[i]);
        wait_until(t, t->o.for_ms * at / total);
    }
    lock(t);
    t->result.finished = t->result.failure[0] == '\0' && !stopped(t);
    if (!t->result.finished && t->result.failure[0] == '\0') {
        snprintf(t->result.failure, sizeof(t->result.failure), "interrupted");
    }
    unlock(t);
    http_client_free(http);
    atomic_store(t->o.stop, true);
    return NULL;
}

/* ---- life ---- */

int scenario_runner_start(const struct scenario_runner_options *o, struct scenario_runner **ret, struct err *reterr)
{
    struct scenario_runner *t = xcalloc(1, sizeof(*t));
    int rc;

    t->o = *o;
    t->clock = clock_system();
    t->start_ns = clock_mono_ns(t->clock);
    snprintf(t->state_url, sizeof(t->state_url), "%.160s/state", o->ops_url);
    mutex_init(&t->lock, "demo scenario");
    rc = thread_start(&t->thread, "demo-scenario", scenario_runner_main, t, reterr);
    if (rc != 0) {
        t->joined = true;
        scenario_runner_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void scenario_runner_caption(void *teller, char *said, size_t said_size, char *held, size_t held_size)
{
    struct scenario_runner *t = teller;

    lock(t);
    snprintf(said, said_size, "%s", t->said);
    snprintf(held, held_size, "%s", t->held);
    unlock(t);
}

void scenario_runner_join(struct scenario_runner *t, struct scenario_result *ret)
{
    thread_join(&t->thread);
    t->joined = true;
    *ret = t->result;
}

void scenario_runner_free(struct scenario_runner *t)
{
    if (t != NULL) {
        BUG_ON(!t->joined);
        mutex_destroy(&t->lock);
        free(t);
    }
}
