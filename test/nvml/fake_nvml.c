/* libnvidia-ml.so.1 for tests: answers what the file says that FAKE_NVML names, which is read at each nvmlInit_v2 and
 * each nvmlDeviceGetCount_v2.
 *
 *     gpu UUID MINOR TOTAL_MIB RESERVED_MIB NAME   a GPU; '_' in NAME is a blank
 *     mig UUID MEM_MIB PROFILE                     an instance of the GPU before it, which is then in MIG mode
 *     hole                                         an index of it that no instance has
 *     mode                                         it is in MIG mode, be there instances or not
 *     lost                                         a GPU that cannot be reached
 *     no-driver                                    nvmlInit_v2 fails
 *
 * Shares no code with src/nvml: signatures, structs and numbers are written down again, from nvml.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THINGS 128
#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_DRIVER_NOT_LOADED 9
#define NVML_ERROR_GPU_IS_LOST 15
#define NVML_ERROR_ARGUMENT_VERSION_MISMATCH 25

typedef struct thing {
    enum { GPU, MIG, HOLE, LOST } kind;
    char uuid[80], name[80];
    unsigned minor, gpu, mig;
    unsigned long long total_mib, reserved_mib;
} * nvmlDevice_t;

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

static struct thing things[THINGS];
static unsigned thing_n, gpu_n;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int rc);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret);
int nvmlDeviceGetUUID(nvmlDevice_t d, char *ret, unsigned size);
int nvmlDeviceGetName(nvmlDevice_t d, char *ret, unsigned size);
int nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *ret);
int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *ret);
int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *pending);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned index, nvmlDevice_t *ret);
int nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *ret);

/* 0, or the code with which nvmlInit_v2 fails. */
static int read_line(const char *line)
{
    struct thing *t = &things[thing_n], *gpu = NULL;
    char name[80];

    for (unsigned i = 0; i < thing_n; i++) {
        gpu = things[i].kind == GPU ? &things[i] : gpu;
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
    } else {
        return strncmp(line, "no-driver", 9) == 0 ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_ERROR_INVALID_ARGUMENT;
    }
    thing_n++;
    return NVML_SUCCESS;
}

static int read_file(void)
{
    const char *path = getenv("FAKE_NVML");
    FILE *f = path != NULL ? fopen(path, "re") : NULL;
    char line[512];
    int rc = NVML_SUCCESS;

    thing_n = gpu_n = 0;
    if (f == NULL) {
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    while (rc == NVML_SUCCESS && thing_n < THINGS && fgets(line, sizeof(line), f) != NULL) {
        rc = read_line(line);
    }
    fclose(f);
    return rc;
}

int nvmlInit_v2(void)
{
    return read_file();
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
    int rc = read_file();

    *ret = gpu_n;
    return rc;
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
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *ret)
{
    if (ret->version != 0x02000028) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    ret->total = d->total_mib << 20;
    ret->reserved = d->reserved_mib << 20;
    return NVML_SUCCESS;
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
