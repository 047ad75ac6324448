#include "core/placement/twins.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct twins {
    uint64_t decision; /* the last one */
    struct twin slots[TWINS_SLOTS];
};

struct twins *twins_new(void)
{
    return xcalloc(1, sizeof(struct twins));
}

void twins_free(struct twins *t)
{
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

struct twin *twins_at(struct twins *t, uint64_t decision, const struct ledger_view *v, uint32_t node, bool *ret_known)
{
    const struct node_state *n = &v->nodes[node], *other;
    const uint64_t hash = hash_of(n, &v->devices[n->first_device]);
    struct twin *twin = &t->slots[hash % TWINS_SLOTS];

    BUG_ON(v->flags_devices);
    if (twin->decision == decision && twin->hash == hash && twin->node < v->node_n) {
        other = &v->nodes[twin->node];
        if (other->version == twin->version && node_equal(n, other) &&
            devices_are_same(&v->devices[n->first_device], &v->devices[other->first_device], n->device_n)) {
            *ret_known = true;
            return twin;
        }
    }
    *ret_known = false;
    twin->decision = decision;
    twin->hash = hash;
    twin->version = n->version;
    twin->node = node;
    return twin;
}
