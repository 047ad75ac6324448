/* The agent's answers, from the runtime's first list to the end of a container. */
#include "node/agent.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "base/rng.h"

#include <stdlib.h>

struct tested {
    struct node_fixture node;
    struct agent *agent;
};

static void synchronize_nothing(struct agent *g)
{
    agent_sync_begin(g);
    assert_int_equal(agent_sync_end(g, NULL), 0);
}

static int set_up(void **state)
{
    struct tested *t = xcalloc(1, sizeof(*t));

    node_fixture_init(&t->node);
    t->agent = agent_new();
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

static struct hand_over create(struct tested *t, const struct pod_facts *pod, const char *name)
{
    const struct container_facts c = container_of(&t->node, pod, name);

    return agent_create(t->agent, &t->node.rules, pod, &c, &t->node.arena);
}

static bool start(struct tested *t, const struct pod_facts *pod, const char *name, struct str *ret_why)
{
    const struct container_facts c = container_of(&t->node, pod, name);

    return agent_start(t->agent, &t->node.rules, pod, &c, &t->node.arena, ret_why);
}

/* With the node of GPU-a. */
static bool start_with_its_gpu(struct tested *t, const struct pod_facts *pod, const char *name, struct str *ret_why)
{
    struct container_facts c = container_of(&t->node, pod, name);

    gpu_nodes_open(&c.gpus, GPU_NODES_MAJOR, 0);
    return agent_start(t->agent, &t->node.rules, pod, &c, &t->node.arena, ret_why);
}

static void list_pod(struct tested *t, const struct pod_facts *pod)
{
    const struct container_facts c = container_of(&t->node, pod, "main");

    agent_sync_pod(t->agent, &t->node.rules, c.sandbox_id, pod);
}

static void list_container(struct tested *t, const struct pod_facts *pod, const char *name)
{
    const struct container_facts c = container_of(&t->node, pod, name);

    agent_sync_container(t->agent, &t->node.rules, &c);
}

static int64_t milli_of(const struct tested *t, int device)
{
    return fence_use_of(agent_fence(t->agent), &t->node.rules.node, &t->node.devices[device]).milli;
}

static struct pod_facts sharing(struct tested *t, const char *name, int32_t milli)
{
    return pod_of(&t->node, name, ONE_OF(share_of(&t->node, 0, milli, 100)));
}

static void agent__before_it_was_told_what_runs__grants_nothing(void **state)
{
    struct tested *t = *state;
    const struct pod_facts pod = sharing(t, "a", 500), plain = pod_with(&t->node, "plain", STR_NULL);
    struct hand_over h;

    h = create(t, &pod, "main");
    assert_int_equal(h.answer, HAND_OVER_REFUSED);
    assert_says(h.why, "does not know yet what runs");
    h = create(t, &plain, "main");
    assert_int_equal(h.answer, HAND_OVER_VOID);
    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &pod, "main").answer, HAND_OVER_DEVICES);
    agent_sync_begin(t->agent);
    assert_int_equal(create(t, &pod, "main").answer, HAND_OVER_REFUSED);
}

static void agent__double_decision__gives_the_device_once(void **state)
{
    struct tested *t = *state;
    const struct pod_facts first = sharing(t, "first", 700), second = sharing(t, "second", 700);
    struct hand_over h;

    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &first, "main").answer, HAND_OVER_DEVICES);
    h = create(t, &second, "main");
    assert_int_equal(h.answer, HAND_OVER_REFUSED);
    assert_int_equal(h.cdi_n, 0);
    assert_says(h.why, "pod team/first");
    assert_says(h.why, "pod team/second");
    agent_ended(t->agent, STR("c-first-main"));
    assert_int_equal(create(t, &second, "main").answer, HAND_OVER_DEVICES);
    agent_sandbox_removed(t->agent, STR("s-second"));
    assert_int_equal(milli_of(t, 0), 0);
}

/* Only those that are granted something are kept. */
static void agent__containers_without_gpus__take_no_place(void **state)
{
    struct tested *t = *state;
    const struct pod_facts pod = sharing(t, "a", 500);

    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &pod, "sidecar").answer, HAND_OVER_VOID);
    assert_int_equal(fence_container_n(agent_fence(t->agent)), 0);
}

static void agent__after_a_restart__knows_what_runs(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 500), b = sharing(t, "b", 400), c = sharing(t, "c", 400);

    agent_sync_begin(t->agent);
    list_container(t, &b, "main"); /* before its pod */
    list_pod(t, &a);
    list_pod(t, &b);
    list_pod(t, &c); /* a sandbox that lingers: it has no container */
    list_container(t, &a, "main");
    list_container(t, &a, "sidecar");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_int_equal(milli_of(t, 0), 900);
    assert_int_equal(create(t, &c, "main").answer, HAND_OVER_REFUSED);
    agent_ended(t->agent, STR("c-b-main"));
    assert_int_equal(milli_of(t, 0), 500);
    assert_int_equal(create(t, &c, "main").answer, HAND_OVER_DEVICES);
}

/* Of two connections the second alone counts. */
static void agent__told_again__forgets_what_was_before(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 500), b = sharing(t, "b", 400);

    agent_sync_begin(t->agent);
    list_pod(t, &a);
    list_container(t, &a, "main"); /* the connection breaks here */
    agent_sync_begin(t->agent);
    list_pod(t, &b);
    list_container(t, &b, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_int_equal(milli_of(t, 0), 400);
    synchronize_nothing(t->agent);
    assert_int_equal(milli_of(t, 0), 0);
}

/* Else anybody could close a GPU with an annotation while the agent is away. */
static void agent__running_container_with_a_forged_record__counts_nothing(void **state)
{
    struct tested *t = *state;
    struct pod_facts a = sharing(t, "a", 500);

    a.uid = STR("uid-other");
    agent_sync_begin(t->agent);
    list_pod(t, &a);
    list_container(t, &a, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_int_equal(milli_of(t, 0), 0);
}

/* A stolen key is taken away at once; what runs with its records runs on, and containerd may restart then. */
static void agent__key_removed_while_a_container_runs__its_share_stays_when_it_is_told_again(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 700), b = sharing(t, "b", 700);
    struct sign_key other;
    struct sign_keyring *others;
    struct str why = STR_NULL;

    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &a, "main").answer, HAND_OVER_DEVICES);
    assert_int_equal(sign_key_make(&other, NULL), 0);
    others = sign_keyring_of(&other);
    t->node.rules.node.keys = others;
    agent_sync_begin(t->agent);
    list_pod(t, &a);
    list_container(t, &a, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    t->node.rules.node.keys = t->node.keys;
    sign_keyring_put(others);
    assert_int_equal(milli_of(t, 0), 700);
    assert_true(start_with_its_gpu(t, &a, "main", &why));
    assert_int_equal(create(t, &b, "main").answer, HAND_OVER_REFUSED);
}

/* A runtime leaves out sandboxes whose state it does not know (containerd), and their containers run. */
static void agent__running_container_whose_sandbox_is_not_listed__keeps_its_share(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 700), b = sharing(t, "b", 700);

    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &a, "main").answer, HAND_OVER_DEVICES);
    agent_sync_begin(t->agent);
    list_container(t, &a, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_int_equal(milli_of(t, 0), 700);
    assert_int_equal(create(t, &b, "main").answer, HAND_OVER_REFUSED);
}

/* The container has the GPU that had the number when it was created. */
static void agent__gpus_numbered_anew__a_share_stays_on_its_gpu_when_it_is_told_again(void **state)
{
    struct tested *t = *state;
    struct assigned_device by_number = share_of(&t->node, 0, 700, 100);
    struct pod_facts a;

    by_number.uuid = STR_NULL;
    a = pod_of(&t->node, "a", ONE_OF(by_number));
    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &a, "main").answer, HAND_OVER_DEVICES);
    t->node.devices[0].index = 1;
    t->node.devices[1].index = 0;
    agent_sync_begin(t->agent);
    list_pod(t, &a);
    list_container(t, &a, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    assert_int_equal(milli_of(t, 0), 700);
    assert_int_equal(milli_of(t, 1), 0);
}

/* It keeps its share until the device is back. */
static void agent__running_container_on_a_device_that_is_gone__still_holds_it(void **state)
{
    struct tested *t = *state;
    const struct pod_facts a = sharing(t, "a", 500), b = sharing(t, "b", 600);

    t->node.rules.node.device_n = 0;
    agent_sync_begin(t->agent);
    list_pod(t, &a);
    list_container(t, &a, "main");
    assert_int_equal(agent_sync_end(t->agent, NULL), 0);
    t->node.rules.node.device_n = FIXTURE_DEVICES;
    assert_int_equal(milli_of(t, 0), 500);
    assert_int_equal(create(t, &b, "main").answer, HAND_OVER_REFUSED);
}

static void agent__more_than_it_can_hold__grants_nothing_until_it_is_told_again(void **state)
{
    struct tested *t = *state;
    const struct pod_facts pod = sharing(t, "a", 500);
    const size_t huge = 1U << 20;
    struct container_facts c = container_of(&t->node, &pod, "main");
    char *name = xmalloc(huge);
    struct err err;

    for (size_t i = 0; i < huge; i++) {
        name[i] = 'x';
    }
    c.name = (struct str){name, huge};
    agent_sync_begin(t->agent);
    for (int i = 0; i < 64; i++) {
        agent_sync_container(t->agent, &t->node.rules, &c);
    }
    assert_int_equal(agent_sync_end(t->agent, &err), -ERR_LIMIT);
    free(name);
    assert_int_equal(create(t, &pod, "main").answer, HAND_OVER_REFUSED);
    synchronize_nothing(t->agent);
    assert_int_equal(create(t, &pod, "main").answer, HAND_OVER_DEVICES);
}

static void agent__start_of_a_container_that_it_never_saw__is_refused_if_it_has_a_grant(void **state)
{
    struct tested *t = *state;
    const struct pod_facts pod = sharing(t, "a", 500), plain = pod_with(&t->node, "plain", STR_NULL);
    struct pod_facts forged = pod;
    struct str why = STR_NULL;

    forged.uid = STR("uid-other");
    synchronize_nothing(t->agent);
    assert_false(start(t, &pod, "main", &why));
    assert_says(why, "created while fgpu-node was away");
    assert_true(start(t, &pod, "sidecar", &why));
    assert_true(start(t, &plain, "main", &why));
    assert_false(start(t, &forged, "main", &why));
    assert_says(why, "does not hold");
    assert_int_equal(create(t, &pod, "main").answer, HAND_OVER_DEVICES);
    assert_true(start_with_its_gpu(t, &pod, "main", &why));
}

/* ---- a restart equals what lives ---- */

#define PODS 8
#define STEPS 400

struct life {
    struct tested *t;
    struct pod_facts pods[PODS];
    bool runs[PODS];
};

/* It must know the same. */
static void replace_by_a_new_one(struct life *l, struct rng *rng)
{
    struct agent *old = l->t->agent, *fresh = agent_new();
    const bool containers_first = rng_below(rng, 2) == 0;

    l->t->agent = fresh;
    agent_sync_begin(fresh);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < PODS; i++) {
            if ((pass == 0) != containers_first) {
                list_pod(l->t, &l->pods[i]); /* also those without a container */
            } else if (l->runs[i]) {
                list_container(l->t, &l->pods[i], "main");
            }
        }
    }
    assert_int_equal(agent_sync_end(fresh, NULL), 0);
    for (size_t d = 0; d < FIXTURE_DEVICES; d++) {
        const struct fence_use x = fence_use_of(agent_fence(old), &l->t->node.rules.node, &l->t->node.devices[d]);
        const struct fence_use y = fence_use_of(agent_fence(fresh), &l->t->node.rules.node, &l->t->node.devices[d]);

        assert_int_equal(x.milli, y.milli);
        assert_int_equal(x.mem_mib, y.mem_mib);
        assert_int_equal(x.sharers, y.sharers);
        assert_int_equal(x.alone, y.alone);
    }
    assert_int_equal(fence_container_n(agent_fence(old)), fence_container_n(agent_fence(fresh)));
    agent_free(old); /* the new one goes on */
}

static void agent__restarted_at_any_moment__knows_what_it_would_have_known(void **state)
{
    struct tested *t = *state;
    struct life l = {.t = t};
    struct rng rng;
    unsigned refused = 0;

    rng_init(&rng, 7);
    for (size_t i = 0; i < PODS; i++) {
        char name[8] = {'p', (char)('0' + i), 0};
        const struct assigned_device two[] = {share_of(&t->node, 0, (int32_t)rng_below(&rng, 900), 100),
                                              i % 4 == 0 ? whole_of(&t->node, 1) : share_of(&t->node, 1, 300, 200)};

        l.pods[i] = pod_of(&t->node, name, two, 2);
    }
    synchronize_nothing(t->agent);
    for (int step = 0; step < STEPS; step++) {
        const size_t i = rng_below(&rng, PODS);
        const struct container_facts c = container_of(&t->node, &l.pods[i], "main");

        if (l.runs[i]) {
            l.runs[i] = false;
            agent_ended(t->agent, c.id);
        } else {
            l.runs[i] = create(t, &l.pods[i], "main").answer == HAND_OVER_DEVICES;
            refused += !l.runs[i];
        }
        if (step % 8 == 0) {
            replace_by_a_new_one(&l, &rng);
        }
    }
    assert_true(refused > 20);
}

int main(void)
{
#define WITH_AGENT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_AGENT(agent__before_it_was_told_what_runs__grants_nothing),
        WITH_AGENT(agent__double_decision__gives_the_device_once),
        WITH_AGENT(agent__containers_without_gpus__take_no_place),
        WITH_AGENT(agent__after_a_restart__knows_what_runs),
        WITH_AGENT(agent__told_again__forgets_what_was_before),
        WITH_AGENT(agent__running_container_with_a_forged_record__counts_nothing),
        WITH_AGENT(agent__key_removed_while_a_container_runs__its_share_stays_when_it_is_told_again),
        WITH_AGENT(agent__running_container_whose_sandbox_is_not_listed__keeps_its_share),
        WITH_AGENT(agent__gpus_numbered_anew__a_share_stays_on_its_gpu_when_it_is_told_again),
        WITH_AGENT(agent__running_container_on_a_device_that_is_gone__still_holds_it),
        WITH_AGENT(agent__more_than_it_can_hold__grants_nothing_until_it_is_told_again),
        WITH_AGENT(agent__start_of_a_container_that_it_never_saw__is_refused_if_it_has_a_grant),
        WITH_AGENT(agent__restarted_at_any_moment__knows_what_it_would_have_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
