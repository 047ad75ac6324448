/* kube/file_internal.h - small files: tokens and certificates. */
#ifndef KUBE_FILE_INTERNAL_H
#define KUBE_FILE_INTERNAL_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

/* Appends the whole file. Messages name the file, never its content.
 *   ERR_NOT_FOUND  it does not exist   ERR_LIMIT  larger than the buffer allows   ERR_INTERNAL else
 */
WARN_UNUSED int file_read(const char *path, struct strbuf *ret, struct err *reterr);

#endif
