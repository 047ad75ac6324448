#define _GNU_SOURCE /* pipe2, gettid, F_SETPIPE_SZ */
#include "base/compiler.h"
#include "base/json_read.h"
#include "obs/logsink.h"
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 2026-11-21T08:01:02.345Z */
#define WALL_MS INT64_C(1795248062345)

struct sink_fixture {
    int fds[2];
    struct clock_manual clock;
    struct logsink *sink;
    char text[1 << 16];
    size_t n;
};

static void start(struct sink_fixture *f, enum logsink_format format, int verbosity)
{
    memset(f, 0, sizeof(*f));
    assert_int_equal(pipe2(f->fds, O_CLOEXEC), 0);
    clock_manual_init(&f->clock, 0, WALL_MS);
    f->sink = logsink_new(f->fds[1], format, verbosity, &f->clock.clock);
}

/* What has been written so far, as one text. */
static const char *written(struct sink_fixture *f)
{
    assert_int_equal(fcntl(f->fds[0], F_SETFL, O_NONBLOCK), 0);
    ssize_t n;
    while ((n = read(f->fds[0], f->text + f->n, sizeof(f->text) - 1 - f->n)) > 0) {
        f->n += (size_t)n;
    }
    f->text[f->n] = '\0';
    return f->text;
}

static void stop(struct sink_fixture *f)
{
    logsink_free(f->sink);
    close(f->fds[0]);
    close(f->fds[1]);
}

static void write_at_line_88(const struct log *log, enum log_level level, const char *msg,
                             const struct log_field *fields, size_t n)
{
    log_write(log, level, 0, "/src/extender/bind.c", 88, msg, fields, n);
}

static void logsink__text__klog_header_and_escapes(void **state)
{
    const struct {
        const char *name;
        enum log_level level;
        struct str value;
        const char *letter, *shown;
    } rows[] = {
        {"plain", LOG_LEVEL_INFO, STR("ns/name"), "I", "ns/name"},
        {"quote and backslash", LOG_LEVEL_WARNING, STR("a\"b\\c"), "W", "a\\\"b\\\\c"},
        {"forged record", LOG_LEVEL_ERROR, STR("x\nE1121 00:00:00"), "E", "x\\nE1121 00:00:00"},
        {"terminal escape", LOG_LEVEL_INFO, STR("\x1b[2J\x7f\r\t"), "I", "\\x1b[2J\\x7f\\r\\t"},
        {"NUL", LOG_LEVEL_INFO, STR("a\0b"), "I", "a\\x00b"},
        {"UTF-8 stays", LOG_LEVEL_INFO, STR("gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82"), "I",
         "gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82"},
        {"item 18: backwards", LOG_LEVEL_INFO,
         STR("a\xe2\x80\xae"
             "b"),
         "I", "a\\u202eb"},
        {"C1 control", LOG_LEVEL_INFO,
         STR("a\xc2\x9b"
             "2Jb"),
         "I", "a\\u009b2Jb"},
        {"invalid UTF-8", LOG_LEVEL_INFO, STR("\xff\xc3(\xc0\xaf\xed\xa0\x80\xe2\x82"), "I",
         "\\xff\\xc3(\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82"},
        {"empty", LOG_LEVEL_INFO, STR_NULL, "I", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sink_fixture f;
        start(&f, LOGSINK_TEXT, 0);
        const struct log_field fields[] = {LOG_STR("pod", rows[i].value), LOG_I64("took_us", -812)};
        write_at_line_88(logsink_log(f.sink), rows[i].level, "Bound \"pod\"", fields, 2);
        char expected[256];
        snprintf(expected, sizeof(expected),
                 "%s1121 08:01:02.345000 %7d bind.c:88] \"Bound \\\"pod\\\"\" pod=\"%s\" "
                 "took_us=-812\n",
                 rows[i].letter, (int)gettid(), rows[i].shown);
        if (strcmp(written(&f), expected) != 0) {
            fail_msg("%s: %s instead of %s", rows[i].name, f.text, expected);
        }
        stop(&f);
    }
}

static void logsink__json__one_object_per_line(void **state)
{
    struct sink_fixture f;
    start(&f, LOGSINK_JSON, 4);
    const struct log *log = logsink_log(f.sink);
    const struct log_field fields[] = {LOG_CSTR("pod", "a\n\"b\""), LOG_I64("took_us", 812)};
    log_write(log, LOG_LEVEL_INFO, 4, "bind.c", 88, "Bound pod", fields, 2);
    write_at_line_88(log, LOG_LEVEL_ERROR, "No", NULL, 0);
    write_at_line_88(log, LOG_LEVEL_WARNING, "Hm", NULL, 0);
    assert_string_equal(written(&f), "{\"ts\":1795248062345,\"caller\":\"bind.c:88\",\"msg\":\"Bound pod\",\"v\":4,"
                                     "\"pod\":\"a\\n\\\"b\\\"\",\"took_us\":812}\n"
                                     "{\"ts\":1795248062345,\"caller\":\"bind.c:88\",\"msg\":\"No\","
                                     "\"severity\":\"error\"}\n"
                                     "{\"ts\":1795248062345,\"caller\":\"bind.c:88\",\"msg\":\"Hm\","
                                     "\"severity\":\"warning\"}\n");
    stop(&f);
}

static void logsink__verbosity__changes_at_run_time(void **state)
{
    struct sink_fixture f;
    start(&f, LOGSINK_TEXT, 2);
    const struct log *log = logsink_log(f.sink);
    LOG_V(log, 2, "two");
    LOG_V(log, 4, "hidden");
    logsink_set_verbosity(f.sink, 4);
    assert_int_equal(logsink_verbosity(f.sink), 4);
    LOG_V(log, 4, "four");
    logsink_set_verbosity(f.sink, -1);
    LOG_ERROR(log, "always");
    const char *text = written(&f);
    assert_non_null(strstr(text, "\"two\""));
    assert_non_null(strstr(text, "\"four\""));
    assert_non_null(strstr(text, "\"always\""));
    assert_null(strstr(text, "hidden"));
    stop(&f);
}

static bool is_json(struct str line)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct json_reader *r = malloc(sizeof(*r));
    assert_non_null(r);
    json_reader_init(r, line, &arena);
    json_skip(r);
    const bool ok = json_read_end(r, NULL) == 0;
    free(r);
    arena_fini(&arena);
    return ok;
}

static void logsink__records_that_are_too_long__cut_but_well_formed(void **state)
{
    enum { LONG = 20000, FIELDS = 300 };
    char *big = malloc(LONG);
    struct log_field *fields = calloc(FIELDS, sizeof(*fields));
    assert_non_null(big);
    assert_non_null(fields);
    for (size_t i = 0; i < LONG; i++) {
        big[i] = i % 3 == 0 ? '\x01' : i % 3 == 1 ? '\xc3' : '\xbc'; /* the worst to escape */
    }
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = LOG_STR("a_key", ((struct str){big, LONG}));
    }
    static const enum logsink_format formats[] = {LOGSINK_TEXT, LOGSINK_JSON};
    static const size_t field_n[] = {1, 2, 40, FIELDS};
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        for (size_t k = 0; k < ARRAY_LEN(field_n); k++) {
            struct sink_fixture f;
            start(&f, formats[i], 0);
            write_at_line_88(logsink_log(f.sink), LOG_LEVEL_INFO, "Long", fields, field_n[k]);
            const char *text = written(&f);
            assert_in_range(f.n, 100, LOGSINK_RECORD_MAX);
            assert_ptr_equal(strchr(text, '\n'), text + f.n - 1);
            assert_non_null(strstr(text, "...\""));
            if (formats[i] == LOGSINK_JSON && field_n[k] == 1) { /* with more, keys repeat */
                assert_true(is_json((struct str){text, f.n - 1}));
            }
            stop(&f);
        }
    }
    free(big);
    free(fields);
}

static void logsink__reader_that_does_not_keep_up__records_are_lost_and_counted(void **state)
{
    struct sink_fixture f;
    start(&f, LOGSINK_TEXT, 0);
    assert_true(fcntl(f.fds[1], F_SETPIPE_SZ, 4 * 4096) > 0);
    const struct log *log = logsink_log(f.sink);
    for (int i = 0; i < 1000; i++) { /* would block for ever otherwise */
        LOG_INFO(log, "Something happened", LOG_I64("i", i));
    }
    const uint64_t lost = logsink_dropped(f.sink);
    assert_in_range(lost, 1, 999);
    written(&f); /* the reader catches up */
    LOG_INFO(log, "Back again");
    assert_int_equal(logsink_dropped(f.sink), lost);
    char expected[64];
    snprintf(expected, sizeof(expected), "reader was too slow\" count=%d\n", (int)lost);
    const char *report = strstr(written(&f), expected);
    assert_non_null(report);
    assert_non_null(strstr(report, "\"Back again\"")); /* after the report */
    assert_null(strstr(report + 1, "reader was too slow"));
    stop(&f);
}

/* A full disk is no slow reader. */
static void F153_logsink__write_fails__is_a_loss_that_names_the_error(void **state)
{
    struct sink_fixture f;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    start(&f, LOGSINK_TEXT, 0);
    const struct log *log = logsink_log(f.sink);
    int pipe_end = dup(f.fds[1]);
    assert_true(pipe_end >= 0);
    assert_int_equal(dup2(fd, f.fds[1]), f.fds[1]);
    LOG_INFO(log, "No room");
    assert_int_equal(logsink_dropped(f.sink), 1);
    assert_int_equal(dup2(pipe_end, f.fds[1]), f.fds[1]);
    LOG_INFO(log, "Room again");
    assert_int_equal(logsink_dropped(f.sink), 1);
    assert_non_null(strstr(written(&f), "\"Log records lost because they could not be written\" count=1 "
                                        "err=\"No space left on device\"\n"));
    assert_non_null(strstr(written(&f), "\"Room again\""));
    close(fd);
    close(pipe_end);
    stop(&f);
}

static int interrupted_n; /* so many calls of poll() are, from now on */

/* The linker gives it to the sink in the place of poll() (test/unit/CMakeLists.txt). */
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
    if (interrupted_n > 0) {
        interrupted_n--;
        errno = EINTR;
        return -1;
    }
    return __real_poll(fds, n, ms);
}

/* A process that was stopped and goes on finds its call interrupted. */
static void F154_logsink__poll_is_interrupted__nothing_is_lost(void **state)
{
    struct sink_fixture f;
    start(&f, LOGSINK_TEXT, 0);
    for (int n = 1; n < 4; n++) {
        interrupted_n = n;
        LOG_INFO(logsink_log(f.sink), "Listening");
    }
    assert_int_equal(interrupted_n, 0);
    assert_int_equal(logsink_dropped(f.sink), 0);
    stop(&f);
}

enum { THREADS = 4, RECORDS = 50 };

static void *log_many(void *arg)
{
    for (int i = 0; i < RECORDS; i++) {
        LOG_INFO(arg, "From a thread", LOG_I64("i", i));
    }
    return NULL;
}

static void logsink__several_threads__whole_lines(void **state)
{
    struct sink_fixture f;
    start(&f, LOGSINK_TEXT, 0);
    struct log log = *logsink_log(f.sink);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, &log), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    unsigned lines = 0;
    written(&f);
    for (char *line = strtok(f.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_memory_equal(line, "I1121 ", 6);
        assert_non_null(strstr(line, "] \"From a thread\" i="));
        lines++;
    }
    assert_int_equal(lines, THREADS * RECORDS);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logsink__text__klog_header_and_escapes),
        cmocka_unit_test(logsink__json__one_object_per_line),
        cmocka_unit_test(logsink__verbosity__changes_at_run_time),
        cmocka_unit_test(logsink__records_that_are_too_long__cut_but_well_formed),
        cmocka_unit_test(logsink__reader_that_does_not_keep_up__records_are_lost_and_counted),
        cmocka_unit_test(F153_logsink__write_fails__is_a_loss_that_names_the_error),
        cmocka_unit_test(F154_logsink__poll_is_interrupted__nothing_is_lost),
        cmocka_unit_test(logsink__several_threads__whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
