/* cmd/sizes_table.h - how many more pods of each size fit, as a table: moreFit of /state. */
#ifndef CMD_SIZES_TABLE_H
#define CMD_SIZES_TABLE_H

#include "base/json_read.h"

/* Prints the array `more` to standard output. Returns what is wrong with it, as json_read_end(). */
WARN_UNUSED int sizes_table_print(struct json_reader *r, struct str more, struct arena *a, struct err *reterr);

#endif
