#include "core/request/demand.h"

#include "base/bug.h"
#include "base/hash.h"

#include <string.h>

bool gpu_request_kind_has_milli(enum gpu_request_kind k)
{
    return k == GPU_REQUEST_BOTH || k == GPU_REQUEST_MILLI || k == GPU_REQUEST_FRACTION;
}

bool gpu_request_kind_has_mem(enum gpu_request_kind k)
{
    return k == GPU_REQUEST_BOTH || k == GPU_REQUEST_MEMORY || k == GPU_REQUEST_PORTION;
}

bool gpu_request_kind_is_of_memory(enum gpu_request_kind k)
{
    return k == GPU_REQUEST_MEMORY || k == GPU_REQUEST_FRACTION || k == GPU_REQUEST_PORTION;
}

static int64_t clamp_i64(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* floor(a * b / c) for a, b >= 0 and c > 0; the product may pass 64 bits, the quotient is cut at
 * `max`. */
static int64_t mul_div(int64_t a, int64_t b, int64_t c, int64_t max)
{
    int64_t product;
    __int128 v;

    if (!__builtin_mul_overflow(a, b, &product)) { /* nearly always, and many times faster */
        return product / c > max ? max : product / c;
    }
    v = (__int128)a * b / c;
    return v > max ? max : (int64_t)v;
}

/* What KAI-Scheduler sees of the memory of a device. Source: its node info, which floors the label
 * nvidia.com/gpu.memory. */
static int64_t kai_mem(int64_t mem_mib)
{
    return mem_mib - mem_mib % GPU_REQUEST_KAI_STEP_MIB;
}

/* ceil(100 * mem / seen) hundredths, in thousandths. */
static int32_t kai_portion_milli(int64_t mem_mib, int64_t seen_mib)
{
    const int64_t hundredth = DEVICE_MILLI / 100;
    int64_t portion;

    if (seen_mib <= 0 || mem_mib >= seen_mib) {
        return DEVICE_MILLI;
    }
    portion = (mem_mib * 100 + seen_mib - 1) / seen_mib;
    return (int32_t)(clamp_i64(portion, 1, 100) * hundredth);
}

struct charge gpu_request_charge(const struct gpu_request *w, int32_t cap_milli, int64_t cap_mem_mib,
                                 int64_t mem_base_mib)
{
    struct charge c = {.milli = w->milli, .slots = 1, .mem_mib = w->mem_mib, .profile = w->profile};

    switch (w->kind) {
    case GPU_REQUEST_BOTH:
        break;
    case GPU_REQUEST_MILLI:
        c.mem_mib = 0;
        if (mem_base_mib > 0 && cap_mem_mib > 0) {
            c.mem_mib = mul_div(mem_base_mib, w->milli, DEVICE_MILLI, cap_mem_mib);
        }
        break;
    case GPU_REQUEST_MEMORY:
        c.milli = DEVICE_MILLI;
        if (mem_base_mib > 0) {
            int64_t share = mul_div(w->mem_mib, DEVICE_MILLI, mem_base_mib, DEVICE_MILLI);
            c.milli = (int32_t)clamp_i64(share, 1, DEVICE_MILLI);
        }
        break;
    case GPU_REQUEST_WHOLE:
        c.milli = cap_milli > 0 ? cap_milli : 0;
        c.mem_mib = cap_mem_mib > 0 ? cap_mem_mib : 0;
        c.exclusive = true;
        break;
    case GPU_REQUEST_FRACTION:
        c.mem_mib = 0;
        if (mem_base_mib > 0 && cap_mem_mib > 0) {
            c.mem_mib = mul_div(kai_mem(mem_base_mib), w->milli, DEVICE_MILLI, cap_mem_mib);
        }
        break;
    case GPU_REQUEST_PORTION:
        c.milli = kai_portion_milli(w->mem_mib, mem_base_mib > 0 ? kai_mem(mem_base_mib) : 0);
        break;
    case GPU_REQUEST_KIND__MAX:
        BUG("no such kind of GPU request");
    }
    return c;
}

static bool is_uuid(struct str pattern, struct str uuid)
{
    return uuid.n > 0 && str_eq(pattern, uuid);
}

/* `other`: another name of the same; empty: none. */
static bool patterns_allow(const struct device_pattern *patterns, size_t n, struct str name, struct str other,
                           bool (*matches)(struct str pattern, struct str name))
{
    bool has_inclusion = false;
    bool included = false;

    for (size_t i = 0; i < n; i++) {
        bool hit = matches(patterns[i].text, name) || matches(patterns[i].text, other);

        if (patterns[i].exclude && hit) {
            return false;
        }
        has_inclusion = has_inclusion || !patterns[i].exclude;
        included = included || hit;
    }
    return included || !has_inclusion;
}

bool demand_allows_model(const struct demand *d, struct str model)
{
    return patterns_allow(d->models, d->model_n, model, STR_NULL, str_match_glob);
}

bool demand_allows_uuid(const struct demand *d, struct str uuid, struct str gpu_uuid)
{
    return patterns_allow(d->uuids, d->uuid_n, uuid, gpu_uuid, is_uuid);
}

uint64_t label_pair_hash(struct str key, struct str value)
{
    uint64_t h = hash_fnv1a(HASH_FNV1A_BASIS, key);
    h = hash_fnv1a(h, STR("=")); /* stands in no label key, so ("ab", "c") and ("a", "bc") differ */
    return hash_fnv1a(h, value);
}

bool label_hashes_match(const uint64_t *wanted, size_t wanted_n, const uint64_t *labels, size_t label_n)
{
    for (size_t i = 0; i < wanted_n; i++) {
        size_t j = 0;
        while (j < label_n && labels[j] != wanted[i]) {
            j++;
        }
        if (j == label_n) {
            return false;
        }
    }
    return wanted_n > 0;
}

static size_t patterns_text_bytes(const struct device_pattern *patterns, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += patterns[i].text.n;
    }
    return bytes;
}

/* Moves *at behind what was copied; NULL for an empty array. */
static void *take_array(char **at, const void *src, size_t n, size_t size)
{
    if (n == 0) {
        return NULL;
    }
    void *copy = memcpy(*at, src, n * size);
    *at += n * size;
    return copy;
}

static const struct device_pattern *take_patterns(char **arrays, char **text, const struct device_pattern *src,
                                                  size_t n)
{
    struct device_pattern *copy = take_array(arrays, src, n, sizeof(*src));
    for (size_t i = 0; i < n; i++) {
        copy[i].text = str_put(text, src[i].text);
    }
    return copy;
}

const struct demand *demand_amounts(const struct demand *d, struct arena *a)
{
    struct demand *copy = ARENA_NEW(a, struct demand);
    struct gpu_request *gpu_requests = ARENA_ARRAY(a, d->gpu_request_n, struct gpu_request);

    if (copy == NULL || gpu_requests == NULL) {
        return NULL;
    }
    *copy = (struct demand){.plugin_managed_n = d->plugin_managed_n,
                            .plugin_managed_most = d->plugin_managed_most,
                            .plugin_managed_names = d->plugin_managed_names,
                            .gpu_request_n = d->gpu_request_n,
                            .gpu_requests = gpu_requests,
                            .dialect = d->dialect,
                            .says_qos = d->says_qos,
                            .qos = d->qos};
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        gpu_requests[i] = d->gpu_requests[i];
        gpu_requests[i].container = STR_NULL;
    }
    return copy;
}

static size_t demand_array_bytes(const struct demand *d)
{
    return d->gpu_request_n * sizeof(*d->gpu_requests) + d->model_n * sizeof(*d->models) +
           d->uuid_n * sizeof(*d->uuids) + d->isolate_n * sizeof(*d->isolate);
}

/* One block: the demand, its arrays (all aligned to 8 bytes), its text. */
static size_t demand_bytes(const struct demand *d)
{
    size_t text_bytes =
        patterns_text_bytes(d->models, d->model_n) + patterns_text_bytes(d->uuids, d->uuid_n) + d->as_written.n;

    _Static_assert(sizeof(struct demand) % 8 == 0, "arrays follow the demand");
    _Static_assert(sizeof(struct gpu_request) % 8 == 0, "arrays follow the GPU requests");
    _Static_assert(sizeof(struct device_pattern) % 8 == 0, "arrays follow the patterns");
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        text_bytes += d->gpu_requests[i].container.n;
    }
    return sizeof(*d) + demand_array_bytes(d) + text_bytes;
}

static struct demand *demand_put(struct demand *copy, const struct demand *d)
{
    char *arrays = (char *)(copy + 1);
    char *text = arrays + demand_array_bytes(d);

    *copy = *d;

    struct gpu_request *gpu_requests = take_array(&arrays, d->gpu_requests, d->gpu_request_n, sizeof(*gpu_requests));
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        gpu_requests[i].container = str_put(&text, d->gpu_requests[i].container);
    }
    copy->gpu_requests = gpu_requests;
    copy->models = take_patterns(&arrays, &text, d->models, d->model_n);
    copy->uuids = take_patterns(&arrays, &text, d->uuids, d->uuid_n);
    copy->as_written = str_put(&text, d->as_written);
    copy->isolate = take_array(&arrays, d->isolate, d->isolate_n, sizeof(*d->isolate));
    return copy;
}

struct demand *demand_copy(const struct demand *d)
{
    return demand_put(xmalloc(demand_bytes(d)), d);
}

const struct demand *demand_copy_to(const struct demand *d, struct arena *a)
{
    struct demand *copy = arena_alloc(a, demand_bytes(d));

    return copy == NULL ? NULL : demand_put(copy, d);
}

static bool gpu_request_equal(const struct gpu_request *a, const struct gpu_request *b)
{
    return str_eq(a->container, b->container) && a->init == b->init && a->position == b->position &&
           a->count == b->count && a->kind == b->kind && a->milli == b->milli && a->mem_mib == b->mem_mib &&
           a->phases == b->phases && a->profile == b->profile;
}

static bool patterns_equal(const struct device_pattern *a, const struct device_pattern *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].exclude != b[i].exclude || !str_eq(a[i].text, b[i].text)) {
            return false;
        }
    }
    return true;
}

bool demand_equal(const struct demand *a, const struct demand *b)
{
    if (a->defect != b->defect || a->source != b->source || a->says_qos != b->says_qos ||
        (a->says_qos && a->qos != b->qos) || strcmp(a->dialect, b->dialect) != 0 ||
        a->plugin_managed_n != b->plugin_managed_n || a->plugin_managed_most != b->plugin_managed_most ||
        a->plugin_managed_names != b->plugin_managed_names || a->gpu_request_n != b->gpu_request_n ||
        a->host.cpu_milli != b->host.cpu_milli || a->host.mem_mib != b->host.mem_mib || a->model_n != b->model_n ||
        !str_eq(a->as_written, b->as_written) || a->uuid_n != b->uuid_n || a->isolate_n != b->isolate_n) {
        return false;
    }
    for (size_t i = 0; i < a->gpu_request_n; i++) {
        if (!gpu_request_equal(&a->gpu_requests[i], &b->gpu_requests[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < a->isolate_n; i++) {
        if (a->isolate[i] != b->isolate[i]) {
            return false;
        }
    }
    return patterns_equal(a->models, b->models, a->model_n) && patterns_equal(a->uuids, b->uuids, a->uuid_n);
}
