#include "demo/scheduler/latency.h"
#include "support/cmocka.h"

static void quantile__empty__zero(void **state)
{
    struct latency l = {0};
    assert_int_equal(latency_quantile_us(&l, 990), 0);
}

static void quantile__small_values__exact(void **state)
{
    struct latency l = {0};
    for (int64_t v = 1; v <= 10; v++) {
        latency_add(&l, v);
    }
    assert_int_equal(latency_quantile_us(&l, 500), 5);
    assert_int_equal(latency_quantile_us(&l, 900), 9);
    assert_int_equal(latency_quantile_us(&l, 1000), 10);
    assert_int_equal(latency_quantile_us(&l, 1), 1);
}

/* Never below the value, never more than 1/16 above it. */
static void quantile__one_value__within_a_sixteenth(void **state)
{
    for (int64_t v = 0; v < INT64_C(2000000000); v = v * 17 / 16 + 1) {
        struct latency l = {0};
        latency_add(&l, v);
        int64_t q = latency_quantile_us(&l, 990);
        if (q < v || q > v + v / 16) {
            fail_msg("%lld gives %lld", (long long)v, (long long)q);
        }
    }
}

static void add__extremes__counted(void **state)
{
    struct latency l = {0};
    latency_add(&l, -5);
    latency_add(&l, INT64_MAX);
    assert_int_equal(l.n, 2);
    assert_int_equal(latency_quantile_us(&l, 500), 0);
    assert_true(latency_quantile_us(&l, 1000) > INT64_C(2000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantile__empty__zero),
        cmocka_unit_test(quantile__small_values__exact),
        cmocka_unit_test(quantile__one_value__within_a_sixteenth),
        cmocka_unit_test(add__extremes__counted),
    };
    return cmocka_run_group_tests_name("demo/latency", tests, NULL, NULL);
}
