/* sign/pem.c - reads files of keys and finds the PEM blocks in them. */
#define _GNU_SOURCE /* memmem */
#include "sign/pem_internal.h"

#include "base/bug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (256 * 1024)

static int refuse_file(const char *path, struct err *reterr)
{
    const int saved = errno;

    if (saved == ENOENT || saved == ENOTDIR) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "%s: there is no such file; `fgpu signing-key --out FILE` makes a key, and a Secret has to be "
                       "mounted where the configuration looks for it",
                       path);
    }
    if (saved == EACCES || saved == EPERM) {
        return err_set(reterr, ERR_DENIED, "%s: permission denied; let the user that fgpu runs as read it", path);
    }
    return err_set(reterr, ERR_INTERNAL, "%s: cannot be read (errno %d)", path, saved);
}

static int read_open(int fd, const char *path, struct pem_text *ret, struct err *reterr)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return refuse_file(path, reterr);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(reterr, ERR_INVALID, "%s: is not a file", path);
    }
    if (st.st_size > FILE_BYTES_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: larger than %d KiB; this is not a file of keys", path,
                       FILE_BYTES_MAX / 1024);
    }
    ret->p = xcalloc(1, (size_t)st.st_size + 1);
    while (ret->n < (size_t)st.st_size) {
        const ssize_t n = read(fd, ret->p + ret->n, (size_t)st.st_size - ret->n);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return refuse_file(path, reterr);
        }
        if (n == 0) {
            break; /* it became shorter: what is there is judged */
        }
        ret->n += (size_t)n;
    }
    return 0;
}

int pem_read(const char *path, struct pem_text *ret, struct err *reterr)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */
    int rc;

    *ret = (struct pem_text){NULL, 0};
    if (fd < 0) {
        return refuse_file(path, reterr);
    }
    rc = read_open(fd, path, ret, reterr);
    (void)close(fd); /* read only: nothing can be lost */
    if (rc != 0) {
        pem_wipe(ret);
    }
    return rc;
}

void pem_wipe(struct pem_text *t)
{
    if (t->p != NULL) {
        gnutls_memset(t->p, 0, t->n);
        free(t->p);
    }
    *t = (struct pem_text){NULL, 0};
}

static struct str find_text(struct str in, struct str what)
{
    const char *at = in.n > 0 ? memmem(in.p, in.n, what.p, what.n) : NULL;

    return at == NULL ? STR_NULL : (struct str){at, in.n - (size_t)(at - in.p)};
}

bool pem_next(struct str *rest, struct str *ret_label, struct str *ret_block)
{
    static const struct str begin = {"-----BEGIN ", 11}, dashes = {"-----", 5}, end = {"-----END ", 9};
    struct str block = find_text(*rest, begin);
    struct str after, at_end;

    if (block.p == NULL) {
        return false;
    }
    *ret_label = str_drop(block, begin.n);
    after = find_text(*ret_label, dashes);
    ret_label->n = after.p == NULL ? 0 : (size_t)(after.p - ret_label->p);
    at_end = find_text(str_drop(after, dashes.n), end);
    at_end = find_text(str_drop(at_end, end.n), dashes);
    if (at_end.p == NULL) {
        *ret_block = STR_NULL;
        *rest = STR_NULL;
        return true;
    }
    *rest = str_drop(at_end, dashes.n);
    *ret_block = (struct str){block.p, (size_t)(rest->p - block.p)};
    return true;
}

int pem_refuse(const char *path, const char *what, int code, struct err *reterr)
{
    return err_set(reterr, ERR_INVALID, "%s: %s (%s)", path, what, gnutls_strerror(code));
}
