/* The device nodes that a container really has, against its record: when it starts, and when the agent is told what
 * runs. */
#include "node/agent.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/bug.h"
#include "base/compiler.h"

#include <stdlib.h>

#define CONTROL_MINOR 255
#define UVM_MAJOR 511

struct tested {
    struct node_fixture node;
    struct agent *agent;
};

static int set_up(void **state)
{
    struct tested *t = xcalloc(1, sizeof(*t));

    node_fixture_init(&t->node);
    t->agent = agent_new();
    agent_sync_begin(t->agent);
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tested *t = *state;

    agent_free(t->agent);
    node_fixture_fini(&t->node);
    free(t);
    return 0;
}

/* Nodes as a bit for each minor number. */
#define NODE(minor) (1U << (minor))
#define NO_NODE 0U
#define PRIVILEGED (1U << 31)

static struct gpu_nodes nodes_of(unsigned bits)
{
    struct gpu_nodes s = {.everything = false};

    for (int minor = 0; minor < 31; minor++) {
        if ((bits & NODE(minor)) != 0) {
            gpu_nodes_open(&s, GPU_NODES_MAJOR, minor);
        }
    }
    if ((bits & PRIVILEGED) != 0) {
        gpu_nodes_open(&s, GPU_NODES_ALL, GPU_NODES_ALL);
    }
    return s;
}

static struct container_facts having(struct tested *t, const struct pod_facts *pod, unsigned nodes)
{
    struct container_facts c = container_of(&t->node, pod, "main");

    c.gpus = nodes_of(nodes);
    return c;
}

static struct hand_over create_with(struct tested *t, const struct pod_facts *pod, unsigned nodes)
{
    const struct container_facts c = having(t, pod, nodes);

    return agent_create(t->agent, &t->node.rules, pod, &c, &t->node.arena);
}

/* Created as kubelet does, then started with these nodes. */
static bool starts(struct tested *t, const struct pod_facts *pod, unsigned nodes, struct str *ret_why)
{
    const struct container_facts c = having(t, pod, nodes);
    const struct hand_over h = create_with(t, pod, NO_NODE);

    assert_int_not_equal(h.answer, HAND_OVER_REFUSED);
    *ret_why = STR_NULL;
    return agent_start(t->agent, &t->node.rules, pod, &c, &t->node.arena, ret_why);
}

static void does_not_start(struct tested *t, const struct pod_facts *pod, unsigned nodes, const char *says)
{
    struct str why;

    assert_false(starts(t, pod, nodes, &why));
    assert_says(why, says);
    agent_ended(t->agent, STR("c-a-main"));
}

static struct pod_facts plain(struct tested *t, const char *name)
{
    return pod_with(&t->node, name, STR_NULL);
}

static struct pod_facts sharing(struct tested *t, const char *name, int32_t milli)
{
    return pod_of(&t->node, name, ONE_OF(share_of(&t->node, 0, milli, 100)));
}

/* ---- what is a GPU ---- */

static void nodes__of_major_195_but_for_two__are_gpus(void **state)
{
    struct gpu_nodes s = {.everything = false}, none = s, rest;

    gpu_nodes_open(&s, GPU_NODES_MAJOR, CONTROL_MINOR);
    gpu_nodes_open(&s, GPU_NODES_MAJOR, 254);
    gpu_nodes_open(&s, GPU_NODES_MAJOR, 1000);
    gpu_nodes_open(&s, UVM_MAJOR, 0);
    gpu_nodes_open(&s, 1, 3);
    gpu_nodes_open(&s, UVM_MAJOR, GPU_NODES_ALL);
    assert_int_equal(gpu_nodes_first(&s), -1);
    for (int minor = 0; minor < 254; minor++) {
        assert_false(gpu_nodes_has(&s, minor));
        gpu_nodes_open(&s, GPU_NODES_MAJOR, minor);
        assert_true(gpu_nodes_has(&s, minor));
    }
    assert_false(s.everything);
    assert_false(gpu_nodes_has(&s, -1) || gpu_nodes_has(&s, CONTROL_MINOR));
    rest = none;
    gpu_nodes_open(&rest, GPU_NODES_MAJOR, GPU_NODES_ALL);
    rest = gpu_nodes_without(&rest, &s);
    assert_int_equal(gpu_nodes_first(&rest), -1);
    gpu_nodes_open(&none, GPU_NODES_MAJOR, 200);
    assert_int_equal(gpu_nodes_first(&none), 200);
    gpu_nodes_open(&none, GPU_NODES_MAJOR, 64);
    assert_int_equal(gpu_nodes_first(&none), 64);
}

/* ---- at the start of a container ---- */

static void start__with_the_nodes_of_its_record__goes_on(void **state)
{
    struct tested *t = *state;
    const struct pod_facts one = sharing(t, "one", 300),
                           two = pod_of(&t->node, "two",
                                        TWO_OF(share_of(&t->node, 0, 300, 1), share_of(&t->node, 1, 300, 1))),
                           instance = pod_of(&t->node, "instance", ONE_OF(whole_of(&t->node, 3)));
    struct str why;

    assert_true(starts(t, &one, NODE(0), &why));
    assert_true(starts(t, &two, NODE(0) | NODE(1), &why));
    assert_true(starts(t, &instance, NODE(3), &why));
}

/* A CDI file of before a card was changed, or an annotation that NVIDIA's own plugin obeys. */
static void start__with_the_node_of_another_gpu__is_refused(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);

    does_not_start(t, &a, NODE(1), "container main of pod team/a has /dev/nvidia1, which is GPU GPU-b");
    does_not_start(t, &a, NODE(0) | NODE(1), "nvidia-ctk cdi generate");
    does_not_start(t, &a, NODE(0) | NODE(9), "/dev/nvidia9, which is GPU that fgpu-node does not know");
}

static void start__without_the_node_of_its_gpu__is_refused(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);

    does_not_start(t, &a, NO_NODE, "has no /dev/nvidia0, which is its GPU GPU-a");
}

/* The runtime does not tell of nodes that NVIDIA's makes later. */
static void start__by_the_variable__needs_no_node_but_has_no_other(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);
    struct str why;

    t->node.rules.hand_over.way = HAND_OVER_BY_ENV;
    does_not_start(t, &a, NODE(1), "/dev/nvidia1");
    assert_true(starts(t, &a, NO_NODE, &why));
}

static void start__of_a_gpu_that_has_gone_since_creation__is_refused(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);
    const struct container_facts c = having(t, &a, NODE(0));
    struct str why;

    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_DEVICES);
    t->node.devices[0].uuid = STR("GPU-new");
    assert_false(agent_start(t->agent, &t->node.rules, &a, &c, &t->node.arena, &why));
    assert_says(why, "no longer on node n1");
}

static void start__without_a_record_but_with_a_gpu__is_refused(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = plain(t, "a");
    struct str why;

    assert_true(starts(t, &a, NO_NODE, &why));
    does_not_start(t, &a, NODE(1), "container main of pod team/a has /dev/nvidia1, which is GPU GPU-b");
    does_not_start(t, &a, NODE(1), "--stand-back");
}

static void create__with_a_gpu_that_nobody_granted__is_refused(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = plain(t, "a"), b = sharing(t, "b", 300);
    struct hand_over h = create_with(t, &a, NODE(1));

    assert_int_equal(h.answer, HAND_OVER_REFUSED);
    assert_says(h.why, "/dev/nvidia1");
    h = create_with(t, &b, NODE(1));
    assert_int_equal(h.answer, HAND_OVER_REFUSED);
    assert_int_equal(fence_container_n(agent_fence(t->agent)), 0);
}

static void start__of_who_is_exempt__goes_on(void **state)
{
    struct tested *t = *state;
    struct pod_facts system = plain(t, "system"), a = plain(t, "a");
    struct str why;

    system.namespace_ = STR("kube-system");
    assert_true(starts(t, &system, NODE(0) | NODE(1), &why));
    assert_int_equal(fence_container_n(agent_fence(t->agent)), 0); /* and it is not counted */
    t->node.rules.hand_over.stand_back = true;
    assert_true(starts(t, &a, NODE(0), &why));
}

/* It is root on the node. */
static void start__of_a_privileged_container__is_as_the_rules_say(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = plain(t, "a");
    struct str why;

    assert_true(starts(t, &a, PRIVILEGED, &why));
    assert_int_equal(fence_container_n(agent_fence(t->agent)), 0);
    t->node.rules.hand_over.refuse_privileged = true;
    does_not_start(t, &a, PRIVILEGED, "is privileged");
    assert_int_equal(create_with(t, &a, PRIVILEGED).answer, HAND_OVER_REFUSED);
}

static void start__of_a_privileged_container_with_a_grant__takes_all_gpus(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300),
                           all = pod_of(&t->node, "all", TWO_OF(whole_of(&t->node, 0), whole_of(&t->node, 1)));
    struct str why;

    assert_int_equal(create_with(t, &a, PRIVILEGED).answer, HAND_OVER_REFUSED);
    does_not_start(t, &a, PRIVILEGED, "is privileged");
    t->node.rules.node.device_n = 2;
    assert_true(starts(t, &all, PRIVILEGED, &why));
}

/* ---- GPUs of somebody else ---- */

static const struct str claimed[] = {{"k8s.gpu.nvidia.com/claim=uid-gpu-1", 34}};

static struct container_facts from_others(struct tested *t, const struct pod_facts *pod)
{
    struct container_facts c = having(t, pod, NO_NODE);

    c.cdi = claimed;
    c.cdi_n = ARRAY_LEN(claimed);
    return c;
}

/* The runtime tells of CDI names at creation alone. */
static void gpu_from_others__is_closed_from_the_start_to_the_end(void **state)
{
    struct tested *t = *state;
    const struct pod_facts dra = plain(t, "dra"), a = sharing(t, "a", 300);
    const struct container_facts made = from_others(t, &dra), begun = having(t, &dra, NODE(0));
    struct hand_over h;
    struct str why;

    assert_int_equal(agent_create(t->agent, &t->node.rules, &dra, &made, &t->node.arena).answer, HAND_OVER_NOTHING);
    assert_true(agent_start(t->agent, &t->node.rules, &dra, &begun, &t->node.arena, &why));
    h = create_with(t, &a, NO_NODE);
    assert_int_equal(h.answer, HAND_OVER_REFUSED);
    assert_says(h.why, "pod team/dra");
    assert_says(h.why, "to whom fgpu did not give it");
    agent_ended(t->agent, begun.id);
    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_DEVICES);
    /* And the other way round. */
    assert_int_equal(agent_create(t->agent, &t->node.rules, &dra, &made, &t->node.arena).answer, HAND_OVER_NOTHING);
    assert_false(agent_start(t->agent, &t->node.rules, &dra, &begun, &t->node.arena, &why));
    assert_says(why, "fgpu gave it to container main of pod team/a");
}

/* ---- created while nobody was connected ---- */

/* NVIDIA's runtime would add GPUs behind the container runtime, where no node is told of. */
static void start__with_a_variable_that_asks_for_gpus__is_refused(void **state)
{
    static const struct str all[] = {STR("A=1"), STR("NVIDIA_VISIBLE_DEVICES=all")},
                            hidden[] = {STR("NVIDIA_VISIBLE_DEVICES=all"), STR("NVIDIA_VISIBLE_DEVICES=void")},
                            mount = STR("/var/run/nvidia-container-devices/all");
    struct tested *t = *state;
    const struct pod_facts p = plain(t, "p");
    struct container_facts c = having(t, &p, NO_NODE);
    struct str why;

    c.env = all;
    c.env_n = ARRAY_LEN(all);
    assert_false(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why));
    assert_says(why, "created while fgpu-node was away");
    t->node.rules.hand_over.stand_back = true;
    assert_true(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why));
    t->node.rules.hand_over.stand_back = false;
    t->node.rules.hand_over.way = HAND_OVER_NO_WAY; /* nothing is set to void there */
    assert_true(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why));
    t->node.rules.hand_over.way = HAND_OVER_BY_CDI;
    c.env = hidden;
    assert_true(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why));
    c.mounts = &mount;
    c.mount_n = 1;
    assert_true(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why)); /* no runtime reads it */
    t->node.rules.hand_over.reads_mounts = true;
    assert_false(agent_start(t->agent, &t->node.rules, &p, &c, &t->node.arena, &why));
}

/* ---- where a refused start goes on ---- */

static void start__refused_and_goes_on__what_it_has_is_closed(void **state)
{
    struct tested *t = *state;
    const struct pod_facts p = plain(t, "p"), a = sharing(t, "a", 300);
    struct str why;

    assert_false(starts(t, &p, NODE(0), &why));
    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_DEVICES); /* it does not run */
    agent_ended(t->agent, STR("c-a-main"));
    t->node.rules.starts_anyway = true;
    assert_false(starts(t, &p, NODE(0), &why));
    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_REFUSED);
    agent_ended(t->agent, STR("c-p-main"));
    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_DEVICES);
}

/* ---- told what runs ---- */

static void told_of(struct tested *t, const struct pod_facts *pod, unsigned nodes)
{
    const struct container_facts c = having(t, pod, nodes);

    agent_sync_pod(t->agent, &t->node.rules, c.sandbox_id, pod);
    agent_sync_container(t->agent, &t->node.rules, &c);
}

/* As a new agent, told of one container; returns the number of findings. */
static size_t restarted_with(struct tested *t, const struct pod_facts *pod, unsigned nodes,
                             const struct agent_finding **ret_found)
{
    size_t n;

    agent_free(t->agent);
    t->agent = agent_new();
    agent_sync_begin(t->agent);
    told_of(t, pod, nodes);
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    *ret_found = agent_findings(t->agent, &t->node.rules, &t->node.arena, &n);
    assert_non_null(*ret_found);
    return n;
}

static struct fence_use use_of(const struct tested *t, int device)
{
    return fence_use_of(agent_fence(t->agent), &t->node.rules.node, &t->node.devices[device]);
}

static void listed__with_its_gpu__counts_as_recorded(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 700);
    const struct agent_finding *found;

    assert_int_equal(restarted_with(t, &a, NODE(0), &found), 0);
    assert_int_equal(use_of(t, 0).milli, 700);
    assert_false(use_of(t, 0).closed);
}

/* Its key was taken away before the agent started: nobody knows what it was given. */
static void listed__with_a_gpu_and_a_record_that_does_not_hold__closes_it(void **state)
{
    struct tested *t = *state;
    const struct pod_facts b = sharing(t, "b", 100), on_b = pod_of(&t->node, "c", ONE_OF(share_of(&t->node, 1, 1, 1)));
    const struct agent_finding *found;
    struct pod_facts a = sharing(t, "a", 300);

    a.uid = STR("uid-other");
    assert_int_equal(restarted_with(t, &a, NODE(0), &found), 1);
    assert_int_equal(found[0].kind, AGENT_HAS_NO_GRANT);
    assert_int_equal(found[0].minor, 0);
    assert_true(str_eq(found[0].pod, STR("a")));
    assert_true(use_of(t, 0).closed);
    assert_int_equal(create_with(t, &b, NO_NODE).answer, HAND_OVER_REFUSED);
    assert_int_equal(create_with(t, &on_b, NO_NODE).answer, HAND_OVER_DEVICES);
    agent_ended(t->agent, STR("c-a-main"));
    assert_int_equal(create_with(t, &b, NO_NODE).answer, HAND_OVER_DEVICES);
}

/* NVIDIA's runtime made its nodes behind the container runtime, which tells of none. */
static void listed__that_nvidias_runtime_gave_gpus_by_its_variable__closes_them(void **state)
{
    static const struct {
        const char *variable;
        bool reads, closed[2];
    } rows[] = {
        {"NVIDIA_VISIBLE_DEVICES=all", true, {true, true}},
        {"NVIDIA_VISIBLE_DEVICES=1", true, {false, true}},
        {"NVIDIA_VISIBLE_DEVICES=0,GPU-nobody", true, {true, true}},
        {"NVIDIA_VISIBLE_DEVICES=void", true, {false, false}},
        {"NVIDIA_VISIBLE_DEVICES=", true, {false, false}},
        {"OTHER=all", true, {false, false}},
        {"NVIDIA_VISIBLE_DEVICES=all", false, {false, false}}, /* runc does nothing by a variable */
    };
    struct tested *t = *state;

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const bool exempt = i >= ARRAY_LEN(rows);
        const struct str env[] = {str_of(rows[i % ARRAY_LEN(rows)].variable)};
        struct pod_facts p = plain(t, "p");
        struct container_facts c = having(t, &p, NO_NODE);

        p.namespace_ = exempt ? STR("kube-system") : p.namespace_;
        c.env = env;
        c.env_n = ARRAY_LEN(env);
        agent_free(t->agent);
        t->agent = agent_new();
        t->node.rules.hand_over.reads_variables = rows[i % ARRAY_LEN(rows)].reads;
        agent_sync_begin(t->agent);
        agent_sync_pod(t->agent, &t->node.rules, c.sandbox_id, &p);
        agent_sync_container(t->agent, &t->node.rules, &c);
        assert_int_equal(agent_sync_end(t->agent, NULL), 0);
        for (int d = 0; d < 2; d++) {
            assert_int_equal(use_of(t, d).closed, !exempt && rows[i % ARRAY_LEN(rows)].closed[d]);
        }
    }
}

static void listed__that_nvidias_runtime_gave_gpus_by_a_mount__closes_them(void **state)
{
    static const struct str mounts[] = {STR("/data"), STR("/var/run/nvidia-container-devices/1")};

    for (unsigned i = 0; i < 3; i++) {
        const bool asks = i != 1, reads = i != 2;
        struct tested *t = *state;
        struct pod_facts p = plain(t, "p");
        struct container_facts c = having(t, &p, NO_NODE);

        c.mounts = mounts;
        c.mount_n = asks ? 2 : 1;
        agent_free(t->agent);
        t->agent = agent_new();
        t->node.rules.hand_over.reads_mounts = reads;
        agent_sync_begin(t->agent);
        agent_sync_pod(t->agent, &t->node.rules, c.sandbox_id, &p);
        agent_sync_container(t->agent, &t->node.rules, &c);
        assert_int_equal(agent_sync_end(t->agent, NULL), 0);
        assert_int_equal(use_of(t, 1).closed, asks && reads);
    }
}

/* It was created while nobody was connected. Its share stays its own: the pod is charged for it. */
static void listed__with_a_record_and_no_gpu__is_named(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 700);
    const struct container_facts c = having(t, &a, NO_NODE);
    const struct agent_finding *found;
    struct str why;

    assert_int_equal(restarted_with(t, &a, NO_NODE, &found), 1);
    assert_int_equal(found[0].kind, AGENT_RUNS_WITHOUT);
    assert_true(str_eq(found[0].container, STR("main")));
    assert_int_equal(use_of(t, 0).milli, 700);
    assert_false(agent_start(t->agent, &t->node.rules, &a, &c, &t->node.arena, &why)); /* if it was only created */
    t->node.rules.hand_over.way = HAND_OVER_BY_ENV;
    assert_int_equal(restarted_with(t, &a, NO_NODE, &found), 0); /* NVIDIA's runtime made its nodes */
}

/* The agent hung, the runtime gave up waiting, and made the container without what the late answer said. */
static void listed__admitted_but_created_without_its_gpu__is_named(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 700);
    size_t n;
    const struct agent_finding *found;

    assert_int_equal(create_with(t, &a, NO_NODE).answer, HAND_OVER_DEVICES);
    agent_sync_begin(t->agent);
    told_of(t, &a, NO_NODE);
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    found = agent_findings(t->agent, &t->node.rules, &t->node.arena, &n);
    assert_int_equal(n, 1);
    assert_int_equal(found[0].kind, AGENT_RUNS_WITHOUT);
    assert_int_equal(use_of(t, 0).milli, 700);
}

static void listed__with_another_gpu_than_its_own__holds_both(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);
    const struct agent_finding *found;

    assert_int_equal(restarted_with(t, &a, NODE(0) | NODE(1), &found), 1);
    assert_int_equal(found[0].kind, AGENT_HAS_ANOTHER);
    assert_int_equal(found[0].minor, 1);
    assert_int_equal(use_of(t, 0).milli, 300);
    assert_true(use_of(t, 1).closed);
}

static void listed__exempt_or_privileged__closes_nothing(void **state)
{
    struct tested *t = *state;
    struct pod_facts system = plain(t, "system"), root = plain(t, "root");
    const struct agent_finding *found;

    system.namespace_ = STR("kube-system");
    assert_int_equal(restarted_with(t, &system, NODE(0), &found), 0);
    assert_false(use_of(t, 0).closed);
    assert_int_equal(restarted_with(t, &root, PRIVILEGED, &found), 0);
    assert_false(use_of(t, 0).closed);
}

static void listed__whose_sandbox_is_not__closes_its_gpus(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = plain(t, "a");
    const struct container_facts c = having(t, &a, NODE(0));

    agent_sync_begin(t->agent);
    agent_sync_container(t->agent, &t->node.rules, &c);
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_true(use_of(t, 0).closed);
}

/* The driver did not answer when the agent was told. */
static void listed__before_the_gpus_are_known__counts_when_they_are(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = plain(t, "a");
    const struct agent_finding *found;

    t->node.rules.node.device_n = 0;
    assert_int_equal(restarted_with(t, &a, NODE(0), &found), 1);
    t->node.rules.node.device_n = FIXTURE_DEVICES;
    assert_true(use_of(t, 0).closed);
    assert_false(use_of(t, 1).closed);
}

/* ---- what changes under a container ---- */

/* An instance that is made anew may have the slices of the one that an idle container can still open. */
static void mig_instance__made_anew_under_a_container__is_closed(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = pod_of(&t->node, "a", ONE_OF(whole_of(&t->node, 3)));
    struct pod_facts b;
    struct str why;

    assert_true(starts(t, &a, NODE(3), &why));
    assert_false(use_of(t, 3).closed);
    t->node.devices[3].uuid = STR("MIG-e");
    assert_true(use_of(t, 3).closed);
    b = pod_of(&t->node, "b", ONE_OF(whole_of(&t->node, 3)));
    assert_int_equal(create_with(t, &b, NO_NODE).answer, HAND_OVER_REFUSED);
    agent_ended(t->agent, STR("c-a-main"));
    assert_int_equal(create_with(t, &b, NO_NODE).answer, HAND_OVER_DEVICES);
}

/* Another instance of the same GPU has the same node, and is not closed. */
static void mig_instance__beside_another_one__is_open(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = pod_of(&t->node, "a", ONE_OF(whole_of(&t->node, 3)));
    struct str why;

    t->node.devices[2] = t->node.devices[3];
    t->node.devices[2].uuid = STR("MIG-c");
    assert_true(starts(t, &a, NODE(3), &why));
    assert_false(use_of(t, 2).closed);
    assert_int_equal(use_of(t, 2).sharers, 0);
}

/* After the driver was loaded anew another GPU may have the number of a node. */
static void minor_number__of_another_gpu_now__closes_that_one(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 300);
    struct str why;

    assert_true(starts(t, &a, NODE(0), &why));
    t->node.devices[0].minor = 1;
    t->node.devices[1].minor = 0;
    assert_int_equal(use_of(t, 0).milli, 300);
    assert_true(use_of(t, 1).closed);
}

int main(void)
{
#define WITH_AGENT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__of_major_195_but_for_two__are_gpus),
        WITH_AGENT(start__with_the_nodes_of_its_record__goes_on),
        WITH_AGENT(start__with_a_variable_that_asks_for_gpus__is_refused),
        WITH_AGENT(start__refused_and_goes_on__what_it_has_is_closed),
        WITH_AGENT(start__with_the_node_of_another_gpu__is_refused),
        WITH_AGENT(start__without_the_node_of_its_gpu__is_refused),
        WITH_AGENT(start__by_the_variable__needs_no_node_but_has_no_other),
        WITH_AGENT(start__of_a_gpu_that_has_gone_since_creation__is_refused),
        WITH_AGENT(start__without_a_record_but_with_a_gpu__is_refused),
        WITH_AGENT(create__with_a_gpu_that_nobody_granted__is_refused),
        WITH_AGENT(start__of_who_is_exempt__goes_on),
        WITH_AGENT(start__of_a_privileged_container__is_as_the_rules_say),
        WITH_AGENT(start__of_a_privileged_container_with_a_grant__takes_all_gpus),
        WITH_AGENT(gpu_from_others__is_closed_from_the_start_to_the_end),
        WITH_AGENT(listed__with_its_gpu__counts_as_recorded),
        WITH_AGENT(listed__with_a_gpu_and_a_record_that_does_not_hold__closes_it),
        WITH_AGENT(listed__that_nvidias_runtime_gave_gpus_by_its_variable__closes_them),
        WITH_AGENT(listed__that_nvidias_runtime_gave_gpus_by_a_mount__closes_them),
        WITH_AGENT(listed__with_a_record_and_no_gpu__is_named),
        WITH_AGENT(listed__admitted_but_created_without_its_gpu__is_named),
        WITH_AGENT(listed__with_another_gpu_than_its_own__holds_both),
        WITH_AGENT(listed__exempt_or_privileged__closes_nothing),
        WITH_AGENT(listed__whose_sandbox_is_not__closes_its_gpus),
        WITH_AGENT(listed__before_the_gpus_are_known__counts_when_they_are),
        WITH_AGENT(mig_instance__made_anew_under_a_container__is_closed),
        WITH_AGENT(mig_instance__beside_another_one__is_open),
        WITH_AGENT(minor_number__of_another_gpu_now__closes_that_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
