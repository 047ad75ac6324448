/* base/file.h - small files as a whole: keys, certificates, tokens. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

/* Appends the file, in one piece of memory if `ret` was empty, so that strbuf_wipe leaves nothing of a secret. Never
 * waits: a FIFO or a folder is refused. Messages name the file, never its content.
 *   ERR_NOT_FOUND  it does not exist      ERR_DENIED  we may not read it     ERR_INVALID  it is no file
 *   ERR_LIMIT      larger than the buffer allows                             ERR_INTERNAL else */
WARN_UNUSED int file_read(const char *path, struct strbuf *ret, struct err *reterr);

#endif
