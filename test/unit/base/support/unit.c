#include "base/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void expect_text(struct str got, const char *want, const char *row)
{
    if (!str_eq_cstr(got, want)) {
        fail_msg("row '%s': got '%.*s', want '%s'", row ? row : "-", STR_ARG(got), want);
    }
}

/* Runs `fn` with `err` as stderr; -1: none. True: it aborted. */
static bool child_aborts(void (*fn)(void), int err)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (err < 0) {
            close(STDERR_FILENO);
        } else {
            dup2(err, STDERR_FILENO);
        }
        signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    assert_true(pid > 0);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

bool unit_aborts(void (*fn)(void))
{
    return child_aborts(fn, -1);
}

void expect_bug(void (*fn)(void), const char *text)
{
    FILE *said = tmpfile();
    char got[4096];
    assert_non_null(said);
    bool aborted = child_aborts(fn, fileno(said));
    rewind(said);
    got[fread(got, 1, sizeof(got) - 1, said)] = '\0';
    fclose(said);
    if (!aborted || strstr(got, text) == NULL) {
        fail_msg("%s, and said '%s'; want a BUG with '%s'", aborted ? "it aborted" : "it went on", got, text);
    }
}
