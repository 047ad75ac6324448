/* cmd/conflicts_table.h - what contradicts itself on nodes and pods and so takes no new pods: conflicts of /state. */
#ifndef CMD_CONFLICTS_TABLE_H
#define CMD_CONFLICTS_TABLE_H

#include "base/json_read.h"

/* Prints the array `conflicts` to standard output, a line for each of the first CONFLICTS_SHOWN, and how many more
 * there are. Returns what is wrong with it, as json_read_end(). */
enum { CONFLICTS_SHOWN = 20 };
WARN_UNUSED int conflicts_table_print(struct json_reader *r, struct str conflicts, struct arena *a, struct err *reterr);

#endif
