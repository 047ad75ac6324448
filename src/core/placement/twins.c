/* Classes of nodes with the same numbers, kept from one decision to the next.
 *
 * A node is looked at when its version is another than last time: it leaves its class, and its numbers are compared
 * with a node of each class that has the same hash. So a decision over thousands of nodes, of which a few have changed,
 * compares a few, and reads no numbers of the others.
 *
 * The nodes of a class are a list, which finds one that is still as it was to compare with. Those that have changed are
 * taken off when they are met.
 */
#include "core/placement/twins.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, BUCKETS = 2 * TWINS_CLASSES_MAX, CLASSES_FIRST = 64, NODES_STEP = 64 };
_Static_assert((BUCKETS & (BUCKETS - 1)) == 0, "hashes are cut to it");

/* A node, by its index. */
struct member {
    uint64_t version;       /* of its numbers when it was looked at; 0: not yet */
    uint32_t class;         /* NONE: in no class */
    uint32_t before, after; /* in the class; NONE: the end */
};

struct class
{
    struct twin twin;
    uint64_t hash;
    uint32_t first; /* of its nodes */
    uint32_t next;  /* in its bucket, or of the free ones; NONE: the last */
};

struct twins {
    uint64_t decision; /* the last one */
    struct member *members;
    uint32_t member_n;
    struct class *classes;
    uint32_t class_n, class_cap;
    uint32_t free; /* classes without nodes */
    uint32_t buckets[BUCKETS];
};

struct twins *twins_new(void)
{
    struct twins *t = xcalloc(1, sizeof(*t));

    memset(t->buckets, 0xff, sizeof(t->buckets));
    t->free = NONE;
    return t;
}

void twins_free(struct twins *t)
{
    if (t != NULL) {
        free(t->members);
        free(t->classes);
    }
    free(t);
}

uint64_t twins_begin(struct twins *t)
{
    return ++t->decision;
}

/* ---- the numbers of a device as four words, of which the last two overlap: there is no gap between its members ----
 */

enum { DEVICE_BYTES = offsetof(struct device_state, memory_only) + 1, WORD = sizeof(uint64_t) };
_Static_assert((int)DEVICE_BYTES == 5 * sizeof(int32_t) + 5 * sizeof(int16_t) + 1, "no gap between members");
_Static_assert((int)DEVICE_BYTES > 3 * (int)WORD && (int)DEVICE_BYTES <= 4 * (int)WORD, "four words");

static inline uint64_t word_at(const struct device_state *d, size_t at)
{
    return hash_load((const char *)d + at);
}

static inline uint64_t device_differs(const struct device_state *a, const struct device_state *b)
{
    return (word_at(a, 0) ^ word_at(b, 0)) | (word_at(a, WORD) ^ word_at(b, WORD)) |
           (word_at(a, (size_t)2 * WORD) ^ word_at(b, (size_t)2 * WORD)) |
           (word_at(a, DEVICE_BYTES - WORD) ^ word_at(b, DEVICE_BYTES - WORD));
}

static bool devices_are_same(const struct device_state *a, const struct device_state *b, size_t n)
{
    uint64_t differ = 0;

    for (size_t i = 0; i < n; i++) {
        differ |= device_differs(&a[i], &b[i]);
    }
    return differ == 0;
}

/* Not all of it: what is alike by this is compared. Neighbours are mostly equal, so sums would be; each word meets
 * another factor. */
static uint64_t hash_of(const struct node_state *n, const struct device_state *devices)
{
    uint64_t a = (uint64_t)(uint32_t)n->host.cpu_free_milli << 32 | (uint32_t)n->host.mem_free_mib;
    uint64_t b = (uint64_t)(uint32_t)n->plugin_managed_used << 32 | (uint32_t)n->share_pod_n << 8 | n->flags;

    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *d = &devices[i];

        a = hash_fold(word_at(d, 0) ^ a, word_at(d, WORD) ^ UINT64_C(0x243f6a8885a308d3));
        b = hash_fold(word_at(d, (size_t)2 * WORD) ^ b, word_at(d, DEVICE_BYTES - WORD) ^ UINT64_C(0x13198a2e03707345));
    }
    return hash_fold(a ^ UINT64_C(0xa4093822299f31d1), b ^ n->device_n ^ UINT64_C(0x082efa98ec4e6c89));
}

/* ---- classes ---- */

static uint32_t *bucket_of(struct twins *t, uint64_t hash)
{
    return &t->buckets[hash & (BUCKETS - 1)];
}

/* NONE: there are too many. */
static uint32_t class_take(struct twins *t)
{
    uint32_t k = t->free;

    if (k != NONE) {
        t->free = t->classes[k].next;
        return k;
    }
    if (t->class_n == TWINS_CLASSES_MAX) {
        return NONE;
    }
    if (t->class_n == t->class_cap) {
        t->class_cap = t->class_cap == 0 ? CLASSES_FIRST : 2 * t->class_cap;
        t->classes = xreallocarray(t->classes, t->class_cap, sizeof(*t->classes));
    }
    return t->class_n++;
}

static uint32_t class_new(struct twins *t, uint64_t hash)
{
    uint32_t k = class_take(t), *bucket = bucket_of(t, hash);

    if (k != NONE) {
        t->classes[k].twin = (struct twin){.decision = 0};
        t->classes[k].hash = hash;
        t->classes[k].first = NONE;
        t->classes[k].next = *bucket;
        *bucket = k;
    }
    return k;
}

static void class_end(struct twins *t, uint32_t k)
{
    uint32_t *at = bucket_of(t, t->classes[k].hash);

    while (*at != k) {
        at = &t->classes[*at].next;
    }
    *at = t->classes[k].next;
    t->classes[k].next = t->free;
    t->free = k;
}

static void leave(struct twins *t, uint32_t node)
{
    struct member *m = &t->members[node];
    uint32_t k = m->class;

    if (k == NONE) {
        return;
    }
    if (m->before != NONE) {
        t->members[m->before].after = m->after;
    } else {
        t->classes[k].first = m->after;
    }
    if (m->after != NONE) {
        t->members[m->after].before = m->before;
    }
    m->class = NONE;
    if (t->classes[k].first == NONE) {
        class_end(t, k);
    }
}

static void join(struct twins *t, uint32_t node, uint32_t k)
{
    struct member *m = &t->members[node];
    uint32_t first = t->classes[k].first;

    m->class = k;
    m->before = NONE;
    m->after = first;
    t->classes[k].first = node;
    if (first != NONE) {
        t->members[first].before = node;
    }
}

/* A node of the class that is as it was; NONE: there is none, and no such class any more. */
static uint32_t example_of(struct twins *t, const struct ledger_view *v, uint32_t k)
{
    for (uint32_t node = t->classes[k].first, after; node != NONE; node = after) {
        if (node < v->node_n && v->nodes[node].version == t->members[node].version) {
            return node;
        }
        after = t->members[node].after;
        leave(t, node);
    }
    return NONE;
}

static bool are_twins(const struct ledger_view *v, const struct node_state *a, const struct node_state *b)
{
    return node_equal(a, b) &&
           devices_are_same(&v->devices[a->first_device], &v->devices[b->first_device], a->device_n);
}

static uint32_t class_find(struct twins *t, const struct ledger_view *v, const struct node_state *n, uint64_t hash)
{
    for (uint32_t k = *bucket_of(t, hash), next; k != NONE; k = next) {
        next = t->classes[k].next;
        if (t->classes[k].hash == hash) {
            uint32_t other = example_of(t, v, k);

            if (other != NONE && are_twins(v, n, &v->nodes[other])) {
                return k;
            }
        }
    }
    return NONE;
}

static void grow(struct twins *t, uint32_t node_n)
{
    uint32_t n = node_n + node_n / 8 + NODES_STEP;

    t->members = xreallocarray(t->members, n, sizeof(*t->members));
    for (uint32_t i = t->member_n; i < n; i++) {
        t->members[i] = (struct member){.class = NONE};
    }
    t->member_n = n;
}

/* Not inlined, so that what has not changed is found quickly. */
static __attribute__((noinline)) void classify(struct twins *t, const struct ledger_view *v, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    const uint64_t hash = hash_of(n, &v->devices[n->first_device]);
    uint32_t k;

    leave(t, node);
    t->members[node].version = n->version;
    k = class_find(t, v, n, hash);
    k = k != NONE ? k : class_new(t, hash);
    if (k != NONE) {
        join(t, node, k);
    }
}

struct twin *twins_at(struct twins *t, uint64_t decision, const struct ledger_view *v, uint32_t node, bool *ret_known)
{
    struct twin *twin;

    BUG_ON(v->flags_devices);
    if (node >= t->member_n) {
        grow(t, v->node_n);
    }
    if (t->members[node].version != v->nodes[node].version) {
        classify(t, v, node);
    }
    *ret_known = false;
    if (t->members[node].class == NONE) {
        return NULL;
    }
    twin = &t->classes[t->members[node].class].twin;
    *ret_known = twin->decision == decision;
    twin->decision = decision;
    return twin;
}
