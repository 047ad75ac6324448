#include "doctor/facts.h"

#define NAMES_MAX 64

const char *doctor_source_name(enum doctor_source s)
{
    static const char *const names[] = {
        [DOCTOR_STATE] = "the state of fgpu",
        [DOCTOR_METRICS] = "the metrics of fgpu",
        [DOCTOR_SCHEDULER] = "the configuration of kube-scheduler",
        [DOCTOR_VERBS] = "the verbs listener",
        [DOCTOR_NODES] = "the nodes",
        [DOCTOR_PODS] = "the pods",
        [DOCTOR_POLICIES] = "the admission policies",
        [DOCTOR_RUNTIME_CLASSES] = "the runtime classes",
        [DOCTOR_QUOTAS] = "the quotas",
        [DOCTOR_RIGHTS] = "the rights of fgpu",
        [DOCTOR_CLOCKS] = "the clocks",
        [DOCTOR_LEASE] = "the Lease of the election",
    };

    return names[s];
}

void doctor_facts_init(struct doctor_facts *f, struct arena *a)
{
    *f = (struct doctor_facts){.arena = a, .is_leader = true};
    for (int s = 0; s < DOCTOR_SOURCE__MAX; s++) {
        f->why_not[s] = "nobody has read it";
    }
}

/* ---- names of resources ---- */

struct names {
    struct str *items;
    size_t n;
};

static void add_name(struct names *names, struct str name)
{
    if (names->n < NAMES_MAX) {
        names->items[names->n++] = name;
    }
}

static size_t collect(const struct config *c, bool of_plugins, struct arena *a, const struct str **ret)
{
    struct names names = {.items = ARENA_ARRAY(a, NAMES_MAX, struct str)};
    const struct policy *p = &c->policy;

    if (names.items == NULL) {
        return 0;
    }
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (of_plugins || p->compute_resources[i].picks == PICKS_FGPU) {
            add_name(&names, p->compute_resources[i].name);
        }
    }
    for (size_t i = 0; i < p->memory_resource_n; i++) {
        add_name(&names, p->memory_resources[i]);
    }
    for (size_t i = 0; i < p->count_resource_n; i++) {
        add_name(&names, p->count_resources[i]);
    }
    for (size_t i = 0; of_plugins && i < p->whole_resource_n; i++) {
        add_name(&names, p->whole_resources[i]);
    }
    *ret = names.items;
    return names.n;
}

size_t doctor_names_of(const struct config *c, struct arena *a, const struct str **ret)
{
    return collect(c, false, a, ret);
}

size_t doctor_managed_names_of(const struct config *c, struct arena *a, const struct str **ret)
{
    return collect(c, true, a, ret);
}

/* ---- rights ---- */

static void need(struct doctor_facts *f, struct doctor_right right)
{
    if (f->right_n < DOCTOR_RIGHTS_MAX) {
        f->rights[f->right_n++] = right;
    }
}

static void need_reading(struct doctor_facts *f, const char *group, const char *resource, const char *purpose)
{
    need(f, (struct doctor_right){"list", group, resource, "", STR_NULL, STR_NULL, purpose, false});
    need(f, (struct doctor_right){"watch", group, resource, "", STR_NULL, STR_NULL, purpose, false});
}

static const char TEXT_STRICT[] = "apply manifests/strict, with the namespace of clientConnection.intentObjects";
static const char TEXT_START[] = "each start waits for clientConnection.holdOff, also after an orderly end";

/* Verbs on all Leases of a namespace, or on one of them. */
static void need_leases(struct doctor_facts *f, const char *const *verbs, struct str namespace_, struct str name,
                        const char *purpose, const char *source)
{
    for (; *verbs != NULL; verbs++) {
        need(f, (struct doctor_right){*verbs, "coordination.k8s.io", "leases", "", namespace_, name, purpose, false,
                                      source});
    }
}

/* What is off by default has rights of its own: manifests/strict, plan-ahead and mtls-replicas. */
static void need_options(struct doctor_facts *f)
{
    static const char *const intents[] = {"get", "create", "patch", NULL}, *const gone[] = {"list", "delete", NULL},
                             *const looks[] = {"get", NULL}, *const elects[] = {"create", "update", NULL};
    struct str intent_objects, lease, namespace_;

    if (f->config == NULL) {
        return;
    }
    intent_objects = f->config->client.intent_objects;
    lease = f->config->lease.object;
    if (f->config->policy.consistency == CONSISTENCY_STRICT && str_split(&intent_objects, '/', &namespace_)) {
        need_leases(f, intents, namespace_, STR_NULL, "with consistency: strict no pod with GPUs is bound",
                    TEXT_STRICT);
        need_leases(f, gone, namespace_, STR_NULL, "Leases of nodes that are gone stay for ever", TEXT_STRICT);
    }
    if (f->config->policy.plan_ahead) {
        need(f, (struct doctor_right){"patch", "", "pods", "status", STR_NULL, STR_NULL, "no pod is nominated", false,
                                      "apply manifests/plan-ahead"});
    }
    if (f->config->election != ELECTION_NONE && str_split(&lease, '/', &namespace_)) {
        need_leases(f, looks, namespace_, lease, "it never decides", NULL);
        if (f->config->election == ELECTION_LEASE) {
            need_leases(f, elects, namespace_, lease, "it is never elected", "apply manifests/mtls-replicas");
        }
    }
}

/* manifests/dedicated/rbac.yaml, and ops-access.yaml where callers have to show a token. */
void doctor_needed_rights(struct doctor_facts *f)
{
    const struct config_serving *s = f->config != NULL ? &f->config->serving : NULL;
    struct str wake = f->config != NULL ? f->config->client.wake_object : STR_NULL, namespace_;
    struct str run = f->config != NULL ? f->config->client.run_object : STR_NULL;

    f->right_n = 0;
    need_reading(f, "", "pods", "it does not get ready");
    need(f, (struct doctor_right){"get", "", "pods", "", STR_NULL, STR_NULL,
                                  "a bind whose answer was lost is never resolved", false});
    need_reading(f, "", "nodes", "it does not get ready");
    need_reading(f, "resource.k8s.io", "resourceslices",
                 "GPUs that dynamic resource allocation assigns are given away twice");
    need(f, (struct doctor_right){"create", "", "pods", "binding", STR_NULL, STR_NULL, "no pod is bound", false});
    need(f, (struct doctor_right){"create", "events.k8s.io", "events", "", STR_NULL, STR_NULL,
                                  "nobody is told by Events", false});
    need(f, (struct doctor_right){"patch", "events.k8s.io", "events", "", STR_NULL, STR_NULL,
                                  "Events that repeat are not counted", false});
    if (wake.n > 0 && str_split(&wake, '/', &namespace_)) {
        need(f, (struct doctor_right){"patch", "storage.k8s.io", "csistoragecapacities", "", namespace_, wake,
                                      "pods that were refused wait longer than they must when room appears", false});
        if (run.n > 0) {
            need(f, (struct doctor_right){"get", "storage.k8s.io", "csistoragecapacities", "", namespace_, wake,
                                          TEXT_START, false});
        }
    }
    if (run.n > 0 && str_split(&run, '/', &namespace_)) {
        need(f, (struct doctor_right){"get", "", "configmaps", "", namespace_, run, TEXT_START, false});
        need(f, (struct doctor_right){"patch", "", "configmaps", "", namespace_, run, TEXT_START, false});
    }
    need_options(f);
    if (s != NULL && (config_serving_needs_token(s, &s->ops) || config_serving_needs_token(s, &s->metrics))) {
        need(f, (struct doctor_right){"create", "authentication.k8s.io", "tokenreviews", "", STR_NULL, STR_NULL,
                                      "nobody can read metrics and state from outside", false});
        need(f, (struct doctor_right){"create", "authorization.k8s.io", "subjectaccessreviews", "", STR_NULL, STR_NULL,
                                      "nobody can read metrics and state from outside", false});
    }
}
