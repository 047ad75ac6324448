/* core/inventory/internal.h - an inventory in the making, and its sources. Contract:
 * core/inventory/inventory.h. */
#ifndef CORE_INVENTORY_INTERNAL_H
#define CORE_INVENTORY_INTERNAL_H

#include "core/inventory/inventory.h"

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
    int64_t unsteered_n; /* GPUs, replicas or units of plugins in allocatable */
    bool unsteered_bad;  /* they are no number */
    uint64_t unsteered_names;
    bool shared;           /* NVIDIA's plugin sells replicas, as far as labels tell */
    bool one_unit;         /* one to a container */
    int32_t units_per_gpu; /* 1: whole GPUs; 0: nobody knows */
    bool unmeasured;     /* as in struct inventory */
    const char *note;    /* the first one stays */
    bool mig_changing;   /* as in struct inventory */
    bool mig_single;
    bool mig_counted;    /* a plugin has the node's instances */
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

enum source_result inventory_from_annotation(struct inventory_draft *d);
/* What plugins offer that leave the choice to kubelet: number, names, and how much of a GPU each is. */
void inventory_read_units(struct inventory_draft *d);
/* The first template of the configuration for the node; NULL: none. */
const struct node_template *inventory_template(const struct inventory_draft *d);
/* Does the admin say that numbers in allocatable are numbers of whole GPUs? */
bool inventory_is_vouched_for(const struct inventory_draft *d);
/* Does anybody who knows say what one of the plugin's GPUs in allocatable is? After inventory_read_units(). */
bool inventory_is_explained(const struct inventory_draft *d);
/* Why the GPUs of the node belong to another system; NULL: they do not, as far as its object tells. */
const char *inventory_foreign_agent(const struct policy *p, const struct node *node);
/* A product label without the suffix of shared GPUs. */
struct str inventory_plain_product(struct str product);
/* Does a label name a profile of virtual GPUs, known or not? */
bool inventory_has_profile(const struct node *node);
/* Where a label names the profile of virtual GPUs, it holds for every device found. */
void inventory_apply_profile(struct inventory_draft *d);
/* MIG instances of which only their numbers are known: what NVIDIA's plugin publishes, single or mixed. */
enum source_result inventory_from_mig_plugin(struct inventory_draft *d);
/* Instances that the annotation lists and a plugin hands out are counted; where their numbers differ, the smaller. */
void inventory_compare_mig_plugin(struct inventory_draft *d);
/* Is the MIG layout of the node as the MIG manager wants it? */
bool inventory_mig_is_changing(const struct node *node);

#endif
