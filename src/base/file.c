#define _GNU_SOURCE /* strerrordesc_np */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, int error, struct err *reterr)
{
    const bool absent = error == ENOENT || error == ENOTDIR, denied = error == EACCES || error == EPERM;

    return err_set(reterr,
                   absent   ? ERR_NOT_FOUND
                   : denied ? ERR_DENIED
                            : ERR_INTERNAL,
                   "%s: cannot be read: %s%s", path, strerrordesc_np(error),
                   denied ? "; let the user that fgpu runs as read it" : "");
}

static int read_open(int fd, const char *path, struct strbuf *ret, struct err *reterr)
{
    struct stat st;
    ssize_t n = 1;
    size_t done = 0;
    char *to;

    if (fd < 0 || fstat(fd, &st) != 0) {
        return refuse(path, errno, reterr);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(reterr, ERR_INVALID, "%s: is not a file", path);
    }
    to = strbuf_reserve(ret, (size_t)st.st_size);
    if (to == NULL) {
        return err_set(reterr, ERR_LIMIT, "%s: larger than %zu KiB", path, ret->max_bytes / 1024);
    }
    while (done < (size_t)st.st_size && n != 0) { /* 0: it became shorter; what is there is judged */
        n = read(fd, to + done, (size_t)st.st_size - done);
        if (n < 0 && errno != EINTR) {
            return refuse(path, errno, reterr);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    strbuf_commit(ret, done);
    return 0;
}

int file_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int rc = read_open(fd, path, ret, reterr);

    if (fd >= 0) {
        (void)close(fd); /* read only: nothing can be lost */
    }
    return rc;
}
