#include "cdi/spec.h"

#include "base/json_write.h"

/* The oldest version that knows what is used here, so that every runtime which knows CDI reads it. */
#define SPEC_VERSION "0.3.0"

#define GPU_VENDOR STR("nvidia.com")

void cdi_spec_format(struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "cdiVersion", SPEC_VERSION);
    json_write_kv_cstr(&w, "kind", CDI_KIND);
    json_write_kv_array_begin(&w, "devices");
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "name", CDI_VOID_NAME);
    json_write_kv_object_begin(&w, "containerEdits");
    json_write_kv_array_begin(&w, "env");
    json_write_cstr(&w, CDI_VISIBLE_DEVICES "=" CDI_VOID_VALUE);
    json_write_array_end(&w);
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_array_end(&w);
    json_write_object_end(&w);
    strbuf_add_char(out, '\n');
}

struct str cdi_gpu_name(struct arena *a, struct str uuid)
{
    return arena_printf(a, "nvidia.com/gpu=%.*s", STR_ARG(uuid));
}

bool cdi_name_is_of_gpu_vendor(struct str name)
{
    struct str rest = name, vendor;
    size_t before;

    if (!str_split(&rest, '/', &vendor) || rest.p == NULL || !str_ends(vendor, GPU_VENDOR)) {
        return false;
    }
    before = vendor.n - GPU_VENDOR.n;
    return before == 0 || vendor.p[before - 1] == '.';
}
