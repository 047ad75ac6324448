/* libnvidia-ml.so.1 for tests: answers what the file says that FAKE_NVML names (without it: that of its own name with
 * ".script"), which is read at each nvmlInit_v2 and each nvmlDeviceGetCount_v2. Several threads may use it while the
 * file stays as it is.
 *
 *     gpu UUID MINOR TOTAL_MIB RESERVED_MIB NAME   a GPU; '_' in NAME is a blank
 *     mig UUID MEM_MIB PROFILE                     an instance of the GPU before it, which is then in MIG mode
 *     hole                                         an index of it that no instance has
 *     mode                                         it is in MIG mode, be there instances or not
 *     at START SIZE                                where the instance before it lies
 *     offers PROFILE SIZE MEM_MIB MAX START...     a profile that the GPU before it can be cut into
 *     numa N...                                    NUMA nodes near the GPU before it
 *     compute-mode N                               of the GPU before it
 *     nvlink INDEX...                              GPUs that the GPU before it reaches by NVLink
 *     lost                                         a GPU that cannot be reached
 *     no-driver                                    nvmlInit_v2 fails
 *     loaded N                                     the driver was loaded for the N-th time: who was initialised before
 *                                                  is told that there is none
 *
 * What happens while it is in use (XIDs, GPUs that fall ill): fake_events.c.
 *
 * Shares no code with src/nvml: signatures, structs and numbers are written down again, from nvml.h.
 */
#define _GNU_SOURCE /* dladdr */
#include "fake_events.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THINGS 128
#define TEXT_BYTES 32768
#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NO_PERMISSION 4
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_DRIVER_NOT_LOADED 9
#define NVML_ERROR_GPU_IS_LOST 15
#define NVML_ERROR_ARGUMENT_VERSION_MISMATCH 25

typedef struct {
    unsigned int start, size;
} nvmlGpuInstancePlacement_t;

struct offer {
    char name[48];
    unsigned long long mem_mib;
    unsigned max, place_n;
    nvmlGpuInstancePlacement_t places[8];
};

typedef struct thing {
    enum { GPU, MIG, HOLE, LOST } kind;
    char uuid[80], name[80];
    unsigned minor, gpu, mig;
    unsigned long long total_mib, reserved_mib;
    nvmlGpuInstancePlacement_t place; /* size 0: may not be asked */
    struct offer offers[8];
    unsigned offer_n;
    unsigned long long numa, nvlinks; /* bits */
    int compute_mode;
} * nvmlDevice_t, *nvmlGpuInstance_t;

typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
        sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct {
    nvmlDevice_t device;
    unsigned int id, profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;

typedef struct {
    unsigned int version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount,
        decoderCount, encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;

static struct thing things[THINGS];
static unsigned thing_n, gpu_n;
static unsigned loaded, initialised; /* how often the driver was loaded: now, and at nvmlInit_v2 */

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int rc);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret);
int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *ret);
int nvmlDeviceGetUUID(nvmlDevice_t d, char *ret, unsigned size);
int nvmlDeviceGetName(nvmlDevice_t d, char *ret, unsigned size);
int nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *ret);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *ret);
int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *pending);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned index, nvmlDevice_t *ret);
int nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *ret);
int nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetGpuInstanceById(nvmlDevice_t d, unsigned id, nvmlGpuInstance_t *ret);
int nvmlGpuInstanceGetInfo(nvmlGpuInstance_t i, nvmlGpuInstanceInfo_t *ret);
int nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t d, unsigned profile, nvmlGpuInstanceProfileInfo_v2_t *ret);
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t d, unsigned id, nvmlGpuInstancePlacement_t *ret,
                                                  unsigned *n);
int nvmlDeviceGetComputeMode(nvmlDevice_t d, int *ret);
int nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned n, unsigned long *ret, unsigned scope);
int nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int what, int *ret);

/* Of the numbers that stand in `text` a bit each. */
static unsigned long long bits_of(const char *text)
{
    unsigned long long bits = 0;
    unsigned bit;
    int n;

    while (sscanf(text, "%u%n", &bit, &n) == 1) {
        bits |= 1ULL << bit;
        text += n;
    }
    return bits;
}

static int read_offer(const char *line, struct thing *gpu)
{
    struct offer *o = &gpu->offers[gpu->offer_n];
    unsigned size, start;
    int at, n;

    if (sscanf(line, "offers %47s %u %llu %u%n", o->name, &size, &o->mem_mib, &o->max, &at) != 4) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (o->place_n = 0; sscanf(line + at, "%u%n", &start, &n) == 1; at += n) {
        o->places[o->place_n++] = (nvmlGpuInstancePlacement_t){start, size};
    }
    gpu->offer_n++;
    return NVML_SUCCESS;
}

/* What a line says of the thing before it; -1: it says something else. */
static int read_more(const char *line, struct thing *gpu)
{
    struct thing *last = thing_n > 0 ? &things[thing_n - 1] : NULL;

    if (gpu == NULL) {
        return -1;
    }
    if (strncmp(line, "offers ", 7) == 0) {
        return read_offer(line, gpu);
    }
    if (strncmp(line, "numa ", 5) == 0) {
        gpu->numa = bits_of(line + 5);
    } else if (strncmp(line, "nvlink ", 7) == 0) {
        gpu->nvlinks = bits_of(line + 7);
    } else if (sscanf(line, "compute-mode %d", &gpu->compute_mode) != 1 &&
               sscanf(line, "at %u %u", &last->place.start, &last->place.size) != 2) {
        return -1;
    }
    return NVML_SUCCESS;
}

/* 0, or the code with which nvmlInit_v2 fails. */
static int read_line(const char *line)
{
    struct thing *t = &things[thing_n], *gpu = NULL;
    char name[80];
    int rc;

    for (unsigned i = 0; i < thing_n; i++) {
        gpu = things[i].kind == GPU ? &things[i] : gpu;
    }
    rc = read_more(line, gpu);
    if (rc >= 0) {
        return rc;
    }
    memset(t, 0, sizeof(*t));
    t->gpu = gpu_n;
    if (sscanf(line, "gpu %79s %u %llu %llu %79s", t->uuid, &t->minor, &t->total_mib, &t->reserved_mib, t->name) == 5) {
        t->kind = GPU;
        gpu_n++;
        for (char *c = t->name; (c = strchr(c, '_')) != NULL;) {
            *c = ' ';
        }
    } else if (sscanf(line, "mig %79s %llu %79s", t->uuid, &t->total_mib, name) == 3 && gpu != NULL) {
        t->kind = MIG;
        t->minor = gpu->minor;
        gpu->mig = 1;
        snprintf(t->name, sizeof(t->name), "%.40s MIG %.30s", gpu->name, name);
    } else if (strncmp(line, "hole", 4) == 0) {
        t->kind = HOLE;
    } else if (strncmp(line, "lost", 4) == 0) {
        t->kind = LOST;
        gpu_n++;
    } else if (strncmp(line, "mode", 4) == 0 && gpu != NULL) {
        gpu->mig = 1;
        return NVML_SUCCESS;
    } else if (sscanf(line, "loaded %u", &loaded) == 1) {
        return NVML_SUCCESS;
    } else {
        return strncmp(line, "no-driver", 9) == 0 ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_ERROR_INVALID_ARGUMENT;
    }
    thing_n++;
    return NVML_SUCCESS;
}

const char *fake_uuid(const void *device)
{
    return ((const struct thing *)device)->uuid;
}

int fake_script_path(char *ret, size_t size)
{
    const char *path = getenv("FAKE_NVML");
    Dl_info own;

    if (path != NULL) {
        return snprintf(ret, size, "%s", path) > 0;
    }
    return dladdr((void *)&things, &own) != 0 && snprintf(ret, size, "%s.script", own.dli_fname) > 0;
}

static int read_lines(char *text)
{
    int rc = NVML_SUCCESS;

    thing_n = gpu_n = loaded = 0;
    for (char *rest = text, *line; rc == NVML_SUCCESS && thing_n < THINGS && (line = strsep(&rest, "\n")) != NULL;) {
        rc = line[0] != '\0' ? read_line(line) : NVML_SUCCESS;
    }
    return rc;
}

/* Other threads may be reading what is there: while the file has not changed, nothing is written. */
static int read_file(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char before[TEXT_BYTES], now[TEXT_BYTES];
    static int rc_before, was_read;
    char path[4096];
    FILE *f;
    int rc = NVML_ERROR_DRIVER_NOT_LOADED;

    pthread_mutex_lock(&lock);
    f = fake_script_path(path, sizeof(path)) ? fopen(path, "re") : NULL;
    if (f != NULL) {
        now[fread(now, 1, sizeof(now) - 1, f)] = '\0';
        fclose(f);
        if (!was_read || strcmp(now, before) != 0) {
            was_read = 1;
            memcpy(before, now, sizeof(now));
            rc_before = read_lines(now);
        }
        rc = rc_before;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

int nvmlInit_v2(void)
{
    const int rc = read_file();

    initialised = loaded;
    return rc;
}

int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

const char *nvmlErrorString(int rc)
{
    return rc == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Some Error";
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    int rc;

    fake_events_hang();
    rc = read_file();
    *ret = gpu_n;
    return rc == NVML_SUCCESS && loaded != initialised ? NVML_ERROR_DRIVER_NOT_LOADED : rc;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret)
{
    for (unsigned i = 0; i < thing_n; i++) {
        if ((things[i].kind == GPU || things[i].kind == LOST) && things[i].gpu == index) {
            *ret = &things[i];
            return things[i].kind == LOST ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
        }
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *ret)
{
    if (read_file() == NVML_SUCCESS && loaded != initialised) {
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    for (unsigned i = 0; i < thing_n; i++) {
        if ((things[i].kind == GPU || things[i].kind == MIG) && strcmp(things[i].uuid, uuid) == 0) {
            *ret = &things[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

static int put(const char *text, char *ret, unsigned size)
{
    if (strlen(text) >= size) {
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    memcpy(ret, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

int nvmlDeviceGetUUID(nvmlDevice_t d, char *ret, unsigned size)
{
    if (fake_events_is_stray(d) || fake_events_mute(d->uuid)) {
        return NVML_ERROR_GPU_IS_LOST;
    }
    return put(d->uuid, ret, size);
}

int nvmlDeviceGetName(nvmlDevice_t d, char *ret, unsigned size)
{
    return put(d->name, ret, size);
}

int nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned *ret)
{
    *ret = d->minor;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *ret)
{
    *ret = (nvmlMemory_t){.total = d->total_mib << 20};
    return fake_events_sick(d->uuid);
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *ret)
{
    if (ret->version != 0x02000028) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    ret->total = d->total_mib << 20;
    ret->reserved = d->reserved_mib << 20;
    return fake_events_sick(d->uuid);
}

int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *pending)
{
    *now = *pending = d->mig;
    return d->kind == GPU ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *ret)
{
    *ret = d->mig ? 7 : 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned index, nvmlDevice_t *ret)
{
    unsigned at = 0;

    for (unsigned i = 0; i < thing_n; i++) {
        if ((things[i].kind == MIG || things[i].kind == HOLE) && things[i].gpu == d->gpu + 1 && at++ == index) {
            *ret = &things[i];
            return things[i].kind == MIG ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->memorySizeMB = d->total_mib;
    return d->kind == MIG ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned *ret)
{
    *ret = (unsigned)(d - things);
    return d->kind == MIG ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuInstanceById(nvmlDevice_t d, unsigned id, nvmlGpuInstance_t *ret)
{
    if (d->kind != GPU || id >= thing_n || things[id].gpu != d->gpu + 1) {
        return NVML_ERROR_NOT_FOUND;
    }
    *ret = &things[id];
    return things[id].place.size > 0 ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

int nvmlGpuInstanceGetInfo(nvmlGpuInstance_t i, nvmlGpuInstanceInfo_t *ret)
{
    *ret = (nvmlGpuInstanceInfo_t){.id = (unsigned)(i - things), .placement = i->place};
    return NVML_SUCCESS;
}

/* Every second profile is one that this GPU does not have; their ids are not their numbers. */
int nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t d, unsigned profile, nvmlGpuInstanceProfileInfo_v2_t *ret)
{
    const struct offer *o = &d->offers[profile / 2];

    if (ret->version != 0x02000098 || profile >= 2 * d->offer_n) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (profile % 2 == 1) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    ret->id = 100 + profile / 2;
    ret->instanceCount = o->max;
    ret->memorySizeMB = o->mem_mib;
    snprintf(ret->name, sizeof(ret->name), "MIG %s", o->name);
    return NVML_SUCCESS;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t d, unsigned id, nvmlGpuInstancePlacement_t *ret,
                                                  unsigned *n)
{
    const struct offer *o = &d->offers[id - 100];

    if (id < 100 || id - 100 >= d->offer_n) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (ret != NULL) {
        memcpy(ret, o->places, o->place_n * sizeof(*ret));
    }
    *n = o->place_n;
    return o->place_n > 0 ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION;
}

int nvmlDeviceGetComputeMode(nvmlDevice_t d, int *ret)
{
    *ret = d->compute_mode;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned n, unsigned long *ret, unsigned scope)
{
    memset(ret, 0, n * sizeof(*ret));
    ret[0] = (unsigned long)d->numa;
    return scope == 0 && d->numa != 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

int nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int what, int *ret)
{
    *ret = what == 2 && (a->nvlinks >> b->gpu & 1) != 0 ? 0 : 5;
    return NVML_SUCCESS;
}
