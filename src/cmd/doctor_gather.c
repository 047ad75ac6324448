#include "cmd/doctor_gather.h"

#include "base/clock.h"
#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/doctor_api.h"
#include "kube/lease.h"

#include <stdlib.h>
#include <string.h>

#define STATE_BYTES_MAX ((size_t)1 << 30)
#define METRICS_BYTES_MAX ((size_t)64 << 20)
#define SCHEDULER_BYTES_MAX ((size_t)1 << 20)
#define CONFIG_MAP "fgpu-config"
#define CONFIG_KEY "scheduler.yaml"

/* The source as read, or not. */
static void conclude(struct doctor_facts *f, enum doctor_source s, int rc, const struct err *err)
{
    f->why_not[s] = rc == 0 ? NULL : arena_cstr(f->arena, str_of(err->msg));
    if (rc != 0 && f->why_not[s] == NULL) {
        f->why_not[s] = "there is not enough memory to say why";
    }
}

/* ---- the extender ---- */

static void gather_state(const struct inquiry *q, struct doctor_facts *f)
{
    const int64_t before_ms = clock_wall_ms(clock_system());
    struct config_names names;
    struct strbuf document;
    struct err err;
    int64_t after_ms;
    int rc;

    cmd_config_names(&names);
    strbuf_init(&document, STATE_BYTES_MAX);
    rc = inquiry_get(q, "/state", &document, &err);
    after_ms = clock_wall_ms(clock_system());
    if (rc == 0) {
        rc = doctor_read_state(f, strbuf_view(&document), &names, &err);
        rc = rc != 0 ? err_wrap(&err, rc, "%s/state", q->server) : 0;
    }
    f->fgpu_ahead_ms = f->as_of_ms - (before_ms + (after_ms - before_ms) / 2);
    conclude(f, DOCTOR_STATE, rc, &err);
    strbuf_fini(&document);
}

static void gather_metrics(const struct inquiry *q, struct doctor_facts *f)
{
    struct strbuf text;
    struct err err;
    int rc;

    strbuf_init(&text, METRICS_BYTES_MAX);
    rc = inquiry_get(q, "/metrics", &text, &err);
    if (rc == 0) {
        rc = doctor_read_metrics(f, strbuf_view(&text), &err);
    }
    conclude(f, DOCTOR_METRICS, rc, &err);
    strbuf_fini(&text);
}

/* ---- the API server ---- */

typedef int reader_fn(struct doctor_facts *f, struct str list, struct err *reterr);

/* ERR_NOT_FOUND: the API server does not have this. */
static int read_list(struct doctor_api *api, struct doctor_facts *f, const char *path, reader_fn *reader,
                     struct err *reterr)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, DOCTOR_API_BYTES_MAX);
    rc = doctor_api_get(api, path, &text, reterr);
    if (rc == 0) {
        rc = reader(f, strbuf_view(&text), reterr);
        rc = rc != 0 ? err_wrap(reterr, rc, "%s", path) : 0;
    }
    strbuf_fini(&text);
    return rc;
}

static int find_parameters(struct doctor_api *api, struct doctor_facts *f, struct err *reterr)
{
    for (struct doctor_policy_binding *b = f->policy_bindings; b != NULL; b = b->next) {
        int rc = 0;

        if (str_starts(b->policy, STR("fgpu-")) && b->param_name.n > 0) {
            rc = doctor_api_has_config_map(api, b->param_namespace, b->param_name, &b->param_is_there, reterr);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"

static void gather_policies(struct doctor_api *api, struct doctor_facts *f)
{
    struct err err;
    int rc = read_list(api, f, ADMISSION "ies", doctor_read_policies, &err);

    if (rc == -ERR_NOT_FOUND) {
        f->has_policy_api = false;
        rc = 0;
    } else if (rc == 0) {
        rc = read_list(api, f, ADMISSION "ybindings", doctor_read_policy_bindings, &err);
        rc = rc == 0 ? find_parameters(api, f, &err) : rc;
    }
    conclude(f, DOCTOR_POLICIES, rc, &err);
}

static void gather_list(struct doctor_api *api, struct doctor_facts *f, enum doctor_source s, const char *path,
                        reader_fn *reader)
{
    struct err err;
    const int rc = read_list(api, f, path, reader, &err);

    conclude(f, s, rc, &err);
}

static void gather_rights(const struct doctor_sources *s, struct doctor_api *api, struct doctor_facts *f)
{
    struct err err;
    int rc = 0;

    f->user = s->fgpu_user != NULL ? str_of(s->fgpu_user)
                                   : arena_printf(f->arena, "system:serviceaccount:%s:fgpu", s->fgpu_namespace);
    doctor_needed_rights(f);
    for (size_t i = 0; i < f->right_n && rc == 0; i++) {
        rc = doctor_api_review(api, f->user, &f->rights[i], &err);
    }
    conclude(f, DOCTOR_RIGHTS, rc, &err);
}

static void gather_clocks(struct doctor_api *api, struct doctor_facts *f)
{
    struct err err;
    int rc = doctor_api_clock(api, &f->api_ahead_ms, &f->kube_minor, &err);

    if (rc == 0 && f->why_not[DOCTOR_STATE] != NULL) {
        rc = err_set(&err, ERR_UNAVAILABLE, "%s", f->why_not[DOCTOR_STATE]);
    }
    conclude(f, DOCTOR_CLOCKS, rc, &err);
}

static int read_lease(struct doctor_api *api, struct doctor_facts *f, struct err *reterr)
{
    struct lease_record lease = {.duration_s = 0};
    struct strbuf path, object;
    int rc;

    strbuf_init(&path, LEASE_PATH_MAX);
    strbuf_init(&object, DOCTOR_API_BYTES_MAX);
    lease_path(f->config->lease.object, &path);
    rc = doctor_api_get(api, path.p, &object, reterr);
    if (rc == -ERR_NOT_FOUND) {
        rc = 0;
    } else if (rc == 0) {
        rc = lease_read(strbuf_view(&object), &lease, NULL, reterr);
        f->lease.is_there = rc == 0;
    }
    if (f->lease.is_there) {
        f->lease.holder = arena_str(f->arena, str_of(lease.holder));
        f->lease.duration_s = lease.duration_s;
        (void)clock_rfc3339_parse(str_of(lease.renewed), &f->lease.renewed_ms); /* else 0: it does not say */
    }
    strbuf_fini(&object);
    strbuf_fini(&path);
    return rc;
}

static void gather_lease(struct doctor_api *api, struct doctor_facts *f)
{
    struct err err;
    int rc = 0;

    if (f->config != NULL && f->config->election != ELECTION_NONE) {
        rc = read_lease(api, f, &err);
    }
    conclude(f, DOCTOR_LEASE, rc, &err);
}

static void gather_cluster(const struct doctor_sources *s, struct doctor_api *api, struct doctor_facts *f)
{
    struct err err;

    conclude(f, DOCTOR_NODES, doctor_api_nodes(api, f, &err), &err);
    conclude(f, DOCTOR_PODS, doctor_api_pods(api, f, &err), &err);
    gather_policies(api, f);
    gather_list(api, f, DOCTOR_RUNTIME_CLASSES, "/apis/node.k8s.io/v1/runtimeclasses", doctor_read_runtime_classes);
    gather_list(api, f, DOCTOR_QUOTAS, "/api/v1/resourcequotas", doctor_read_quotas);
    gather_rights(s, api, f);
    gather_clocks(api, f);
    gather_lease(api, f);
}

/* ---- the configuration of kube-scheduler ---- */

static int read_scheduler_file(const char *path, struct doctor_facts *f, struct str *ret, struct err *reterr)
{
    struct strbuf text;
    int rc;

    f->scheduler_source = str_of(path);
    strbuf_init(&text, SCHEDULER_BYTES_MAX);
    rc = file_or_pipe_read(path, &text, reterr);
    *ret = rc == 0 ? arena_str(f->arena, strbuf_view(&text)) : STR_NULL;
    strbuf_fini(&text);
    return rc;
}

static int read_scheduler_map(const struct doctor_sources *s, struct doctor_api *api, struct doctor_facts *f,
                              struct str *ret, struct err *reterr)
{
    struct strbuf object;
    int rc;

    f->scheduler_source = arena_printf(f->arena, "ConfigMap %s/" CONFIG_MAP, s->fgpu_namespace);
    strbuf_init(&object, DOCTOR_API_BYTES_MAX);
    rc = doctor_api_config_map(api, str_of(s->fgpu_namespace), STR(CONFIG_MAP), &object, reterr);
    if (rc == 0) {
        rc = doctor_read_config_map(strbuf_view(&object), STR(CONFIG_KEY), f->arena, ret, reterr);
    }
    if (rc == 0 && ret->n == 0) {
        rc = err_set(reterr, ERR_NOT_FOUND, "it has no key " CONFIG_KEY);
    }
    strbuf_fini(&object);
    return rc != 0 ? err_wrap(reterr, rc, "%.*s (--scheduler-config names a file)", STR_ARG(f->scheduler_source)) : 0;
}

static void gather_scheduler(const struct doctor_sources *s, struct doctor_api *api, struct doctor_facts *f)
{
    struct str text = STR_NULL;
    struct err err;
    int rc;

    if (s->scheduler_file != NULL) {
        rc = read_scheduler_file(s->scheduler_file, f, &text, &err);
    } else if (api != NULL) {
        rc = read_scheduler_map(s, api, f, &text, &err);
    } else {
        return; /* as the API server */
    }
    if (rc == 0) {
        rc = scheduler_file_read(f->scheduler_source, text, f->arena, &f->scheduler, &err);
    }
    conclude(f, DOCTOR_SCHEDULER, rc, &err);
}

/* ---- the listener that kube-scheduler asks ---- */

/* With the files that the configuration names: they are where kube-scheduler runs. */
static void gather_verbs(struct doctor_facts *f)
{
    const struct scheduler_extender *e =
        f->why_not[DOCTOR_SCHEDULER] == NULL
            ? scheduler_file_ours(&f->scheduler, f->config != NULL ? f->config->serving.verbs.port : 0)
            : NULL;
    struct err err;
    int rc = 0;

    if (f->why_not[DOCTOR_SCHEDULER] != NULL) {
        rc = err_set(&err, ERR_UNAVAILABLE, "%s", f->why_not[DOCTOR_SCHEDULER]);
    } else if (e != NULL && e->url_is_https) {
        rc = doctor_api_verify(e, f->arena, &f->verbs_trouble, &err);
    }
    conclude(f, DOCTOR_VERBS, rc, &err);
}

/* ---- all of it ---- */

void doctor_gather(const struct doctor_sources *s, struct doctor_facts *f)
{
    struct doctor_api *api = NULL;
    struct err err;

    f->now_ms = clock_wall_ms(clock_system());
    if (s->no_way == NULL) {
        gather_state(s->extender, f);
        gather_metrics(s->extender, f);
    } else {
        f->why_not[DOCTOR_STATE] = s->no_way;
        f->why_not[DOCTOR_METRICS] = s->no_way;
    }
    if (doctor_api_open(s->kubeconfig, s->context, &api, &err) == 0) {
        gather_cluster(s, api, f);
    } else {
        for (int source = DOCTOR_SCHEDULER; source < DOCTOR_SOURCE__MAX; source++) {
            conclude(f, (enum doctor_source)source, -ERR_UNAVAILABLE, &err);
        }
    }
    gather_scheduler(s, api, f);
    gather_verbs(f);
    doctor_api_close(api);
}
