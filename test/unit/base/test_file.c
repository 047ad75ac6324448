/* Files as a whole, and what is no file. */
#include "base/file.h"

#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <string.h>
#include <sys/stat.h>

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

static void refused(const struct temp_dir *dir, const char *name, int code, const char *part)
{
    struct strbuf text;
    struct err err = {.code = ERR_OK};
    char path[128];
    strbuf_init(&text, 16);
    temp_dir_path(dir, name, path, sizeof(path));
    int rc = file_read(path, &text, &err);
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
    refused(&dir, "absent", ERR_NOT_FOUND, "No such file");
    refused(&dir, "large", ERR_LIMIT, "larger than");
    refused(&dir, "fifo", ERR_INVALID, "is not a file");
    refused(&dir, ".", ERR_INVALID, "is not a file");
    temp_dir_fini(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_read__content__is_appended),
        cmocka_unit_test(file_read__no_file_or_too_large__is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
