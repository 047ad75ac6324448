/* model/mig.h - how NVIDIA GPUs are cut into MIG instances: profiles, families, and the slots of one
 * GPU.
 *
 * A GPU in MIG mode has memory slices in a row, 8 of them (A30: 4), the slots. An instance of a
 * profile takes `size` slots from one of a few allowed starts. Its compute slices, 7 of the GPU
 * (A30: 4), need no bookkeeping: with these starts instances that do not overlap never want more
 * than there are. So one bit per slot, and one for the media engines, which only one "+me" instance
 * can have, are the whole state of a GPU.
 *
 * Source: reference tables of profiles and placements by NVIDIA (MIG user guide, nvidia-smi mig
 * -lgipp). Starts were published for A100, A30 and H100; those of H200 and B200 are inferred from
 * equal profile ids and counts. Memory is what drivers report, at the lower end; it moves by some
 * hundred MiB with the driver, so whoever knows the node's own number takes that. 0: nobody has
 * published it.
 *
 * A profile's name alone is no key: "1g.24gb" is one slice of one GPU and two of another. It is
 * text of a node or a pod; what it means on a GPU says the family.
 */
#ifndef MODEL_MIG_H
#define MODEL_MIG_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIG_SLOTS_MAX 8
#define MIG_INSTANCES_MAX 7
#define MIG_PROFILE_BYTES_MAX 16 /* of its text, with the 0 byte */
#define MIG_GB_MAX 2047
#define MIG_RESOURCE_PREFIX "nvidia.com/mig-"

/* A profile is a number: compute slices << 12 | media engines << 11 | gigabytes in its name. */
#define MIG_NO_PROFILE 0
#define MIG_PROFILE(g, gb) ((uint16_t)((g) << 12 | (gb)))
#define MIG_ME ((uint16_t)(1 << 11))

static inline unsigned mig_profile_slices(uint16_t profile)
{
    return profile >> 12 & 7;
}

static inline bool mig_profile_has_media(uint16_t profile)
{
    return (profile & MIG_ME) != 0;
}

/* "1g.5gb", "1g.10gb+me"; also with its compute instance, "1c.1g.5gb", where that is the whole
 * instance: only those are handed out as devices. MIG_NO_PROFILE: not of this form. */
uint16_t mig_profile_parse(struct str text);
/* The profile of "nvidia.com/mig-1g.10gb.me", as the device plugin spells it ('+' becomes '.'). */
uint16_t mig_profile_of_resource(struct str name);
/* The text of a profile; returns `buf`. */
const char *mig_profile_text(uint16_t profile, char buf[MIG_PROFILE_BYTES_MAX]);

/* What a profile is on one family of GPUs. */
struct mig_shape {
    uint16_t profile;
    uint8_t size;    /* slots */
    uint8_t starts;  /* a bit for each allowed start */
    uint8_t max;     /* instances on one empty GPU */
    int32_t mem_mib; /* 0: not published */
};

struct mig_family {
    const char *name;     /* "a100-40gb" */
    uint8_t slot_n;       /* memory slices */
    uint8_t slice_n;      /* compute slices */
    bool starts_inferred; /* not published, see above */
    const struct mig_shape *shapes;
    size_t shape_n;
};

extern const struct mig_family *const mig_families[]; /* NULL-terminated */

/* The family of a model as NVIDIA's tools name it, "NVIDIA-A100-SXM4-40GB", blanks or dashes
 * between the words. `mem_mib` is that of the whole card and decides where one model comes in
 * several sizes; 0: unknown, then the size in the name does. NULL: no MIG, or a GPU not in the
 * tables. */
const struct mig_family *mig_family_of(struct str model, int64_t mem_mib);

const struct mig_shape *mig_shape_find(const struct mig_family *f, uint16_t profile); /* NULL: it has none */

/* Instances of the profile that an empty GPU of whatever family can have: the largest number. 0: in
 * no table. */
unsigned mig_profile_max(uint16_t profile);
/* Share of the GPU's compute in thousandths: slices of 7, or of 4 for profiles of the A30. */
int32_t mig_profile_milli(uint16_t profile);

/* ---- the slots of one GPU ---- */

/* A bit for each occupied slot, and MIG_MEDIA_USED. */
#define MIG_MEDIA_USED 0x100

/* What an instance at `start` occupies. */
static inline uint16_t mig_extent(const struct mig_shape *s, unsigned start)
{
    unsigned slots = ((1U << s->size) - 1) << start;

    return (uint16_t)(slots | (mig_profile_has_media(s->profile) ? MIG_MEDIA_USED : 0));
}

/* The starts, a bit each, at which another instance can be made. */
uint8_t mig_free_starts(const struct mig_shape *s, uint16_t occupied);
/* Occupies; false, and nothing changed, when the start is not allowed or not free. */
bool mig_occupy(const struct mig_shape *s, unsigned start, uint16_t *occupied);
void mig_vacate(const struct mig_shape *s, unsigned start, uint16_t *occupied); /* what was occupied */

/* In how many ways one instance more, of any profile, could be made. */
unsigned mig_count_placements(const struct mig_family *f, uint16_t occupied);
/* The free start after which mig_count_placements() is largest, the highest of equals; -1: none is
 * free. Of four rules tried over all sequences of up to five requests on an A100 (lowest start;
 * highest for 1g and 3g and lowest for the others; most layouts left; this one) it served the most
 * slots. */
int mig_choose_start(const struct mig_family *f, const struct mig_shape *s, uint16_t occupied);

/* How many instances of the shape can still be made. */
unsigned mig_count_free(const struct mig_shape *s, uint16_t occupied);

#endif
