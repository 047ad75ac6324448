/* What a container gets when it is created: its devices, void, nothing, or a refusal. */
#include "node/hand_over.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/compiler.h"

#include <string.h>

static struct hand_over decide(struct node_fixture *f, const struct pod_facts *pod, const struct container_facts *c)
{
    return hand_over_decide(&f->rules.hand_over, &f->rules.node, pod, c, &f->arena);
}

/* Of container main. */
static struct hand_over decide_main(struct node_fixture *f, const struct pod_facts *pod)
{
    const struct container_facts c = container_of(f, pod, "main");

    return decide(f, pod, &c);
}

static struct hand_over decide_main_with_env(struct node_fixture *f, const struct pod_facts *pod, const struct str *env,
                                             size_t n)
{
    struct container_facts c = container_of(f, pod, "main");

    c.env = env;
    c.env_n = n;
    return decide(f, pod, &c);
}

static struct pod_facts plain_pod(struct node_fixture *f)
{
    return pod_with(f, "plain", STR_NULL);
}

static void refused_with(const struct hand_over *h, const char *says)
{
    assert_int_equal(h->answer, HAND_OVER_REFUSED);
    assert_says(h->why, says);
    assert_int_equal(h->cdi_n, 0);
    assert_int_equal(h->env.key.n, 0);
}

static void only_void(const struct hand_over *h)
{
    assert_int_equal(h->answer, HAND_OVER_VOID);
    assert_int_equal(h->cdi_n, 1);
    assert_true(str_eq(h->cdi[0], STR("fgpu.io/gpu=void")));
    assert_int_equal(h->env.key.n, 0);
    assert_int_equal(h->device_n, 0);
}

static void untouched(const struct hand_over *h)
{
    assert_int_equal(h->answer, HAND_OVER_NOTHING);
    assert_int_equal(h->cdi_n, 0);
    assert_int_equal(h->env.key.n, 0);
}

static void hand_over__by_cdi__is_void_and_the_granted_devices(void **state)
{
    struct node_fixture *f = *state;
    const struct assigned_device two[] = {share_of(f, 0, 300, 400), whole_of(f, 3)};
    const struct pod_facts pod = pod_of(f, "p", two, 2);
    const struct hand_over h = decide_main(f, &pod);

    assert_int_equal(h.answer, HAND_OVER_DEVICES);
    assert_int_equal(h.cdi_n, 3);
    assert_true(str_eq(h.cdi[0], STR("fgpu.io/gpu=void")));
    assert_true(str_eq(h.cdi[1], STR("nvidia.com/gpu=GPU-a")));
    assert_true(str_eq(h.cdi[2], STR("nvidia.com/gpu=MIG-d")));
    assert_int_equal(h.env.key.n, 0);
    assert_int_equal(h.device_n, 2);
    assert_int_equal(h.devices[0].milli, 300);
    assert_int_equal(h.devices[0].mem_mib, 400);
}

static void hand_over__other_containers_of_the_pod__get_void(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    const struct container_facts sidecar = container_of(f, &pod, "sidecar");
    const struct hand_over h = decide(f, &pod, &sidecar);

    only_void(&h);
}

static void hand_over__by_env__is_the_list_of_uuids(void **state)
{
    struct node_fixture *f = *state;
    static const struct str image[] = {{"PATH=/bin", 9}, {"NVIDIA_VISIBLE_DEVICES=all", 26}};
    const struct pod_facts pod = pod_of(f, "p", TWO_OF(share_of(f, 0, 300, 400), share_of(f, 1, 1, 1)));
    const struct pod_facts none = plain_pod(f);
    struct hand_over h;

    f->rules.hand_over.way = HAND_OVER_BY_ENV;
    h = decide_main_with_env(f, &pod, image, 2);
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
    assert_int_equal(h.cdi_n, 0);
    assert_true(str_eq(h.env.key, STR("NVIDIA_VISIBLE_DEVICES")));
    assert_true(str_eq(h.env.value, STR("GPU-a,GPU-b")));
    h = decide_main_with_env(f, &none, image, 2);
    assert_int_equal(h.answer, HAND_OVER_VOID);
    assert_true(str_eq(h.env.value, STR("void")));
}

/* NVIDIA's runtime, where it takes such mounts, reads them instead of the variable. */
static void hand_over__mount_that_asks_the_nvidia_runtime__is_refused(void **state)
{
    struct node_fixture *f = *state;
    static const struct str ways[] = {{"/var/run/nvidia-container-devices/all", 37},
                                      {"/x/../var/run//nvidia-container-devices/cdi/nvidia.com/gpu/all", 62}};
    const struct pod_facts granted = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400))), plain = plain_pod(f);
    struct hand_over h;

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct container_facts c = container_of(f, &plain, "main");

        c.mounts = &ways[i];
        c.mount_n = 1;
        h = decide(f, &plain, &c);
        refused_with(&h, "/var/run/nvidia-container-devices");
        h = decide(f, &granted, &c);
        refused_with(&h, "/var/run/nvidia-container-devices");
        f->rules.hand_over.stand_back = true;
        h = decide(f, &plain, &c);
        untouched(&h);
        f->rules.hand_over.stand_back = false;
    }
}

/* The runtime would keep the pod's value. */
static void hand_over__by_env_where_image_and_pod_both_say_all__is_refused(void **state)
{
    struct node_fixture *f = *state;
    static const struct str all[] = {{"NVIDIA_VISIBLE_DEVICES=all", 26}, {"NVIDIA_VISIBLE_DEVICES=all", 26}};
    static const struct str none[] = {{"NVIDIA_VISIBLE_DEVICES=all", 26}, {"NVIDIA_VISIBLE_DEVICES=none", 27}};
    static const struct str right[] = {{"NVIDIA_VISIBLE_DEVICES=all", 26}, {"NVIDIA_VISIBLE_DEVICES=GPU-a", 28}};
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    const struct pod_facts plain = plain_pod(f);
    struct hand_over h;

    f->rules.hand_over.way = HAND_OVER_BY_ENV;
    h = decide_main_with_env(f, &pod, all, 2);
    refused_with(&h, "take the variable out of the pod");
    h = decide_main_with_env(f, &plain, all, 2);
    refused_with(&h, "take the variable out of the pod");
    h = decide_main_with_env(f, &plain, right, 2);
    refused_with(&h, "take the variable out of the pod");
    h = decide_main_with_env(f, &pod, none, 2);
    refused_with(&h, "take the variable out of the pod");
    h = decide_main_with_env(f, &plain, none, 2); /* it sees none as it is */
    untouched(&h);
    h = decide_main_with_env(f, &pod, right, 2); /* it has what it is to have */
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
    assert_int_equal(h.env.key.n, 0);
}

/* By CDI it does not matter what they say. */
static void hand_over__by_cdi_where_image_and_pod_both_say_all__is_void(void **state)
{
    struct node_fixture *f = *state;
    static const struct str all[] = {{"NVIDIA_VISIBLE_DEVICES=all", 26}, {"NVIDIA_VISIBLE_DEVICES=all", 26}};
    const struct pod_facts plain = plain_pod(f);
    const struct hand_over h = decide_main_with_env(f, &plain, all, 2);

    only_void(&h);
}

static void hand_over__where_the_runtime_takes_nothing__refuses_grants_alone(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    const struct pod_facts plain = plain_pod(f);
    struct hand_over h;

    f->rules.hand_over.way = HAND_OVER_NO_WAY;
    h = decide_main(f, &pod);
    refused_with(&h, "node n1 ignores the devices");
    h = decide_main(f, &plain);
    untouched(&h);
}

static void hand_over__in_an_exempt_namespace__changes_nothing_without_a_record(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = plain_pod(f);
    struct hand_over h;

    pod.namespace_ = STR("kube-system");
    h = decide_main(f, &pod);
    untouched(&h);
    pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    pod.namespace_ = STR("kube-system");
    h = decide_main(f, &pod);
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
    pod.namespace_ = STR("kube-system2");
    pod.annotations.n = 0;
    h = decide_main(f, &pod);
    only_void(&h);
}

static void hand_over__container_with_gpus_of_others__is_left_alone(void **state)
{
    struct node_fixture *f = *state;
    static const struct str dra[] = {{"k8s.gpu.nvidia.com/claim=1-gpu-0", 32}};
    static const struct str plugin[] = {{"k8s.device-plugin.nvidia.com/gpu=GPU-a", 38}};
    static const struct str card[] = {{"mellanox.com/net=0", 18}};
    const struct pod_facts plain = plain_pod(f);
    struct container_facts c = container_of(f, &plain, "main");
    struct hand_over h;

    c.cdi_n = 1;
    c.cdi = dra;
    h = decide(f, &plain, &c);
    untouched(&h);
    c.cdi = plugin;
    h = decide(f, &plain, &c);
    untouched(&h);
    c.cdi = card; /* a network card is no GPU */
    h = decide(f, &plain, &c);
    only_void(&h);
    c.cdi_n = 0;
    c.plugin_gpu = true;
    h = decide(f, &plain, &c);
    untouched(&h);
}

static void hand_over__container_with_gpus_of_others_and_of_fgpu__is_refused(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    struct container_facts c = container_of(f, &pod, "main");
    struct hand_over h;

    c.plugin_gpu = true;
    h = decide(f, &pod, &c);
    refused_with(&h, "ask for GPUs in one way only");
}

static void hand_over__agent_that_stands_back__still_gives_what_is_granted(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    const struct pod_facts plain = plain_pod(f);
    struct hand_over h;

    f->rules.hand_over.stand_back = true;
    h = decide_main(f, &plain);
    untouched(&h);
    h = decide_main(f, &pod);
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
}

/* A forged record never gets more than none at all, wherever it stands. */
static void hand_over__forged_record__is_refused_everywhere(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    struct hand_over h;

    pod.uid = STR("uid-other");
    f->rules.hand_over.stand_back = true;
    h = decide_main(f, &pod);
    refused_with(&h, "does not hold for this pod");
    pod.namespace_ = STR("kube-system");
    f->rules.hand_over.way = HAND_OVER_BY_ENV;
    h = decide_main(f, &pod);
    refused_with(&h, "does not hold for this pod");
}

static void hand_over__device_that_cannot_be_used__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct assigned_device lost = share_of(f, 0, 300, 400), cut = share_of(f, 3, 100, 100);
    struct pod_facts pod;
    struct hand_over h;

    pod = pod_of(f, "ill", TWO_OF(share_of(f, 0, 300, 400), share_of(f, 2, 300, 400)));
    h = decide_main(f, &pod);
    refused_with(&h, "GPU GPU-c (index 2), which fgpu gave to pod team/ill on node n1, is not healthy");
    lost.uuid = STR("GPU-gone");
    pod = pod_of(f, "lost", ONE_OF(lost));
    h = decide_main(f, &pod);
    refused_with(&h, "GPU-gone (index 0), which fgpu gave to pod team/lost on node n1, is not on this node");
    f->devices[0].profile = DEVICE_IN_MIG_MODE;
    pod = pod_of(f, "mig", ONE_OF(whole_of(f, 1)));
    f->devices[1].profile = DEVICE_IN_MIG_MODE;
    h = decide_main(f, &pod);
    refused_with(&h, "is in MIG mode");
    pod = pod_of(f, "cut", ONE_OF(cut));
    f->devices[3].profile++;
    h = decide_main(f, &pod);
    refused_with(&h, "is now another MIG instance");
}

/* Also one that is not there any more. The others are handed out. */
static void hand_over__device_that_is_ill__is_refused_and_says_why(void **state)
{
    const struct health_ill ill[] = {{{"GPU-a", 5}, {HEALTH_XID, 79}}, {{"GPU-gone", 8}, {HEALTH_LOST, 0}}};
    struct node_fixture *f = *state;
    struct assigned_device lost = share_of(f, 1, 300, 400);
    struct pod_facts pod = pod_of(f, "ill", ONE_OF(share_of(f, 0, 300, 400)));
    struct hand_over h;

    f->rules.node.ill = ill;
    f->rules.node.ill_n = ARRAY_LEN(ill);
    h = decide_main(f, &pod);
    refused_with(&h, "GPU GPU-a (index 0), which fgpu gave to pod team/ill on node n1, reported XID 79");
    lost.uuid = STR("GPU-gone");
    pod = pod_of(f, "lost", ONE_OF(lost));
    h = decide_main(f, &pod);
    refused_with(&h, "GPU GPU-gone (index 1), which fgpu gave to pod team/lost on node n1, is lost");
    pod = pod_of(f, "well", ONE_OF(share_of(f, 1, 300, 400)));
    h = decide_main(f, &pod);
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
}

/* Nodes whose inventory knew no UUIDs. */
static void hand_over__device_recorded_by_index__is_found_by_it(void **state)
{
    struct node_fixture *f = *state;
    struct assigned_device by_index = share_of(f, 1, 300, 400), again = share_of(f, 0, 1, 1);
    struct pod_facts pod;
    struct hand_over h;

    by_index.uuid = STR_NULL;
    pod = pod_of(f, "p", ONE_OF(by_index));
    h = decide_main(f, &pod);
    assert_int_equal(h.answer, HAND_OVER_DEVICES);
    assert_true(str_eq(h.cdi[1], STR("nvidia.com/gpu=GPU-b")));
    assert_true(str_eq(h.devices[0].uuid, STR("GPU-b")));
    again.uuid = STR("GPU-b");
    pod = pod_of(f, "twice", TWO_OF(again, by_index));
    h = decide_main(f, &pod);
    refused_with(&h, "is named twice");
}

static void hand_over__arena_that_is_full__is_refused(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_of(f, "p", ONE_OF(share_of(f, 0, 300, 400)));
    const struct container_facts c = container_of(f, &pod, "main");

    for (int way = HAND_OVER_BY_CDI; way <= HAND_OVER_BY_ENV; way++) {
        f->rules.hand_over.way = (enum hand_over_way)way;
        for (size_t bytes = 0; bytes < 2000; bytes += 10) {
            struct arena small;
            struct hand_over h;

            arena_init(&small, bytes);
            h = hand_over_decide(&f->rules.hand_over, &f->rules.node, &pod, &c, &small);
            assert_true(h.answer == HAND_OVER_DEVICES || (h.answer == HAND_OVER_REFUSED && h.why.n > 0));
            arena_fini(&small);
        }
    }
}

int main(void)
{
#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_fixture_set_up, node_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_NODE(hand_over__by_cdi__is_void_and_the_granted_devices),
        WITH_NODE(hand_over__mount_that_asks_the_nvidia_runtime__is_refused),
        WITH_NODE(hand_over__other_containers_of_the_pod__get_void),
        WITH_NODE(hand_over__by_env__is_the_list_of_uuids),
        WITH_NODE(hand_over__by_env_where_image_and_pod_both_say_all__is_refused),
        WITH_NODE(hand_over__by_cdi_where_image_and_pod_both_say_all__is_void),
        WITH_NODE(hand_over__where_the_runtime_takes_nothing__refuses_grants_alone),
        WITH_NODE(hand_over__in_an_exempt_namespace__changes_nothing_without_a_record),
        WITH_NODE(hand_over__container_with_gpus_of_others__is_left_alone),
        WITH_NODE(hand_over__container_with_gpus_of_others_and_of_fgpu__is_refused),
        WITH_NODE(hand_over__agent_that_stands_back__still_gives_what_is_granted),
        WITH_NODE(hand_over__forged_record__is_refused_everywhere),
        WITH_NODE(hand_over__device_that_cannot_be_used__is_refused),
        WITH_NODE(hand_over__device_that_is_ill__is_refused_and_says_why),
        WITH_NODE(hand_over__device_recorded_by_index__is_found_by_it),
        WITH_NODE(hand_over__arena_that_is_full__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
