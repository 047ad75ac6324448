/* sim/oracle_internal.h - what the oracle knows of each GPU: oracle.c keeps it, oracle_ledger.c holds ledgers against
 * it. */
#ifndef SIM_ORACLE_INTERNAL_H
#define SIM_ORACLE_INTERNAL_H

#include "oracle.h"

#define ORACLE_DEVICES_MAX 512
#define ORACLE_HOLDERS_MAX 64
#define ORACLE_PAST 16

struct oracle_holder {
    char uid[24];
    unsigned process;
    uint64_t version;
    uint64_t nodes_seen; /* of who gave it, then */
    int64_t left_ns, landed_ns;
    int milli, mem_mib;
};

struct oracle_past {
    int64_t until_ns;
    uint64_t until; /* the version of the node in which it is not so any more */
    int mem_mib;
};

struct oracle_device {
    char uuid[24], node[32];
    int mem_mib;      /* 0: not there */
    uint64_t version; /* of the node, since it has that */
    struct oracle_past past[ORACLE_PAST];
    struct oracle_holder holders[ORACLE_HOLDERS_MAX];
    size_t holder_n;
};

extern struct oracle_device oracle_devices[ORACLE_DEVICES_MAX];
extern size_t oracle_device_n;
extern enum fleet oracle_fleet;
/* Was a write of one of them so late that the other could not know of it? Of processes without an election: had the
 * hold-off of somebody between them been over when the older one's landed? */
struct oracle_write {
    unsigned process;
    int64_t left_ns, landed_ns;
};
bool oracle_was_late(struct oracle_write a, struct oracle_write b);
struct oracle_device *oracle_find(const char *uuid);

#endif
