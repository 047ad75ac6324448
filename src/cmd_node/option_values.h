/* cmd_node/option_values.h - how the values of fgpu-node's options are read: one function for each kind.
 *
 * A wrong value is said on stderr, with what it may be.
 */
#ifndef CMD_NODE_OPTION_VALUES_H
#define CMD_NODE_OPTION_VALUES_H

#include "base/compiler.h"
#include "cmd_node/options.h"

#include <stddef.h>

#define NODE_VERBOSITY_MAX 10

/* The command line so far. */
struct option_draft {
    struct node_options *o;
    bool says_exempt, says_limits;
};

struct option_row;
/* NODE_EXIT_OK or NODE_EXIT_USAGE. `value` is NULL for a flag. */
typedef int option_take_fn(struct option_draft *d, const struct option_row *row, const char *value);

struct option_row {
    const char *name;  /* without the dashes */
    const char *value; /* as help shows it; NULL: a flag. For a choice, the words: "auto|cdi|env" */
    option_take_fn *take;
    size_t at;        /* of the member in struct node_options, for those that say so */
    const char *help; /* lines */
};

option_take_fn option_take_text;   /* const char * at `at`; not empty */
option_take_fn option_take_place;  /* the same: an absolute path */
option_take_fn option_take_flag;   /* bool */
option_take_fn option_take_second; /* bool: the second of two words */
option_take_fn option_take_factor; /* int32_t, thousandths, 1.0 to 10.0 */
option_take_fn option_take_sharers;
option_take_fn option_take_exempt;
option_take_fn option_take_public_key;
option_take_fn option_take_runtime_config;
option_take_fn option_take_hand_over;
option_take_fn option_take_publish;
option_take_fn option_take_limits;
option_take_fn option_take_ops_address; /* HOST:PORT or "off" */
option_take_fn option_take_health_address;
option_take_fn option_take_metrics_address;
option_take_fn option_take_usage_interval; /* or "off" */
option_take_fn option_take_exceed_grace;
option_take_fn option_take_xids;

int option_take_verbosity(struct option_draft *d, const char *value);
int option_add_exempt(struct node_options *o, const char *value); /* namespaces */

int PRINTF_LIKE(1, 2) option_usage_error(const char *fmt, ...); /* NODE_EXIT_USAGE */

#endif
