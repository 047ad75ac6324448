/* Which nodes a pod wants, and whom it keeps off: nodeSelector and affinity. As odd values are treated in
 * objects_constraints.c. */
#include "objects_internal.h"

/* A pod with more is not planned. The API server has no bounds but that of the object. */
enum { SELECTORS_MAX = 64, TERMS_MAX = 32, REQUIREMENTS_MAX = 64, VALUES_MAX = 1024 };

static bool read_text(struct json_reader *r, struct pod *p, struct str *ret)
{
    if (json_peek(r) != JSON_STRING) {
        kube_skip_odd(r, p);
        return false;
    }
    return json_string(r, ret);
}

/* ---- what selects nodes ---- */

bool kube_decode_node_selector(struct json_reader *r, void *at)
{
    struct pod *p = at;
    struct kv *items = NULL;
    size_t n = 0, cap = 0;
    struct str key;

    if (!kube_comes(r, p, JSON_OBJECT)) {
        return !json_failed(r);
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        struct str value;

        if (n == SELECTORS_MAX) {
            kube_skip_odd(r, p);
        } else if (read_text(r, p, &value)) {
            struct kv *more = kube_grow(r, items, n, &cap, sizeof(*items));

            if (more == NULL) {
                return false;
            }
            items = more;
            items[n++] = (struct kv){key, value};
        }
    }
    p->node_selector = (struct kv_list){items, n};
    return !json_failed(r);
}

/* While a node affinity is read. */
struct affinity {
    struct pod *pod;
    size_t requirement_n, value_n; /* of all terms */
};

static const struct kube_word requirement_operators[] = {
    {STR("In"), REQUIREMENT_IN},         {STR("NotIn"), REQUIREMENT_NOT_IN},
    {STR("Exists"), REQUIREMENT_EXISTS}, {STR("DoesNotExist"), REQUIREMENT_DOES_NOT_EXIST},
    {STR("Gt"), REQUIREMENT_GREATER},    {STR("Lt"), REQUIREMENT_LESS},
    {STR_NULL, REQUIREMENT_UNKNOWN},
};

static void read_values(struct json_reader *r, struct affinity *a, struct node_requirement *q)
{
    size_t cap = 0;
    struct str *values = NULL, value;

    if (!kube_comes(r, a->pod, JSON_ARRAY)) {
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        if (a->value_n == VALUES_MAX) {
            kube_skip_odd(r, a->pod);
        } else if (read_text(r, a->pod, &value)) {
            struct str *more = kube_grow(r, values, q->value_n, &cap, sizeof(*values));

            if (more == NULL) {
                return;
            }
            more[q->value_n++] = value;
            q->values = values = more;
            a->value_n++;
        }
    }
}

static void read_requirement(struct json_reader *r, struct affinity *a, struct node_requirement *q)
{
    struct str key, word;

    *q = (struct node_requirement){.operator_ = REQUIREMENT_UNKNOWN};
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("key"))) {
            read_text(r, a->pod, &q->key);
        } else if (str_eq(key, STR("operator"))) {
            if (read_text(r, a->pod, &word)) {
                q->operator_ = (enum requirement_operator)kube_word_value(requirement_operators, word);
            }
        } else if (str_eq(key, STR("values"))) {
            read_values(r, a, q);
        } else {
            json_skip(r);
        }
    }
}

static void read_requirements(struct json_reader *r, struct affinity *a, const struct node_requirement **ret,
                              size_t *ret_n)
{
    struct node_requirement *items = NULL;
    size_t n = 0, cap = 0;

    if (!kube_comes(r, a->pod, JSON_ARRAY)) {
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        struct node_requirement *more;

        if (json_peek(r) != JSON_OBJECT || a->requirement_n == REQUIREMENTS_MAX) {
            kube_skip_odd(r, a->pod);
            continue;
        }
        more = kube_grow(r, items, n, &cap, sizeof(*items));
        if (more == NULL) {
            return;
        }
        items = more;
        a->requirement_n++;
        read_requirement(r, a, &items[n++]);
    }
    *ret = items;
    *ret_n = n;
}

static void read_term(struct json_reader *r, struct affinity *a, struct node_term *t)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("matchExpressions"))) {
            read_requirements(r, a, &t->expressions, &t->expression_n);
        } else if (str_eq(key, STR("matchFields"))) {
            read_requirements(r, a, &t->fields, &t->field_n);
        } else {
            kube_skip_odd(r, a->pod); /* one day a term may say more */
        }
    }
}

static void read_terms(struct json_reader *r, struct affinity *a)
{
    struct node_term *terms = NULL;
    size_t n = 0, cap = 0;

    if (!kube_comes(r, a->pod, JSON_ARRAY)) {
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        struct node_term *more;

        if (json_peek(r) != JSON_OBJECT || n == TERMS_MAX) {
            kube_skip_odd(r, a->pod);
            continue;
        }
        more = kube_grow(r, terms, n, &cap, sizeof(*terms));
        if (more == NULL) {
            return;
        }
        terms = more;
        read_term(r, a, &terms[n++]);
    }
    a->pod->node_terms = terms;
    a->pod->node_term_n = n;
}

static void read_required(struct json_reader *r, struct affinity *a)
{
    struct str key;

    if (!kube_comes(r, a->pod, JSON_OBJECT)) {
        return;
    }
    a->pod->requires_nodes = true;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("nodeSelectorTerms"))) {
            read_terms(r, a);
        } else {
            kube_skip_odd(r, a->pod);
        }
    }
}

/* Preferences are for kube-scheduler's scores; where it asks about one node only they say nothing. */
static void read_node_affinity(struct json_reader *r, struct affinity *a)
{
    struct str key;

    if (!kube_comes(r, a->pod, JSON_OBJECT)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("requiredDuringSchedulingIgnoredDuringExecution"))) {
            read_required(r, a);
        } else if (str_eq(key, STR("preferredDuringSchedulingIgnoredDuringExecution"))) {
            json_skip(r);
        } else {
            kube_skip_odd(r, a->pod);
        }
    }
}

/* ---- affinity to other pods ---- */

/* One term of a required anti-affinity: whom does it keep off? */
static void read_keeper(struct json_reader *r, struct pod *p)
{
    struct str key;

    p->scheduler_only |= POD_KEEPS_OTHERS_OFF;
    if (json_peek(r) != JSON_OBJECT) {
        p->scheduler_only |= POD_KEEPS_ALL_OFF;
        json_skip(r);
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("namespaces")) || str_eq(key, STR("namespaceSelector"))) {
            p->scheduler_only |= json_peek(r) != JSON_NULL ? POD_KEEPS_ALL_OFF : 0;
        }
        json_skip(r);
    }
}

static void read_pod_affinity(struct json_reader *r, struct pod *p, bool anti)
{
    struct str key;

    if (!kube_comes(r, p, JSON_OBJECT)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (!anti || !str_eq(key, STR("requiredDuringSchedulingIgnoredDuringExecution")) ||
            json_peek(r) != JSON_ARRAY) {
            kube_note_list(r, p, POD_POD_AFFINITY);
            continue;
        }
        json_array_begin(r);
        while (json_array_next(r)) {
            p->scheduler_only |= POD_POD_AFFINITY;
            read_keeper(r, p);
        }
    }
}

static const struct kube_field requirement_fields[] = {{STR("key"), kube_decode_raw, 0},
                                                       {STR("operator"), kube_decode_raw, 0},
                                                       {STR("values"), kube_decode_raw, 0},
                                                       {STR_NULL}};
static const struct kube_field term_fields[] = {{STR("matchExpressions"), .inner = requirement_fields},
                                                {STR("matchFields"), .inner = requirement_fields},
                                                {STR_NULL}};
static const struct kube_field terms_fields[] = {{STR("nodeSelectorTerms"), .inner = term_fields}, {STR_NULL}};
static const struct kube_field node_affinity_fields[] = {
    {STR("requiredDuringSchedulingIgnoredDuringExecution"), .inner = terms_fields}, {STR_NULL}};
static const struct kube_field keeper_fields[] = {{STR("namespaces"), .inner = kube_nothing_fields},
                                                  {STR("namespaceSelector"), .inner = kube_nothing_fields},
                                                  {STR_NULL}};
static const struct kube_field pod_affinity_fields[] = {
    {STR("requiredDuringSchedulingIgnoredDuringExecution"), .inner = keeper_fields},
    {STR("preferredDuringSchedulingIgnoredDuringExecution"), .inner = kube_nothing_fields},
    {STR_NULL},
};
const struct kube_field kube_affinity_fields[] = {
    {STR("nodeAffinity"), .inner = node_affinity_fields},
    {STR("podAffinity"), .inner = pod_affinity_fields},
    {STR("podAntiAffinity"), .inner = pod_affinity_fields},
    {STR_NULL},
};

bool kube_decode_affinity(struct json_reader *r, void *at)
{
    struct affinity a = {.pod = at};
    struct str key;

    if (!kube_comes(r, a.pod, JSON_OBJECT)) {
        return !json_failed(r);
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("nodeAffinity"))) {
            read_node_affinity(r, &a);
        } else if (str_eq(key, STR("podAffinity"))) {
            read_pod_affinity(r, a.pod, false);
        } else if (str_eq(key, STR("podAntiAffinity"))) {
            read_pod_affinity(r, a.pod, true);
        } else {
            kube_skip_odd(r, a.pod);
        }
    }
    return !json_failed(r);
}
