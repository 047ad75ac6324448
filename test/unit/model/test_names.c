#include "model/names.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <string.h>

#define A63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct row {
    const char *name;
    const char *text;
    bool expected;
};

static void check(const struct row *rows, size_t n, bool (*fn)(struct str))
{
    for (size_t i = 0; i < n; i++) {
        if (fn(str_of(rows[i].text)) != rows[i].expected) {
            fail_msg("row %s: \"%s\"", rows[i].name, rows[i].text);
        }
    }
}

static void subdomain__table__as_upstream(void **state)
{
    static const struct row rows[] = {
        {"plain", "web-0", true},
        {"dots", "a.b.c", true},
        {"digits first", "0a", true},
        {"longest", A63 "." A63 "." A63 "." A63, false},
        {"253",
         A63 "." A63 "." A63 "."
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         true},
        {"long label is fine in a subdomain", A63 "a", true},
        {"empty", "", false},
        {"upper case", "Web", false},
        {"leading dash", "-a", false},
        {"trailing dash", "a-", false},
        {"leading dot", ".a", false},
        {"trailing dot", "a.", false},
        {"two dots", "a..b", false},
        {"dash before dot", "a-.b", false},
        {"dash behind dot", "a.-b", false},
        {"slash", "a/b", false},
        {"parent", "..", false},
        {"query", "a?x=1", false},
        {"percent", "a%2fb", false},
        {"blank", "a b", false},
        {"newline", "a\n", false},
        {"underscore", "a_b", false},
        {"non-ASCII", "caf\xc3\xa9", false},
    };
    check(rows, ARRAY_LEN(rows), kube_name_is_subdomain);
}

static void label__table__as_upstream(void **state)
{
    static const struct row rows[] = {
        {"plain", "kube-system", true}, {"63", A63, true},     {"64", A63 "a", false},
        {"dot", "a.b", false},          {"empty", "", false},  {"dash end", "a-", false},
        {"dash start", "-a", false},    {"upper", "A", false}, {"digit", "1", true},
    };
    check(rows, ARRAY_LEN(rows), kube_name_is_label);
}

static void annotation_key__table__as_upstream(void **state)
{
    static const struct row rows[] = {
        {"plain", "alloc", true},
        {"prefixed", "fgpu.io/assignment", true},
        {"dots in the name", "fgpu.io/visible-devices.c0", true},
        {"underscore", "a/b_c", true},
        {"upper-case prefix is folded upstream", "FGPU.io/A", true},
        {"63", "fgpu.io/" A63, true},
        {"64", "fgpu.io/" A63 "a", false},
        {"two slashes", "a/b/c", false},
        {"empty name", "fgpu.io/", false},
        {"empty prefix", "/a", false},
        {"empty", "", false},
        {"bad prefix", "a_b/c", false},
        {"dash end", "a/b-", false},
        {"blank", "a b", false},
        {"control", "a/b\x01", false},
    };
    check(rows, ARRAY_LEN(rows), kube_name_is_annotation_key);
}

static void label_key__table__as_upstream(void **state)
{
    static const struct row rows[] = {
        {"plain", "zone", true},          {"prefixed", "topology.kubernetes.io/zone", true},
        {"upper-case name", "a/B", true}, {"upper-case prefix", "A.b/c", false},
        {"empty name", "a/", false},      {"empty", "", false},
    };
    check(rows, ARRAY_LEN(rows), kube_name_is_label_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subdomain__table__as_upstream),
        cmocka_unit_test(label__table__as_upstream),
        cmocka_unit_test(annotation_key__table__as_upstream),
        cmocka_unit_test(label_key__table__as_upstream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
