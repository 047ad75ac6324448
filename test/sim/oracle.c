#include "oracle.h"

#include "api.h"
#include "fiber.h"
#include "net.h"
#include "oracle_internal.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"
#include "base/clock.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORGET_NS (300 * NS_PER_S)

struct oracle_counts oracle_counts;
struct oracle_device oracle_devices[ORACLE_DEVICES_MAX];
size_t oracle_device_n;

enum fleet oracle_fleet;
static int64_t lag_ns;

void oracle_init(enum fleet fleet, int64_t lag_ms)
{
    oracle_fleet = fleet;
    lag_ns = lag_ms * NS_PER_MS;
}

struct oracle_device *oracle_find(const char *uuid)
{
    for (size_t i = 0; i < oracle_device_n; i++) {
        if (strcmp(oracle_devices[i].uuid, uuid) == 0) {
            return &oracle_devices[i];
        }
    }
    return NULL;
}

/* ---- capacity ---- */

/* Who decided may not have known it yet. */
static void set_capacity(struct oracle_device *d, int mem_mib, uint64_t version)
{
    if (d->mem_mib != mem_mib) {
        d->version = version;
        memmove(&d->past[1], &d->past[0], sizeof(d->past) - sizeof(d->past[0]));
        d->past[0] = (struct oracle_past){sim_now_ns(), version, d->mem_mib};
        d->mem_mib = mem_mib;
    }
}

/* The most that it had in any version of its node that is not older than what somebody had seen. */
static int capacity_seen(const struct oracle_device *d, uint64_t nodes_seen)
{
    int most = d->mem_mib;

    for (size_t i = 0; i < ORACLE_PAST; i++) {
        if (d->past[i].until > nodes_seen && d->past[i].mem_mib > most) {
            most = d->past[i].mem_mib;
        }
    }
    return most;
}

/* Nobody can be given it any more, or has it. */
static bool is_forgotten(const struct oracle_device *d)
{
    return d->mem_mib == 0 && d->holder_n == 0 && d->past[0].until_ns + FORGET_NS < sim_now_ns();
}

static void saw_node(const struct object *o, enum change_type type)
{
    for (size_t i = 0; i < oracle_device_n; i++) {
        struct oracle_device *d = &oracle_devices[i];
        bool there = false;

        for (size_t j = 0; j < o->gpu_n && type != DELETED; j++) {
            there = there || (!o->gpus[j].gone && strcmp(o->gpus[j].uuid, d->uuid) == 0);
        }
        if (strcmp(d->node, o->name) == 0 && !there) {
            set_capacity(d, 0, o->version);
        }
    }
    for (size_t j = 0; j < o->gpu_n && type != DELETED; j++) {
        struct oracle_device *d = oracle_find(o->gpus[j].uuid);

        if (o->gpus[j].gone) {
            continue;
        }
        if (d == NULL) {
            for (d = oracle_devices; d < &oracle_devices[oracle_device_n] && !is_forgotten(d); d++) {
            }
            BUG_ON(d == &oracle_devices[ORACLE_DEVICES_MAX]);
            oracle_device_n += d == &oracle_devices[oracle_device_n];
            *d = (struct oracle_device){0};
            memcpy(d->uuid, o->gpus[j].uuid, sizeof(d->uuid));
            memcpy(d->node, o->name, sizeof(d->node));
        }
        set_capacity(d, o->gpus[j].mem_mib, o->version);
    }
}

static void saw_pod_end(const char *uid)
{
    for (size_t i = 0; i < oracle_device_n; i++) {
        struct oracle_device *d = &oracle_devices[i];

        for (size_t j = 0; j < d->holder_n;) {
            if (strcmp(d->holders[j].uid, uid) == 0) {
                d->holders[j] = d->holders[--d->holder_n];
            } else {
                j++;
            }
        }
    }
}

void oracle_saw(const struct object *o, enum change_type type)
{
    if (o->kind == NODES) {
        saw_node(o, type);
    } else if (o->kind == PODS && (type == DELETED || o->phase == SUCCEEDED)) {
        saw_pod_end(o->uid);
    }
}

/* ---- decisions ---- */

#define DECISIONS_MAX 4096

/* What its process had been told when it sent the Binding for the first time. */
struct decision {
    char id[20];
    uint64_t pods_seen, nodes_seen;
};

static struct decision decisions[DECISIONS_MAX]; /* a ring */
static size_t decision_at;

static const struct decision *decision_of(const cJSON *id)
{
    for (size_t i = 0; cJSON_IsString(id) && i < DECISIONS_MAX; i++) {
        const struct decision *d = &decisions[(decision_at + DECISIONS_MAX - 1 - i) % DECISIONS_MAX];

        if (strcmp(d->id, id->valuestring) == 0) {
            return d;
        }
    }
    return NULL;
}

void oracle_submitted(const struct call *c)
{
    const struct process *of = c->of;
    const char *body = c->body;
    static const char key[] = "\\\"id\\\":\\\"";
    const char *at = strstr(body, key);
    struct decision d = {.pods_seen = of->pods_seen, .nodes_seen = of->nodes_seen};

    if (strstr(c->path, "/binding") == NULL) {
        return;
    }
    if (at == NULL) {
        found("a Binding without a record: %s", body);
    }
    at += sizeof(key) - 1;
    snprintf(d.id, sizeof(d.id), "%.*s", (int)strcspn(at, "\\"), at);
    if (decision_of(&(cJSON){.type = cJSON_String, .valuestring = d.id}) == NULL) {
        decisions[decision_at++ % DECISIONS_MAX] = d;
    }
}

/* ---- grants ---- */

/* Whoever comes next waits so long for it, and lists the pods then (F121). */
static bool took_long(struct oracle_write w)
{
    return w.landed_ns - w.left_ns >= HOLD_OFF_MS * NS_PER_MS;
}

static bool lived_at_once(const struct process *older, const struct process *younger)
{
    return oracle_fleet == FLEET_MISTAKE && (!older->gone || older->ended_ns > younger->started_ns);
}

bool oracle_was_late(struct oracle_write a, struct oracle_write b)
{
    const struct oracle_write older = a.process < b.process ? a : b;
    const unsigned younger = a.process < b.process ? b.process : a.process;

    if (oracle_fleet == FLEET_LEASE) {
        return took_long(a) || took_long(b);
    }
    if (lived_at_once(process_at(older.process), process_at(younger))) {
        return true;
    }
    for (unsigned n = older.process + 1; n <= younger; n++) {
        const struct process *p = process_at(n);

        if (!p->rehearses && !p->skipped_hold_off && !lived_at_once(process_at(older.process), p) &&
            older.landed_ns > p->started_ns + HOLD_OFF_MS * NS_PER_MS - lag_ns) {
            return true;
        }
    }
    return false;
}

static void judge(const struct oracle_device *d, const struct oracle_holder *new, const struct decision *by)
{
    const int cap = capacity_seen(d, by->nodes_seen);
    int milli = new->milli, mem = new->mem_mib, all_milli = milli, all_mem = mem;
    bool late = false;

    for (size_t i = 0; i < d->holder_n; i++) {
        const struct oracle_holder *h = &d->holders[i];
        const bool known = h->process == new->process || h->version <= by->pods_seen;

        milli += known ? h->milli : 0;
        mem += known ? h->mem_mib : 0;
        all_milli += h->milli;
        all_mem += h->mem_mib;
        late = late || (!known && oracle_was_late((struct oracle_write){h->process, h->left_ns, h->landed_ns},
                                                  (struct oracle_write){new->process, new->left_ns, sim_now_ns()}));
    }
    if (milli > 1000 || mem > cap) {
        found("GPU %s of %s is given twice by fgpu %u, which knew: %d milli, %d of %d MiB with pod %s", d->uuid,
              d->node, new->process, milli, mem, cap, new->uid);
    }
    if (all_milli > 1000 || all_mem > cap) {
        oracle_counts.over_n++;
        if (!late) {
            found("GPU %s of %s is given twice, and nothing was late: %d milli, %d of %d MiB with pod %s of fgpu %u",
                  d->uuid, d->node, all_milli, all_mem, cap, new->uid, new->process);
        }
        TRACE("late: GPU %s has %d milli, %d of %d MiB", d->uuid, all_milli, all_mem, cap);
        oracle_counts.late_n++;
    }
}

static int number(const cJSON *o, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(n) ? n->valueint : -1;
}

static void grant(const struct process *of, const struct object *o, const cJSON *device, const struct decision *by,
                  int64_t left_ns)
{
    const cJSON *uuid = cJSON_GetObjectItemCaseSensitive(device, "uuid");
    struct oracle_device *d = oracle_find(cJSON_IsString(uuid) ? uuid->valuestring : "");
    struct oracle_holder h = {.process = of->number,
                              .version = etcd_version() + 1,
                              .nodes_seen = by->nodes_seen,
                              .left_ns = left_ns,
                              .landed_ns = sim_now_ns(),
                              .milli = number(device, "milli"),
                              .mem_mib = number(device, "memMib")};
    const bool whole = o->ask.milli == 0;

    if (d == NULL || strcmp(d->node, o->node) != 0) {
        found("pod %s was given a GPU that %s never had", o->uid, o->node);
    }
    if (h.milli != (whole ? 1000 : o->ask.milli) || (!whole && h.mem_mib != o->ask.mem_mib)) {
        found("pod %s asks for %d milli and %d MiB and was given %d and %d", o->uid, o->ask.milli, o->ask.mem_mib,
              h.milli, h.mem_mib);
    }
    memcpy(h.uid, o->uid, sizeof(h.uid));
    for (size_t i = 0; i < d->holder_n; i++) {
        if (strcmp(d->holders[i].uid, h.uid) == 0) {
            found("pod %s was given GPU %s twice", o->uid, d->uuid);
        }
    }
    judge(d, &h, by);
    BUG_ON(d->holder_n == ORACLE_HOLDERS_MAX);
    d->holders[d->holder_n++] = h;
}

void oracle_granted(const struct process *of, const struct object *o, int64_t left_ns)
{
    const char *text = object_note_of(o, "fgpu.io/assignment");
    cJSON *record = cJSON_Parse(text != NULL ? text : "");
    const struct decision *by = decision_of(cJSON_GetObjectItemCaseSensitive(record, "id"));
    const cJSON *container = cJSON_GetObjectItemCaseSensitive(record, "containers"), *devices, *device;

    if (by == NULL) {
        found("pod %s was given a record that was never sent", o->uid);
    }
    container = cJSON_GetArrayItem(container, 0);
    devices = cJSON_GetObjectItemCaseSensitive(container, "devices");
    if (cJSON_GetArraySize(devices) != o->ask.count) {
        found("pod %s asks for %d GPUs and was given %d", o->uid, o->ask.count, cJSON_GetArraySize(devices));
    }
    cJSON_ArrayForEach(device, devices)
    {
        grant(of, o, device, by, left_ns);
    }
    cJSON_Delete(record);
    oracle_counts.granted_n++;
}
