#include "base/suggest.h"

#include "base/compiler.h"
#include "base/support/unit.h"

static void suggest__table__nearest_or_none(void **state)
{
    static const struct str known[] = {{"candidates", 10}, {"hold", 4}, {"nodeStrategy", 12}, {"json", 4}, {"ab", 2}};
    static const struct {
        const char *name, *word, *want;
    } rows[] = {
        {"one letter missing", "candidtes", "candidates"},
        {"two swapped", "candidaets", "candidates"},
        {"one too many", "holdd", "hold"},
        {"case only", "nodestrategy", "nodeStrategy"},
        {"three edits in ten", "kandudatez", "candidates"},
        {"four edits in ten", "kundudatez", NULL},
        {"short and replaced", "jsom", "json"},
        {"short and all different", "xyz", NULL},
        {"two letters, one wrong", "ax", "ab"},
        {"two letters, both wrong", "xy", NULL},
        {"empty", "", NULL},
        {"very long", "candidatescandidatescandidatescandidatescandidates", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str *got = suggest(str_of(rows[i].word), known, ARRAY_LEN(known));
        struct str want = rows[i].want != NULL ? str_of(rows[i].want) : STR("none");

        if (!str_eq(got != NULL ? *got : STR("none"), want)) {
            fail_msg("%s", rows[i].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggest__table__nearest_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
