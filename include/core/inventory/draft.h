/* core/inventory/draft.h - an inventory in the making: what the dialects fill in when they read a node (parse_node in
 * core/dialects/dialect.h), and what they have in common. Contract of the whole: core/inventory/inventory.h.
 *
 * inventory_begin(); then the sources in their order, until one has devices; then inventory_finish(). Only
 * src/core/dialects/node.c does that; a dialect uses the rest.
 */
#ifndef CORE_INVENTORY_DRAFT_H
#define CORE_INVENTORY_DRAFT_H

#include "base/arena.h"
#include "base/compiler.h"
#include "core/inventory/inventory.h"
#include "model/node.h"
#include "model/policy.h"

/* How GPU Feature Discovery ends the product of GPUs that a plugin shares. */
#define INVENTORY_SHARED_PRODUCT "-SHARED"

enum source_result {
    SOURCE_ABSENT,    /* says nothing: ask the next one */
    SOURCE_DEFERRED,  /* says too little: ask nobody else for this source, but the next source */
    SOURCE_READ,      /* devices are filled in */
    SOURCE_MALFORMED, /* a note is set: no devices, and no other source */
};

struct inventory_draft {
    const struct policy *policy;
    struct device_settings settings; /* of this node */
    const struct node *node;
    struct arena *arena; /* for text with escapes */
    /* What plugins sell while kubelet picks, beside the devices. Read before any source; here nobody sells anything. */
    int64_t plugin_managed_n; /* GPUs, replicas or units of plugins in allocatable */
    bool plugin_managed_bad;  /* they are no number */
    uint64_t plugin_managed_names;
    int64_t unshareable_n;   /* of these, under names that cannot be shared: no devices for shares */
    bool unshareable;        /* such a name is there, whatever its amount */
    uint32_t vendors;        /* of the names in allocatable, a bit each (enum gpu_vendor); */
    uint32_t vendors_shared; /* of those that can be shared */
    bool shared;             /* NVIDIA's plugin sells replicas, as far as labels tell */
    bool one_unit;           /* one to a container */
    int32_t units_per_gpu;   /* 1: whole GPUs; 0: nobody knows */
    const char *foreign;     /* why the GPUs belong to another system; NULL: they do not, as far as the object tells */
    bool unmeasured;         /* as in struct inventory */
    const char *note;        /* the first one stays */
    bool mig_changing;       /* as in struct inventory */
    bool mig_single;
    bool mig_counted; /* a plugin has the node's instances */
    bool of_agent;    /* fgpu-node wrote the annotation */
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

/* A quantity that is a whole number of 0..max. */
bool inventory_read_amount(struct str text, int64_t max, int64_t *ret);
/* The sum of the named resources in allocatable; absent ones count 0. False: one is no number of 0..max. */
bool inventory_sum_allocatable(const struct node *node, const struct str *names, size_t n, int64_t max, int64_t *ret);
/* Nobody has measured, or said, what is behind the number in allocatable: unmeasured, unless a template of the
 * configuration knows the number, which is asked next. */
enum source_result inventory_unmeasured(struct inventory_draft *d, const char *note);
/* Sentences that several say. */
#define INVENTORY_NOTE_RESOURCE "GPU resource in allocatable is not a whole number"
#define INVENTORY_NOTE_UNMEASURED                                                                                      \
    "only allocatable says that there are GPUs, and a plugin may split GPUs: no shares are placed here. Run GPU "      \
    "Feature Discovery, set label fgpu.io/allocatable=whole-gpus, or use nodeTemplates"
#define INVENTORY_NOTE_UNSHAREABLE                                                                                     \
    "what the device plugin of this node publishes cannot be shared, as far as fgpu knows: no shares are placed "      \
    "here. "                                                                                                           \
    "If these are GPUs that pods may share, say so under resources.plugins (shareable: true)"
#define INVENTORY_NOTE_CRUMB                                                                                           \
    "allocatable has less than a thousandth of a GPU in units of resources.compute: no shares are placed here"
#define INVENTORY_NOTE_REPLICAS                                                                                        \
    "the device plugin shares these GPUs and no label says how many replicas a GPU has: each counts as a whole GPU"
/* A number of GPUs, and of one more a part: 1..999 milli, or 0 for none. */
struct gpu_amount {
    int64_t whole_n;
    int32_t part_milli;
};

/* units >= 0, of which units_per_gpu make one GPU; rounded down to a milli. */
struct gpu_amount inventory_amount_of(int64_t units, int64_t units_per_gpu);
static inline bool gpu_amount_equal(struct gpu_amount a, struct gpu_amount b)
{
    return a.whole_n == b.whole_n && a.part_milli == b.part_milli;
}
static inline bool gpu_amount_is_less(struct gpu_amount a, struct gpu_amount b)
{
    return a.whole_n != b.whole_n ? a.whole_n < b.whole_n : a.part_milli < b.part_milli;
}
/* GPUs of one kind that allocatable counts, not none, known by their index only; a part comes last. Their memory is
 * that of the memory resources in allocatable, which is the part's where there is a part, else what the next source
 * tells of a whole GPU. */
enum source_result inventory_add_allocatable(struct inventory_draft *d, struct gpu_amount n);
/* Does the admin say that numbers in allocatable are numbers of whole GPUs? */
bool inventory_is_vouched_for(const struct inventory_draft *d);
/* Does a label name a profile of virtual GPUs, known or not? */
bool inventory_has_profile(const struct node *node);

/* ---- for dialects/node.c ---- */

/* Large, and not cleared by the caller. Nothing but `arena` is written to. */
void inventory_begin(struct inventory_draft *d, const struct policy *p, const struct node *node, struct arena *a);
/* What describes the machine and is no vocabulary: GPU Feature Discovery, MIG of NVIDIA's plugin, node templates. */
enum source_result inventory_from_machine(struct inventory_draft *d, enum inventory_source source);
/* As dialect_inventory() in core/dialects/dialect.h, with the source that had devices, or was malformed. */
WARN_UNUSED bool inventory_finish(struct inventory_draft *d, enum inventory_source source, struct inventory *ret,
                                  const char **ret_note);

#endif
