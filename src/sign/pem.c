/* sign/pem.c - reads files of keys and finds the PEM blocks in them. */
#define _GNU_SOURCE /* memmem */
#include "sign/pem_internal.h"

#include "base/file.h"

#include <string.h>

#define FILE_BYTES_MAX (256 * 1024)

int pem_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    int rc;

    strbuf_init(ret, FILE_BYTES_MAX);
    rc = file_read(path, ret, reterr);
    if (rc == -ERR_NOT_FOUND) {
        rc = err_set(reterr, ERR_NOT_FOUND,
                     "%s: there is no such file; `fgpu signing-key --out FILE` makes a key, and a Secret has to be "
                     "mounted where the configuration looks for it",
                     path);
    }
    if (rc != 0) {
        pem_wipe(ret);
    }
    return rc;
}

void pem_wipe(struct strbuf *text)
{
    strbuf_wipe(text);
    strbuf_fini(text);
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
