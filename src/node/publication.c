#include "node/publication.h"

#include "base/json_write.h"
#include "node/doors.h"

#include <string.h>

/* What the extender's reader takes (core/inventory/inventory.h, core/request/demand.h, which this layer does not see).
 */
#define TEXT_BYTES_MAX 128
#define INDEX_MAX 1023
#define SLOTS_MAX 32767
#define MEM_MIB_MAX (1 << 24)
#define SHAPES_MAX 32

struct formatting {
    const struct publication_facts *f;
    struct json_writer w;
    struct publication_totals *totals;
    struct publication_left_out *left_out;
};

/* ---- what can be published ---- */

static bool is_identifier(struct str s)
{
    if (s.n == 0 || s.n > TEXT_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!alnum && (c == '\0' || strchr("-_.:/", c) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_whole(const struct device *d)
{
    return d->profile == 0 || d->profile == DEVICE_IN_MIG_MODE;
}

static bool was_before(const struct publication_facts *f, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (str_eq(f->devices[i].uuid, f->devices[at].uuid) ||
            (is_whole(&f->devices[i]) && is_whole(&f->devices[at]) && f->devices[i].index == f->devices[at].index)) {
            return true;
        }
    }
    return false;
}

static bool is_publishable(const struct publication_facts *f, size_t at)
{
    const struct device *d = &f->devices[at];

    if (!is_identifier(d->uuid) || d->mem_mib < 1 || d->mem_mib > MEM_MIB_MAX || was_before(f, at)) {
        return false;
    }
    return !is_whole(d) || (d->index >= 0 && d->index <= INDEX_MAX);
}

static const struct gpu_details *details_of(const struct publication_facts *f, size_t at)
{
    static const struct gpu_details unknown;

    return f->details == NULL ? &unknown : &f->details[at];
}

static bool is_usable(const struct publication_facts *f, size_t at)
{
    return f->devices[at].healthy && details_of(f, at)->compute_mode != COMPUTE_MODE_PROHIBITED;
}

/* ---- MIG ---- */

/* By what its places are judged: the driver's word, else our tables. False: neither knows this GPU. */
static bool family_of(const struct publication_facts *f, size_t gpu, struct mig_family *ret)
{
    const struct gpu_details *details = details_of(f, gpu);
    const struct mig_family *known = mig_family_of(f->devices[gpu].model, f->devices[gpu].mem_mib);

    if (details->shape_n > 0) {
        *ret = (struct mig_family){.shapes = details->shapes,
                                   .shape_n = details->shape_n < SHAPES_MAX ? details->shape_n : SHAPES_MAX};
        return true;
    }
    if (known != NULL) {
        *ret = *known;
    }
    return known != NULL;
}

/* Does it lie where such an instance may, and nothing else does? Of an unknown GPU one slot is held against the others.
 */
static bool take_place(const struct mig_family *family, const struct device *d, uint16_t *occupied)
{
    const struct mig_shape slot = {.profile = d->profile, .size = 1, .starts = 0xff};
    const struct mig_shape *shape = family == NULL ? &slot : mig_shape_find(family, d->profile);

    return shape != NULL && d->start >= 0 && d->start < MIG_SLOTS_MAX &&
           mig_occupy(shape, (unsigned)d->start, occupied);
}

struct instances {
    size_t at[MIG_SLOTS_MAX]; /* in devices */
    size_t n;
    int64_t mem_mib;
};

static void choose_instances(struct formatting *fo, size_t gpu, struct instances *ret)
{
    const struct publication_facts *f = fo->f;
    struct mig_family family;
    const bool known = family_of(f, gpu, &family);
    uint16_t occupied = 0;

    *ret = (struct instances){.n = 0};
    for (size_t i = 0; i < f->device_n; i++) {
        if (is_whole(&f->devices[i]) || f->devices[i].gpu_index != f->devices[gpu].index) {
            continue;
        }
        if (!is_publishable(f, i)) {
            fo->left_out->odd_n++;
        } else if (ret->n == MIG_SLOTS_MAX || !take_place(known ? &family : NULL, &f->devices[i], &occupied)) {
            fo->left_out->unplaced_n++;
        } else {
            ret->at[ret->n++] = i;
            ret->mem_mib += f->devices[i].mem_mib;
        }
    }
}

static void write_profile(struct json_writer *w, uint16_t profile)
{
    char text[MIG_PROFILE_BYTES_MAX];

    json_write_kv_cstr(w, "profile", mig_profile_text(profile, text));
}

static void write_shapes(struct json_writer *w, const struct gpu_details *details)
{
    if (details->shape_n == 0) {
        return;
    }
    json_write_kv_array_begin(w, "migProfiles");
    for (size_t i = 0; i < details->shape_n && i < SHAPES_MAX; i++) {
        const struct mig_shape *s = &details->shapes[i];

        json_write_object_begin(w);
        write_profile(w, s->profile);
        json_write_kv_i64(w, "size", s->size);
        json_write_kv_array_begin(w, "starts");
        for (int64_t start = 0; start < MIG_SLOTS_MAX; start++) {
            if ((s->starts >> start & 1) != 0) {
                json_write_i64(w, start);
            }
        }
        json_write_array_end(w);
        json_write_kv_i64(w, "max", s->max);
        json_write_kv_i64(w, "memMib", s->mem_mib);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_instances(struct formatting *fo, const struct instances *in)
{
    json_write_kv_array_begin(&fo->w, "mig");
    for (size_t i = 0; i < in->n; i++) {
        const struct device *d = &fo->f->devices[in->at[i]];

        json_write_object_begin(&fo->w);
        json_write_kv_str(&fo->w, "uuid", d->uuid);
        write_profile(&fo->w, d->profile);
        json_write_kv_i64(&fo->w, "start", d->start);
        json_write_kv_i64(&fo->w, "memMib", d->mem_mib);
        json_write_kv_bool(&fo->w, "healthy", d->healthy);
        json_write_object_end(&fo->w);
    }
    json_write_array_end(&fo->w);
}

/* ---- GPUs ---- */

/* As GPU Feature Discovery writes it, so that users know one name: '-' for blanks. */
static void write_model(struct json_writer *w, struct str model)
{
    char text[TEXT_BYTES_MAX];
    const size_t n = model.n < sizeof(text) ? model.n : sizeof(text);

    for (size_t i = 0; i < n; i++) {
        text[i] = model.p[i] > ' ' && model.p[i] < 0x7f ? model.p[i] : '-';
    }
    if (n > 0) {
        json_write_kv_str(w, "model", (struct str){text, n});
    }
}

static void write_details(struct json_writer *w, const struct gpu_details *details)
{
    static const char *const modes[COMPUTE_MODE__MAX] = {
        [COMPUTE_MODE_PROHIBITED] = "prohibited", [COMPUTE_MODE_EXCLUSIVE_PROCESS] = "exclusive-process"};

    if (modes[details->compute_mode] != NULL) {
        json_write_kv_cstr(w, "computeMode", modes[details->compute_mode]);
    }
    if (details->nvlinked != 0) {
        json_write_kv_array_begin(w, "nvlink");
        for (int64_t i = 0; i < DEVICES_PER_NODE_MAX; i++) {
            if ((details->nvlinked >> i & 1) != 0) {
                json_write_i64(w, i);
            }
        }
        json_write_array_end(w);
    }
    write_shapes(w, details);
}

static void add_to_totals(struct formatting *fo, size_t at)
{
    const struct publication_facts *f = fo->f;

    if (f->devices[at].profile == 0) {
        fo->totals->milli += f->overcommit_milli; /* thousandths of DEVICE_MILLI, which is 1000 */
        fo->totals->mem_mib += f->devices[at].mem_mib * f->overcommit_mem_milli / 1000;
        fo->totals->count++;
    }
}

static void write_gpu(struct formatting *fo, size_t at)
{
    const struct device *d = &fo->f->devices[at];
    struct instances in = {.n = 0};
    struct json_writer *w = &fo->w;

    if (d->profile == DEVICE_IN_MIG_MODE) {
        choose_instances(fo, at, &in);
    }
    json_write_object_begin(w);
    json_write_kv_str(w, "uuid", d->uuid);
    json_write_kv_i64(w, "index", d->index);
    if (d->minor >= 0 && d->minor <= INDEX_MAX) {
        json_write_kv_i64(w, "minor", d->minor);
    }
    write_model(w, d->model);
    /* Instances may have some MiB of what the driver reserves for the whole. */
    json_write_kv_i64(w, "memMib", d->mem_mib > in.mem_mib ? d->mem_mib : in.mem_mib);
    if (d->slot_n >= 1 && d->slot_n <= SLOTS_MAX) {
        json_write_kv_i64(w, "slots", d->slot_n);
    }
    if (d->numa >= 0 && d->numa <= INDEX_MAX) {
        json_write_kv_i64(w, "numa", d->numa);
    }
    json_write_kv_bool(w, "healthy", is_usable(fo->f, at));
    write_details(w, details_of(fo->f, at));
    if (d->profile == DEVICE_IN_MIG_MODE) {
        write_instances(fo, &in);
    }
    json_write_object_end(w);
    add_to_totals(fo, at);
}

static void write_doors(struct json_writer *w, unsigned doors)
{
    json_write_kv_array_begin(w, "doors");
    for (int d = 0; d < DOOR__MAX; d++) {
        if ((doors & 1U << d) != 0) {
            json_write_cstr(w, door_name((enum door)d));
        }
    }
    json_write_array_end(w);
}

int publication_format(const struct publication_facts *f, struct strbuf *out, struct publication_totals *ret_totals,
                       struct publication_left_out *ret_left_out, struct err *reterr)
{
    struct formatting fo = {.f = f, .totals = ret_totals, .left_out = ret_left_out};

    *ret_totals = (struct publication_totals){.milli = 0};
    *ret_left_out = (struct publication_left_out){.odd_n = 0};
    strbuf_init(out, PUBLICATION_BYTES_MAX);
    json_writer_init(&fo.w, out);
    json_write_object_begin(&fo.w);
    json_write_kv_i64(&fo.w, "v", 1);
    json_write_kv_cstr(&fo.w, "by", "fgpu-node");
    if (f->totals) {
        json_write_kv_bool(&fo.w, "totals", true);
    }
    if (f->looked_for_doors) {
        write_doors(&fo.w, f->doors);
    }
    json_write_kv_array_begin(&fo.w, "gpus");
    for (size_t i = 0; i < f->device_n; i++) {
        if (!is_whole(&f->devices[i])) {
            continue;
        }
        if (is_publishable(f, i)) {
            write_gpu(&fo, i);
        } else {
            ret_left_out->odd_n++;
        }
    }
    json_write_array_end(&fo.w);
    json_write_object_end(&fo.w);
    return out->overflowed ? err_set(reterr, ERR_LIMIT,
                                     "the GPUs of this node need more than %u bytes in annotation " PUBLICATION_KEY,
                                     PUBLICATION_BYTES_MAX)
                           : 0;
}

void publication_format_closed(struct str ours, struct strbuf *out)
{
    const struct str open = STR("\"healthy\":true");

    while (ours.n > 0) {
        if (str_starts(ours, open)) { /* never inside a text: there a quote stands behind a backslash */
            strbuf_add_cstr(out, "\"healthy\":false");
            ours = str_drop(ours, open.n);
        } else {
            strbuf_add_char(out, ours.p[0]);
            ours = str_drop(ours, 1);
        }
    }
}
