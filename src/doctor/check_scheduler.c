/* How kube-scheduler is connected (contract.md 1 and 2). */
#include "report_internal.h"

#include <inttypes.h>

#define ASKED_AFTER_MS 10000 /* kube-scheduler takes a new pod within a second; its start takes some */
#define TIMEOUT_DEFAULT 5000 /* of an extender that gives none */
#define WEIGHT_OUTVOTED 13   /* below it, ten points are less than the 1200 of the built-in scores */
#define WEIGHT_DECIDES 121   /* from it on, one point is more than these */
#define NODES_UNSAMPLED 100  /* kube-scheduler looks at that many in any case */
#define SAMPLING_MINOR 33    /* from it on a pod that is woken skips its back-off (contract.md 2.10) */
#define EXAMPLE "see scheduler.yaml in manifests/dedicated or manifests/control-plane"

static const struct scheduler_extender *ours(const struct doctor_report *r)
{
    return scheduler_file_ours(&r->facts->scheduler, r->facts->config->serving.verbs.port);
}

static struct str source(const struct doctor_report *r)
{
    return r->facts->scheduler_source;
}

/* ---- asked ---- */

static bool is_of_a_profile(const struct doctor_facts *f, struct str scheduler)
{
    for (size_t i = 0; i < f->scheduler.profile_n; i++) {
        if (str_eq(f->scheduler.profiles[i].name, scheduler)) {
            return true;
        }
    }
    return false;
}

/* The scheduler that a pod names; empty: not known. */
static struct str scheduler_of(const struct doctor_facts *f, const struct doctor_pending *p)
{
    for (const struct doctor_pod *pod = f->pods; f->why_not[DOCTOR_PODS] == NULL && pod != NULL; pod = pod->next) {
        if (str_eq(pod->name, p->name) && str_eq(pod->namespace_, p->namespace_)) {
            return pod->scheduler;
        }
    }
    return STR_NULL;
}

void doctor_check_asked(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;
    const struct doctor_pending *first = NULL;
    struct str scheduler;
    size_t n = 0;

    for (const struct doctor_pending *p = f->pending; p != NULL; p = p->next) {
        const int64_t since_ms = p->since_ms > f->started_ms ? p->since_ms : f->started_ms;

        if (p->is_valid && f->as_of_ms - since_ms >= ASKED_AFTER_MS) {
            first = n++ == 0 ? p : first;
        }
    }
    if (n == 0 || f->filter_n > 0) {
        return;
    }
    scheduler = scheduler_of(f, first);
    if (f->why_not[DOCTOR_SCHEDULER] == NULL && scheduler.n > 0 && !is_of_a_profile(f, scheduler)) {
        doctor_tell(r, DOCTOR_FAULT, doctor_pod_name(r->arena, first->namespace_, first->name),
                    arena_printf(r->arena,
                                 "%zu pods wait for GPUs and fgpu was never asked; this one names the scheduler "
                                 "%.*s, which is no profile of %.*s",
                                 n, STR_ARG(scheduler), STR_ARG(source(r))),
                    "set spec.schedulerName of the pods to that of the scheduler that asks fgpu, or install "
                    "manifests/one-line, which does it");
        return;
    }
    doctor_tell(r, DOCTOR_FAULT, doctor_pod_name(r->arena, first->namespace_, first->name),
                arena_printf(r->arena, "%zu pods wait for GPUs and fgpu was never asked about any", n),
                "look whether kube-scheduler runs, whether it was started with this configuration, whether urlPrefix "
                "of the extender leads to the verbs listener of fgpu (its log says if not), and whether the pods name "
                "its schedulerName");
}

/* ---- the extender ---- */

static bool is_loopback_name(struct str host)
{
    return str_starts(host, STR("127.")) || str_eq(host, STR("localhost")) || str_eq(host, STR("[::1]"));
}

static void check_url(struct doctor_report *r, const struct scheduler_extender *e)
{
    const struct config_serving *s = &r->facts->config->serving;
    const bool wants_tls = config_serving_is_tls(s, &s->verbs);
    char address[ADDRESS_TEXT_MAX];

    if (e->url_host.n == 0 || !str_ends(e->url_path, STR("/v1"))) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena, "urlPrefix \"%.*s\" does not end in /v1, where the verbs of fgpu are",
                                 STR_ARG(e->url_prefix)),
                    "write urlPrefix: http://127.0.0.1:9443/v1, or https with tlsConfig");
    } else if (is_loopback_name(e->url_host) && s->verbs.port != 0 && e->url_port != s->verbs.port) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena, "urlPrefix \"%.*s\" leads past fgpu, which listens for the verbs at %s",
                                 STR_ARG(e->url_prefix), address_text(&s->verbs, address)),
                    "make the port of urlPrefix that of serving.verbsAddress");
    } else if (wants_tls != (e->url_is_https || e->enable_https)) {
        doctor_tell(
            r, DOCTOR_FAULT, source(r),
            arena_printf(r->arena, "urlPrefix \"%.*s\" speaks %s, and the verbs listener of fgpu %s",
                         STR_ARG(e->url_prefix), wants_tls ? "plain HTTP" : "TLS", wants_tls ? "TLS" : "plain HTTP"),
            "write https, enableHTTPS: true and tlsConfig where serving.tls has certificates for that listener, "
            "and http where not");
    }
}

static void check_verb(struct doctor_report *r, struct str verb, const char *key, const char *expected, bool optional,
                       const char *without)
{
    if (str_eq_cstr(verb, expected) || (optional && verb.n == 0)) {
        return;
    }
    doctor_tell(
        r, DOCTOR_FAULT, source(r),
        verb.n == 0
            ? arena_printf(r->arena, "the extender has no %s: %s", key, without)
            : arena_printf(r->arena, "%s is \"%.*s\", and fgpu answers to \"%s\"", key, STR_ARG(verb), expected),
        "write filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind; preemptVerb: preempt in the form "
        "advertised");
}

void doctor_check_extender(struct doctor_report *r)
{
    const struct scheduler_extender *e = ours(r);

    if (e == NULL) {
        doctor_tell(r, DOCTOR_FAULT, source(r), STR("kube-scheduler has no extender, so it never asks fgpu"),
                    "add the extender; " EXAMPLE);
        return;
    }
    check_url(r, e);
    check_verb(r, e->filter_verb, "filterVerb", "filter", false, "pods go to nodes whose GPUs are full");
    check_verb(r, e->prioritize_verb, "prioritizeVerb", "prioritize", false, "what fgpu prefers counts nothing");
    check_verb(r, e->preempt_verb, "preemptVerb", "preempt", true, "");
    if (!e->node_cache_capable) {
        doctor_tell(r, DOCTOR_NOTE, source(r),
                    STR("nodeCacheCapable is not true: kube-scheduler sends whole Node objects with every question"),
                    "set nodeCacheCapable: true");
    }
}

void doctor_check_binders(struct doctor_report *r)
{
    const struct scheduler_file *s = &r->facts->scheduler;
    const struct scheduler_extender *e = ours(r);
    size_t n = 0;

    if (e == NULL) {
        return; /* said already */
    }
    for (size_t i = 0; i < s->extender_n; i++) {
        n += s->extenders[i].bind_verb.n > 0;
    }
    if (n > 1) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena, "%zu extenders have a bindVerb, and kube-scheduler allows one", n),
                    "leave bindVerb to fgpu alone: who does not bind through it writes no record");
    } else if (e->bind_verb.n == 0) {
        doctor_tell(
            r, DOCTOR_FAULT, source(r),
            STR("the extender of fgpu has no bindVerb: pods are bound without GPUs, and their charge is a guess"),
            "write bindVerb: bind");
    } else if (!str_eq(e->bind_verb, STR("bind"))) {
        check_verb(r, e->bind_verb, "bindVerb", "bind", false, "");
    }
}

void doctor_check_ignorable(struct doctor_report *r)
{
    const struct scheduler_extender *e = ours(r);

    if (e != NULL && e->ignorable) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    STR("ignorable is true: while fgpu does not answer, pods with GPUs go to any node"),
                    "set ignorable: false");
    }
}

void doctor_check_weight(struct doctor_report *r)
{
    const struct scheduler_extender *e = ours(r);

    if (e == NULL || e->prioritize_verb.n == 0 || e->weight >= WEIGHT_DECIDES) {
        return;
    }
    if (e->weight < 1) {
        doctor_tell(
            r, DOCTOR_FAULT, source(r),
            STR("the extender has no weight, and kube-scheduler does not start with a prioritizeVerb of weight 0"),
            "set weight: 200");
    } else if (e->weight < WEIGHT_OUTVOTED) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena,
                                 "weight is %" PRId64 ": even ten points of fgpu count less than the built-in scores "
                                 "together, so GPUs are packed by spreading cores and memory",
                                 e->weight),
                    "set weight: 200");
    } else {
        doctor_tell(r, DOCTOR_NOTE, source(r),
                    arena_printf(r->arena, "weight is %" PRId64 ": the built-in scores may outvote fgpu", e->weight),
                    "set weight: 200 if packing GPUs well comes first");
    }
}

void doctor_check_timeout(struct doctor_report *r)
{
    const struct scheduler_extender *e = ours(r);
    const int64_t ms = e == NULL                                        ? INT64_MAX
                       : e->http_timeout_ms == SCHEDULER_NUMBER_MISSING ? TIMEOUT_DEFAULT
                                                                        : e->http_timeout_ms;
    const int64_t bind_ms = r->facts->config->client.bind_deadline_ms;

    if (ms <= bind_ms) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena,
                                 "httpTimeout is %" PRId64 " ms, and a bind may take %" PRId64
                                 " ms: kube-scheduler gives up pods that are bound a moment later",
                                 ms, bind_ms),
                    "set httpTimeout: 10s");
    }
}

/* ---- names of resources ---- */

static bool has(struct scheduler_names names, struct str name)
{
    for (size_t i = 0; i < names.n; i++) {
        if (str_eq(names.items[i], name)) {
            return true;
        }
    }
    return false;
}

void doctor_check_managed_resources(struct doctor_report *r)
{
    const struct config *c = r->facts->config;
    const struct scheduler_extender *e = ours(r);
    struct doctor_list missing = {.arena = r->arena};
    const struct str *names = NULL;
    const size_t n = doctor_managed_names_of(c, r->arena, &names);

    if (e == NULL) {
        return;
    }
    for (size_t i = 0; i < n && e->managed.n > 0; i++) {
        if (!has(e->managed, names[i])) {
            doctor_list_add(&missing, names[i]);
        }
    }
    if (e->managed.n == 0 && !c->serving.binds_all_pods) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    STR("managedResources is empty, so every pod of the scheduler comes to fgpu, which refuses to bind "
                        "those without GPUs"),
                    "set serving.bindsAllPods: true in the configuration of fgpu, or list the names of its resources "
                    "in managedResources");
    } else if (missing.n > 0) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    arena_printf(r->arena,
                                 "managedResources lacks %.*s: pods that ask for nothing else are bound without fgpu",
                                 STR_ARG(doctor_list_text(&missing))),
                    "add these names to managedResources, or take them out of resources of fgpu; in the form dedicated "
                    "the list is empty");
    } else if (e->managed.n > 0 && c->serving.binds_all_pods) {
        doctor_tell(r, DOCTOR_FAULT, source(r),
                    STR("managedResources names resources, so pods that ask by annotation never come to fgpu, although "
                        "serving.bindsAllPods says that all pods do"),
                    "set managedResources: [], or serving.bindsAllPods: false in the configuration of fgpu");
    }
}

static const struct doctor_object *object_of(const struct doctor_facts *f, struct str node)
{
    for (const struct doctor_object *o = f->objects; o != NULL; o = o->next) {
        if (str_eq(o->name, node)) {
            return o;
        }
    }
    return NULL;
}

/* Of each name: nodes with GPUs of fgpu that do not have it in allocatable. */
static void count_lacking(const struct doctor_facts *f, size_t name_n, size_t lacking[64])
{
    for (const struct doctor_node *node = f->nodes; node != NULL; node = node->next) {
        const struct doctor_object *o =
            node->gpu_n > 0 && !node->elsewhere && !node->unmeasured ? object_of(f, node->name) : NULL;

        for (size_t i = 0; o != NULL && i < name_n; i++) {
            lacking[i] += (o->advertises & UINT64_C(1) << i) == 0;
        }
    }
}

void doctor_check_ignored_resources(struct doctor_report *r)
{
    const struct scheduler_file *s = &r->facts->scheduler;
    const struct str *names = NULL;
    const size_t n = doctor_names_of(r->facts->config, r->arena, &names);
    size_t lacking[64] = {0};

    count_lacking(r->facts, n, lacking);
    for (size_t p = 0; p < s->profile_n; p++) {
        struct doctor_list wanted = {.arena = r->arena};

        for (size_t i = 0; i < n; i++) {
            if (lacking[i] > 0 && !scheduler_profile_ignores(&s->profiles[p], names[i])) {
                doctor_list_add(&wanted, names[i]);
            }
        }
        if (wanted.n > 0) {
            doctor_tell(r, DOCTOR_FAULT, source(r),
                        arena_printf(r->arena,
                                     "profile %.*s looks for %.*s on the nodes, and nodes with GPUs do not have it in "
                                     "allocatable: there kube-scheduler says Insufficient before it asks fgpu",
                                     STR_ARG(s->profiles[p].name), STR_ARG(doctor_list_text(&wanted))),
                        "name them in ignoredResources (or ignoredResourceGroups) of NodeResourcesFit; in the form "
                        "advertised run fgpu-node with --publish=all on every node with GPUs");
        }
    }
}

/* Whose filter is asked before ours and may take names away; NULL: nobody's. */
static const struct scheduler_extender *filters_before(const struct doctor_report *r)
{
    const struct scheduler_file *s = &r->facts->scheduler;
    const struct scheduler_extender *us = ours(r);

    for (const struct scheduler_extender *e = s->extenders; us != NULL && e < us; e++) {
        if (e->filter_verb.n > 0) {
            return e;
        }
    }
    return NULL;
}

/* Why a pod that fits on a node outside of the sample would wait (contract.md R15); NULL: it does not. */
static const char *why_sampling_is_dear(const struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;

    if (f->config->client.wake_object.n == 0) {
        return "clientConnection.wakeObject of fgpu is empty, so a pod that was shown no node with room waits for up "
               "to "
               "five minutes";
    }
    if (filters_before(r) != NULL) {
        return "another extender filters before fgpu, so fgpu cannot tell a sample from all nodes";
    }
    if (f->kube_minor == 0) {
        return "its version is not known: before 1.33 a pod that was shown no node with room waits 1 to 10 s before "
               "each further sample";
    }
    return f->kube_minor >= SAMPLING_MINOR
               ? NULL
               : "before 1.33 a pod that was shown no node with room waits 1 to 10 s before "
                 "each further sample";
}

void doctor_check_node_sampling(struct doctor_report *r)
{
    const struct doctor_facts *f = r->facts;
    const char *why = f->scheduler.sampled_percent == 100 ? NULL : why_sampling_is_dear(r);
    size_t n = 0;

    for (const struct doctor_object *o = f->objects; o != NULL; o = o->next) {
        n++;
    }
    if (n > NODES_UNSAMPLED && why != NULL) {
        doctor_tell(r, DOCTOR_NOTE, source(r),
                    arena_printf(r->arena, "of %zu nodes kube-scheduler shows fgpu a sample only; %s", n, why),
                    "set percentageOfNodesToScore: 100");
    }
}
