/* The list of intents, its text, and what each is worth. What processes do to each other: test/protocol/strict.pml. */
#include "extender/intents.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct intents list;
static struct strbuf out;

static int setup(void **state)
{
    intents_init(&list);
    strbuf_init(&out, INTENTS_BYTES_MAX);
    return 0;
}

static int teardown(void **state)
{
    intents_fini(&list);
    strbuf_fini(&out);
    return 0;
}

static struct intent of(const char *uid, uint64_t version)
{
    return (struct intent){.uid = str_of(uid),
                           .namespace_ = STR("ns"),
                           .name = str_of(uid),
                           .version = version,
                           .decider = STR("0123456789abcdef")};
}

static void text__read_back__the_same(void **state)
{
    static const char TEXT[] = "u1 ns/u1 7 0123456789abcdef\nu2 ns/u2 18446744073709551615 0123456789abcdef\n";
    const struct intent one = of("u1", 7), two = of("u2", UINT64_MAX);

    intents_add(&list, &one);
    intents_add(&list, &two);
    intents_write(&list, &out);
    assert_string_equal(out.p, TEXT);
    intents_fini(&list);
    assert_int_equal(intents_read(str_of(TEXT), &list, NULL), 0);
    assert_int_equal(list.n, 2);
    strbuf_reset(&out);
    intents_write(&list, &out);
    assert_string_equal(out.p, TEXT);
}

static void text__empty__none(void **state)
{
    assert_int_equal(intents_read(STR(""), &list, NULL), 0);
    assert_int_equal(list.n, 0);
}

static void text__not_ours__nothing_is_known(void **state)
{
    static const char *const texts[] = {
        "x",
        "\n",
        "u ns/n 0 d\n",
        "u ns/n -1 d\n",
        "u ns/n 18446744073709551616 d\n",
        "u ns 7 d\n",
        "u ns/n 7\n",
        "u ns/n 7 d e\n",
        " ns/n 7 d\n",
        "u /n 7 d\n",
        "u ns/ 7 d\n",
        "u ns/n 7 \n",
        "u ns/n 7 0123456789abcdef0\n",
        "u ns/n 7 d\n\nu ns/n 7 d\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char text[200];
        struct err why = {0};

        snprintf(text, sizeof(text), "v ns/n 7 d\n%s", texts[i]);
        if (intents_read(str_of(text), &list, &why) == 0) {
            fail_msg("\"%s\" was read", texts[i]);
        }
        assert_int_equal(list.n, 0);
        assert_non_null(strstr(why.msg, "line "));
    }
}

#define OURS true
#define OTHERS false
#define OPEN true
#define ENDED false

static void judge__each_case(void **state)
{
    static const struct {
        bool ours, open, gone;
        enum pod_place place;
        uint64_t version;
        enum intent_sight sight;
    } cases[] = {
        {OURS, OPEN, false, POD_PLACE_UNBOUND, 7, INTENT_OPEN},
        {OURS, OPEN, false, POD_PLACE_UNKNOWN, 0, INTENT_OPEN},
        /* resolved, or never sent: we know it */
        {OURS, ENDED, false, POD_PLACE_UNBOUND, 7, INTENT_DEAD},
        {OURS, ENDED, false, POD_PLACE_UNKNOWN, 0, INTENT_DEAD},
        {OURS, ENDED, false, POD_PLACE_HERE, 8, INTENT_BOUND},
        /* of others, only what the pod shows */
        {OTHERS, ENDED, false, POD_PLACE_HERE, 8, INTENT_BOUND},
        {OTHERS, ENDED, true, POD_PLACE_HERE, 8, INTENT_BOUND},
        {OTHERS, ENDED, false, POD_PLACE_ELSEWHERE, 8, INTENT_DEAD},
        {OTHERS, ENDED, false, POD_PLACE_UNBOUND, 8, INTENT_DEAD},
        {OTHERS, ENDED, false, POD_PLACE_UNBOUND, 7, INTENT_UNPROVEN},
        {OTHERS, ENDED, false, POD_PLACE_UNBOUND, 6, INTENT_UNPROVEN},
        {OTHERS, ENDED, false, POD_PLACE_UNBOUND, 0, INTENT_UNPROVEN},
        {OTHERS, ENDED, false, POD_PLACE_UNKNOWN, 9, INTENT_UNPROVEN},
        {OTHERS, ENDED, true, POD_PLACE_UNKNOWN, 0, INTENT_DEAD},
        /* `is_open` is of ours alone */
        {OTHERS, OPEN, false, POD_PLACE_UNBOUND, 7, INTENT_UNPROVEN},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct intent intent = of("u", 7);
        enum intent_sight sight;

        intent.is_gone = cases[i].gone;
        sight = intent_judge(&intent, cases[i].ours, cases[i].open, cases[i].place, cases[i].version);
        if (sight != cases[i].sight) {
            fail_msg("case %zu is %d instead of %d", i, (int)sight, (int)cases[i].sight);
        }
    }
}

/* By the version. */
static enum intent_sight as_numbered(void *ctx, const struct intent *i)
{
    return (enum intent_sight)i->version - 1;
}

static void keep__all_but_the_dead(void **state)
{
    struct intents kept;

    intents_init(&kept);
    for (unsigned v = INTENT_DEAD + 1; v > 0; v--) {
        const struct intent i = of("u", v);

        intents_add(&list, &i);
    }
    assert_int_equal(intents_unproven(&list, as_numbered, NULL)->version, INTENT_UNPROVEN + 1);
    intents_keep(&list, as_numbered, NULL, &kept);
    assert_int_equal(kept.n, INTENT_DEAD);
    for (size_t k = 0; k < kept.n; k++) {
        assert_int_not_equal(kept.items[k].version, INTENT_DEAD + 1);
    }
    intents_move(&list, &kept);
    assert_int_equal(kept.n, 0);
    assert_int_equal(list.n, INTENT_DEAD);
    intents_fini(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text__read_back__the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(text__empty__none, setup, teardown),
        cmocka_unit_test_setup_teardown(text__not_ours__nothing_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(judge__each_case, setup, teardown),
        cmocka_unit_test_setup_teardown(keep__all_but_the_dead, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
