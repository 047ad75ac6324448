/* cmd_node/options.h - the command line of fgpu-node. */
#ifndef CMD_NODE_OPTIONS_H
#define CMD_NODE_OPTIONS_H

#include "base/address.h"
#include "base/str.h"
#include "node/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As those of fgpu (other people's scripts rely on them). */
enum { NODE_EXIT_OK = 0, NODE_EXIT_RUNTIME = 1, NODE_EXIT_USAGE = 2, NODE_EXIT_CONFIG = 3 };

#define NODE_OPS_ADDRESS "127.0.0.1:9444"
#define NODE_PATHS_MAX 8
#define NODE_EXEMPT_MAX 64
#define NODE_XIDS_MAX 64

enum node_hand_over { NODE_HAND_OVER_AUTO, NODE_HAND_OVER_CDI, NODE_HAND_OVER_ENV };

/* What is written to the Node object: cmd_node/publisher.h. */
enum node_publish { NODE_PUBLISH_AUTO, NODE_PUBLISH_ANNOTATION, NODE_PUBLISH_ALL, NODE_PUBLISH_OFF };

/* Text belongs to argv or to the environment. */
struct node_options {
    const char *node_name;
    const char *nri_socket;
    const char *kubeconfig;   /* NULL: that of a service account, or no API server */
    const char *nvml_library; /* NULL: the usual places */
    const char *cdi_dir;
    struct str public_keys[NODE_PATHS_MAX]; /* NUL-terminated */
    size_t public_key_n;
    struct str exempt[NODE_EXEMPT_MAX]; /* namespaces */
    size_t exempt_n;
    const char *runtime_config[NODE_PATHS_MAX];
    size_t runtime_config_n;
    enum node_hand_over hand_over;
    bool stand_back;
    enum node_publish publish;
    bool refuse_privileged;
    enum limits_kind limits;
    const char *mps_dir, *hami_library, *cgroup_root; /* hami_library: NULL unless limits are hami-core */
    int32_t max_sharers;                              /* of a GPU; INT32_MAX: nobody said */
    int32_t overcommit_milli, overcommit_mem_milli;   /* thousandths */
    uint32_t ignored_xids[NODE_XIDS_MAX];             /* beside those that never count (node/health.h) */
    size_t ignored_xid_n;
    bool json;
    int verbosity;
    /* Listeners; `off`: there is none. */
    struct address ops_address, health_address, metrics_address;
    bool ops_off, health_off, metrics_off;
    bool ops_anonymous; /* ops_address may be any, and then shows no pods but in metrics */
    /* What containers use. */
    const char *proc;          /* of the host's process ids */
    int64_t usage_interval_ms; /* 0: nobody looks */
    int64_t exceed_grace_ms;
    bool exceed_kill;
};

/* NODE_EXIT_OK; NODE_EXIT_USAGE with the reason on stderr; -1: help or version was printed. */
int node_options_read(int argc, char **argv, struct node_options *o);

#endif
