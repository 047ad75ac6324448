/* Item 18: what others wrote, on the way to a terminal. */
#include "base/printable.h"

#include "base/compiler.h"
#include "base/json_read.h"
#include "base/support/unit.h"

#define RLO "\xe2\x80\xae" /* U+202E */
#define CSI "\xc2\x9b"     /* U+009B */

static void item18__printable__table(void **state)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"plain", "node-a", "node-a"},
        {"other scripts", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"},
        {"ESC [", "a\x1b[2Jb", "a?[2Jb"},
        {"C1", "a" CSI "2Jb", "a?2Jb"},
        {"the last of C1, and what follows", "\xc2\x9f\xc2\xa0", "?\xc2\xa0"},
        {"a raw byte of C1",
         "a\x9b"
         "2J",
         "a?2J"},
        {"DEL", "a\x7f", "a?"},
        {"line break", "a\nfgpu: all is well", "a?fgpu: all is well"},
        {"carriage return", "bad\rgood", "bad?good"},
        {"backwards",
         "a" RLO "b\xe2\x81\xa6"
         "c\xe2\x81\xa9"
         "d\xd8\x9c"
         "e\xe2\x80\x8f",
         "a?b?c?d?e?"},
        {"line separator",
         "a\xe2\x80\xa8"
         "b\xe2\x80\xa9",
         "a?b?"},
        {"overlong", "\xc0\x9b", "??"},
        {"cut", "\xe2\x80", "??"},
        {"empty", "", ""},
    };
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!str_eq_cstr(printable(&a, str_of(rows[i].text)), rows[i].want)) {
            fail_msg("%s", rows[i].name);
        }
    }
    arena_fini(&a);
}

static void item18__printable_json__means_the_same(void **state)
{
    static const char document[] = "{\"a\":\"x" CSI RLO "\x7f\",\n\t\"b\":\"\\u001b\"}\n";
    static struct json_reader r;
    struct strbuf out;
    struct arena a;
    struct str key, before = STR_NULL, after = STR_NULL;

    arena_init(&a, 1 << 16);
    strbuf_init(&out, 1 << 16);
    printable_add_json(&out, STR(document));
    assert_string_equal(out.p, "{\"a\":\"x\\u009b\\u202e\\u007f\",\n\t\"b\":\"\\u001b\"}\n");
    json_reader_init(&r, STR(document), &a);
    json_object_begin(&r);
    assert_true(json_object_next(&r, &key) && json_string(&r, &before));
    json_reader_init(&r, strbuf_view(&out), &a);
    json_object_begin(&r);
    assert_true(json_object_next(&r, &key) && json_string(&r, &after));
    assert_true(str_eq(before, after));
    strbuf_fini(&out);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item18__printable__table),
        cmocka_unit_test(item18__printable_json__means_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
