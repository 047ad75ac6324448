#include "fence_words.h"

#include "base/sentence.h"
#include "node/grant.h"

#define AMOUNT_BYTES 160

/* "700 of 1000 milli, 400 of 1000 MiB, 1 of 4 places"; whoever told of the device may know no number of places. */
static void say_taken(const struct fence_use *there, const struct fence_capacity *cap, char text[AMOUNT_BYTES])
{
    struct sentence t = sentence_begin(text, AMOUNT_BYTES);

    sentence_add(&t, "%lld of %lld milli, %lld of %lld MiB", (long long)there->milli, (long long)cap->milli,
                 (long long)there->mem_mib, (long long)cap->mem_mib);
    if (cap->sharers != INT32_MAX) {
        sentence_add(&t, ", %d of %d places", there->sharers, cap->sharers);
    }
    if (there->closed) {
        sentence_add(&t, " are taken, and it can be used by somebody to whom fgpu did not give it");
        return;
    }
    sentence_add(&t, there->alone ? " are taken by somebody who has it alone" : " are taken");
}

static void say_wanted(const struct fence_use *wanted, char text[AMOUNT_BYTES])
{
    struct sentence t = sentence_begin(text, AMOUNT_BYTES);

    if (wanted->alone) {
        sentence_add(&t, "it alone");
    } else {
        sentence_add(&t, "%lld milli and %lld MiB", (long long)wanted->milli, (long long)wanted->mem_mib);
    }
}

/* Both pods come first, because whoever shows the sentence may cut it. */
struct str fence_words_no_room(const struct device *d, const struct fence_container *c, const struct fence_use *wanted,
                               const struct fence_use *there, const struct fence_capacity *cap,
                               const struct fence_container *holder, struct arena *a)
{
    char wants[AMOUNT_BYTES], taken[AMOUNT_BYTES], others[32];
    struct sentence t = sentence_begin(others, sizeof(others));

    say_wanted(wanted, wants);
    if (holder == NULL) {
        return grant_sentence(arena_printf(
            a,
            "container %.*s of pod %.*s/%.*s wants %s of GPU %.*s, which has %lld milli and %lld MiB; delete "
            "the pod so that it is placed again",
            STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), wants, STR_ARG(d->uuid), (long long)cap->milli,
            (long long)cap->mem_mib));
    }
    say_taken(there, cap, taken);
    if (there->sharers > 1) {
        sentence_add(&t, " and %d more", there->sharers - 1);
    }
    return grant_sentence(
        arena_printf(a,
                     "container %.*s of pod %.*s/%.*s finds no room beside container %.*s of pod %.*s/%.*s%s: it wants "
                     "%s of GPU %.*s, where %s; it is tried again until there is room",
                     STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), STR_ARG(holder->name),
                     STR_ARG(holder->namespace_), STR_ARG(holder->pod), others, wants, STR_ARG(d->uuid), taken));
}

struct str fence_words_not_here(const struct node_facts *node, const struct fence_container *c,
                                const struct assigned_device *device, struct arena *a)
{
    return grant_sentence(arena_printf(
        a, "GPU %.*s, which container %.*s of pod %.*s/%.*s was given, is not on node %.*s", STR_ARG(device->uuid),
        STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), STR_ARG(node->name)));
}

struct str fence_words_granted(const struct device *d, const struct fence_container *c,
                               const struct fence_container *holder, struct arena *a)
{
    return grant_sentence(arena_printf(
        a,
        "container %.*s of pod %.*s/%.*s has GPU %.*s from a device plugin or a ResourceClaim, but fgpu gave it to "
        "container %.*s of pod %.*s/%.*s; let only one of them hand out the GPUs of a node; it is tried again until "
        "that one has ended",
        STR_ARG(c->name), STR_ARG(c->namespace_), STR_ARG(c->pod), STR_ARG(d->uuid), STR_ARG(holder->name),
        STR_ARG(holder->namespace_), STR_ARG(holder->pod)));
}
