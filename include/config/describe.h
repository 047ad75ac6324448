/* config/describe.h - a configuration as text: JSON, YAML, a list with origins; and what there is to
 * configure: the list of all keys, the JSON Schema. */
#ifndef CONFIG_DESCRIBE_H
#define CONFIG_DESCRIBE_H

#include "base/json_write.h"
#include "base/strbuf.h"
#include "config/load.h"

/* Writes one JSON object with the keys and notations of the file (durations "3s", memory "4096Mi"):
 * it is itself a valid configuration file with the same meaning. For /configz. Holds no secrets. */
void config_describe(const struct config *c, struct json_writer *w);

/* The same as YAML, as a person would write it: for --write-config-to. */
void config_write_yaml(const struct config *c, struct strbuf *out);

/* One line per key: "packing.candidates: 100  # FILE:12:3", lists as JSON. */
void config_write_effective(const struct config *c, struct strbuf *out);

/* One line per key: "packing.candidates  0..100000  default 100  <what it does>". */
void config_reference(struct strbuf *out);

/* config/fgpu.schema.json: JSON Schema (draft 2020-12) for editors. What it accepts less the ranges
 * of quantities and durations written as text, and what concerns several keys at once, is what the
 * reader accepts. */
void config_json_schema(const struct config_names *names, struct strbuf *out);

#endif
