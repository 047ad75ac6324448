/* core/support/snapshot_text.h - what a snapshot shows, as text that can be compared: nodes in their order, pods as
 * they come.
 */
#ifndef CORE_SUPPORT_SNAPSHOT_TEXT_H
#define CORE_SUPPORT_SNAPSHOT_TEXT_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "core/ledger/snapshot.h"

struct text {
    struct arena arena;
    struct strbuf nodes;
    struct str *pods;
    size_t pod_n;
    /* sums over what is shown, the devices of described nodes */
    int64_t milli_cap, milli_charged, mem_cap_mib, mem_charged_mib;
    uint64_t device_n, by_state[LEDGER_POD_STATE__MAX];
};

void text_init(struct text *t);
void text_fini(struct text *t);
void text_pod(struct text *t, const struct snapshot_pod *p);
void text_add(struct text *t, const struct snapshot *s);

#endif
