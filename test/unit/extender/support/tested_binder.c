#include "extender/support/tested_binder.h"

#include "base/sync.h"
#include "extender/support/fake_client.h"
#include "support/cmocka.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS (60 * NS_PER_S)

/* Far ahead of the system's, so that the binder's thread never wakes by itself. */
#define START_NS (INT64_C(1) << 60)

struct clock_manual now;
struct policy_set *policies;
struct ingest facts;
struct binder *binder;
struct binder_options options;
const char *nominated_node = "";

/* ---- who asks ---- */

static void hear(void *ctx, enum bind_outcome outcome, const char *error, const char *decision_id)
{
    struct asked *by = ctx;

    by->outcome = outcome;
    by->error = error;
    snprintf(by->decision_id, sizeof(by->decision_id), "%s", decision_id);
    by->calls++;
}

void ask_for(struct asked *by, const char *pod, const char *node)
{
    const struct bind_request r = {str_of(pod), STR("d"), str_of(pod), str_of(node)};

    *by = (struct asked){0};
    binder_bind(binder, &r, hear, by);
}

void ask(struct asked *by, const char *node)
{
    ask_for(by, "a", node);
}

void expect_open(const struct asked *by)
{
    assert_int_equal(by->calls, 0);
}

void expect_bound(const struct asked *by)
{
    assert_int_equal(by->calls, 1);
    assert_string_equal(bind_outcome_name(by->outcome), "bound");
    assert_null(by->error);
}

void expect_refused(const struct asked *by, enum bind_outcome outcome, const char *part)
{
    assert_int_equal(by->calls, 1);
    assert_string_equal(bind_outcome_name(by->outcome), bind_outcome_name(outcome));
    assert_non_null(by->error);
    if (strstr(by->error, part) == NULL) {
        fail_msg("\"%s\" instead of \"...%s...\"", by->error, part);
    }
}

/* ---- time ---- */

/* Until the binder's thread has gone once through all that is due. It holds the lock from the moment at which it
 * forgets when to wake until it waits, or answers somebody. */
static void kick(void)
{
    const int64_t until_ns = clock_mono_ns(clock_system()) + PATIENCE_NS;
    bool seen = false;

    mutex_lock(&binder->lock);
    binder->wake_ns = INT64_MIN;
    condvar_signal(&binder->wake);
    mutex_unlock(&binder->lock);
    while (!seen && clock_mono_ns(clock_system()) < until_ns) {
        sched_yield();
        mutex_lock(&binder->lock);
        seen = binder->wake_ns != INT64_MIN;
        mutex_unlock(&binder->lock);
    }
    if (!seen) {
        fail_msg("the binder's thread does not look at the clock for a minute");
    }
}

/* It answers one bind in each turn; no test has more than two that are due. */
void turn(void)
{
    for (int i = 0; i < 4; i++) {
        kick();
    }
}

void pass_ms(int64_t ms)
{
    clock_manual_advance_ms(&now, ms);
    turn();
}

/* ---- life ---- */

static void start(void)
{
    assert_int_equal(binder_new(policies, NULL, &now.clock, NULL, &options, &binder, NULL), 0);
    turn();
}

int tested_binder_setup(void **state)
{
    (void)state;
    nominated_node = "";
    fake_client_reset();
    clock_manual_init(&now, START_NS, 1795161600123);
    store_open(&now.clock);
    policies = policy_set_new(rules_of(policy_defaults(), 1));
    facts = (struct ingest){store, policy_defaults(), NULL, NULL};
    apply_empty_lists();
    ingest_two_gpus(&facts, STR("n1"));
    ingest_two_gpus(&facts, STR("n2"));
    options = (struct binder_options){.deadline_ms = DEADLINE_MS, .max_in_flight = 2};
    start();
    fake_client_answer("GET", "/version", 200, KUBE_NO_RETRY_AFTER, "{\"major\":\"1\",\"minor\":\"33\"}");
    turn();
    return 0;
}

void stop(void)
{
    if (binder != NULL) {
        binder_stop(binder);
        fake_client_cancel_all();
        binder_free(binder);
        binder = NULL;
    }
}

void restart(void)
{
    stop();
    start();
}

int tested_binder_teardown(void **state)
{
    (void)state;
    stop();
    policy_set_free(policies);
    store_check_and_free();
    fake_client_reset();
    return 0;
}

/* ---- the pod ---- */

static struct kv share = {{"fgpu.io/gpu-milli", 17}, {"300", 3}};
static struct container c = {.name = {"c", 1}, .limits = {&share, 1}};

void watch_pod(const char *name, const char *version, const char *node, const struct kv *annotation)
{
    const struct pod p = {.namespace_ = STR("d"),
                          .name = str_of(name),
                          .uid = str_of(name),
                          .resource_version = str_of(version),
                          .node_name = str_of(node),
                          .nominated_node_name = str_of(nominated_node),
                          .annotations = {annotation, annotation != NULL},
                          .containers = &c,
                          .container_n = 1};

    assert_int_equal(ingest_pod(&facts, &arena, &p, NULL), 0);
}

void watch(const char *version, const char *node, const struct kv *annotation)
{
    watch_pod("a", version, node, annotation);
}

#define RECORD                                                                                                         \
    "{\"v\":1,\"id\":\"%s\",\"containers\":[{\"name\":\"c\",\"init\":false,\"devices\":[{\"uuid\":\"GPU-0\","          \
    "\"index\":0,\"milli\":300,\"memMib\":24576}]}]}"

void watch_bound(const char *id)
{
    char text[512];
    const int n = snprintf(text, sizeof(text), RECORD, id);
    const struct kv record = {STR("fgpu.io/assignment"), {text, (size_t)n}};

    watch("200", "n1", &record);
}

const char *decision(void)
{
    return binder->binds->decision_id;
}

const char *pod_json(const char *version, const char *uid)
{
    static char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"a\",\"namespace\":\"d\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"300\"}}}]}}",
             uid, version);
    return text;
}

enum ledger_pod_state state_of_pod(void)
{
    struct store_pod found;

    return store_find_pod(store, &arena, STR("a"), &found) ? found.state : LEDGER_POD_STATE__MAX;
}

void answer_post(int status)
{
    fake_client_answer("POST", BINDING, status, KUBE_NO_RETRY_AFTER, "{}");
}

void answer_get_unbound(void)
{
    fake_client_answer("GET", POD, 200, KUBE_NO_RETRY_AFTER, pod_json("100", "a"));
}

void expect_none_pending(void)
{
    assert_int_equal(fake_client_pending("POST", BINDING), 0);
    assert_int_equal(fake_client_pending("GET", POD), 0);
}

void expect_ended(void)
{
    assert_int_equal(binder_in_flight(binder), 0);
    assert_true(binder_close(binder, 0));
    expect_none_pending();
}
