/* Item 17: taints and tolerations, by the rules of core/v1. */
#include "core/request/toleration.h"

#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#define T(key_, op, value_, effect_)                                                                                   \
    {                                                                                                                  \
        {key_, sizeof(key_) - 1}, {value_, sizeof(value_) - 1}, op, effect_                                            \
    }
#define TAINT(key_, value_, effect_)                                                                                   \
    {                                                                                                                  \
        {key_, sizeof(key_) - 1}, {value_, sizeof(value_) - 1}, effect_                                                \
    }

/* The cases of upstream's TestTolerationToleratesTaint, those of the numbers, and of words nobody knows. */
static void item17__one_toleration_and_one_taint__as_upstream(void **state)
{
    static const struct {
        const char *name;
        struct toleration t;
        struct taint taint;
        bool want;
    } rows[] = {
        {"same", T("foo", TOLERATION_EQUAL, "bar", TOLERATES_NO_SCHEDULE), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         true},
        {"no value", T("foo", TOLERATION_EQUAL, "", TOLERATES_NO_SCHEDULE), TAINT("foo", "", TAINT_NO_SCHEDULE), true},
        {"other value", T("foo", TOLERATION_EQUAL, "ba", TOLERATES_NO_SCHEDULE), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         false},
        {"other key", T("fo", TOLERATION_EQUAL, "bar", TOLERATES_NO_SCHEDULE), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         false},
        {"other effect", T("foo", TOLERATION_EQUAL, "bar", TOLERATES_NO_EXECUTE),
         TAINT("foo", "bar", TAINT_NO_SCHEDULE), false},
        {"NoExecute", T("foo", TOLERATION_EQUAL, "bar", TOLERATES_NO_EXECUTE), TAINT("foo", "bar", TAINT_NO_EXECUTE),
         true},
        {"PreferNoSchedule", T("foo", TOLERATION_EQUAL, "bar", TOLERATES_OTHER), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         false},
        {"exists", T("foo", TOLERATION_EXISTS, "", TOLERATES_NO_SCHEDULE), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         true},
        {"exists, any effect", T("foo", TOLERATION_EXISTS, "", TOLERATES_ALL), TAINT("foo", "bar", TAINT_NO_EXECUTE),
         true},
        {"exists, other key", T("foo", TOLERATION_EXISTS, "", TOLERATES_ALL), TAINT("fo", "bar", TAINT_NO_EXECUTE),
         false},
        {"everything", T("", TOLERATION_EXISTS, "", TOLERATES_ALL), TAINT("foo", "bar", TAINT_NO_EXECUTE), true},
        {"every key of one effect", T("", TOLERATION_EXISTS, "", TOLERATES_NO_SCHEDULE),
         TAINT("foo", "bar", TAINT_NO_EXECUTE), false},
        {"less", T("n", TOLERATION_LESS, "950", TOLERATES_ALL), TAINT("n", "949", TAINT_NO_SCHEDULE), true},
        {"not less", T("n", TOLERATION_LESS, "950", TOLERATES_ALL), TAINT("n", "950", TAINT_NO_SCHEDULE), false},
        {"greater", T("n", TOLERATION_GREATER, "-5", TOLERATES_ALL), TAINT("n", "-4", TAINT_NO_SCHEDULE), true},
        {"not greater", T("n", TOLERATION_GREATER, "-5", TOLERATES_ALL), TAINT("n", "-5", TAINT_NO_SCHEDULE), false},
        {"largest", T("n", TOLERATION_LESS, "9223372036854775807", TOLERATES_ALL),
         TAINT("n", "-9223372036854775808", TAINT_NO_SCHEDULE), true},
        {"above 64 bits", T("n", TOLERATION_LESS, "9223372036854775808", TOLERATES_ALL),
         TAINT("n", "1", TAINT_NO_SCHEDULE), false},
        {"octal", T("n", TOLERATION_LESS, "0700", TOLERATES_ALL), TAINT("n", "1", TAINT_NO_SCHEDULE), false},
        {"no number", T("n", TOLERATION_LESS, "700", TOLERATES_ALL), TAINT("n", "1x", TAINT_NO_SCHEDULE), false},
        {"minus nothing", T("n", TOLERATION_GREATER, "-0", TOLERATES_ALL), TAINT("n", "1", TAINT_NO_SCHEDULE), false},
        {"word nobody knows", T("foo", TOLERATION_NEVER, "bar", TOLERATES_ALL), TAINT("foo", "bar", TAINT_NO_SCHEDULE),
         false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (toleration_admits(&rows[i].t, 1, &rows[i].taint, 1) != rows[i].want) {
            fail_msg("%s", rows[i].name);
        }
    }
}

static void item17__several__each_taint_needs_one(void **state)
{
    static const struct toleration gpu = T("nvidia.com/gpu", TOLERATION_EXISTS, "", TOLERATES_NO_SCHEDULE);
    static const struct toleration both[] = {T("a", TOLERATION_EXISTS, "", TOLERATES_ALL),
                                             T("nvidia.com/gpu", TOLERATION_EXISTS, "", TOLERATES_NO_SCHEDULE)};
    static const struct taint taints[] = {TAINT("nvidia.com/gpu", "present", TAINT_NO_SCHEDULE),
                                          TAINT("soft", "", TAINT_OTHER), TAINT("a", "", TAINT_NO_EXECUTE)};

    assert_true(toleration_admits(NULL, 0, NULL, 0));
    assert_true(toleration_admits(NULL, 0, &taints[1], 1));
    assert_true(toleration_admits(&gpu, 1, taints, 2));
    assert_false(toleration_admits(&gpu, 1, taints, 3));
    assert_false(toleration_admits(NULL, 0, taints, 1));
    assert_true(toleration_admits(both, 2, taints, 3));
}

static void item17__cordoned_node__has_a_taint(void **state)
{
    static const struct taint soft = TAINT("soft", "", TAINT_OTHER);
    struct node node = {.unschedulable = true, .taints = &soft, .taint_n = 1};
    const struct taint *taints;
    struct arena a;
    size_t n;

    arena_init(&a, 4096);
    assert_true(taints_of_node(&node, &a, &taints, &n));
    assert_int_equal(n, 1);
    assert_true(str_eq_cstr(taints[0].key, "node.kubernetes.io/unschedulable"));
    assert_int_equal(taints[0].effect, TAINT_NO_SCHEDULE);
    node.unschedulable = false;
    assert_true(taints_of_node(&node, &a, &taints, &n));
    assert_int_equal(n, 0);
    arena_fini(&a);
}

/* A pending pod takes no more memory than TOLERATIONS_BYTES_MAX allows; above that it tolerates nothing. */
static void item17__too_many_tolerations__none(void **state)
{
    struct toleration many[TOLERATIONS_MAX + 1], *kept = NULL;
    size_t n = 0;

    for (size_t i = 0; i <= TOLERATIONS_MAX; i++) {
        many[i] = (struct toleration)T("a", TOLERATION_EXISTS, "", TOLERATES_ALL);
    }
    tolerations_replace(&kept, &n, many, TOLERATIONS_MAX);
    assert_int_equal(n, TOLERATIONS_MAX);
    tolerations_replace(&kept, &n, many, TOLERATIONS_MAX + 1);
    assert_int_equal(n, 0);
    assert_null(kept);
    many[0].value = (struct str){"x", TOLERATIONS_BYTES_MAX}; /* refused by its length, before it is read */
    tolerations_replace(&kept, &n, many, 1);
    assert_int_equal(n, 0);
}

static void describe(struct ledger_fixture *f, const struct taint *taints, size_t n)
{
    struct device d = {.uuid = STR("GPU-0"), .model = STR("m"), .mem_mib = 16384, .healthy = true, .slot_n = 16};
    const struct inventory inv = {.source = INVENTORY_ANNOTATION, .devices = &d, .device_n = 1};
    struct ledger_op op = fixture_description("n", &inv);

    op.node.taints = taints;
    op.node.taint_n = n;
    fixture_apply(f, &op);
}

static void observe(struct ledger_fixture *f, const struct toleration *t, size_t n)
{
    const struct demand d = SHARE_OF(100);
    struct ledger_op op = fixture_observation("p", &d, NULL, NULL);

    op.pod.tolerations = t;
    op.pod.toleration_n = n;
    fixture_apply(f, &op);
}

static void item17__bind__only_where_the_pod_tolerates(void **state)
{
    static const struct taint taint = TAINT("node.kubernetes.io/unschedulable", "", TAINT_NO_SCHEDULE);
    static const struct toleration t =
        T("node.kubernetes.io/unschedulable", TOLERATION_EXISTS, "", TOLERATES_NO_SCHEDULE);
    struct ledger_fixture f;

    fixture_init(&f);
    describe(&f, &taint, 1);
    observe(&f, NULL, 0);
    assert_int_equal(fixture_reserve(&f, "p", "n"), VERDICT_UNTOLERATED);
    observe(&f, &t, 1); /* a pod may gain tolerations */
    assert_int_equal(fixture_reserve(&f, "p", "n"), 0);
    assert_int_equal(fixture_name_op(&f, LEDGER_RELEASE, "p"), 0);
    observe(&f, NULL, 0);
    assert_int_equal(fixture_reserve(&f, "p", "n"), VERDICT_UNTOLERATED);
    describe(&f, NULL, 0);
    assert_int_equal(fixture_reserve(&f, "p", "n"), 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item17__one_toleration_and_one_taint__as_upstream),
        cmocka_unit_test(item17__several__each_taint_needs_one),
        cmocka_unit_test(item17__cordoned_node__has_a_taint),
        cmocka_unit_test(item17__too_many_tolerations__none),
        cmocka_unit_test(item17__bind__only_where_the_pod_tolerates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
