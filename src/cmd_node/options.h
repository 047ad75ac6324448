/* cmd_node/options.h - the command line of fgpu-node. */
#ifndef CMD_NODE_OPTIONS_H
#define CMD_NODE_OPTIONS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As those of fgpu (other people's scripts rely on them). */
enum { NODE_EXIT_OK = 0, NODE_EXIT_RUNTIME = 1, NODE_EXIT_USAGE = 2, NODE_EXIT_CONFIG = 3 };

#define NODE_PATHS_MAX 8
#define NODE_EXEMPT_MAX 64

enum node_hand_over { NODE_HAND_OVER_AUTO, NODE_HAND_OVER_CDI, NODE_HAND_OVER_ENV };

/* Text belongs to argv or to the environment. */
struct node_options {
    const char *node_name;
    const char *nri_socket;
    const char *nvml_library; /* NULL: the usual places */
    const char *cdi_dir;
    struct str public_keys[NODE_PATHS_MAX]; /* NUL-terminated */
    size_t public_key_n;
    struct str exempt[NODE_EXEMPT_MAX]; /* namespaces */
    size_t exempt_n;
    enum node_hand_over hand_over;
    bool stand_back;
    int32_t overcommit_milli, overcommit_mem_milli; /* thousandths */
    bool json;
    int verbosity;
};

/* NODE_EXIT_OK; NODE_EXIT_USAGE with the reason on stderr; -1: help or version was printed. */
int node_options_read(int argc, char **argv, struct node_options *o);

#endif
