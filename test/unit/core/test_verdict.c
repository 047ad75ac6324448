/* What kube-scheduler shows of us: words that never vary. */
#include "base/compiler.h"
#include "core/fit/verdict.h"
#include "support/cmocka.h"

#include <ctype.h>
#include <string.h>

static void verdict_words__every_verdict__unique_plain_and_constant(void **state)
{
    for (unsigned v = 0; v < VERDICT__MAX; v++) {
        const char *text = verdict_text((enum verdict)v);
        const char *name = verdict_name((enum verdict)v);

        assert_non_null(text);
        assert_non_null(name);
        assert_true(strlen(text) < 70); /* one is sent per node */
        assert_null(strchr(text, ','));
        assert_null(strchr(text, '.'));
        assert_null(strpbrk(text, "0123456789%"));
        assert_true(islower((unsigned char)text[0]) || strncmp(text, "GPU", 3) == 0 || strncmp(text, "MIG", 3) == 0);
        for (const char *p = name; *p != '\0'; p++) {
            assert_true(islower((unsigned char)*p) || *p == '_');
        }
        assert_ptr_equal(text, verdict_text((enum verdict)v));
        for (unsigned w = 0; w < v; w++) {
            assert_string_not_equal(text, verdict_text((enum verdict)w));
            assert_string_not_equal(name, verdict_name((enum verdict)w));
        }
    }
}

/* A number that changes, or is used again, makes traces of older versions tell something else. Lines are added, none is
 * changed. */
static void F185_verdict_numbers__stay_as_they_are(void **state)
{
    static const char *const names[] = {
        "fits",          "node_unknown",    "closed",         "uncounted",      "not_covered",
        "no_gpu",        "unmeasured",      "elsewhere",      "no_plugin",      "one_unit",
        "too_few_gpus",  "gpu_too_small",   "memory_unknown", "not_allowed",    "unhealthy",
        "mig_changing",  "mig_plugin",      "mig_impossible", "mig_too_few",    "mig_empty",
        "mig_only",      "hand_off",        "hand_off_name",  "untolerated",    "host_group",
        "overcommitted", "no_compute",      "no_memory",      "no_slot",        "not_empty",
        "held_alone",    "isolated",        "fragmented",     "no_combination", "search_limit",
        "nominated",     "whole_pods_here", "shares_here",    "plugin_full",    "tenant_limit",
        "mig_taken",
    };
    bool used[ARRAY_LEN(names)] = {false};

    for (unsigned v = 0; v < VERDICT__MAX; v++) {
        const unsigned number = verdict_numbers[v];

        assert_in_range(number, 0, ARRAY_LEN(names) - 1);
        assert_false(used[number]);
        used[number] = true;
        assert_string_equal(verdict_name((enum verdict)v), names[number]);
    }
}

static void verdict_is_unresolvable__each__only_what_no_eviction_changes(void **state)
{
    static const enum verdict unresolvable[] = {
        VERDICT_NODE_UNKNOWN,  VERDICT_NO_GPU,         VERDICT_NO_PLUGIN,      VERDICT_TOO_FEW_GPUS, VERDICT_ONE_UNIT,
        VERDICT_GPU_TOO_SMALL, VERDICT_MEMORY_UNKNOWN, VERDICT_NOT_ALLOWED,    VERDICT_UNHEALTHY,    VERDICT_CLOSED,
        VERDICT_MIG_CHANGING,  VERDICT_MIG_PLUGIN,     VERDICT_MIG_IMPOSSIBLE, VERDICT_MIG_TOO_FEW,  VERDICT_MIG_EMPTY,
        VERDICT_MIG_ONLY,      VERDICT_UNMEASURED,     VERDICT_ELSEWHERE,      VERDICT_UNTOLERATED,  VERDICT_UNCOUNTED,
        VERDICT_HAND_OFF,      VERDICT_HAND_OFF_NAME,  VERDICT_HOST_GROUP,     VERDICT_NOT_COVERED,
    };
    unsigned n = 0;

    for (unsigned v = 0; v < VERDICT__MAX; v++) {
        bool listed = false;
        for (size_t i = 0; i < ARRAY_LEN(unresolvable); i++) {
            listed = listed || unresolvable[i] == (enum verdict)v;
        }
        assert_int_equal(verdict_is_unresolvable((enum verdict)v), listed);
        n += listed;
    }
    assert_int_equal(n, ARRAY_LEN(unresolvable));
}

static void verdicts_by_count__some__most_frequent_first_and_never_that_it_fits(void **state)
{
    const uint64_t counts[VERDICT__MAX] = {
        [VERDICT_FITS] = 9, [VERDICT_NO_GPU] = 1, [VERDICT_NO_MEMORY] = 3, [VERDICT_NO_SLOT] = 3};
    enum verdict order[VERDICT__MAX];

    (void)state;
    assert_int_equal(verdicts_by_count(counts, order), 3);
    assert_int_equal(order[0], VERDICT_NO_MEMORY);
    assert_int_equal(order[1], VERDICT_NO_SLOT);
    assert_int_equal(order[2], VERDICT_NO_GPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_words__every_verdict__unique_plain_and_constant),
        cmocka_unit_test(F185_verdict_numbers__stay_as_they_are),
        cmocka_unit_test(verdict_is_unresolvable__each__only_what_no_eviction_changes),
        cmocka_unit_test(verdicts_by_count__some__most_frequent_first_and_never_that_it_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
