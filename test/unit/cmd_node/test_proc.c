/* Processes of the host, of which a folder says what the kernel would. */
#include "base/compiler.h"
#include "cmd_node/proc.h"
#include "node/cgroup_path.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "3f29c1ba6a1be7d0a47b4b5d5b6e2c3c0c5c5a1f0e9d8c7b6a5948372615f4e3"
#define CGROUP "0::/kubepods/burstable/poduid/" ID "\n"
#define STARTED 123456

static const struct str ids[] = {{"other", 5}, {ID, 64}};

struct fixture {
    struct temp_dir dir;
    pid_t child;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    f->child = fork();
    if (f->child == 0) {
        for (;;) {
            pause();
        }
    }
    *state = f;
    return f->child > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    temp_dir_fini(&f->dir);
    free(f);
    return 0;
}

static void is_there(struct fixture *f, const char *stat_fields, long long started, const char *cgroup)
{
    char path[256], text[512];

    temp_dir_path(&f->dir, "", path, sizeof(path));
    snprintf(text, sizeof(text), "%s/%d", path, (int)f->child);
    mkdir(text, 0700);
    snprintf(path, sizeof(path), "%d/cgroup", (int)f->child);
    temp_dir_write(&f->dir, path, cgroup);
    snprintf(path, sizeof(path), "%d/stat", (int)f->child);
    snprintf(text, sizeof(text), "%d %s S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 %lld 1 1 18446744073709551615\n",
             (int)f->child, stat_fields, started);
    temp_dir_write(&f->dir, path, text);
}

static int kills(const struct fixture *f, uint64_t started, const char *id)
{
    struct err err;

    return proc_kill(f->dir.path, f->child, started, str_of(id), &err);
}

static void proc__a_process__has_a_start_and_a_container(void **state)
{
    struct fixture *f = *state;
    struct proc_process p;

    is_there(f, "(a) b) S 7 (c)", STARTED, CGROUP); /* whoever names a program may be hostile */
    assert_true(proc_look(f->dir.path, f->child, ids, ARRAY_LEN(ids), &p));
    assert_int_equal(p.started, STARTED);
    assert_int_equal(p.container, 1);
    is_there(f, "(x)", STARTED, "0::/system.slice\n");
    assert_true(proc_look(f->dir.path, f->child, ids, ARRAY_LEN(ids), &p));
    assert_int_equal(p.container, CGROUP_NOBODY);
}

static void proc__who_is_not_there__is_nobody(void **state)
{
    struct fixture *f = *state;
    struct proc_process p;

    assert_false(proc_look(f->dir.path, f->child, ids, ARRAY_LEN(ids), &p));
    assert_false(proc_look(f->dir.path, 0, ids, ARRAY_LEN(ids), &p));
    assert_false(proc_look(f->dir.path, -1, ids, ARRAY_LEN(ids), &p));
    is_there(f, "(x)", STARTED, "");
    assert_false(proc_look(f->dir.path, f->child, ids, ARRAY_LEN(ids), &p));
}

static void proc__the_process_that_was_seen__is_killed(void **state)
{
    struct fixture *f = *state;
    int status;

    is_there(f, "(x)", STARTED, CGROUP);
    assert_int_equal(kills(f, STARTED, ID), 0);
    assert_int_equal(waitpid(f->child, &status, 0), f->child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Its id was given to a process that started later, or that is in another container. */
static void proc__another_process_with_that_id__is_left_alone(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(kills(f, STARTED, ID), -ERR_NOT_FOUND);
    is_there(f, "(x)", STARTED + 1, CGROUP);
    assert_int_equal(kills(f, STARTED, ID), -ERR_NOT_FOUND);
    is_there(f, "(x)", STARTED, "0::/kubepods/burstable/poduid/other\n");
    assert_int_equal(kills(f, STARTED, ID), -ERR_NOT_FOUND);
    is_there(f, "(x)", STARTED, "0::/system.slice/sshd.service\n");
    assert_int_equal(kills(f, STARTED, ID), -ERR_NOT_FOUND);
    assert_int_equal(waitpid(f->child, NULL, WNOHANG), 0);
}

static void proc__the_first_processes__are_never_killed(void **state)
{
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(proc_kill(f->dir.path, 1, STARTED, STR(ID), &err), -ERR_NOT_FOUND);
    assert_int_equal(proc_kill(f->dir.path, 0, STARTED, STR(ID), &err), -ERR_NOT_FOUND);
    assert_int_equal(proc_kill(f->dir.path, -1, STARTED, STR(ID), &err), -ERR_NOT_FOUND);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(proc__a_process__has_a_start_and_a_container), ALONE(proc__who_is_not_there__is_nobody),
        ALONE(proc__the_process_that_was_seen__is_killed),   ALONE(proc__another_process_with_that_id__is_left_alone),
        ALONE(proc__the_first_processes__are_never_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
