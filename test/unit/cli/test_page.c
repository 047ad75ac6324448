/* Help and manual of one page, and what completion makes of it. */
#include "cli/completion.h"
#include "cli/page.h"

#include "base/compiler.h"

#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

static const char *colour(size_t i, const char **ret_text)
{
    static const char *const names[] = {"red", "green"};

    *ret_text = "a colour";
    return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const struct page_option options[] = {
    {"file", .value = "FILE", .text = "where it goes"},
    {"output", 'o', "table|json", "default table"},
    {"wait", .value = "=true|false", .text = "whether to wait"},
    {"colours", .value = "NAMES", .text = "one or several", .words = colour},
    {"gone", .value = "N"},
    {NULL, 'v', "N",
     "a word that is long enough that the line of it must be broken somewhere, because no terminal is "
     "as wide as that"},
};

static const struct page page = {
    .command = "prog paint",
    .usage = "[options]\n--all",
    .about = "Paints C:\\walls.\n\n  .literal line\n\nEnds. Then sleeps.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 ok",
    .examples = "prog paint --all",
    .word = "FILE",
};

static void help__has_columns_and_no_hidden_option(void **state)
{
    struct strbuf out;

    (void)state;
    strbuf_init(&out, 1 << 16);
    page_help(&page, &out);
    assert_string_equal(out.p,
                        "Usage: prog paint [options]\n"
                        "       prog paint --all\n\n"
                        "Paints C:\\walls.\n\n  .literal line\n\nEnds. Then sleeps.\n\n"
                        "  --file FILE              where it goes\n"
                        "  -o, --output table|json  default table\n"
                        "  --wait[=true|false]      whether to wait\n"
                        "  --colours NAMES          one or several\n"
                        "  -v N                     a word that is long enough that the line of it must be broken "
                        "somewhere, because no\n"
                        "                           terminal is as wide as that\n\n"
                        "Exit codes: 0 ok.\n\n"
                        "Example:\n  prog paint --all\n");
    strbuf_fini(&out);
}

static void manual__nothing_of_the_text_is_a_command_of_the_formatter(void **state)
{
    static const struct page_entry e = {"prog-paint", "1", "paints"};
    static const char *const see[] = {"prog 1", "wall 5", NULL};
    struct strbuf out;

    (void)state;
    strbuf_init(&out, 1 << 16);
    page_man(&page, &e, see, &out);
    assert_non_null(strstr(out.p, "\n.Dt PROG-PAINT 1\n"));
    assert_non_null(
        strstr(out.p, "\nPaints C:\\ewalls.\n.Bd -literal\n  .literal line\n.Ed\n.Pp\nEnds.\nThen sleeps.\n"));
    assert_non_null(strstr(out.p, "\n.It Fl o , Fl -output Ar \"table|json\"\n"));
    assert_non_null(strstr(out.p, "\n.It Fl -wait Ns Op Ar \"=true|false\"\n"));
    assert_non_null(strstr(out.p, "\n.Xr prog 1 ,\n.Xr wall 5\n"));
    assert_null(strstr(out.p, "gone"));
    strbuf_reset(&out);
    page_man_text(STR(".so /etc/passwd"), &out);
    page_man_text(STR("'br"), &out);
    assert_string_equal(out.p, "\\&.so /etc/passwd\n\\&'br\n");
    strbuf_fini(&out);
}

static void assert_completes(const char *before, const char *there, const char *expected)
{
    char *words[] = {(char *)(uintptr_t)before, (char *)(uintptr_t)there};
    struct strbuf out;

    strbuf_init(&out, 1 << 16);
    completion_of_page(&page, before != NULL ? 2 : 1, before != NULL ? words : words + 1, &out);
    assert_string_equal(out.p, expected);
    strbuf_fini(&out);
}

static void completion__options_values_lists_and_files(void **state)
{
    (void)state;
    assert_completes(NULL, "--o", "--output\tdefault table\n:4\n");
    assert_completes(NULL, "--go", ":4\n");
    assert_completes("-o", "", "table\njson\n:4\n");
    assert_completes("--output", "j", "json\n:4\n");
    assert_completes(NULL, "--output=j", "--output=json\n:4\n");
    assert_completes(NULL, "--wait=t", "--wait=true\n:4\n");
    assert_completes("--wait", "--f", "--file\twhere it goes\n:4\n"); /* its value stands behind '=' or nowhere */
    assert_completes("--output=json", "--f", "--file\twhere it goes\n:4\n");
    assert_completes("--colours", "red,g", "red,green\ta colour\n:4\n");
    assert_completes(NULL, "--colours=red,g", "--colours=red,green\ta colour\n:4\n");
    assert_completes("--file", "x", ":0\n");
    assert_completes(NULL, "x", ":0\n");
    assert_completes("-v", "", ":4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help__has_columns_and_no_hidden_option),
        cmocka_unit_test(manual__nothing_of_the_text_is_a_command_of_the_formatter),
        cmocka_unit_test(completion__options_values_lists_and_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
