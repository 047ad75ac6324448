/* MIG in /state: what a GPU in MIG mode is cut into, which part of it an instance is, and who picks. */
#include "routes/state_internal.h"

#include "model/mig.h"

void state_write_node_mig(struct json_writer *w, const struct snapshot_node *n)
{
    if (!n->mig_changing && !n->mig_counted && !n->mig_single) {
        return;
    }
    json_write_kv_object_begin(w, "mig");
    json_write_kv_bool(w, "changing", n->mig_changing);
    json_write_kv_cstr(w, "strategy", n->mig_single ? "single" : n->mig_counted ? "mixed" : "none");
    json_write_kv_cstr(w, "picks", n->mig_single || n->mig_counted ? "kubelet" : "fgpu");
    json_write_object_end(w);
}

static void write_occupied(struct json_writer *w, uint16_t occupied)
{
    json_write_kv_array_begin(w, "occupied");
    for (unsigned slot = 0; slot < MIG_SLOTS_MAX; slot++) {
        if ((occupied >> slot & 1) != 0) {
            json_write_i64(w, slot);
        }
    }
    json_write_array_end(w);
}

/* Instances that somebody could still make, each number by itself. */
static void write_residual(struct json_writer *w, const char *key, const struct mig_family *f, uint16_t occupied)
{
    json_write_kv_object_begin(w, key);
    for (size_t i = 0; i < f->shape_n; i++) {
        unsigned n = mig_count_free(&f->shapes[i], occupied);
        char text[MIG_PROFILE_BYTES_MAX];

        if (n > 0) {
            json_write_kv_i64(w, mig_profile_text(f->shapes[i].profile, text), n);
        }
    }
    json_write_object_end(w);
}

void state_write_gpu_mig(struct json_writer *w, const struct snapshot_device *d)
{
    char text[MIG_PROFILE_BYTES_MAX];

    if (d->profile == 0) {
        return;
    }
    json_write_kv_object_begin(w, "mig");
    if (d->profile != DEVICE_IN_MIG_MODE) {
        json_write_kv_cstr(w, "profile", mig_profile_text(d->profile, text));
        json_write_kv_bool(w, "counted", d->counted);
        if (d->gpu_index >= 0) {
            json_write_kv_i64(w, "gpu", d->gpu_index);
            json_write_kv_i64(w, "start", d->start);
        }
    } else if (d->mig_family != NULL) {
        json_write_kv_cstr(w, "family", d->mig_family->name);
        json_write_kv_i64(w, "slots", d->mig_family->slot_n);
        write_occupied(w, d->mig_occupied);
        write_residual(w, "residual", d->mig_family, d->mig_occupied);
        write_residual(w, "room", d->mig_family, d->mig_occupied); /* the older name (decision 0047) */
    }
    json_write_object_end(w);
}
