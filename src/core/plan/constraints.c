/* Which nodes a pod may go to, as kube-scheduler's NodeAffinity says. The rules are upstream's:
 * component-helpers/scheduling/corev1/nodeaffinity and apimachinery/pkg/labels; a requirement that upstream refuses
 * makes its whole term match nothing. */
#include "core/plan/constraints.h"

#include "base/hash.h"
#include "core/plan/node_facts.h"
#include "core/request/toleration.h"
#include "model/names.h"

/* ---- copies ---- */

static const struct node_requirement *keep_requirements(struct block *b, const struct node_requirement *from, size_t n)
{
    struct node_requirement *to = block_keep(b, from, n * sizeof(*to));

    for (size_t i = 0; i < n; i++) {
        struct str *values = block_keep(b, from[i].values, from[i].value_n * sizeof(*values));
        struct str key = block_text(b, from[i].key);

        for (size_t k = 0; k < from[i].value_n; k++) {
            struct str value = block_text(b, from[i].values[k]);

            if (values != NULL) {
                values[k] = value;
            }
        }
        if (to != NULL) {
            to[i].key = key;
            to[i].values = values;
        }
    }
    return to;
}

void constraints_keep(struct block *b, struct waiting_pod *w, const struct pod *pod)
{
    struct node_term *terms = block_keep(b, pod->node_terms, pod->node_term_n * sizeof(*terms));

    for (size_t i = 0; i < pod->node_term_n; i++) {
        const struct node_term *from = &pod->node_terms[i];
        const struct node_requirement *expressions = keep_requirements(b, from->expressions, from->expression_n);
        const struct node_requirement *fields = keep_requirements(b, from->fields, from->field_n);

        if (terms != NULL) {
            terms[i].expressions = expressions;
            terms[i].fields = fields;
        }
    }
    w->node_terms = terms;
    w->node_term_n = pod->node_term_n;
    w->requires_nodes = pod->requires_nodes;
    w->node_selector = block_pairs(b, pod->node_selector);
}

/* ---- comparing ---- */

static const struct hash_key key = {0x6e6f646573, 0x77616e74}; /* who is found equal is compared */

static uint64_t fold(uint64_t h, uint64_t v)
{
    return hash_fold(h ^ v, UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t fold_text(uint64_t h, struct str s)
{
    return fold(h, s.n > 0 ? hash_str(key, s) : 1);
}

static uint64_t fold_requirements(uint64_t h, const struct node_requirement *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = fold_text(fold(h, q[i].operator_ + q[i].value_n), q[i].key);
        for (size_t k = 0; k < q[i].value_n; k++) {
            h = fold_text(h, q[i].values[k]);
        }
    }
    return fold(h, n);
}

uint64_t constraints_hash(const struct waiting_pod *p)
{
    uint64_t h = 1 + p->requires_nodes;

    for (size_t i = 0; i < p->node_selector.n; i++) {
        h = fold_text(fold_text(h, p->node_selector.items[i].key), p->node_selector.items[i].value);
    }
    for (size_t i = 0; i < p->node_term_n; i++) {
        h = fold_requirements(h, p->node_terms[i].expressions, p->node_terms[i].expression_n);
        h = fold_requirements(h, p->node_terms[i].fields, p->node_terms[i].field_n);
    }
    for (size_t i = 0; i < p->toleration_n; i++) {
        const struct toleration *t = &p->tolerations[i];

        h = fold_text(fold_text(fold(h, (uint64_t)t->operator_ << 8 | t->effect), t->key), t->value);
    }
    return h;
}

static bool pairs_equal(struct kv_list a, struct kv_list b)
{
    bool equal = a.n == b.n;

    for (size_t i = 0; equal && i < a.n; i++) {
        equal = str_eq(a.items[i].key, b.items[i].key) && str_eq(a.items[i].value, b.items[i].value);
    }
    return equal;
}

static bool requirements_equal(const struct node_requirement *a, size_t a_n, const struct node_requirement *b,
                               size_t b_n)
{
    bool equal = a_n == b_n;

    for (size_t i = 0; equal && i < a_n; i++) {
        equal = a[i].operator_ == b[i].operator_ && a[i].value_n == b[i].value_n && str_eq(a[i].key, b[i].key);
        for (size_t k = 0; equal && k < a[i].value_n; k++) {
            equal = str_eq(a[i].values[k], b[i].values[k]);
        }
    }
    return equal;
}

bool constraints_equal(const struct waiting_pod *a, const struct waiting_pod *b)
{
    bool equal = a->constraints == b->constraints && a->requires_nodes == b->requires_nodes &&
                 a->node_term_n == b->node_term_n && pairs_equal(a->node_selector, b->node_selector) &&
                 tolerations_equal(a->tolerations, a->toleration_n, b->tolerations, b->toleration_n);

    for (size_t i = 0; equal && i < a->node_term_n; i++) {
        const struct node_term *x = &a->node_terms[i], *y = &b->node_terms[i];

        equal = requirements_equal(x->expressions, x->expression_n, y->expressions, y->expression_n) &&
                requirements_equal(x->fields, x->field_n, y->fields, y->field_n);
    }
    return equal;
}

/* ---- labels ---- */

/* As strconv.ParseInt(s, 10, 64): a sign, then digits, zeros in front too. */
static bool read_int(struct str s, int64_t *ret)
{
    bool negative = str_starts(s, STR("-"));
    struct str digits = str_drop(s, negative || str_starts(s, STR("+")));
    uint64_t magnitude;

    if (!str_to_u64(digits, (uint64_t)INT64_MAX + negative, &magnitude)) {
        return false;
    }
    *ret = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

/* Sorted by node_facts_put(). NULL: the node has no such label. */
static const struct str *label_of(const struct node_facts *n, struct str wanted)
{
    size_t low = 0, high = n->labels.n;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        int order = label_key_order(n->labels.items[at].key, wanted);

        if (order == 0) {
            return &n->labels.items[at].value;
        }
        low = order < 0 ? at + 1 : low;
        high = order < 0 ? high : at;
    }
    return NULL;
}

static bool has_value(const struct node_requirement *q, struct str value)
{
    size_t i = 0;

    while (i < q->value_n && !str_eq(q->values[i], value)) {
        i++;
    }
    return i < q->value_n;
}

/* labels.NewRequirement */
static bool is_valid(const struct node_requirement *q)
{
    int64_t number;

    if (!kube_name_is_label_key(q->key)) {
        return false;
    }
    for (size_t i = 0; i < q->value_n; i++) {
        if (q->values[i].n > 0 && !kube_name_is_qualified(q->values[i])) {
            return false;
        }
    }
    switch (q->operator_) {
    case REQUIREMENT_IN:
    case REQUIREMENT_NOT_IN:
        return q->value_n > 0;
    case REQUIREMENT_EXISTS:
    case REQUIREMENT_DOES_NOT_EXIST:
        return q->value_n == 0;
    case REQUIREMENT_GREATER:
    case REQUIREMENT_LESS:
        return q->value_n == 1 && read_int(q->values[0], &number);
    case REQUIREMENT_UNKNOWN:
        break;
    }
    return false;
}

static bool compares(const struct node_requirement *q, struct str label)
{
    int64_t value, limit;

    return read_int(label, &value) && read_int(q->values[0], &limit) &&
           (q->operator_ == REQUIREMENT_GREATER ? value > limit : value < limit);
}

static bool label_meets(const struct node_requirement *q, const struct node_facts *n)
{
    const struct str *label = label_of(n, q->key);

    switch (q->operator_) {
    case REQUIREMENT_IN:
        return label != NULL && has_value(q, *label);
    case REQUIREMENT_NOT_IN:
        return label == NULL || !has_value(q, *label);
    case REQUIREMENT_EXISTS:
        return label != NULL;
    case REQUIREMENT_DOES_NOT_EXIST:
        return label == NULL;
    case REQUIREMENT_GREATER:
    case REQUIREMENT_LESS:
        return label != NULL && compares(q, *label);
    case REQUIREMENT_UNKNOWN:
        break;
    }
    return false;
}

/* Of fields a node has its name alone; any other is as one that is empty. */
static bool field_meets(const struct node_requirement *q, const struct node_facts *n)
{
    struct str field = str_eq_cstr(q->key, "metadata.name") ? n->name : STR_NULL;

    return str_eq(q->values[0], field) == (q->operator_ == REQUIREMENT_IN);
}

static bool is_valid_field(const struct node_requirement *q)
{
    return q->value_n == 1 && (q->operator_ == REQUIREMENT_IN || q->operator_ == REQUIREMENT_NOT_IN);
}

/* ---- nodes ---- */

static bool term_holds(const struct node_term *t, const struct node_facts *n)
{
    bool holds = t->expression_n + t->field_n > 0;

    for (size_t i = 0; holds && i < t->expression_n; i++) {
        holds = is_valid(&t->expressions[i]) && label_meets(&t->expressions[i], n);
    }
    for (size_t i = 0; holds && i < t->field_n; i++) {
        holds = is_valid_field(&t->fields[i]) && field_meets(&t->fields[i], n);
    }
    return holds;
}

static bool selects(const struct waiting_pod *p, const struct node_facts *n)
{
    for (size_t i = 0; i < p->node_selector.n; i++) {
        const struct str *label = label_of(n, p->node_selector.items[i].key);

        if (label == NULL || !str_eq(*label, p->node_selector.items[i].value)) {
            return false;
        }
    }
    for (size_t i = 0; i < p->node_term_n; i++) {
        if (term_holds(&p->node_terms[i], n)) {
            return true;
        }
    }
    return !p->requires_nodes;
}

bool node_takes(const struct waiting_pod *p, const struct node_facts *n)
{
    return selects(p, n) && toleration_admits(p->tolerations, p->toleration_n, n->taints, n->taint_n);
}

bool host_room(const struct node_facts *n, const struct host_state *h, uint32_t pod_n, struct host_request asked)
{
    return h->cpu_cap_milli > 0 && h->mem_cap_mib > 0 && (int64_t)pod_n < n->pods_max &&
           (asked.cpu_milli == 0 || asked.cpu_milli <= h->cpu_free_milli) &&
           (asked.mem_mib == 0 || asked.mem_mib <= h->mem_free_mib);
}
