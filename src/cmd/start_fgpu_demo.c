/* fgpu demo, fgpu apiserver: this process becomes fgpu-demo with the same arguments. */
#include "cmd/commands.h"
#include "cmd/terminal.h"

#include "base/bug.h"
#include "base/strbuf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAX (2 * PATH_MAX)

/* Where fgpu-demo lies: beside the file of this program, whatever link or folder it was called through. PATH is not
 * asked: it may know an fgpu-demo of another version. False: errno says why there is no telling. */
static bool path_beside_us(char ret[PATH_MAX])
{
    static const char name[] = "fgpu-demo";
    ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    char *slash;

    if (n < 0) {
        return false;
    }
    ret[n] = '\0';
    slash = strrchr(ret, '/');
    if (slash == NULL || (size_t)(slash + 1 - ret) + sizeof(name) > PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(slash + 1, name, sizeof(name));
    return true;
}

/* A link or a copy under that name would start itself, for ever. A copy is found by the copy. */
static bool is_us(const char *path)
{
    struct stat us, there;

    return stat("/proc/self/exe", &us) == 0 && stat(path, &there) == 0 && us.st_dev == there.st_dev &&
           us.st_ino == there.st_ino;
}

/* Returns only if it fails: errno says why. */
static void become(char *path, int argc, char **argv)
{
    char **args = calloc((size_t)argc + 2, sizeof(*args));

    BUG_ON(args == NULL);
    args[0] = path;
    memcpy(args + 1, argv, (size_t)argc * sizeof(*args));
    execv(path, args);
    free(args);
}

int cmd_start_fgpu_demo(int argc, char **argv)
{
    char path[PATH_MAX];
    struct strbuf message;

    strbuf_init(&message, MESSAGE_BYTES_MAX);
    if (!path_beside_us(path)) {
        strbuf_addf(&message, "cannot read /proc/self/exe to find fgpu-demo beside it: %s", strerror(errno));
    } else if (is_us(path)) {
        strbuf_addf(&message,
                    "%s is fgpu itself, not the demonstration; scripts/build makes the program that belongs there",
                    path);
    } else {
        become(path, argc, argv);
        if (errno == ENOENT) {
            strbuf_addf(&message,
                        "fgpu-demo is not installed: there is no %s. The demonstration and the simulated API server "
                        "are a separate program: build it with scripts/build and put it beside fgpu",
                        path);
        } else {
            strbuf_addf(&message, "cannot run %s: %s", path, strerror(errno));
        }
    }
    terminal_complain(argv[0], message.p);
    strbuf_fini(&message);
    return EXIT_RUNTIME;
}
