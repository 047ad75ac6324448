/* The document of /state, key by key. */
#include "sim/state_file_internal.h"

/* ---- the document ---- */

static void read_metadata(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    struct str key;
    int64_t generation = 0;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "generation")) {
            state_file_i64(r, 0, INT64_MAX, &generation);
        } else if (str_eq_cstr(key, "asOf")) {
            state_file_time(r, &f->file->as_of_ms);
        } else {
            json_skip(r);
        }
    }
    f->file->generation = (uint64_t)generation;
}

static void read_nodes(struct file_reader *f)
{
    f->section = "nodes";
    json_array_begin(&f->json);
    for (f->node_at = 0; json_array_next(&f->json); f->node_at += !json_failed(&f->json)) {
        state_file_decode_node(f);
    }
    f->has_nodes = true;
}

static void read_pending(struct file_reader *f)
{
    f->section = "pending";
    json_array_begin(&f->json);
    for (f->node_at = 0; json_array_next(&f->json); f->node_at += !json_failed(&f->json)) {
        state_file_decode_pod(f, FILE_NONE);
    }
    f->has_pending = true;
}

static void read_head_key(struct file_reader *f, struct str key, bool *ret_is_state)
{
    struct json_reader *r = &f->json;
    struct str text = STR_NULL;

    if (str_eq_cstr(key, "apiVersion")) {
        json_string(r, &text);
        state_file_require(f, str_eq_cstr(text, "state.fgpu.io/v1alpha1"), "apiVersion is not state.fgpu.io/v1alpha1");
    } else if (str_eq_cstr(key, "kind")) {
        json_string(r, &text);
        *ret_is_state = str_eq_cstr(text, "State");
    } else {
        json_skip(r);
    }
}

void state_file_decode(struct file_reader *f)
{
    struct json_reader *r = &f->json;
    struct str key;
    bool is_state = false;

    f->node_at = f->gpu_at = -1;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        f->section = NULL;
        f->node_at = f->gpu_at = -1;
        if (str_eq_cstr(key, "metadata")) {
            read_metadata(f);
        } else if (str_eq_cstr(key, "nodes")) {
            read_nodes(f);
        } else if (str_eq_cstr(key, "pending")) {
            read_pending(f);
        } else if (str_eq_cstr(key, "summary")) {
            state_file_decode_summary(f);
        } else if (str_eq_cstr(key, "configuration")) {
            json_raw(r, &f->configuration);
        } else if (str_eq_cstr(key, "fileConfiguration")) {
            json_raw(r, &f->file_configuration);
        } else {
            read_head_key(f, key, &is_state);
        }
    }
    if (!json_failed(r)) { /* else they say where */
        f->section = NULL;
        f->node_at = f->gpu_at = -1;
    }
    state_file_require(f, is_state, "not a document of /state: kind is not State");
    state_file_require(f, f->has_nodes && f->has_pending && f->configuration.n > 0,
                       "not a whole document: save /state without node, namespace and fields");
}
