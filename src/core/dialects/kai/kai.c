/* Pod annotations of Run:ai and KAI-Scheduler. Their facts: keys and what is mutually exclusive as in
 * KAI-Scheduler's request validator, rounding as in its node accounting (revision 72de64fc). */
#include "core/dialects/kai/kai.h"

#include "core/dialects/native/native_internal.h"

/* Annotations of pods. Unlike fgpu's own they have no prefix. */
#define KAI_KEY_FRACTION "gpu-fraction"
#define KAI_KEY_MEMORY "gpu-memory" /* MiB */
#define KAI_KEY_DEVICES "gpu-fraction-num-devices"
#define KAI_KEY_CONTAINER "gpu-fraction-container-name"

/* None is ever proposed for another one: without a prefix nobody can tell whose a similar key is. */
static const struct dialect_key request_keys[] = {
    {KAI_KEY_FRACTION, DEMAND_OK},  {KAI_KEY_MEMORY, DEMAND_OK}, {KAI_KEY_DEVICES, DEMAND_OK},
    {KAI_KEY_CONTAINER, DEMAND_OK}, {NULL, DEMAND_OK},
};

static const struct str *annotation(const struct pod *pod, struct str key)
{
    return kv_find(pod->annotations, key);
}

static bool kai_claims_pod(const struct policy *p, const struct pod *pod)
{
    return p->kai == DIALECT_SERVE &&
           (annotation(pod, STR(KAI_KEY_FRACTION)) != NULL || annotation(pod, STR(KAI_KEY_MEMORY)) != NULL ||
            annotation(pod, STR(KAI_KEY_DEVICES)) != NULL);
}

/* KAI reads whatever strconv.ParseFloat takes, "NaN" and "1e-1" among it. Here it is digits with a point, and
 * thousandths are the finest share there is. */
static bool read_fraction(struct str text, int32_t *ret_milli)
{
    int32_t milli = 0, place = 100;
    size_t i = 0;

    while (i < text.n && text.p[i] == '0') {
        i++;
    }
    if (i == text.n || text.p[i] != '.') { /* none, or 1 and more */
        return false;
    }
    for (i++; i < text.n; i++, place /= 10) {
        int32_t digit = text.p[i] - '0';

        if (digit < 0 || digit > 9 || (place == 0 && digit > 0)) {
            return false;
        }
        milli += digit * place;
    }
    *ret_milli = milli;
    return milli > 0;
}

static enum demand_defect read_portion(const struct pod *pod, struct gpu_request *w)
{
    const struct str *fraction = annotation(pod, STR(KAI_KEY_FRACTION));
    const struct str *memory = annotation(pod, STR(KAI_KEY_MEMORY));
    uint64_t mib;

    if ((fraction == NULL) == (memory == NULL)) {
        return DEMAND_KAI_TWICE;
    }
    if (fraction != NULL) {
        w->kind = GPU_REQUEST_FRACTION;
        return read_fraction(*fraction, &w->milli) ? DEMAND_OK : DEMAND_KAI_FRACTION;
    }
    if (!str_to_u64(*memory, UINT64_MAX, &mib) || mib == 0) {
        return DEMAND_KAI_MEMORY;
    }
    if (mib > DEMAND_MEM_MIB_MAX) {
        return DEMAND_TOO_LARGE;
    }
    w->kind = GPU_REQUEST_PORTION;
    w->mem_mib = (int64_t)mib;
    return DEMAND_OK;
}

static enum demand_defect read_count(const struct pod *pod, struct gpu_request *w)
{
    const struct str *devices = annotation(pod, STR(KAI_KEY_DEVICES));
    uint64_t n = 1;

    if (devices != NULL && (!str_to_u64(*devices, DEVICES_PER_NODE_MAX, &n) || n == 0)) {
        return DEMAND_COUNT;
    }
    w->count = (uint16_t)n;
    return DEMAND_OK;
}

static bool find_container(const struct container *list, size_t n, const struct str *name, struct gpu_request *w)
{
    for (size_t i = 0; i < n && i <= UINT16_MAX; i++) {
        if (name == NULL || str_eq(list[i].name, *name)) {
            w->container = list[i].name;
            w->position = (uint16_t)i;
            return true;
        }
    }
    return false;
}

/* The first container, or the one that is named, init containers included. */
static enum demand_defect read_container(const struct pod *pod, struct gpu_request *w)
{
    const struct str *name = annotation(pod, STR(KAI_KEY_CONTAINER));

    w->phases = 1; /* the app phase, which sidecars see, too */
    if (find_container(pod->containers, pod->container_n, name, w)) {
        return DEMAND_OK;
    }
    if (name == NULL || !find_container(pod->init_containers, pod->init_container_n, name, w)) {
        return DEMAND_KAI_CONTAINER;
    }
    w->init = true;
    w->phases = pod->init_containers[w->position].sidecar ? 1 : 2;
    return DEMAND_OK;
}

static enum demand_defect read_gpu_request(const struct pod *pod, struct gpu_request *w)
{
    enum demand_defect defect = read_portion(pod, w);

    if (defect == DEMAND_OK) {
        defect = read_count(pod, w);
    }
    if (defect == DEMAND_OK && annotation(pod, STR(NATIVE_KEY_CONTAINER)) != NULL) {
        defect = DEMAND_VOCABULARIES;
    }
    return defect == DEMAND_OK ? read_container(pod, w) : defect;
}

static bool kai_parse_request(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret)
{
    struct demand d = {.source = DEMAND_FROM_ANNOTATIONS, .dialect = dialect_kai.name, .gpu_request_n = 1};
    struct gpu_request *w = ARENA_NEW(a, struct gpu_request);
    enum demand_defect defect;

    (void)p;
    if (w == NULL) {
        return false;
    }
    *w = (struct gpu_request){.init = false};
    d.gpu_requests = w;
    defect = read_gpu_request(pod, w);
    if (defect == DEMAND_OK && !native_constraints(pod->annotations, a, &d, &defect)) {
        return false;
    }
    if (defect != DEMAND_OK) {
        d = (struct demand){.defect = defect, .source = d.source, .dialect = d.dialect};
    }
    *ret = d;
    return true;
}

const struct dialect dialect_kai = {
    .name = "kai",
    .request_keys = request_keys,
    .beside = DEMAND_VOCABULARIES,
    .claims_pod = kai_claims_pod,
    .parse_request = kai_parse_request,
};
