#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */

#include "cmd_demo/browser.h"

#include "base/bug.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && v[0] != '\0';
}

static bool somebody_looks(void)
{
    return isatty(STDOUT_FILENO) && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER"));
}

/* Some browsers stay in the foreground and write to the terminal, where the picture is; and Ctrl-C there is for the
 * demonstration alone. */
static bool start(char *const argv[])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t pid;
    int rc;

    sigemptyset(&none); /* the demonstration blocks those that end it */
    BUG_ON(posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0 ||
           posix_spawnattr_setsigmask(&attr, &none) != 0);
    rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    for (int fd = STDIN_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++) {
        rc = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    rc = rc == 0 ? posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ) : rc;
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0;
}

bool browser_open(const char *url)
{
    char program[] = "xdg-open", address[128];

    if (!somebody_looks() || strlen(url) >= sizeof(address)) {
        return false;
    }
    memcpy(address, url, strlen(url) + 1);
    return start((char *const[]){program, address, NULL});
}
