/* sim/meaning.h - what a request means by the settings of an admin, read from config/fgpu.yaml and design.md 5 and
 * written again here: nothing of src/core is asked.
 */
#ifndef SIM_MEANING_H
#define SIM_MEANING_H

#include "etcd.h"
#include "settings.h"

struct amounts {
    int count;
    int milli, mem_mib; /* of each GPU */
    bool whole;         /* alone */
};

struct caps {
    int milli, mem_mib, sharers;
};

/* Of the request, by settings `s`, on a GPU of so much memory on a node of that pool, which is read by `of_nodes`:
 * while a process changes from one file to another, facts are read by the new one already (extender/policy_set.h).
 * False: it is refused. */
bool meaning_of(const struct ask *a, const struct settings *s, const struct settings *of_nodes, unsigned pool,
                int gpu_mib, struct amounts *ret);
/* Is it no request at all, because nobody told fgpu that the name means GPUs? */
bool meaning_is_none(const struct ask *a, const struct settings *s);
/* May it be given an instance of that profile (struct offer)? It has it alone then. */
bool meaning_takes_instance(const struct ask *a, const struct settings *s, unsigned profile);
/* What such a GPU has to give. */
struct caps meaning_of_gpu(const struct settings *s, unsigned pool, int gpu_mib);
/* The limits of the namespace; NULL: it has none. */
const struct team *meaning_of_namespace(const struct settings *s, const char *name);

#endif
