/* Quality of service: what it charges, what it hands out, and that it stays what it was when it was
 * given. */
#include "model/qos.h"

#include "base/compiler.h"
#include "base/rng.h"
#include "core/fit/device_state.h"
#include "core/dialects/dialect.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena records; /* that of the fixture ends with every snapshot */

static int setup(void **state)
{
    fixture_init(&fx);
    arena_init(&records, 16 << 20);
    return 0;
}

static int teardown(void **state)
{
    fixture_fini(&fx);
    arena_fini(&records);
    return 0;
}

/* ---- words ---- */

static void parse__names__and_nothing_else(void **state)
{
    static const char *const wrong[] = {"", "fixed", "Fixed-Share", "fixed-share ", "equal_share", "none"};
    enum qos q = QOS__MAX;

    for (unsigned i = 0; i < QOS__MAX; i++) {
        assert_true(qos_parse(str_of(qos_name((enum qos)i)), &q));
        assert_int_equal(q, i);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        q = QOS__MAX;
        assert_false(qos_parse(str_of(wrong[i]), &q));
        assert_int_equal(q, QOS__MAX);
    }
}

/* ---- charges ---- */

static void charge__every_kind_of_gpu_request__at_least_the_even_part_of_equal_shares(void **state)
{
    enum { SAYS_NOT = QOS__MAX };
    static const struct {
        const char *name;
        enum gpu_request_kind kind;
        int32_t milli;
        int64_t mem_mib;
        unsigned says;
        unsigned flags;
        int16_t slots;
        int32_t want_milli;
        int64_t want_mem_mib;
    } rows[] = {
        {"fixed", GPU_REQUEST_MILLI, 10, 0, QOS_FIXED_SHARE, 0, 16, 10, 160},
        {"best effort takes no more", GPU_REQUEST_MILLI, 10, 0, QOS_BEST_EFFORT, 0, 16, 10, 160},
        {"equal", GPU_REQUEST_MILLI, 10, 0, QOS_EQUAL_SHARE, 0, 16, 62, 160},
        {"equal, by the node", GPU_REQUEST_MILLI, 10, 0, SAYS_NOT, DEVICE_EQUAL, 16, 62, 160},
        {"the pod wins, fixed", GPU_REQUEST_MILLI, 10, 0, QOS_FIXED_SHARE, DEVICE_EQUAL, 16, 10, 160},
        {"the pod wins, best effort", GPU_REQUEST_MILLI, 10, 0, QOS_BEST_EFFORT, DEVICE_EQUAL, 16, 10, 160},
        {"more than the even part", GPU_REQUEST_MILLI, 300, 0, QOS_EQUAL_SHARE, 0, 16, 300, 4800},
        {"four sharers", GPU_REQUEST_MILLI, 10, 0, QOS_EQUAL_SHARE, 0, 4, 250, 160},
        {"one sharer", GPU_REQUEST_MILLI, 10, 0, QOS_EQUAL_SHARE, 0, 1, 1000, 160},
        {"no sharer", GPU_REQUEST_MILLI, 10, 0, QOS_EQUAL_SHARE, 0, 0, 10, 160},
        {"memory alone", GPU_REQUEST_MEMORY, 0, 160, QOS_EQUAL_SHARE, 0, 16, 62, 160},
        {"memory alone, much of it", GPU_REQUEST_MEMORY, 0, 8000, QOS_EQUAL_SHARE, 0, 16, 500, 8000},
        {"no compute asked", GPU_REQUEST_BOTH, 0, 160, QOS_EQUAL_SHARE, 0, 16, 62, 160},
        {"no compute asked, fixed", GPU_REQUEST_BOTH, 0, 160, QOS_FIXED_SHARE, 0, 16, 0, 160},
        {"the whole device", GPU_REQUEST_WHOLE, 1000, 0, QOS_EQUAL_SHARE, 0, 16, 1000, 16000},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gpu_request w = {
            .kind = rows[i].kind, .milli = rows[i].milli, .mem_mib = rows[i].mem_mib, .count = 1, .phases = 1};
        const struct demand d = {.gpu_requests = &w,
                                 .gpu_request_n = 1,
                                 .says_qos = rows[i].says != SAYS_NOT,
                                 .qos = rows[i].says != SAYS_NOT ? (enum qos)rows[i].says : QOS_EQUAL_SHARE};
        const struct device_state s = {.milli_cap = 1000,
                                       .mem_cap_mib = 16000,
                                       .mem_base_mib = 16000,
                                       .slot_cap = rows[i].slots,
                                       .flags = (uint16_t)(DEVICE_HEALTHY | rows[i].flags)};
        const struct demand none = {.gpu_requests = &w, .gpu_request_n = 1};
        struct charge c = device_charge(&s, rows[i].says != SAYS_NOT ? &d : &none, &w);

        if (c.milli != rows[i].want_milli || c.mem_mib != rows[i].want_mem_mib || c.slots != 1) {
            fail_msg("%s: %d milli and %lld MiB", rows[i].name, c.milli, (long long)c.mem_mib);
        }
    }
}

static void even_part__any_number_of_sharers__all_of_them_fit(void **state)
{
    for (int32_t n = 1; n <= 1000; n++) {
        assert_in_range(n * qos_even_milli(n), n > 500 ? n : 500, 1000);
    }
}

/* ---- in the ledger ---- */

static const struct str gpu_uuid = {"GPU-a", 5};

static void node(enum qos qos, enum lending lending, int32_t slot_n)
{
    const struct device device = {
        .uuid = gpu_uuid, .minor = -1, .mem_mib = 16000, .slot_n = slot_n, .numa = -1, .healthy = true};
    const struct inventory inventory = {
        .source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1, .qos = qos, .lending = lending};
    const struct ledger_op op = fixture_description("n", &inventory);

    fixture_apply(&fx, &op);
}

static int32_t charged(void)
{
    return 1000 - fixture_milli_free(&fx, "n", 0);
}

static struct demand says(struct gpu_request *w, int32_t milli, enum qos q)
{
    struct demand d = fixture_share(w, milli);

    d.says_qos = true;
    d.qos = q;
    return d;
}

static struct assignment record_of(struct assigned_container *c, struct assigned_device *d, int32_t milli, enum qos q)
{
    struct assignment as = fixture_record(c, d, "d", "GPU-a", 0, milli, 160);

    as.qos = q;
    return as;
}

/* Reserves and returns what is to be written. */
static struct assignment bound_by_us(const char *uid, const struct demand *d)
{
    struct assignment as;

    assert_int_equal(fixture_pod(&fx, uid, d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, uid, "n"), 0);
    assert_int_equal(ledger_assignment(fx.l, str_of(uid), &records, &as, NULL), 0);
    assert_int_equal(fixture_name_op(&fx, LEDGER_CONFIRM, uid), 0);
    assert_int_equal(fixture_pod(&fx, uid, d, "n", &as), 0);
    return as;
}

static void pod_that_says_nothing__bound__has_what_the_node_said_then(void **state)
{
    struct demand d = SHARE_OF(10);
    struct assignment as;

    node(QOS_EQUAL_SHARE, LEND_FORBID, 16);
    as = bound_by_us("a", &d);
    assert_int_equal(as.qos, QOS_EQUAL_SHARE);
    assert_int_equal(as.lending, LEND_FORBID);
    assert_int_equal(as.containers[0].devices[0].milli, 62);
    assert_int_equal(charged(), 62);
    node(QOS_FIXED_SHARE, LEND_ALLOW, 16); /* by a time window, say */
    assert_int_equal(charged(), 62);
    as = bound_by_us("b", &d);
    assert_int_equal(as.qos, QOS_FIXED_SHARE);
    assert_int_equal(charged(), 72);
    node(QOS_EQUAL_SHARE, LEND_FORBID, 16);
    assert_int_equal(charged(), 72);
}

static void restart__record_says_equal_share__charged_as_before(void **state)
{
    struct demand d = SHARE_OF(10);
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment as = record_of(&c, &dev, 62, QOS_EQUAL_SHARE);

    assert_int_equal(fixture_pod(&fx, "a", &d, "n", &as), 0); /* before its node */
    node(QOS_FIXED_SHARE, LEND_ALLOW, 16);
    assert_int_equal(charged(), 62);
}

static void restart__record_of_an_earlier_version__fixed_share_whatever_the_node_says(void **state)
{
    struct demand d = SHARE_OF(10);
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment as = record_of(&c, &dev, 10, QOS_FIXED_SHARE);

    node(QOS_EQUAL_SHARE, LEND_ALLOW, 16);
    assert_int_equal(fixture_pod(&fx, "a", &d, "n", &as), 0);
    assert_int_equal(charged(), 10);
}

static void annotation__edited_after_the_bind__raises_and_never_lowers(void **state)
{
    struct gpu_request w, v;
    struct demand fixed = says(&w, 10, QOS_FIXED_SHARE), equal = says(&v, 10, QOS_EQUAL_SHARE);
    struct assignment as;

    node(QOS_FIXED_SHARE, LEND_ALLOW, 16);
    as = bound_by_us("a", &fixed);
    assert_int_equal(charged(), 10);
    assert_int_equal(fixture_pod(&fx, "a", &equal, "n", &as), 0);
    assert_int_equal(charged(), 62);
    assert_int_equal(fixture_pod(&fx, "a", &fixed, "n", &as), 0);
    assert_int_equal(charged(), 62);
}

static void restart__annotation_and_record_differ__the_larger(void **state)
{
    struct gpu_request w, v;
    struct demand fixed = says(&w, 10, QOS_FIXED_SHARE), equal = says(&v, 10, QOS_EQUAL_SHARE);
    struct assigned_container c[2];
    struct assigned_device dev[2];
    struct assignment was_fixed = record_of(&c[0], &dev[0], 10, QOS_FIXED_SHARE),
                      was_equal = record_of(&c[1], &dev[1], 62, QOS_EQUAL_SHARE);

    node(QOS_FIXED_SHARE, LEND_ALLOW, 16);
    assert_int_equal(fixture_pod(&fx, "a", &equal, "n", &was_fixed), 0);
    assert_int_equal(charged(), 62);
    assert_int_equal(fixture_pod(&fx, "b", &fixed, "n", &was_equal), 0);
    assert_int_equal(charged(), 124);
}

static void release__of_a_refused_binding__decides_anew(void **state)
{
    struct demand d = SHARE_OF(10);

    node(QOS_EQUAL_SHARE, LEND_ALLOW, 16);
    assert_int_equal(fixture_pod(&fx, "a", &d, NULL, NULL), 0);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(charged(), 62);
    assert_int_equal(fixture_name_op(&fx, LEDGER_RELEASE, "a"), 0);
    node(QOS_FIXED_SHARE, LEND_ALLOW, 16);
    assert_int_equal(fixture_reserve(&fx, "a", "n"), 0);
    assert_int_equal(charged(), 10);
}

static void pod_bound_past_us__what_it_asks_for_whatever_the_node_says(void **state)
{
    struct gpu_request v;
    struct demand silent = SHARE_OF(10), equal = says(&v, 10, QOS_EQUAL_SHARE);

    node(QOS_EQUAL_SHARE, LEND_ALLOW, 16);
    assert_int_equal(fixture_pod(&fx, "a", &silent, "n", NULL), 0);
    assert_int_equal(charged(), 10);
    assert_int_equal(fixture_pod(&fx, "b", &equal, "n", NULL), 0);
    assert_int_equal(charged(), 72);
}

static int percentage(const struct assignment *as)
{
    struct kv_list list;
    const struct str *text;
    uint64_t v;

    assert_int_equal(dialect_answer(as, &records, &list, NULL), 0);
    text = kv_find(list, STR("fgpu.io/mps-active-thread-percentage.c0"));
    assert_non_null(text);
    assert_true(str_to_u64(*text, 100, &v));
    return (int)v;
}

/* Every kind on one GPU, in any order, until nobody fits. */
static void mixed_kinds_on_one_gpu__nothing_lent__caps_add_up_to_the_gpu(void **state)
{
    struct rng rng;

    rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        int32_t slots = 1 + (int32_t)rng_below(&rng, 20);
        enum qos of_node = (enum qos)rng_below(&rng, QOS__MAX);
        int sum = 0, refused = 0;

        node(of_node, LEND_FORBID, slots);
        for (int i = 0; refused < 3 && i < 40; i++) {
            struct demand d = SHARE_OF(10 + (int32_t)rng_below(&rng, 300));
            char uid[16];
            struct assignment as;
            int rc;

            d.says_qos = rng_below(&rng, 2) == 0;
            d.qos = (enum qos)rng_below(&rng, QOS__MAX);
            snprintf(uid, sizeof(uid), "%d", i);
            assert_int_equal(fixture_pod(&fx, uid, &d, NULL, NULL), 0);
            rc = fixture_reserve(&fx, uid, "n");
            if (rc != 0) {
                refused++;
                continue;
            }
            assert_int_equal(ledger_assignment(fx.l, str_of(uid), &records, &as, NULL), 0);
            assert_int_equal(as.qos, d.says_qos ? d.qos : of_node);
            sum += percentage(&as);
        }
        assert_in_range(sum, 1, 100);
        fixture_bracket(&fx, LEDGER_PODS_BEGIN);
        for (int i = 0; i < 40; i++) {
            char uid[16];

            snprintf(uid, sizeof(uid), "%d", i);
            (void)fixture_name_op(&fx, LEDGER_RELEASE, uid);
        }
        fixture_bracket(&fx, LEDGER_PODS_END);
        assert_int_equal(charged(), 0);
    }
}

static void fixed_share_beside_others__idle_compute_lent__keeps_its_cap(void **state)
{
    struct gpu_request w, v, u;
    struct demand fixed = says(&w, 300, QOS_FIXED_SHARE), effort = says(&v, 300, QOS_BEST_EFFORT),
                  equal = says(&u, 300, QOS_EQUAL_SHARE);
    struct assignment as;

    node(QOS_BEST_EFFORT, LEND_ALLOW, 16);
    as = bound_by_us("effort", &effort);
    assert_int_equal(percentage(&as), 100);
    as = bound_by_us("fixed", &fixed);
    assert_int_equal(percentage(&as), 30);
    as = bound_by_us("equal", &equal);
    assert_int_equal(percentage(&as), 100);
    assert_int_equal(charged(), 900);
    assert_int_equal(fixture_pod(&fx, "more", &effort, NULL, NULL), 0);
    assert_true(fixture_reserve(&fx, "more", "n") != 0); /* what is lent is not given away */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__names__and_nothing_else),
        cmocka_unit_test(charge__every_kind_of_gpu_request__at_least_the_even_part_of_equal_shares),
        cmocka_unit_test(even_part__any_number_of_sharers__all_of_them_fit),
        cmocka_unit_test_setup_teardown(pod_that_says_nothing__bound__has_what_the_node_said_then, setup, teardown),
        cmocka_unit_test_setup_teardown(restart__record_says_equal_share__charged_as_before, setup, teardown),
        cmocka_unit_test_setup_teardown(restart__record_of_an_earlier_version__fixed_share_whatever_the_node_says,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(annotation__edited_after_the_bind__raises_and_never_lowers, setup, teardown),
        cmocka_unit_test_setup_teardown(restart__annotation_and_record_differ__the_larger, setup, teardown),
        cmocka_unit_test_setup_teardown(release__of_a_refused_binding__decides_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(pod_bound_past_us__what_it_asks_for_whatever_the_node_says, setup, teardown),
        cmocka_unit_test_setup_teardown(mixed_kinds_on_one_gpu__nothing_lent__caps_add_up_to_the_gpu, setup, teardown),
        cmocka_unit_test_setup_teardown(fixed_share_beside_others__idle_compute_lent__keeps_its_cap, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
