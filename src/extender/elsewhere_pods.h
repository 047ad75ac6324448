/* What extender/elsewhere.h remembers of the pods that were refused on a sample: which nodes each was asked about, what
 * it has spent, when it is woken. It is the thread's own. */
#ifndef EXTENDER_ELSEWHERE_PODS_H
#define EXTENDER_ELSEWHERE_PODS_H

#include "base/str.h"
#include "extender/elsewhere.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pod that was refused, on its way to the thread. Everything is its own. */
struct elsewhere_question {
    struct elsewhere_question *next;
    struct view_pod pod;
    struct demand *demand;
    char *text;
    uint64_t *labels;
    uint64_t *asked;
    size_t asked_word_n, name_n;
    uint64_t names_version;
};

/* What is remembered of a pod. */
struct elsewhere_pod {
    char *uid; /* NULL: free, or that of everybody without a place */
    struct str uid_text;
    uint64_t hash;
    struct demand *demand; /* that this is about; NULL: of many */
    uint64_t rules_generation;
    struct store_tried asked; /* what it was asked about */
    struct store_tried tried; /* and what does not take it, or was given up */
    unsigned stale_n;         /* attempts in a row that have named no new node, each after: */
    int64_t due_ns;           /* when the last PATCH for it was to be sent */
    bool shared;              /* and that one was not its own */
    uint64_t spent_n;         /* of its own */
    int64_t heard_ns;
};

struct elsewhere_pods {
    struct elsewhere_pod pods[ELSEWHERE_PODS_MAX];
    struct elsewhere_pod others; /* all that have no place */
};

/* The pod's memory, emptied of the nodes if its demand or the rules are others now. Where all places are taken by pods
 * that were heard of lately it is that of `others`. */
struct elsewhere_pod *elsewhere_pods_of(struct elsewhere_pods *all, const struct elsewhere_question *q,
                                        uint64_t rules_generation, int64_t now_ns);
/* Notes what it was asked about. Returns how many nodes that was for the first time as they are now. */
size_t elsewhere_add_asked(struct store_tried *t, const struct elsewhere_question *q);
void elsewhere_pods_free(struct elsewhere_pods *all);

#endif
