/* extender/support/fake_lister.h - kube/lister.h without an API server: what a test puts here is what lists bring.
 *
 * A program that uses this links it instead of src/kube/lister.c and src/kube/transport_stream.c. Calls of a list are
 * made on the thread that lists; a test changes what is here before it lets that thread work, or from a callback.
 */
#ifndef EXTENDER_SUPPORT_FAKE_LISTER_H
#define EXTENDER_SUPPORT_FAKE_LISTER_H

#include "kube/lister.h"

#include <stdbool.h>
#include <stddef.h>

#define FAKE_LISTER_NODES_MAX 8

struct fake_lister {
    const struct pod *pods;
    size_t pod_n;
    struct node nodes[FAKE_LISTER_NODES_MAX];
    size_t node_n;
    struct str unusable; /* the object of this name cannot be decoded */
    /* How lists of all objects end, and reads of the object of this name: an enum err_code; ERR_OK: well. */
    enum err_code list_fails[KUBE_RESOURCE__MAX], one_fails;
    struct str one_failing;
    unsigned list_n; /* complete lists of all objects so far, and reads of one */
    unsigned one_n;
    /* May be NULL. Called when a list of all objects was begun, and before a read of one is answered. */
    void (*listing)(enum kube_resource resource);
    void (*reading)(struct str name);
    void (*interrupted)(void); /* kube_stream_interrupt() was called; on any thread */
    /* The list breaks once, behind its last item, and begins again. */
    bool begins_again;
};

extern struct fake_lister fake_lister;

#endif
