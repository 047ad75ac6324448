#include "sim/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int cannot_read(const char *path, struct err *reterr)
{
    enum err_code code = errno == ENOENT ? ERR_NOT_FOUND : errno == EACCES ? ERR_DENIED : ERR_INTERNAL;

    return err_set(reterr, code, "%s: %s", path, strerror(errno));
}

static int read_all(FILE *in, const char *path, struct strbuf *out, struct err *reterr)
{
    size_t n;

    do {
        char *at = strbuf_reserve(out, 1 << 20);

        if (at == NULL) {
            return err_set(reterr, ERR_LIMIT, "%s: larger than %zu bytes", path, out->max_bytes);
        }
        n = fread(at, 1, 1 << 20, in);
        strbuf_commit(out, n);
    } while (n > 0);
    return ferror(in) ? cannot_read(path, reterr) : 0;
}

int text_file_read(const char *path, struct strbuf *out, struct err *reterr)
{
    FILE *in = fopen(path, "re");
    int rc;

    if (in == NULL) {
        return cannot_read(path, reterr);
    }
    rc = read_all(in, path, out, reterr);
    fclose(in);
    return rc;
}
