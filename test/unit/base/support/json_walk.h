/* Reads any JSON value with the typed calls of the reader and writes it again, compact: what the reader
 * understood, as text. */
#ifndef UNIT_BASE_SUPPORT_JSON_WALK_H
#define UNIT_BASE_SUPPORT_JSON_WALK_H

#include "base/json_read.h"
#include "base/json_write.h"

/* Stops at the reader's first error. Deeper than the writer can go: written as one raw value. */
void json_walk(struct json_reader *r, struct json_writer *w);

#endif
