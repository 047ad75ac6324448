#include "node/gpu_nodes.h"

#include "base/compiler.h"

#include <stddef.h>

#define BITS 64

static void set_bit(struct gpu_nodes *s, int64_t minor)
{
    s->minors[minor / BITS] |= UINT64_C(1) << minor % BITS;
}

void gpu_nodes_open(struct gpu_nodes *s, int64_t major, int64_t minor)
{
    if (major == GPU_NODES_ALL) {
        s->everything = true;
    }
    if (major != GPU_NODES_ALL && major != GPU_NODES_MAJOR) {
        return;
    }
    if (minor == GPU_NODES_ALL) {
        for (int64_t i = 0; i < GPU_NODES_MINORS; i++) {
            set_bit(s, i);
        }
    } else if (minor >= 0 && minor < GPU_NODES_MINORS) {
        set_bit(s, minor);
    }
}

bool gpu_nodes_has(const struct gpu_nodes *s, int64_t minor)
{
    return minor >= 0 && minor < GPU_NODES_MINORS && (s->minors[minor / BITS] >> minor % BITS & 1) != 0;
}

struct gpu_nodes gpu_nodes_without(const struct gpu_nodes *s, const struct gpu_nodes *but)
{
    struct gpu_nodes rest = *s;

    for (size_t i = 0; i < ARRAY_LEN(rest.minors); i++) {
        rest.minors[i] &= ~but->minors[i];
    }
    return rest;
}

void gpu_nodes_add(struct gpu_nodes *s, const struct gpu_nodes *more)
{
    for (size_t i = 0; i < ARRAY_LEN(s->minors); i++) {
        s->minors[i] |= more->minors[i];
    }
    s->everything = s->everything || more->everything;
}

int32_t gpu_nodes_first(const struct gpu_nodes *s)
{
    for (size_t i = 0; i < ARRAY_LEN(s->minors); i++) {
        if (s->minors[i] != 0) {
            return (int32_t)(i * BITS) + __builtin_ctzll(s->minors[i]);
        }
    }
    return -1;
}
