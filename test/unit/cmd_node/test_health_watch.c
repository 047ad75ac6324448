/* The thread that watches GPUs, with a library that a script tells (test/nvml): what containers, nodes and pods are
 * told. */
#include "base/bug.h"
#include "base/sync.h"
#include "cmd_node/health_watch.h"
#include "node/health.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 64
#define DEVICES_BYTES (1U << 20)

struct told {
    enum event_reason reason;
    enum event_object_kind about;
    char name[64], uid[64], note[EVENT_NOTE_MAX + 1];
};

struct fixture {
    struct node_fixture node;
    struct temp_dir dir;
    char script[256], events[256];
    struct clock_manual clock;
    struct node_options options;
    struct answers *answers;
    struct health_watch *watch;
    struct mutex lock;
    struct condvar changed;
    /* under the lock */
    struct told told[TOLD_MAX];
    size_t told_n, read_n, healthy_n, device_n, no_driver_n;
};

static void put(char *to, size_t size, struct str s)
{
    snprintf(to, size, "%.*s", STR_ARG(s));
}

static void record(void *ctx, const struct event *e)
{
    struct fixture *f = ctx;
    struct told *t;

    mutex_lock(&f->lock);
    assert_true(f->told_n < TOLD_MAX);
    t = &f->told[f->told_n++];
    t->reason = e->reason;
    t->about = e->regarding.kind;
    put(t->name, sizeof(t->name), e->regarding.name);
    put(t->uid, sizeof(t->uid), e->regarding.uid);
    put(t->note, sizeof(t->note), e->note);
    condvar_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static void read_gpus(void *ctx, struct health_watch *w, const struct nvml *n)
{
    const struct device *devices;
    size_t device_n, unreadable_n;
    struct arena a;
    struct err err;

    (void)ctx;
    arena_init(&a, DEVICES_BYTES);
    assert_int_equal(nvml_read_devices(n, &a, &devices, &device_n, &unreadable_n, &err), 0);
    health_watch_found(w, devices, device_n);
    arena_fini(&a);
}

static void set_devices(void *ctx, const struct device *devices, size_t n)
{
    struct fixture *f = ctx;

    answers_set_devices(f->answers, devices, n);
    mutex_lock(&f->lock);
    f->read_n++;
    f->device_n = n;
    f->healthy_n = 0;
    for (size_t i = 0; i < n; i++) {
        f->healthy_n += devices[i].healthy;
    }
    condvar_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static void no_driver(void *ctx)
{
    struct fixture *f = ctx;

    mutex_lock(&f->lock);
    f->no_driver_n++;
    condvar_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static void wait_until_read(struct fixture *f, size_t times)
{
    mutex_lock(&f->lock);
    while (f->read_n < times) {
        condvar_wait(&f->changed, &f->lock);
    }
    mutex_unlock(&f->lock);
}

static void wait_until_healthy(struct fixture *f, size_t n)
{
    mutex_lock(&f->lock);
    while (f->healthy_n != n) {
        condvar_wait(&f->changed, &f->lock);
    }
    mutex_unlock(&f->lock);
}

static void wait_until_told(struct fixture *f, size_t n)
{
    mutex_lock(&f->lock);
    while (f->told_n < n) {
        condvar_wait(&f->changed, &f->lock);
    }
    mutex_unlock(&f->lock);
}

static void assert_told(struct fixture *f, size_t i, enum event_reason reason, enum event_object_kind about,
                        const char *name, const char *uid, const char *says)
{
    struct told t;

    mutex_lock(&f->lock);
    assert_true(i < f->told_n);
    t = f->told[i];
    mutex_unlock(&f->lock);
    assert_int_equal(t.reason, reason);
    assert_int_equal(t.about, about);
    assert_string_equal(t.name, name);
    assert_string_equal(t.uid, uid);
    assert_says(str_of(t.note), says);
}

static void happens(struct fixture *f, const char *lines)
{
    FILE *events = fopen(f->events, "ae");

    assert_non_null(events);
    fputs(lines, events);
    assert_int_equal(fclose(events), 0);
}

static int set_up(void **state)
{
    static const uint32_t ignored[] = {63};
    struct fixture *f = xcalloc(1, sizeof(*f));
    const struct nri_runtime runtime = {.name = STR("containerd"), .version = STR("v2.4.2")};
    struct health_watch_options o = {.library = FGPU_FAKE_NVML,
                                     .ignored_xids = ignored,
                                     .ignored_xid_n = 1,
                                     .node = STR("n1"),
                                     .clock = &f->clock.clock,
                                     .record = record,
                                     .read = read_gpus,
                                     .devices = set_devices,
                                     .no_driver = no_driver,
                                     .ctx = f};
    struct nri_handler h;
    struct err err;

    node_fixture_init(&f->node);
    clock_manual_init(&f->clock, 1000 * NS_PER_S, 0);
    mutex_init(&f->lock, "test");
    condvar_init(&f->changed, "test");
    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "script", f->script, sizeof(f->script));
    temp_dir_path(&f->dir, "script.events", f->events, sizeof(f->events));
    temp_dir_write(&f->dir, "script", "gpu GPU-a 0 1000 0 A\ngpu GPU-b 1 1000 0 A\n");
    setenv("FAKE_NVML", f->script, 1);
    f->options = (struct node_options){
        .node_name = "n1", .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .max_sharers = 16};
    f->answers = answers_new(&f->options, NULL);
    answers_set_keys(f->answers, f->node.keys);
    h = answers_handler(f->answers);
    h.connected(h.ctx, &runtime);
    h.sync_begin(h.ctx);
    h.sync_end(h.ctx);
    o.answers = f->answers;
    assert_int_equal(health_watch_start(&o, &f->watch, &err), 0);
    wait_until_read(f, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    happens(f, "go\n");
    if (!health_watch_stop(f->watch)) {
        return -1;
    }
    answers_free(f->answers);
    temp_dir_fini(&f->dir);
    condvar_destroy(&f->changed);
    mutex_destroy(&f->lock);
    node_fixture_fini(&f->node);
    free(f);
    return 0;
}

/* A container of pod team/NAME with a share of this GPU. 0, or the error with its sentence. */
static int create(struct fixture *f, const char *name, int32_t gpu, struct err *reterr)
{
    const struct pod_facts pod = pod_of(&f->node, name, ONE_OF(share_of(&f->node, gpu, 100, 100)));
    const struct container_facts c = container_of(&f->node, &pod, "main");
    const struct nri_pod nri_pod = {.id = c.sandbox_id,
                                    .uid = pod.uid,
                                    .namespace = pod.namespace_,
                                    .name = pod.name,
                                    .annotations = pod.annotations};
    const struct nri_container nri_container = {.id = c.id, .pod_id = c.sandbox_id, .name = c.name};
    const struct nri_handler h = answers_handler(f->answers);
    struct nri_adjustment adjustment = {.cdi_device_n = 0};
    int rc = h.create(h.ctx, &nri_pod, &nri_container, &f->node.arena, &adjustment, reterr);

    assert_true(rc != 0 || adjustment.cdi_device_n == 2); /* void, and its GPU */
    return rc;
}

static void health_watch__xid__closes_that_gpu_and_tells_node_and_pods_once(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_int_equal(create(f, "holder", 0, &err), 0);
    assert_int_equal(create(f, "second", 0, &err), 0);
    assert_int_equal(create(f, "beside", 1, &err), 0);
    happens(f, "xid GPU-a 79\n");
    wait_until_told(f, 3);
    assert_told(f, 0, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1",
                "GPU GPU-a reported XID 79 (it has fallen off the bus). No new container gets it; 2 pods hold it");
    assert_told(f, 1, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_POD, "holder", "uid-holder", "reported XID 79");
    assert_told(f, 2, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_POD, "second", "uid-second", "reported XID 79");
    assert_int_not_equal(create(f, "late", 0, &err), 0);
    assert_says(str_of(err.msg), "GPU GPU-a (index 0), which fgpu gave to pod team/late on node n1, reported XID 79");
    assert_int_equal(create(f, "other", 1, &err), 0);
    wait_until_healthy(f, 1);
    /* A second error of it is no news; what programs cause and what the admin ignores is none at all. */
    happens(f, "xid GPU-a 48\nxid GPU-b 31\nxid GPU-b 63\nxid GPU-b 95\n");
    wait_until_told(f, 6);
    assert_told(f, 3, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-b reported XID 95");
    assert_told(f, 4, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_POD, "beside", "uid-beside", "XID 95");
    wait_until_healthy(f, 0);
}

static void health_watch__lost_gpu__is_closed_by_the_next_look_and_opened_when_it_answers(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_int_equal(create(f, "holder", 0, &err), 0);
    happens(f, "sick GPU-a 15\n");
    clock_manual_advance_ms(&f->clock, HEALTH_WATCH_LOOK_MS);
    wait_until_told(f, 2);
    assert_told(f, 0, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-a is lost");
    assert_told(f, 1, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_POD, "holder", "uid-holder", "is lost");
    assert_int_not_equal(create(f, "late", 0, &err), 0);
    assert_says(str_of(err.msg), "GPU GPU-a (index 0), which fgpu gave to pod team/late on node n1, is lost");
    wait_until_healthy(f, 1);
    mutex_lock(&f->lock);
    assert_int_equal(f->device_n, 2); /* who is lost is closed, not gone */
    mutex_unlock(&f->lock);
    happens(f, "sick GPU-a 0\n");
    clock_manual_advance_ms(&f->clock, HEALTH_WELL_AFTER_MS);
    wait_until_told(f, 4);
    assert_told(f, 2, EVENT_DEVICE_HEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-a is well again");
    assert_told(f, 3, EVENT_DEVICE_HEALTHY, EVENT_OBJECT_POD, "holder", "uid-holder", "is well again");
    wait_until_healthy(f, 2);
    assert_int_equal(create(f, "late", 0, &err), 0);
}

/* No time passes, so that no look is due but that before the read. */
static void health_watch__gpu_dies_between_a_look_and_a_read__is_closed_and_not_gone(void **state)
{
    struct fixture *f = *state;
    size_t device_n;

    happens(f, "sick GPU-a 15\n");
    health_watch_wake(f->watch);
    wait_until_healthy(f, 1);
    mutex_lock(&f->lock);
    device_n = f->device_n;
    mutex_unlock(&f->lock);
    assert_int_equal(device_n, 2);
    wait_until_told(f, 1);
    assert_told(f, 0, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-a is lost");
}

/* It does not wait for the next look, by which nothing is said to be wrong yet. */
static void health_watch__wait_fails__looks_at_once(void **state)
{
    struct fixture *f = *state;

    happens(f, "sick GPU-b 15\nerror 15\n");
    wait_until_told(f, 1);
    assert_told(f, 0, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-b is lost");
}

static void health_watch__library_hangs__containers_are_answered_and_after_a_while_no_gpu_is_given(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    happens(f, "hang\n");
    assert_int_equal(create(f, "early", 0, &err), 0);
    clock_manual_advance_ms(&f->clock, HEALTH_UNWATCHED_AFTER_MS);
    for (size_t told = 0; told < 2;) { /* it may have been between two calls */
        health_watch_guard(f->watch);
        mutex_lock(&f->lock);
        told = f->told_n;
        mutex_unlock(&f->lock);
        clock_manual_advance_ms(&f->clock, 1000);
    }
    assert_told(f, 0, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-a is not watched");
    assert_int_not_equal(create(f, "late", 1, &err), 0);
    assert_says(str_of(err.msg), "is not watched");
    wait_until_healthy(f, 0); /* also who publishes them is told, although nothing can be read */
    assert_false(health_watch_stop(f->watch));
    /* tear_down: it comes back, and ends. */
}

/* Somebody takes the driver away. */
static void health_watch__library_fails__all_are_lost(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    temp_dir_write(&f->dir, "script", "no-driver\n");
    clock_manual_advance_ms(&f->clock, HEALTH_WATCH_LOOK_MS);
    wait_until_told(f, 2);
    assert_told(f, 1, EVENT_DEVICE_UNHEALTHY, EVENT_OBJECT_NODE, "n1", "n1", "GPU GPU-b is lost");
    assert_int_not_equal(create(f, "late", 1, &err), 0);
    wait_until_healthy(f, 0);
}

int main(void)
{
#define WITH_SCRIPT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(health_watch__xid__closes_that_gpu_and_tells_node_and_pods_once),
        WITH_SCRIPT(health_watch__lost_gpu__is_closed_by_the_next_look_and_opened_when_it_answers),
        WITH_SCRIPT(health_watch__gpu_dies_between_a_look_and_a_read__is_closed_and_not_gone),
        WITH_SCRIPT(health_watch__library_fails__all_are_lost),
        WITH_SCRIPT(health_watch__wait_fails__looks_at_once),
        WITH_SCRIPT(health_watch__library_hangs__containers_are_answered_and_after_a_while_no_gpu_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
