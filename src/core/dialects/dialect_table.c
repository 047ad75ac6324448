/* Every vocabulary fgpu speaks, and what is asked of all of them together. */
#include "core/dialects/dialect.h"
#include "core/dialects/kai_internal.h"
#include "core/dialects/native_internal.h"
#include "core/dialects/spelling_internal.h"
#include "core/request/host.h"

const struct dialect *const dialects[] = {
    &dialect_native,
    &dialect_kai,
    NULL,
};

bool dialect_demand(const struct policy *p, const struct pod *pod, struct arena *a,
                    struct demand *ret)
{
    struct demand found = {.dialect = ""};

    for (size_t i = 0; dialects[i] != NULL; i++) {
        struct demand d;
        if (!dialects[i]->claims_pod(p, pod)) {
            continue;
        }
        if (!dialects[i]->parse_request(p, pod, a, &d)) {
            return false;
        }
        if (demand_is_empty(&d)) {
            continue;
        }
        if (!demand_is_empty(&found)) {
            found = (struct demand){
                .defect = DEMAND_VOCABULARIES,
                .source = DEMAND_FROM_ANNOTATIONS, /* the careful one of the two */
                .dialect = found.dialect,
            };
            break;
        }
        found = d;
    }
    if (found.defect == DEMAND_OK && pod->node_name.n == 0) {
        enum demand_defect slip = spelling_defect(p, pod);

        if (slip != DEMAND_OK) {
            found = (struct demand){.defect = slip, .source = DEMAND_FROM_ANNOTATIONS, .dialect = dialect_native.name};
        }
    }
    *ret = found;
    ret->host = host_request_of_pod(pod);
    return true;
}

bool dialect_claims_pod(const struct policy *p, const struct pod *pod)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (dialects[i]->claims_pod(p, pod)) {
            return true;
        }
    }
    return false;
}

bool dialect_label_hashes(const struct pod *pod, struct arena *a, const uint64_t **ret,
                          size_t *ret_n)
{
    uint64_t *hashes = NULL;

    if (pod->labels.n > 0) {
        hashes = ARENA_ARRAY(a, pod->labels.n, uint64_t);
        if (hashes == NULL) {
            return false;
        }
        for (size_t i = 0; i < pod->labels.n; i++) {
            hashes[i] = label_pair_hash(pod->labels.items[i].key, pod->labels.items[i].value);
        }
    }
    *ret = hashes;
    *ret_n = pod->labels.n;
    return true;
}

bool dialect_is_request_key(struct str key)
{
    static const char *const keys[] = {
        NATIVE_KEY_FRACTION, NATIVE_KEY_MEMORY,    NATIVE_KEY_COUNT,
        NATIVE_KEY_SIZE,     NATIVE_KEY_CONTAINER, NATIVE_KEY_MODEL,
        NATIVE_KEY_UUID,     NATIVE_KEY_ISOLATE,   NATIVE_KEY_QOS,     NATIVE_KEY_PROFILE,
        KAI_KEY_FRACTION,    KAI_KEY_MEMORY,       KAI_KEY_DEVICES,    KAI_KEY_CONTAINER,
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_eq_cstr(key, keys[i])) {
            return true;
        }
    }
    return false;
}
