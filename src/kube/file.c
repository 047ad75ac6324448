#include "file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int failed(const char *path, int error, struct err *reterr)
{
    char text[128];
    enum err_code code = error == ENOENT || error == ENOTDIR ? ERR_NOT_FOUND : ERR_INTERNAL;
    if (strerror_r(error, text, sizeof(text)) != 0) {
        text[0] = '\0';
    }
    return err_set(reterr, code, "%s: %s", path, text);
}

int file_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    char piece[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return failed(path, errno, reterr);
    }
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) > 0 && !ret->overflowed) {
        strbuf_add(ret, piece, (size_t)n);
    }
    int error = errno;
    close(fd);
    explicit_bzero(piece, sizeof(piece));
    if (n < 0) {
        return failed(path, error, reterr);
    }
    return ret->overflowed ? err_set(reterr, ERR_LIMIT, "%s: larger than %zu bytes", path, ret->max_bytes) : 0;
}
