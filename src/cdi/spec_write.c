/* Writing the spec: a file beside it, whose name no runtime reads (they read *.json and *.yaml), then renamed. */
#include "cdi/spec.h"

#include "base/bug.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define SPEC_BYTES_MAX 4096

static int write_failed(const char *path, int error, struct err *reterr)
{
    enum err_code code = ERR_INTERNAL;

    if (error == ENOENT || error == ENOTDIR) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "%s cannot be written: there is no such folder; make it, or name the runtime's with --cdi-dir",
                       path);
    }
    if (error == EACCES || error == EPERM || error == EROFS) {
        code = ERR_DENIED;
    }
    return err_set(reterr, code, "%s cannot be written: %s", path, strerror(error));
}

static int write_all(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? EIO : errno;
        }
        text = str_drop(text, (size_t)n);
    }
    return 0;
}

/* 0 or an errno. Readable by all: container runtimes and the tools that show CDI devices. */
static int write_file(const char *path, struct str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    int error;

    if (fd < 0) {
        return errno;
    }
    error = write_all(fd, text);
    if (error == 0 && (fchmod(fd, 0644) != 0 || fsync(fd) != 0)) {
        error = errno;
    }
    if (close(fd) != 0 && error == 0) {
        error = errno;
    }
    return error;
}

/* 0 or an errno. */
static int replace_file(const char *path, const char *beside)
{
    struct strbuf text;
    int error;

    strbuf_init(&text, SPEC_BYTES_MAX);
    cdi_spec_format(&text);
    BUG_ON(text.overflowed);
    error = write_file(beside, strbuf_view(&text));
    strbuf_fini(&text);
    if (error == 0 && rename(beside, path) != 0) {
        error = errno;
    }
    if (error != 0) {
        (void)unlink(beside);
    }
    return error;
}

bool cdi_spec_is_there(const char *dir)
{
    struct strbuf path, text, there;
    bool same;

    strbuf_init(&path, PATH_BYTES);
    strbuf_init(&text, SPEC_BYTES_MAX);
    strbuf_init(&there, SPEC_BYTES_MAX);
    strbuf_addf(&path, "%s/" CDI_SPEC_FILE, dir);
    cdi_spec_format(&text);
    same = !path.overflowed && file_read(path.p, &there, NULL) == 0 && str_eq(strbuf_view(&text), strbuf_view(&there));
    strbuf_fini(&path);
    strbuf_fini(&text);
    strbuf_fini(&there);
    return same;
}

int cdi_spec_write(const char *dir, struct err *reterr)
{
    struct strbuf path, beside;
    int error, rc = 0;

    strbuf_init(&path, PATH_BYTES);
    strbuf_init(&beside, PATH_BYTES);
    strbuf_addf(&path, "%s/" CDI_SPEC_FILE, dir);
    strbuf_addf(&beside, "%s/" CDI_SPEC_FILE ".new", dir);
    if (beside.overflowed) {
        rc = err_set(reterr, ERR_LIMIT, "the folder of CDI files has a name that is too long: %.64s...", dir);
    } else {
        error = replace_file(path.p, beside.p);
        rc = error == 0 ? 0 : write_failed(path.p, error, reterr);
    }
    strbuf_fini(&path);
    strbuf_fini(&beside);
    return rc;
}
