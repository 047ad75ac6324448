/* Files of a trace, as a whole; what is in them: test_trace.c. */
#include "sim/csv.h"

#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <string.h>

/* However far the limit is from a round number, and however small. */
static void csv_read_file__at_the_limit__whole_and_one_byte_more_is_an_error(void **state)
{
    static const char text[] = "name,cpu_milli\na,1000\n";
    struct temp_dir dir;
    struct arena arena;
    struct str got;
    struct err err = {.code = ERR_OK};
    char path[128];

    temp_dir_init(&dir);
    temp_dir_write(&dir, "pods.csv", text);
    temp_dir_path(&dir, "pods.csv", path, sizeof(path));
    arena_init(&arena, 1 << 20);
    assert_int_equal(csv_read_file(path, strlen(text), &arena, &got, &err), 0);
    assert_true(str_eq_cstr(got, text));
    assert_int_equal(csv_read_file(path, strlen(text) - 1, &arena, &got, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.msg, "pods.csv: larger than 21 bytes"));
    arena_fini(&arena);
    temp_dir_fini(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_read_file__at_the_limit__whole_and_one_byte_more_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
