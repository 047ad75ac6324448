#include "kube/token.h"

#include "kube/support/temp_dir.h"

#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000000)

struct fixture {
    struct temp_dir dir;
    char file[128];
    struct credentials creds;
    struct token_source *source;
    struct strbuf got;
    uint64_t generation;
};

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    temp_dir_init(&f.dir);
    snprintf(f.file, sizeof(f.file), "%s/token", f.dir.path);
    f.creds.token_file = f.file;
    f.source = token_source_new(&f.creds);
    strbuf_init(&f.got, TOKEN_BYTES_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    token_source_free(f.source);
    strbuf_fini(&f.got);
    temp_dir_fini(&f.dir);
    return 0;
}

static int get(int64_t now_ns)
{
    strbuf_reset(&f.got);
    return token_source_get(f.source, now_ns, &f.got, &f.generation, NULL);
}

static void get__replaced_file__is_used_within_a_minute(void **state)
{
    (void)state;
    temp_dir_write(&f.dir, "token", "one\n");
    assert_int_equal(get(0), 0);
    assert_string_equal(f.got.p, "one");
    temp_dir_write(&f.dir, "token", "two\n");
    assert_int_equal(get(TOKEN_AGE_MAX_S * S - 1), 0);
    assert_string_equal(f.got.p, "one");
    assert_int_equal(get(TOKEN_AGE_MAX_S * S), 0);
    assert_string_equal(f.got.p, "two");
    assert_true(TOKEN_AGE_MAX_S < 60);
}

static void reject__current_token__is_read_again_at_once(void **state)
{
    (void)state;
    temp_dir_write(&f.dir, "token", "one");
    assert_int_equal(get(0), 0);
    uint64_t first = f.generation;
    temp_dir_write(&f.dir, "token", "two");
    token_source_reject(f.source, first);
    assert_int_equal(get(1), 0);
    assert_string_equal(f.got.p, "two");
    assert_true(f.generation > first);
}

static void reject__older_token__changes_nothing(void **state)
{
    (void)state;
    temp_dir_write(&f.dir, "token", "one");
    assert_int_equal(get(0), 0);
    uint64_t first = f.generation;
    token_source_reject(f.source, first);
    assert_int_equal(get(1), 0);
    temp_dir_write(&f.dir, "token", "two");
    token_source_reject(f.source, first);
    assert_int_equal(get(2), 0);
    assert_string_equal(f.got.p, "one");
}

static void get__unreadable_file__keeps_the_old_token_unless_rejected(void **state)
{
    (void)state;
    temp_dir_write(&f.dir, "token", "one");
    assert_int_equal(get(0), 0);
    temp_dir_remove(&f.dir, "token");
    assert_int_equal(get(1000 * S), 0);
    assert_string_equal(f.got.p, "one");
    token_source_reject(f.source, f.generation);
    assert_int_equal(get(1001 * S), -ERR_NOT_FOUND);
    temp_dir_write(&f.dir, "token", "two");
    assert_int_equal(get(1002 * S), 0);
    assert_string_equal(f.got.p, "two");
}

static void get__what_is_no_token__is_refused(void **state)
{
    static const char *const texts[] = {"", " \n", "a\r\nX-Evil: 1", "a b", "caf\xc3\xa9"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        temp_dir_write(&f.dir, "token", texts[i]);
        assert_int_equal(get(0), -ERR_INVALID);
        assert_int_equal(f.got.n, 0);
    }
}

static void get__literal_token__and_none(void **state)
{
    char text[] = "literal";
    (void)state;
    f.creds.token_file = NULL;
    assert_int_equal(get(0), 0);
    assert_int_equal(f.got.n, 0);
    assert_int_equal(f.generation, 0);
    f.creds.token = text;
    assert_int_equal(get(0), 0);
    assert_string_equal(f.got.p, "literal");
    assert_int_not_equal(f.generation, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(get__replaced_file__is_used_within_a_minute),
        TEST(reject__current_token__is_read_again_at_once),
        TEST(reject__older_token__changes_nothing),
        TEST(get__unreadable_file__keeps_the_old_token_unless_rejected),
        TEST(get__what_is_no_token__is_refused),
        TEST(get__literal_token__and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
