/* What several documents of one node tell of the same container and of the same GPU. */
#include "sim/rightsize_internal.h"

static bool is_seen(const struct rightsize_use *u)
{
    return u->watched && u->looks > 0;
}

static int compare_same(const struct rightsize_use *x, const struct rightsize_use *y)
{
    int order = str_cmp(x->uid, y->uid);

    order = order != 0 ? order : str_cmp(x->container, y->container);
    order = order != 0 ? order : str_cmp(x->id, y->id);
    return order != 0 ? order : str_cmp(x->gpu, y->gpu);
}

/* Of the same container first who was seen, then the newest. */
static int compare_newest_first(const void *a, const void *b)
{
    const struct rightsize_use *x = *(struct rightsize_use *const *)a, *y = *(struct rightsize_use *const *)b;
    const int order = compare_same(x, y);

    if (order != 0 || is_seen(x) != is_seen(y)) {
        return order != 0 ? order : is_seen(y) - is_seen(x);
    }
    return (x->from->as_of_ms < y->from->as_of_ms) - (x->from->as_of_ms > y->from->as_of_ms);
}

/* A peak that cannot be told now is not known, whatever was seen before. */
static void raise_peak(int64_t *peak, int64_t other)
{
    *peak = *peak != RIGHTSIZE_UNKNOWN && other > *peak ? other : *peak;
}

static void fold(struct rightsize_use *kept, const struct rightsize_use *other)
{
    raise_peak(&kept->peak_mem_mib, other->peak_mem_mib);
    raise_peak(&kept->peak_milli, other->peak_milli);
    kept->touched = kept->touched || other->touched;
    kept->instance = kept->instance || other->instance;
    kept->gpu_mem_mib = other->gpu_mem_mib > kept->gpu_mem_mib ? other->gpu_mem_mib : kept->gpu_mem_mib;
    if (other->from->as_of_ms > kept->from->as_of_ms) { /* nobody had looked yet */
        kept->from = other->from;
        kept->ended = other->ended;
    }
}

static void keep_newest_idle(struct rightsize *r)
{
    struct rightsize_idle **at = &r->idle;

    while (*at != NULL) {
        if ((*at)->from->newest) {
            at = &(*at)->next;
        } else {
            *at = (*at)->next;
        }
    }
}

bool rightsize_keep_newest(struct rightsize *r)
{
    size_t n;
    struct rightsize_use **list = rightsize_sorted(r, compare_newest_first, &n), **end = &r->uses;

    for (size_t i = 0; list != NULL && i < n;) {
        struct rightsize_use *kept = list[i];

        for (i++; i < n && compare_same(kept, list[i]) == 0; i++) {
            fold(kept, list[i]);
        }
        kept->ended = kept->ended || !kept->from->newest;
        *end = kept;
        end = &kept->next;
    }
    if (list != NULL) {
        *end = NULL;
        keep_newest_idle(r);
    }
    return list != NULL;
}
