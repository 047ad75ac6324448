/* The rollout against a naive pass over the same lists, and what the order of devices may not change. */
#include "base/rng.h"
#include "core/forecast/rollout.h"
#include "support/cmocka.h"

#include <string.h>

enum { CASES = 400 };

struct lists {
    unsigned type_n;
    unsigned n[ROLLOUT_LISTS];
    struct sample samples[ROLLOUT_LISTS][ROLLOUT_PODS];
};

static int32_t below(struct rng *r, int32_t n)
{
    return (int32_t)rng_below(r, (uint64_t)n);
}

static void make_lists(struct rng *r, struct lists *l, bool memory)
{
    l->type_n = 1 + (unsigned)rng_below(r, 3);
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        l->n[k] = (unsigned)rng_below(r, ROLLOUT_PODS + 1);
        for (unsigned i = 0; i < l->n[k]; i++) {
            struct sample d = {.cpu_milli = below(r, 9) * 1000, .mem_mib = below(r, 50000), .count = 1};

            d.count = rng_below(r, 5) == 0 ? 0 : rng_below(r, 5) == 0 ? (uint16_t)(1 + rng_below(r, 4)) : 1;
            d.plugin_managed = d.count > 0 && rng_below(r, 6) == 0;
            for (unsigned t = 0; t < l->type_n && d.count > 0; t++) {
                d.on[t].milli = rng_below(r, 5) == 0 ? ROLLOUT_NEVER : 1 + below(r, 1000);
                d.on[t].mem_mib = memory ? below(r, 16000) : 0;
            }
            l->samples[k][i] = d;
        }
    }
}

static struct rollout_samples *seal(const struct lists *l)
{
    struct rollout_samples *s = rollout_samples_new(l->type_n);

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (unsigned i = 0; i < l->n[k]; i++) {
            rollout_samples_add(s, k, &l->samples[k][i]);
        }
    }
    rollout_samples_seal(s);
    return s;
}

static bool is_less(const struct residual_device *a, const struct residual_device *b)
{
    return a->type != b->type     ? a->type < b->type
           : a->milli != b->milli ? a->milli < b->milli
                                  : a->mem_mib < b->mem_mib;
}

static void grow(struct rng *r, const struct lists *l, struct residual *ret, bool memory)
{
    *ret = (struct residual){.kinds = (uint8_t)(1 + rng_below(r, 3)),
                             .device_n = (uint8_t)rng_below(r, 9),
                             .cpu_milli = rng_below(r, 8) == 0 ? INT32_MAX : below(r, 64000),
                             .mem_mib = rng_below(r, 8) == 0 ? INT32_MAX : below(r, 300000)};
    for (unsigned i = 0; i < ret->device_n; i++) {
        struct residual_device d = {(uint16_t)rng_below(r, l->type_n), below(r, 1001),
                                    memory ? below(r, 32000) : INT32_MAX};
        unsigned at = i;

        for (; at > 0 && is_less(&d, &ret->devices[at - 1]); at--) {
            ret->devices[at] = ret->devices[at - 1];
        }
        ret->devices[at] = d;
    }
}

/* The tightest of the devices not in `taken` that takes the pod; -1: none. */
static int tightest(const struct residual *r, const struct sample *d, uint64_t taken)
{
    int best = -1;

    for (int i = 0; i < r->device_n; i++) {
        const struct residual_device *v = &r->devices[i], *b = best >= 0 ? &r->devices[best] : NULL;
        const struct sample_charge *c = &d->on[v->type];
        int32_t left = v->milli - c->milli;

        if ((taken >> i & 1) != 0 || c->milli > v->milli || c->mem_mib > v->mem_mib) {
            continue;
        }
        if (b == NULL || left < b->milli - d->on[b->type].milli ||
            (left == b->milli - d->on[b->type].milli &&
             (v->mem_mib != b->mem_mib ? v->mem_mib < b->mem_mib : v->type < b->type))) {
            best = i;
        }
    }
    return best;
}

static bool naive_place(struct residual *r, const struct sample *d, int64_t *filled)
{
    uint64_t taken = 0;

    if (d->cpu_milli > r->cpu_milli || d->mem_mib > r->mem_mib ||
        (d->count > 0 && (r->kinds & (d->plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES)) == 0)) {
        return false;
    }
    for (unsigned i = 0; i < d->count; i++) {
        int at = tightest(r, d, taken);

        if (at < 0) {
            return false;
        }
        taken |= UINT64_C(1) << at;
    }
    for (int i = 0; i < r->device_n; i++) {
        if ((taken >> i & 1) != 0) {
            struct residual_device *v = &r->devices[i];

            *filled += d->on[v->type].milli;
            v->milli -= d->on[v->type].milli;
            v->mem_mib -= v->mem_mib == INT32_MAX ? 0 : d->on[v->type].mem_mib;
        }
    }
    r->cpu_milli -= r->cpu_milli == INT32_MAX ? 0 : d->cpu_milli;
    r->mem_mib -= r->mem_mib == INT32_MAX ? 0 : d->mem_mib;
    if (d->count > 0) {
        r->kinds = d->plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES;
    }
    return true;
}

static bool is_idle(const struct residual *r)
{
    bool idle = false;

    for (unsigned i = 0; i < r->device_n; i++) {
        idle = idle || r->devices[i].milli > 0;
    }
    return idle;
}

static struct rollout naive(const struct lists *l, const struct residual *residual, bool among)
{
    struct rollout sum = {0, 0};

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        struct residual r = *residual;

        for (unsigned i = 0; i < l->n[k] && !(among && i == ROLLOUT_AMONG) && is_idle(&r); i++) {
            if (l->samples[k][i].count > 0 || among) {
                naive_place(&r, &l->samples[k][i], &sum.filled);
            }
        }
        sum.cpu_left += r.cpu_milli == INT32_MAX ? 0 : r.cpu_milli;
    }
    return sum;
}

/* Memory that pods ask for and devices say nothing about is no constraint. */
static void check(bool asked, bool known, uint64_t seed)
{
    static struct lists l;
    struct rng r;
    int64_t filled = 0;

    rng_init(&r, seed);
    for (unsigned i = 0; i < CASES; i++) {
        struct residual residual;
        struct rollout_samples *s;

        make_lists(&r, &l, asked);
        s = seal(&l);
        for (unsigned k = 0; k < 4; k++) {
            for (int among = 0; among < 2; among++) {
                struct rollout want, got;

                grow(&r, &l, &residual, known);
                want = naive(&l, &residual, among != 0);
                got = rollout_run(s, &residual, among != 0);
                assert_int_equal(got.filled, want.filled);
                assert_int_equal(got.cpu_left, want.cpu_left);
                filled += got.filled;
            }
        }
        rollout_samples_free(s);
    }
    assert_true(filled > 0);
}

static void rollout__any_residual__is_what_a_naive_pass_fills(void **state)
{
    check(false, false, 1);
    check(true, true, 2);
    check(true, false, 3);
}

static bool is_free(struct rng *r)
{
    return rng_below(r, 6) == 0;
}

/* Other cores and memory every time, often close to those before: what a pass remembers is put to the test at its
 * bounds. */
static void rollout_recall__residuals_with_the_same_devices__is_what_a_new_pass_fills(void **state)
{
    static struct lists l;
    struct rollout_memo *m = rollout_memo_new();
    uint64_t asked_n = 0;
    struct rng r;

    rng_init(&r, 3);
    for (unsigned i = 0; i < 40; i++) {
        struct rollout_samples *s;
        struct residual residual;

        make_lists(&r, &l, i % 2 == 0);
        s = seal(&l);
        rollout_memo_forget(m); /* the lists have changed, the residuals not necessarily */
        grow(&r, &l, &residual, i % 2 == 0);
        for (unsigned k = 0; k < 200; k++) {
            struct rollout want, got;
            struct residual_key key;
            bool among = rng_below(&r, 4) == 0;

            residual.cpu_milli = is_free(&r) ? INT32_MAX : below(&r, 40) * 1000 - below(&r, 2) + 1;
            residual.mem_mib = is_free(&r) ? INT32_MAX : below(&r, 300000);
            residual_key(&residual, &key);
            want = rollout_run(s, &residual, among);
            got = rollout_recall(m, s, &residual, &key, among);
            assert_int_equal(got.filled, want.filled);
            assert_int_equal(got.cpu_left, want.cpu_left);
            asked_n += ROLLOUT_LISTS;
        }
        rollout_samples_free(s);
    }
    assert_true(rollout_memo_computed(m) < asked_n * 9 / 10); /* or this has compared nothing */
    rollout_memo_free(m);
}

static void rollout__memory_used_up__leaves_compute_unfilled(void **state)
{
    struct rollout_samples *s = rollout_samples_new(1);
    struct sample d = {.count = 1, .on = {{300, 8000}}};
    struct residual residual = {.kinds = RESIDUAL_SHARES,
                                .device_n = 1,
                                .cpu_milli = INT32_MAX,
                                .mem_mib = INT32_MAX,
                                .devices = {{0, 1000, 10000}}};

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        rollout_samples_add(s, k, &d);
        rollout_samples_add(s, k, &d);
    }
    rollout_samples_seal(s);
    assert_int_equal(rollout_run(s, &residual, false).filled, 300 * ROLLOUT_LISTS);
    residual.devices[0].mem_mib = INT32_MAX; /* not known: no constraint */
    assert_int_equal(rollout_run(s, &residual, false).filled, 600 * ROLLOUT_LISTS);
    rollout_samples_free(s);
}

static void rollout__memory_that_nobody_knows__is_never_used_up(void **state)
{
    struct rollout_samples *s = rollout_samples_new(1);
    struct sample d = {.count = 1, .on = {{300, INT32_MAX / 2 + 1}}};
    struct residual residual = {.kinds = RESIDUAL_SHARES,
                                .device_n = 1,
                                .cpu_milli = INT32_MAX,
                                .mem_mib = INT32_MAX,
                                .devices = {{0, 1000, INT32_MAX}}};

    rollout_samples_add(s, 0, &d);
    rollout_samples_add(s, 0, &d);
    rollout_samples_seal(s);
    assert_int_equal(rollout_run(s, &residual, false).filled, 600);
    rollout_samples_free(s);
}

/* Memory-only placement "free" and devices whose memory is not known charge none. */
static void rollout__all_that_is_left_and_no_memory__is_filled(void **state)
{
    struct rollout_samples *s = rollout_samples_new(1);
    struct sample d = {.count = 1, .on = {{300, 0}}};
    struct residual residual = {.kinds = RESIDUAL_SHARES,
                                .device_n = 1,
                                .cpu_milli = INT32_MAX,
                                .mem_mib = INT32_MAX,
                                .devices = {{0, 300, 0}}};

    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        rollout_samples_add(s, k, &d);
    }
    rollout_samples_seal(s);
    assert_int_equal(rollout_run(s, &residual, false).filled, 300 * ROLLOUT_LISTS);
    rollout_samples_free(s);
}

static void rollout__nothing_expected__fills_nothing_and_leaves_all_cores(void **state)
{
    struct rollout_samples *s = rollout_samples_new(1);
    struct residual residual = {
        .kinds = RESIDUAL_SHARES, .device_n = 1, .cpu_milli = 5000, .mem_mib = 1, .devices = {{0, 1000, INT32_MAX}}};

    rollout_samples_seal(s);
    assert_int_equal(rollout_run(s, &residual, false).filled, 0);
    assert_int_equal(rollout_run(s, &residual, false).cpu_left, 5000 * ROLLOUT_LISTS);
    rollout_samples_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rollout__any_residual__is_what_a_naive_pass_fills),
        cmocka_unit_test(rollout_recall__residuals_with_the_same_devices__is_what_a_new_pass_fills),
        cmocka_unit_test(rollout__memory_used_up__leaves_compute_unfilled),
        cmocka_unit_test(rollout__memory_that_nobody_knows__is_never_used_up),
        cmocka_unit_test(rollout__all_that_is_left_and_no_memory__is_filled),
        cmocka_unit_test(rollout__nothing_expected__fills_nothing_and_leaves_all_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
