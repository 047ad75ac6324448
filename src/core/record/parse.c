/* Reading an assignment back, from an annotation that anybody may have written. */
#include "base/base64.h"
#include "base/json_read.h"
#include "core/record/assignment.h"
#include "model/mig.h"
#include "model/qos.h"

#include <string.h>

#define SIG_TEXT_BYTES 88 /* ASSIGNMENT_SIG_BYTES in base64 */

/* One container: which mandatory keys were there, and its devices until their number is known. */
struct container_draft {
    struct assigned_container c;
    bool has_name, has_init, has_devices;
    struct assigned_device devices[DEVICES_PER_NODE_MAX];
};

struct parsing {
    struct json_reader r;
    struct arena *arena;
    struct container_draft draft;
    size_t container_n;
    struct assigned_container containers[ASSIGNMENT_CONTAINERS_MAX];
};

static bool read_text(struct json_reader *r, size_t min, size_t max, struct str *ret, const char *why)
{
    struct str s;

    if (!json_string(r, &s)) {
        return false;
    }
    if (s.n < min || s.n > max) {
        json_fail(r, ERR_INVALID, why);
        return false;
    }
    *ret = s;
    return true;
}

static bool read_range(struct json_reader *r, int64_t max, int64_t *ret, const char *why)
{
    int64_t v;

    if (!json_i64(r, &v)) {
        return false;
    }
    if (v < 0 || v > max) {
        json_fail(r, ERR_INVALID, why);
        return false;
    }
    *ret = v;
    return true;
}

static void read_profile(struct json_reader *r, uint16_t *ret)
{
    struct str text;

    if (json_string(r, &text)) {
        *ret = mig_profile_parse(text);
        if (*ret == MIG_NO_PROFILE) {
            json_fail(r, ERR_INVALID, "mig is not a profile like 1g.5gb");
        }
    }
}

static void read_device(struct json_reader *r, struct assigned_device *dev)
{
    struct str key;
    int64_t index = 0;
    int64_t milli = 0;
    unsigned seen = 0;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("uuid"))) {
            seen |= read_text(r, 0, ASSIGNMENT_UUID_BYTES_MAX, &dev->uuid, "uuid is too long") ? 1 : 0;
        } else if (str_eq(key, STR("index"))) {
            seen |= read_range(r, ASSIGNMENT_INDEX_MAX, &index, "index is out of range") ? 2 : 0;
        } else if (str_eq(key, STR("milli"))) {
            seen |= read_range(r, ASSIGNMENT_MILLI_MAX, &milli, "milli is out of range") ? 4 : 0;
        } else if (str_eq(key, STR("memMib"))) {
            seen |= read_range(r, ASSIGNMENT_MEM_MIB_MAX, &dev->mem_mib, "memMib is out of range") ? 8 : 0;
        } else if (str_eq(key, STR("mig"))) {
            read_profile(r, &dev->profile);
        } else if (str_eq(key, STR("exclusive"))) {
            json_bool(r, &dev->exclusive);
        } else {
            json_skip(r);
        }
    }
    if (seen != 15) {
        json_fail(r, ERR_INVALID, "a device lacks uuid, index, milli or memMib");
    }
    dev->index = (int32_t)index;
    dev->milli = (int32_t)milli;
    dev->exclusive = dev->exclusive && dev->profile == 0;
}

static bool device_follows(const struct container_draft *d, const struct assigned_device *dev)
{
    for (size_t i = 0; i < d->c.device_n; i++) {
        if (d->devices[i].index >= dev->index || (dev->uuid.n > 0 && str_eq(d->devices[i].uuid, dev->uuid))) {
            return false;
        }
    }
    return true;
}

static void read_devices(struct json_reader *r, struct container_draft *d)
{
    json_array_begin(r);
    while (json_array_next(r)) {
        struct assigned_device dev = {.uuid = STR_NULL};
        if (d->c.device_n == DEVICES_PER_NODE_MAX) {
            json_fail(r, ERR_LIMIT, "too many devices");
            return;
        }
        read_device(r, &dev);
        if (json_failed(r)) {
            return;
        }
        if (!device_follows(d, &dev)) {
            json_fail(r, ERR_INVALID, "devices are not distinct and in ascending order");
            return;
        }
        d->devices[d->c.device_n++] = dev;
    }
}

static void add_container(struct parsing *ps)
{
    struct json_reader *r = &ps->r;
    struct container_draft *d = &ps->draft;

    if (json_failed(r)) {
        return;
    }
    if (!d->has_name || !d->has_init || !d->has_devices) {
        json_fail(r, ERR_INVALID, "a container lacks name, init or devices");
        return;
    }
    for (size_t i = 0; i < ps->container_n; i++) {
        if (str_eq(ps->containers[i].name, d->c.name)) {
            json_fail(r, ERR_INVALID, "two containers have the same name");
            return;
        }
    }
    if (d->c.device_n > 0) {
        struct assigned_device *devices = ARENA_ARRAY(ps->arena, d->c.device_n, struct assigned_device);
        if (devices == NULL) {
            json_fail(r, ERR_LIMIT, "out of memory for this request");
            return;
        }
        memcpy(devices, d->devices, d->c.device_n * sizeof(*devices));
        d->c.devices = devices;
    }
    ps->containers[ps->container_n++] = d->c;
}

static void read_containers(struct parsing *ps)
{
    struct json_reader *r = &ps->r;
    struct container_draft *d = &ps->draft;
    struct str key;

    json_array_begin(r);
    while (json_array_next(r)) {
        if (ps->container_n == ASSIGNMENT_CONTAINERS_MAX) {
            json_fail(r, ERR_LIMIT, "too many containers");
            return;
        }
        d->c = (struct assigned_container){.init = false};
        d->has_name = d->has_init = d->has_devices = false;
        json_object_begin(r);
        while (json_object_next(r, &key)) {
            if (str_eq(key, STR("name"))) {
                d->has_name = read_text(r, 1, ASSIGNMENT_NAME_BYTES_MAX, &d->c.name, "name is empty or too long");
            } else if (str_eq(key, STR("init"))) {
                d->has_init = json_bool(r, &d->c.init);
            } else if (str_eq(key, STR("devices"))) {
                d->has_devices = true;
                read_devices(r, d);
            } else {
                json_skip(r);
            }
        }
        add_container(ps);
    }
}

static void read_qos(struct json_reader *r, enum qos *ret)
{
    struct str text;

    if (json_string(r, &text) && !qos_parse(text, ret)) {
        json_fail(r, ERR_INVALID, "qos must be fixed-share, best-effort or equal-share");
    }
}

static const uint8_t *read_signature_value(struct json_reader *r, struct arena *a)
{
    uint8_t *bytes = arena_alloc(a, SIG_TEXT_BYTES / 4 * 3 + 3);
    struct str text;
    size_t n;

    if (!read_text(r, SIG_TEXT_BYTES, SIG_TEXT_BYTES, &text, "the value of sig is not a signature in base64")) {
        return NULL;
    }
    if (bytes == NULL) {
        json_fail(r, ERR_LIMIT, "out of memory for this request");
        return NULL;
    }
    if (!base64_decode(text, bytes, &n) || n != ASSIGNMENT_SIG_BYTES) {
        json_fail(r, ERR_INVALID, "the value of sig is not a signature in base64");
        return NULL;
    }
    return bytes;
}

static void read_signature(struct parsing *ps, struct assignment *as)
{
    struct json_reader *r = &ps->r;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("key"))) {
            (void)read_text(r, 1, ASSIGNMENT_SIG_KEY_BYTES_MAX, &as->sig_key, "the key of sig is empty or too long");
        } else if (str_eq(key, STR("value"))) {
            as->sig = read_signature_value(r, ps->arena);
        } else {
            json_skip(r);
        }
    }
    if (as->sig_key.n == 0 || as->sig == NULL) {
        json_fail(r, ERR_INVALID, "sig lacks key or value");
    }
}

static void read_record(struct parsing *ps, struct assignment *as)
{
    struct json_reader *r = &ps->r;
    struct str key;
    int64_t version = 0;
    bool has_id = false;
    bool has_containers = false;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("v"))) {
            json_i64(r, &version);
            if (version != 1) {
                json_fail(r, ERR_INVALID, "v is not 1");
            }
        } else if (str_eq(key, STR("id"))) {
            has_id = read_text(r, 1, ASSIGNMENT_ID_BYTES_MAX, &as->id, "id is empty or too long");
        } else if (str_eq(key, STR("qos"))) {
            read_qos(r, &as->qos);
        } else if (str_eq(key, STR("containers"))) {
            has_containers = true;
            read_containers(ps);
        } else if (str_eq(key, STR("sig"))) {
            read_signature(ps, as);
        } else {
            json_skip(r);
        }
    }
    if (version != 1 || !has_id || !has_containers) {
        json_fail(r, ERR_INVALID, "v, id or containers is missing");
    }
}

int assignment_parse(struct str text, struct arena *a, struct assignment *ret, struct err *reterr)
{
    struct parsing ps; /* large, and only its start is touched: not cleared */
    struct assignment as = {.id = STR_NULL};

    if (text.n > ASSIGNMENT_BYTES_MAX) {
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": longer than %d bytes", ASSIGNMENT_BYTES_MAX);
    }
    json_reader_init(&ps.r, text, a);
    ps.arena = a;
    ps.container_n = 0;
    read_record(&ps, &as);
    int rc = json_read_end(&ps.r, reterr);
    if (rc < 0) {
        return err_wrap(reterr, rc, "annotation " ASSIGNMENT_KEY);
    }
    if (ps.container_n > 0) {
        struct assigned_container *containers = ARENA_ARRAY(a, ps.container_n, struct assigned_container);
        if (containers == NULL) {
            return assignment_no_memory(reterr);
        }
        memcpy(containers, ps.containers, ps.container_n * sizeof(*containers));
        as.containers = containers;
    }
    as.container_n = ps.container_n;
    *ret = as;
    return 0;
}
