#include "config/file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(const char *path, struct err *reterr)
{
    char text[128];
    enum err_code code = ERR_INTERNAL;

    if (errno == ENOENT || errno == ENOTDIR) {
        code = ERR_NOT_FOUND;
    } else if (errno == EACCES || errno == EPERM) {
        code = ERR_DENIED;
    }
    if (strerror_r(errno, text, sizeof(text)) != 0) {
        (void)snprintf(text, sizeof(text), "error %d", errno);
    }
    return err_set(reterr, code, "%s: %s", path, text);
}

int config_file_read(const char *path, size_t max_bytes, struct strbuf *ret, struct err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    int rc = 0;

    if (fd < 0) {
        return refuse(path, reterr);
    }
    while (ret->n <= max_bytes) {
        size_t buffer = max_bytes + 1 - ret->n;
        buffer = buffer < 65536 ? buffer : 65536;
        char *p = strbuf_reserve(ret, buffer);
        if (p == NULL) {
            break;
        }
        n = read(fd, p, buffer);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        strbuf_commit(ret, (size_t)n);
    }
    if (n < 0) {
        rc = refuse(path, reterr);
    } else if (ret->n > max_bytes) {
        rc = err_set(reterr, ERR_LIMIT, "%s: larger than %zu KiB", path, max_bytes / 1024);
    }
    (void)close(fd); /* read only: nothing can be lost */
    return rc;
}
