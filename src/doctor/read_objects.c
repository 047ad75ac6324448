/* From objects of the API server. */
#include "base/json_members.h"
#include "core/dialects/dialect.h"
#include "core/record/assignment.h"
#include "doctor/facts.h"
#include "model/hand_off.h"
#include "node/doors.h"

#include <stdlib.h>

#define SCRATCH_BYTES_MAX ((size_t)8 << 20) /* for one pod */

static const struct policy *policy_of(const struct doctor_facts *f)
{
    return f->config != NULL ? &f->config->policy : policy_defaults();
}

/* Name by which the DaemonSet of manifests/node labels its pods. */
#define AGENT_LABEL "app.kubernetes.io/name"
#define AGENT_NAME "fgpu-node"
#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define GPUS_KEY "fgpu.io/gpus"

/* ---- nodes ---- */

struct note_reader {
    struct json_reader r;
    struct doctor_object *o;
};

static void read_door(struct json_reader *r, void *to)
{
    struct doctor_object *o = to;
    struct str name;

    if (json_string(r, &name)) {
        for (int d = 0; d < DOOR__MAX; d++) {
            if (str_eq_cstr(name, door_name((enum door)d))) {
                o->doors |= 1U << d;
            }
        }
    }
}

static void read_doors(struct json_reader *r, void *to)
{
    struct doctor_object *o = to;

    o->told_doors = true;
    json_array_begin(r);
    while (json_array_next(r)) {
        read_door(r, o);
    }
}

/* What cannot be read is the extender's to say, in the note of the node. */
static bool read_annotation(struct doctor_facts *f, struct str text, struct doctor_object *o)
{
    struct note_reader *n = calloc(1, sizeof(*n));
    struct str by = STR_NULL;
    struct err err;

    if (n == NULL) {
        return false;
    }
    json_reader_init(&n->r, text, f->arena);
    json_members(&n->r, JSON_MEMBERS({"by", .text = &by}, {"doors", .read = read_doors, .to = o}));
    if (json_read_end(&n->r, &err) == 0) {
        o->by_agent = str_eq(by, STR(FGPU_NODE_WRITER));
    } else {
        o->told_doors = false;
    }
    free(n);
    return true;
}

static bool is_zero(struct str quantity)
{
    return str_eq(quantity, STR("0"));
}

/* What says that there are GPUs: labels of GPU and node feature discovery, or a name that we know. */
static struct str sign_of_gpus(const struct doctor_facts *f, const struct node *node)
{
    static const char *const labels[] = {"nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present",
                                         "feature.node.kubernetes.io/pci-0302_10de.present",
                                         "feature.node.kubernetes.io/pci-0300_10de.present"};

    if (kv_find(node->annotations, STR(GPUS_KEY)) != NULL) {
        return STR("annotation " GPUS_KEY);
    }
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const struct str *value = kv_find(node->labels, str_of(labels[i]));

        if (value != NULL && str_eq(*value, STR("true"))) {
            return arena_printf(f->arena, "label %s", labels[i]);
        }
    }
    for (size_t i = 0; i < node->allocatable.n; i++) {
        const struct kv *kv = &node->allocatable.items[i];

        if (dialect_owns_resource(policy_of(f), kv->key) && !is_zero(kv->value)) {
            return arena_printf(f->arena, "%.*s in allocatable", STR_ARG(kv->key));
        }
    }
    return STR_NULL;
}

bool doctor_add_node(struct doctor_facts *f, const struct node *node)
{
    struct doctor_object *o = ARENA_NEW(f->arena, struct doctor_object);
    const struct str *annotation = kv_find(node->annotations, STR(GPUS_KEY)), *names = NULL;
    size_t name_n;

    if (o == NULL || (annotation != NULL && !read_annotation(f, *annotation, o))) {
        return false;
    }
    o->name = arena_str(f->arena, node->name);
    o->sign = sign_of_gpus(f, node);
    o->has_gpus = o->sign.n > 0;
    name_n = f->config != NULL ? doctor_names_of(f->config, f->arena, &names) : 0;
    for (size_t i = 0; i < name_n; i++) {
        const struct str *value = kv_find(node->allocatable, names[i]);

        if (value != NULL && !is_zero(*value)) {
            o->advertises |= UINT64_C(1) << i;
        }
    }
    o->next = f->objects;
    f->objects = o;
    return !f->arena->overflowed;
}

/* ---- pods ---- */

static void read_record(struct doctor_facts *f, const struct pod *pod, struct arena *scratch, struct doctor_pod *p)
{
    const struct str *record = kv_find(pod->annotations, STR(ASSIGNMENT_KEY));
    struct assignment as;
    struct err err;

    p->has_record = record != NULL;
    if (record != NULL && assignment_parse(*record, scratch, &as, &err) == 0) {
        p->record_key = arena_str(f->arena, as.sig_key);
    }
}

static bool label_is(const struct pod *pod, struct str key, struct str value)
{
    const struct str *v = kv_find(pod->labels, key);

    return v != NULL && str_eq(*v, value);
}

static bool add_pod(struct doctor_facts *f, const struct pod *pod, struct arena *scratch)
{
    struct doctor_pod found = {.is_agent = label_is(pod, STR(AGENT_LABEL), STR(AGENT_NAME))}, *p;
    struct demand demand;

    if (!dialect_demand(policy_of(f), pod, scratch, &demand)) {
        return false;
    }
    found.asks = !demand_is_empty(&demand);
    found.by_annotation = found.asks && demand.source == DEMAND_FROM_ANNOTATIONS;
    read_record(f, pod, scratch, &found);
    if (!found.asks && !found.has_record && !found.is_agent) {
        return true;
    }
    found.namespace_ = arena_str(f->arena, pod->namespace_);
    found.name = arena_str(f->arena, pod->name);
    found.node = arena_str(f->arena, pod->node_name);
    found.scheduler = arena_str(f->arena, pod->scheduler_name);
    found.is_over = pod_is_terminal(pod);
    found.is_running = pod->phase == POD_RUNNING && !pod->deleting;
    found.is_queued = kv_find(pod->labels, STR(QUEUE_LABEL)) != NULL;
    found.created_ms = pod->created_ms;
    p = ARENA_NEW(f->arena, struct doctor_pod);
    if (p == NULL) {
        return false;
    }
    found.next = f->pods;
    *p = found;
    f->pods = p;
    return !f->arena->overflowed;
}

bool doctor_add_pod(struct doctor_facts *f, const struct pod *pod)
{
    struct arena scratch;
    bool ok;

    arena_init(&scratch, SCRATCH_BYTES_MAX);
    ok = add_pod(f, pod, &scratch);
    arena_fini(&scratch);
    return ok;
}

/* ---- lists ---- */

struct list_reader {
    struct json_reader r;
    struct doctor_facts *f;
};

static int read_list(struct doctor_facts *f, struct str list, void (*element)(struct json_reader *r, void *to),
                     struct err *reterr)
{
    struct list_reader *l = calloc(1, sizeof(*l));
    int rc;

    if (l == NULL) {
        return err_set(reterr, ERR_LIMIT, "out of memory");
    }
    l->f = f;
    json_reader_init(&l->r, list, f->arena);
    l->r.as_stored = true;
    json_members(&l->r, JSON_MEMBERS({"items", .element = element, .to = l}));
    rc = json_read_end(&l->r, reterr);
    free(l);
    return rc;
}

static void read_policy(struct json_reader *r, void *to)
{
    struct doctor_facts *f = ((struct list_reader *)to)->f;
    struct doctor_policy *p = ARENA_NEW(f->arena, struct doctor_policy);

    if (p == NULL) {
        json_fail(r, ERR_LIMIT, "more than there is memory for");
        return;
    }
    json_members(r, JSON_MEMBERS({"metadata", .object = JSON_MEMBERS({"name", .text = &p->name})}));
    p->name = arena_str(f->arena, p->name);
    p->next = f->policies;
    f->policies = p;
}

int doctor_read_policies(struct doctor_facts *f, struct str list, struct err *reterr)
{
    f->has_policy_api = true;
    return read_list(f, list, read_policy, reterr);
}

static void read_action(struct json_reader *r, void *to)
{
    struct str action;

    if (json_string(r, &action) && str_eq(action, STR("Deny"))) {
        *(bool *)to = true;
    }
}

static void read_binding(struct json_reader *r, void *to)
{
    struct doctor_facts *f = ((struct list_reader *)to)->f;
    struct doctor_policy_binding *b = ARENA_NEW(f->arena, struct doctor_policy_binding);

    if (b == NULL) {
        json_fail(r, ERR_LIMIT, "more than there is memory for");
        return;
    }
    json_members(
        r,
        JSON_MEMBERS({"spec", .object = JSON_MEMBERS(
                                  {"policyName", .text = &b->policy},
                                  {"validationActions", .element = read_action, .to = &b->denies},
                                  {"paramRef", .object = JSON_MEMBERS({"name", .text = &b->param_name},
                                                                      {"namespace", .text = &b->param_namespace})})}));
    b->policy = arena_str(f->arena, b->policy);
    b->param_name = arena_str(f->arena, b->param_name);
    b->param_namespace = arena_str(f->arena, b->param_namespace);
    b->next = f->policy_bindings;
    f->policy_bindings = b;
}

int doctor_read_policy_bindings(struct doctor_facts *f, struct str list, struct err *reterr)
{
    return read_list(f, list, read_binding, reterr);
}

static void read_runtime_class(struct json_reader *r, void *to)
{
    struct doctor_facts *f = ((struct list_reader *)to)->f;
    struct doctor_policy *p = ARENA_NEW(f->arena, struct doctor_policy);

    if (p == NULL) {
        json_fail(r, ERR_LIMIT, "more than there is memory for");
        return;
    }
    json_members(r, JSON_MEMBERS({"handler", .text = &p->name}));
    p->name = arena_str(f->arena, p->name);
    p->next = f->runtime_handlers;
    f->runtime_handlers = p;
}

int doctor_read_runtime_classes(struct doctor_facts *f, struct str list, struct err *reterr)
{
    return read_list(f, list, read_runtime_class, reterr);
}

/* ---- quotas ---- */

struct quota_reader {
    struct doctor_facts *f;
    struct str resource;
};

/* "requests.nvidia.com/gpu", "fgpu.io/gpu-milli" */
static void read_hard(struct json_reader *r, void *to)
{
    struct quota_reader *q = to;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        const struct str prefix = STR("requests.");
        const struct str name = str_starts(key, prefix) ? str_drop(key, prefix.n) : key;

        if (q->resource.n == 0 && dialect_owns_resource(policy_of(q->f), name)) {
            q->resource = arena_str(q->f->arena, name);
        }
        json_skip(r);
    }
}

static void read_quota(struct json_reader *r, void *to)
{
    struct doctor_facts *f = ((struct list_reader *)to)->f;
    struct quota_reader q = {.f = f};
    struct str namespace_ = STR_NULL, name = STR_NULL;
    struct doctor_quota *p;

    json_members(r, JSON_MEMBERS({"metadata",
                                  .object = JSON_MEMBERS({"name", .text = &name}, {"namespace", .text = &namespace_})},
                                 {"spec", .object = JSON_MEMBERS({"hard", .read = read_hard, .to = &q})}));
    if (q.resource.n == 0) {
        return;
    }
    p = ARENA_NEW(f->arena, struct doctor_quota);
    if (p == NULL) {
        json_fail(r, ERR_LIMIT, "more than there is memory for");
        return;
    }
    *p = (struct doctor_quota){f->quotas, arena_str(f->arena, namespace_), arena_str(f->arena, name), q.resource};
    f->quotas = p;
}

int doctor_read_quotas(struct doctor_facts *f, struct str list, struct err *reterr)
{
    return read_list(f, list, read_quota, reterr);
}

/* ---- one ConfigMap ---- */

struct value_reader {
    struct json_reader r;
    struct str key, value;
};

static void read_data(struct json_reader *r, void *to)
{
    struct value_reader *v = to;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, v->key)) {
            json_string(r, &v->value);
        } else {
            json_skip(r);
        }
    }
}

int doctor_read_config_map(struct str object, struct str key, struct arena *a, struct str *ret, struct err *reterr)
{
    struct value_reader *v = calloc(1, sizeof(*v));
    int rc;

    if (v == NULL) {
        return err_set(reterr, ERR_LIMIT, "out of memory");
    }
    v->key = key;
    json_reader_init(&v->r, object, a);
    v->r.as_stored = true;
    json_members(&v->r, JSON_MEMBERS({"data", .read = read_data, .to = v}));
    rc = json_read_end(&v->r, reterr);
    *ret = rc == 0 && v->value.p != NULL ? arena_str(a, v->value) : STR_NULL;
    free(v);
    return rc;
}
