/* Issue: a read never proves that a write will not land. The API server hands a Binding to etcd, answers anything or
 * nothing, and it lands when the test says so: no test here relies on time. Whatever happens, bind_fixture_end()
 * asserts one answer to every caller and that no GPU was given twice. */
#include "cmd/support/bind_fixture.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#define A_POD .name = "a", .uid = "u-a"
/* The caller is told soon that the outcome is not known. */
#define SHORT .deadline_ms = 800

static struct asked *bind(void)
{
    return bind_fixture_bind("a", "u-a", "node-00");
}

static const int late_replies[] = {0, 409, 500, 503, 504}; /* 0: lost */

/* Sends a Binding that is answered so and held; the caller hears that nothing is known. */
static void hold_one(int status)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 1000});
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, -1, .action = FAULT_COMMIT_LATE, .status = status);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet");
    assert_true(apiserver_held(bind_fixture_api) > 0);
    apiserver_faults_clear(bind_fixture_api);
    BIND_FIXTURE_FAULT("POST", "*/a/binding", -1, .action = FAULT_FAIL, .status = 503);
}

static void bind__item1__lands_late_whatever_was_answered__given_once(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(late_replies); i++) {
        bind_fixture_start(&(struct bind_fixture_options){SHORT});
        hold_one(late_replies[i]);
        bind_fixture_expect_charged("node-00");
        assert_int_equal(apiserver_commit(bind_fixture_api), 1);
        bind_fixture_await_state("u-a", LEDGER_BOUND);
        bind_fixture_expect_charged("node-00");
        bind_fixture_await_settled();
        bind_fixture_end();
    }
}

/* The pod has another version by then, as after every failure that kube-scheduler notes in its status: the watch alone
 * tells that nothing can land any more. */
static void bind__item1__pod_gets_a_new_version__released_by_the_watch(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(late_replies); i++) {
        bind_fixture_start(&(struct bind_fixture_options){SHORT});
        BIND_FIXTURE_FAULT("GET", "*/pods/a", -1, .action = FAULT_FAIL, .status = 503);
        bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 1000});
        BIND_FIXTURE_FAULT("POST", "*/a/binding", -1, .action = FAULT_COMMIT_LATE, .status = late_replies[i]);
        bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet");
        bind_fixture_expect_charged("node-00");
        bind_fixture_patch("a", "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]}}");
        bind_fixture_await_state("u-a", LEDGER_PENDING);
        bind_fixture_expect_free("node-00");
        assert_int_equal(apiserver_commit(bind_fixture_api), 0);
        bind_fixture_expect_pod("a", NULL, false);
        bind_fixture_await_settled();
        bind_fixture_end();
    }
}

/* A server before 1.23 commits on any version: there a new version proves nothing. */
static void bind__item1__server_ignores_preconditions__stays_charged_until_it_lands(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){SHORT, .minor = 22});
    hold_one(0);
    bind_fixture_patch("a", "{\"metadata\":{\"annotations\":{\"note\":\"x\"}}}");
    bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet"); /* joins, and looks, and learns nothing */
    bind_fixture_expect_charged("node-00");
    bind_fixture_expect_state("u-a", LEDGER_RESERVED);
    assert_true(apiserver_commit(bind_fixture_api) > 0);
    bind_fixture_await_state("u-a", LEDGER_BOUND);
    bind_fixture_await_settled();
    bind_fixture_end();
}

/* Nobody can tell what the server is: fail closed. */
static void bind__item1__server_version_cannot_be_read__stays_charged(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){SHORT, .minor = -1});
    hold_one(500);
    bind_fixture_patch("a", "{\"metadata\":{\"annotations\":{\"note\":\"x\"}}}");
    bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet");
    bind_fixture_expect_charged("node-00");
    bind_fixture_expect_state("u-a", LEDGER_RESERVED);
    bind_fixture_end();
}

/* A pod without GPUs holds nothing, and goes the same way. */
static void bind__item1__without_gpu_demand_lands_late__is_bound_once(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){SHORT, .binds_all_pods = true});
    bind_fixture_create(&(struct bind_fixture_pod){A_POD});
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_COMMIT_LATE, .status = 409);
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, -1, .action = FAULT_FAIL, .status = 503);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet");
    assert_int_equal(apiserver_commit(bind_fixture_api), 1);
    bind_fixture_await_settled();
    bind_fixture_expect_pod("a", "node-00", false);
    apiserver_faults_clear(bind_fixture_api);
    bind_fixture_expect_free("node-00");
    bind_fixture_end();
}

/* Decision 0091: `ended` is written only if this says so. */
static void close__a_binding_that_may_land__says_so_until_it_has(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){SHORT});
    hold_one(504);
    assert_false(bind_fixture_close(50));
    bind_fixture_create(&(struct bind_fixture_pod){.name = "b", .uid = "u-b", .milli = 1000});
    bind_fixture_expect_error(bind_fixture_bind("b", "u-b", "node-00"), BIND_OUTCOME_OVERLOADED, "");
    assert_true(apiserver_commit(bind_fixture_api) > 0);
    assert_true(bind_fixture_close(60000));
    bind_fixture_expect_pod("a", "node-00", true);
    bind_fixture_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind__item1__lands_late_whatever_was_answered__given_once),
        cmocka_unit_test(bind__item1__pod_gets_a_new_version__released_by_the_watch),
        cmocka_unit_test(bind__item1__server_ignores_preconditions__stays_charged_until_it_lands),
        cmocka_unit_test(bind__item1__server_version_cannot_be_read__stays_charged),
        cmocka_unit_test(bind__item1__without_gpu_demand_lands_late__is_bound_once),
        cmocka_unit_test(close__a_binding_that_may_land__says_so_until_it_has),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
