/* sim/state_file.h - a saved /state document (routes/state.h, config/state.schema.json) as ops of
 * the ledger.
 *
 * What is rebuilt is equal in what decides: every GPU has the same capacity, charge and free
 * amounts, every pod holds the same GPUs, every machine has the same cores and memory left. What
 * differs: how much of a machine each pod with known GPUs takes is not told, only all of them; a
 * reservation, or a pod whose annotations contradict it, is simply bound; labels are not in the
 * document, so isolation between pods is gone (isolated_n counts the pods that ask for it).
 *
 * Reading is strict (base/json_read.h), and errors name the place: "FILE: nodes[3].gpus[0]: JSON at
 * byte 4711: ...". Unknown keys are skipped, because later versions may add some. Documents of less
 * than the whole cluster (?node=, ?namespace=, ?fields=) are refused, and so are those of versions
 * that did not say enough.
 */
#ifndef SIM_STATE_FILE_H
#define SIM_STATE_FILE_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "config/load.h"
#include "core/ledger/ledger.h"

#include <stddef.h>
#include <stdint.h>

#define STATE_FILE_BYTES_MAX ((size_t)1 << 30)

struct state_file {
    struct arena arena;
    char *text;                  /* of state_file_read; the ops borrow from it */
    const struct ledger_op *ops; /* in order; the lists of nodes and pods in their brackets */
    size_t op_n;
    struct ledger_limits limits;      /* over-commit factors; the hash key is zero, the caller's choice */
    struct config *config;            /* that was in effect */
    const struct config *file_config; /* the same with every time window closed */
    struct demand_histogram *mix; /* the most frequent kinds of pods that it had learned; NULL: the document has none */
    int64_t as_of_ms;
    size_t isolated_n; /* pods whose isolation is not in the document */
};

/* `names`: as for config_load. On success the caller ends `ret` with state_file_fini.
 *   ERR_NOT_FOUND, ERR_DENIED, ERR_INTERNAL  the file cannot be read
 *   ERR_LIMIT   larger than STATE_FILE_BYTES_MAX
 *   ERR_PARSE, ERR_INVALID  what is in it */
WARN_UNUSED int state_file_read(const char *path, const struct config_names *names, struct state_file *ret,
                                struct err *reterr);
/* The same for text in memory, which is borrowed; `name` is shown in messages. */
WARN_UNUSED int state_file_parse(const char *name, struct str text, const struct config_names *names,
                                 struct state_file *ret, struct err *reterr);
void state_file_fini(struct state_file *f);

/* A ledger with all ops applied. It borrows notes of nodes from `f`: free it first. */
WARN_UNUSED int state_file_ledger(const struct state_file *f, struct ledger **ret, struct err *reterr);

#endif
