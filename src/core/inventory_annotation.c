/* Annotation fgpu.io/gpus: the one source that knows UUIDs. Format: design.md section 5. Unknown
 * keys are skipped, so that publishers may add some. */
#include "base/json_read.h"
#include "core/demand.h"
#include "core/inventory_internal.h"

#define HERE "annotation fgpu.io/gpus: "

/* What one entry of "gpus" has shown so far. */
struct entry {
    struct device device;
    bool has_uuid, has_index, has_memory;
    bool is_partitioned;
};

struct parsing {
    struct json_reader r;
    const char *complaint; /* ours, about a value; NULL when JSON itself is at fault */
    struct inventory_draft *draft;
};

static void complain(struct parsing *ps, const char *complaint)
{
    if (!json_failed(&ps->r)) {
        ps->complaint = complaint;
        json_fail(&ps->r, ERR_INVALID, complaint);
    }
}

static bool is_identifier(struct str s)
{
    if (s.n == 0 || s.n > INVENTORY_TEXT_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && c != '-' && c != '_' && c != '.' && c != ':' && c != '/') {
            return false;
        }
    }
    return true;
}

static bool read_range(struct parsing *ps, int64_t min, int64_t max, int64_t *ret,
                       const char *complaint)
{
    int64_t v;

    if (!json_i64(&ps->r, &v)) {
        return false;
    }
    if (v < min || v > max) {
        complain(ps, complaint);
        return false;
    }
    *ret = v;
    return true;
}

static bool read_i32(struct parsing *ps, int32_t min, int32_t max, int32_t *ret,
                     const char *complaint)
{
    int64_t v;

    if (!read_range(ps, min, max, &v, complaint)) {
        return false;
    }
    *ret = (int32_t)v;
    return true;
}

/* Partitions are not handed out yet, so only whether there are any matters. */
static void read_mig(struct parsing *ps, struct entry *e)
{
    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        e->is_partitioned = true;
        json_skip(&ps->r);
    }
}

/* The three that must be there; false when `key` is none of them. */
static bool read_mandatory(struct parsing *ps, struct str key, struct entry *e)
{
    struct device *dev = &e->device;

    if (str_eq(key, STR("uuid"))) {
        e->has_uuid = json_string(&ps->r, &dev->uuid);
        if (e->has_uuid && !is_identifier(dev->uuid)) {
            complain(ps, HERE "uuid must be 1 to 128 of A-Z a-z 0-9 - _ . : /");
        }
    } else if (str_eq(key, STR("index"))) {
        e->has_index =
            read_i32(ps, 0, INVENTORY_INDEX_MAX, &dev->index, HERE "index must be 0 to 1023");
    } else if (str_eq(key, STR("memMib"))) {
        e->has_memory = read_range(ps, 1, DEMAND_MEM_MIB_MAX, &dev->mem_mib,
                                   HERE "memMib must be 1 to 16777216");
    } else {
        return false;
    }
    return true;
}

static void read_optional(struct parsing *ps, struct str key, struct entry *e)
{
    struct device *dev = &e->device;

    if (json_accept_null(&ps->r)) {
        return;
    }
    if (str_eq(key, STR("minor"))) {
        read_i32(ps, -1, INVENTORY_INDEX_MAX, &dev->minor, HERE "minor must be 0 to 1023 or -1");
    } else if (str_eq(key, STR("slots"))) {
        read_i32(ps, 1, INVENTORY_SLOTS_MAX, &dev->slot_n, HERE "slots must be 1 to 32767");
    } else if (str_eq(key, STR("numa"))) {
        read_i32(ps, -1, INVENTORY_INDEX_MAX, &dev->numa, HERE "numa must be 0 to 1023 or -1");
    } else if (str_eq(key, STR("healthy"))) {
        json_bool(&ps->r, &dev->healthy);
    } else if (str_eq(key, STR("model"))) {
        if (json_string(&ps->r, &dev->model) && dev->model.n > INVENTORY_TEXT_BYTES_MAX) {
            complain(ps, HERE "model is longer than 128 bytes");
        }
    } else if (str_eq(key, STR("mig"))) {
        read_mig(ps, e);
    } else {
        json_skip(&ps->r);
    }
}

static void add_device(struct parsing *ps, struct entry *e)
{
    struct inventory_draft *d = ps->draft;

    if (json_failed(&ps->r)) {
        return;
    }
    if (!e->has_uuid || !e->has_index || !e->has_memory) {
        complain(ps, HERE "a GPU lacks uuid or index or memMib");
        return;
    }
    for (size_t i = 0; i < d->device_n; i++) {
        if (d->devices[i].index == e->device.index || str_eq(d->devices[i].uuid, e->device.uuid)) {
            complain(ps, HERE "two GPUs have the same uuid or index");
            return;
        }
    }
    if (d->device_n == DEVICES_PER_NODE_MAX) {
        complain(ps, HERE "more than 64 GPUs");
        return;
    }
    if (e->is_partitioned) {
        e->device.healthy = false;
        inventory_add_note(d, HERE "GPUs with MIG instances are not handed out yet");
    }
    /* Kept in order of index; the annotation may list them in any. */
    size_t at = d->device_n++;
    while (at > 0 && d->devices[at - 1].index > e->device.index) {
        d->devices[at] = d->devices[at - 1];
        at--;
    }
    d->devices[at] = e->device;
}

static void read_gpus(struct parsing *ps)
{
    struct str key;

    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        struct entry e = {
            .device = {.minor = -1,
                       .numa = -1,
                       .healthy = true,
                       .slot_n = ps->draft->settings.max_sharers},
        };
        json_object_begin(&ps->r);
        while (json_object_next(&ps->r, &key)) {
            if (!read_mandatory(ps, key, &e)) {
                read_optional(ps, key, &e);
            }
        }
        add_device(ps, &e);
    }
}

static void read_document(struct parsing *ps)
{
    struct str key;
    int64_t version;
    bool has_version = false;
    bool has_gpus = false;

    json_object_begin(&ps->r);
    while (json_object_next(&ps->r, &key)) {
        if (str_eq(key, STR("v"))) {
            has_version = read_range(ps, 1, 1, &version, HERE "v must be 1");
        } else if (str_eq(key, STR("gpus"))) {
            has_gpus = true;
            read_gpus(ps);
        } else {
            json_skip(&ps->r);
        }
    }
    if (!has_version || !has_gpus) {
        complain(ps, HERE "v or gpus is missing");
    }
}

enum source_result inventory_from_annotation(struct inventory_draft *d)
{
    const struct str *text = kv_find(d->node->annotations, STR(INVENTORY_KEY));
    struct parsing ps; /* large, and only its start is touched: not cleared */

    if (text == NULL) {
        return SOURCE_ABSENT;
    }
    json_reader_init(&ps.r, *text, d->arena);
    ps.complaint = NULL;
    ps.draft = d;
    read_document(&ps);
    if (json_read_end(&ps.r, NULL) == 0) {
        return SOURCE_READ;
    }
    d->note = NULL; /* whatever was noted on the way, this outweighs it */
    return inventory_malformed(
        d, ps.complaint != NULL ? ps.complaint : HERE "not valid JSON of the documented form");
}
