/* The table of the types of one value: a compiler does not see that a type has no row. */
#include "config/support/unit.h"

#include "config/scalar_internal.h"

static bool is_several(enum schema_type type)
{
    return type == SCHEMA_SECTION || type == SCHEMA_LIST || type == SCHEMA_MAP || type == SCHEMA_OVERLAY;
}

static void types__every_one__has_a_whole_row(void **state)
{
    for (int i = 0; i < SCHEMA__MAX; i++) {
        const struct scalar_type *t = &scalar_types[i];
        const bool is_one = !is_several((enum schema_type)i);

        if ((t->accepts != NULL) == (t->accepts_of != NULL)) {
            fail_msg("type %d: what it accepts is said by one of accepts, accepts_of", i);
        }
        if (is_one && (t->decode == NULL || t->format == NULL)) {
            fail_msg("type %d: it cannot be read or written", i);
        }
        if (is_one && t->form == NULL && t->pattern == NULL) {
            fail_msg("type %d: no JSON Schema", i);
        }
        if (t->decode == text_decode && t->error == NULL && i != SCHEMA_TEXT) {
            fail_msg("type %d: text_decode wants a grammar", i);
        }
        if (t->format == number_format && t->add_number == NULL) {
            fail_msg("type %d: number_format wants a notation", i);
        }
        if (t->form == number_form && (t->unit == 0 || t->pattern == NULL)) {
            fail_msg("type %d: number_form wants a unit and a pattern", i);
        }
        if (is_one && i != SCHEMA_CONST && t->size == 0) {
            fail_msg("type %d: nothing is stored", i);
        }
    }
}

/* A value of two members keeps both. */
static void copy__value_of_two_members__both_and_nothing_else(void **state)
{
    struct {
        int64_t before, mib, between;
        int32_t permille, after;
    } from = {1, 2, 3, 4, 5}, to = {0};
    const struct schema_field f = {SCALAR(SCHEMA_MIB_OR_PERCENT), .offset = (size_t)((char *)&from.mib - (char *)&from),
                                   .offset2 = (size_t)((char *)&from.permille - (char *)&from)};

    scalar_copy(&f, &from, &to);
    assert_int_equal(to.mib, 2);
    assert_int_equal(to.permille, 4);
    assert_int_equal(to.before + to.between + to.after, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types__every_one__has_a_whole_row),
        cmocka_unit_test(copy__value_of_two_members__both_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
