/* Annotation fgpu.io/gpus: the one source that knows UUIDs. Format: design.md section 5. Unknown
 * keys are skipped, so that publishers may add some. The agent adds "by":"fgpu-node" beside "v" (FGPU_NODE_WRITER):
 * where it writes, it also runs, and containers with GPUs may not start past it (struct inventory, needs_agent). */
#include "base/json_read.h"
#include "core/dialects/native/native_internal.h"
#include "core/request/demand.h"
#include "model/mig.h"

#define HERE "annotation fgpu.io/gpus: "
#define SHAPES_MAX 32 /* profiles of one GPU; drivers know 18 */

/* What one entry of "mig" has shown so far. */
struct instance_entry {
    struct str uuid;
    uint16_t profile; /* MIG_NO_PROFILE: none yet */
    int32_t start;    /* -1: none yet */
    int64_t mem_mib;  /* 0: not given */
    bool healthy;
};

/* What one entry of "gpus" has shown so far. */
struct entry {
    struct device device;
    bool has_uuid, has_index, has_memory;
    size_t instance_n;
    struct instance_entry instances[MIG_SLOTS_MAX];
    size_t shape_n; /* what the driver offers; 0: the annotation does not say */
    struct mig_shape shapes[SHAPES_MAX];
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

static bool read_range(struct parsing *ps, int64_t min, int64_t max, int64_t *ret, const char *complaint)
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

static bool read_i32(struct parsing *ps, int32_t min, int32_t max, int32_t *ret, const char *complaint)
{
    int64_t v;

    if (!read_range(ps, min, max, &v, complaint)) {
        return false;
    }
    *ret = (int32_t)v;
    return true;
}

static void read_instance(struct parsing *ps, struct instance_entry *e)
{
    struct str key, text;

    json_object_begin(&ps->r);
    while (json_object_next(&ps->r, &key)) {
        if (str_eq(key, STR("uuid"))) {
            if (json_string(&ps->r, &e->uuid) && !is_identifier(e->uuid)) {
                complain(ps, HERE "uuid must be 1 to 128 of A-Z a-z 0-9 - _ . : /");
            }
        } else if (str_eq(key, STR("profile"))) {
            if (json_string(&ps->r, &text)) {
                e->profile = mig_profile_parse(text);
            }
            if (e->profile == MIG_NO_PROFILE) {
                complain(ps, HERE "profile must be like 1g.5gb or 1g.5gb+me");
            }
        } else if (str_eq(key, STR("start"))) {
            read_i32(ps, 0, MIG_SLOTS_MAX - 1, &e->start, HERE "start must be 0 to 7");
        } else if (str_eq(key, STR("memMib"))) {
            if (!json_accept_null(&ps->r)) {
                read_range(ps, 1, DEMAND_MEM_MIB_MAX, &e->mem_mib, HERE "memMib must be 1 to 16777216");
            }
        } else if (str_eq(key, STR("healthy"))) {
            if (!json_accept_null(&ps->r)) {
                json_bool(&ps->r, &e->healthy);
            }
        } else {
            json_skip(&ps->r);
        }
    }
    if (e->uuid.n == 0 || e->profile == MIG_NO_PROFILE || e->start < 0) {
        complain(ps, HERE "a MIG instance lacks uuid or profile or start");
    }
}

/* The list alone says that the GPU is in MIG mode: then it cannot be used as a whole, be there instances or not. */
static void read_mig(struct parsing *ps, struct entry *e)
{
    e->device.profile = DEVICE_IN_MIG_MODE;
    e->instance_n = 0;
    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        struct instance_entry in = {.start = -1, .healthy = true};

        if (e->instance_n == MIG_SLOTS_MAX) {
            complain(ps, HERE "more MIG instances than a GPU can have");
            return;
        }
        read_instance(ps, &in);
        e->instances[e->instance_n++] = in;
    }
}

/* ---- what the driver offers ---- */

static void read_starts(struct parsing *ps, struct mig_shape *s)
{
    int64_t start;

    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        if (read_range(ps, 0, MIG_SLOTS_MAX - 1, &start, HERE "starts must be 0 to 7")) {
            s->starts |= (uint8_t)(1U << start);
        }
    }
}

static void read_shape(struct parsing *ps, struct mig_shape *s)
{
    int32_t size = 0, max = 0;
    struct str key, text;

    json_object_begin(&ps->r);
    while (json_object_next(&ps->r, &key)) {
        if (str_eq(key, STR("profile"))) {
            s->profile = json_string(&ps->r, &text) ? mig_profile_parse(text) : MIG_NO_PROFILE;
        } else if (str_eq(key, STR("size"))) {
            read_i32(ps, 1, MIG_SLOTS_MAX, &size, HERE "size must be 1 to 8");
        } else if (str_eq(key, STR("max"))) {
            read_i32(ps, 0, MIG_SLOTS_MAX, &max, HERE "max must be 0 to 8");
        } else if (str_eq(key, STR("memMib"))) {
            read_i32(ps, 0, DEMAND_MEM_MIB_MAX, &s->mem_mib, HERE "memMib must be 0 to 16777216");
        } else if (str_eq(key, STR("starts"))) {
            read_starts(ps, s);
        } else {
            json_skip(&ps->r);
        }
    }
    s->size = (uint8_t)size;
    s->max = (uint8_t)max;
    if (s->profile == MIG_NO_PROFILE || size == 0 || s->starts == 0 || s->starts >> (MIG_SLOTS_MAX + 1 - size) != 0) {
        complain(ps, HERE "an entry of migProfiles lacks profile or size or starts, or has one that is not right");
    }
}

static void read_shapes(struct parsing *ps, struct entry *e)
{
    e->shape_n = 0;
    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        struct mig_shape s = {.profile = MIG_NO_PROFILE};

        if (e->shape_n == SHAPES_MAX) {
            complain(ps, HERE "more than 32 migProfiles");
            return;
        }
        read_shape(ps, &s);
        e->shapes[e->shape_n++] = s;
    }
}

/* The tables serve where nobody asked the driver. NULL: this GPU is not in them. */
static const struct mig_family *family_of(const struct entry *e, struct mig_family *offered)
{
    if (e->shape_n == 0) {
        return mig_family_of(e->device.model, e->device.mem_mib);
    }
    *offered = (struct mig_family){.shapes = e->shapes, .shape_n = e->shape_n};
    return offered;
}

/* ---- the layout ---- */

/* Against what is known of such a GPU, or else as far as can be told without. */
static void check_layout(struct parsing *ps, const struct entry *e, const struct mig_family *family)
{
    uint16_t occupied = 0;
    int64_t sum_mib = 0;

    for (size_t i = 0; i < e->instance_n; i++) {
        const struct instance_entry *in = &e->instances[i];
        const struct mig_shape slot = {.profile = in->profile, .size = 1, .starts = 0xff};
        const struct mig_shape *s = family == NULL ? &slot : mig_shape_find(family, in->profile);

        if (s == NULL) {
            complain(ps, HERE "this model of GPU does not have the MIG profile");
            return;
        }
        if (!mig_occupy(s, (unsigned)in->start, &occupied)) {
            complain(ps, HERE "MIG instances overlap or are more than the GPU can have (at most seven 1g or "
                              "three 2g or two 3g or one 4g)");
            return;
        }
        sum_mib += in->mem_mib;
    }
    if (sum_mib > e->device.mem_mib) {
        complain(ps, HERE "MIG instances have more memory than their GPU");
    }
}

/* In order of their indexes; the annotation may list them in any. */
static void insert_device(struct parsing *ps, const struct device *dev)
{
    struct inventory_draft *d = ps->draft;
    size_t at = d->device_n;

    for (size_t i = 0; i < d->device_n; i++) {
        if (d->devices[i].index == dev->index || str_eq(d->devices[i].uuid, dev->uuid)) {
            complain(ps, dev->profile == 0 || dev->profile == DEVICE_IN_MIG_MODE
                             ? HERE "two GPUs have the same uuid or index"
                             : HERE "two MIG instances have the same uuid or start");
            return;
        }
    }
    if (d->device_n == DEVICES_PER_NODE_MAX) {
        complain(ps, HERE "more than 64 GPUs and MIG instances");
        return;
    }
    d->device_n++;
    while (at > 0 && d->devices[at - 1].index > dev->index) {
        d->devices[at] = d->devices[at - 1];
        at--;
    }
    d->devices[at] = *dev;
}

static void add_instances(struct parsing *ps, const struct entry *e)
{
    const struct device *gpu = &e->device;
    struct mig_family offered;
    const struct mig_family *family = family_of(e, &offered);

    check_layout(ps, e, family);
    if (family == NULL && e->instance_n > 0) {
        inventory_add_note(ps->draft, HERE "MIG on a model of GPU that fgpu does not know: places are not checked");
    }
    for (size_t i = 0; i < e->instance_n && !json_failed(&ps->r); i++) {
        const struct instance_entry *in = &e->instances[i];
        const struct mig_shape *s = family == NULL ? NULL : mig_shape_find(family, in->profile);
        struct device dev = *gpu;

        dev.uuid = in->uuid;
        dev.index = DEVICE_INSTANCE_INDEX(gpu->index, in->start);
        dev.mem_mib = in->mem_mib > 0 || s == NULL ? in->mem_mib : s->mem_mib;
        dev.slot_n = 1;
        dev.healthy = gpu->healthy && in->healthy;
        dev.profile = in->profile;
        dev.gpu_index = gpu->index;
        dev.start = (int8_t)in->start;
        insert_device(ps, &dev);
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
        e->has_index = read_i32(ps, 0, INVENTORY_INDEX_MAX, &dev->index, HERE "index must be 0 to 1023");
    } else if (str_eq(key, STR("memMib"))) {
        e->has_memory = read_range(ps, 1, DEMAND_MEM_MIB_MAX, &dev->mem_mib, HERE "memMib must be 1 to 16777216");
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
    } else if (str_eq(key, STR("migProfiles"))) {
        read_shapes(ps, e);
    } else {
        json_skip(&ps->r);
    }
}

static void add_device(struct parsing *ps, struct entry *e)
{
    if (json_failed(&ps->r)) {
        return;
    }
    if (!e->has_uuid || !e->has_index || !e->has_memory) {
        complain(ps, HERE "a GPU lacks uuid or index or memMib");
        return;
    }
    insert_device(ps, &e->device);
    if (e->device.profile == DEVICE_IN_MIG_MODE) {
        add_instances(ps, e);
    }
}

static void read_gpus(struct parsing *ps)
{
    struct str key;

    json_array_begin(&ps->r);
    while (json_array_next(&ps->r)) {
        struct entry e = {
            .device = {.minor = -1, .numa = -1, .healthy = true, .slot_n = ps->draft->settings.max_sharers},
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
    struct str key, by;
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
        } else if (str_eq(key, STR("by"))) {
            if (!json_accept_null(&ps->r) && json_string(&ps->r, &by)) {
                ps->draft->of_agent = str_eq(by, STR(FGPU_NODE_WRITER));
            }
        } else {
            json_skip(&ps->r);
        }
    }
    if (!has_version || !has_gpus) {
        complain(ps, HERE "v or gpus is missing");
    }
}

enum source_result native_read_gpus(struct inventory_draft *d)
{
    const struct str *text = kv_find(d->node->annotations, STR(NATIVE_KEY_GPUS));
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
    return inventory_malformed(d, ps.complaint != NULL ? ps.complaint : HERE "not valid JSON of the documented form");
}
