/* Places: counted one by one; the trial that chooses between them and rollouts; and what rsp prefers in a cluster in
 * use. */
#include "base/rng.h"
#include "core/forecast/internal.h"
#include "core/forecast/rollout_internal.h"
#include "core/ledger/ledger.h"
#include "core/placement/pack.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

enum { CASES = 300, FILLS_UP = 0, IN_USE = FORECAST_SIXTEENTHS };

/* ---- places ---- */

static int32_t below(struct rng *r, int32_t n)
{
    return (int32_t)rng_below(r, (uint64_t)n);
}

/* Of few amounts, so that many are alike in all but one of them. */
static struct sample any_sample(struct rng *r, unsigned type_n)
{
    struct sample d = {
        .cpu_milli = 1500 * below(r, 6), .mem_mib = 1500 * below(r, 6), .count = (uint16_t)rng_below(r, 4)};

    d.plugin_managed = d.count > 0 && rng_below(r, 6) == 0;
    d.worth_milli = 250 * below(r, 5);
    for (unsigned t = 0; t < type_n && d.count > 0; t++) {
        d.on[t].milli = rng_below(r, 5) == 0 ? ROLLOUT_NEVER : 100 * below(r, 11);
        d.on[t].mem_mib = 500 * below(r, 9);
    }
    return d;
}

static struct residual any_residual(struct rng *r, unsigned type_n)
{
    struct residual ret = {.kinds = (uint8_t)(1 + rng_below(r, 3)),
                           .device_n = (uint8_t)rng_below(r, 9),
                           .cpu_milli = rng_below(r, 4) == 0 ? INT32_MAX : below(r, 30000),
                           .mem_mib = rng_below(r, 4) == 0 ? INT32_MAX : below(r, 30000)};

    for (unsigned i = 0; i < ret.device_n; i++) {
        ret.devices[i] = (struct residual_device){(uint16_t)rng_below(r, type_n), below(r, 1001),
                                                  rng_below(r, 3) == 0 ? INT32_MAX : below(r, 9000)};
    }
    return ret;
}

/* How often it can be taken off the device; once, if it takes nothing. */
static int64_t times(struct residual_device v, const struct sample_charge *c)
{
    int64_t n = 0;

    while (c->milli <= v.milli && c->mem_mib <= v.mem_mib && (n == 0 || c->milli > 0 || c->mem_mib > 0)) {
        if (v.mem_mib == INT32_MAX && c->milli == 0) {
            return 1;
        }
        v.milli -= c->milli;
        v.mem_mib -= v.mem_mib == INT32_MAX ? 0 : c->mem_mib;
        n++;
    }
    return n;
}

static int64_t naive(const struct sample *d, const struct residual *r)
{
    int64_t devices = 0, pods;

    if (d->count == 0 || (r->kinds & (d->plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES)) == 0) {
        return 0;
    }
    for (unsigned i = 0; i < r->device_n; i++) {
        int64_t n = times(r->devices[i], &d->on[r->devices[i].type]);

        devices += d->count > 1 && n > 1 ? 1 : n;
    }
    for (pods = devices / d->count;
         pods > 0 && (pods * d->cpu_milli > r->cpu_milli || pods * d->mem_mib > r->mem_mib);) {
        pods--;
    }
    return pods * d->count * d->worth_milli;
}

static void places__any_residual__are_counted_kind_by_kind(void **state)
{
    struct rng r;
    struct rollout_memo *m = rollout_memo_new();
    int64_t found = 0;

    rng_init(&r, 5);
    for (int i = 0; i < CASES; i++) {
        unsigned type_n = 1 + (unsigned)rng_below(&r, 3);
        struct rollout_samples *s = rollout_samples_new(type_n);
        struct residual residual = any_residual(&r, type_n);
        const int32_t caps[] = {0, 8000, 9000, 9000};
        int64_t want = 0, squares = 0;

        for (unsigned k = 0; k < residual.device_n; k++) {
            const struct residual_device *v = &residual.devices[k];

            int64_t mem =
                caps[v->type] == 0 || v->mem_mib == INT32_MAX ? 1000 : (int64_t)v->mem_mib * 1000 / caps[v->type];
            int64_t part = mem < v->milli ? mem : v->milli;

            squares += part * part;
        }
        for (unsigned t = 0; t < type_n; t++) {
            rollout_samples_memory(s, t, caps[t]);
        }
        for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
            for (uint64_t n = rng_below(&r, ROLLOUT_PODS + 1); n > 0; n--) {
                struct sample d = any_sample(&r, type_n);

                d.count = d.count > 1 && i % 2 == 0 ? 1 : d.count; /* half of the cases without pods of several GPUs */
                rollout_samples_add(s, k, &d);
                want += naive(&d, &residual);
            }
        }
        rollout_samples_seal(s);
        /* 1,024 pods in 16 lists; and an eighth of each list, of GPUs of 1,000 milli */
        assert_int_equal(rollout_places(m, s, &residual), (want * 125 + squares * 16) / 8000);
        found += want > 0;
        rollout_samples_free(s);
    }
    assert_true(found > CASES / 2);
    rollout_memo_free(m);
}

/* ---- the trial, and what follows from it ---- */

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
};

static void scene_init(struct scene *s, const int32_t *sizes, size_t n)
{
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
    for (size_t i = 0; i < n; i++) {
        struct gpu_request w;
        struct demand d = fixture_share(&w, sizes[i]);

        for (int k = 0; k < 40; k++) {
            demand_histogram_arrived(s->expected, &d);
        }
    }
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
}

static void scene_fini(struct scene *s)
{
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

static void follow(struct scene *s)
{
    while (!forecast_follow(s->o, ledger_cluster_view(s->f.l), fixture_params("rsp")->node_strategy)) {
    }
}

static void takes(struct scene *s, const char *pod, const char *node, int32_t milli)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, milli);

    fixture_pod(&s->f, pod, &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&s->f, pod, node), 0);
}

/* The node for a pod, of a and b, at these prices (NULL: those of the forecast). */
static struct str chosen_for(struct scene *s, const struct demand *d, const struct forecast_prices *prices)
{
    struct pack_params p = *fixture_params("rsp");
    struct str names[] = {STR("a"), STR("b")};
    struct pack_result results[2];
    struct pack_key buffer;
    struct ledger_view v;
    struct arena a;
    struct str ret;

    arena_init(&a, 1 << 16);
    p.forecast = s->o;
    p.prices = prices;
    assert_int_equal(ledger_view(s->f.l, &a, VIEW_POD("me", d), &v, NULL), 0);
    fixture_pack(&v, &p, NULL, 0, names, 2, results);
    ret = pack_rank(results, 2, 1, &buffer) > 0 ? results[0].name : STR_NULL;
    arena_fini(&a);
    return ret;
}

static struct str chosen_at(struct scene *s, int32_t milli, const struct forecast_prices *prices)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, milli);

    return chosen_for(s, &d, prices);
}

/* The same in a cluster where so many leave. */
static struct str chosen(struct scene *s, int32_t milli, int churn)
{
    follow(s);
    forecast_prices_follow(s->o, churn);
    return chosen_at(s, milli, NULL);
}

static int32_t trial_of(const int32_t *sizes, size_t n)
{
    struct scene s;
    int32_t ret;

    scene_init(&s, sizes, n);
    fixture_node(&s.f, "a", 4, 1024);
    follow(&s);
    ret = s.o->places_in_trial;
    scene_fini(&s);
    return ret;
}

#define TRIAL_OF(...) trial_of((const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void trial__sizes_that_leave_holes__places(void **state)
{
    assert_int_equal(TRIAL_OF(300, 400, 700), FORECAST_SIXTEENTHS);
    assert_int_equal(TRIAL_OF(200, 300, 600), FORECAST_SIXTEENTHS);
    assert_int_equal(TRIAL_OF(100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900),
                     FORECAST_SIXTEENTHS);
}

static void trial__sizes_that_fit_or_never_do__rollouts(void **state)
{
    assert_int_equal(TRIAL_OF(1000), 0);
    assert_int_equal(TRIAL_OF(250, 500), 0);
    assert_int_equal(TRIAL_OF(300, 700), 0);
    assert_int_equal(TRIAL_OF(500, 600), 0); /* rollouts keep a GPU for two halves, where places give it to 600 */
}

static void trial__no_pods_or_no_gpus__rollouts(void **state)
{
    const int32_t size = 300;
    struct scene s;

    assert_int_equal(trial_of(NULL, 0), 0);
    scene_init(&s, &size, 1);
    follow(&s);
    assert_int_equal(s.o->places_in_trial, 0);
    scene_fini(&s);
}

/* ---- the same, told naively ---- */

enum { GPU = 1000, GPUS = 64, ROUNDS = 8, PODS_MAX = ROLLOUT_LISTS * ROLLOUT_PODS };

static int32_t size_of(const struct sample *pod, const struct device_type *d)
{
    int32_t milli = (pod->on[0].milli * GPU + d->milli_cap - 1) / d->milli_cap;
    int32_t mem = (pod->on[0].mem_mib * GPU + d->mem_high_mib - 1) / d->mem_high_mib;

    return milli > mem ? milli : mem;
}

/* By the lists: what would be filled of each amount that may be free. */
static void naive_values(const struct node_shape *s, int32_t *filled, int32_t *places)
{
    for (int32_t free = 0; free <= GPU; free++) {
        int64_t alike = 0, n = 0;

        filled[free] = 0;
        for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
            int32_t left = free;

            for (unsigned i = 0; i < s->samples->lists[k].n; i++) {
                int32_t size = size_of(&s->samples->full[k][i], &s->types[0]);

                if (size == 0) { /* asks for no GPU */
                    continue;
                }
                left -= size <= left ? size : 0;
                alike += free / size * size;
                n++;
            }
            filled[free] += free - left;
        }
        places[free] = (int32_t)(alike * ROLLOUT_LISTS / n);
    }
}

/* GPU by GPU. */
static int64_t naive_fill(const int32_t *sizes, unsigned n, int64_t gpu_n, const int32_t *value)
{
    int64_t sum = 0;
    unsigned at = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        int64_t asked = 0, placed = 0;
        int32_t free[GPUS];

        for (int64_t i = 0; i < gpu_n; i++) {
            free[i] = GPU;
        }
        while (asked * 10 < gpu_n * GPU * 13) {
            int32_t size = sizes[at++ % n], *best = NULL;

            for (int32_t *g = free; g < free + gpu_n; g++) {
                int32_t loss = *g < size ? 0 : value[*g] - value[*g - size];
                int32_t least = best == NULL ? INT32_MAX : value[*best] - value[*best - size];

                best = *g >= size && (loss < least || (loss == least && *g < *best)) ? g : best;
            }
            if (best != NULL) {
                *best -= size;
                placed += size;
            }
            sum += asked < gpu_n * GPU && asked + size >= gpu_n * GPU ? placed : 0;
            asked += size;
        }
        sum += placed;
    }
    return sum;
}

static int64_t naive_trial(const struct node_shape *s)
{
    int32_t sizes[PODS_MAX], filled[GPU + 1], places[GPU + 1];
    int64_t sum = 0, gpu_n, better;
    unsigned n = 0;

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (unsigned i = 0; i < s->samples->lists[k].n; i++) {
            sizes[n] = size_of(&s->samples->full[k][i], &s->types[0]);
            sum += sizes[n];
            n += sizes[n] > 0;
        }
    }
    naive_values(s, filled, places);
    gpu_n = forecast_trial_gpus(sum, n);
    better = (naive_fill(sizes, n, gpu_n, places) - naive_fill(sizes, n, gpu_n, filled)) / (2 * ROUNDS * gpu_n);
    better = (better - 5) * FORECAST_SIXTEENTHS / 5;
    return better < 0 ? 0 : better > FORECAST_SIXTEENTHS ? FORECAST_SIXTEENTHS : better;
}

static void trial__any_sizes__is_what_a_naive_one_says(void **state)
{
    enum { TRIALS = 60, SIZES_MAX = 5 };
    unsigned between_n = 0;
    struct rng r;

    rng_init(&r, 6);
    for (int i = 0; i < TRIALS; i++) {
        int32_t sizes[SIZES_MAX];
        size_t n = 1 + rng_below(&r, SIZES_MAX);
        const struct demand no_gpu = {.host = {1000, 1}};
        struct scene s;

        for (size_t k = 0; k < n; k++) {
            sizes[k] = 10 + below(&r, 991);
        }
        scene_init(&s, sizes, n);
        for (int k = 0; k < i % 3 * 40; k++) {
            demand_histogram_arrived(s.expected, &no_gpu);
        }
        demand_histogram_settle(s.expected);
        fixture_node(&s.f, "a", 4, 1024);
        follow(&s);
        assert_int_equal(s.o->places_in_trial, naive_trial(&s.o->shapes[0]));
        between_n += s.o->places_in_trial > 0 && s.o->places_in_trial < FORECAST_SIXTEENTHS;
        scene_fini(&s);
    }
    assert_true(between_n > 0); /* or this has compared two constants */
}

/* Sizes are parts of one GPU, so machines whose GPUs differ cannot say them. */
static void trial__unlike_gpus_on_each_machine__rollouts(void **state)
{
    const int32_t sizes[] = {300, 400, 700};
    struct device devices[2] = {{.index = 0, .mem_mib = 1024, .slot_n = 16, .numa = -1, .healthy = true},
                                {.index = 1, .mem_mib = 2048, .slot_n = 16, .numa = -1, .healthy = true}};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 2};
    struct ledger_op op = fixture_description("a", &inventory);
    struct scene s;

    scene_init(&s, sizes, 3);
    fixture_apply(&s.f, &op);
    follow(&s);
    assert_int_equal(s.o->places_in_trial, 0);
    fixture_node(&s.f, "b", 1, 1024); /* fewer GPUs, but all alike */
    follow(&s);
    assert_int_equal(s.o->places_in_trial, FORECAST_SIXTEENTHS);
    scene_fini(&s);
}

/* It runs under the lock, and what pods ask for is their tenants' choice. */
static void trial__very_small_pods__no_more_of_them(void **state)
{
    assert_int_equal(forecast_trial_gpus(1000, 1), 64);
    assert_int_equal(forecast_trial_gpus(500, 6), 64); /* 83 milli each */
    assert_int_equal(forecast_trial_gpus(1, 1), 1);
    for (int64_t size = 1; size <= 1000; size++) {
        int64_t pods = forecast_trial_gpus(size, 1) * 1300 / size;

        assert_true(pods <= (size == 1 ? 1300 : 1024));
    }
    assert_in_range(TRIAL_OF(1, 2, 3), 0, FORECAST_SIXTEENTHS);
}

static void rsp__in_use__leaves_an_empty_gpu_to_those_who_need_it(void **state)
{
    const int32_t sizes[] = {500, 600};
    struct scene s;

    scene_init(&s, sizes, 2);
    fixture_node(&s.f, "a", 1, 1024);
    fixture_node(&s.f, "b", 1, 1024);
    takes(&s, "p", "b", 500);
    assert_true(str_eq_cstr(chosen(&s, 500, IN_USE), "b"));
    assert_true(str_eq_cstr(chosen(&s, 500, IN_USE / 4), "b"));
    scene_fini(&s);
}

/* 300 keeps out one 300 or 400 and one 400 either way: 700 milli of three kinds. */
static void rsp__in_use_and_places_that_cost_alike__the_tightest_gpu(void **state)
{
    const int32_t sizes[] = {300, 400, 700};
    struct scene s;

    scene_init(&s, sizes, 3);
    fixture_node(&s.f, "a", 1, 1024);
    fixture_node(&s.f, "b", 1, 1024);
    takes(&s, "p", "a", 400);
    takes(&s, "q", "b", 600);
    assert_true(str_eq_cstr(chosen(&s, 300, IN_USE), "b"));
    scene_fini(&s);
}

/* 6 GiB are a thirteenth of the large GPU, but four of these pods come for each that needs it. */
static void rsp__in_use_and_memory_on_unlike_gpus__leaves_the_large_one_to_those_who_need_it(void **state)
{
    struct demand small = MEMORY_OF(6144), large = MEMORY_OF(61440);
    struct scene s;

    scene_init(&s, NULL, 0);
    for (int k = 0; k < 40; k++) {
        demand_histogram_arrived(s.expected, k % 5 == 0 ? &large : &small);
    }
    demand_histogram_settle(s.expected);
    fixture_node(&s.f, "a", 1, 81920);
    fixture_node(&s.f, "b", 1, 16384);
    follow(&s);
    forecast_prices_follow(s.o, IN_USE);
    assert_true(str_eq_cstr(chosen_for(&s, &small, NULL), "b"));
    assert_true(str_eq_cstr(chosen_for(&s, &large, NULL), "a"));
    scene_fini(&s);
}

/* The work of a first decision in use, where so many sizes of pods are expected. */
static uint64_t work_in_use(size_t size_n)
{
    int32_t sizes[256];
    struct scene s;
    uint64_t work;

    for (size_t i = 0; i < size_n; i++) {
        sizes[i] = 100 + 3 * (int32_t)i;
    }
    scene_init(&s, sizes, size_n);
    fixture_node(&s.f, "a", 1, 1024);
    fixture_node(&s.f, "b", 1, 1024);
    follow(&s);
    work = forecast_work(s.o);
    chosen(&s, 150, IN_USE);
    work = forecast_work(s.o) - work;
    scene_fini(&s);
    return work;
}

/* What a section under the lock may do is bounded by this, and how many kinds of pods there are is their tenants'
 * choice. */
static void rsp__in_use__places_are_work_by_the_number_of_kinds(void **state)
{
    assert_true(work_in_use(2) > 0);
    assert_true(work_in_use(256) >= 4 * work_in_use(2));
}

/* 40 pods of a GPU each are expected, and so many of two. */
static void scene_whole(struct scene *s, int twos)
{
    const int32_t size = 1000;
    struct gpu_request w;
    struct demand two = fixture_whole(&w, 2);

    scene_init(s, &size, 1);
    for (int k = 0; k < twos; k++) {
        demand_histogram_arrived(s->expected, &two);
    }
    demand_histogram_settle(s->expected);
    fixture_node(&s->f, "a", 2, 1024);
    fixture_node(&s->f, "b", 2, 1024);
    takes(s, "p", "b", 1000);
}

/* So that another becomes empty for pods of several GPUs. Where none are expected it is no use. */
static void rsp__in_use_and_pods_of_several_gpus__fills_the_fuller_node(void **state)
{
    struct forecast_prices in_use;
    struct scene s;

    scene_whole(&s, 0);
    assert_true(str_eq_cstr(chosen(&s, 1000, IN_USE), "a"));
    in_use = *forecast_prices(s.o);
    in_use.gangs = 1;
    assert_true(str_eq_cstr(chosen_at(&s, 1000, &in_use), "b"));
    in_use.places = 0;
    assert_true(str_eq_cstr(chosen_at(&s, 1000, &in_use), "a"));
    scene_fini(&s);
}

/* 8 times their part of the volume, which is 2 n of 40 + 2 n, in sixteenths. */
static void rsp__pods_of_several_gpus__weigh_from_none_to_an_eighth(void **state)
{
    const int32_t want[] = {0, 6, 12, 16, 16};

    for (int n = 0; n < 5; n++) {
        struct scene s;

        scene_whole(&s, n);
        follow(&s);
        assert_int_equal(forecast_prices(s.o)->gangs, want[n]);
        scene_fini(&s);
    }
}

static void rsp__few_leave__places_weigh_as_much_as_leave(void **state)
{
    const int32_t sizes[] = {500, 600};
    struct scene s;

    scene_init(&s, sizes, 2);
    fixture_node(&s.f, "a", 1, 1024);
    for (int churn = 0; churn <= FORECAST_SIXTEENTHS; churn++) {
        follow(&s);
        forecast_prices_follow(s.o, churn);
        assert_int_equal(forecast_prices(s.o)->places, churn < 4 ? 4 * churn : FORECAST_SIXTEENTHS);
    }
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places__any_residual__are_counted_kind_by_kind),
        cmocka_unit_test(trial__sizes_that_leave_holes__places),
        cmocka_unit_test(trial__sizes_that_fit_or_never_do__rollouts),
        cmocka_unit_test(trial__no_pods_or_no_gpus__rollouts),
        cmocka_unit_test(trial__any_sizes__is_what_a_naive_one_says),
        cmocka_unit_test(trial__unlike_gpus_on_each_machine__rollouts),
        cmocka_unit_test(trial__very_small_pods__no_more_of_them),
        cmocka_unit_test(rsp__in_use__leaves_an_empty_gpu_to_those_who_need_it),
        cmocka_unit_test(rsp__in_use_and_memory_on_unlike_gpus__leaves_the_large_one_to_those_who_need_it),
        cmocka_unit_test(rsp__in_use__places_are_work_by_the_number_of_kinds),
        cmocka_unit_test(rsp__in_use_and_places_that_cost_alike__the_tightest_gpu),
        cmocka_unit_test(rsp__in_use_and_pods_of_several_gpus__fills_the_fuller_node),
        cmocka_unit_test(rsp__pods_of_several_gpus__weigh_from_none_to_an_eighth),
        cmocka_unit_test(rsp__few_leave__places_weigh_as_much_as_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
