/* Files as a whole, and what is no file. */
#include "base/file.h"

#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int read_fn(const char *, struct strbuf *, struct err *);

static read_fn *const readers[] = {file_read, file_or_pipe_read};

static void file_read__content__is_appended(void **state)
{
    struct temp_dir dir;
    struct strbuf text;
    char path[128];
    temp_dir_init(&dir);
    temp_dir_write(&dir, "f", "content\n");
    temp_dir_write(&dir, "empty", "");
    strbuf_init(&text, 16);
    temp_dir_path(&dir, "f", path, sizeof(path));
    assert_int_equal(file_read(path, &text, NULL), 0);
    assert_int_equal(file_read(path, &text, NULL), 0);
    assert_string_equal(text.p, "content\ncontent\n");
    temp_dir_path(&dir, "empty", path, sizeof(path));
    assert_int_equal(file_read(path, &text, NULL), 0);
    assert_int_equal(text.n, 16);
    strbuf_wipe(&text);
    assert_int_equal(text.n, 0);
    strbuf_fini(&text);
    temp_dir_fini(&dir);
}

static void refused(read_fn *reader, const struct temp_dir *dir, const char *name, int code, const char *part)
{
    struct strbuf text;
    struct err err = {.code = ERR_OK};
    char path[128];
    strbuf_init(&text, 16);
    temp_dir_path(dir, name, path, sizeof(path));
    int rc = reader(path, &text, &err);
    if (rc != -code || strstr(err.msg, part) == NULL || strstr(err.msg, name) == NULL) {
        fail_msg("%s: %d %s", name, rc, err.msg);
    }
    assert_int_equal(text.n, 0);
    strbuf_fini(&text);
}

/* Nobody writes into the FIFO: whoever waits for that waits for ever. */
static void file_read__no_file_or_too_large__is_refused_at_once(void **state)
{
    struct temp_dir dir;
    char path[128];
    temp_dir_init(&dir);
    temp_dir_write(&dir, "large", "seventeen bytes..");
    temp_dir_path(&dir, "fifo", path, sizeof(path));
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(file_read, &dir, "fifo", ERR_INVALID, "is not a file");
    refused(file_read, &dir, ".", ERR_INVALID, "is not a file");
    refused(file_or_pipe_read, &dir, ".", ERR_INTERNAL, "Is a directory");
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        refused(readers[i], &dir, "absent", ERR_NOT_FOUND, "absent: No such file or directory");
        refused(readers[i], &dir, "large/in-it", ERR_NOT_FOUND, "Not a directory");
        refused(readers[i], &dir, "large", ERR_LIMIT, "large: larger than 16 bytes");
    }
    temp_dir_fini(&dir);
}

/* A pipe of n bytes, which fit into what the kernel keeps of one (16 pages; pipe(7)), closed by its writer. */
static int pipe_of(size_t n, char *ret_path, size_t path_n)
{
    int ends[2];
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, 'x', n);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, n), n);
    assert_int_equal(close(ends[1]), 0);
    free(bytes);
    snprintf(ret_path, path_n, "/dev/fd/%d", ends[0]);
    return ends[0];
}

static void one_pipe(size_t bytes, size_t max_bytes, int code, const char *says)
{
    struct strbuf text;
    struct err err = {.code = ERR_OK};
    char path[32];
    int fd = pipe_of(bytes, path, sizeof(path));
    strbuf_init(&text, max_bytes);
    assert_int_equal(file_or_pipe_read(path, &text, &err), -code);
    if (code == 0) {
        assert_int_equal(text.n, bytes);
        assert_int_equal(strspn(text.p, "x"), bytes);
    } else {
        assert_non_null(strstr(err.msg, says));
    }
    strbuf_fini(&text);
    close(fd);
}

static void file_or_pipe_read__pipe__is_read_to_its_end_or_refused(void **state)
{
    one_pipe(1, 1 << 20, 0, NULL);
    one_pipe(50000, 1 << 20, 0, NULL);
    one_pipe(32768, 32768, 0, NULL);
    one_pipe(32769, 32768, ERR_LIMIT, "larger than 32 KiB");
    one_pipe(17, 16, ERR_LIMIT, "larger than 16 bytes");
}

static void write_bytes(const struct temp_dir *dir, const char *name, size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = '\0';
    temp_dir_write(dir, name, text);
    free(text);
}

/* Sizes below, at and above what is read at a time and what a buffer grows by. */
static void read__at_the_limit__whole_and_one_byte_more_is_an_error(void **state)
{
    static const size_t limits[] = {1, 16, 255, 256, 257, 65535, 65536, 65537, 1 << 20, 3 << 20};
    struct temp_dir dir;
    char path[128];
    temp_dir_init(&dir);
    temp_dir_path(&dir, "f", path, sizeof(path));
    for (size_t i = 0; i < 2 * ARRAY_LEN(limits); i++) {
        const size_t max = limits[i / 2];
        struct strbuf text;
        struct err err = {.code = ERR_OK};
        strbuf_init(&text, max);
        write_bytes(&dir, "f", max);
        assert_int_equal(readers[i % 2](path, &text, &err), 0);
        assert_int_equal(text.n, max);
        assert_int_equal(strspn(text.p, "x"), max);
        strbuf_reset(&text);
        write_bytes(&dir, "f", max + 1);
        assert_int_equal(readers[i % 2](path, &text, &err), -ERR_LIMIT);
        assert_non_null(strstr(err.msg, "larger than"));
        strbuf_fini(&text);
    }
    temp_dir_fini(&dir);
}

/* strbuf_wipe needs that: memory that grew left a copy of what was in it. Looking for the end must not grow it either,
 * also where the content just fills a piece of memory (256, 512 bytes with the NUL). */
static void file_read__regular_file__is_in_memory_once(void **state)
{
    struct temp_dir dir;
    struct strbuf text;
    char path[128];
    temp_dir_init(&dir);
    temp_dir_path(&dir, "f", path, sizeof(path));
    for (size_t n = 1; n <= 513; n++) {
        write_bytes(&dir, "f", n);
        strbuf_init(&text, 1 << 20);
        assert_int_equal(file_read(path, &text, NULL), 0);
        assert_int_equal(text.n, n);
        assert_true(text.cap <= 1024);
        strbuf_fini(&text);
    }
    temp_dir_fini(&dir);
}

/* procfs says of each file that it has 0 bytes. */
static void read__file_that_does_not_say_its_size__is_read(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        struct strbuf text;
        strbuf_init(&text, 1 << 20);
        assert_int_equal(readers[i]("/proc/self/status", &text, NULL), 0);
        assert_non_null(strstr(text.p, "Pid:"));
        strbuf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_read__content__is_appended),
        cmocka_unit_test(file_read__no_file_or_too_large__is_refused_at_once),
        cmocka_unit_test(file_or_pipe_read__pipe__is_read_to_its_end_or_refused),
        cmocka_unit_test(read__at_the_limit__whole_and_one_byte_more_is_an_error),
        cmocka_unit_test(file_read__regular_file__is_in_memory_once),
        cmocka_unit_test(read__file_that_does_not_say_its_size__is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
