/* support/notation.h - pods and nodes in lines, so that mutation stays near what the vocabularies
 * read:
 *
 *     @KEY VALUE    an annotation          #KEY VALUE   a label
 *     c NAME, i NAME, s NAME               a container, an init container, a sidecar
 *     =NAME VALUE   a limit of the container before it; of a node: allocatable
 *     ~NAME VALUE   a request of the container before it
 *
 * A key without '/' gets "fgpu.io/" in front, and one that begins with it loses it. Repeated keys are dropped, as no
 * JSON object has them. Other lines, and what is beyond the bounds, are ignored.
 */
#ifndef FUZZ_SUPPORT_NOTATION_H
#define FUZZ_SUPPORT_NOTATION_H

#include "fuzz.h"

#include "base/arena.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/policy.h"

#define NOTATION_CONTAINERS_MAX 80
#define NOTATION_KEYS_MAX 16

struct notation_keys {
    struct kv items[NOTATION_KEYS_MAX];
    size_t n;
};

struct notation {
    struct pod pod;
    struct node node;
    struct notation_keys annotations, labels, allocatable;
    struct container app[NOTATION_CONTAINERS_MAX], init[NOTATION_CONTAINERS_MAX];
    struct notation_keys limits[2 * NOTATION_CONTAINERS_MAX], requests[2 * NOTATION_CONTAINERS_MAX];
};

/* Text is borrowed or in `a`; `ret` must not move. */
void notation_read(struct fuzz_input *in, struct arena *a, struct notation *ret);
/* The same keys in the opposite order. */
void notation_reverse(struct notation *n);

/* One of a few policies that differ in everything the vocabularies look at. */
const struct policy *notation_policy(struct fuzz_input *in);

#endif
