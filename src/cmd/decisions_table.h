/* cmd/decisions_table.h - why pods landed where they are: decisions of /state. */
#ifndef CMD_DECISIONS_TABLE_H
#define CMD_DECISIONS_TABLE_H

#include "base/json_read.h"

/* Prints the last decisions of `document`, a whole /state, to standard output, the newest first; if there are none,
 * since when. The two readers are for the document and for the list in it. Returns what is wrong with it, as
 * json_read_end(), or ERR_NOT_FOUND if the document has no such list. */
WARN_UNUSED int decisions_table_print(struct json_reader readers[2], struct str document, struct arena *a,
                                      struct err *reterr);

#endif
