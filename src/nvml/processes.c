#include "nvml/processes.h"

#include "nvml/library.h"

#define FIRST_ROOM 64
#define TRIES 4 /* processes come between asking how many there are and reading them */

struct reading {
    const struct nvml *n;
    nvml_handle gpu;
    struct arena *a;
    struct nvml_process *list;
    size_t count, room;
};

static int too_many(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "more than %d processes use a GPU, or there is no memory to list them",
                   NVML_PROCESSES_MAX);
}

static int no_answer(const struct nvml *n, const char *what, int rc, struct err *reterr)
{
    return err_set(reterr, rc == NVML_NOT_FOUND ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "%s does not tell %s: %s (%d)",
                   n->path, what, n->f.error_text(rc), rc);
}

/* NULL: the list is full. */
static struct nvml_process *process_of(struct reading *r, uint32_t pid)
{
    struct nvml_process *p;

    for (size_t i = 0; i < r->count; i++) {
        if (r->list[i].pid == pid) {
            return &r->list[i];
        }
    }
    if (r->count == r->room) {
        return NULL;
    }
    p = &r->list[r->count++];
    *p = (struct nvml_process){.pid = pid, .mem_bytes = 0, .milli = -1};
    return p;
}

/* ---- memory ---- */

/* All contexts of a process are told with the memory of the process: the most, not the sum. */
static void take_memory(struct nvml_process *p, uint64_t bytes)
{
    if (p->mem_bytes < 0 || bytes > INT64_MAX) {
        p->mem_bytes = -1; /* NVML_UNKNOWN_BYTES, or one of its contexts had it */
    } else if ((int64_t)bytes > p->mem_bytes) {
        p->mem_bytes = (int64_t)bytes;
    }
}

static int take_list(struct reading *r, const struct nvml_process_info *infos, unsigned n, struct err *reterr)
{
    for (unsigned i = 0; i < n; i++) {
        struct nvml_process *p = process_of(r, infos[i].pid);

        if (p == NULL) {
            return too_many(reterr);
        }
        take_memory(p, infos[i].mem_bytes);
    }
    return 0;
}

/* One kind of contexts; `ask` may be NULL, and kinds that a GPU does not have are none. */
static int read_kind(struct reading *r, nvml_list_processes *ask, const char *what, struct err *reterr)
{
    unsigned room = FIRST_ROOM;

    for (int i = 0; ask != NULL && i < TRIES && room <= NVML_PROCESSES_MAX; i++) {
        struct nvml_process_info *infos = ARENA_ARRAY(r->a, room, struct nvml_process_info);
        unsigned n = room;
        int rc;

        if (infos == NULL) {
            return too_many(reterr);
        }
        rc = ask(r->gpu, &n, infos);
        if (rc == NVML_OK && n <= room) {
            return take_list(r, infos, n, reterr);
        }
        if (rc == NVML_NOT_SUPPORTED) {
            return 0;
        }
        if (rc != NVML_INSUFFICIENT_SIZE) {
            return no_answer(r->n, what, rc, reterr);
        }
        room = n + FIRST_ROOM;
    }
    return ask == NULL ? 0 : too_many(reterr);
}

/* ---- compute ---- */

/* One sample for each process that used any, as the driver averaged it; if there are several, the mean. */
static void take_samples(struct reading *r, const struct nvml_utilization_sample *samples, unsigned n,
                         uint64_t *seen_us)
{
    for (size_t i = 0; i < r->count; i++) {
        uint64_t sum = 0, times = 0;

        for (unsigned k = 0; k < n; k++) {
            if (samples[k].pid == r->list[i].pid && samples[k].sm_percent <= 100) {
                sum += samples[k].sm_percent;
                times++;
            }
        }
        r->list[i].milli = times > 0 ? (int32_t)(10 * sum / times) : 0;
    }
    for (unsigned k = 0; k < n; k++) {
        *seen_us = samples[k].time_us > *seen_us ? samples[k].time_us : *seen_us;
    }
}

/* What is not told stays unknown: this is no reason not to know of memory. False: it is not told. */
static bool read_compute(struct reading *r, uint64_t *seen_us)
{
    unsigned room = FIRST_ROOM;

    for (int i = 0; r->n->f.utilization != NULL && i < TRIES && room <= NVML_PROCESSES_MAX; i++) {
        struct nvml_utilization_sample *samples = ARENA_ARRAY(r->a, room, struct nvml_utilization_sample);
        unsigned n = room;
        int rc = samples == NULL ? NVML_NOT_SUPPORTED : r->n->f.utilization(r->gpu, samples, &n, *seen_us);

        if (rc == NVML_NOT_FOUND || (rc == NVML_OK && n <= room)) { /* not found: nobody used any since then */
            take_samples(r, samples, rc == NVML_OK ? n : 0, seen_us);
            return true;
        }
        if (rc != NVML_INSUFFICIENT_SIZE) {
            return false;
        }
        room = n + FIRST_ROOM;
    }
    return false;
}

/* ---- both ---- */

int nvml_read_processes(const struct nvml *n, const char *uuid, uint64_t *seen_us, struct arena *a,
                        struct nvml_processes *ret, struct err *reterr)
{
    struct reading r = {.n = n, .a = a, .room = NVML_PROCESSES_MAX};
    const struct nvml_functions *f = &n->f;
    int rc;

    if (f->handle_by_uuid == NULL || f->compute_processes == NULL) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s is too old to tell which processes use a GPU", n->path);
    }
    rc = f->handle_by_uuid(uuid, &r.gpu);
    if (rc != NVML_OK) {
        return no_answer(n, "of a GPU with that UUID", rc, reterr);
    }
    r.list = ARENA_ARRAY(a, r.room, struct nvml_process);
    if (r.list == NULL) {
        return too_many(reterr);
    }
    rc = read_kind(&r, f->compute_processes, "which processes compute on a GPU", reterr);
    if (rc == 0) {
        rc = read_kind(&r, f->mps_processes, "which processes use a GPU through MPS", reterr);
    }
    if (rc == 0) {
        rc = read_kind(&r, f->graphics_processes, "which processes draw on a GPU", reterr);
    }
    if (rc == 0) {
        *ret = (struct nvml_processes){.list = r.list, .knows_compute = read_compute(&r, seen_us)};
        ret->n = r.count;
    }
    return rc;
}
