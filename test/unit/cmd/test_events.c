/* The thread that posts, with a real client and the simulated API server: many recorders, faults, stopping. */
#include "kube/events.h"

#include "demo/apiserver/apiserver.h"
#include "kube/transport.h"
#include "support/cmocka.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDERS 4
#define RECORDS 300
#define LONG_MS 60000

static struct {
    struct apiserver *api;
    struct credentials credentials;
    struct kube_client *client;
    struct events *events;
    atomic_uint outcomes[EVENT_OUTCOME__MAX];
    atomic_uint warnings;
    struct log log;
} t;

static void count_outcome(void *ctx, enum event_reason reason, enum event_outcome outcome)
{
    (void)ctx;
    (void)reason;
    atomic_fetch_add(&t.outcomes[outcome], 1);
}

static void count_warning(void *ctx, const struct log_record *rec)
{
    (void)ctx;
    atomic_fetch_add(&t.warnings, rec->level == LOG_LEVEL_WARNING);
}

static int setup(void **state)
{
    const struct events_options o = {
        .source = {EVENT_CONTROLLER_EXTENDER, "test"},
        .self = {EVENT_OBJECT_POD, STR("fgpu-system"), STR("fgpu-0"), STR("u-0")},
        .observe = count_outcome,
    };

    signal(SIGPIPE, SIG_IGN);
    memset(t.outcomes, 0, sizeof(t.outcomes));
    atomic_store(&t.warnings, 0);
    t.log = (struct log){.write = count_warning};
    assert_int_equal(apiserver_start(NULL, &t.api, NULL), 0);
    t.credentials = (struct credentials){.server = strdup(apiserver_url(t.api))};
    assert_int_equal(kube_client_new(&t.credentials, &(struct kube_client_options){0}, &t.client, NULL), 0);
    assert_int_equal(events_new(t.client, clock_system(), &t.log, &o, &t.events, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    kube_client_stop(t.client);
    events_free(t.events);
    kube_client_free(t.client);
    credentials_fini(&t.credentials);
    apiserver_free(t.api);
    return 0;
}

static void record(const char *node, const char *note)
{
    const struct event e = {.reason = EVENT_DEVICE_LOST,
                            .regarding = {EVENT_OBJECT_NODE, STR_NULL, str_of(node), STR("u")},
                            .note = str_of(note)};

    events_record(t.events, &e);
}

static void fault(const char *method, enum fault_action action, int status)
{
    struct fault_rule rule = {.times = -1, .action = action, .status = status, .retry_after_s = -1};

    snprintf(rule.method, sizeof(rule.method), "%s", method);
    assert_int_equal(apiserver_fault_add(t.api, &rule, NULL), 0);
}

static void add_one(void *ctx, const cJSON *object)
{
    (void)object;
    ++*(unsigned *)ctx;
}

static unsigned kept(void)
{
    unsigned n = 0;

    apiserver_each(t.api, APISERVER_EVENTS, add_one, &n);
    return n;
}

static unsigned outcomes(void)
{
    unsigned n = 0;

    for (int f = 0; f < EVENT_OUTCOME__MAX; f++) {
        n += f == EVENT_COUNTED ? 0 : atomic_load(&t.outcomes[f]);
    }
    return n;
}

static void *recorder(void *arg)
{
    char node[32];

    for (int i = 0; i < RECORDS; i++) {
        snprintf(node, sizeof(node), "n-%d-%d", *(int *)arg, i / 2); /* everything twice */
        record(node, "note");
    }
    return NULL;
}

static void events__many_recorders_then_stop__everything_accounted_for(void **state)
{
    pthread_t threads[RECORDERS];
    int numbers[RECORDERS];

    for (int i = 0; i < RECORDERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, recorder, &numbers[i]), 0);
    }
    for (int i = 0; i < RECORDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    events_stop(t.events, LONG_MS);
    assert_int_equal(outcomes(), RECORDERS * RECORDS);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_POSTED]), RECORDERS * RECORDS / 2);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_REPEATED]), RECORDERS * RECORDS / 2);
    assert_int_equal(kept(), RECORDERS * RECORDS / 2);
}

static void events__stopped_while_recording__late_ones_are_dropped(void **state)
{
    pthread_t thread;
    int number = 0;

    assert_int_equal(pthread_create(&thread, NULL, recorder, &number), 0);
    events_stop(t.events, LONG_MS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    record("late", "note");
    assert_int_equal(outcomes(), RECORDS + 1);
    assert_true(atomic_load(&t.outcomes[EVENT_SILENCED]) > 0);
    assert_int_equal(kept(), atomic_load(&t.outcomes[EVENT_POSTED]));
}

/* The call in flight outlives the thread; the client ends it. */
static void events__stopped_with_a_call_in_flight__ends_all_the_same(void **state)
{
    const struct fault_rule slow = {.times = -1, .action = FAULT_PASS, .delay_ms = 60000};
    struct apiserver_stats s;

    assert_int_equal(apiserver_fault_add(t.api, &slow, NULL), 0);
    record("n", "a");
    do {
        usleep(1000);
        apiserver_stats(t.api, &s);
    } while (s.requests == 0);
    events_stop(t.events, 1);
    assert_int_equal(outcomes(), 1);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_GAVE_UP]), 1);
}

static void events__about_fgpu_itself__on_its_pod(void **state)
{
    const struct event e = {
        .reason = EVENT_CONFIG_REJECTED, .regarding = {.kind = EVENT_OBJECT_SELF}, .note = STR("x")};

    events_record(t.events, &e);
    events_stop(t.events, LONG_MS);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_POSTED]), 1);
    assert_int_equal(kept(), 1);
}

static void events__about_fgpu_itself_elsewhere__counted_only(void **state)
{
    const struct event e = {.reason = EVENT_CONFIG_REJECTED, .regarding = {.kind = EVENT_OBJECT_SELF}};
    const struct events_options nowhere = {.source = {EVENT_CONTROLLER_EXTENDER, "test"}, .observe = count_outcome};
    struct events *other;

    assert_int_equal(events_new(t.client, clock_system(), NULL, &nowhere, &other, NULL), 0);
    events_record(other, &e);
    events_free(other);
    events_record(NULL, &e);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_NOWHERE]), 1);
    assert_int_equal(kept(), 0);
}

static void events__forbidden__one_warning(void **state)
{
    fault("POST", FAULT_FAIL, 403);
    for (int i = 0; i < 50; i++) {
        char node[16];

        snprintf(node, sizeof(node), "n-%d", i);
        record(node, "note");
    }
    events_stop(t.events, LONG_MS);
    assert_int_equal(outcomes(), 50);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_FORBIDDEN]), 1);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_SILENCED]), 49);
    assert_int_equal(atomic_load(&t.warnings), 1);
}

static void events__api_server_fails_at_the_end__given_up(void **state)
{
    fault("POST", FAULT_FAIL, 500);
    record("n", "a");
    record("n", "b");
    events_stop(t.events, LONG_MS);
    assert_int_equal(atomic_load(&t.outcomes[EVENT_GAVE_UP]), 2);
    assert_int_equal(atomic_load(&t.warnings), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(events__many_recorders_then_stop__everything_accounted_for),
        TEST(events__stopped_while_recording__late_ones_are_dropped),
        TEST(events__stopped_with_a_call_in_flight__ends_all_the_same),
        TEST(events__about_fgpu_itself__on_its_pod),
        TEST(events__about_fgpu_itself_elsewhere__counted_only),
        TEST(events__forbidden__one_warning),
        TEST(events__api_server_fails_at_the_end__given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
