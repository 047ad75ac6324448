/* What concerns several keys at once. Called by decode.c through the rows of schema.c. */
#include "config/schema_internal.h"

#include "base/compiler.h"
#include "model/device.h"

#include <string.h>

void schema_check_compute(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct compute_resource *r = base;

    if (r->picks == PICKS_KUBELET && r->above_one_gpu != ABOVE_REFUSE) {
        config_decode_error(c, yaml_doc_find(n, STR("aboveOneGPU")),
                            "kubelet picks these GPUs, so fgpu only counts units; leave the key out");
    }
}

/* Of its own row, so that it is told whatever else is wrong in the mapping. */
static void check_milli(struct decode *c, const struct yaml_doc_node *n, int32_t milli)
{
    if (milli > DEVICE_MILLI && milli % DEVICE_MILLI != 0) {
        config_decode_error(c, n, "%d milli is neither a share of one GPU (1..1000) nor a multiple of 1000", milli);
    }
}

void schema_check_size_milli(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    check_milli(c, n, ((const struct named_size *)base)->milli);
}

void schema_check_variant_milli(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    check_milli(c, n, ((const struct size_variant *)base)->milli);
}

/* The combinations that a pod may write itself. */
static void check_amounts(struct decode *c, const struct yaml_doc_node *n, int32_t milli, int64_t mem_mib,
                          int32_t count)
{
    if (milli == 0 && mem_mib == 0 && count == 0) {
        config_decode_error(c, n, "an empty size; give milli, memory or count");
    } else if (milli > DEVICE_MILLI && (mem_mib != 0 || count != 0)) {
        config_decode_error(c, yaml_doc_find(n, STR("milli")),
                            "more than 1000 milli means whole GPUs and goes with neither memory nor count");
    }
}

void schema_check_variant(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct size_variant *v = base;

    check_amounts(c, n, v->milli, v->mem_mib, v->count);
}

/* A variant whose namespaces earlier ones name, every one of them, holds for nobody. */
static void check_variants(struct decode *c, const struct yaml_doc_node *list, const struct named_size *s)
{
    const struct yaml_doc_node *item = list->first;

    for (size_t i = 0; i < s->variant_n; i++, item = item->next) {
        bool used = false;

        for (size_t k = 0; k < s->variants[i].namespace_n && !used; k++) {
            bool before = false;

            for (size_t j = 0; j < i && !before; j++) {
                before = policy_names_namespace(s->variants[j].namespaces, s->variants[j].namespace_n,
                                                s->variants[i].namespaces[k]);
            }
            used = !before;
        }
        if (!used) {
            config_decode_error(c, item, "never used: elements before it apply to all of its namespaces");
        }
    }
}

void schema_check_size(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct named_size *s = base;

    check_amounts(c, n, s->milli, s->mem_mib, s->count);
    if (s->variant_n > 0) {
        check_variants(c, yaml_doc_find(n, STR("variants")), s);
    }
}

/* Every namespace of tenant `i` that an earlier place has letter by letter. */
static void check_namespaces(struct decode *c, const struct policy *p, size_t i, const struct yaml_doc_node *list)
{
    const struct yaml_doc_node *at = list->first;

    for (size_t k = 0; k < p->tenants[i].namespace_n; k++, at = at->next) {
        struct str name = p->tenants[i].namespaces[k];
        bool found = false;

        for (size_t j = 0; j <= i && !found; j++) {
            const struct tenant *t = &p->tenants[j];

            for (size_t m = 0; m < (j < i ? t->namespace_n : k) && !found; m++) {
                found = str_eq(name, t->namespaces[m]);
                if (found) {
                    config_decode_error(c, at, "%.*s belongs to tenant %.*s already", STR_ARG(name), STR_ARG(t->name));
                }
            }
        }
    }
}

void schema_check_template(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct node_template *t = base;
    bool counts = yaml_doc_find(n, STR("gpus")) != NULL, believes = t->allocatable == ALLOCATABLE_WHOLE_GPUS;

    if (counts == believes) {
        config_decode_error(c, n,
                            counts ? "both gpus and allocatable: whole-gpus; give one of them"
                                   : "how many GPUs? give gpus, or allocatable: whole-gpus");
    }
}

static bool same_label(const void *before, const void *item)
{
    const struct node_template *a = before, *b = item;

    return str_eq(a->label, b->label) && str_eq(a->value, b->value);
}
const struct schema_clash schema_clash_templates = {same_label, .same = "label"};

void schema_check_rule(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct packing_rule *r = base;

    if (r->node_strategy.n == 0 && r->device_strategy.n == 0) {
        config_decode_error(c, n, "changes nothing; give nodeStrategy or deviceStrategy");
    }
}

/* Does the rule hold for every pod and node for which `other` holds, as far as their texts tell? */
static bool rule_covers(const void *before, const void *item)
{
    const struct packing_rule *rule = before, *other = item;

    for (size_t i = 0; rule->namespace_n > 0 && i < other->namespace_n; i++) {
        if (!policy_names_namespace(rule->namespaces, rule->namespace_n, other->namespaces[i])) {
            return false;
        }
    }
    return (rule->namespace_n == 0 || other->namespace_n > 0) && kv_has_all(other->pod_selector, rule->pod_selector) &&
           kv_has_all(other->node_selector, rule->node_selector);
}

const struct schema_clash schema_clash_rules = {rule_covers, .never = "applies wherever this one would"};

/* Only remembered: whether records are signed may stand further below. */
void schema_check_hand_off(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    (void)base;
    if (c->agent_at == NULL && n->type == YAML_DOC_TEXT && str_eq_cstr(n->text, hand_off_name(HAND_OFF_AGENT))) {
        c->agent_at = n;
    }
}

void schema_check_override(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct device_settings *s = &((const struct device_override *)base)->settings;

    if (s->mem_reserve_mib < 0 && s->max_sharers < 0 && s->overcommit_milli < 0 && s->overcommit_mem_milli < 0 &&
        s->memory_only == MEMORY_ONLY__MAX && s->qos == QOS__MAX && s->lending == LEND__MAX &&
        s->hand_off == HAND_OFF__MAX) {
        config_decode_error(c, n,
                            "changes nothing; give memoryReserve, maxSharers, memoryOnly, qos, lendIdleCompute, "
                            "handOff or overcommit");
    }
}

/* With labels that an earlier element asks for already, all of them, no node is left for this one. */
static bool override_covers(const void *before, const void *item)
{
    const struct device_override *a = before, *b = item;

    return kv_has_all(b->node_selector, a->node_selector);
}
const struct schema_clash schema_clash_overrides = {override_covers, .never = "selects all of these nodes"};

void schema_check_tenant(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct tenant *t = base;

    if (t->gpu_permille != TENANT_UNLIMITED && t->milli != TENANT_UNLIMITED) {
        config_decode_error(c, yaml_doc_find(n, STR("milli")),
                            "both gpuShare and milli limit compute; keep one of them");
    }
}

/* Who comes second with the very same name would never be looked at. */
static bool same_name(const void *before, const void *item)
{
    _Static_assert(offsetof(struct tenant, name) == 0 && offsetof(struct config_window, name) == 0 &&
                       offsetof(struct change_over_group, name) == 0,
                   "names come first");

    return str_eq(*(const struct str *)before, *(const struct str *)item);
}
const struct schema_clash schema_clash_names = {same_name, .same = "name", .at = "name"};

/* The same is true of a namespace. */
void schema_check_tenants(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct policy *p = &((const struct config *)base)->policy;
    const struct yaml_doc_node *item = n->first;

    for (size_t i = 0; i < p->tenant_n; i++, item = item->next) {
        check_namespaces(c, p, i, yaml_doc_find(item, STR("namespaces")));
    }
}

static const struct yaml_doc_node *find_text(const struct yaml_doc_node *n, struct str text)
{
    const struct yaml_doc_node *found = NULL;

    if (n->type == YAML_DOC_TEXT) {
        return str_eq(n->text, text) ? n : NULL;
    }
    for (const struct yaml_doc_node *child = n->first; child != NULL; child = child->next) {
        const struct yaml_doc_node *inner = find_text(child, text);
        found = inner != NULL ? inner : found; /* the last one is the duplicate */
    }
    return found;
}

static bool is_plugin_name(const struct policy *p, struct str name)
{
    for (size_t i = 0; i < p->whole_resource_n; i++) {
        if (str_eq(p->whole_resources[i], name)) {
            return true;
        }
    }
    for (size_t i = 0; i < p->compute_resource_n; i++) {
        if (str_eq(p->compute_resources[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* What nobody publishes as a GPU, and what is said twice, has no effect. */
static void check_plugins(struct decode *c, const struct yaml_doc_node *n, const struct policy *p)
{
    const struct yaml_doc_node *list = yaml_doc_find(n, STR("plugins"));

    for (size_t i = 0; i < p->plugin_n; i++) {
        const struct str name = p->plugins[i].name;
        const struct yaml_doc_node *at = list == NULL ? NULL : find_text(list, name);
        bool twice = false;

        for (size_t k = 0; k < i; k++) {
            twice = twice || str_eq(p->plugins[k].name, name);
        }
        if (twice) {
            config_decode_error(c, at != NULL ? at : n, "%.*s is in plugins twice", STR_ARG(name));
        } else if (name.n > 0 && !is_plugin_name(p, name)) {
            config_decode_error(c, at != NULL ? at : n,
                                "%.*s is in neither whole nor compute, so nothing is counted by it", STR_ARG(name));
        }
    }
}

/* A name means one thing: the same resource twice would be charged twice. */
void schema_check_resources(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct policy *p = &((const struct config *)base)->policy;
    const struct {
        const char *name;
        const void *first;
        size_t n, item_size;
    } lists[] = {
        {"compute", p->compute_resources, p->compute_resource_n, sizeof(p->compute_resources[0])},
        {"memory", p->memory_resources, p->memory_resource_n, sizeof(struct str)},
        {"count", p->count_resources, p->count_resource_n, sizeof(struct str)},
        {"whole", p->whole_resources, p->whole_resource_n, sizeof(struct str)},
    };
    struct {
        struct str name;
        const char *list;
    } all[ARRAY_LEN(lists) * SCHEMA_RESOURCES_MAX];
    size_t all_n = 0;

    _Static_assert(offsetof(struct compute_resource, name) == 0, "each element begins with its name");
    check_plugins(c, n, p);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (size_t k = 0; k < lists[i].n; k++, all_n++) {
            memcpy(&all[all_n].name, (const char *)lists[i].first + k * lists[i].item_size, sizeof(struct str));
            all[all_n].list = lists[i].name;
        }
    }
    for (size_t i = 0; i < all_n; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct yaml_doc_node *at = find_text(n, all[i].name);
            if (str_eq(all[i].name, all[j].name)) {
                bool by_default =
                    yaml_doc_find(n, str_of(all[j].list)) == NULL || yaml_doc_find(n, str_of(all[i].list)) == NULL;
                config_decode_error(c, at != NULL ? at : n, "%.*s is in two lists, %s and %s%s", STR_ARG(all[i].name),
                                    all[j].list, all[i].list, by_default ? " (one of them by default)" : "");
                break;
            }
        }
    }
}

void schema_check_serving(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct config_serving *s = &((const struct config *)base)->serving;
    const struct address *all[] = {&s->verbs, &s->ops, &s->health, &s->metrics};
    static const char *const names[] = {"verbsAddress", "opsAddress", "healthAddress", "metricsAddress"};
    const char *key;
    const char *why = config_serving_problem(s, &key);

    if (why != NULL) {
        struct str rest = str_of(key), part;
        const struct yaml_doc_node *at = n, *next = n;
        while (next != NULL && str_split(&rest, '.', &part)) {
            at = next;
            next = yaml_doc_find(next, part);
        }
        config_decode_error(c, next != NULL ? next : at, "%s: %s", key, why);
    }

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        for (size_t j = 0; j < i; j++) {
            if (all[i]->port != 0 && all[i]->port == all[j]->port) {
                const struct yaml_doc_node *at = yaml_doc_find(n, str_of(names[i]));
                config_decode_error(c, at != NULL ? at : n, "%s and %s have the same port %u", names[j], names[i],
                                    all[i]->port);
            }
        }
    }
}

void schema_check_client(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    enum { PREFIX_N_MAX = 63 }; /* the names of nodes follow */
    struct str name = ((const struct config *)base)->client.intent_objects, namespace_ = STR_NULL;
    const struct yaml_doc_node *at = yaml_doc_find(n, STR("intentObjects"));

    (void)str_split(&name, '/', &namespace_);
    if (name.n == 0 || name.n > PREFIX_N_MAX) {
        config_decode_error(c, at != NULL ? at : n,
                            "intentObjects must be NAMESPACE/PREFIX, with a prefix of at most %d characters",
                            PREFIX_N_MAX);
    }
}

/* As client-go demands it. */
void schema_check_lease(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct config_lease *l = &((const struct config *)base)->lease;
    const struct yaml_doc_node *at;

    if (l->duration_ms % 1000 != 0) {
        at = yaml_doc_find(n, STR("leaseDuration"));
        config_decode_error(c, at != NULL ? at : n, "leaseDuration must be whole seconds, because a Lease says it so");
    }
    if (l->duration_ms <= l->renew_deadline_ms) {
        at = yaml_doc_find(n, STR("renewDeadline"));
        config_decode_error(c, at != NULL ? at : n, "renewDeadline must be less than leaseDuration");
    }
    if ((int64_t)l->renew_deadline_ms * 10 <= (int64_t)l->retry_ms * 12) {
        at = yaml_doc_find(n, STR("retryPeriod"));
        config_decode_error(c, at != NULL ? at : n, "renewDeadline must be more than 1.2 times retryPeriod");
    }
    if (l->object.n == 0) {
        at = yaml_doc_find(n, STR("object"));
        config_decode_error(c, at != NULL ? at : n, "object must name a Lease, as NAMESPACE/NAME");
    }
}

void schema_check_election(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct yaml_doc_node *at = yaml_doc_find(n, STR("election"));
    const char *why = config_election_problem(base);

    if (why != NULL) {
        config_decode_error(c, at != NULL ? at : n, "%s", why);
    }
}

void schema_check_limits(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct config_limits *l = &((const struct config *)base)->limits;
    const struct yaml_doc_node *at = yaml_doc_find(n, STR("bytesInFlight"));

    if (l->bytes_in_flight < l->body_bytes) {
        config_decode_error(c, at != NULL ? at : n, "bytesInFlight must hold at least one body of bodyBytes");
    }
}

void schema_check_command(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct node_pool *p = base;

    if (p->command_n > 0 && p->command[0].n == 0) {
        config_decode_error(c, n, "the command has no program");
    }
}

void schema_check_pool(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct node_pool *p = base;

    if (p->command_n > 0 && p->name.n == 0) {
        config_decode_error(c, yaml_doc_find(n, STR("command")), "a command needs the 'name' of the pool beside it");
    }
}

void schema_check_window(struct decode *c, const struct yaml_doc_node *n, const void *base)
{
    const struct config_window *w = base;
    const struct yaml_doc_node *days = yaml_doc_find(n, STR("days"));

    if (days != NULL && w->day_n == 0) {
        config_decode_error(c, days, "no days; leave the key out for every day");
    }
}
