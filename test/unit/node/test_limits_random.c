/* Whatever a container is handed and sets itself: in the end its program sees each limit as it was charged, or it is
 * refused. What a runtime does with our variables is written down here as it was seen (package generate of NRI,
 * AdjustEnv, then containerd): ours takes the place of the first one of its name, and where there are more, the last
 * one stays. */
#include "node/limits.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/compiler.h"
#include "base/rng.h"

#include <stdio.h>

#define RUNS 4000
#define ENV_MAX 8

static struct rng rng;

static uint32_t below(uint32_t n)
{
    return (uint32_t)rng_below(&rng, n);
}

/* What the program sees. */
static struct str in_the_end(const struct container_facts *c, const struct limits *l, struct str key)
{
    const struct str *ours = kv_find(l->env, key);
    struct str last = STR_NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->env_n; i++) {
        if (c->env[i].n > key.n && str_starts(c->env[i], key) && c->env[i].p[key.n] == '=') {
            last = str_drop(c->env[i], key.n + 1);
            n++;
        }
    }
    return ours != NULL && n < 2 ? *ours : last;
}

static struct str random_variable(struct arena *a)
{
    static const char *const names[] = {"CUDA_MPS_PIPE_DIRECTORY",
                                        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                        "CUDA_VISIBLE_DEVICES",
                                        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                        "CUDA_DEVICE_SM_LIMIT_0",
                                        "CUDA_DEVICE_MEMORY_LIMIT_0",
                                        "CUDA_DEVICE_MEMORY_LIMIT_1",
                                        "CUDA_DISABLE_CONTROL",
                                        "CUDA_MPS",
                                        "PATH"};
    static const char *const values[] = {"", "0", "100", "true", "0=99G", "/nowhere"};

    return arena_printf(a, "%s=%s", names[below(ARRAY_LEN(names))], values[below(ARRAY_LEN(values))]);
}

static size_t random_devices(const struct node_fixture *f, struct assigned_device *ret)
{
    size_t n = 0;

    for (int32_t i = 0; i < FIXTURE_DEVICES; i++) {
        if (below(2) == 0) {
            ret[n++] =
                below(4) == 0 || i == 3 ? whole_of(f, i) : share_of(f, i, (int32_t)below(1200), (int64_t)below(900));
        }
    }
    return n;
}

/* The limit that a text of entries "ORDINAL=MIBM" holds for a device; -1: none. */
static int64_t of_list(struct str text, size_t ordinal, size_t *ret_entries)
{
    struct str rest = text, entry, number;
    int64_t found = -1;

    *ret_entries = 0;
    while (text.n > 0 && str_split(&rest, ',', &entry)) {
        uint64_t at = 0, mib = 0;

        assert_true(str_split(&entry, '=', &number) && str_to_u64(number, DEVICES_PER_NODE_MAX, &at));
        assert_true(str_ends(entry, STR("M")) && str_to_u64((struct str){entry.p, entry.n - 1}, INT32_MAX, &mib));
        found = at == ordinal ? (int64_t)mib : found;
        (*ret_entries)++;
    }
    return found;
}

static void judge_mps(const struct container_facts *c, const struct limits *l, const struct assigned_device *d,
                      size_t n)
{
    const struct str memory = in_the_end(c, l, STR("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
    const struct str threads = in_the_end(c, l, STR("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
    size_t entries = 0, limited = 0;
    bool has_gpu = false;
    uint64_t percent;

    for (size_t i = 0; i < n; i++) {
        has_gpu = has_gpu || d[i].profile == 0;
        limited += !d[i].exclusive && d[i].profile == 0 && d[i].mem_mib > 0;
    }
    if (!has_gpu) {
        assert_int_equal(l->env.n, 0);
        return;
    }
    assert_true(str_eq(in_the_end(c, l, STR("CUDA_MPS_PIPE_DIRECTORY")), STR("/tmp/nvidia-mps")));
    assert_true(str_to_u64(threads, 100, &percent) && percent >= 1);
    for (size_t i = 0; i < n; i++) {
        const bool shared = !d[i].exclusive && d[i].profile == 0;

        if (shared && d[i].milli >= 10) {
            assert_true((long long)percent * 10 <= d[i].milli);
        }
        if (shared && d[i].mem_mib > 0) {
            assert_int_equal(of_list(memory, i, &entries), d[i].mem_mib);
            assert_int_equal(entries, limited); /* no entry names what is not visible */
        }
    }
}

static void judge_hami(const struct container_facts *c, const struct limits *l, const struct assigned_device *d,
                       size_t n)
{
    char key[64], want[64];
    bool shared = false;

    for (size_t i = 0; i < n; i++) {
        shared = shared || (!d[i].exclusive && d[i].profile == 0);
    }
    assert_int_equal(l->env.n > 0, shared && n > 0);
    for (size_t i = 0; shared && i < n; i++) {
        const bool limited = !d[i].exclusive && d[i].profile == 0 && d[i].mem_mib > 0;

        snprintf(key, sizeof(key), "CUDA_DEVICE_MEMORY_LIMIT_%zu", i);
        snprintf(want, sizeof(want), "%lldm", limited ? (long long)d[i].mem_mib : 0);
        assert_true(str_eq_cstr(in_the_end(c, l, str_of(key)), want));
    }
    assert_true(!shared || str_eq(in_the_end(c, l, STR("CUDA_DISABLE_CONTROL")), STR("false")));
}

static void limits__whatever_a_container_sets__it_sees_its_own_or_is_refused(void **state)
{
    struct node_fixture *f = *state;
    const struct pod_facts pod = pod_with(f, "p", STR_NULL);
    size_t refused = 0, limited = 0;

    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct assigned_device devices[FIXTURE_DEVICES];
        struct container_facts c = container_of(f, &pod, "main");
        const bool is_mps = seed % 2 == 0;
        struct limits_rules rules = {.kind = is_mps ? LIMITS_MPS : LIMITS_HAMI_CORE,
                                     .mps_dir = STR("/m"),
                                     .hami_dir = STR("/h"),
                                     .hami_library = STR("/l")};
        struct hand_over h = {.answer = HAND_OVER_DEVICES, .devices = devices};
        struct str env[ENV_MAX];
        struct arena a;
        struct limits l;

        rng_init(&rng, seed);
        arena_init(&a, 1U << 20);
        h.device_n = random_devices(f, devices);
        c.env_n = below(ENV_MAX);
        for (size_t i = 0; i < c.env_n; i++) {
            env[i] = random_variable(&a);
        }
        c.env = env;
        l = limits_at_creation(&rules, &pod, &c, &h, &a);
        if (l.why.p != NULL) {
            refused++;
        } else {
            limited += l.env.n > 0;
            (is_mps ? judge_mps : judge_hami)(&c, &l, devices, h.device_n);
        }
        arena_fini(&a);
    }
    /* A test in which nothing happens proves nothing. */
    assert_true(refused > RUNS / 50);
    assert_true(limited > RUNS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limits__whatever_a_container_sets__it_sees_its_own_or_is_refused,
                                        node_fixture_set_up, node_fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
