#include "base/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void expect_text(struct str got, const char *want, const char *row)
{
    if (!str_eq_cstr(got, want)) {
        fail_msg("row '%s': got '%.*s', want '%s'", row ? row : "-", STR_ARG(got), want);
    }
}

bool unit_aborts(void (*fn)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    assert_true(pid > 0);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
