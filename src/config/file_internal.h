/* Reading a whole file of bounded size. */
#ifndef CONFIG_FILE_INTERNAL_H
#define CONFIG_FILE_INTERNAL_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stddef.h>

/* Fills `ret`, which the caller initialises with a maximum above max_bytes and ends with
 * strbuf_fini. The message holds the path. ERR_NOT_FOUND, ERR_DENIED, ERR_LIMIT, ERR_INTERNAL. */
WARN_UNUSED int config_file_read(const char *path, size_t max_bytes, struct strbuf *ret, struct err *reterr);

#endif
