/* One bind and what the API server makes of it: every reply of contract.md 4.2 that this server can give, lost
 * replies, and pods that changed behind our back. What lands late is in test_binder_late.c, what several binds do to
 * each other in test_binder_races.c; deadlines, pauses and what comes in between on a clock of its own:
 * test/unit/extender/test_binder.c. Whatever happens, bind_fixture_end() asserts one answer to every caller. */
#include "cmd/support/bind_fixture.h"

#include "base/compiler.h"
#include "model/binding.h"
#include "support/cmocka.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define A_POD .name = "a", .uid = "u-a"

static int setup(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){0});
    return 0;
}

/* For what ends after the caller was told that the outcome is not known. */
static int setup_short(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.deadline_ms = 800});
    return 0;
}

static int setup_all_pods(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.binds_all_pods = true});
    return 0;
}

static int setup_full(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.binds_all_pods = true, .pods_max = 1});
    return 0;
}

static int setup_unsynced(void **state)
{
    bind_fixture_start(&(struct bind_fixture_options){.unsynced = true});
    return 0;
}

static int teardown(void **state)
{
    bind_fixture_end();
    return 0;
}

static void create(void)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 300});
}

static struct asked *bind(void)
{
    return bind_fixture_bind("a", "u-a", "node-00");
}

static void expect_bound_once(void)
{
    assert_int_equal(bind_fixture_binds(), 1);
    bind_fixture_expect_pod("a", "node-00", true);
    bind_fixture_await_settled();
    bind_fixture_await_state("u-a", LEDGER_BOUND);
}

/* ---- without trouble ---- */

static void bind__pending_pod__one_post_with_node_and_record(void **state)
{
    create();
    bind_fixture_expect_bound(bind());
    assert_int_equal(bind_fixture_posts(), 1);
    assert_int_equal(bind_fixture_gets(), 0);
    expect_bound_once();
}

static void bind__answered_before_the_watch_tells__is_confirmed(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_state("u-a", LEDGER_CONFIRMED);
    bind_fixture_thaw();
    expect_bound_once();
}

static void bind__again_to_the_same_node__success_without_a_post(void **state)
{
    create();
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_bound(bind());
    assert_int_equal(bind_fixture_posts(), 1);
    expect_bound_once();
}

static void bind__again_to_another_node__is_refused(void **state)
{
    create();
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_error(bind_fixture_bind("a", "u-a", "node-01"), BIND_OUTCOME_CONFLICT, "somebody else");
    assert_int_equal(bind_fixture_posts(), 1);
    expect_bound_once();
}

static void bind__pod_unknown_to_the_ledger__is_fetched_then_bound(void **state)
{
    bind_fixture_freeze();
    create();
    bind_fixture_expect_bound(bind());
    assert_int_equal(bind_fixture_gets(), 1);
    assert_int_equal(bind_fixture_posts(), 1);
    bind_fixture_expect_state("u-a", LEDGER_CONFIRMED);
    bind_fixture_thaw();
    expect_bound_once();
}

static void bind__pod_without_gpu_demand__is_bound_without_record(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD});
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_bound(bind()); /* 409, and the GET says: on this node */
    assert_int_equal(bind_fixture_binds(), 1);
    bind_fixture_expect_pod("a", "node-00", false);
    bind_fixture_expect_free("node-00");
}

/* kube-scheduler leaves the binding of a pod with a managed resource to us, whatever the amount (contract.md R1). */
static void bind__pod_that_names_a_resource_and_asks_for_none__is_bound(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .names_zero = true});
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_pod("a", "node-00", false);
}

/* ---- refused before anything is sent ---- */

static void item17__pod_that_asks_for_no_gpu__is_refused_without_a_post(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD});
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "serving.bindsAllPods");
    assert_int_equal(bind_fixture_posts(), 0);
}

static void bind__not_synced__is_refused(void **state)
{
    bind_fixture_expect_error(bind(), BIND_OUTCOME_NOT_READY, "not ready");
    assert_int_equal(bind_fixture_posts() + bind_fixture_gets(), 0);
}

static void bind__unknown_node__is_refused_without_a_post(void **state)
{
    create();
    bind_fixture_create(&(struct bind_fixture_pod){.name = "plain", .uid = "u-plain"});
    bind_fixture_expect_error(bind_fixture_bind("a", "u-a", "node-77"), BIND_OUTCOME_NO_FIT, "");
    bind_fixture_expect_error(bind_fixture_bind("plain", "u-plain", "node-77"), BIND_OUTCOME_NO_FIT, "not known");
    assert_int_equal(bind_fixture_posts(), 0);
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
}

static void bind__annotations_at_the_limit__is_refused_and_released(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 300, .annotation_bytes = POD_ANNOTATION_BYTES_MAX});
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "annotations");
    assert_int_equal(bind_fixture_posts(), 0);
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    bind_fixture_expect_free("node-00");
}

static void bind__no_such_pod__is_refused_without_a_post(void **state)
{
    bind_fixture_expect_error(bind(), BIND_OUTCOME_CONFLICT, "no longer exists");
    assert_int_equal(bind_fixture_posts(), 0);
}

static void bind__no_right_to_read_the_pod__is_refused_at_once(void **state)
{
    bind_fixture_freeze();
    create();
    BIND_FIXTURE_FAULT("GET", "*/pods/a", -1, .action = FAULT_FAIL, .status = 403);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "cannot be read");
    assert_int_equal(bind_fixture_gets(), 1);
    assert_int_equal(bind_fixture_posts(), 0);
}

/* ---- changed behind our back: the watch lags, a 409 or 404 tells ---- */

static void expect_released(enum bind_outcome outcome, const char *part)
{
    bind_fixture_expect_error(bind(), outcome, part);
    assert_int_equal(bind_fixture_binds(), 0);
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    bind_fixture_expect_free("node-00");
}

static void bind__bound_elsewhere_by_another__error_and_released(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_bind_by_other("a", "u-a", 1, 300);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "somebody else");
    bind_fixture_expect_state("u-a", LEDGER_BOUND); /* what the GET has shown is in the ledger */
    bind_fixture_expect_free("node-00");
    bind_fixture_expect_charged("node-01");
    bind_fixture_thaw();
    bind_fixture_await_state("u-a", LEDGER_BOUND);
}

/* It was released, and the node looked free until the watch came along. */
static void bind__item5__bound_to_our_node_with_another_record__error_and_stays_charged(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_bind_by_other("a", "u-a", 0, 300);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "somebody else");
    bind_fixture_expect_state("u-a", LEDGER_BOUND);
    bind_fixture_expect_charged("node-00");
    bind_fixture_thaw();
    bind_fixture_await_state("u-a", LEDGER_BOUND);
}

/* ---- the version that the ledger knows is not the newest ---- */

static void bind__pod_changed_meanwhile__one_get_and_one_more_send(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_patch("a", "{\"metadata\":{\"annotations\":{\"note\":\"x\"}}}");
    bind_fixture_expect_bound(bind());
    assert_int_equal(bind_fixture_posts(), 2);
    assert_int_equal(bind_fixture_gets(), 1);
    bind_fixture_thaw();
    expect_bound_once();
}

static void bind__pod_changed_what_was_decided_by__error_and_released(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_patch("a", "{\"metadata\":{\"labels\":{\"team\":\"x\"}}}");
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "was changed");
    assert_int_equal(bind_fixture_binds(), 0);
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    bind_fixture_expect_bound(bind()); /* decided again, for what it is now */
    assert_int_equal(bind_fixture_posts(), 2);
}

static void save_key(void *ctx, const struct cJSON *pod)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
    const cJSON *annotations = cJSON_GetObjectItemCaseSensitive(meta, "annotations");
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(annotations, "fgpu.io/visible-devices.c1"));

    snprintf(ctx, 64, "%s", text != NULL ? text : "(none)");
}

static void expect_key_without_meaning(void)
{
    char text[64] = "";

    assert_true(apiserver_find(bind_fixture_api, APISERVER_PODS, "ns", "a", save_key, text));
    assert_string_equal(text, "");
}

#define RESERVED_KEY "{\"metadata\":{\"annotations\":{\"fgpu.io/visible-devices.c1\":\"0,1\"}}}"

/* A key of ours that came after the devices were chosen would stand in the bound pod as if we had written it. */
static void bind__key_of_ours_came_meanwhile__error_and_overwritten_by_the_next(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_patch("a", RESERVED_KEY);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "was changed");
    assert_int_equal(bind_fixture_binds(), 0);
    bind_fixture_expect_bound(bind());
    expect_key_without_meaning();
}

static void bind__key_of_ours_came_to_a_pod_without_gpus__error_and_overwritten_by_the_next(void **state)
{
    struct asked *asked;

    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .names_zero = true});
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_FAIL, .status = 409, .delay_ms = 60000);
    asked = bind();
    bind_fixture_await_delayed(); /* it was read, and the Binding is on its way */
    bind_fixture_patch("a", RESERVED_KEY);
    apiserver_faults_clear(bind_fixture_api);
    bind_fixture_expect_error(asked, BIND_OUTCOME_REFUSED, "was changed");
    assert_int_equal(bind_fixture_binds(), 0);
    bind_fixture_expect_bound(bind());
    expect_key_without_meaning();
}

static void bind__pod_began_to_be_deleted__error_and_released(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_delete("a");
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 300, .deleting = true});
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "being deleted");
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_CONFLICT, "being deleted"); /* known now: nothing is sent */
    assert_int_equal(bind_fixture_posts(), 1);
}

static void bind__recreated_under_its_name__error_and_released(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_delete("a");
    bind_fixture_create(&(struct bind_fixture_pod){.name = "a", .uid = "u-later", .milli = 300});
    expect_released(BIND_OUTCOME_REFUSED, "no longer exists");
    bind_fixture_expect_pod("a", NULL, false);
}

static void bind__deleted__error_and_released(void **state)
{
    create();
    bind_fixture_freeze();
    bind_fixture_delete("a");
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "");
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    bind_fixture_expect_free("node-00");
}

/* Nobody decides by the text of a 409: an API server whose etcd stalls answers one, too. */
static void bind__gated__stays_charged_until_the_pod_changes(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){A_POD, .milli = 300, .gated = true});
    bind_fixture_expect_error(bind(), BIND_OUTCOME_UNKNOWN, "not known yet");
    bind_fixture_expect_state("u-a", LEDGER_RESERVED);
    bind_fixture_patch("a", "{\"spec\":{\"schedulingGates\":null}}");
    bind_fixture_await_state("u-a", LEDGER_PENDING);
    bind_fixture_await_settled();
    bind_fixture_expect_bound(bind());
}

/* ---- replies ---- */

struct reply {
    const char *name;
    struct fault_rule fault; /* of the first Binding */
    unsigned posts;          /* 0: any; the transport may add one of its own */
};

static const struct reply replies[] = {
    {"lost", {.action = FAULT_CLOSE_AFTER}, 1},
    {"connection closed before", {.action = FAULT_CLOSE_BEFORE}, 0},
    {"500 without a hint", {.action = FAULT_FAIL, .status = 500}, 2},
    {"500 without a hint, but done", {.action = FAULT_FAIL_AFTER, .status = 500}, 1},
    {"401", {.action = FAULT_FAIL, .status = 401}, 2},
};

static void bind__one_bad_reply__is_bound_once_all_the_same(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        const struct reply *r = &replies[i];
        struct bind_fixture_answer answer;

        bind_fixture_start(&(struct bind_fixture_options){0});
        create();
        bind_fixture_fault("POST", BIND_FIXTURE_BINDING, 1, r->fault);
        answer = bind_fixture_await(bind());
        if (answer.error != NULL || (r->posts > 0 && bind_fixture_posts() != r->posts)) {
            fail_msg("%s: %u requests, %s", r->name, bind_fixture_posts(),
                     answer.error != NULL ? answer.error : "success");
        }
        expect_bound_once();
        bind_fixture_end();
    }
}

static void bind__reply_lost_and_no_answer_to_the_get__asks_again(void **state)
{
    create();
    bind_fixture_freeze(); /* the watch would tell as well */
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_CLOSE_AFTER);
    BIND_FIXTURE_FAULT("GET", "*/pods/a", 2, .action = FAULT_FAIL, .status = 503);
    bind_fixture_expect_bound(bind());
    assert_true(bind_fixture_gets() >= 3);
    bind_fixture_thaw();
    expect_bound_once();
}

struct refusal {
    int status;
    const char *part;
};

static void bind__refused_for_good__error_and_released(void **state)
{
    static const struct refusal refusals[] = {{400, ""}, {403, ""}, {404, ""}, {422, ""}};

    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        bind_fixture_start(&(struct bind_fixture_options){0});
        create();
        BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_FAIL, .status = refusals[i].status);
        expect_released(BIND_OUTCOME_REFUSED, refusals[i].part);
        bind_fixture_end();
    }
}

/* kube/identity.h: after two 401 in a row nothing is sent for a while, then one request tries. */
static void bind__401_twice__error_then_a_pause_without_requests(void **state)
{
    struct bind_fixture_answer answer;
    unsigned refused_n = 0;

    create();
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 2, .action = FAULT_FAIL, .status = 401);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "credentials");
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
    assert_int_equal(bind_fixture_posts(), 2);
    while ((answer = bind_fixture_await(bind())).error != NULL) {
        assert_non_null(strstr(answer.error, "credentials"));
        assert_int_equal(bind_fixture_posts(), 2);
        refused_n++;
        usleep(20000);
    }
    assert_true(refused_n > 0);
    expect_bound_once();
}

static void bind__asked_to_wait_past_the_deadline__error_and_released(void **state)
{
    create();
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_FAIL, .status = 429, .retry_after_s = 100);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_REFUSED, "overloaded");
    bind_fixture_await_settled();
    bind_fixture_expect_state("u-a", LEDGER_PENDING);
}

/* ---- what the watch tells ---- */

/* The reply is lost, and no GET is ever answered: the watch alone can tell. */
static void bind__no_get_is_answered__the_watch_tells(void **state)
{
    create();
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, 1, .action = FAULT_CLOSE_AFTER);
    BIND_FIXTURE_FAULT("GET", "*/pods/a", -1, .action = FAULT_FAIL, .status = 503);
    bind_fixture_expect_bound(bind());
    bind_fixture_expect_bound(bind());
    assert_int_equal(bind_fixture_posts(), 1);
    expect_bound_once();
}

/* The first bind waits for its next try when the second one comes: both are answered. */
static void bind__watch_told_that_another_bound_it__both_callers_hear(void **state)
{
    struct asked *first;

    create();
    bind_fixture_freeze();
    BIND_FIXTURE_FAULT("POST", BIND_FIXTURE_BINDING, -1, .action = FAULT_FAIL, .status = 503, .retry_after_s = 1);
    BIND_FIXTURE_FAULT("GET", "*/pods/a", -1, .action = FAULT_FAIL, .status = 503);
    first = bind();
    while (bind_fixture_posts_so_far() == 0) {
        usleep(1000);
    }
    bind_fixture_bind_by_other("a", "u-a", 1, 300);
    bind_fixture_thaw();
    bind_fixture_await_state("u-a", LEDGER_BOUND);
    bind_fixture_expect_error(bind(), BIND_OUTCOME_CONFLICT, "somebody else");
    bind_fixture_expect_error(first, BIND_OUTCOME_REFUSED, "somebody else");
}

#define SCENARIO(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define SHORT_SCENARIO(f) cmocka_unit_test_setup_teardown(f, setup_short, teardown)

/* Nobody may take it for a pod that asks for no GPU, and bind it without a record. */
static void bind__the_ledger_has_no_room_for_the_pod__refused(void **state)
{
    bind_fixture_create(&(struct bind_fixture_pod){"first", "uid-1", 300});
    bind_fixture_freeze();
    bind_fixture_create(&(struct bind_fixture_pod){"second", "uid-2", 300});
    bind_fixture_expect_error(bind_fixture_bind("second", "uid-2", "node-00"), BIND_OUTCOME_REFUSED, "no room");
    assert_int_equal(bind_fixture_posts(), 0);
    bind_fixture_expect_pod("second", NULL, false);
    bind_fixture_expect_bound(bind_fixture_bind("first", "uid-1", "node-00"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(bind__pending_pod__one_post_with_node_and_record),
        SCENARIO(bind__answered_before_the_watch_tells__is_confirmed),
        SCENARIO(bind__again_to_the_same_node__success_without_a_post),
        SCENARIO(bind__again_to_another_node__is_refused),
        SCENARIO(bind__pod_unknown_to_the_ledger__is_fetched_then_bound),
        cmocka_unit_test_setup_teardown(bind__pod_without_gpu_demand__is_bound_without_record, setup_all_pods,
                                        teardown),
        SCENARIO(bind__pod_that_names_a_resource_and_asks_for_none__is_bound),
        SCENARIO(item17__pod_that_asks_for_no_gpu__is_refused_without_a_post),
        cmocka_unit_test_setup_teardown(bind__not_synced__is_refused, setup_unsynced, teardown),
        cmocka_unit_test_setup_teardown(bind__unknown_node__is_refused_without_a_post, setup_all_pods, teardown),
        SCENARIO(bind__annotations_at_the_limit__is_refused_and_released),
        SCENARIO(bind__no_such_pod__is_refused_without_a_post),
        SCENARIO(bind__no_right_to_read_the_pod__is_refused_at_once),
        SCENARIO(bind__bound_elsewhere_by_another__error_and_released),
        SCENARIO(bind__item5__bound_to_our_node_with_another_record__error_and_stays_charged),
        SCENARIO(bind__pod_changed_meanwhile__one_get_and_one_more_send),
        SCENARIO(bind__pod_changed_what_was_decided_by__error_and_released),
        SCENARIO(bind__key_of_ours_came_meanwhile__error_and_overwritten_by_the_next),
        SCENARIO(bind__key_of_ours_came_to_a_pod_without_gpus__error_and_overwritten_by_the_next),
        SCENARIO(bind__pod_began_to_be_deleted__error_and_released),
        SCENARIO(bind__recreated_under_its_name__error_and_released),
        SCENARIO(bind__deleted__error_and_released),
        SHORT_SCENARIO(bind__gated__stays_charged_until_the_pod_changes),
        cmocka_unit_test(bind__one_bad_reply__is_bound_once_all_the_same),
        SCENARIO(bind__reply_lost_and_no_answer_to_the_get__asks_again),
        cmocka_unit_test(bind__refused_for_good__error_and_released),
        SCENARIO(bind__401_twice__error_then_a_pause_without_requests),
        SHORT_SCENARIO(bind__asked_to_wait_past_the_deadline__error_and_released),
        cmocka_unit_test_setup_teardown(bind__the_ledger_has_no_room_for_the_pod__refused, setup_full, teardown),
        SCENARIO(bind__no_get_is_answered__the_watch_tells),
        SCENARIO(bind__watch_told_that_another_bound_it__both_callers_hear),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
