/* The part of the fake library (fake_nvml.c) that tells of processes. It answers what the file says whose name is that
 * of FAKE_NVML with ".processes" behind it, read at each call; no file: no processes.
 *
 *     process UUID PID MEM_MIB PERCENT    with compute on that GPU or instance; MEM_MIB '-': the driver does not know
 *     mps UUID PID MEM_MIB PERCENT        ... through MPS
 *     graphics UUID PID MEM_MIB PERCENT   ... that draws
 *     no-utilization                      the driver does not tell who computes
 *     lost UUID                           that GPU does not answer
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_GPU_IS_LOST 15
#define LINES 512

typedef void *nvmlDevice_t;

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
    unsigned int pid;
    unsigned long long timeStamp;
    unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

/* fake_nvml.c */
int nvmlDeviceGetUUID(nvmlDevice_t d, char *ret, unsigned size);

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos);
int nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos);
int nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t *samples, unsigned *n,
                                    unsigned long long last_seen);

struct line {
    char kind[16], uuid[80], mem[24];
    unsigned pid, percent;
};

static int read_lines(struct line lines[LINES])
{
    const char *script = getenv("FAKE_NVML");
    char path[512], text[512];
    int n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s.processes", script != NULL ? script : "");
    f = fopen(path, "re");
    while (f != NULL && n < LINES && fgets(text, sizeof(text), f) != NULL) {
        struct line *l = &lines[n];

        memset(l, 0, sizeof(*l));
        n += sscanf(text, "%15s %79s %u %23s %u", l->kind, l->uuid, &l->pid, l->mem, &l->percent) >= 1;
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static int is(nvmlDevice_t d, const char *uuid)
{
    char its[96] = "";

    return nvmlDeviceGetUUID(d, its, sizeof(its)) == NVML_SUCCESS && strcmp(its, uuid) == 0;
}

static int list(const char *kind, nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos)
{
    static __thread struct line lines[LINES];
    const int line_n = read_lines(lines);
    unsigned there = 0;

    for (int i = 0; i < line_n; i++) {
        const struct line *l = &lines[i];

        if (strcmp(l->kind, "lost") == 0 && is(d, l->uuid)) {
            return NVML_ERROR_GPU_IS_LOST;
        }
        if (strcmp(l->kind, kind) != 0 || !is(d, l->uuid)) {
            continue;
        }
        if (there < *n) {
            infos[there] =
                (nvmlProcessInfo_t){.pid = l->pid,
                                    .usedGpuMemory = l->mem[0] == '-' ? ~0ULL : strtoull(l->mem, NULL, 10) << 20,
                                    .gpuInstanceId = 0xffffffff,
                                    .computeInstanceId = 0xffffffff};
        }
        there++;
    }
    if (there > *n) {
        *n = there;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *n = there;
    return NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos)
{
    return list("process", d, n, infos);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos)
{
    return list("mps", d, n, infos);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *infos)
{
    return list("graphics", d, n, infos);
}

/* Samples of the driver are 1 s apart here, and each call sees a new one. */
int nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t *samples, unsigned *n,
                                    unsigned long long last_seen)
{
    static __thread struct line lines[LINES];
    const int line_n = read_lines(lines);
    unsigned there = 0;

    for (int i = 0; i < line_n; i++) {
        const struct line *l = &lines[i];

        if (strcmp(l->kind, "no-utilization") == 0) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        if (l->percent == 0 || !is(d, l->uuid)) {
            continue;
        }
        if (samples != NULL && there < *n) {
            samples[there] = (nvmlProcessUtilizationSample_t){
                .pid = l->pid, .timeStamp = last_seen + 1000000, .smUtil = l->percent, .memUtil = l->percent};
        }
        there++;
    }
    if (there == 0) {
        return NVML_ERROR_NOT_FOUND;
    }
    if (samples == NULL || there > *n) {
        *n = there;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *n = there;
    return NVML_SUCCESS;
}
