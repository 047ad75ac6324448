/* Members of an object by a table: every type, ranges, and what nobody wants. */
#include "base/json_members.h"

#include "support/cmocka.h"

#include <string.h>

struct wanted {
    struct str text, shown, raw;
    bool flag;
    int64_t i64, ranged;
    int32_t i32;
    int64_t inner;
    unsigned element_n;
    int64_t sum;
};

static void add_element(struct json_reader *r, void *to)
{
    struct wanted *w = to;
    int64_t v = 0;

    json_i64(r, &v);
    w->element_n++;
    w->sum += v;
}

static void read_half(struct json_reader *r, void *to)
{
    int64_t *ret = to;

    json_i64(r, ret);
    *ret /= 2;
}

static int read_text(const char *text, struct wanted *w, struct err *reterr)
{
    static struct json_reader r;
    struct arena a;
    int64_t half = 0;
    int rc;

    *w = (struct wanted){.i64 = 7};
    arena_init(&a, 1 << 16);
    json_reader_init(&r, str_of(text), &a);
    json_members(&r, JSON_MEMBERS({"text", .text = &w->text}, {"shown", .shown = &w->shown}, {"raw", .raw = &w->raw},
                                  {"flag", .flag = &w->flag}, {"i64", .i64 = &w->i64}, {"i32", .i32 = &w->i32},
                                  {"ranged", .i64 = &w->ranged, .min = 2, .max = 4},
                                  {"object", .object = JSON_MEMBERS({"inner", .i64 = &w->inner})},
                                  {"half", .read = read_half, .to = &half}, {"list", .element = add_element, .to = w}));
    w->sum += half;
    rc = json_read_end(&r, reterr);
    w->shown = w->shown.n > 0 ? STR("seen") : STR_NULL; /* of the arena */
    arena_fini(&a);
    return rc;
}

static void members__of_every_type__read(void **state)
{
    struct wanted w;

    assert_int_equal(read_text("{\"nobody\":[{}],\"text\":\"t\",\"shown\":\"\\u001b[2J\",\"raw\":[1, 2],\"flag\":true,"
                               "\"i64\":-9223372036854775808,\"i32\":-5,\"ranged\":4,"
                               "\"object\":{\"x\":1,\"inner\":3},\"half\":10,\"list\":[1,2,3]}",
                               &w, NULL),
                     0);
    assert_true(str_eq_cstr(w.text, "t") && w.shown.n > 0 && str_eq_cstr(w.raw, "[1, 2]") && w.flag);
    assert_true(w.i64 == INT64_MIN && w.i32 == -5 && w.ranged == 4 && w.inner == 3);
    assert_true(w.element_n == 3 && w.sum == 6 + 5);
}

static void members__not_there__as_before(void **state)
{
    struct wanted w;

    assert_int_equal(read_text("{}", &w, NULL), 0);
    assert_true(w.i64 == 7 && w.text.n == 0 && w.element_n == 0);
}

static void members__wrong__refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{\"ranged\":1}", "a number out of its range"},
        {"{\"ranged\":5}", "a number out of its range"},
        {"{\"i32\":2147483648}", "a number out of its range"},
        {"{\"i32\":-2147483649}", "a number out of its range"},
        {"{\"object\":3}", "JSON at byte"},
        {"{\"list\":{}}", "JSON at byte"},
        {"{\"list\":[true]}", "JSON at byte"},
        {"{\"flag\":1}", "JSON at byte"},
        {"{\"text\":1}", "JSON at byte"},
        {"[]", "JSON at byte"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wanted w;
        struct err err = {.code = ERR_OK};

        if (read_text(rows[i].text, &w, &err) == 0 || strstr(err.msg, rows[i].why) == NULL) {
            fail_msg("%s: %s", rows[i].text, err.msg);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members__of_every_type__read),
        cmocka_unit_test(members__not_there__as_before),
        cmocka_unit_test(members__wrong__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
