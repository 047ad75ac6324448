#include "cmd_node/limit_node.h"

#include "node/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

void limit_node_look_at_cgroups(const char *folder, struct limits_node *ret)
{
    struct statfs s;

    ret->no_cgroups = statfs(folder, &s) != 0;
    ret->cgroup2 = !ret->no_cgroups && s.f_type == CGROUP2_SUPER_MAGIC;
}

static int make_folder(const char *path, mode_t mode, struct err *reterr)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST) {
        return err_set(reterr, ERR_DENIED, "%s cannot be made (%s); mount the host's /run/fgpu into fgpu-node", path,
                       strerror(errno));
    }
    return 0;
}

/* What every program of a container loads first, and the folder of a lock that the library's users share. */
int limit_node_make_hami_files(struct err *reterr)
{
    static const char text[] = LIMITS_HAMI_LIBRARY "\n";
    int rc = make_folder("/run/fgpu", 0755, reterr), fd;

    rc = rc != 0 ? rc : make_folder(LIMIT_NODE_HAMI_DIR, 0755, reterr);
    rc = rc != 0 ? rc : make_folder(LIMIT_NODE_HAMI_DIR "/lock", 0777, reterr);
    if (rc != 0) {
        return rc;
    }
    fd = open(LIMIT_NODE_HAMI_DIR "/ld.so.preload", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 || write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1 ||
        chmod(LIMIT_NODE_HAMI_DIR "/lock", 0777) != 0) { /* users of any number */
        rc = err_set(reterr, ERR_DENIED, LIMIT_NODE_HAMI_DIR " cannot be written: %s", strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

/* A client that finds no daemon runs without MPS and without limits. */
bool limit_node_has_mps_daemon(struct str dir)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    static const char name[] = "/pipe/control";
    bool there;
    int fd;

    if (dir.n + sizeof(name) > sizeof(to.sun_path)) {
        return false;
    }
    memcpy(to.sun_path, dir.p, dir.n);
    memcpy(to.sun_path + dir.n, name, sizeof(name));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    /* One that has more callers than it listens to, or speaks in messages, is there, too. */
    there = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 || errno == EAGAIN || errno == EPROTOTYPE;
    close(fd);
    return there;
}
