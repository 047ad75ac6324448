/* cmd/sizes_table.h - how many more pods of each size fit, as a table: moreFit of /state. */
#ifndef CMD_SIZES_TABLE_H
#define CMD_SIZES_TABLE_H

#include "base/json_read.h"

/* Prints the array `more` to standard output. What is wrong with it the reader tells afterwards. */
void sizes_table_print(struct json_reader *r, struct str more, struct arena *a);

#endif
