#include "cmd_node/proc.h"

#include "node/cgroup_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define PATH_BYTES 512
#define FIELD_STARTED 22

int proc_read(const char *root, const char *process, const char *name, char buf[PROC_FILE_BYTES], struct str *ret,
              struct err *reterr)
{
    char path[PATH_BYTES];
    size_t n = 0;
    ssize_t got = -1;
    int fd = -1, error = ENAMETOOLONG;

    if (snprintf(path, sizeof(path), "%s/%s/%s", root, process, name) < (int)sizeof(path)) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        error = errno;
    }
    while (fd >= 0 && (got = read(fd, buf + n, PROC_FILE_BYTES - n)) > 0) {
        n += (size_t)got;
    }
    if (fd >= 0) {
        error = got < 0 ? errno : EFBIG;
        close(fd);
    }
    if (got != 0 || n == PROC_FILE_BYTES) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s cannot be read: %s; fgpu-node needs hostPID", path,
                       strerror(error));
    }
    *ret = (struct str){buf, n};
    return 0;
}

/* "PID (NAME) S ..."; the name may hold anything. */
static bool started_of(struct str stat, uint64_t *ret)
{
    struct str field;
    size_t behind_name = stat.n;

    while (behind_name > 0 && stat.p[behind_name - 1] != ')') {
        behind_name--;
    }
    if (behind_name == 0) {
        return false;
    }
    stat = str_trim(str_drop(stat, behind_name));
    for (int i = 3; str_split(&stat, ' ', &field); i++) {
        if (i == FIELD_STARTED) {
            return str_to_u64(field, UINT64_MAX, ret);
        }
    }
    return false;
}

bool proc_look(const char *root, int64_t pid, const struct str *container_ids, size_t n, struct proc_process *ret)
{
    char buf[PROC_FILE_BYTES], process[24];
    struct str text;
    struct err err;

    snprintf(process, sizeof(process), "%lld", (long long)pid);
    if (pid <= 0 || proc_read(root, process, "stat", buf, &text, &err) != 0 || !started_of(text, &ret->started) ||
        proc_read(root, process, "cgroup", buf, &text, &err) != 0 || text.n == 0) {
        return false;
    }
    ret->container = cgroup_container(text, container_ids, n);
    return true;
}

static int kill_held(int fd, int64_t pid, struct err *reterr)
{
    if (pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0) {
        return 0;
    }
    return err_set(reterr,
                   errno == ESRCH   ? ERR_NOT_FOUND
                   : errno == EPERM ? ERR_DENIED
                                    : ERR_INTERNAL,
                   "process %lld cannot be killed: %s", (long long)pid, strerror(errno));
}

int proc_kill(const char *root, int64_t pid, uint64_t started, struct str container_id, struct err *reterr)
{
    const int fd = pid > 1 ? pidfd_open((pid_t)pid, 0) : -1;
    struct proc_process now;
    int rc;

    if (fd < 0) {
        return err_set(reterr, pid <= 1 || errno == ESRCH ? ERR_NOT_FOUND : ERR_INTERNAL,
                       "process %lld cannot be held: %s", (long long)pid, pid <= 1 ? "no such id" : strerror(errno));
    }
    if (!proc_look(root, pid, &container_id, 1, &now) || now.started != started || now.container == CGROUP_NOBODY) {
        rc = err_set(reterr, ERR_NOT_FOUND, "process %lld is not the one that was seen any more", (long long)pid);
    } else {
        rc = kill_held(fd, pid, reterr);
    }
    close(fd);
    return rc;
}
