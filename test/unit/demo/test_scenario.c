/* Tables that can be played, and claims that can be false. */
#include "demo/checker/checker.h"
#include "demo/doc_internal.h"
#include "demo/scenarios/scenario_internal.h"
#include "demo/support/server.h"

#include "base/clock.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---- */

static void check_pairs(const struct scenario *s, const char *text)
{
    cJSON *o = scenario_pairs(text);

    if (o == NULL) {
        fail_msg("%s: \"%s\" is not of the form key: value; key: value", s->name, text);
    }
    cJSON_Delete(o);
}

static void check_step(const struct scenario *s, const struct scenario_step *t)
{
    int64_t ms;

    assert_non_null(t->a);
    if (t->act == SCENARIO_CREATE) {
        assert_true(t->n >= 1);
        check_pairs(s, t->pod.limits);
        check_pairs(s, t->pod.annotations);
        check_pairs(s, t->pod.labels);
        check_pairs(s, t->pod.selector);
    } else if (t->act == SCENARIO_CLOCK) {
        assert_true(s->clock != NULL && clock_rfc3339_parse(str_of(t->a), &ms));
    } else if (t->act == SCENARIO_TOLD) {
        check_pairs(s, t->b);
    } else if (t->act == SCENARIO_PATCH || t->act == SCENARIO_STATE) {
        cJSON *o = doc_parse(str_of(t->b));

        assert_non_null(o);
        cJSON_Delete(o);
    } else if (t->act == SCENARIO_REFUSED || t->act == SCENARIO_EVENT) {
        assert_true(t->b != NULL && t->b[0] != '\0');
    }
}

static void scenarios__each_table__can_be_played_and_claims_something(void **state)
{
    const struct scenario *s;

    for (size_t i = 0; (s = scenario_at(i)) != NULL; i++) {
        unsigned acts[SCENARIO_ACT__MAX] = {0};
        struct checker_report r;

        assert_ptr_equal(scenario_find(s->name), s);
        assert_true(strlen(s->line) > 0 && strlen(s->line) < 100);
        assert_true(s->example == NULL || scenario_example(s->example) != NULL);
        server_start_with(NULL);
        assert_int_equal(scenario_create_nodes(s, server, NULL), 0);
        checker_run(server, &r);
        if (r.violation_n > 0) {
            fail_msg("%s: %s", s->name, r.first_violation);
        }
        assert_true(r.device_n > 0);
        checker_report_fini(&r);
        server_stop(NULL);
        assert_int_equal(s->steps[0].act, SCENARIO_SAY);
        for (size_t k = 0; k < s->step_n; k++) {
            acts[s->steps[k].act]++;
            check_step(s, &s->steps[k]);
        }
        assert_true(acts[SCENARIO_SAY] >= 3 && acts[SCENARIO_REFUSED] >= 1 && acts[SCENARIO_BOUND] >= 1);
    }
    assert_true(s == NULL);
    assert_null(scenario_find("nobody-tells-this"));
    assert_null(scenario_example("nobody-wrote-this.yaml"));
}

static void example__in_the_binary__is_the_file(void **state)
{
    static char line[1 << 12];
    const char *const *lines = scenario_example("day-night.yaml");
    FILE *f = fopen(FGPU_SOURCE_DIR "/config/examples/day-night.yaml", "r");
    size_t n = 0;

    assert_non_null(f);
    assert_non_null(lines);
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        assert_non_null(lines[n]);
        assert_string_equal(line, lines[n]);
        n++;
    }
    assert_null(lines[n]);
    assert_int_equal(fclose(f), 0);
}

static void pairs__of_every_form__read_or_refused(void **state)
{
    cJSON *o = scenario_pairs("a.b/c: 1; d : x:y ;e:");

    assert_non_null(o);
    assert_string_equal(cJSON_GetStringValue(doc_field(o, "a.b/c")), "1");
    assert_string_equal(cJSON_GetStringValue(doc_field(o, "d")), "x:y");
    assert_string_equal(cJSON_GetStringValue(doc_field(o, "e")), "");
    cJSON_Delete(o);
    o = scenario_pairs(NULL);
    assert_int_equal(cJSON_GetArraySize(o), 0);
    cJSON_Delete(o);
    assert_null(scenario_pairs("no value"));
}

/* ---- claims ---- */

#define ASSIGNED(device, index)                                                                                        \
    "{\"fgpu.io/visible-devices.c0\":\"" device "\",\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"x\\\","       \
    "\\\"containers\\\":[{\\\"name\\\":\\\"main\\\",\\\"init\\\":false,\\\"devices\\\":[{"                             \
    "\\\"uuid\\\":\\\"" device "\\\",\\\"index\\\":" #index ",\\\"milli\\\":300,\\\"memMib\\\":100}]}]}\"}"
#define REFUSAL                                                                                                        \
    "{\"metadata\":{\"name\":\"waits\",\"namespace\":\"ns\"},\"spec\":{\"containers\":[{\"name\":"                     \
    "\"c\"}]},\"status\":{\"phase\":"                                                                                  \
    "\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"message\":\"0/"                     \
    "1 nodes are "                                                                                                     \
    "available: 1 too few GPUs.\"}]}}"

static void claims__of_pods__true_and_false(void **state)
{
    static const struct {
        struct scenario_step step;
        bool holds;
        const char *text; /* contained in what is said */
    } rows[] = {
        {BOUND("a"), true, "a is bound"},
        {BOUND_TO("a", "n1"), true, "a is bound to n1"},
        {BOUND_TO("a", "n2"), false, "a is on n1"},
        {BOUND("*"), false, "new is pending"},
        {BOUND("nobody"), false, "no such pod"},
        {REFUSED("waits", "too few GPUs"), true, "refused: too few GPUs"},
        {REFUSED("waits", "too many GPUs"), false, "0/1 nodes"},
        {REFUSED("a", "too few GPUs"), false, "a is bound to n1"},
        {REFUSED("new", "x"), false, "nobody has looked at it yet"},
        {TOGETHER("a*"), true, "share a GPU"},
        {TOGETHER("*b"), true, "share a GPU"},
        {TOGETHER("waits"), false, "has no device"},
        {APART("a*"), false, "shares a device"},
        {HOLDS("a", 1, 300, 100), true, "1 x (300 milli, 100 MiB)"},
        {HOLDS("a", 1, 301, 100), false, "holds 300 milli"},
        {HOLDS("a", 2, 300, 100), false, "holds 1 devices"},
        {HOLDS("waits", 1, 300, 100), false, "holds 0 devices"},
        {TOLD("a", "fgpu.io/visible-devices.c0: GPU-*"), true, "told"},
        {TOLD("a", "fgpu.io/visible-devices.c0: MIG-*"), false, "is told fgpu.io/visible-devices.c0: GPU-a"},
        {TOLD("a", "other: *"), false, "is told other: nothing"},
        {EVENT("", "x"), false, "no such Event"},
    };

    server_pod("a", "n1", ASSIGNED("GPU-a", 0));
    server_pod("ab", "n1", ASSIGNED("GPU-a", 0));
    server_pod("new", NULL, NULL);
    server_create(APISERVER_PODS, REFUSAL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct claim c = {.apiserver = server, .step = &rows[i].step};
        bool holds = claim_holds(&c);

        if (holds != rows[i].holds || strstr(c.text, rows[i].text) == NULL) {
            fail_msg("row %zu: %s, it says: %s", i, holds ? "true" : "false", c.text);
        }
    }
    server_delete("ab");
    server_pod("ac", "n1", ASSIGNED("GPU-c", 1));
    assert_true(claim_holds(&(struct claim){.apiserver = server, .step = &(struct scenario_step)APART("a*")}));
    assert_false(claim_holds(&(struct claim){.apiserver = server, .step = &(struct scenario_step)TOGETHER("a*")}));
}

static void claims__of_state__compared_as_json(void **state)
{
    cJSON *doc = doc_parse(STR("{\"summary\":{\"n\":3,\"open\":[\"night\"]}}"));
    struct claim c = {.state = doc};

    c.step = &(const struct scenario_step)STATE("summary.n", "3");
    assert_true(claim_holds(&c));
    c.step = &(const struct scenario_step)STATE("summary.open", "[\"night\"]");
    assert_true(claim_holds(&c));
    c.step = &(const struct scenario_step)STATE("summary.n", "4");
    assert_false(claim_holds(&c));
    assert_non_null(strstr(c.text, "/state says summary.n: 3"));
    c.step = &(const struct scenario_step)STATE("summary.other", "4");
    assert_false(claim_holds(&c));
    cJSON_Delete(doc);
}

/* ---- the scenario runner ---- */

static struct clock_shifted shifted;

/* Of one cluster without fgpu; the caller joins and frees it. */
static struct scenario_runner *start_telling(const struct scenario *scenario, atomic_bool *stop)
{
    const struct scenario_runner_options o = {.scenario = scenario,
                                              .apiserver = server,
                                              .ops_url = "http://127.0.0.1:1",
                                              .clock = &shifted,
                                              .for_ms = 1,
                                              .fd = -1,
                                              .stop = stop};
    struct scenario_runner *t;

    clock_shifted_init(&shifted);
    assert_int_equal(scenario_runner_start(&o, &t, NULL), 0);
    return t;
}

static void scenario_runner__a_claim_after_a_stop__the_scenario_is_not_finished(void **state)
{
    static const struct scenario_step steps[] = {SAY("Once"), BOUND("nobody")};
    static const struct scenario scenario = {.name = "s", .steps = steps, .step_n = 2};
    atomic_bool stop = false;
    struct scenario_runner *t;
    struct scenario_result r;

    t = start_telling(&scenario, &stop);
    atomic_store(&stop, true);
    scenario_runner_join(t, &r);
    assert_false(r.finished);
    assert_true(r.failure[0] != '\0');
    scenario_runner_free(t);
}

static void nobody(void *ctx, const cJSON *object)
{
    (void)ctx;
    (void)object;
}

static void scenario_runner__steps__taken_in_order(void **state)
{
    static const struct scenario_step steps[] = {
        SAY("Once"),
        CREATE("a", 2, .limits = "x.y/z: 1"),
        CLOCK("2026-03-28T18:51:00Z"),
        DELETE("a-1"),
        REFUSED("a-2", ""),
        SAY("The end"),
    };
    static const struct scenario scenario = {.name = "s", .steps = steps, .step_n = sizeof(steps) / sizeof(steps[0])};
    atomic_bool stop = false;
    struct scenario_runner *t;
    struct scenario_result r;
    char when[CLOCK_RFC3339_MAX];

    t = start_telling(&scenario, &stop);
    scenario_runner_join(t, &r);
    assert_true(r.finished && atomic_load(&stop));
    assert_int_equal(r.scene_n, 2);
    assert_int_equal(r.claim_n, 1);
    assert_false(apiserver_find(server, APISERVER_PODS, "scenario", "a-1", nobody, NULL));
    clock_rfc3339(clock_wall_ms(&shifted.clock), when);
    assert_memory_equal(when, "2026-03-28T18:5", 15);
    scenario_runner_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenarios__each_table__can_be_played_and_claims_something),
        cmocka_unit_test(example__in_the_binary__is_the_file),
        cmocka_unit_test(pairs__of_every_form__read_or_refused),
        cmocka_unit_test_setup_teardown(claims__of_pods__true_and_false, server_start, server_stop),
        cmocka_unit_test(claims__of_state__compared_as_json),
        cmocka_unit_test_setup_teardown(scenario_runner__a_claim_after_a_stop__the_scenario_is_not_finished,
                                        server_start, server_stop),
        cmocka_unit_test_setup_teardown(scenario_runner__steps__taken_in_order, server_start, server_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
