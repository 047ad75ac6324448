/* cmd/cluster_reading.h - all nodes and pods of a cluster, read from its API server by two
 * configurations at once: two ledgers as two processes that start now would have them.
 *
 * Lists only, as `fgpu serve` does, with the rights to list nodes and pods. What another process is
 * about to bind is not in the objects yet: such a pod waits on both sides.
 */
#ifndef CMD_CLUSTER_READING_H
#define CMD_CLUSTER_READING_H

#include "base/compiler.h"
#include "base/err.h"
#include "core/ledger/ledger.h"
#include "model/credentials.h"
#include "model/policy.h"

/* On success both ledgers are the caller's.
 *   ERR_UNAVAILABLE  the API server does not answer, or refuses
 *   ERR_LIMIT        an object is too large to interpret, or there are too many */
WARN_UNUSED int cluster_read(const struct credentials *creds, const struct policy *const policies[2],
                             struct ledger *ret[2], struct err *reterr);

#endif
