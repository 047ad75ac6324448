/* Places: what the pods to come would fill if all of them were alike, one kind after the other.
 *
 * For each kind of pods in the lists: how many fit on the devices of the residual at once, times what they count for
 * (mean_parts.c); and of this the mean, each kind as often as it is in the lists. A hole that only a rare kind can use
 * is worth little here, and a hole that is too small for all is worth nothing. A rollout offers 64 pods to one node, as
 * if no other node wanted them, so it takes every hole for filled that some pod of a list fits, and it likes holes that
 * keep large pods out (decision 0051).
 *
 * No more pods than cores and memory of the machine allow.
 *
 * An eighth of what is free on a GPU, times the free part of that GPU, is added: what is free in one piece is worth a
 * little more than the same in several. So of places that cost alike the tightest GPU is taken (decision 0056).
 *
 * Cost: kinds in the lists x devices of the residual; runs of equal devices are looked at once.
 */
#include "core/forecast/rollout_internal.h"

#include <string.h>

enum { TIGHTNESS = 8 };

/* ---- which kinds there are ---- */

static int compare_i32(int32_t a, int32_t b)
{
    return a < b ? -1 : a > b;
}

/* By all that places look at. */
static int compare_kinds(const struct sample *a, const struct sample *b, unsigned type_n)
{
    int c = compare_i32(a->count, b->count);

    c = c != 0 ? c : a->plugin_managed - b->plugin_managed;
    c = c != 0 ? c : compare_i32(a->mean_milli, b->mean_milli);
    c = c != 0 ? c : compare_i32(a->cpu_milli, b->cpu_milli);
    c = c != 0 ? c : compare_i32(a->mem_mib, b->mem_mib);
    for (unsigned t = 0; t < type_n && c == 0; t++) {
        c = compare_i32(a->on[t].milli, b->on[t].milli);
        c = c != 0 ? c : compare_i32(a->on[t].mem_mib, b->on[t].mem_mib);
    }
    return c;
}

static const struct sample *sample_at(const struct rollout_samples *s, unsigned at)
{
    return &s->full[at / ROLLOUT_PODS][at % ROLLOUT_PODS];
}

/* Insertion: kinds are few, and 1,024 pods are sorted when the demand histogram settles, which is rare. */
static void add_kind(struct rollout_samples *s, unsigned at)
{
    unsigned low = 0, high = s->kind_n;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int c = compare_kinds(sample_at(s, s->kinds[middle].at), sample_at(s, at), s->type_n);

        if (c == 0) {
            s->kinds[middle].n++;
            return;
        }
        low = c < 0 ? middle + 1 : low;
        high = c < 0 ? high : middle;
    }
    memmove(&s->kinds[low + 1], &s->kinds[low], (s->kind_n - low) * sizeof(s->kinds[0]));
    s->kinds[low] = (struct sample_kind){(uint16_t)at, 1};
    s->kind_n++;
}

void rollout_places_seal(struct rollout_samples *s)
{
    s->kind_n = 0;
    for (unsigned k = 0; k < ROLLOUT_LISTS; k++) {
        for (unsigned i = 0; i < s->lists[k].n; i++) {
            if (s->full[k][i].count > 0) {
                add_kind(s, k * ROLLOUT_PODS + i);
            }
        }
    }
}

/* ---- how many of them fit ---- */

/* On one device; none where it has too little of either. */
static int32_t on_device(const struct residual_device *v, const struct sample_charge *c)
{
    int32_t n, by_memory;

    if (c->milli > v->milli || c->mem_mib > v->mem_mib) { /* ROLLOUT_NEVER is above all */
        return 0;
    }
    n = c->milli > 0 ? v->milli / c->milli : INT32_MAX;
    by_memory = v->mem_mib == INT32_MAX || c->mem_mib <= 0 ? INT32_MAX : v->mem_mib / c->mem_mib;
    n = n < by_memory ? n : by_memory;
    return n == INT32_MAX ? 1 : n; /* takes nothing that is counted */
}

/* What pods of one kind would fill. Several devices of one pod are different ones. */
static int64_t filled_by(const struct residual *r, const struct sample *d)
{
    int64_t devices = 0;
    int32_t here = 0, pods;

    for (unsigned i = 0; i < r->device_n; i++) {
        const struct residual_device *v = &r->devices[i];

        if (i == 0 || v->milli != v[-1].milli || v->mem_mib != v[-1].mem_mib || v->type != v[-1].type) {
            here = on_device(v, &d->on[v->type]);
            here = d->count > 1 && here > 1 ? 1 : here;
        }
        devices += here;
    }
    pods = devices / d->count < INT32_MAX ? (int32_t)(devices / d->count) : INT32_MAX;
    pods = residual_times(residual_times(pods, r->cpu_milli, d->cpu_milli), r->mem_mib, d->mem_mib);
    return (int64_t)pods * d->count * d->mean_milli;
}

/* Sum of the squares of what is free on each GPU, in milli. */
static int64_t squares(const struct residual *r)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < r->device_n; i++) {
        int64_t free = r->devices[i].mem_mib > 0 ? r->devices[i].milli : 0;

        sum += free * free;
    }
    return sum;
}

int64_t rollout_places(const struct rollout_samples *s, const struct residual *r)
{
    int64_t sum = 0;

    for (unsigned k = 0; k < s->kind_n; k++) {
        const struct sample *d = sample_at(s, s->kinds[k].at);

        if ((r->kinds & (d->plugin_managed ? RESIDUAL_PLUGIN : RESIDUAL_SHARES)) != 0) {
            sum += filled_by(r, d) * s->kinds[k].n;
        }
    }
    /* The mean over lists x pods, for each list, and a TIGHTNESS-th of the squares, in GPUs; rounded once. */
    return (sum * TIGHTNESS * DEVICE_MILLI + squares(r) * ROLLOUT_LISTS * ROLLOUT_PODS) /
           (ROLLOUT_PODS * TIGHTNESS * DEVICE_MILLI);
}
