/* cmd_node/limit_wire.h - what fgpu-node and its limit helper say to each other, over a socket that keeps messages
 * apart (SOCK_SEQPACKET). Both are the same executable, so a message is a struct as it lies in memory.
 *
 * The helper answers once when it is ready, or cannot be; then once for each request.
 */
#ifndef CMD_NODE_LIMIT_WIRE_H
#define CMD_NODE_LIMIT_WIRE_H

#include "base/err.h"
#include "model/device.h"

#include <stdint.h>

#define LIMIT_HELPER_WORD "limit-helper" /* fgpu-node limit-helper LIBRARY CGROUP_ROOT PROC */
#define LIMIT_HELPER_FD 3
#define LIMIT_ID_BYTES 256
#define LIMIT_UUID_BYTES 96

struct limit_request {
    uint32_t trial; /* 1: set no limit on all GPUs for the helper's own cgroup, and nothing else */
    uint32_t pid;   /* of the container's first process, as this machine numbers it */
    uint32_t device_n;
    char container_id[LIMIT_ID_BYTES];
    struct {
        char uuid[LIMIT_UUID_BYTES];
        uint64_t hard_bytes;
    } devices[DEVICES_PER_NODE_MAX];
};

struct limit_answer {
    int32_t code;   /* 0, or a negative error code with its text */
    uint32_t later; /* 1: the driver does not work yet, so this says nothing about its limits */
    char why[ERR_MSG_MAX];
};

#endif
