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

/* Is it, or ends it behind a dot in, this domain? */
static bool is_of_domain(struct str name, struct str domain)
{
    return str_ends(name, domain) && (name.n == domain.n || name.p[name.n - domain.n - 1] == '.');
}

bool cdi_name_is_of_gpu_vendor(struct str name)
{
    struct str rest = name, vendor, class_;

    if (!str_split(&rest, '/', &vendor) || rest.p == NULL || !is_of_domain(vendor, GPU_VENDOR)) {
        return false;
    }
    /* Channels between the memory of GPUs on several nodes; GPUs come beside them. */
    return !is_of_domain(vendor, STR("compute-domain.nvidia.com")) &&
           !(str_split(&rest, '=', &class_) && str_eq(class_, STR("imex-channel")));
}
