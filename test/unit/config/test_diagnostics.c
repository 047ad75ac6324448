#include "config/diagnostics.h"

#include "config/support/unit.h"

#include <string.h>

struct fixture {
    struct arena arena;
    struct diagnostics d;
    struct strbuf out;
};

static void fixture_init(struct fixture *f, struct str text)
{
    arena_init(&f->arena, 1 << 20);
    diagnostics_init(&f->d, &f->arena, STR("f.yaml"), text);
    strbuf_init(&f->out, 1 << 20);
}

static void fixture_fini(struct fixture *f)
{
    strbuf_fini(&f->out);
    arena_fini(&f->arena);
}

#define POS(line_, column_) ((struct text_pos){(line_), (column_)})

static void render__any_order__file_order_with_carets(void **state)
{
    struct fixture f;
    fixture_init(&f, STR("one: 1\n\ttwo: 2\r\nthr\xc3\xa9"
                         "e: 3"));
    diagnostics_add(&f.d, POS(3, 7), "third %s", "thing");
    diagnostics_add(&f.d, POS(2, 2), "second");
    diagnostics_add(&f.d, POS(1, 6), "first");
    diagnostics_add(&f.d, POS(2, 2), "second again");
    diagnostics_render(&f.d, &f.out);
    expect_text(strbuf_view(&f.out),
                "f.yaml:1:6: first\n  one: 1\n       ^\n"
                "f.yaml:2:2: second\n  \ttwo: 2\n  \t^\n"
                "f.yaml:2:2: second again\n  \ttwo: 2\n  \t^\n"
                "f.yaml:3:7: third thing\n  thr\xc3\xa9"
                "e: 3\n        ^\n",
                NULL);
    fixture_fini(&f);
}

static void render__no_line_to_show__message_only(void **state)
{
    struct fixture f;
    fixture_init(&f, STR("a\n   \nb"));
    diagnostics_add(&f.d, POS(0, 0), "whole file");
    diagnostics_add(&f.d, POS(2, 2), "blank line");
    diagnostics_add(&f.d, POS(9, 1), "past the end");
    diagnostics_render(&f.d, &f.out);
    expect_text(strbuf_view(&f.out), "f.yaml: whole file\nf.yaml:2:2: blank line\nf.yaml:9:1: past the end\n", NULL);
    fixture_fini(&f);
}

static void render__secret_file__no_line_quoted(void **state)
{
    struct fixture f;
    fixture_init(&f, STR("token: hush\n"));
    f.d.secret = true;
    diagnostics_add(&f.d, POS(1, 8), "wrong");
    diagnostics_render(&f.d, &f.out);
    expect_text(strbuf_view(&f.out), "f.yaml:1:8: wrong\n", NULL);
    fixture_fini(&f);
}

static void render__terminal_escapes__made_harmless(void **state)
{
    struct fixture f;
    fixture_init(&f, STR("k\x1b[2J: \xff\xc2\x9b v\n"));
    diagnostics_add(&f.d, POS(1, 1), "unknown key '%s'", "k\x1b[2J\n\xc2\x9b");
    diagnostics_render(&f.d, &f.out);
    expect_text(strbuf_view(&f.out),
                "f.yaml:1:1: unknown key 'k?[2J?"
                "?'\n  k?[2J: ?? v\n  ^\n",
                NULL);
    fixture_fini(&f);
}

static void render__long_line__window_around_the_caret(void **state)
{
    char text[1001];
    memset(text, 'x', 1000);
    text[499] = '!';
    struct fixture f;
    fixture_init(&f, (struct str){text, 1000});
    diagnostics_add(&f.d, POS(1, 500), "there");
    diagnostics_render(&f.d, &f.out);
    struct str rest = strbuf_view(&f.out), heading, line, caret;
    assert_true(str_split(&rest, '\n', &heading));
    assert_true(str_split(&rest, '\n', &line));
    assert_true(str_split(&rest, '\n', &caret));
    assert_int_equal(line.n, 2 + 3 + 100 + 3);
    assert_int_equal(caret.p[caret.n - 1], '^');
    assert_int_equal(line.p[caret.n - 1], '!');
    fixture_fini(&f);
}

static void render__more_than_the_cap__first_ones_kept_rest_counted(void **state)
{
    struct fixture f;
    fixture_init(&f, STR(""));
    for (uint32_t line = 50; line > 0; line--) {
        diagnostics_add(&f.d, POS(line, 1), "line %u", line);
    }
    diagnostics_render(&f.d, &f.out);
    assert_int_equal(f.d.n, 20);
    assert_true(str_starts(strbuf_view(&f.out), STR("f.yaml:1:1: line 1\n")));
    assert_true(str_ends(strbuf_view(&f.out), STR("f.yaml:20:1: line 20\nand 30 more; correct these first\n")));
    fixture_fini(&f);
}

static void to_err__several__first_and_the_number(void **state)
{
    struct fixture f;
    fixture_init(&f, STR("x\n"));
    struct err err = {0};
    diagnostics_add(&f.d, POS(1, 1), "odd");
    assert_int_equal(diagnostics_to_err(&f.d, ERR_INVALID, &err), -ERR_INVALID);
    assert_string_equal(err.msg, "f.yaml:1:1: odd");
    diagnostics_add(&f.d, POS(2, 1), "even");
    assert_int_equal(diagnostics_to_err(&f.d, ERR_PARSE, &err), -ERR_PARSE);
    assert_string_equal(err.msg, "f.yaml:1:1: odd (and 1 more)");
    fixture_fini(&f);
}

static void word__long__cut_at_a_character(void **state)
{
    char text[200];
    struct fixture f;
    fixture_init(&f, STR(""));
    for (size_t i = 0; i < sizeof(text); i += 2) {
        memcpy(text + i, "\xc3\xa9", 2);
    }
    struct str word = diagnostics_word(&f.d, (struct str){text, sizeof(text)});
    assert_int_equal(word.n, 60 * 2 + 3);
    assert_true(str_ends(word, STR("\xc3\xa9...")));
    expect_text(diagnostics_word(&f.d, STR("short")), "short", NULL);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(render__any_order__file_order_with_carets),
        cmocka_unit_test(render__no_line_to_show__message_only),
        cmocka_unit_test(render__secret_file__no_line_quoted),
        cmocka_unit_test(render__terminal_escapes__made_harmless),
        cmocka_unit_test(render__long_line__window_around_the_caret),
        cmocka_unit_test(render__more_than_the_cap__first_ones_kept_rest_counted),
        cmocka_unit_test(to_err__several__first_and_the_number),
        cmocka_unit_test(word__long__cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
