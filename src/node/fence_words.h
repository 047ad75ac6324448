/* Sentences of the last fence (node/fence.h): in the arena, or that there is no memory. */
#ifndef FENCE_WORDS_H
#define FENCE_WORDS_H

#include "node/fence.h"

struct fence_capacity {
    int64_t milli, mem_mib;
    int32_t sharers;
};

/* `holder` is one of those who are there; NULL: nobody is. */
struct str fence_words_no_room(const struct device *d, const struct fence_container *c, const struct fence_use *wanted,
                               const struct fence_use *there, const struct fence_capacity *cap,
                               const struct fence_container *holder, struct arena *a);

struct str fence_words_not_here(const struct node_facts *node, const struct fence_container *c,
                                const struct assigned_device *device, struct arena *a);

/* `c` has the device from somebody else, `holder` from fgpu. */
struct str fence_words_granted(const struct device *d, const struct fence_container *c,
                               const struct fence_container *holder, struct arena *a);

#endif
