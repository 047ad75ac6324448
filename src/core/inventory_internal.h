/* core/inventory_internal.h - an inventory in the making, and its sources. Contract:
 * core/inventory.h. */
#ifndef CORE_INVENTORY_INTERNAL_H
#define CORE_INVENTORY_INTERNAL_H

#include "core/inventory.h"

enum source_result {
    SOURCE_ABSENT,    /* says nothing: ask the next one */
    SOURCE_READ,      /* devices are filled in */
    SOURCE_MALFORMED, /* a note is set: no devices, and no other source */
};

struct inventory_draft {
    const struct policy *policy;
    struct device_settings settings; /* of this node */
    const struct node *node;
    struct arena *arena; /* for text with escapes */
    int64_t unsteered_n; /* whole GPUs in allocatable */
    bool unsteered_bad;  /* they are no number */
    const char *note;    /* the first one stays */
    size_t device_n;
    struct device devices[DEVICES_PER_NODE_MAX]; /* memory as on the card */
};

static inline void inventory_add_note(struct inventory_draft *d, const char *note)
{
    if (d->note == NULL) {
        d->note = note;
    }
}

static inline enum source_result inventory_malformed(struct inventory_draft *d, const char *note)
{
    inventory_add_note(d, note);
    return SOURCE_MALFORMED;
}

enum source_result inventory_from_annotation(struct inventory_draft *d);
/* Where a label names the profile of virtual GPUs, it holds for every device found. */
void inventory_apply_profile(struct inventory_draft *d);

#endif
