/* Why a demand does not fit. This runs after the answer "no placement" and never changes it.
 *
 * The needs of a GPU request are asked of every device in one fixed order. Each need is asked only of the devices that
 * met all needs before it. The verdict is the first need that leaves fewer than `count` devices. So "too small" speaks
 * of the devices of the allowed model, and "no slot" of the devices with enough compute and memory.
 *
 * The order is that of how lasting a reason is: what no eviction changes comes first. Where several requests fail
 * alone, the earliest need speaks, so that kube-scheduler does not evict pods in vain (verdict_is_unresolvable).
 *
 * O(requests x devices); runs of equal devices are counted as one.
 */
#include "core/fit/feasibility_internal.h"
#include "model/mig.h"

enum need {
    NEED_DEVICE,
    NEED_OURS,
    NEED_ALLOWED,
    NEED_KNOWN_MEMORY,
    NEED_SIZE,
    NEED_HEALTHY,
    NEED_HOST,
    /* up to here no pod of the node that leaves changes anything */
    NEED_SOUND,
    NEED_SHARED,
    NEED_EMPTY,
    NEED_COMPUTE, /* of the devices that meet NEED_EMPTY; */
    NEED_MEMORY,  /* of the same devices, not of those that meet NEED_COMPUTE */
    NEED_ROOM,    /* both on one device: where only this fails, each is there, but not together */
    NEED_SLOT,
    NEED_APART,
    NEED__MAX
};

/* How many devices meet a need and all before it (NEED_MEMORY: all before NEED_COMPUTE). */
struct tally {
    unsigned met[NEED__MAX];
};

/* Counts `n` devices equal to `d`. */
static void count_devices(struct tally *t, const struct feasibility *f, const struct device_state *d,
                          const struct charge *c, unsigned n)
{
    bool compute = c->milli <= d->milli_free;
    bool memory = c->mem_mib <= d->mem_free_mib;

    if ((d->flags & DEVICE_LOST) != 0 || d->profile != c->profile) {
        return;
    }
    t->met[NEED_DEVICE] += n;
    if ((d->flags & DEVICE_ELSEWHERE) != 0) {
        return;
    }
    t->met[NEED_OURS] += n;
    if ((d->flags & DEVICE_DENIED) != 0 || !feasibility_allows(f, d)) {
        return;
    }
    t->met[NEED_ALLOWED] += n;
    if (c->mem_mib > 0 && d->mem_cap_mib == 0) {
        return;
    }
    t->met[NEED_KNOWN_MEMORY] += n;
    if (c->mem_mib > d->mem_cap_mib) {
        return;
    }
    t->met[NEED_SIZE] += n;
    if ((d->flags & DEVICE_HEALTHY) == 0) {
        return;
    }
    t->met[NEED_HEALTHY] += n;
    if ((d->flags & DEVICE_GROUP_TAKEN) != 0) {
        return;
    }
    t->met[NEED_HOST] += n;
    if (device_is_overcommitted(d)) {
        return;
    }
    t->met[NEED_SOUND] += n;
    if ((d->flags & (DEVICE_EXCLUSIVE | DEVICE_BLOCKED)) != 0 ||
        (d->flags & (DEVICE_SLICE | DEVICE_IN_USE)) == (DEVICE_SLICE | DEVICE_IN_USE)) {
        return;
    }
    t->met[NEED_SHARED] += n;
    if (c->exclusive && (d->flags & DEVICE_IN_USE) != 0) {
        return;
    }
    t->met[NEED_EMPTY] += n;
    t->met[NEED_COMPUTE] += compute ? n : 0;
    t->met[NEED_MEMORY] += memory ? n : 0;
    if (!compute || !memory) {
        return;
    }
    t->met[NEED_ROOM] += n;
    if (c->slots > d->slot_free) {
        return;
    }
    t->met[NEED_SLOT] += n;
    t->met[NEED_APART] += (d->flags & DEVICE_ISOLATED) == 0 ? n : 0;
}

static const enum verdict verdicts[] = {
    [NEED_DEVICE] = VERDICT_TOO_FEW_GPUS, [NEED_OURS] = VERDICT_ELSEWHERE,
    [NEED_ALLOWED] = VERDICT_NOT_ALLOWED, [NEED_KNOWN_MEMORY] = VERDICT_MEMORY_UNKNOWN,
    [NEED_SIZE] = VERDICT_NO_MEMORY,      [NEED_HEALTHY] = VERDICT_UNHEALTHY,
    [NEED_HOST] = VERDICT_HOST_GROUP,     [NEED_SOUND] = VERDICT_OVERCOMMITTED,
    [NEED_SHARED] = VERDICT_HELD_ALONE,   [NEED_EMPTY] = VERDICT_NOT_EMPTY,
    [NEED_COMPUTE] = VERDICT_NO_COMPUTE,  [NEED_MEMORY] = VERDICT_NO_MEMORY,
    [NEED_ROOM] = VERDICT_FRAGMENTED,     [NEED_SLOT] = VERDICT_NO_SLOT,
    [NEED_APART] = VERDICT_ISOLATED,      [NEED__MAX] = VERDICT_NO_COMBINATION,
};

static enum verdict verdict_of(enum need need, unsigned left)
{
    if (need == NEED_DEVICE && left == 0) {
        return VERDICT_NO_GPU;
    }
    if (need == NEED_SIZE && left == 0) { /* "every GPU is too small" would be a lie where one is large enough */
        return VERDICT_GPU_TOO_SMALL;
    }
    return verdicts[need];
}

static unsigned count_of_profile(const struct feasibility *f, bool instances)
{
    unsigned n = 0;

    for (size_t i = 0; i < f->node->device_n; i++) {
        const struct device_state *d = &f->devices[i];

        if ((d->flags & DEVICE_LOST) == 0) {
            n += instances ? device_is_instance(d) : d->profile == DEVICE_IN_MIG_MODE;
        }
    }
    return n;
}

/* In the words of MIG, where it is the cause. */
static enum verdict verdict_of_mig(const struct feasibility *f, const struct gpu_request *w, enum need need,
                                   unsigned left)
{
    unsigned gpu_n, instance_n, max;

    if (w->profile == 0 && need != NEED_DEVICE) {
        return verdict_of(need, left);
    }
    gpu_n = count_of_profile(f, false);
    instance_n = count_of_profile(f, true);
    if (need == NEED_DEVICE && f->node->device_n == 0 && f->node->plugin_managed_cap > 0) {
        return VERDICT_UNMEASURED;
    }
    if (need == NEED_DEVICE && gpu_n > 0 && instance_n == 0 && left == 0) {
        return VERDICT_MIG_EMPTY;
    }
    if (w->profile == 0) {
        return left == 0 && gpu_n + instance_n > 0 ? VERDICT_MIG_ONLY : verdict_of(need, left);
    }
    if (need == NEED_DEVICE) {
        max = mig_profile_max(w->profile) * gpu_n;
        return gpu_n > 0 && max > 0 && w->count > max ? VERDICT_MIG_IMPOSSIBLE : VERDICT_MIG_TOO_FEW;
    }
    return need >= NEED_SHARED && need <= NEED_SLOT ? VERDICT_MIG_TAKEN : verdict_of(need, left);
}

/* The first need of `w` that fewer than `count` devices meet, with how many do; NEED__MAX: fits alone. */
static enum need unmet_need(const struct feasibility *f, const struct gpu_request *w, unsigned *ret_left)
{
    const struct device_state *before = NULL;
    struct charge c = {0};
    struct tally t = {0};
    unsigned n;
    enum need need = NEED_DEVICE;

    for (size_t i = 0; i < f->node->device_n; i += n) {
        const struct device_state *d = &f->devices[i];

        n = 1;
        while (i + n < f->node->device_n && device_equal(d, d + n)) {
            n++;
        }
        if (before == NULL || !device_same_capacity(d, before)) {
            c = device_charge(d, f->demand, w);
            before = d;
        }
        count_devices(&t, f, d, &c, n);
    }
    while (need < NEED__MAX && t.met[need] >= w->count) {
        need++;
    }
    *ret_left = need < NEED__MAX ? t.met[need] : 0;
    return need;
}

/* Containers that run together cannot share what each wants alone: in one phase they need this many
 * devices however empty the node is. */
static bool wants_more_devices_than(const struct demand *d, unsigned device_n)
{
    for (unsigned phase = 0; phase < DEMAND_PHASES_MAX; phase++) {
        unsigned whole_n = 0, shared_n = 0;

        for (size_t w = 0; w < d->gpu_request_n; w++) {
            const struct gpu_request *gpu_request = &d->gpu_requests[w];

            if ((gpu_request->phases >> phase & 1) == 0) {
                continue;
            }
            if (gpu_request->kind == GPU_REQUEST_WHOLE) {
                whole_n += gpu_request->count;
            } else if (gpu_request->count > shared_n) {
                shared_n = gpu_request->count;
            }
        }
        if (whole_n + shared_n > device_n) {
            return true;
        }
    }
    return false;
}

enum verdict feasibility_reason(const struct feasibility *f)
{
    enum need worst = NEED__MAX;
    unsigned left = 0, device_n = 0;
    const struct gpu_request *unmet = NULL;

    for (size_t w = 0; w < f->demand->gpu_request_n; w++) {
        unsigned left_of_this;
        enum need need = unmet_need(f, &f->demand->gpu_requests[w], &left_of_this);

        if (need < worst) {
            worst = need;
            left = left_of_this;
            unmet = &f->demand->gpu_requests[w];
        }
    }
    if (worst > NEED_ALLOWED && f->demand->gpu_request_n > 1) {
        for (size_t i = 0; i < f->node->device_n; i++) {
            device_n += (f->devices[i].flags & DEVICE_LOST) == 0 &&
                        (demand_wants_instances(f->demand) ? device_is_instance(&f->devices[i])
                                                           : f->devices[i].profile != DEVICE_IN_MIG_MODE);
        }
        if (wants_more_devices_than(f->demand, device_n)) {
            return demand_wants_instances(f->demand) ? VERDICT_MIG_TOO_FEW : VERDICT_TOO_FEW_GPUS;
        }
    }
    if (worst > NEED_HOST && f->node->plugin_managed_used > 0 && demand_takes_shares(f->demand)) {
        return VERDICT_WHOLE_PODS_HERE;
    }
    return unmet == NULL ? verdict_of(worst, left) : verdict_of_mig(f, unmet, worst, left);
}
