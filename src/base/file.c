#define _GNU_SOURCE /* strerrordesc_np */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is asked for at a time of a file that does not say how large it is. */
enum { CHUNK_BYTES = 64 * 1024 };

static int cannot_read(const char *path, int error, struct err *reterr)
{
    const bool absent = error == ENOENT || error == ENOTDIR, denied = error == EACCES || error == EPERM;

    return err_set(reterr,
                   absent   ? ERR_NOT_FOUND
                   : denied ? ERR_DENIED
                            : ERR_INTERNAL,
                   "%s: %s%s", path, strerrordesc_np(error), denied ? "; let the user that fgpu runs as read it" : "");
}

static int too_large(const char *path, size_t max_bytes, struct err *reterr)
{
    if (max_bytes % 1024 != 0) {
        return err_set(reterr, ERR_LIMIT, "%s: larger than %zu bytes", path, max_bytes);
    }
    return err_set(reterr, ERR_LIMIT, "%s: larger than %zu KiB", path, max_bytes / 1024);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of what the maximum leaves: the memory that is there, or else one more piece. */
static size_t next_bytes(const struct strbuf *b)
{
    const size_t there = b->cap > b->n + 1 ? b->cap - b->n - 1 : 0; /* but for the NUL */

    return min_size(there > 0 ? there : CHUNK_BYTES, b->max_bytes - b->n);
}

/* Up to the end, which only a read that gets nothing shows: of a full buffer one byte more is asked for. */
static int read_to_end(int fd, const char *path, struct strbuf *ret, struct err *reterr)
{
    ssize_t n = 1;

    while (n != 0) {
        char beyond;
        const size_t ask = next_bytes(ret);
        char *to = ask > 0 ? strbuf_reserve(ret, ask) : &beyond;

        if (to == NULL) { /* it overflowed before */
            return too_large(path, ret->max_bytes, reterr);
        }
        n = read(fd, to, ask > 0 ? ask : 1);
        if (n < 0 && errno != EINTR) {
            return cannot_read(path, errno, reterr);
        }
        if (n > 0 && ask == 0) {
            return too_large(path, ret->max_bytes, reterr);
        }
        if (n > 0) {
            strbuf_commit(ret, (size_t)n);
        }
    }
    return 0;
}

static int read_open(int fd, const char *path, bool pipes_too, struct strbuf *ret, struct err *reterr)
{
    const size_t room = ret->max_bytes - ret->n;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        return cannot_read(path, errno, reterr);
    }
    if (!S_ISREG(st.st_mode)) {
        return pipes_too ? read_to_end(fd, path, ret, reterr) : err_set(reterr, ERR_INVALID, "%s: is not a file", path);
    }
    /* With one byte more than it has the end shows without more memory, which would leave a copy of a secret behind. */
    if ((size_t)st.st_size > room || strbuf_reserve(ret, min_size((size_t)st.st_size + 1, room)) == NULL) {
        return too_large(path, ret->max_bytes, reterr);
    }
    return read_to_end(fd, path, ret, reterr);
}

static int read_path(const char *path, bool pipes_too, struct strbuf *ret, struct err *reterr)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | (pipes_too ? 0 : O_NONBLOCK));
    const int rc = read_open(fd, path, pipes_too, ret, reterr);

    if (fd >= 0) {
        (void)close(fd); /* read only: nothing can be lost */
    }
    return rc;
}

int file_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    return read_path(path, false, ret, reterr);
}

int file_or_pipe_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    return read_path(path, true, ret, reterr);
}
