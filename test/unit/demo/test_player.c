/* The player against a small extender over real HTTP: what kube-scheduler would do with each reply.
 */
#include "demo/checker/checker.h"
#include "demo/apiserver/cluster.h"
#include "demo/picture/picture.h"
#include "demo/scheduler/player.h"
#include "demo/support/extender.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct extender *extender;
static struct player *player;
static struct player_stats stats;

static int start(void **state)
{
    server_start(state);
    extender = extender_start();
    return cluster_create(server, 2, 2, NULL);
}

static int stop(void **state)
{
    player_free(player);
    player = NULL;
    extender_free(extender);
    return server_stop(state);
}

static void play(bool workload)
{
    struct err err;
    struct player_options o = {
        .apiserver = server,
        .verbs_url = extender_url(extender),
        .seed = 1,
        .speed_milli = 100000, /* a backoff of 10 ms */
        .workload = workload,
    };
    if (player_start(&o, &player, &err)) {
        fail_msg("%s", err.msg);
    }
}

/* Waits until *counter (of `stats`) reaches n. */
static void wait_for(const uint64_t *counter, uint64_t n)
{
    for (int turn = 0; turn < 2000; turn++) {
        player_stats(player, &stats);
        if (*counter >= n) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    fail_msg("waited 10 s for %llu; last failure: %s", (unsigned long long)n, stats.last_failure);
}

static void create(const char *name, const char *limits)
{
    char json[512];
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{\"schedulerName\":"
             "\"fgpu-demo\","
             "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{%s}}}]}}",
             name, limits);
    server_create(APISERVER_PODS, json);
}

static struct checker_report check(void)
{
    struct checker_report r;
    checker_run(server, &r);
    return r;
}

static void player__pending_pod__bound_where_the_score_is_highest(void **state)
{
    play(false);
    create("p", "\"fgpu.io/gpu-milli\":\"300\"");
    wait_for(&stats.bound, 1);
    assert_int_equal(stats.decision_n, 1);
    assert_int_equal(stats.decisions[0].kind, DECISION_BOUND);
    assert_string_equal(stats.decisions[0].pod, "p");
    assert_string_equal(stats.decisions[0].gpu_request, "300 milli");
    assert_string_equal(stats.decisions[0].node, "node-01");
    assert_string_equal(stats.decisions[0].devices, "gpu 0");
    assert_int_equal(stats.filter.n, 1);
    assert_int_equal(stats.prioritize.n, 1);
    assert_int_equal(stats.bind.n, 1);
    struct checker_report r = check();
    assert_int_equal(r.bound_n, 1);
    assert_int_equal(r.violation_n, 0);
    checker_report_fini(&r);
}

static void player__other_schedulers_pods__left_alone(void **state)
{
    server_pod("theirs", NULL, NULL);
    play(false);
    create("ours", "\"fgpu.io/gpu-milli\":\"300\"");
    wait_for(&stats.bound, 1);
    struct checker_report r = check();
    assert_int_equal(r.pending_n, 1);
    checker_report_fini(&r);
}

static void player__nothing_fits__refused_with_reasons_until_room_is_made(void **state)
{
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "full-%d", i);
        create(name, "\"fgpu.io/gpu-count\":\"1\"");
    }
    play(false);
    wait_for(&stats.bound, 4);
    create("late", "\"fgpu.io/gpu-milli\":\"100\"");
    wait_for(&stats.refusals, 1);
    assert_int_equal(stats.decisions[0].kind, DECISION_REFUSED);
    assert_string_equal(stats.decisions[0].reason, "2 no device has room");
    server_delete("full-2");
    wait_for(&stats.bound, 5);
    assert_string_equal(stats.decisions[0].pod, "late");
    assert_int_equal(stats.protocol_errors, 0);
}

/* It is tried again whenever something changes; what was told before it stays in sight. */
static void player__refused_again_and_again_for_one_reason__is_one_decision(void **state)
{
    size_t told = 0;

    play(false);
    create("big", "\"fgpu.io/gpu-count\":\"3\"");
    wait_for(&stats.refusals, 1);
    for (uint64_t i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "small-%u", (unsigned)i);
        create(name, "\"fgpu.io/gpu-milli\":\"100\"");
        wait_for(&stats.bound, i + 1);
        wait_for(&stats.refusals, i + 2);
    }
    for (size_t i = 0; i < stats.decision_n; i++) {
        told += strcmp(stats.decisions[i].pod, "big") == 0;
    }
    assert_int_equal(told, 1);
    assert_int_equal(stats.decision_n, 4);
}

static const char *condition_of(const cJSON *pod)
{
    const cJSON *status = cJSON_GetObjectItem(pod, "status");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(status, "conditions"), 0);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(first, "message"));
    return text ? text : "";
}

static void keep_condition(void *ctx, const cJSON *pod)
{
    snprintf(ctx, 256, "%s", condition_of(pod));
}

static void player__refusal__written_to_the_pods_condition(void **state)
{
    char message[256] = "";
    play(false);
    create("big", "\"fgpu.io/gpu-count\":\"3\"");
    wait_for(&stats.refusals, 1);
    player_stop(player);
    apiserver_find(server, APISERVER_PODS, "ns", "big", keep_condition, message);
    assert_string_equal(message, "0/2 nodes are available: 2 no device has room.");
    player_stats(player, &stats);
}

struct broken {
    const char *name;
    enum extender_fault fault;
    bool protocol; /* counts as a breach of the protocol, not only as a failure */
    const char *contained;
};

static void player__broken_replies__failures_backoff_and_recovery(void **state)
{
    static const struct broken rows[] = {
        {"unknown node", EXTENDER_UNKNOWN_NODE, true, "not asked for"},
        {"no reason", EXTENDER_NO_REASON, true, "node-01 has no reason"},
        {"not json", EXTENDER_NOT_JSON, true, "filter reply"},
        {"http 500", EXTENDER_HTTP_500, false, "HTTP status 500"},
        {"error", EXTENDER_ERROR, false, "not ready"},
        {"score 11", EXTENDER_SCORE_11, true, "outside 0..10"},
        {"lying bind", EXTENDER_LYING_BIND, true, "bind said success"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "p%zu", i);
        extender_set(extender, rows[i].fault);
        play(false);
        create(name, "\"fgpu.io/gpu-milli\":\"100\"");
        wait_for(&stats.failures, 1);
        if (!strstr(stats.last_failure, rows[i].contained) || (stats.protocol_errors > 0) != rows[i].protocol) {
            fail_msg("%s: %llu protocol errors, %s", rows[i].name, (unsigned long long)stats.protocol_errors,
                     stats.last_failure);
        }
        extender_set(extender, EXTENDER_HONEST);
        wait_for(&stats.bound, 1);
        player_free(player);
        player = NULL;
        server_delete(name);
    }
}

static void player__no_extender__fails_and_stops(void **state)
{
    struct player_options o = {.apiserver = server, .verbs_url = "http://127.0.0.1:1/v1"};
    assert_int_equal(player_start(&o, &player, NULL), 0);
    create("p", "\"fgpu.io/gpu-milli\":\"100\"");
    wait_for(&stats.failures, 1);
    assert_int_equal(stats.protocol_errors, 0);
}

static void player__bad_options__refused(void **state)
{
    struct player *p = NULL;
    struct player_options o = {.apiserver = server};
    assert_int_equal(player_start(&o, &p, NULL), -ERR_INVALID);
    o.verbs_url = "http://127.0.0.1:1/v1";
    o.speed_milli = -1;
    assert_int_equal(player_start(&o, &p, NULL), -ERR_INVALID);
    assert_null(p);
}

/* The whole show, drawn as plain lines into a file: pods come, run, end; nothing is over-committed.
 */
static void workload__played_fast__cluster_fills_and_stays_sound(void **state)
{
    play(true);
    wait_for(&stats.finished, 20);
    wait_for(&stats.refusals, 1);
    atomic_bool end;
    atomic_init(&end, false);
    FILE *file = tmpfile();
    assert_non_null(file);
    int fd = fileno(file);
    struct picture_result result;
    picture_run(&(struct picture_options){.apiserver = server, .player = player, .fd = fd, .for_ms = 300, .stop = &end},
                &result);
    if (result.violation_n || result.stats.protocol_errors) {
        fail_msg("%s %s", result.first_violation, result.stats.last_failure);
    }
    assert_true(result.check_n >= 2);
    assert_true(result.milli_mean_permille > 0);
    assert_int_equal(result.stats.created >= result.stats.finished, true);
    struct strbuf table;
    strbuf_init(&table, 1 << 16);
    picture_summary(&result, &table);
    assert_true(str_ends(strbuf_view(&table), STR("\n0 invariant violations\n")));
    char text[4096] = "";
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "0 invariant violations"));
    assert_null(strchr(text, '\033'));
    strbuf_fini(&table);
    picture_result_fini(&result);
    fclose(file);
}

/* And the judge is not blind: an extender that over-commits is caught, and the table says so. */
static void workload__careless_extender__violations_reported(void **state)
{
    extender_set(extender, EXTENDER_OVERCOMMIT);
    play(true);
    wait_for(&stats.bound, 10);
    atomic_bool end;
    atomic_init(&end, true);
    struct picture_result result;
    int fd = open("/dev/null", O_WRONLY);
    picture_run(&(struct picture_options){.apiserver = server, .player = player, .fd = fd, .stop = &end}, &result);
    close(fd);
    assert_true(result.overcommit_n > 0);
    assert_true(result.violation_n >= result.overcommit_n);
    struct strbuf table;
    strbuf_init(&table, 1 << 16);
    picture_summary(&result, &table);
    assert_false(str_ends(strbuf_view(&table), STR("\n0 invariant violations\n")));
    assert_non_null(strstr(table.p, "first violation: "));
    strbuf_fini(&table);
    picture_result_fini(&result);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(player__pending_pod__bound_where_the_score_is_highest),
        TEST(player__other_schedulers_pods__left_alone),
        TEST(player__nothing_fits__refused_with_reasons_until_room_is_made),
        TEST(player__refused_again_and_again_for_one_reason__is_one_decision),
        TEST(player__refusal__written_to_the_pods_condition),
        TEST(player__broken_replies__failures_backoff_and_recovery),
        TEST(player__no_extender__fails_and_stops),
        TEST(player__bad_options__refused),
        TEST(workload__played_fast__cluster_fills_and_stays_sound),
        TEST(workload__careless_extender__violations_reported),
    };
    return cmocka_run_group_tests_name("demo/player", tests, NULL, NULL);
}
