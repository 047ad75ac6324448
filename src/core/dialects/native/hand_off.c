/* The hand-offs of the native dialect (model/hand_off.h): what stands beside the record for the program that makes the
 * devices visible on the node.
 *
 * Compute follows the quality of service: it is limited to the smallest share charged among the container's devices, or
 * not at all where idle compute may be used, or where no compute is charged, because then all of it is shared. A
 * part of a GPU is all that is here of it: a percentage is of the whole GPU, so nobody is told more than the part. A
 * virtual GPU of a fixed profile is held by one container alone, and its compute is divided by the scheduler of the
 * host; MPS inside of a MIG instance is not ours: neither has a limit of compute or memory.
 *
 * downward-api: per container by position (`.c0` app, `.i0` init), because the keys of annotations end at 63
 * characters; to be read through the downward API: fgpu.io/visible-devices.c0                 for
 * NVIDIA_VISIBLE_DEVICES: UUIDs, or indexes where no UUID is known fgpu.io/mps-active-thread-percentage.c0    for
 * CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: at least 1; 100 is no limit fgpu.io/mps-pinned-device-mem-limit.c0     for
 * CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, "0=4096M" Devices in the memory limit are numbered as CUDA numbers them inside the
 * container, by their place in the list; a device without a memory amount has no limit.
 *
 * kai-fractioning knows one amount of memory for a container, which holds on each of its devices: the smallest is
 * written, so that nobody gets more of a device than was charged.
 */
#include "core/dialects/native/native_internal.h"

#include "base/strbuf.h"
#include "model/qos.h"

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

/* How much of the compute of this GPU a container may use: what it is charged, or all that is here. */
static int32_t usable_milli(const struct assigned_device *d, bool capped)
{
    return capped && d->milli > 0 ? d->milli : d->part_milli > 0 ? d->part_milli : DEVICE_MILLI;
}

/* The smallest of the container's devices. */
static int32_t capped_milli(const struct assigned_container *c, bool capped)
{
    int32_t milli = DEVICE_MILLI;

    for (size_t i = 0; i < c->device_n; i++) {
        int32_t usable = is_divided_already(&c->devices[i]) ? DEVICE_MILLI : usable_milli(&c->devices[i], capped);

        milli = usable < milli ? usable : milli;
    }
    return milli;
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
    const char *unfit; /* why the hand-off cannot say this; static */
};

#define KEYS_PER_CONTAINER_MAX 5

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

/* ---- downward-api ---- */

static void add_downward_keys(struct annotations *out, const struct assignment *as, const struct assigned_container *c)
{
    const int32_t milli = capped_milli(c, !qos_lifts_cap(as->qos, as->lending));

    write_visible(c, &out->text);
    take_text(out, container_key(out->arena, NATIVE_KEY_VISIBLE, c));
    if (as->vendor != VENDOR_NVIDIA) {
        return; /* MPS is CUDA's */
    }
    strbuf_add_i64(&out->text, milli < 10 ? 1 : milli / 10);
    take_text(out, container_key(out->arena, NATIVE_KEY_PERCENTAGE, c));
    write_mem_limit(c, &out->text);
    if (out->text.n > 0) {
        take_text(out, container_key(out->arena, NATIVE_KEY_MEM_LIMIT, c));
    }
}

/* ---- nvidia-cdi ---- */

static void add_cdi_key(struct annotations *out, const struct assignment *as, const struct assigned_container *c)
{
    (void)as;
    for (size_t i = 0; i < c->device_n; i++) {
        strbuf_add_cstr(&out->text, i > 0 ? ",nvidia.com/gpu=" : "nvidia.com/gpu=");
        if (c->devices[i].uuid.n > 0) {
            strbuf_add_str(&out->text, c->devices[i].uuid);
        } else {
            strbuf_add_i64(&out->text, c->devices[i].index);
        }
    }
    take_text(out, arena_printf(out->arena, HAND_OFF_KEY_CDI ".%.*s", STR_ARG(c->name)));
}

/* ---- kai-fractioning, kai-sm-sharing ---- */

static struct str kai_key(struct arena *a, const struct assigned_container *c, const char *suffix)
{
    return arena_printf(a, HAND_OFF_KEY_KAI ".%.*s%s", STR_ARG(c->name), suffix);
}

static int64_t smallest_mem_mib(const struct assigned_container *c)
{
    int64_t mem_mib = c->devices[0].mem_mib;

    for (size_t i = 1; i < c->device_n; i++) {
        mem_mib = c->devices[i].mem_mib < mem_mib ? c->devices[i].mem_mib : mem_mib;
    }
    return mem_mib;
}

/* "0.3" of 300; `milli` is below DEVICE_MILLI. */
static void write_portion(int32_t milli, struct strbuf *out)
{
    strbuf_add_cstr(out, "0.");
    for (int32_t unit = DEVICE_MILLI / 10; milli > 0; milli %= unit, unit /= 10) {
        strbuf_add_i64(out, milli / unit);
    }
}

static void add_kai_keys(struct annotations *out, const struct assignment *as, const struct assigned_container *c)
{
    const int32_t milli = capped_milli(c, !qos_lifts_cap(as->qos, as->lending));
    const int64_t mem_mib = smallest_mem_mib(c);

    for (size_t i = 0; i < c->device_n; i++) {
        if (c->devices[i].profile != 0) {
            out->unfit = "kai-fractioning takes no MIG instances";
        }
    }
    if (mem_mib <= 0) {
        out->unfit = "kai-fractioning does nothing for an unknown amount of memory";
    }
    write_visible(c, &out->text);
    take_text(out, kai_key(out->arena, c, HAND_OFF_KAI_DEVICES));
    for (int limit = 0; limit < 2; limit++) {
        strbuf_add_i64(&out->text, mem_mib);
        strbuf_add_cstr(&out->text, "Mi");
        take_text(out, kai_key(out->arena, c, limit ? HAND_OFF_KAI_MEM_LIMIT : HAND_OFF_KAI_MEM_REQUEST));
    }
    strbuf_add_cstr(&out->text, as->hand_off == HAND_OFF_KAI_SM_SHARING ? "sm-sharing" : "time-slicing");
    take_text(out, kai_key(out->arena, c, HAND_OFF_KAI_MODE));
    if (milli < DEVICE_MILLI) {
        write_portion(milli, &out->text);
        take_text(out, kai_key(out->arena, c, HAND_OFF_KAI_PORTION));
    }
}

/* ---- all of them ---- */

typedef void add_keys_fn(struct annotations *out, const struct assignment *as, const struct assigned_container *c);

static add_keys_fn *const adders[HAND_OFF__MAX] = {
    [HAND_OFF_DOWNWARD_API] = add_downward_keys,
    [HAND_OFF_NVIDIA_CDI] = add_cdi_key,
    [HAND_OFF_KAI_FRACTIONING] = add_kai_keys,
    [HAND_OFF_KAI_SM_SHARING] = add_kai_keys,
};

static void add_container_keys(struct annotations *out, const struct assignment *as, const struct assigned_container *c)
{
    if (c->device_n == 0 || adders[as->hand_off] == NULL) {
        return;
    }
    if (c->name.n > hand_off_name_bytes_max(as->hand_off)) { /* no such pod was let to this node */
        out->unfit = "the name of a container is too long for an annotation of the hand-off";
        return;
    }
    adders[as->hand_off](out, as, c);
}

int native_hand_off(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    struct annotations out = {.arena = a, .items = ARENA_ARRAY(a, KEYS_PER_CONTAINER_MAX * as->container_n, struct kv)};

    if (out.items == NULL) {
        return assignment_no_memory(reterr);
    }
    strbuf_init(&out.text, ASSIGNMENT_BYTES_MAX);
    for (size_t i = 0; i < as->container_n; i++) {
        add_container_keys(&out, as, &as->containers[i]);
    }
    strbuf_fini(&out.text);

    if (out.unfit != NULL) {
        return err_set(reterr, ERR_INVALID, "%s", out.unfit);
    }
    if (out.too_long) {
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": longer than %d bytes", ASSIGNMENT_BYTES_MAX);
    }
    if (a->overflowed) {
        return assignment_no_memory(reterr);
    }
    *ret = (struct kv_list){.items = out.items, .n = out.n};
    return 0;
}
