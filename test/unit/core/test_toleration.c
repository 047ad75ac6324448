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

/* Nothing that is said of one may differ; and lists of which one is the beginning of the other differ. */
static void item17__equal__all_that_is_said_and_how_many(void **state)
{
    static const struct toleration t[] = {
        T("k", TOLERATION_EQUAL, "v", TOLERATES_NO_SCHEDULE),  T("x", TOLERATION_EQUAL, "v", TOLERATES_NO_SCHEDULE),
        T("k", TOLERATION_EXISTS, "v", TOLERATES_NO_SCHEDULE), T("k", TOLERATION_EQUAL, "x", TOLERATES_NO_SCHEDULE),
        T("k", TOLERATION_EQUAL, "v", TOLERATES_NO_EXECUTE),
    };
    static const struct taint taints[] = {
        TAINT("k", "v", TAINT_NO_SCHEDULE),
        TAINT("x", "v", TAINT_NO_SCHEDULE),
        TAINT("k", "x", TAINT_NO_SCHEDULE),
        TAINT("k", "v", TAINT_NO_EXECUTE),
    };

    for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct toleration both[] = {t[0], t[i]};

        for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
            const struct toleration other[] = {t[0], t[k]};

            assert_int_equal(tolerations_equal(&t[i], 1, &t[k], 1), i == k);
            assert_int_equal(tolerations_equal(both, 2, other, 2), i == k);
        }
        assert_false(tolerations_equal(both, 2, both, 1));
        assert_false(tolerations_equal(both, 1, both, 2));
    }
    for (size_t i = 0; i < sizeof(taints) / sizeof(taints[0]); i++) {
        const struct taint both[] = {taints[0], taints[i]};

        for (size_t k = 0; k < sizeof(taints) / sizeof(taints[0]); k++) {
            const struct taint other[] = {taints[0], taints[k]};

            assert_int_equal(taints_equal(&taints[i], 1, &taints[k], 1), i == k);
            assert_int_equal(taints_equal(both, 2, other, 2), i == k);
        }
        assert_false(taints_equal(both, 2, both, 1));
        assert_false(taints_equal(both, 1, both, 2));
    }
    assert_true(tolerations_equal(NULL, 0, NULL, 0));
    assert_true(taints_equal(NULL, 0, NULL, 0));
}

/* What is kept does not live in what it was made from, and is made anew only for something else. */
static void item17__replace__copies_that_last(void **state)
{
    char key[] = "key", value[] = "value";
    const struct toleration said[] = {
        {{key, 3}, {value, 5}, TOLERATION_EQUAL, TOLERATES_NO_EXECUTE},
        T("nobody", TOLERATION_NEVER, "", TOLERATES_ALL),
        T("nobody", TOLERATION_EXISTS, "", TOLERATES_OTHER),
        T("last", TOLERATION_EXISTS, "", TOLERATES_ALL),
    };
    const struct taint of_node[] = {{{key, 3}, {value, 5}, TAINT_NO_EXECUTE}, TAINT("last", "", TAINT_NO_SCHEDULE)};
    struct toleration *kept = NULL;
    struct taint *taints = NULL;
    size_t n = 0, taint_n = 0;
    const void *before;

    tolerations_replace(&kept, &n, said, 4);
    taints_replace(&taints, &taint_n, of_node, 2);
    before = taints;
    taints_replace(&taints, &taint_n, of_node, 2);
    assert_ptr_equal(taints, before);
    key[0] = value[0] = 'x';
    assert_int_equal(n, 2);
    assert_true(str_eq_cstr(kept[0].key, "key") && str_eq_cstr(kept[0].value, "value"));
    assert_int_equal(kept[0].operator_, TOLERATION_EQUAL);
    assert_int_equal(kept[0].effect, TOLERATES_NO_EXECUTE);
    assert_true(str_eq_cstr(kept[1].key, "last") && kept[1].value.n == 0);
    assert_int_equal(taint_n, 2);
    assert_true(str_eq_cstr(taints[0].key, "key") && str_eq_cstr(taints[0].value, "value"));
    assert_int_equal(taints[0].effect, TAINT_NO_EXECUTE);
    assert_true(str_eq_cstr(taints[1].key, "last"));
    tolerations_replace(&kept, &n, NULL, 0);
    taints_replace(&taints, &taint_n, NULL, 0);
    assert_null(kept);
    assert_null(taints);
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
        cmocka_unit_test(item17__equal__all_that_is_said_and_how_many),
        cmocka_unit_test(item17__replace__copies_that_last),
        cmocka_unit_test(item17__too_many_tolerations__none),
        cmocka_unit_test(item17__bind__only_where_the_pod_tolerates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
