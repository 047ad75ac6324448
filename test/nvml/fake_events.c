/* Events and illness of the scripted library, told while it is in use: lines are appended to a file whose name is that
 * of its script (fake_nvml.c) with ".events" behind it.
 *
 *     xid UUID XID [GI CI]   an XID of this GPU; of an instance of it, if both are given
 *     stray XID              one of a GPU whose handle nobody knows and whose UUID cannot be read
 *     bit UUID               a double bit error, which is no XID
 *     error RC               the wait fails once, with this code
 *     sick UUID RC           from now on whoever reads the memory of this GPU gets RC; 0: it answers again
 *     mute UUID              from now on this GPU does not even tell its UUID
 *     old UUID               a GPU too old for events
 *     compute UUID CI        the number of the compute instance of this MIG device; 0 without
 *     hang                   from now on waits and counts of GPUs do not return ...
 *     go                     ... until now
 *
 * What stood there when an event set was made is no event of that set. Shares no code with src/nvml: the numbers are
 * written down again, from nvml.h.
 */
#include "fake_events.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NVML_SUCCESS 0
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_TIMEOUT 10
#define EVENT_DOUBLE_BIT 0x2ULL
#define EVENT_XID 0x8ULL
#define WHOLE 0xFFFFFFFFU
#define STEP_MS 5
#define GPUS 128

typedef void *nvmlDevice_t;

typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;
_Static_assert(sizeof(nvmlEventData_t) == 32, "as in nvml.h");

typedef struct event_set {
    long read; /* bytes of the file */
    unsigned n;
    nvmlDevice_t registered[GPUS];
    unsigned long long types[GPUS];
} * nvmlEventSet_t;

int nvmlEventSetCreate(nvmlEventSet_t *ret);
int nvmlEventSetFree(nvmlEventSet_t set);
int nvmlDeviceGetSupportedEventTypes(nvmlDevice_t d, unsigned long long *ret);
int nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set);
int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *ret, unsigned timeout_ms);
int nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned *ret);
int nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned *ret);

static char stray[1]; /* a handle that is none */

/* ---- the file ---- */

/* What is remembered of it, from one end to the other. */
struct story {
    int sick, old, mute, hangs;
    unsigned ci;
};

static FILE *open_file(void)
{
    char path[4096];

    if (!fake_script_path(path, sizeof(path) - sizeof(".events"))) {
        return NULL;
    }
    strcat(path, ".events");
    return fopen(path, "re");
}

/* A whole line; one that is still being written is none. */
static int next_line(FILE *f, char *line, int size)
{
    return f != NULL && fgets(line, size, f) != NULL && strchr(line, '\n') != NULL;
}

static struct story story_of(const char *uuid)
{
    struct story s = {.sick = 0};
    FILE *f = open_file();
    char line[256], of[80];
    unsigned ci;
    int rc;

    while (next_line(f, line, sizeof(line))) {
        const int named = sscanf(line, "%*s %79s", of) == 1 && strcmp(of, uuid) == 0;

        if (named && sscanf(line, "sick %*s %d", &rc) == 1) {
            s.sick = rc;
        } else if (named && sscanf(line, "compute %*s %u", &ci) == 1) {
            s.ci = ci;
        } else if (named && strncmp(line, "old ", 4) == 0) {
            s.old = 1;
        } else if (named && strncmp(line, "mute ", 5) == 0) {
            s.mute = 1;
        } else if (strcmp(line, "hang\n") == 0 || strcmp(line, "go\n") == 0) {
            s.hangs = line[0] == 'h';
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return s;
}

int fake_events_sick(const char *uuid)
{
    return story_of(uuid).sick;
}

int fake_events_mute(const char *uuid)
{
    return story_of(uuid).mute;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_a_step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
}

void fake_events_hang(void)
{
    while (story_of("").hangs) {
        pause_a_step();
    }
}

int fake_events_is_stray(const void *device)
{
    return device == stray;
}

/* ---- sets ---- */

int nvmlEventSetCreate(nvmlEventSet_t *ret)
{
    FILE *f = open_file();

    *ret = calloc(1, sizeof(**ret));
    if (*ret != NULL && f != NULL && fseek(f, 0, SEEK_END) == 0) {
        (*ret)->read = ftell(f);
    }
    if (f != NULL) {
        fclose(f);
    }
    return *ret != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

int nvmlEventSetFree(nvmlEventSet_t set)
{
    free(set);
    return NVML_SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(nvmlDevice_t d, unsigned long long *ret)
{
    const struct story s = story_of(fake_uuid(d));

    *ret = s.old ? 0 : EVENT_XID | EVENT_DOUBLE_BIT;
    return s.sick;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set)
{
    const struct story s = story_of(fake_uuid(d));

    if (s.sick != 0 || s.old) {
        return s.sick != 0 ? s.sick : NVML_ERROR_NOT_SUPPORTED;
    }
    if (types == 0 || (types & ~(EVENT_XID | EVENT_DOUBLE_BIT)) != 0 || set->n == GPUS) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    set->types[set->n] = types;
    set->registered[set->n++] = d;
    return NVML_SUCCESS;
}

/* NULL: not in this set with this type. */
static nvmlDevice_t registered(const struct event_set *set, const char *uuid, unsigned long long type)
{
    for (unsigned i = 0; i < set->n; i++) {
        if ((set->types[i] & type) != 0 && strcmp(fake_uuid(set->registered[i]), uuid) == 0) {
            return set->registered[i];
        }
    }
    return NULL;
}

/* -1: the line is nothing to this set. */
static int deliver(const struct event_set *set, const char *line, nvmlEventData_t *ret)
{
    unsigned long long xid = 0;
    char uuid[80] = "";
    int rc;

    *ret = (nvmlEventData_t){.eventType = EVENT_XID, .gpuInstanceId = WHOLE, .computeInstanceId = WHOLE};
    if (sscanf(line, "error %d", &rc) == 1) {
        return rc;
    }
    if (sscanf(line, "stray %llu", &xid) == 1) {
        ret->device = stray;
    } else if (sscanf(line, "bit %79s", uuid) == 1) {
        ret->device = registered(set, uuid, EVENT_DOUBLE_BIT);
        ret->eventType = EVENT_DOUBLE_BIT;
    } else if (sscanf(line, "xid %79s %llu %u %u", uuid, &xid, &ret->gpuInstanceId, &ret->computeInstanceId) >= 2) {
        ret->device = registered(set, uuid, EVENT_XID);
    }
    ret->eventData = xid;
    return ret->device != NULL ? NVML_SUCCESS : -1;
}

static int deliver_next(struct event_set *set, nvmlEventData_t *ret)
{
    FILE *f = open_file();
    char line[256];
    int rc = -1;

    if (f == NULL || fseek(f, set->read, SEEK_SET) != 0) {
        return -1;
    }
    while (rc == -1 && next_line(f, line, sizeof(line))) {
        set->read = ftell(f);
        rc = deliver(set, line, ret);
    }
    fclose(f);
    return rc;
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *ret, unsigned timeout_ms)
{
    const int64_t until_ms = now_ms() + timeout_ms; /* by the clock: on a busy machine a step takes longer */

    for (;;) {
        int rc;

        fake_events_hang();
        rc = deliver_next(set, ret);
        if (rc != -1) {
            return rc;
        }
        if (now_ms() >= until_ms) {
            return NVML_ERROR_TIMEOUT;
        }
        pause_a_step();
    }
}

/* ---- instances ---- */

int nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned *ret)
{
    unsigned instance;

    *ret = story_of(fake_uuid(d)).ci;
    return nvmlDeviceGetGpuInstanceId(d, &instance);
}
