#include "meaning.h"

#include <string.h>

enum { GPU_MILLI = 1000 };

static const struct gpu_settings *devices_of(const struct settings *s, unsigned pool)
{
    return pool == 2 ? &s->of_b : &s->devices;
}

static int64_t shared_mib(const struct gpu_settings *d, int gpu_mib)
{
    return gpu_mib > d->reserve_mib ? gpu_mib - d->reserve_mib : 0;
}

struct caps meaning_of_gpu(const struct settings *s, unsigned pool, int gpu_mib)
{
    const struct gpu_settings *d = devices_of(s, pool);

    return (struct caps){GPU_MILLI * d->compute_factor / 1000, (int)(shared_mib(d, gpu_mib) * d->memory_factor / 1000),
                         d->sharers};
}

bool meaning_is_none(const struct ask *a, const struct settings *s)
{
    return a->kind == ASK_VGPU && s->vgpu_units == 0;
}

/* Units of which so many are one GPU. */
static int milli_of(int units, int per_gpu)
{
    return units * GPU_MILLI % per_gpu == 0 ? units * GPU_MILLI / per_gpu : -1;
}

/* The same in the words of fgpu. False: nobody can say what it means. */
static bool in_words(const struct ask *a, const struct settings *s, struct ask *ret)
{
    const struct size *z = &s->sizes[a->size % SIZES_MAX];

    *ret = *a;
    switch (a->kind) {
    case ASK_NATIVE:
        return true;
    case ASK_SIZE:
    case ASK_SIZE_NOTE:
        ret->milli = z->milli;
        ret->mem_mib = z->mem_mib;
        ret->count = z->count;
        return z->there;
    case ASK_VGPU:
        if (s->vgpu_units == 0) {
            return false;
        }
        ret->milli = milli_of(a->units, s->vgpu_units);
        return ret->milli > 0;
    case ASK_VCUDA:
        ret->milli = milli_of(a->units, s->core_units);
        return ret->milli > 0;
    case ASK_GPUSHARE:
    case ASK_HAMI:
        return true; /* MiB, as the names are configured */
    case ASK_MIG:
    case ASK__MAX:
        break;
    }
    return false;
}

/* Who asks for memory alone gets all of an instance that has as much. */
bool meaning_takes_instance(const struct ask *a, const struct settings *s, unsigned profile)
{
    struct ask w;

    return a->kind == ASK_MIG ? a->size + 1 == profile : in_words(a, s, &w) && w.milli == 0 && w.mem_mib != 0;
}

bool meaning_of(const struct ask *a, const struct settings *s, const struct settings *of_nodes, unsigned pool,
                int gpu_mib, struct amounts *ret)
{
    const struct gpu_settings *d = devices_of(of_nodes, pool);
    const struct caps caps = meaning_of_gpu(of_nodes, pool, gpu_mib);
    const int64_t base = shared_mib(d, gpu_mib);
    struct ask w;

    if (!in_words(a, s, &w) || (w.milli > GPU_MILLI && (w.milli % GPU_MILLI != 0 || w.mem_mib != 0 || w.count != 0))) {
        return false;
    }
    *ret = (struct amounts){.count = w.count != 0 ? w.count : 1, .milli = w.milli, .mem_mib = w.mem_mib};
    if (w.milli > GPU_MILLI) {
        ret->count = w.milli / GPU_MILLI;
    }
    ret->whole = w.mem_mib == 0 && (w.milli == 0 || w.milli >= GPU_MILLI);
    if (ret->whole) {
        ret->milli = caps.milli;
        ret->mem_mib = caps.mem_mib;
    } else if (w.mem_mib == 0) {
        const int64_t part = base * w.milli / GPU_MILLI;

        ret->mem_mib = (int)(part < caps.mem_mib ? part : caps.mem_mib);
    } else if (w.milli == 0 && d->memory_free) {
        ret->milli = 0;
    } else if (w.milli == 0) {
        const int64_t part = base > 0 ? (int64_t)GPU_MILLI * w.mem_mib / base : GPU_MILLI;

        ret->milli = part < 1 ? 1 : part > GPU_MILLI ? GPU_MILLI : (int)part;
    }
    return true;
}

const struct team *meaning_of_namespace(const struct settings *s, const char *name)
{
    for (unsigned i = 0; i < TEAMS; i++) {
        const char names[TEAMS][8] = {"team-a", "team-b"};

        if (strcmp(name, names[i]) == 0 && s->teams[i].limited) {
            return &s->teams[i];
        }
    }
    return NULL;
}
