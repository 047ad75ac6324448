/* support/canned.h - a small synced cluster, the same every time: nodes n1 to n5 with GPUs known by
 * UUID, by index, shared already, of a plugin, and without any, and pods on them. */
#ifndef FUZZ_SUPPORT_CANNED_H
#define FUZZ_SUPPORT_CANNED_H

#include "base/clock.h"
#include "extender/ingest.h"
#include "extender/placement.h"
#include "extender/store.h"

struct canned {
    struct clock_manual clock;
    struct store *store;
    struct ingest ingest;
    struct placement_context placement;
};

void canned_init(struct canned *c);
void canned_fini(struct canned *c);

#endif
