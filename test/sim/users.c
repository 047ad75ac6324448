#define SIM_STREAM SIM_USERS
#include "users.h"

#include "admins.h"
#include "etcd.h"
#include "fiber.h"
#include "mask.h"
#include "settings.h"
#include "trace.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct climate climate;
    unsigned pod_n;
} u;

static struct object *any(enum kind k)
{
    return etcd_count(k) > 0 ? etcd_at(k, sim_below(etcd_count(k))) : NULL;
}

/* ---- pods ---- */

static struct ask any_native(void)
{
    struct ask a = {.milli = 100 * (1 + (int)sim_below(9)), .mem_mib = 4096 * (1 + (int)sim_below(18)), .count = 1};

    switch (sim_below(6)) {
    case 0:
        a = (struct ask){.count = 1 + (int)sim_below(2)};
        break;
    case 1:
        a.count = 2;
        break;
    case 2:
    case 3:
        a.by_annotation = true;
        break;
    default:
        break;
    }
    if (u.climate.rich && a.milli != 0 && sim_chance(300)) {
        *(sim_chance(500) ? &a.milli : &a.mem_mib) = 0;
    }
    return a;
}

/* In the words of others. */
static struct ask any_foreign(void)
{
    struct ask a = {.kind = (enum ask_kind)(1 + sim_below(ASK__MAX - 1)), .size = (unsigned)sim_below(SIZES_MAX)};

    a.size = a.kind == ASK_MIG ? a.size % PROFILES : a.size;
    if (a.kind == ASK_VGPU || a.kind == ASK_VCUDA) {
        static const int units[] = {1, 3, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000};

        a.units = units[sim_below(12)];
    } else if (a.kind == ASK_GPUSHARE || a.kind == ASK_HAMI) {
        a.mem_mib = 1000 * (1 + (int)sim_below(60));
        a.count = a.kind == ASK_GPUSHARE && sim_chance(300) ? 2 : 0;
    }
    return a;
}

static struct ask any_ask(void)
{
    const struct ask native = any_native(), foreign = any_foreign();

    return u.climate.rich && sim_chance(400) && mask_allows(DO_DIALECTS) ? foreign : native;
}

/* With a signature that looks like one. */
static void forge(struct object *o)
{
    const struct object *node = any(NODES);
    char text[512];

    if (node == NULL) {
        return;
    }
    snprintf(
        text, sizeof(text),
        "{\"v\":1,\"id\":\"00000000deadbeef\",\"containers\":[{\"name\":\"main\",\"init\":false,\"devices\":[{\"uuid\":"
        "\"%s\",\"index\":0,\"milli\":1,\"memMib\":1}]}],\"sig\":{\"key\":\"0123456789abcdef\",\"value\":\"%086d==\"}}",
        node->gpus[sim_below(node->gpu_n)].uuid, 0);
    object_note(o, "fgpu.io/assignment", text);
    world_counts.forged_n++;
}

static void create_pod(const char *name)
{
    struct object *o = etcd_new(PODS, name);
    const struct object *node = any(NODES);

    o->ask = any_ask();
    if (u.climate.rich && sim_chance(500)) {
        snprintf(o->ns, sizeof(o->ns), "team-%c", (char)('a' + sim_below(TEAMS)));
    }
    o->priority = u.climate.rich ? (int)sim_below(3) : 0;
    if (u.climate.forgeries && sim_chance(30) && mask_allows(DO_FORGERIES)) {
        forge(o);
    }
    if (u.climate.forgeries && node != NULL && sim_chance(15) && mask_allows(DO_STRANGE_BINDS)) {
        o->odd = true;
        o->stranger = etcd_version() + 1;
        memcpy(o->node, node->name, sizeof(o->node));
    }
    world_counts.created_n++;
    TRACE("created: %s/%s (%s) asks for %d x %d milli, %d MiB, in words %d: %d units, size %u%s", o->ns, o->name,
          o->uid, o->ask.count, o->ask.milli, o->ask.mem_mib, (int)o->ask.kind, o->ask.units, o->ask.size,
          o->odd ? ", bound by nobody of ours" : "");
    etcd_write(o);
}

static void create_another(void)
{
    char name[32];

    if (etcd_count(PODS) < u.climate.pods) {
        snprintf(name, sizeof(name), "pod-%u", u.pod_n++);
        create_pod(name);
    }
}

static void is_over(void *ctx)
{
    char *uid = ctx;
    struct object *o = etcd_find_uid(uid);

    if (o != NULL) {
        TRACE("gone: %s (%s)", o->name, o->uid);
        etcd_delete(o);
    }
    free(uid);
}

void users_delete(struct object *o)
{
    world_counts.deleted_n++;
    if (o->node[0] == '\0' || sim_chance(200)) {
        TRACE("deleted: %s (%s)", o->name, o->uid);
        etcd_delete(o);
    } else if (!o->deleting) {
        TRACE("terminates: %s (%s)", o->name, o->uid);
        o->deleting = true;
        sim_in_ms(100 + (int64_t)sim_below(4000), is_over, memcpy(xmalloc(sizeof(o->uid)), o->uid, sizeof(o->uid)));
        etcd_write(o);
    }
}

/* Of a pod that is bound, too: its record says what it has (design.md 3.1.1). */
static void edit_request(struct object *o)
{
    if (o->ask.by_annotation && (o->node[0] == '\0' || mask_allows(DO_RESIZES))) {
        o->ask.milli = o->ask.milli != 0 ? 100 * (1 + (int)sim_below(9)) : 0;
        o->ask.mem_mib = o->ask.mem_mib != 0 ? 4096 * (1 + (int)sim_below(18)) : 0;
        o->edited++;
        TRACE("edited: %s (%s) asks for %d milli, %d MiB", o->name, o->uid, o->ask.milli, o->ask.mem_mib);
        world_counts.edited_n++;
        etcd_write(o);
    }
}

/* Another amount or GPU in the true record, under its signature. */
static void tamper(struct object *o)
{
    const char *record = object_note_of(o, "fgpu.io/assignment");
    char *copy, *at;

    if (record == NULL) {
        return;
    }
    copy = memcpy(xmalloc(strlen(record) + 1), record, strlen(record) + 1);
    at = strstr(copy, sim_chance(500) ? "\"milli\":" : "\"uuid\":\"GPU-0000");
    if (at != NULL) {
        at = strpbrk(at, "123456789");
    }
    if (at != NULL) {
        *at = *at == '1' ? '2' : '1';
        object_note(o, "fgpu.io/assignment", copy);
    }
    free(copy);
}

static void edit_record(struct object *o)
{
    if (u.climate.forgeries && mask_allows(DO_FORGERIES) && o->node[0] != '\0') {
        o->odd = true;
        TRACE("forged: the record of %s (%s)", o->name, o->uid);
        if (sim_chance(300)) {
            forge(o);
        } else {
            tamper(o);
        }
        etcd_write(o);
    }
}

static void edit_soon(void *ctx)
{
    char *uid = ctx;
    struct object *o = etcd_find_uid(uid);

    if (o != NULL) {
        edit_record(o);
    }
    free(uid);
}

/* Some are quick: a record is edited before anybody's watch has shown it. */
static void changed(const struct change *c)
{
    const char *node = strstr(c->json, "\"nodeName\":");

    if (u.climate.forgeries && c->kind == PODS && c->shows == MODIFIED && node != NULL && sim_chance(4)) {
        sim_at(sim_now_ns() + (int64_t)sim_below(3000000), edit_soon,
               memcpy(xmalloc(sizeof(c->uid)), c->uid, sizeof(c->uid)));
    }
}

static void go_on(struct object *o)
{
    if (o->node[0] == '\0' || o->deleting) {
        return;
    }
    if (o->phase == PENDING) {
        o->phase = RUNNING;
        etcd_write(o);
    } else if (o->phase == RUNNING && sim_chance(300) && mask_allows(DO_SUCCESSES)) {
        o->phase = SUCCEEDED;
        TRACE("succeeded: %s (%s)", o->name, o->uid);
        etcd_write(o);
    }
}

static void act_on(struct object *o)
{
    char name[32];

    switch (sim_below(20)) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (mask_allows(DO_DELETIONS)) {
            users_delete(o);
        }
        break;
    case 4: /* another one of its name, at once */
        if (mask_allows(DO_REPLACEMENTS)) {
            memcpy(name, o->name, sizeof(name));
            TRACE("replaced: %s (%s)", o->name, o->uid);
            etcd_delete(o);
            create_pod(name);
        }
        break;
    case 5:
    case 6:
        if (mask_allows(DO_TOUCHES)) {
            o->patched++;
            etcd_write(o);
        }
        break;
    case 7:
    case 8:
        if (mask_allows(DO_EDITS)) {
            edit_request(o);
        }
        break;
    case 9:
        if (sim_chance(500)) {
            edit_record(o);
        }
        break;
    case 10:
        if (u.climate.node_changes && sim_chance(u.climate.rich ? 600 : 300)) {
            admins_act();
        }
        break;
    default:
        go_on(o);
        break;
    }
}

void users_act(void)
{
    struct object *o = any(PODS);

    if (o == NULL || sim_chance(400)) {
        create_another();
    } else {
        act_on(o);
    }
}

void users_tidy(void)
{
    struct object *next;

    for (struct object *o = etcd_first(PODS); o != NULL; o = next) {
        next = o->next;
        if (o->odd || o->deleting || o->phase == SUCCEEDED) {
            etcd_delete(o);
        }
    }
}

void users_init(const struct climate *c)
{
    u.climate = *c;
    etcd_follow(changed);
    admins_init(c);
}
