/* A pod in all vocabularies together. */
#include "core/dialects/dialect.h"
#include "core/dialects/spelling_internal.h"
#include "core/request/host.h"

static bool claims_pod(const struct dialect *d, const struct policy *p, const struct pod *pod)
{
    return d->claims_pod != NULL && d->claims_pod(p, pod);
}

/* Annotations are the careful one of the two sources. */
static enum demand_source source_of_both(const struct demand *a, const struct demand *b)
{
    return a->source == DEMAND_FROM_RESOURCES ? b->source : a->source;
}

static bool read_request(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret)
{
    struct demand found = {.dialect = ""};

    for (size_t i = 0; dialects[i] != NULL; i++) {
        struct demand d;
        if (!claims_pod(dialects[i], p, pod)) {
            continue;
        }
        if (!dialects[i]->parse_request(p, pod, a, &d)) {
            return false;
        }
        if (demand_is_empty(&d)) {
            continue;
        }
        if (!demand_is_empty(&found)) {
            d = (struct demand){
                .defect = dialects[i]->beside, .source = source_of_both(&found, &d), .dialect = found.dialect};
        }
        found = d;
    }
    *ret = found;
    return true;
}

bool dialect_demand(const struct policy *p, const struct pod *pod, struct arena *a, struct demand *ret)
{
    struct demand found;

    if (!read_request(p, pod, a, &found)) {
        return false;
    }
    for (size_t i = 0; dialects[i] != NULL && found.defect == DEMAND_OK && pod->node_name.n == 0; i++) {
        enum demand_defect slip = spelling_defect(p, dialects[i], pod);

        if (slip != DEMAND_OK) {
            found = (struct demand){.defect = slip, .source = DEMAND_FROM_ANNOTATIONS, .dialect = dialects[i]->name};
        }
    }
    *ret = found;
    ret->name_bytes_most = demand_longest_name(found.gpu_requests, found.defect == DEMAND_OK ? found.gpu_request_n : 0);
    ret->host = host_request_of_pod(pod);
    if (found.defect != DEMAND_OK) {
        ret->as_written = dialect_as_written(p, pod, a);
        return !a->overflowed;
    }
    return true;
}

bool dialect_claims_pod(const struct policy *p, const struct pod *pod)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (claims_pod(dialects[i], p, pod)) {
            return true;
        }
    }
    return false;
}

bool dialect_label_hashes(const struct pod *pod, struct arena *a, const uint64_t **ret, size_t *ret_n)
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
