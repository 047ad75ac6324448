/* node/grant.h - what the record of a pod grants to one of its containers on this node.
 *
 * The record is the annotation that the Binding wrote (core/record/assignment.h), and the names of containers are the
 * contract: a container has exactly the devices that stand behind its name. A record that names the container means
 * something only if one of the node's public keys signed it for this pod uid on this node (design.md 5a); a record that
 * was forged, changed, copied from another pod or written for another node grants nothing and is refused with a
 * sentence, so that nobody waits for a GPU in a container that started without. What cannot be read at all may name
 * any container, and is refused, too.
 *
 * A record that does not name the container is not verified: it grants nothing to it either way.
 *
 * Who has no record, or one that is empty, has no grant. Pure.
 */
#ifndef NODE_GRANT_H
#define NODE_GRANT_H

#include "base/arena.h"
#include "node/facts.h"

enum grant_kind {
    GRANT_NOTHING,
    GRANT_DEVICES,
    GRANT_REFUSED, /* with `why` */
};

struct grant {
    enum grant_kind kind;
    const struct assigned_device *devices; /* as recorded, at least one; the node may have lost them */
    size_t device_n;
    enum qos qos;   /* of the pod */
    struct str why; /* a sentence for the pod's Event: what is wrong, and the remedy */
};

/* Text is borrowed from the pod or in `a`. An arena that is full refuses. */
struct grant grant_of(const struct node_facts *node, const struct pod_facts *pod, struct str container,
                      struct arena *a);

/* All of a record that holds, for who has to know what every container of the pod may have. False: there is none that
 * holds, or the arena is full. */
WARN_UNUSED bool grant_record(const struct node_facts *node, const struct pod_facts *pod, struct arena *a,
                              struct assignment *ret);

/* A refusal whose text was made in an arena that may be full by now. */
struct str grant_sentence(struct str text);

#endif
