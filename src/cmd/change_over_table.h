/* cmd/change_over_table.h - groups of node pools that change over: summary.changeOvers of /state. */
#ifndef CMD_CHANGE_OVER_TABLE_H
#define CMD_CHANGE_OVER_TABLE_H

#include "base/json_read.h"

/* Prints the array to standard output, a line for each group: the pool that is open, or which step of the change it is
 * at, since when, and what is waited for. Returns what is wrong with it, as json_read_end(). */
WARN_UNUSED int change_over_table_print(struct json_reader *r, struct str groups, struct arena *a, struct err *reterr);

#endif
