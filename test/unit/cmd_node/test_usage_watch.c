/* Who uses too much, from the driver's list of processes to a signal: a scripted library (test/nvml), a folder that
 * says what the kernel would of processes, containers that a runtime lists. The processes are children of this test. */
#include "cmd_node/usage_watch.h"
#include "cmd_node/node_state.h"
#include "cmd_node/samples.h"
#include "node/support/node_fixture.h"
#include "obs/node_catalog.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include "base/bug.h"
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define GIVEN_MIB 100

struct fixture {
    struct node_fixture node;
    struct temp_dir dir;
    char script[256];
    struct node_options options;
    struct answers *answers;
    struct metrics *metrics;
    struct usage_watch *watch;
    pid_t child;
};

static void write_proc(struct fixture *f, const char *container)
{
    char path[256], text[512];

    snprintf(path, sizeof(path), "%s/%d", f->dir.path, (int)f->child);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%d/cgroup", (int)f->child);
    snprintf(text, sizeof(text), "0::/kubepods/pod1/%s\n", container);
    temp_dir_write(&f->dir, path, text);
    snprintf(path, sizeof(path), "%d/stat", (int)f->child);
    temp_dir_write(&f->dir, path, "7 (x) S 1 1 1 0 -1 1 1 0 0 0 1 1 0 0 20 0 1 0 99 1 1 1\n");
}

/* The child uses that much of GPU-a. */
static void uses(struct fixture *f, const char *gpu, const char *mem_mib)
{
    char text[256];

    snprintf(text, sizeof(text), "process %s %d %s 50\n", gpu, (int)f->child, mem_mib);
    temp_dir_write(&f->dir, "gpus.processes", text);
}

/* A container main of a pod with that name, which the runtime lists. */
static void runs(struct fixture *f, const char *name, struct assigned_device device)
{
    const struct pod_facts pod = pod_of(&f->node, name, ONE_OF(device));
    const struct container_facts c = container_of(&f->node, &pod, "main");
    const struct nri_handler h = answers_handler(f->answers);
    const struct nri_pod p = {.id = c.sandbox_id,
                              .name = pod.name,
                              .uid = pod.uid,
                              .namespace = pod.namespace_,
                              .annotations = pod.annotations};
    const struct nri_container k = {.id = c.id, .pod_id = c.sandbox_id, .name = c.name, .state = NRI_CONTAINER_RUNNING};

    h.sync_begin(h.ctx);
    h.sync_pod(h.ctx, &p);
    h.sync_container(h.ctx, &k);
    h.sync_end(h.ctx);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    node_fixture_init(&f->node);
    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "gpus", f->script, sizeof(f->script));
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 H100\ngpu GPU-b 1 1000 0 H100\nmig MIG-d 1000 1g.5gb\n");
    f->options = (struct node_options){.node_name = "n1", .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    f->answers = answers_new(&f->options, NULL);
    answers_set_keys(f->answers, f->node.keys);
    answers_set_devices(f->answers, f->node.devices, FIXTURE_DEVICES);
    f->metrics = node_catalog_metrics_new();
    f->child = fork();
    if (f->child == 0) {
        for (;;) {
            pause();
        }
    }
    *state = f;
    return setenv("FAKE_NVML", f->script, 1);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    usage_watch_stop(f->watch);
    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    metrics_free(f->metrics);
    answers_free(f->answers);
    temp_dir_fini(&f->dir);
    node_fixture_fini(&f->node);
    free(f);
    return 0;
}

static int64_t value_of(const struct fixture *f, enum node_metric id)
{
    return metric_value(METRIC(f->metrics, id));
}

static int64_t looks(const struct fixture *f)
{
    return metric_value(METRIC(f->metrics, NODE_USAGE_LOOKS_TOTAL, "ok"));
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000};

    nanosleep(&t, NULL);
}

/* Watches until it has looked at GPUs ten times more. */
static void watch(struct fixture *f, bool kill_)
{
    const struct usage_watch_options o = {.library = FGPU_FAKE_NVML,
                                          .proc = f->dir.path,
                                          .interval_ms = 1,
                                          .grace_ms = 0,
                                          .kill = kill_,
                                          .answers = f->answers,
                                          .metrics = f->metrics};
    const int64_t before = looks(f);
    struct err err;

    assert_int_equal(usage_watch_start(&o, &f->watch, &err), 0);
    for (int i = 0; looks(f) < before + 10 && i < PATIENCE_MS; i++) {
        pause_ms(1);
    }
    usage_watch_stop(f->watch);
    f->watch = NULL;
    assert_true(looks(f) >= before + 10);
}

static bool child_lives(const struct fixture *f)
{
    return waitpid(f->child, NULL, WNOHANG) == 0;
}

static void watch__above_its_memory__is_told_once_and_lives(void **state)
{
    struct fixture *f = *state;

    runs(f, "greedy", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-greedy-main");
    uses(f, "GPU-a", "101");
    watch(f, false);
    assert_int_equal(value_of(f, NODE_OVER_LIMIT_TOTAL), 1);
    assert_int_equal(value_of(f, NODE_PROCESSES_KILLED_TOTAL), 0);
    assert_true(child_lives(f));
}

static void watch__above_its_memory__is_killed_where_that_is_set(void **state)
{
    struct fixture *f = *state;
    int status;

    runs(f, "greedy", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-greedy-main");
    uses(f, "GPU-a", "101");
    watch(f, true);
    assert_int_equal(waitpid(f->child, &status, 0), f->child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(value_of(f, NODE_PROCESSES_KILLED_TOTAL) >= 1);
}

static void watch__within_its_memory__is_left_alone(void **state)
{
    struct fixture *f = *state;

    runs(f, "modest", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-modest-main");
    uses(f, "GPU-a", "100");
    watch(f, true);
    assert_int_equal(value_of(f, NODE_OVER_LIMIT_TOTAL), 0);
    assert_true(child_lives(f));
}

/* A process of the host, or of a container that fgpu gave no GPU. */
static void watch__who_is_in_no_container_of_ours__is_never_killed(void **state)
{
    struct fixture *f = *state;

    runs(f, "greedy", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-another-main");
    uses(f, "GPU-a", "900");
    watch(f, true);
    assert_int_equal(value_of(f, NODE_FOREIGN_PROCESSES), 1);
    assert_int_equal(value_of(f, NODE_OVER_LIMIT_TOTAL), 0);
    assert_true(child_lives(f));
}

/* On a GPU that it was not given: the memory of that GPU is not judged by the record of another one. */
static void watch__on_a_gpu_that_somebody_else_holds__is_foreign_there(void **state)
{
    struct fixture *f = *state;

    runs(f, "other", share_of(&f->node, 1, 300, GIVEN_MIB));
    write_proc(f, "c-greedy-main");
    uses(f, "GPU-b", "900");
    watch(f, true);
    assert_int_equal(value_of(f, NODE_FOREIGN_PROCESSES), 1);
    assert_true(child_lives(f));
}

static void watch__memory_that_nobody_knows__is_nobodys_fault(void **state)
{
    struct fixture *f = *state;

    runs(f, "unknown", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-unknown-main");
    uses(f, "GPU-a", "-");
    watch(f, true);
    assert_int_equal(value_of(f, NODE_OVER_LIMIT_TOTAL), 0);
    assert_true(child_lives(f));
}

static void watch__who_has_a_gpu_or_an_instance_alone__is_never_killed(void **state)
{
    struct fixture *f = *state;

    runs(f, "whole", whole_of(&f->node, 0));
    write_proc(f, "c-whole-main");
    uses(f, "GPU-a", "5000");
    watch(f, true);
    runs(f, "instance", share_of(&f->node, 3, 1000, GIVEN_MIB));
    write_proc(f, "c-instance-main");
    uses(f, "MIG-d", "5000");
    watch(f, true);
    assert_int_equal(value_of(f, NODE_OVER_LIMIT_TOTAL), 0);
    assert_true(child_lives(f));
}

static int64_t failures(const struct fixture *f)
{
    return metric_value(METRIC(f->metrics, NODE_USAGE_LOOKS_TOTAL, "failed"));
}

/* A driver that is loaded anew is asked by a library that is opened anew. */
static void watch__a_driver_that_goes_and_comes__is_asked_again(void **state)
{
    struct fixture *f = *state;
    const struct usage_watch_options o = {
        .library = FGPU_FAKE_NVML, .proc = f->dir.path, .interval_ms = 1, .answers = f->answers, .metrics = f->metrics};
    struct err err;

    runs(f, "greedy", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-greedy-main");
    uses(f, "GPU-a", "10");
    temp_dir_write(&f->dir, "gpus", "no-driver\n");
    assert_int_equal(usage_watch_start(&o, &f->watch, &err), 0);
    for (int i = 0; failures(f) < 3 && i < PATIENCE_MS; i++) {
        pause_ms(1);
    }
    assert_true(failures(f) >= 3);
    assert_int_equal(looks(f), 0);
    temp_dir_write(&f->dir, "gpus", "gpu GPU-a 0 1000 0 H100\n");
    for (int i = 0; looks(f) < 3 && i < PATIENCE_MS; i++) {
        pause_ms(1);
    }
    assert_true(looks(f) >= 3);
}

static bool holds(const struct strbuf *text, const char *part)
{
    return strstr(text->p, part) != NULL;
}

/* What was seen is in the metrics of the container and in the state of the node. */
static void watch__what_it_sees__is_shown(void **state)
{
    struct fixture *f = *state;
    const struct usage_watch_options o = {
        .library = FGPU_FAKE_NVML, .proc = f->dir.path, .interval_ms = 1, .answers = f->answers, .metrics = f->metrics};
    struct node_state s = {.node = "n1", .driver = true, .connected = true};
    struct strbuf text, json;
    struct err err;

    runs(f, "greedy", share_of(&f->node, 0, 300, GIVEN_MIB));
    write_proc(f, "c-greedy-main");
    uses(f, "GPU-a", "150");
    assert_int_equal(usage_watch_start(&o, &f->watch, &err), 0);
    for (int i = 0; looks(f) < 2 && i < PATIENCE_MS; i++) {
        pause_ms(1);
    }
    assert_true(answers_view(f->answers, &f->node.arena, &s.view));
    strbuf_init(&text, 1 << 20);
    strbuf_init(&json, 1 << 20);
    s.usage = usage_watch_lock(f->watch);
    samples_of_usage(s.usage, &text);
    node_state_write(&s, &json);
    usage_watch_unlock(f->watch);
    samples_of_gpus(&s.view, &text);
#define OF_IT "{namespace=\"team\",pod=\"greedy\",container=\"main\",gpu=\"GPU-a\"} "
    assert_true(holds(&text, "\nfgpu_node_container_gpu_memory_used_bytes" OF_IT "157286400\n"));
    assert_true(holds(&text, "\nfgpu_node_container_gpu_memory_peak_bytes" OF_IT "157286400\n"));
    assert_true(holds(&text, "\nfgpu_node_container_gpu_memory_given_bytes" OF_IT "104857600\n"));
    assert_true(holds(&text, "\nfgpu_node_container_gpu_utilization_ratio" OF_IT "0.5\n"));
    assert_true(holds(&text, "\nfgpu_node_container_gpu_over_limit" OF_IT "1\n"));
    assert_true(holds(&text, "\nfgpu_node_container_gpu_touched" OF_IT "1\n"));
    assert_true(holds(&text, "\nfgpu_node_gpu_held_milli{gpu=\"GPU-a\"} 300\n"));
    assert_true(holds(&text, "\nfgpu_node_gpu_sharers{gpu=\"GPU-b\"} 0\n"));
    assert_true(holds(&text, "\nfgpu_node_gpu_healthy{gpu=\"GPU-a\"} 1\n"));
    assert_true(holds(&json, "\"pod\":\"greedy\""));
    assert_true(holds(&json, "\"memMib\":{\"now\":150,\"peak\":150,\"mean\":150}"));
    assert_true(holds(&json, "\"milli\":{\"now\":500,\"peak\":500,\"mean\":500}"));
    strbuf_fini(&json);
    strbuf_fini(&text);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(watch__above_its_memory__is_told_once_and_lives),
        ALONE(watch__above_its_memory__is_killed_where_that_is_set),
        ALONE(watch__within_its_memory__is_left_alone),
        ALONE(watch__who_is_in_no_container_of_ours__is_never_killed),
        ALONE(watch__on_a_gpu_that_somebody_else_holds__is_foreign_there),
        ALONE(watch__memory_that_nobody_knows__is_nobodys_fault),
        ALONE(watch__who_has_a_gpu_or_an_instance_alone__is_never_killed),
        ALONE(watch__a_driver_that_goes_and_comes__is_asked_again),
        ALONE(watch__what_it_sees__is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
