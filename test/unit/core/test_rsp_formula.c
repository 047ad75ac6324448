/* rsp, constant by constant: what the small clusters beside which the reference is laid (test/packing/paper) cannot
 * show. */
#include "core/forecast/internal.h"
#include "core/ledger/ledger.h"
#include "core/placement/pack.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdio.h>

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
    int node_n;
};

static void scene_init(struct scene *s)
{
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
    s->node_n = 0;
}

static void scene_fini(struct scene *s)
{
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

static void add_nodes(struct scene *s, int n, int gpu_n, int64_t mem_mib)
{
    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%02d", s->node_n++);
        fixture_node(&s->f, name, gpu_n, mem_mib);
    }
}

static void expect(struct scene *s, const struct demand *d, int times)
{
    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(s->expected, d);
    }
}

static void follow(struct scene *s)
{
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
    while (!forecast_follow(s->o, ledger_cluster_view(s->f.l), fixture_params("rsp")->node_strategy)) {
    }
}

static int count_classes(const struct scene *s, enum scarcity_kind kind)
{
    int n = 0;

    for (uint32_t i = 0; i < s->o->class_n; i++) {
        n += s->o->classes[i].kind == kind;
    }
    return n;
}

static const struct scarcity *class_of(const struct scene *s, enum scarcity_kind kind)
{
    for (uint32_t i = 0; i < s->o->class_n; i++) {
        if (s->o->classes[i].kind == kind) {
            return &s->o->classes[i];
        }
    }
    fail_msg("no such class");
    return NULL;
}

static void close_to(double got, double want)
{
    assert_true(got - want < 1e-9 && want - got < 1e-9);
}

/* ---- hosts ---- */

/* How many classes of hosts there are, where so many of the machines can run what is expected. */
static int hosts_of(int can, int cannot)
{
    struct demand d = SHARE_AND_MEMORY_OF(300, 2000);
    struct scene s;
    int n;

    scene_init(&s);
    add_nodes(&s, can, 1, 4096);
    add_nodes(&s, cannot, 1, 1024);
    expect(&s, &d, 50);
    follow(&s);
    n = count_classes(&s, SCARCE_HOST);
    scene_fini(&s);
    return n;
}

static void hosts__up_to_90_percent_of_the_cluster__are_scarce(void **state)
{
    assert_int_equal(hosts_of(1, 9), 1);
    assert_int_equal(hosts_of(7, 1), 1); /* 87.5 % */
    assert_int_equal(hosts_of(9, 1), 1); /* just 90 % */
    assert_int_equal(hosts_of(10, 1), 0);
    assert_int_equal(hosts_of(10, 0), 0);
}

static void hosts__memory_that_is_unknown__is_none(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(300, 2000);
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 2, 1, 4096);
    add_nodes(&s, 3, 1, 0);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(count_classes(&s, SCARCE_HOST), 1);
    assert_int_equal(s.o->supply[0], 2000); /* of the two alone */
    scene_fini(&s);
}

/* Two machines, the second with twice as much of both: the milli that those supply who can run the pod. */
static int64_t hosts_for(struct host_request host)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, 300);
    struct scene s;
    int64_t ret;

    d.host = host;
    scene_init(&s);
    s.f.host = (struct host_capacity){8192, 8192};
    add_nodes(&s, 1, 1, 1024);
    s.f.host = (struct host_capacity){16384, 16384};
    add_nodes(&s, 1, 1, 1024);
    expect(&s, &d, 50);
    follow(&s);
    ret = s.o->class_n == 0 ? 2000 : s.o->supply[0]; /* where all can, they are not scarce */
    scene_fini(&s);
    return ret;
}

static void hosts__cores_or_memory__are_enough_up_to_all(void **state)
{
    assert_int_equal(hosts_for((struct host_request){8192, 8192}), 2000);
    assert_int_equal(hosts_for((struct host_request){8193, 100}), 1000);
    assert_int_equal(hosts_for((struct host_request){100, 8193}), 1000);
}

static void hosts__whole_gpus__want_no_memory(void **state)
{
    struct demand d = WHOLE_GPUS(2);
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 2, 2, 4096);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(class_of(&s, SCARCE_GANG)->mem_mib, 0);
    scene_fini(&s);
}

/* ---- what a class asks for, and what is supplied ---- */

static int64_t supply_of(const struct scene *s, const struct scarcity *c)
{
    return s->o->supply[c - s->o->classes];
}

static struct demand asks(struct gpu_request *w, uint16_t count, int32_t milli, int64_t mem_mib,
                          struct host_request host)
{
    struct demand d = fixture_both(w, milli, mem_mib);

    w->count = count;
    d.host = host;
    return d;
}

static void places__of_several_kinds__ask_for_the_most_of_each_but_the_least_gpu_memory(void **state)
{
    struct gpu_request w[2];
    struct demand a = asks(&w[0], 2, 400, 3000, (struct host_request){8000, 1000}),
                  b = asks(&w[1], 2, 700, 1000, (struct host_request){2000, 5000});
    const struct scarcity *c;
    struct scene s;

    scene_init(&s);
    s.f.host = (struct host_capacity){16384, 16384};
    add_nodes(&s, 2, 3, 4096);
    expect(&s, &a, 50);
    expect(&s, &b, 50);
    follow(&s);
    c = class_of(&s, SCARCE_GANG);
    assert_int_equal(c->milli, 700);
    assert_int_equal(c->mem_mib, 1000);
    assert_int_equal(c->cpu_milli, 8000);
    assert_int_equal(c->host_mem_mib, 5000);
    assert_int_equal(supply_of(&s, c), 2 * 2 * 700);
    scene_fini(&s);
}

static int64_t places_of(struct host_capacity host, int64_t gpu_mem_mib)
{
    struct gpu_request w;
    struct demand d = asks(&w, 1, 800, 2000, (struct host_request){4096, 4096});
    struct scene s;
    int64_t ret;

    scene_init(&s);
    s.f.host = host;
    add_nodes(&s, 1, 3, gpu_mem_mib);
    expect(&s, &d, 50);
    w.count = 3;
    d.host = (struct host_request){8192, 8192};
    expect(&s, &d, 50);
    follow(&s);
    ret = supply_of(&s, class_of(&s, SCARCE_GANG));
    scene_fini(&s);
    return ret;
}

static void places__cores_memory_or_gpu_memory_just_enough__are_supplied(void **state)
{
    assert_int_equal(places_of((struct host_capacity){8192, 8192}, 2000), 2400);
    assert_int_equal(places_of((struct host_capacity){0, 0}, 2000), 2400);
}

static void places__memory_is_short__bounds_them(void **state)
{
    struct gpu_request w;
    struct demand d = asks(&w, 2, 1000, 1000, (struct host_request){1024, 8192});
    struct scene s;

    for (int short_of = 0; short_of < 2; short_of++) {
        scene_init(&s);
        s.f.host = short_of == 0 ? (struct host_capacity){16384, 8192} : (struct host_capacity){16384, 16384};
        add_nodes(&s, 1, 4, 1024);
        expect(&s, &d, 1000);
        follow(&s);
        for (uint32_t i = 0; i < s.o->class_n; i++) {
            if (s.o->classes[i].kind == SCARCE_GANG && s.o->classes[i].count == 2) {
                assert_int_equal(s.o->supply[i], short_of == 0 ? 2000 : 4000);
            }
        }
        scene_fini(&s);
    }
}

static void sizes__of_several_kinds__ask_for_the_least_gpu_memory(void **state)
{
    struct gpu_request w[2];
    struct demand a = asks(&w[0], 1, 600, 1000, (struct host_request){0, 0}),
                  b = asks(&w[1], 1, 600, 3000, (struct host_request){0, 0});
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 2, 1, 4096);
    add_nodes(&s, 1, 1, 1000);
    expect(&s, &a, 50);
    expect(&s, &b, 50);
    follow(&s);
    assert_int_equal(class_of(&s, SCARCE_SIZE)->mem_mib, 1000);
    assert_int_equal(supply_of(&s, class_of(&s, SCARCE_SIZE)), 3 * 600); /* just enough is enough */
    scene_fini(&s);
}

/* 3,072 of 4,096 MiB are 750 milli, more than the 300 of the others, which are sorted behind. */
static void places__of_memory_and_compute__count_with_the_larger(void **state)
{
    struct gpu_request w[2];
    struct demand a = fixture_memory(&w[0], 3072), b = fixture_share(&w[1], 300);
    struct scene s;

    w[0].count = w[1].count = 2;
    scene_init(&s);
    add_nodes(&s, 2, 2, 4096);
    expect(&s, &a, 50);
    expect(&s, &b, 50);
    follow(&s);
    assert_int_equal(supply_of(&s, class_of(&s, SCARCE_GANG)), 2 * 2 * 750);
    scene_fini(&s);
}

static void idle__gpus_without_memory__are_not(void **state)
{
    struct demand d = SHARE_AND_MEMORY_OF(200, 1024);
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 2, 1, 1024);
    fixture_pod(&s.f, "p", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&s.f, "p", "n00"), 0);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(s.o->idle_milli, 1000);
    scene_fini(&s);
}

/* ---- what a pod and a machine count for ---- */

/* Two machines with one GPU of 1 GiB each, one with two GPUs of 4. */
static void unlike_machines(struct scene *s)
{
    scene_init(s);
    add_nodes(s, 2, 1, 1024);
    add_nodes(s, 1, 2, 4096);
}

/* Of the shape whose GPUs have so much, in 1/1024. */
static int32_t times_of(const struct scene *s, int32_t mem_mib)
{
    for (uint32_t i = 0; i < s->o->shape_n; i++) {
        if (s->o->shapes[i].types[0].mem_low_mib == mem_mib) {
            return s->o->shapes[i].times;
        }
    }
    fail_msg("no such shape");
    return 0;
}

/* 512 MiB are 500 milli of the small GPUs and 125 of the large ones: 312.5. */
static void mean_parts__memory_on_unlike_gpus__a_pod_counts_the_same_on_each(void **state)
{
    struct demand d = MEMORY_OF(512);
    struct scene s;

    unlike_machines(&s);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(times_of(&s, 1024), 641); /* 313 x 1024 / 500 */
    assert_int_equal(times_of(&s, 4096), 2564);
    assert_int_equal(s.o->idle_milli, 2 * (1000 * 641 / 1024) + 2000 * 2564 / 1024);
    scene_fini(&s);
}

/* 256 MiB: (250 + 250 + 62 + 62) / 4 is 156. 2 GiB fit on the large ones alone. */
static void mean_parts__several_kinds__are_weighed_by_how_many_come(void **state)
{
    struct demand a = MEMORY_OF(256), b = MEMORY_OF(2048);
    struct scene s;

    unlike_machines(&s);
    expect(&s, &a, 10);
    expect(&s, &b, 40);
    follow(&s);
    assert_int_equal(times_of(&s, 1024), 639);  /* 156 x 1024 / 250 */
    assert_int_equal(times_of(&s, 4096), 1071); /* (156 + 4 x 500) x 1024 / (62 + 4 x 500) */
    close_to(class_of(&s, SCARCE_HOST)->mean_volume, 500);
    close_to(class_of(&s, SCARCE_HOST)->share, 40 * 500 / (40 * 500 + 10 * 156.0));
    scene_fini(&s);
}

static void mean_parts__compute_alone__is_what_is_asked_for(void **state)
{
    struct demand d = SHARE_OF(300);
    struct scene s;

    unlike_machines(&s);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(times_of(&s, 1024), 1024);
    assert_int_equal(times_of(&s, 4096), 1024);
    scene_fini(&s);
}

static void mean_parts__hardly_anything_of_a_huge_gpu__sixteen_times_at_most(void **state)
{
    struct demand d = MEMORY_OF(1024);
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 99, 1, 1024);
    add_nodes(&s, 1, 1, 131072);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(times_of(&s, 131072), 16 * 1024);
    scene_fini(&s);
}

/* 768 MiB are more than half of a small GPU and a fifth of a large one: nobody must keep a large one whole for it. */
static void sizes__more_than_half_of_the_small_gpus_only__have_no_price(void **state)
{
    struct demand d = MEMORY_OF(768);
    struct scene s;

    unlike_machines(&s);
    expect(&s, &d, 50);
    follow(&s);
    assert_int_equal(count_classes(&s, SCARCE_SIZE), 0);
    scene_fini(&s);
}

/* ---- priors ---- */

static double prior_share(int gpu_n, int pods)
{
    struct demand d = SHARE_OF(1000);
    struct scene s;
    double ret;

    scene_init(&s);
    add_nodes(&s, 3, gpu_n, 1024);
    expect(&s, &d, pods);
    follow(&s);
    ret = s.o->prior_share;
    scene_fini(&s);
    return ret;
}

static void priors__of_many_pods__are_four_of_each_shape(void **state)
{
    close_to(prior_share(4, 1000), 16.0 / 1016);
    close_to(prior_share(5, 1000), 20.0 / 1020);
}

static void priors__of_few_pods__are_three_percent(void **state)
{
    close_to(prior_share(4, 100), 3.0 / 103);
    close_to(prior_share(8, 1000), 30.0 / 1030);
}

static void priors__few_gpus__there_are_none(void **state)
{
    close_to(prior_share(3, 100), 0);
}

static void priors__nothing_has_come__stand_alone(void **state)
{
    struct scene s;

    scene_init(&s);
    add_nodes(&s, 3, 4, 1024);
    follow(&s);
    close_to(s.o->prior_share, 1);
    close_to(class_of(&s, SCARCE_GANG)->known_n, 4);
    scene_fini(&s);
}

static void priors__ask__for_90_percent_of_the_cores_and_70_of_the_memory(void **state)
{
    struct scene s;

    scene_init(&s);
    s.f.host = (struct host_capacity){10240, 20480};
    add_nodes(&s, 1, 4, 1024);
    follow(&s);
    assert_int_equal(class_of(&s, SCARCE_GANG)->cpu_milli, 9216);
    assert_int_equal(class_of(&s, SCARCE_GANG)->host_mem_mib, 14336);
    scene_fini(&s);
}

/* ---- sizes ---- */

/* How many sizes there are with a price, where so many pods ask for `milli` and others for a whole GPU. */
static int sizes_of(int32_t milli, int pods, int others)
{
    struct demand d = SHARE_OF(milli), other = SHARE_OF(1000);
    struct scene s;
    int n;

    scene_init(&s);
    add_nodes(&s, 2, 1, 1024);
    expect(&s, &d, pods);
    expect(&s, &other, others);
    follow(&s);
    n = count_classes(&s, SCARCE_SIZE);
    scene_fini(&s);
    return n;
}

static void sizes__above_half_a_gpu__have_a_price(void **state)
{
    assert_int_equal(sizes_of(500, 50, 50), 1);
    assert_int_equal(sizes_of(501, 50, 50), 2);
}

static void sizes__from_two_percent_of_the_volume__have_a_price(void **state)
{
    assert_int_equal(sizes_of(600, 5, 147), 2); /* 3,000 of 150,000 */
    assert_int_equal(sizes_of(600, 5, 148), 1);
}

static void sizes__very_many__the_smallest_16(void **state)
{
    struct scene s;
    int32_t largest = 0;

    scene_init(&s);
    add_nodes(&s, 2, 1, 1024);
    for (int32_t milli = 600; milli < 800; milli += 10) {
        struct demand d = SHARE_OF(milli);

        expect(&s, &d, 10);
    }
    follow(&s);
    assert_int_equal(count_classes(&s, SCARCE_SIZE), 16);
    for (uint32_t i = 0; i < s.o->class_n; i++) {
        largest = s.o->classes[i].milli > largest ? s.o->classes[i].milli : largest;
    }
    assert_int_equal(largest, 750);
    scene_fini(&s);
}

/* ---- cores ---- */

static int32_t scarce_cpu(struct host_capacity host, int32_t cpu_milli)
{
    struct demand share = SHARE_OF(500), plain = {.host = {cpu_milli, 0}};
    struct scene s;
    int32_t ret;

    scene_init(&s);
    s.f.host = host;
    add_nodes(&s, 1, 2, 1024);
    expect(&s, &share, 50);
    expect(&s, &plain, 50);
    follow(&s);
    ret = forecast_prices(s.o)->scarce_cpu;
    scene_fini(&s);
    return ret;
}

/* Two idle GPUs: four shares will come, and so four pods without GPUs. */
static void cores__wanted_of_what_is_left__from_half_to_all(void **state)
{
    assert_int_equal(scarce_cpu((struct host_capacity){0, 0}, 9000), 0); /* nobody knows */
    assert_int_equal(scarce_cpu((struct host_capacity){8192, 0}, 512), 0);
    assert_int_equal(scarce_cpu((struct host_capacity){8192, 0}, 1024), 0);
    assert_int_equal(scarce_cpu((struct host_capacity){8192, 0}, 1536), 8);
    assert_int_equal(scarce_cpu((struct host_capacity){8192, 0}, 2048), 16);
    assert_int_equal(scarce_cpu((struct host_capacity){8192, 0}, 8192), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts__up_to_90_percent_of_the_cluster__are_scarce),
        cmocka_unit_test(hosts__memory_that_is_unknown__is_none),
        cmocka_unit_test(hosts__cores_or_memory__are_enough_up_to_all),
        cmocka_unit_test(hosts__whole_gpus__want_no_memory),
        cmocka_unit_test(places__of_several_kinds__ask_for_the_most_of_each_but_the_least_gpu_memory),
        cmocka_unit_test(places__cores_memory_or_gpu_memory_just_enough__are_supplied),
        cmocka_unit_test(places__memory_is_short__bounds_them),
        cmocka_unit_test(sizes__of_several_kinds__ask_for_the_least_gpu_memory),
        cmocka_unit_test(places__of_memory_and_compute__count_with_the_larger),
        cmocka_unit_test(idle__gpus_without_memory__are_not),
        cmocka_unit_test(mean_parts__memory_on_unlike_gpus__a_pod_counts_the_same_on_each),
        cmocka_unit_test(mean_parts__several_kinds__are_weighed_by_how_many_come),
        cmocka_unit_test(mean_parts__compute_alone__is_what_is_asked_for),
        cmocka_unit_test(mean_parts__hardly_anything_of_a_huge_gpu__sixteen_times_at_most),
        cmocka_unit_test(sizes__more_than_half_of_the_small_gpus_only__have_no_price),
        cmocka_unit_test(priors__of_many_pods__are_four_of_each_shape),
        cmocka_unit_test(priors__of_few_pods__are_three_percent),
        cmocka_unit_test(priors__few_gpus__there_are_none),
        cmocka_unit_test(priors__nothing_has_come__stand_alone),
        cmocka_unit_test(priors__ask__for_90_percent_of_the_cores_and_70_of_the_memory),
        cmocka_unit_test(sizes__above_half_a_gpu__have_a_price),
        cmocka_unit_test(sizes__from_two_percent_of_the_volume__have_a_price),
        cmocka_unit_test(sizes__very_many__the_smallest_16),
        cmocka_unit_test(cores__wanted_of_what_is_left__from_half_to_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
