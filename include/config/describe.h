/* config/describe.h - the effective configuration as JSON, and the list of all keys. */
#ifndef CONFIG_DESCRIBE_H
#define CONFIG_DESCRIBE_H

#include "base/json_write.h"
#include "base/strbuf.h"
#include "config/load.h"

/* Writes one JSON object with the keys and notations of the file (durations "3s", memory "4096Mi"):
 * it is itself a valid configuration file with the same meaning. For /configz. Holds no secrets. */
void config_describe(const struct config *c, struct json_writer *w);

/* One line per key: "packing.candidates  0..100000  default 100  <what it does>". */
void config_reference(struct strbuf *out);

#endif
