/* The answer of the native dialect: the record, and what the containers are to see of it.
 *
 * Per container by position (`.c0` app, `.i0` init), because the keys of annotations end at 63 characters; to be read
 * through the downward API:
 *   fgpu.io/visible-devices.c0                 for NVIDIA_VISIBLE_DEVICES: UUIDs, or indexes where no UUID is known
 *   fgpu.io/mps-active-thread-percentage.c0    for CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
 *   fgpu.io/mps-pinned-device-mem-limit.c0     for CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, "0=4096M"
 *
 * The MPS keys follow the quality of service: the percentage is the smallest share charged among the
 * container's devices (at least 1; 100 where no compute is charged, because then all of it is shared),
 * or 100 where idle compute may be used. Devices in the memory limit are numbered as CUDA
 * numbers them inside the container, by their place in the list; a device without a memory amount
 * has no limit.
 *
 * A virtual GPU of a fixed profile is held by one container alone, and its compute is divided by the
 * scheduler of the host; MPS inside of a MIG instance is not ours: percentage 100, no memory limit.
 */
#include "core/dialects/native/native_internal.h"

#include "base/strbuf.h"
#include "model/qos.h"

/* ---- the record ---- */

int native_format_assignment(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    struct kv *record = ARENA_NEW(a, struct kv);
    int rc;

    if (record == NULL) {
        return assignment_no_memory(reterr);
    }
    record->key = STR(ASSIGNMENT_KEY);
    rc = assignment_format(as, a, &record->value, reterr);
    if (rc == 0) {
        *ret = (struct kv_list){.items = record, .n = 1};
    }
    return rc;
}

int native_parse_assignment(struct kv_list annotations, struct arena *a, struct assignment *ret, struct err *reterr)
{
    const struct str *text = kv_find(annotations, STR(ASSIGNMENT_KEY));

    if (text == NULL || text->n == 0) { /* overwritten with nothing: none */
        return err_set(reterr, ERR_NOT_FOUND, "there is no annotation " ASSIGNMENT_KEY);
    }
    return assignment_parse(*text, a, ret, reterr);
}

/* ---- for the downward API ---- */

static void write_visible(const struct assigned_container *c, struct strbuf *out)
{
    bool uuids_known = true;

    for (size_t i = 0; i < c->device_n; i++) {
        uuids_known = uuids_known && c->devices[i].uuid.n > 0;
    }
    for (size_t i = 0; i < c->device_n; i++) {
        if (i > 0) {
            strbuf_add_char(out, ',');
        }
        if (uuids_known) {
            strbuf_add_str(out, c->devices[i].uuid);
        } else {
            strbuf_add_i64(out, c->devices[i].index);
        }
    }
}

/* Whose compute is divided by something else: the hardware, the scheduler of the host. */
static bool is_divided_already(const struct assigned_device *d)
{
    return d->profile != 0 || d->slice;
}

static int32_t active_thread_percentage(const struct assigned_container *c, bool capped)
{
    int32_t milli = DEVICE_MILLI;

    for (size_t i = 0; capped && i < c->device_n; i++) {
        if (!is_divided_already(&c->devices[i]) && c->devices[i].milli > 0 && c->devices[i].milli < milli) {
            milli = c->devices[i].milli;
        }
    }
    return milli < 10 ? 1 : milli / 10;
}

static void write_mem_limit(const struct assigned_container *c, struct strbuf *out)
{
    for (size_t i = 0; i < c->device_n; i++) {
        if (c->devices[i].mem_mib > 0 && !is_divided_already(&c->devices[i])) {
            if (out->n > 0) {
                strbuf_add_char(out, ',');
            }
            strbuf_add_u64(out, i);
            strbuf_add_char(out, '=');
            strbuf_add_i64(out, c->devices[i].mem_mib);
            strbuf_add_char(out, 'M');
        }
    }
}

/* The annotations under construction; `text` is used for one value at a time. */
struct annotations {
    struct arena *arena;
    struct strbuf text;
    struct kv *items;
    size_t n;
    bool too_long;
};

static void take_text(struct annotations *out, struct str key)
{
    out->too_long = out->too_long || out->text.overflowed;
    out->items[out->n++] = (struct kv){.key = key, .value = arena_str(out->arena, strbuf_view(&out->text))};
    strbuf_reset(&out->text);
}

static struct str container_key(struct arena *a, const char *key, const struct assigned_container *c)
{
    return arena_printf(a, "%s.%c%u", key, c->init ? 'i' : 'c', (unsigned)c->position);
}

static void add_container_keys(struct annotations *out, const struct assigned_container *c, bool capped)
{
    if (c->device_n == 0) {
        return;
    }
    write_visible(c, &out->text);
    take_text(out, container_key(out->arena, NATIVE_KEY_VISIBLE, c));
    strbuf_add_i64(&out->text, active_thread_percentage(c, capped));
    take_text(out, container_key(out->arena, NATIVE_KEY_PERCENTAGE, c));
    write_mem_limit(c, &out->text);
    if (out->text.n > 0) {
        take_text(out, container_key(out->arena, NATIVE_KEY_MEM_LIMIT, c));
    }
}

int native_hand_off(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    struct annotations out = {.arena = a, .items = ARENA_ARRAY(a, 3 * as->container_n, struct kv)};

    if (out.items == NULL) {
        return assignment_no_memory(reterr);
    }
    strbuf_init(&out.text, ASSIGNMENT_BYTES_MAX);
    for (size_t i = 0; i < as->container_n; i++) {
        add_container_keys(&out, &as->containers[i], !qos_lifts_cap(as->qos, as->lending));
    }
    strbuf_fini(&out.text);

    if (out.too_long) {
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": longer than %d bytes", ASSIGNMENT_BYTES_MAX);
    }
    if (a->overflowed) {
        return assignment_no_memory(reterr);
    }
    *ret = (struct kv_list){.items = out.items, .n = out.n};
    return 0;
}
