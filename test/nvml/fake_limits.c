/* The memory limits of the scripted driver (fake_nvml.c). A library that is built without this file is one of a driver
 * before r615.
 *
 * Calls succeed. If FAKE_NVML_LIMITS names a file, each call adds a line "SOFT HARD UUID CGROUP" to it, and what a call
 * does is in the file of that name with ".script" behind it, read at each call:
 *
 *     ok
 *     hang            the call never comes back; what it was asked is written down
 *     fail CODE       it answers that code, and writes nothing
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2

typedef struct thing *nvmlDevice_t;

typedef struct {
    const char *nameSpace;
    unsigned long long softLimit, hardLimit;
} nvmlSetMemoryLimits_v1_t;

int nvmlDeviceGetUUID(nvmlDevice_t d, char *ret, unsigned size);
int nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t d, nvmlSetMemoryLimits_v1_t *limits);

static int read_script(const char *path, int *ret_hangs)
{
    char name[512], word[16] = "ok";
    int code = NVML_SUCCESS;
    FILE *f;

    snprintf(name, sizeof(name), "%.500s.script", path);
    f = fopen(name, "re");
    if (f != NULL) {
        if (fscanf(f, "%15s %d", word, &code) < 1) {
            strcpy(word, "ok");
        }
        fclose(f);
    }
    *ret_hangs = strcmp(word, "hang") == 0;
    return strcmp(word, "fail") == 0 ? code : NVML_SUCCESS;
}

int nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t d, nvmlSetMemoryLimits_v1_t *limits)
{
    const char *path = getenv("FAKE_NVML_LIMITS");
    char uuid[96], line[1024];
    int hangs, code, fd, n;

    if (limits->softLimit > limits->hardLimit || limits->nameSpace[0] != '/') {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (path == NULL) {
        return NVML_SUCCESS;
    }
    code = read_script(path, &hangs);
    if (code != NVML_SUCCESS) {
        return code;
    }
    code = nvmlDeviceGetUUID(d, uuid, sizeof(uuid));
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    n = snprintf(line, sizeof(line), "%llu %llu %s %s\n", limits->softLimit, limits->hardLimit, uuid,
                 limits->nameSpace);
    if (code != NVML_SUCCESS || fd < 0 || write(fd, line, (size_t)n) != n) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    close(fd);
    while (hangs) {
        pause();
    }
    return NVML_SUCCESS;
}
