/* extender/op_json.h - ops of the ledger as JSON, and back, without loss of what decides: lines of the flight recorder
 * (extender/recorder.h), made again by extender/replay.h.
 *
 * One table of fields for both directions (src/extender/op_json_fields.c). What is 0, false or empty is not written.
 * Enumerations are the numbers of this version; 64-bit sets and hashes are written as signed numbers, bit for bit.
 * Labels are there as hashes only, of containers the names. Of the proof of a record its hash stands, which says as
 * well whether two are the same. Left out is what no decision reads: which annotations a Binding overwrites.
 *
 * Ops come with every event, and hardly anybody reads them: the recorder keeps them packed, which is the same without
 * keys and digits, and JSON is made of it when it is read. Packed bytes are of this process: they are not checked.
 *
 * Reading is strict (base/json_read.h) about what is known; unknown keys are skipped. Texts are in the arena that is
 * given, notes and vocabularies too: they must outlive the ledger that the op is applied to.
 */
#ifndef EXTENDER_OP_JSON_H
#define EXTENDER_OP_JSON_H

#include "base/json_read.h"
#include "base/json_write.h"
#include "core/ledger/ledger.h"

/* "nodeDescribed"; LEDGER_OP__MAX: no such name. */
enum ledger_op_kind op_json_kind(struct str name);

/* The op as bytes. Whole, or `to` has overflowed. */
void op_pack(struct strbuf *to, const struct ledger_op *op);
/* "op" and what follows it in an open object: the member that its kind has. A reservation is written by its bind. */
void op_json_write_packed(struct json_writer *w, struct str packed);
/* Reads the value of one member into `op`, whose kind is known. `a`: for the arrays. An error sticks to the reader. */
void op_json_read(struct json_reader *r, struct arena *a, struct ledger_op *op);
/* The key of that member. */
const char *op_json_key(enum ledger_op_kind k);

/* A file may come from anywhere, and the ledger believes what it is told: NULL, or what is wrong with an op that was
 * read, static. Everything that fgpu writes is right. */
const char *op_json_check(const struct ledger_op *op);
const char *op_json_check_demand(const struct demand *d);

/* Parts of decisions, by the same tables. */
void op_json_write_demand(struct json_writer *w, const struct demand *d);
void op_json_read_demand(struct json_reader *r, struct arena *a, struct demand *ret);
void op_json_write_assignment(struct json_writer *w, const struct assignment *as);

#endif
