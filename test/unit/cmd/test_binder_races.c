/* Binds that meet each other: on one pod, on the last slice of a device, at the limit, at the end of the
 * program. Whatever happens, bind_fixture_end() asserts one answer to every caller and no over-commit. */
#include "cmd/support/bind_fixture.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define HELD_MS 60000 /* for requests that others are to meet in flight: until the faults are cleared */
#define MANY 300
#define THREADS 4
#define STOPPED 20

static int setup(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){0});
    return 0;
}

static int setup_three_nodes(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.node_n = 3, .gpu_n = 8});
    return 0;
}

static int setup_one_at_a_time(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.max_in_flight = 1});
    return 0;
}

static int setup_version_unread(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.minor = -1});
    return 0;
}

static int teardown(void **state)
{
    bind_fixture_end();
    return 0;
}

/* A pod "p<i>" with UID "u<i>". */
struct numbered {
    char name[16], uid[16];
};

static struct numbered numbered(int i)
{
    struct numbered n;

    snprintf(n.name, sizeof(n.name), "p%d", i);
    snprintf(n.uid, sizeof(n.uid), "u%d", i);
    return n;
}

static void create(int i, int32_t milli)
{
    struct numbered n = numbered(i);

    bind_fixture_create(&(struct bind_fixture_pod){.name = n.name, .uid = n.uid, .milli = milli});
}

static struct asked *bind(int i, const char *node)
{
    struct numbered n = numbered(i);

    return bind_fixture_bind(n.name, n.uid, node);
}

/* ---- from several threads at once ---- */

struct racer {
    pthread_t thread;
    pthread_barrier_t *start;
    int from, to, step;
    bool same_pod;
    int node_n;
    struct asked **asked; /* by number */
};

static void *race(void *arg)
{
    const struct racer *r = arg;

    pthread_barrier_wait(r->start);
    for (int i = r->from; i < r->to; i += r->step) {
        char node[24];

        snprintf(node, sizeof(node), "node-%02d", i % r->node_n);
        r->asked[i] = bind(r->same_pod ? 0 : i, node);
    }
    return NULL;
}

/* Binds 0..n-1, dealt to the threads; the i-th to node i % node_n. */
static void race_all(int n, int thread_n, int node_n, bool same_pod, struct asked **asked)
{
    struct racer racers[THREADS];
    pthread_barrier_t start;

    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)thread_n), 0);
    for (int i = 0; i < thread_n; i++) {
        racers[i] = (struct racer){.start = &start,
                                   .from = i,
                                   .to = n,
                                   .step = thread_n,
                                   .same_pod = same_pod,
                                   .node_n = node_n,
                                   .asked = asked};
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < thread_n; i++) {
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
}

static unsigned count_bound(struct asked **asked, int n)
{
    unsigned bound = 0;

    for (int i = 0; i < n; i++) {
        struct bind_fixture_answer answer = bind_fixture_await(asked[i]);

        assert_true(answer.outcome == BIND_OUTCOME_BOUND || answer.outcome == BIND_OUTCOME_NO_FIT);
        assert_true((answer.outcome == BIND_OUTCOME_BOUND) == (answer.error == NULL));
        bound += answer.outcome == BIND_OUTCOME_BOUND;
    }
    return bound;
}

static void binds__race_for_the_last_slice__one_post(void **state)
{
    struct asked *asked[2];

    create(0, 600);
    create(1, 600);
    race_all(2, 2, 1, false, asked);
    assert_int_equal(count_bound(asked, 2), 1);
    assert_int_equal(bind_fixture_posts(), 1);
    assert_int_equal(bind_fixture_binds(), 1);
}

static void binds__same_pod_at_once__one_post_and_all_succeed(void **state)
{
    struct asked *asked[THREADS];

    create(0, 300);
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_PASS, .delay_ms = HELD_MS);
    race_all(THREADS, THREADS, 1, true, asked);
    apiserver_faults_clear(bind_fixture_api);
    assert_int_equal(count_bound(asked, THREADS), THREADS);
    assert_int_equal(bind_fixture_posts(), 1);
    assert_int_equal(bind_fixture_binds(), 1);
}

static void binds__unknown_pod_at_once__one_get_one_post_and_all_succeed(void **state)
{
    struct asked *asked[THREADS];

    bind_fixture_freeze();
    create(0, 300);
    BIND_FIXTURE_FAULT("GET", "*/pods/p0", 1, .action = FAULT_PASS, .delay_ms = HELD_MS);
    race_all(THREADS, THREADS, 1, true, asked);
    apiserver_faults_clear(bind_fixture_api);
    assert_int_equal(count_bound(asked, THREADS), THREADS);
    assert_int_equal(bind_fixture_gets(), 1);
    assert_int_equal(bind_fixture_posts(), 1);
    assert_int_equal(bind_fixture_binds(), 1);
}

static void binds__same_pod_to_another_node__second_is_refused(void **state)
{
    struct asked *first;

    create(0, 300);
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_PASS, .delay_ms = HELD_MS);
    first = bind(0, "node-00");
    bind_fixture_expect_error(bind(0, "node-01"), BIND_OUTCOME_CONFLICT, "");
    apiserver_faults_clear(bind_fixture_api);
    bind_fixture_expect_bound(first);
    assert_int_equal(bind_fixture_posts(), 1);
    bind_fixture_expect_pod("p0", "node-00", true);
    bind_fixture_expect_free("node-01");
}

/* 24 GPUs of ten slices: the node of each bind is given, so exactly 80 fit on each. */
static void binds__three_hundred_at_once__all_answered_and_every_slice_given_once(void **state)
{
    struct asked *asked[MANY];

    for (int i = 0; i < MANY; i++) {
        create(i, 100);
    }
    race_all(MANY, THREADS, 3, false, asked);
    assert_int_equal(count_bound(asked, MANY), 240);
    assert_int_equal(bind_fixture_binds(), 240);
    bind_fixture_await_settled();
}

static void binds__more_than_allowed_in_flight__are_turned_away(void **state)
{
    struct asked *first;

    create(0, 300);
    create(1, 300);
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_PASS, .delay_ms = HELD_MS);
    first = bind(0, "node-00");
    bind_fixture_expect_error(bind(1, "node-00"), BIND_OUTCOME_OVERLOADED, "try again");
    apiserver_faults_clear(bind_fixture_api);
    bind_fixture_expect_bound(first);
    bind_fixture_await_settled();
    bind_fixture_expect_bound(bind(1, "node-00"));
}

/* The answer of /version makes every bind look again, also one that waits for a pod. */
static void bind__version_read_while_a_pod_is_fetched__one_get_and_one_post(void **state)
{
    struct asked *asked;

    bind_fixture_freeze();
    create(1, 300);
    usleep(1500 * 1000); /* /version is read again 2 s after the first try, and a GET waits for no more than 2 s */
    apiserver_faults_clear(bind_fixture_api);
    BIND_FIXTURE_FAULT("GET", "*/pods/p1", -1, .action = FAULT_PASS, .delay_ms = HELD_MS);
    asked = bind(1, "node-00");
    bind_fixture_await_delayed();
    bind_fixture_await_version_read();
    apiserver_faults_clear(bind_fixture_api);
    bind_fixture_expect_bound(asked);
    assert_int_equal(bind_fixture_gets(), 1);
    assert_int_equal(bind_fixture_posts(), 1);
    bind_fixture_thaw();
    bind_fixture_await_state("u1", LEDGER_BOUND);
}

static void binder_stop__binds_in_flight__every_caller_is_answered(void **state)
{
    struct asked *asked[STOPPED];

    for (int i = 0; i < STOPPED; i++) {
        create(i, 100);
    }
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, -1, .action = FAULT_PASS, .delay_ms = 60000);
    for (int i = 0; i < STOPPED; i++) {
        asked[i] = bind(i, i % 2 == 0 ? "node-00" : "node-01");
    }
    bind_fixture_stop_binder();
    for (int i = 0; i < STOPPED; i++) {
        bind_fixture_expect_error(asked[i], BIND_OUTCOME_UNKNOWN, "stopping");
    }
}

static void binder_stop__while_replies_arrive__every_caller_is_answered(void **state)
{
    struct asked *asked[STOPPED];

    for (int i = 0; i < STOPPED; i++) {
        create(i, 100);
    }
    for (int i = 0; i < STOPPED; i++) {
        asked[i] = bind(i, i % 2 == 0 ? "node-00" : "node-01");
    }
    bind_fixture_await(asked[0]);
    bind_fixture_stop_binder();
    for (int i = 0; i < STOPPED; i++) {
        struct bind_fixture_answer answer = bind_fixture_await(asked[i]);

        assert_true(answer.outcome == BIND_OUTCOME_BOUND || answer.outcome == BIND_OUTCOME_UNKNOWN);
    }
}

#define SCENARIO(f, before) cmocka_unit_test_setup_teardown(f, before, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(binds__race_for_the_last_slice__one_post, setup),
        SCENARIO(binds__same_pod_at_once__one_post_and_all_succeed, setup),
        SCENARIO(binds__unknown_pod_at_once__one_get_one_post_and_all_succeed, setup),
        SCENARIO(binds__same_pod_to_another_node__second_is_refused, setup),
        SCENARIO(binds__three_hundred_at_once__all_answered_and_every_slice_given_once, setup_three_nodes),
        SCENARIO(binds__more_than_allowed_in_flight__are_turned_away, setup_one_at_a_time),
        SCENARIO(bind__version_read_while_a_pod_is_fetched__one_get_and_one_post, setup_version_unread),
        SCENARIO(binder_stop__binds_in_flight__every_caller_is_answered, setup),
        SCENARIO(binder_stop__while_replies_arrive__every_caller_is_answered, setup),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
