/* What a device takes, and what is left of it. */
#include "base/compiler.h"
#include "core/fit/device_state.h"
#include "support/cmocka.h"

static struct device_state device(int32_t milli, int32_t mem_mib, int16_t slots, unsigned flags)
{
    return (struct device_state){.mem_free_mib = mem_mib,
                                 .mem_cap_mib = 16000,
                                 .mem_base_mib = 16000,
                                 .milli_free = milli,
                                 .milli_cap = 1000,
                                 .slot_free = slots,
                                 .slot_cap = 16,
                                 .flags = (uint16_t)flags};
}

#define OK DEVICE_HEALTHY

struct takes_row {
    const char *name;
    int32_t milli, mem_mib;
    int16_t slots;
    unsigned flags;
    struct charge charge;
    bool want;
};

static const struct takes_row takes_rows[] = {
    {"all of it", 1000, 16000, 16, OK, {1000, 1, 16000, false}, true},
    {"exactly what is left", 300, 4000, 1, OK | DEVICE_IN_USE, {300, 1, 4000, false}, true},
    {"one milli too much", 299, 4000, 1, OK | DEVICE_IN_USE, {300, 1, 4000, false}, false},
    {"one MiB too much", 300, 3999, 1, OK | DEVICE_IN_USE, {300, 1, 4000, false}, false},
    {"no slot", 300, 4000, 0, OK | DEVICE_IN_USE, {300, 1, 4000, false}, false},
    {"more memory than 32 bits", 1000, 16000, 16, OK, {1, 1, INT64_C(1) << 33, false}, false},
    {"compute below zero, none wanted", -1, 4000, 1, OK | DEVICE_IN_USE, {0, 1, 1, false}, false},
    {"memory below zero, none wanted", 300, -1, 1, OK | DEVICE_IN_USE, {1, 1, 0, false}, false},
    {"slots below zero, none wanted", 300, 4000, -1, OK | DEVICE_IN_USE, {1, 0, 1, false}, false},
    {"alone on an empty one", 1000, 16000, 16, OK, {1000, 1, 16000, true}, true},
    {"alone on a used one", 1000, 16000, 15, OK | DEVICE_IN_USE, {0, 1, 0, true}, false},
    {"held alone", 1000, 16000, 15, OK | DEVICE_IN_USE | DEVICE_EXCLUSIVE, {0, 1, 0, false}, false},
    {"not healthy", 1000, 16000, 16, 0, {1, 1, 1, false}, false},
    {"denied", 1000, 16000, 16, OK | DEVICE_DENIED, {1, 1, 1, false}, false},
    {"isolated", 1000, 16000, 15, OK | DEVICE_IN_USE | DEVICE_ISOLATED, {1, 1, 1, false}, false},
    {"lost", 1000, 16000, 15, OK | DEVICE_IN_USE | DEVICE_LOST, {1, 1, 1, false}, false},
};

static void takes__rows__as_expected(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(takes_rows); i++) {
        const struct takes_row *row = &takes_rows[i];
        struct device_state d = device(row->milli, row->mem_mib, row->slots, row->flags);

        if (device_takes(&d, &row->charge) != row->want) {
            fail_msg("%s: %s", row->name, row->want ? "not taken" : "taken");
        }
    }
}

static void take__share__marks_in_use(void **state)
{
    struct device_state d = device(1000, 16000, 16, OK);

    device_take(&d, &(struct charge){300, 1, 4000, false});
    assert_int_equal(d.milli_free, 700);
    assert_int_equal(d.mem_free_mib, 12000);
    assert_int_equal(d.slot_free, 15);
    assert_int_equal(d.flags, OK | DEVICE_IN_USE);
}

static void take__whole__marks_held_alone(void **state)
{
    struct device_state d = device(1000, 16000, 16, OK);

    device_take(&d, &(struct charge){1000, 1, 16000, true});
    assert_int_equal(d.flags, OK | DEVICE_IN_USE | DEVICE_EXCLUSIVE);
    assert_false(device_takes(&d, &(struct charge){0, 0, 0, false}));
}

static void take__more_than_free__goes_below_zero(void **state)
{
    struct device_state d = device(100, 1000, 1, OK | DEVICE_IN_USE);

    device_take(&d, &(struct charge){300, 2, 4000, false});
    assert_int_equal(d.milli_free, -200);
    assert_int_equal(d.mem_free_mib, -3000);
    assert_int_equal(d.slot_free, -1);
}

/* Saturation keeps the sum of several takes independent of their order. */
static void take__absurd_amounts__stop_at_the_smallest(void **state)
{
    const struct charge huge = {INT32_MAX, INT32_MAX, INT64_MAX, false};
    struct device_state d = device(100, 1000, 1, OK | DEVICE_IN_USE);

    for (int i = 0; i < 3; i++) {
        device_take(&d, &huge);
    }
    assert_int_equal(d.milli_free, INT32_MIN);
    assert_int_equal(d.mem_free_mib, INT32_MIN);
    assert_int_equal(d.slot_free, INT16_MIN);
    device_take(&d, &(struct charge){1, 1, 1, false});
    assert_int_equal(d.milli_free, INT32_MIN);
}

/* F59. What a pod takes of a part is what it takes of the whole GPU: a third of 16 GiB, not of the part's 8. */
static void charge__part_of_a_gpu__of_the_whole_one(void **state)
{
    const struct device_state half = {.milli_cap = 500,
                                      .milli_free = 500,
                                      .mem_base_mib = 16384,
                                      .mem_cap_mib = 8192,
                                      .mem_free_mib = 8192,
                                      .slot_cap = 16,
                                      .slot_free = 16,
                                      .flags = OK};
    const struct demand equal = {.says_qos = true, .qos = QOS_EQUAL_SHARE};
    static const struct {
        struct gpu_request asks;
        bool equal;
        struct charge want;
        bool fits;
    } rows[] = {
        {{.kind = GPU_REQUEST_MILLI, .milli = 300}, false, {300, 1, 4915, false}, true},
        {{.kind = GPU_REQUEST_MILLI, .milli = 500}, false, {500, 1, 8192, false}, true},
        {{.kind = GPU_REQUEST_MILLI, .milli = 501}, false, {501, 1, 8208, false}, false},
        {{.kind = GPU_REQUEST_MILLI, .milli = 800}, false, {800, 1, 13107, false}, false},
        {{.kind = GPU_REQUEST_WHOLE, .milli = 1000}, false, {1000, 1, 16384, true}, false},
        {{.kind = GPU_REQUEST_BOTH, .milli = 1000, .mem_mib = 1}, false, {1000, 1, 1, false}, false},
        {{.kind = GPU_REQUEST_MEMORY, .mem_mib = 4096}, false, {250, 1, 4096, false}, true},
        {{.kind = GPU_REQUEST_MEMORY, .mem_mib = 8193}, false, {500, 1, 8193, false}, false},
        {{.kind = GPU_REQUEST_BOTH, .milli = 1, .mem_mib = 1}, true, {31, 1, 1, false}, true},
    };

    assert_true(device_is_part(&half));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct charge c = device_charge(&half, rows[i].equal ? &equal : NULL, &rows[i].asks);

        if (!charge_equal(&c, &rows[i].want) || device_takes(&half, &c) != rows[i].fits) {
            fail_msg("row %zu: %d milli, %lld MiB", i, c.milli, (long long)c.mem_mib);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charge__part_of_a_gpu__of_the_whole_one),
        cmocka_unit_test(takes__rows__as_expected),
        cmocka_unit_test(take__share__marks_in_use),
        cmocka_unit_test(take__whole__marks_held_alone),
        cmocka_unit_test(take__more_than_free__goes_below_zero),
        cmocka_unit_test(take__absurd_amounts__stop_at_the_smallest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
