/* sim/text_file.h - files that a person names on the command line, read as a whole; pipes too. */
#ifndef SIM_TEXT_FILE_H
#define SIM_TEXT_FILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

/* Appends it, at most as much as `out` may hold.
 *   ERR_NOT_FOUND, ERR_DENIED, ERR_INTERNAL  it cannot be read
 *   ERR_LIMIT  larger */
WARN_UNUSED int text_file_read(const char *path, struct strbuf *out, struct err *reterr);

#endif
