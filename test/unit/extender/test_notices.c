/* Which changes people are told about, on which object, and that nobody hears of the others. Events are not posted:
 * what would be is kept here. */
#include "extender/notices.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "extender/binder.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char somebody;
static struct events *const people = (struct events *)&somebody; /* never looked into */
static struct strbuf told;                                       /* "GPUNodeClosed node n1: The node ...\n" */

/* Of kube/events.h. */
void events_record(struct events *e, const struct event *event)
{
    static const char *const kinds[] = {[EVENT_OBJECT_NONE] = "none",
                                        [EVENT_OBJECT_POD] = "pod",
                                        [EVENT_OBJECT_NODE] = "node",
                                        [EVENT_OBJECT_SELF] = "self"};

    assert_ptr_equal(e, people);
    assert_true(event->note.n <= EVENT_NOTE_MAX);
    strbuf_addf(&told, "%s %s %.*s: %.*s\n", event_words(event->reason)->reason, kinds[event->regarding.kind],
                STR_ARG(event->regarding.name), STR_ARG(event->note));
}

static int setup(void **state)
{
    strbuf_init(&told, 1 << 16);
    store_open(clock_system());
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&told);
    store_check_and_free();
    return 0;
}

/* One notice of this reason that begins so; NULL: none. */
static void expect(const char *begins, const char *has)
{
    if (begins == NULL ? told.n > 0
                       : strncmp(told.p, begins, strlen(begins)) != 0 || strstr(told.p, has) == NULL ||
                             memchr(told.p, '\n', told.n) != told.p + told.n - 1) {
        fail_msg("told \"%.*s\" instead of \"%s...%s...\"", (int)told.n, told.p, begins == NULL ? "" : begins,
                 begins == NULL ? "" : has);
    }
    strbuf_reset(&told);
}

/* ---- nodes ---- */

static struct device devices[3];
static const char note[] = "annotation of the node cannot be read";

struct node_as_it_is {
    size_t gpu_n, ill_n;
    const char *note;
    bool closed, needs_agent;
};

static void describe(const struct node_as_it_is *n)
{
    const struct inventory inventory = {
        .source = INVENTORY_ANNOTATION, .devices = devices, .device_n = n->gpu_n, .needs_agent = n->needs_agent};
    struct ledger_op op = {
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {
            .name = STR("n1"), .schedulable = true, .inventory = &inventory, .note = n->note, .closed = n->closed}};

    for (size_t i = 0; i < n->gpu_n; i++) {
        devices[i] = (struct device){
            .index = (int32_t)i, .model = STR("A100"), .mem_mib = 81920, .slot_n = 16, .healthy = i >= n->ill_n};
    }
    assert_int_equal(notices_apply(store, people, &op, NULL), 0);
}

static void F131_node__step_by_step__told_what_changed(void **state)
{
    static const struct {
        struct node_as_it_is n;
        const char *begins, *has;
    } steps[] = {
        {{.gpu_n = 2, .closed = true}, NULL, NULL}, /* seen first: closed is nothing new */
        {{.gpu_n = 2}, "GPUNodeOpened node n1: ", "takes pods with GPUs again"},
        {{.gpu_n = 2}, NULL, NULL},
        {{.gpu_n = 2, .closed = true}, "GPUNodeClosed node n1: ", "0 pods with GPUs may run"},
        {{.gpu_n = 2}, "GPUNodeOpened node n1: ", ""},
        {{.gpu_n = 2, .ill_n = 1}, "GPUDeviceUnhealthy node n1: 1 GPU of the node is reported unhealthy", ""},
        {{.gpu_n = 2, .ill_n = 1}, NULL, NULL},
        {{.gpu_n = 2, .ill_n = 2}, "GPUDeviceUnhealthy node n1: 2 GPUs of the node are reported unhealthy", ""},
        {{.gpu_n = 2, .ill_n = 1}, NULL, NULL}, /* not yet */
        {{.gpu_n = 2}, "GPUDeviceHealthy node n1: ", "any more"},
        {{.gpu_n = 2, .ill_n = 1, .needs_agent = true}, NULL, NULL}, /* fgpu-node tells of it */
        {{.gpu_n = 2, .needs_agent = true}, NULL, NULL},
        {{.gpu_n = 2, .note = note}, "GPUInventoryInvalid node n1: annotation of the node cannot be read\n", ""},
        {{.gpu_n = 2, .note = note}, NULL, NULL},
        {{.gpu_n = 2}, "GPUInventoryRestored node n1: ", "can read the inventory"},
    };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        describe(&steps[i].n);
        expect(steps[i].begins, steps[i].has);
    }
}

/* ---- pods ---- */

static struct gpu_request share = {
    .container = {"main", 4}, .count = 1, .kind = GPU_REQUEST_MILLI, .milli = 300, .phases = 1};
static const struct demand asks = {.dialect = "native", .gpu_requests = &share, .gpu_request_n = 1};

static void observe(const char *node, const struct assignment *as, const struct demand *d, bool claims)
{
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED,
                           .pod = {.uid = STR("a"),
                                   .namespace_ = STR("d"),
                                   .name = STR("a"),
                                   .node_name = str_of(node),
                                   .demand = d,
                                   .claims_record = claims,
                                   .assignment = as}};

    assert_int_equal(notices_apply(store, people, &op, NULL), 0);
}

static void go(void)
{
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("a")});
}

static void hold(size_t gpu_n)
{
    static const struct assigned_device d = {.index = 1, .milli = 300};
    static const struct assigned_container c = {.name = {"main", 4}, .devices = &d, .device_n = 1};
    static const struct assignment as = {{"x", 1}, &c, 1};

    describe(&(struct node_as_it_is){.gpu_n = gpu_n});
    observe("n1", &as, &asks, false);
}

static void node__loses_a_gpu_that_is_held__told_until_it_is_back(void **state)
{
    hold(2);
    expect(NULL, NULL);
    describe(&(struct node_as_it_is){.gpu_n = 1});
    expect("GPUDeviceLost node n1: 1 GPU that pods hold", "drain them");
    describe(&(struct node_as_it_is){.gpu_n = 1});
    expect(NULL, NULL);
    describe(&(struct node_as_it_is){.gpu_n = 2});
    expect("GPUDeviceReturned node n1: ", "again");
    describe(&(struct node_as_it_is){.gpu_n = 2, .closed = true});
    expect("GPUNodeClosed node n1: ", "1 pod with GPUs may run");
}

static void pod__request_that_cannot_be_read__told_once_for_each_defect(void **state)
{
    static const struct demand bad = {.dialect = "native", .defect = DEMAND_FRACTION},
                               worse = {.dialect = "native", .defect = DEMAND_COUNT};

    observe(NULL, NULL, &bad, false);
    expect("GPURequestInvalid pod a: ", "refused on every node until it is corrected");
    observe(NULL, NULL, &bad, false);
    expect(NULL, NULL);
    observe(NULL, NULL, &worse, false);
    expect("GPURequestInvalid pod a: ", "");
    observe(NULL, NULL, &asks, false);
    expect(NULL, NULL);
}

static void pod__record_before_it_is_bound__told_once(void **state)
{
    observe(NULL, NULL, &asks, true);
    expect("GPUAssignmentIgnored pod a: ", "ignores and replaces it");
    observe(NULL, NULL, &asks, true);
    expect(NULL, NULL);
}

static void pod__bound_without_a_record__told(void **state)
{
    describe(&(struct node_as_it_is){.gpu_n = 2});
    observe("n1", NULL, &asks, false);
    expect("GPUAssignmentMissing pod a: ", "through the scheduler that asks fgpu");
    observe("n1", NULL, &asks, false);
    expect(NULL, NULL);
}

/* Only when it is known that nobody who died decided it, and only of a pod that was not seen waiting: that is an
 * incident. */
static void pod__bound_by_a_decision_of_others__told_once_we_are_ready(void **state)
{
    hold(2);
    expect(NULL, NULL); /* still reading */
    go();
    apply_empty_lists();
    hold(2);
    expect("GPUAssignmentForeign pod a: ", "did not decide");
    go();
    observe(NULL, NULL, &asks, false);
    hold(2);
    expect(NULL, NULL);
}

/* ---- the others: one sentence each ---- */

static void others__say_of_what_they_are(void **state)
{
    const struct bind_request r = {STR("a"), STR("d"), STR("u"), STR("n1")};
    const struct event_object pod = {EVENT_OBJECT_POD, STR("d"), STR("a"), STR("u")};
    const struct pod p = {.namespace_ = STR("d"), .name = STR("a"), .uid = STR("u")};
    struct ledger_overcommit o = {.node_name = STR("n1"), .uuid = STR("GPU-7"), .index = 7, .begins = true};

    notice_bind_resolved(people, &r, "beef", true);
    expect("GPUBindingResolved pod a: ", "bound to n1: it is bound (decision beef)\n");
    notice_bind_resolved(people, &r, "", false);
    expect("GPUBindingResolved pod a: ", "is not bound; its GPUs are free again\n");
    notice_pod_waits(people, &pod, "No node has room");
    expect("GPUPodWaits pod a: No node has room. ", "\"fgpu explain pod/d/a\" says more");
    notice_preemption_refused(people, &p, VERDICT_NO_MEMORY);
    expect("GPUPreemptionRefused pod a: ", verdict_text(VERDICT_NO_MEMORY));
    notice_overcommit(people, &o);
    expect("GPUOvercommitted node n1: GPU 7 (GPU-7) is charged", "takes no new pods");
    o.begins = false;
    notice_overcommit(people, &o);
    expect("GPURecovered node n1: GPU 7 (GPU-7) is within", "takes new pods");
    notice_drift(people, STR("d"), STR("a"), DRIFT_POD_GONE);
    expect("GPUDriftRepaired pod a: ", "(pod_gone)");
    notice_drift(people, STR_NULL, STR("n1"), DRIFT_NODE_GONE);
    expect("GPUDriftRepaired node n1: ", "(node_gone)");
}

/* Of a double booking everybody hears who is the younger one; who was told before hears nothing. */
static void incident__told_to_those_who_joined_it(void **state)
{
    struct incident *in = xcalloc(1, sizeof(*in) + 2 * sizeof(struct incident_pod));

    in->node_name = STR("n1");
    in->uuid = STR("GPU-0");
    in->pod_n = 2;
    in->pods[0] = (struct incident_pod){.namespace_ = STR("d"), .name = STR("old"), .uid = STR("1")};
    in->pods[1] = (struct incident_pod){.namespace_ = STR("d"), .name = STR("young"), .uid = STR("2"), .joined = true};
    in->kind = INCIDENT_DOUBLE_BOOKING;
    notice_incident(people, in);
    expect("GPUDoubleBooked pod young: A GPU is given out twice", "Delete the younger pod, d/young, so that");
    in->kind = INCIDENT_FOREIGN_DECISION;
    notice_incident(people, in);
    expect("GPUAssignmentForeign pod young: Bound by a decision that this fgpu did not make",
           "/state shows its charge");
    in->pods[1].joined = false;
    notice_incident(people, in);
    expect(NULL, NULL);
    free(in);
}

static void note__longer_than_an_event_holds__cut(void **state)
{
    char why[2 * EVENT_NOTE_MAX];
    const struct event_object pod = {EVENT_OBJECT_POD, STR("d"), STR("a"), STR("u")};

    memset(why, 'x', sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    notice_pod_waits(people, &pod, why);
    assert_int_equal(told.n, strlen("GPUPodWaits pod a: ") + EVENT_NOTE_MAX + 1);
    expect("GPUPodWaits pod a: xxx", "xxx\n");
}

static void nobody_listens__applied_all_the_same(void **state)
{
    const struct inventory none = {.source = INVENTORY_ANNOTATION};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED, .node = {.name = STR("n1"), .inventory = &none}};

    assert_int_equal(notices_apply(store, NULL, &op, NULL), 0);
    assert_true(store_has_node(store, STR("n1")));
    expect(NULL, NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(F131_node__step_by_step__told_what_changed),
        T(node__loses_a_gpu_that_is_held__told_until_it_is_back),
        T(pod__request_that_cannot_be_read__told_once_for_each_defect),
        T(pod__record_before_it_is_bound__told_once),
        T(pod__bound_without_a_record__told),
        T(pod__bound_by_a_decision_of_others__told_once_we_are_ready),
        T(others__say_of_what_they_are),
        T(incident__told_to_those_who_joined_it),
        T(note__longer_than_an_event_holds__cut),
        T(nobody_listens__applied_all_the_same),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
