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
static void set_state(struct oracle_device *d, struct oracle_state now, uint64_t version)
{
    if (d->now.mem_mib != now.mem_mib || d->now.pool != now.pool || d->now.profile != now.profile) {
        d->version = version;
        memmove(&d->past[1], &d->past[0], sizeof(d->past) - sizeof(d->past[0]));
        d->past[0] = (struct oracle_past){sim_now_ns(), version, d->now};
        d->now = now;
    }
}

/* Nobody can be given it any more, or has it. */
static bool is_forgotten(const struct oracle_device *d)
{
    return d->now.mem_mib == 0 && d->holder_n == 0 && d->past[0].until_ns + FORGET_NS < sim_now_ns();
}

static void saw_node(const struct object *o, enum change_type type)
{
    struct offer offers[ETCD_DEVICES_MAX];
    const size_t n = type != DELETED ? object_offers(o, offers) : 0;

    for (size_t i = 0; i < oracle_device_n; i++) {
        struct oracle_device *d = &oracle_devices[i];
        bool there = false;

        for (size_t j = 0; j < n; j++) {
            there = there || strcmp(offers[j].uuid, d->uuid) == 0;
        }
        if (strcmp(d->node, o->name) == 0 && !there) {
            set_state(d, (struct oracle_state){0, d->now.pool, d->now.profile}, o->version);
        }
    }
    for (size_t j = 0; j < n; j++) {
        struct oracle_device *d = oracle_find(offers[j].uuid);

        if (d == NULL) {
            for (d = oracle_devices; d < &oracle_devices[oracle_device_n] && !is_forgotten(d); d++) {
            }
            BUG_ON(d == &oracle_devices[ORACLE_DEVICES_MAX]);
            oracle_device_n += d == &oracle_devices[oracle_device_n];
            *d = (struct oracle_device){0};
            memcpy(d->uuid, offers[j].uuid, sizeof(d->uuid));
            memcpy(d->node, o->name, sizeof(d->node));
        }
        set_state(d, (struct oracle_state){offers[j].mem_mib, o->pool, offers[j].profile}, o->version);
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

    if (oracle_fleet == FLEET_STRICT) {
        return false;
    }
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

bool oracle_may_count_less(const struct oracle_holder *h, unsigned process)
{
    const struct object *o = etcd_find_uid(h->uid);
    const bool may_mean_less = o != NULL && (o->ask.kind != ASK_NATIVE || o->ask.milli == 0 || o->ask.mem_mib == 0);

    return o != NULL && o->odd && (may_mean_less || (o->ask.by_annotation && h->process != process));
}

/* Which of several strict ones decided last, nobody sees: their intents are in another order than their Bindings. */
static struct caps larger_of(struct caps a, struct caps b)
{
    return (struct caps){a.milli > b.milli ? a.milli : b.milli, a.mem_mib > b.mem_mib ? a.mem_mib : b.mem_mib,
                         a.sharers > b.sharers ? a.sharers : b.sharers};
}

static void judge(const struct oracle_device *d, const struct oracle_holder *new, const struct oracle_known *by,
                  const struct oracle_tags *means)
{
    struct caps cap = new->cap;
    int64_t last_ns = new->sent_ns;
    const struct amounts strangers = oracle_strangers(d, by, means);
    int milli = new->milli + strangers.milli, mem = new->mem_mib + strangers.mem_mib, sharers = 1 + strangers.count;
    int all_milli = new->milli, all_mem = new->mem_mib, all_sharers = 1;
    bool late = false, whole = strangers.whole || (new->whole &&strangers.count > 0), all_whole = false;

    for (size_t i = 0; i < d->holder_n; i++) {
        const struct oracle_holder *h = &d->holders[i];
        bool known;

        if (oracle_may_count_less(h, new->process)) {
            continue;
        }
        known = h->process == new->process || h->version <= by->pods_seen;

        if (known && h->process == new->process && h->sent_ns > last_ns) { /* it saw the others, this one as well */
            last_ns = h->sent_ns;
            cap = h->cap;
        }
        cap = oracle_fleet == FLEET_STRICT ? larger_of(cap, h->cap) : cap;
        milli += known ? h->milli : 0;
        mem += known ? h->mem_mib : 0;
        sharers += known;
        whole = whole || (known && (h->whole || new->whole));
        all_whole = all_whole || h->whole || new->whole;
        all_sharers++;
        all_milli += h->milli;
        all_mem += h->mem_mib;
        late = late || (!known && oracle_was_late((struct oracle_write){h->process, h->left_ns, h->landed_ns},
                                                  (struct oracle_write){new->process, new->left_ns, sim_now_ns()}));
    }
    if (milli > cap.milli || mem > cap.mem_mib || whole || sharers > cap.sharers) {
        found(
            "GPU %s of %s is given twice by fgpu %u, which knew: %d of %d milli, %d of %d MiB, %d of %d sharers%s with "
            "pod %s; of these strangers %d milli, %d MiB, %d sharers",
            d->uuid, d->node, new->process, milli, cap.milli, mem, cap.mem_mib, sharers, cap.sharers,
            whole ? ", one of whom has it alone," : "", new->uid, strangers.milli, strangers.mem_mib, strangers.count);
    }
    if (all_milli > cap.milli || all_mem > cap.mem_mib || all_sharers > cap.sharers || all_whole) {
        oracle_counts.over_n++;
        if (!late) {
            found("GPU %s of %s is given twice, and nothing was late: %d milli, %d of %d MiB, %d of %d sharers%s with "
                  "pod "
                  "%s of fgpu %u",
                  d->uuid, d->node, all_milli, all_mem, cap.mem_mib, all_sharers, cap.sharers,
                  all_whole ? ", one of whom has it alone," : "", new->uid, new->process);
        }
        TRACE("late: GPU %s has %d milli, %d of %d MiB", d->uuid, all_milli, all_mem, cap.mem_mib);
        oracle_counts.late_n++;
    }
}

static int number(const cJSON *o, const char *name)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(n) ? n->valueint : -1;
}

static void grant(const struct process *of, const struct object *o, const cJSON *device, int count,
                  const struct oracle_known *by, int64_t left_ns)
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
    struct oracle_tags means;
    struct amounts given = {.count = count, .milli = h.milli, .mem_mib = h.mem_mib};

    if (d == NULL || strcmp(d->node, o->node) != 0) {
        found("pod %s was given a GPU that %s never had", o->uid, o->node);
    }
    means = oracle_means(d, by, &o->ask, &given);
    if (means.n == 0) {
        found(
            "pod %s asks for %d x %d milli and %d MiB, in words %d: %d units, size %u, and was given %d x %d milli and "
            "%d MiB by settings %u, which do not say so",
            o->uid, o->ask.count, o->ask.milli, o->ask.mem_mib, (int)o->ask.kind, o->ask.units, o->ask.size, count,
            h.milli, h.mem_mib, by->in_effect.tags[0]);
    }
    h.whole = given.whole;
    h.sent_ns = by->at_ns;
    h.cap = oracle_caps(d, by);
    h.limit = oracle_team_limit(o->ns, by);
    memcpy(h.ns, o->ns, sizeof(h.ns));
    memcpy(h.uid, o->uid, sizeof(h.uid));
    for (size_t i = 0; i < d->holder_n; i++) {
        if (strcmp(d->holders[i].uid, h.uid) == 0) {
            found("pod %s was given GPU %s twice", o->uid, d->uuid);
        }
    }
    judge(d, &h, by, &means);
    BUG_ON(d->holder_n == ORACLE_HOLDERS_MAX);
    d->holders[d->holder_n++] = h;
}

bool oracle_gave(const char *uid, const char *uuid, struct oracle_given *ret)
{
    const struct oracle_device *d = oracle_find(uuid);

    for (size_t i = 0; d != NULL && i < d->holder_n; i++) {
        const struct oracle_holder *h = &d->holders[i];

        if (strcmp(h->uid, uid) == 0) {
            *ret = (struct oracle_given){h->milli, h->mem_mib, h->whole};
            return true;
        }
    }
    return false;
}

/* The limit by which the last of its own decisions was made: it had seen the others. */
static struct team last_limit(const struct process *of, const struct object *o, const struct oracle_known *by)
{
    struct team limit = oracle_team_limit(o->ns, by);
    int64_t last_ns = by->at_ns;

    for (size_t i = 0; i < oracle_device_n; i++) {
        for (size_t j = 0; j < oracle_devices[i].holder_n; j++) {
            const struct oracle_holder *h = &oracle_devices[i].holders[j];

            if (strcmp(h->ns, o->ns) == 0 && h->process == of->number && h->sent_ns > last_ns) {
                last_ns = h->sent_ns;
                limit = h->limit;
            }
        }
    }
    return limit;
}

/* Only in what the pod itself takes: a tenant may be above a limit that came later, and a pod that asks for nothing of
 * that may pass (core/tenancy/tenancy.h). */
static void judge_team(const struct process *of, const struct object *o, const struct oracle_known *by)
{
    const struct team limit = last_limit(of, o, by);
    const struct amounts held = oracle_team_holds(o->ns, by, of->number, false);
    const struct amounts takes = oracle_pod_holds(o->uid);

    if (limit.limited &&
        ((takes.milli > 0 && held.milli > limit.milli) || (takes.mem_mib > 0 && held.mem_mib > limit.mem_mib))) {
        found("%s holds %d of %d milli and %d of %d MiB with pod %s, which fgpu %u knew", o->ns, held.milli,
              limit.milli, held.mem_mib, limit.mem_mib, o->uid, of->number);
    }
}

void oracle_granted(const struct process *of, struct object *o, int64_t left_ns)
{
    const char *text = object_note_of(o, "fgpu.io/assignment");
    cJSON *record = cJSON_Parse(text != NULL ? text : "");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(record, "id");
    const struct oracle_known *by = oracle_decided(cJSON_IsString(id) ? id->valuestring : o->uid);
    const cJSON *container = cJSON_GetObjectItemCaseSensitive(record, "containers"), *devices, *device;

    if (by == NULL) {
        found("pod %s was given a record that was never sent", o->uid);
    }
    if (!cJSON_IsString(id)) {
        o->stranger = etcd_version() + 1;
        o->odd = true;
        cJSON_Delete(record);
        return;
    }
    container = cJSON_GetArrayItem(container, 0);
    devices = cJSON_GetObjectItemCaseSensitive(container, "devices");
    cJSON_ArrayForEach(device, devices)
    {
        grant(of, o, device, cJSON_GetArraySize(devices), by, left_ns);
    }
    if (cJSON_GetArraySize(devices) < 1) {
        found("pod %s was given no GPU", o->uid);
    }
    judge_team(of, o, by);
    cJSON_Delete(record);
    oracle_counts.granted_n++;
}
