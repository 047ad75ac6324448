#include "core/support/random_assignment.h"

#include "base/compiler.h"
#include "model/mig.h"
#include "support/cmocka.h"

void assert_same_assignment(const struct assignment *want, const struct assignment *got)
{
    assert_true(str_eq(want->id, got->id));
    assert_int_equal(want->container_n, got->container_n);
    assert_int_equal(want->qos, got->qos);
    assert_true(str_eq(want->sig_key, got->sig_key));
    assert_int_equal(want->sig == NULL, got->sig == NULL);
    if (want->sig != NULL) {
        assert_memory_equal(want->sig, got->sig, ASSIGNMENT_SIG_BYTES);
    }
    for (size_t i = 0; i < want->container_n; i++) {
        const struct assigned_container *w = &want->containers[i];
        const struct assigned_container *g = &got->containers[i];
        assert_true(str_eq(w->name, g->name));
        assert_int_equal(w->init, g->init);
        assert_int_equal(w->device_n, g->device_n);
        assert_int_equal(g->position, 0);
        for (size_t j = 0; j < w->device_n; j++) {
            assert_true(str_eq(w->devices[j].uuid, g->devices[j].uuid));
            assert_int_equal(w->devices[j].index, g->devices[j].index);
            assert_int_equal(w->devices[j].milli, g->devices[j].milli);
            assert_true(w->devices[j].mem_mib == g->devices[j].mem_mib);
            assert_int_equal(w->devices[j].profile, g->devices[j].profile);
            assert_int_equal(w->devices[j].exclusive, g->devices[j].exclusive);
        }
    }
}

/* Names and UUIDs with text that JSON must escape. */
static struct str random_text(struct rng *rng, struct arena *a, const char *prefix, size_t i)
{
    static const char *const tails[] = {"", "-x", "\"", "\\", "<&>", "\xc3\xa9", "\xe2\x80\xa8", "\x01\n", "/"};
    return arena_printf(a, "%s%zu%s", prefix, i, tails[rng_below(rng, ARRAY_LEN(tails))]);
}

static int64_t random_up_to(struct rng *rng, int64_t max)
{
    return rng_below(rng, 8) == 0 ? max : (int64_t)rng_below(rng, (uint64_t)(max >> rng_below(rng, 20)) + 1);
}

static void sign_at_random(struct rng *rng, struct arena *a, struct assignment *as)
{
    uint8_t *sig = arena_alloc(a, ASSIGNMENT_SIG_BYTES);

    assert_non_null(sig);
    for (size_t i = 0; i < ASSIGNMENT_SIG_BYTES; i++) {
        sig[i] = (uint8_t)rng_below(rng, 256);
    }
    as->sig_key = random_text(rng, a, "key", 0);
    as->sig = sig;
}

void random_assignment(struct rng *rng, struct arena *a, struct assignment *ret)
{
    size_t n = (size_t)rng_below(rng, rng_below(rng, 10) == 0 ? ASSIGNMENT_CONTAINERS_MAX + 1 : 4);
    struct assigned_container *containers = ARENA_ARRAY(a, n + 1, struct assigned_container);

    for (size_t i = 0; i < n; i++) {
        size_t device_n = (size_t)rng_below(rng, rng_below(rng, 10) == 0 ? DEVICES_PER_NODE_MAX + 1 : 4);
        struct assigned_device *devices = ARENA_ARRAY(a, device_n + 1, struct assigned_device);
        bool last = rng_below(rng, 8) == 0;
        for (size_t j = 0; j < device_n; j++) {
            devices[j] = (struct assigned_device){
                .uuid = rng_below(rng, 4) == 0 ? STR("") : random_text(rng, a, "GPU-", j),
                .index = (int32_t)j + (last ? INT32_MAX - (int32_t)device_n + 1 : 0),
                .milli = (int32_t)random_up_to(rng, ASSIGNMENT_MILLI_MAX),
                .mem_mib = random_up_to(rng, ASSIGNMENT_MEM_MIB_MAX),
                .exclusive = rng_below(rng, 4) == 0,
                .profile = rng_below(rng, 3) == 0 ? (uint16_t)(MIG_PROFILE(1, 0) * (1 + rng_below(rng, 7)) + 1 +
                                                               rng_below(rng, MIG_GB_MAX))
                                                  : 0,
            };
            devices[j].exclusive = devices[j].exclusive && devices[j].profile == 0;
        }
        containers[i] = (struct assigned_container){
            .name = random_text(rng, a, "c", i),
            .init = rng_below(rng, 2) == 0,
            .position = (uint16_t)i,
            .devices = devices,
            .device_n = device_n,
        };
    }
    *ret = (struct assignment){.id = random_text(rng, a, "id", n),
                               .containers = containers,
                               .container_n = n,
                               .qos = (enum qos)rng_below(rng, QOS__MAX)};
    if (rng_below(rng, 2) == 0) {
        sign_at_random(rng, a, ret);
    }
}
