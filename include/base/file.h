/* base/file.h - files as a whole: configurations, keys, certificates, tokens, what a command line names.
 *
 * The limit is the buffer's: a file that just fills it is read, one byte more is ERR_LIMIT, and nothing is ever
 * cut off. Messages name the file, never its content.
 *   ERR_NOT_FOUND  it does not exist                ERR_DENIED    we may not read it
 *   ERR_LIMIT      larger than the buffer allows    ERR_INTERNAL  else
 *   ERR_INVALID    it is no file (file_read)
 * After an error `ret` may hold a part of it: end or wipe it.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

/* Appends the file, in one piece of memory if `ret` was empty, so that strbuf_wipe leaves nothing of a secret (but
 * for a file that grows at that moment). Never waits: a FIFO or a folder is refused. */
WARN_UNUSED int file_read(const char *path, struct strbuf *ret, struct err *reterr);

/* The same, and of a pipe what comes until its writers have closed it: for paths that a person names, who may write
 * /dev/stdin or <(a command). Waits as long as they take. */
WARN_UNUSED int file_or_pipe_read(const char *path, struct strbuf *ret, struct err *reterr);

#endif
