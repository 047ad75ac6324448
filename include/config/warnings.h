/* config/warnings.h - what is valid in a configuration and is hardly what somebody meant.
 *
 * A warning refuses nothing: fgpu does what the file says. Found from the configuration alone, so nothing here depends
 * on nodes and pods. No I/O.
 */
#ifndef CONFIG_WARNINGS_H
#define CONFIG_WARNINGS_H

#include "base/strbuf.h"
#include "config/load.h"

#include <stddef.h>

/* Appends a line for each, "FILE:LINE:COLUMN: warning: KEY: what, and what to do"; returns how many. `c` is as the file
 * has it, with every time window closed. */
size_t config_warnings(const struct config *c, struct strbuf *out);

#endif
