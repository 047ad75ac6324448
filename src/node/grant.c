#include "node/grant.h"

#include "base/printable.h"

#include <string.h>

_Static_assert(ASSIGNMENT_SIG_BYTES == SIGN_SIGNATURE_BYTES, "a record's signature is one of ours");

#define NO_MEMORY STR("fgpu-node has no memory left for this container; it will be tried again")

struct str grant_sentence(struct str text)
{
    return text.p != NULL ? text : NO_MEMORY;
}

static struct grant refused(struct str why)
{
    return (struct grant){.kind = GRANT_REFUSED, .why = grant_sentence(why)};
}

static const struct assigned_container *container_of(const struct assignment *as, struct str name)
{
    for (size_t i = 0; i < as->container_n; i++) {
        if (str_eq(as->containers[i].name, name)) {
            return &as->containers[i];
        }
    }
    return NULL;
}

/* The sentences name the pod, for who reads them in a log. */
#define POD_FMT "pod %.*s/%.*s"
#define POD_ARG(pod) STR_ARG((pod)->namespace_), STR_ARG((pod)->name)

static struct grant unreadable(const struct pod_facts *pod, const struct err *err, struct arena *a)
{
    struct str why = printable(a, str_of(err->msg)); /* it may cite what a tenant wrote */

    return refused(arena_printf(a,
                                "the record of " POD_FMT
                                " cannot be read (%.*s); only fgpu writes it: delete the pod and "
                                "create it without this annotation",
                                POD_ARG(pod), STR_ARG(why)));
}

/* STR_NULL: it holds. */
static struct str what_is_wrong(const struct node_facts *node, const struct pod_facts *pod, const struct assignment *as,
                                struct arena *a)
{
    const struct sign_public *key;
    struct str bytes;

    if (as->sig == NULL) {
        return grant_sentence(arena_printf(
            a,
            "the record of " POD_FMT " is not signed, so it grants no GPU; let fgpu place the pod again, with signing "
            "switched on",
            POD_ARG(pod)));
    }
    key = sign_keyring_find(node->keys, as->sig_key);
    if (key == NULL) {
        struct str id = printable(a, as->sig_key);

        return grant_sentence(arena_printf(a,
                                           "the record of " POD_FMT
                                           " is signed by the key %.*s, which node %.*s does not "
                                           "know; add it to the public keys of fgpu-node",
                                           POD_ARG(pod), STR_ARG(id), STR_ARG(node->name)));
    }
    if (assignment_signed_bytes(as, pod->uid, node->name, a, &bytes, NULL) != 0) {
        return NO_MEMORY;
    }
    if (!sign_verify(key, bytes, as->sig)) {
        return grant_sentence(arena_printf(a,
                                           "the signature of the record of " POD_FMT
                                           " does not hold for this pod on node %.*s: the record was changed, or "
                                           "belongs to another pod or node; delete the pod and let fgpu place it again",
                                           POD_ARG(pod), STR_ARG(node->name)));
    }
    return STR_NULL;
}

/* Empty: the pod has none. An annotation that was overwritten with nothing is none, too. */
static struct str record_text(const struct pod_facts *pod)
{
    const struct str *text = kv_find(pod->annotations, STR(ASSIGNMENT_KEY));

    return text == NULL ? STR_NULL : *text;
}

bool grant_record(const struct node_facts *node, const struct pod_facts *pod, struct arena *a, struct assignment *ret)
{
    const struct str text = record_text(pod);

    return text.n > 0 && assignment_parse(text, a, ret, NULL) == 0 && what_is_wrong(node, pod, ret, a).p == NULL;
}

struct grant grant_of(const struct node_facts *node, const struct pod_facts *pod, struct str container, struct arena *a)
{
    const struct str text = record_text(pod);
    const struct assigned_container *c;
    struct assignment as;
    struct err err;
    struct str why;

    if (text.n == 0) {
        return (struct grant){.kind = GRANT_NOTHING};
    }
    if (assignment_parse(text, a, &as, &err) != 0) {
        return a->overflowed ? refused(STR_NULL) : unreadable(pod, &err, a);
    }
    c = container_of(&as, container);
    if (c == NULL || c->device_n == 0) {
        return (struct grant){.kind = GRANT_NOTHING};
    }
    why = what_is_wrong(node, pod, &as, a);
    if (why.p != NULL) {
        return refused(why);
    }
    return (struct grant){.kind = GRANT_DEVICES, .devices = c->devices, .device_n = c->device_n, .qos = as.qos};
}
