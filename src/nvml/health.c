#include "nvml/health.h"

#include "base/bug.h"
#include "model/device.h"
#include "nvml/library.h"

#include <stdlib.h>
#include <string.h>

struct gpu {
    nvml_handle handle;
    char uuid[NVML_UUID_BYTES];
    bool entered, too_old;
};

struct nvml_watch {
    const struct nvml *n;
    nvml_event_set set; /* NULL: to be made */
    bool has_failed;    /* the last wait; what is entered is not watched until one works */
    struct gpu gpus[DEVICES_PER_NODE_MAX];
    size_t gpu_n;
};

struct nvml_watch *nvml_watch_new(const struct nvml *n)
{
    struct nvml_watch *w = xcalloc(1, sizeof(*w));

    w->n = n;
    return w;
}

static bool tells_of_errors(const struct nvml_functions *f)
{
    return f->set_create != NULL && f->set_free != NULL && f->set_wait != NULL && f->event_types != NULL &&
           f->register_events != NULL;
}

/* The next look makes another one, and enters everybody. */
static void drop_set(struct nvml_watch *w)
{
    if (w->set != NULL) {
        (void)w->n->f.set_free(w->set);
    }
    w->set = NULL;
    w->gpu_n = 0;
}

void nvml_watch_free(struct nvml_watch *w)
{
    if (w != NULL) {
        drop_set(w);
        free(w);
    }
}

/* ---- who is there ---- */

static bool read_uuid(const struct nvml_functions *f, nvml_handle h, char ret[NVML_UUID_BYTES])
{
    ret[0] = '\0';
    return f->uuid(h, ret, NVML_UUID_BYTES) == NVML_OK && ret[0] != '\0' &&
           strnlen(ret, NVML_UUID_BYTES) < NVML_UUID_BYTES;
}

/* The library remembers names and numbers; memory it must ask the GPU for. Some have none of their own. */
static bool does_answer(const struct nvml_functions *f, nvml_handle h)
{
    struct nvml_memory memory;
    const int rc = f->memory(h, &memory);

    return rc == NVML_OK || rc == NVML_NOT_SUPPORTED;
}

static struct gpu *gpu_of_uuid(struct nvml_watch *w, const char *uuid)
{
    for (size_t i = 0; i < w->gpu_n; i++) {
        if (strcmp(w->gpus[i].uuid, uuid) == 0) {
            return &w->gpus[i];
        }
    }
    return NULL;
}

/* NULL: there have been too many. */
static struct gpu *remember(struct nvml_watch *w, nvml_handle h, const char *uuid)
{
    struct gpu *g = gpu_of_uuid(w, uuid);

    if (g == NULL) {
        if (w->gpu_n == DEVICES_PER_NODE_MAX) {
            return NULL;
        }
        g = &w->gpus[w->gpu_n++];
        *g = (struct gpu){.entered = false};
        memcpy(g->uuid, uuid, NVML_UUID_BYTES);
    }
    g->handle = h;
    return g;
}

static int register_xids(struct nvml_watch *w, nvml_handle h)
{
    const struct nvml_functions *f = &w->n->f;
    unsigned long long types = 0;
    int rc;

    if (!tells_of_errors(f)) {
        return NVML_NOT_SUPPORTED;
    }
    rc = w->set == NULL ? f->set_create(&w->set) : NVML_OK;
    if (rc == NVML_OK) {
        rc = f->event_types(h, &types);
    }
    if (rc == NVML_OK) {
        rc = (types & NVML_EVENT_XID) != 0 ? f->register_events(h, NVML_EVENT_XID, w->set) : NVML_NOT_SUPPORTED;
    }
    return rc;
}

/* One that cannot be entered now is tried again with the next look. */
static void enter(struct nvml_watch *w, struct gpu *g)
{
    if (!g->entered && !g->too_old) {
        const int rc = register_xids(w, g->handle);

        g->entered = rc == NVML_OK;
        g->too_old = rc == NVML_NOT_SUPPORTED;
    }
}

struct looking {
    struct nvml_watch *w;
    struct arena *a;
    struct nvml_sight sights[DEVICES_PER_NODE_MAX];
    size_t n;
    size_t later_gpu_n; /* places that are kept for GPUs which are still to be looked at */
};

static bool has_place(const struct looking *l)
{
    return l->n + l->later_gpu_n < DEVICES_PER_NODE_MAX;
}

static uint32_t number_of(int (*function)(nvml_handle h, unsigned *ret), nvml_handle h)
{
    unsigned number;

    return function != NULL && function(h, &number) == NVML_OK ? number : NVML_NO_INSTANCE;
}

static void look_at_instances(struct looking *l, nvml_handle h, const struct nvml_sight *gpu)
{
    const struct nvml_functions *f = &l->w->n->f;
    unsigned now = 0, later = 0, max = 0;

    if (f->mig_mode == NULL || f->mig_max == NULL || f->mig_by_index == NULL ||
        f->mig_mode(h, &now, &later) != NVML_OK || now != NVML_MIG_ENABLED || f->mig_max(h, &max) != NVML_OK) {
        return;
    }
    for (unsigned i = 0; i < max && has_place(l); i++) {
        struct nvml_sight s = *gpu;
        char uuid[NVML_UUID_BYTES];
        nvml_handle instance;

        if (f->mig_by_index(h, i, &instance) == NVML_OK && read_uuid(f, instance, uuid)) {
            s.uuid = arena_str(l->a, str_of(uuid));
            s.gpu = gpu->uuid;
            s.gpu_instance = number_of(f->instance_id, instance);
            s.compute_instance = number_of(f->compute_instance_id, instance);
            l->sights[l->n++] = s;
        }
    }
}

static void look_at(struct looking *l, unsigned index)
{
    const struct nvml_functions *f = &l->w->n->f;
    struct nvml_sight s = {.gpu_instance = NVML_NO_INSTANCE, .compute_instance = NVML_NO_INSTANCE};
    char uuid[NVML_UUID_BYTES];
    nvml_handle h;
    struct gpu *g;

    if (f->handle_by_index(index, &h) != NVML_OK || !read_uuid(f, h, uuid)) {
        return;
    }
    s.answers = does_answer(f, h);
    g = remember(l->w, h, uuid);
    if (g != NULL) {
        enter(l->w, g);
        s.watched = (g->entered && !l->w->has_failed) || g->too_old;
        s.too_old = g->too_old;
    }
    s.uuid = arena_str(l->a, str_of(uuid));
    l->sights[l->n++] = s;
    look_at_instances(l, h, &s);
}

int nvml_watch_look(struct nvml_watch *w, struct arena *a, const struct nvml_sight **ret, size_t *ret_n,
                    struct err *reterr)
{
    struct looking l = {.w = w, .a = a};
    struct nvml_sight *kept;
    unsigned count = 0;
    const int rc = nvml_count(w->n, &count, reterr);

    if (rc != 0) {
        return rc;
    }
    count = count < DEVICES_PER_NODE_MAX ? count : DEVICES_PER_NODE_MAX;
    for (unsigned i = 0; i < count; i++) {
        l.later_gpu_n = count - i - 1;
        look_at(&l, i);
    }
    kept = ARENA_ARRAY(a, l.n + 1, struct nvml_sight);
    if (kept == NULL || a->overflowed) {
        return err_set(reterr, ERR_LIMIT, "the UUIDs of this machine's GPUs and MIG instances are too long");
    }
    memcpy(kept, l.sights, l.n * sizeof(*kept));
    *ret = kept;
    *ret_n = l.n;
    return 0;
}

/* ---- what happens ---- */

/* A GPU that is lost may not tell its UUID any more, but its handle is known. */
static struct str uuid_of(struct nvml_watch *w, nvml_handle h)
{
    char uuid[NVML_UUID_BYTES];
    const struct gpu *g;

    for (size_t i = 0; i < w->gpu_n; i++) {
        if (w->gpus[i].handle == h) {
            return str_of(w->gpus[i].uuid);
        }
    }
    g = read_uuid(&w->n->f, h, uuid) ? gpu_of_uuid(w, uuid) : NULL;
    return g != NULL ? str_of(g->uuid) : STR_NULL;
}

int nvml_watch_wait(struct nvml_watch *w, unsigned timeout_ms, struct nvml_xid *ret, struct err *reterr)
{
    const struct nvml *n = w->n;
    struct nvml_event e = {.device = NULL};
    int rc;

    if (w->set == NULL) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s tells of no errors of GPUs", n->path);
    }
    rc = n->f.set_wait(w->set, &e, timeout_ms);
    w->has_failed = rc != NVML_OK && rc != NVML_TIMEOUT;
    if (rc == NVML_TIMEOUT || (rc == NVML_OK && e.type != NVML_EVENT_XID)) {
        return 0;
    }
    if (w->has_failed) {
        drop_set(w);
        return err_set(reterr, ERR_UNAVAILABLE, "%s cannot wait for errors of GPUs: %s (%d)", n->path,
                       n->f.error_text(rc), rc);
    }
    *ret = (struct nvml_xid){.xid = e.data,
                             .gpu = uuid_of(w, e.device),
                             .gpu_instance = e.gpu_instance,
                             .compute_instance = e.compute_instance};
    return 1;
}
