/* Rights, records, clocks, certificates, policies, quotas. */
#include "report_internal.h"

#include "base/clock.h"

#include <inttypes.h>

#define CLOCKS_APART_MS 10000
#define CERTIFICATE_SOON_MS (INT64_C(14) * 24 * 3600 * 1000)

void doctor_check_ledger(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    if (f->is_leader && !f->is_ready) {
        doctor_tell(r, DOCTOR_FAULT, STR_NULL, STR("fgpu is not ready, so it takes no pods with GPUs"),
                    "curl .../readyz?verbose of the ops listener says why");
    }
    if (f->double_booked_n > 0) {
        doctor_tell(r, DOCTOR_FAULT, STR_NULL,
                    arena_printf(r->arena, "%" PRId64 " GPUs are given out twice", f->double_booked_n),
                    "fgpu state names them and what to do, under incidents");
    }
    if (f->foreign_decision_n > 0) {
        doctor_tell(
            r, DOCTOR_FAULT, STR_NULL,
            arena_printf(r->arena,
                         "%" PRId64 " pods that waited here were bound by somebody else with a record: a second "
                         "fgpu decides",
                         f->foreign_decision_n),
            "run one fgpu for a cluster, or let replicas elect one (election); fgpu state names the pods, under "
            "incidents");
    }
}

void doctor_check_rights(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    for (size_t i = 0; i < f->right_n; i++) {
        const struct doctor_right *right = &f->rights[i];

        if (right->is_denied) {
            doctor_tell(r, DOCTOR_FAULT, arena_printf(r->arena, "user %.*s", STR_ARG(f->user)),
                        arena_printf(r->arena, "it may not %s %s%s%s%s%s%s%.*s%s%.*s: %s", right->verb, right->resource,
                                     right->subresource[0] != '\0' ? "/" : "", right->subresource,
                                     right->group[0] != '\0' ? "." : "", right->group, right->name.n > 0 ? " " : "",
                                     STR_ARG(right->namespace_), right->name.n > 0 ? "/" : "", STR_ARG(right->name),
                                     right->purpose),
                        right->source != NULL
                            ? right->source
                            : "apply rbac.yaml of the form that is installed; if fgpu runs as another user, name it by "
                              "--fgpu-user");
        }
    }
}

void doctor_check_start(struct doctor_report *r)
{
    const struct config_client *c = &r->facts->config->client;
    static const struct {
        const char *reason, *why, *fix;
    } rows[] = {
        {"noRunObject", "the ConfigMap of clientConnection.runObject does not exist",
         "apply rbac.yaml of the form that is installed, or name the object in the configuration; then start fgpu "
         "again"},
        {"forbidden", "fgpu may not read or change the ConfigMap of clientConnection.runObject",
         "apply rbac.yaml of the form that is installed; then start fgpu again"},
        {"noWakeObject", "fgpu cannot read the CSIStorageCapacity of clientConnection.wakeObject",
         "apply rbac.yaml of the form that is installed, and set clientConnection.wakeObject"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq_cstr(r->facts->start_reason, rows[i].reason)) {
            doctor_tell(r, DOCTOR_FAULT, i < 2 ? c->run_object : c->wake_object,
                        arena_printf(r->arena,
                                     "%s: each start of fgpu waits for clientConnection.holdOff, also after an orderly "
                                     "end",
                                     rows[i].why),
                        rows[i].fix);
        }
    }
}

/* ---- pods ---- */

static bool is_known_key(const struct doctor_facts *f, struct str key)
{
    for (size_t i = 0; i < f->public_key_n; i++) {
        if (str_eq(f->public_keys[i], key)) {
            return true;
        }
    }
    return false;
}

static bool is_foreign_record(const struct doctor_facts *f, const struct doctor_pod *p)
{
    const bool from_before =
        p->record_key.n == 0 && p->created_ms < config_accept_unsigned_before_ms(&f->config->signing);

    return p->has_record && p->node.n > 0 && !p->is_over && f->signs && !from_before && !is_known_key(f, p->record_key);
}

void doctor_check_records(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    for (const struct doctor_pod *p = f->pods; p != NULL; p = p->next) {
        if (is_foreign_record(f, p)) {
            doctor_tell(
                r, DOCTOR_FAULT, doctor_pod_name(r->arena, p->namespace_, p->name),
                p->record_key.n > 0
                    ? arena_printf(r->arena,
                                   "its record is signed by the key %.*s, which fgpu does not know, so it grants "
                                   "nothing",
                                   STR_ARG(p->record_key))
                    : STR("its record is not signed, so it grants nothing"),
                "if another fgpu wrote it, stop that one, or add its public key to signing.publicKeys; for pods "
                "of an unsigned version there is signing.acceptUnsignedBefore; else delete the pod");
        }
    }
    if (f->refuted_n > 0) {
        doctor_tell(r, DOCTOR_NOTE, STR_NULL,
                    arena_printf(r->arena, "since its start fgpu has seen %" PRId64 " records with a false signature",
                                 f->refuted_n),
                    "the log names the pods: somebody changes records, or copies them to other pods");
    }
}

static const struct doctor_pod *pod_of(const struct doctor_facts *f, const struct doctor_foreign *foreign)
{
    for (const struct doctor_pod *p = f->pods; p != NULL; p = p->next) {
        if (str_eq(p->name, foreign->name) && str_eq(p->namespace_, foreign->namespace_)) {
            return p;
        }
    }
    return NULL;
}

void doctor_check_bypass(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    for (const struct doctor_foreign *p = f->foreign; p != NULL; p = p->next) {
        const struct doctor_pod *pod = pod_of(f, p);

        if (pod == NULL || !is_foreign_record(f, pod)) { /* that is told by its own check */
            doctor_tell(r, DOCTOR_FAULT, doctor_pod_name(r->arena, p->namespace_, p->name),
                        arena_printf(r->arena,
                                     "it asks for GPUs and was bound to %.*s without fgpu, so it counts on every GPU "
                                     "there that it could be using",
                                     STR_ARG(p->node)),
                        "delete it and let the scheduler that asks fgpu place it: no spec.nodeName, the right "
                        "spec.schedulerName, and managedResources with the name that it asks for");
        }
    }
}

void doctor_check_quotas(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    for (const struct doctor_pod *p = f->pods; p != NULL; p = p->next) {
        const struct doctor_quota *q = f->quotas;

        while (q != NULL && !str_eq(q->namespace_, p->namespace_)) {
            q = q->next;
        }
        if (!p->by_annotation || p->is_over || (q == NULL && !p->is_queued)) {
            continue;
        }
        doctor_tell(r, DOCTOR_NOTE, doctor_pod_name(r->arena, p->namespace_, p->name),
                    q != NULL
                        ? arena_printf(r->arena,
                                       "it asks for GPUs by annotation, which the ResourceQuota %.*s on %.*s does "
                                       "not count",
                                       STR_ARG(q->name), STR_ARG(q->resource))
                        : STR("it asks for GPUs by annotation, which Kueue does not count"),
                    "ask by container limits where a quota has to hold, or limit the namespace by tenants in the "
                    "configuration of fgpu, which counts both");
    }
}

/* ---- clocks, certificates ---- */

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

void doctor_check_clocks(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;
    const int64_t fgpu_ms = f->fgpu_ahead_ms - f->api_ahead_ms;

    if (distance(fgpu_ms, 0) >= CLOCKS_APART_MS) {
        doctor_tell(r, DOCTOR_FAULT, STR_NULL,
                    arena_printf(r->arena, "the clock of fgpu is %" PRId64 " s %s that of the API server",
                                 distance(fgpu_ms, 0) / 1000, fgpu_ms > 0 ? "ahead of" : "behind"),
                    "let both machines keep time by NTP: certificates, tokens, time windows and "
                    "signing.acceptUnsignedBefore go by it");
    } else if (distance(f->api_ahead_ms, 0) >= CLOCKS_APART_MS) {
        doctor_tell(r, DOCTOR_FAULT, STR("this machine"),
                    arena_printf(r->arena, "its clock is %" PRId64 " s %s that of the API server",
                                 distance(f->api_ahead_ms, 0) / 1000, f->api_ahead_ms < 0 ? "ahead of" : "behind"),
                    "let this machine keep time by NTP");
    }
}

void doctor_check_certificates(struct doctor_report *r)
{
    const int64_t left_ms = r->facts->certificate_end_s * 1000 - r->facts->now_ms;
    char when[CLOCK_RFC3339_MAX];

    if (r->facts->certificate_end_s > 0 && left_ms < CERTIFICATE_SOON_MS) {
        doctor_tell(r, DOCTOR_FAULT, STR_NULL,
                    arena_printf(r->arena, "the certificate of fgpu %s at %s", left_ms < 0 ? "has expired" : "expires",
                                 clock_rfc3339(r->facts->certificate_end_s * 1000, when)),
                    "renew the files of serving.tls (manifests/mtls/certificates.sh makes some); fgpu reads them again "
                    "by itself");
    }
}

void doctor_check_scheduler_tls(struct doctor_report *r)
{
    if (r->facts->verbs_trouble.n > 0) {
        doctor_tell(
            r, DOCTOR_FAULT, r->facts->scheduler_source,
            arena_printf(r->arena, "kube-scheduler cannot trust the verbs listener: %.*s",
                         STR_ARG(r->facts->verbs_trouble)),
            "make a certificate whose names have the host of urlPrefix (or tlsConfig.serverName), signed by the "
            "CA in tlsConfig.caFile: manifests/mtls/certificates.sh");
    }
}

/* ---- policies ---- */

static bool is_installed(const struct doctor_facts *f, struct str name)
{
    for (const struct doctor_policy *p = f->policies; p != NULL; p = p->next) {
        if (str_eq(p->name, name)) {
            return true;
        }
    }
    return false;
}

/* NULL: it is in force. */
static const char *why_no_force(const struct doctor_facts *f, struct str name)
{
    const char *why = "no binding";

    if (!is_installed(f, name)) {
        return "not installed";
    }
    for (const struct doctor_policy_binding *b = f->policy_bindings; b != NULL; b = b->next) {
        if (!str_eq(b->policy, name)) {
            continue;
        }
        if (b->denies && (b->param_name.n == 0 || b->param_is_there)) {
            return NULL;
        }
        why = b->denies ? "its parameters are missing" : "its binding does not deny";
    }
    return why;
}

static void check_policy(struct doctor_report *r, struct doctor_list *missing, const char *name)
{
    const char *why = why_no_force(r->facts, str_of(name));

    if (why != NULL) {
        doctor_list_add(missing, arena_printf(r->arena, "%s (%s)", name, why));
    }
}

void doctor_check_policies(struct doctor_report *r)
{
    static const char *const always[] = {"fgpu-frozen-requests", "fgpu-reserved-keys", "fgpu-bindings",
                                         "fgpu-unseen-requests"};
    struct doctor_list missing = {.arena = r->arena};
    bool has_agents = false, has_groups = false;

    if (!r->facts->has_policy_api) {
        doctor_tell(r, DOCTOR_FAULT, STR_NULL,
                    STR("the API server has no admission policies, so whoever may write pods may write the annotations "
                        "of fgpu"),
                    "Kubernetes 1.30 and newer has them; until then let a webhook do what manifests/policies does");
        return;
    }
    for (const struct doctor_node *n = r->facts->nodes; n != NULL; n = n->next) {
        has_agents = has_agents || n->needs_agent;
        has_groups = has_groups || n->in_host_group;
    }
    for (size_t i = 0; i < ARRAY_LEN(always); i++) {
        check_policy(r, &missing, always[i]);
    }
    if (has_agents) {
        check_policy(r, &missing, "fgpu-node");
    }
    if (has_groups) {
        check_policy(r, &missing, "fgpu-host-groups");
    }
    if (missing.n > 0) {
        doctor_tell(
            r, DOCTOR_FAULT, STR_NULL,
            arena_printf(r->arena, "admission policies are not in force: %.*s", STR_ARG(doctor_list_text(&missing))),
            "kubectl apply -k manifests/policies; that of fgpu-node is in manifests/node");
    }
}
