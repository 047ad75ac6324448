/* cmd/waiting_table.h - the pods that wait for a node and what each of them asks for: pending of /state. */
#ifndef CMD_WAITING_TABLE_H
#define CMD_WAITING_TABLE_H

#include "base/json_read.h"

/* Prints the array `pending` to standard output, a line for each pod: what it asks for, or why no node can take it;
 * and why none took it when fgpu was last asked, by the most frequent reasons.
 * Returns what is wrong with it, as json_read_end(). */
WARN_UNUSED int waiting_table_print(struct json_reader *r, struct str pending, struct arena *a, struct err *reterr);

#endif
