#include "core/dialects/spelling_internal.h"

#include "base/bug.h"
#include "base/suggest.h"
#include "core/dialects/dialect.h"

bool spelling_is_in_domain(const struct dialect *d, struct str key)
{
    struct str domain = str_of(d->domain);

    return domain.n > 0 && key.n >= domain.n && str_ieq((struct str){key.p, domain.n}, domain);
}

/* Names without their domain, which would count as letters that are right. */
struct candidates {
    const struct dialect *dialect;
    struct str names[DIALECT_WORDS_MAX];
    enum demand_defect meant[DIALECT_WORDS_MAX];
    size_t n;
};

static void add_candidate(struct candidates *c, const struct dialect_key *key)
{
    BUG_ON(c->n == DIALECT_WORDS_MAX);
    c->names[c->n] = str_drop(str_of(key->name), str_of(c->dialect->domain).n);
    c->meant[c->n++] = key->meant;
}

static void add_annotations(struct candidates *c)
{
    const struct dialect_key *key = c->dialect->request_keys;

    for (; key != NULL && key->name != NULL; key++) {
        add_candidate(c, key);
    }
}

/* A resource can be proposed only if its name is still in use. */
static void add_resources(const struct policy *p, struct candidates *c)
{
    const struct dialect_key *key = c->dialect->resources;

    for (; key != NULL && key->name != NULL; key++) {
        if (dialect_owns_resource(p, str_of(key->name))) {
            add_candidate(c, key);
        }
    }
}

/* Somebody may have written an annotation as a resource, too; of two that are equally near, the one of the same sort
 * comes first. */
static enum demand_defect meant_by(const struct policy *p, const struct dialect *d, struct str key, bool is_resource)
{
    struct candidates c = {.dialect = d, .n = 0};
    const struct str *near;

    if (is_resource) {
        add_resources(p, &c);
        add_annotations(&c);
    } else {
        add_annotations(&c);
        add_resources(p, &c);
    }
    near = suggest(str_drop(key, str_of(d->domain).n), c.names, c.n);
    if (near == NULL) {
        return is_resource ? DEMAND_KEY_RESOURCE : DEMAND_KEY_ANNOTATION;
    }
    return c.meant[near - c.names];
}

static enum demand_defect annotations_defect(const struct policy *p, const struct dialect *d, struct kv_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        struct str key = list.items[i].key;

        if (spelling_is_in_domain(d, key) && !dialect_is_request_key(key) && !dialect_writes_key(key)) {
            return meant_by(p, d, key, false);
        }
    }
    return DEMAND_OK;
}

static enum demand_defect resources_defect(const struct policy *p, const struct dialect *d, struct kv_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        if (spelling_is_in_domain(d, list.items[i].key) && !dialect_owns_resource(p, list.items[i].key)) {
            return meant_by(p, d, list.items[i].key, true);
        }
    }
    return DEMAND_OK;
}

enum demand_defect spelling_defect(const struct policy *p, const struct dialect *d, const struct pod *pod)
{
    enum demand_defect defect = annotations_defect(p, d, pod->annotations);

    for (size_t i = 0; i < pod->init_container_n + pod->container_n && defect == DEMAND_OK; i++) {
        defect = resources_defect(p, d, pod_container(pod, i)->limits);
        if (defect == DEMAND_OK) {
            defect = resources_defect(p, d, pod_container(pod, i)->requests);
        }
    }
    return defect == DEMAND_OK && d->check_unbound != NULL ? d->check_unbound(pod) : defect;
}
