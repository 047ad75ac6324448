#include "core/dialects/spelling_internal.h"

#include "base/quantity.h"
#include "base/suggest.h"
#include "core/dialects/native_internal.h"
#include "core/record/assignment.h"

#define DOMAIN "fgpu.io/"
#define MEMORY_BYTES_MIN (INT64_C(1) << 20)

struct meaning {
    const char *key;
    enum demand_defect meant;
};

static const struct meaning annotations[] = {
    {NATIVE_KEY_FRACTION, DEMAND_MEANT_FRACTION},   {NATIVE_KEY_MEMORY, DEMAND_MEANT_MEMORY},
    {NATIVE_KEY_COUNT, DEMAND_MEANT_COUNT},         {NATIVE_KEY_SIZE, DEMAND_MEANT_SIZE},
    {NATIVE_KEY_PROFILE, DEMAND_MEANT_PROFILE},     {NATIVE_KEY_CONTAINER, DEMAND_MEANT_CONTAINER},
    {NATIVE_KEY_MODEL, DEMAND_MEANT_MODEL},         {NATIVE_KEY_UUID, DEMAND_MEANT_UUID},
    {NATIVE_KEY_ISOLATE, DEMAND_MEANT_ISOLATE},     {NATIVE_KEY_QOS, DEMAND_MEANT_QOS},
};

/* Texts are constant, so a resource can be proposed by name only if its name is one of these and still in use. */
static const struct meaning resources[] = {
    {"fgpu.io/gpu-milli", DEMAND_MEANT_MILLI_RESOURCE},
    {"fgpu.io/gpu-memory-mib", DEMAND_MEANT_MEMORY_RESOURCE},
    {"fgpu.io/gpu-count", DEMAND_MEANT_COUNT_RESOURCE},
};

#define MEANINGS (ARRAY_LEN(annotations) + ARRAY_LEN(resources))

static bool is_in_domain(struct str key)
{
    return key.n >= sizeof(DOMAIN) - 1 && str_ieq((struct str){key.p, sizeof(DOMAIN) - 1}, STR(DOMAIN));
}

static bool is_known_annotation(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
        if (str_eq_cstr(key, annotations[i].key)) {
            return true;
        }
    }
    return assignment_writes_key(key);
}

static bool is_named(const struct str *names, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

static bool is_known_resource(const struct policy *p, struct str name)
{
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (str_eq(p->compute_resources[i].name, name)) {
            return true;
        }
    }
    return is_named(p->memory_resources, p->memory_resource_n, name) ||
           is_named(p->count_resources, p->count_resource_n, name) ||
           is_named(p->whole_resources, p->whole_resource_n, name);
}

/* Names without their domain, which would count as letters that are right. */
struct candidates {
    struct str names[MEANINGS];
    enum demand_defect meant[MEANINGS];
    size_t n;
};

static void add_candidate(struct candidates *c, const struct meaning *m)
{
    c->names[c->n] = str_drop(str_of(m->key), sizeof(DOMAIN) - 1);
    c->meant[c->n++] = m->meant;
}

static void add_annotations(struct candidates *c)
{
    for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
        add_candidate(c, &annotations[i]);
    }
}

static void add_resources(const struct policy *p, struct candidates *c)
{
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        if (is_known_resource(p, str_of(resources[i].key))) {
            add_candidate(c, &resources[i]);
        }
    }
}

/* Somebody may have written an annotation as a resource, too; of two that are equally near, the one of the same sort
 * comes first. */
static enum demand_defect meant_by(const struct policy *p, struct str key, bool is_resource)
{
    struct candidates c = {.n = 0};
    const struct str *near;

    if (is_resource) {
        add_resources(p, &c);
        add_annotations(&c);
    } else {
        add_annotations(&c);
        add_resources(p, &c);
    }
    near = suggest(str_drop(key, sizeof(DOMAIN) - 1), c.names, c.n);
    if (near == NULL) {
        return is_resource ? DEMAND_KEY_RESOURCE : DEMAND_KEY_ANNOTATION;
    }
    return c.meant[near - c.names];
}

static enum demand_defect resources_defect(const struct policy *p, struct kv_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        if (is_in_domain(list.items[i].key) && !is_known_resource(p, list.items[i].key)) {
            return meant_by(p, list.items[i].key, true);
        }
    }
    return DEMAND_OK;
}

static enum demand_defect containers_defect(const struct policy *p, const struct container *list, size_t n)
{
    enum demand_defect defect = DEMAND_OK;

    for (size_t i = 0; i < n && defect == DEMAND_OK; i++) {
        defect = resources_defect(p, list[i].limits);
        if (defect == DEMAND_OK) {
            defect = resources_defect(p, list[i].requests);
        }
    }
    return defect;
}

/* Every unit of a quantity ends in a letter; "4e9" has none, as "4000000000" has none. */
static enum demand_defect memory_defect(struct kv_list list)
{
    const struct str *text = kv_find(list, STR(NATIVE_KEY_MEMORY));
    struct quantity q;

    if (text == NULL || quantity_parse(*text, &q) != QUANTITY_OK) {
        return DEMAND_OK; /* of which the reader of amounts says more */
    }
    if (text->n == 0 || text->p[text->n - 1] <= '9' || quantity_value(q) < MEMORY_BYTES_MIN) {
        return DEMAND_MEMORY_UNIT;
    }
    return DEMAND_OK;
}

enum demand_defect spelling_defect(const struct policy *p, const struct pod *pod)
{
    enum demand_defect defect;

    for (size_t i = 0; i < pod->annotations.n; i++) {
        struct str key = pod->annotations.items[i].key;

        if (is_in_domain(key) && !is_known_annotation(key)) {
            return meant_by(p, key, false);
        }
    }
    defect = containers_defect(p, pod->init_containers, pod->init_container_n);
    if (defect == DEMAND_OK) {
        defect = containers_defect(p, pod->containers, pod->container_n);
    }
    return defect != DEMAND_OK ? defect : memory_defect(pod->annotations);
}
