#include "core/support/pod_notation.h"

#include "model/mig.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct str full_name(struct arena *a, struct str s)
{
    bool own = str_eq_cstr(s, "cpu") || str_eq_cstr(s, "memory");

    if (str_starts(s, STR("/"))) {
        return str_drop(s, 1);
    }

    return own || memchr(s.p, '/', s.n) != NULL ? s : arena_printf(a, "fgpu.io/%.*s", STR_ARG(s));
}

static struct kv make_kv(struct made_pod *m, struct str text)
{
    struct str key;
    assert_true(str_split(&text, '=', &key));
    return (struct kv){full_name(&m->arena, key), text.n > 0 ? text : STR_NULL};
}

static void add_resource(struct made_pod *m, struct container *c, struct made_container *lists, struct str text)
{
    bool request = str_starts(text, STR("~"));
    struct kv kv = make_kv(m, str_drop(text, request));
    struct kv_list *list = request ? &c->requests : &c->limits;
    struct kv *items = request ? lists->requests : lists->limits;

    assert_true(list->n < MADE_RESOURCES_MAX);
    items[list->n] = kv;
    *list = (struct kv_list){items, list->n + 1};
}

/* Resources of nobody's container; what is no request is a limit. */
static struct container read_resources(struct made_pod *m, struct made_container *lists, struct str part)
{
    struct container c = {.sidecar = false};
    struct str word;

    assert_true(str_split(&part, ':', &word));
    while (str_split(&part, ' ', &word)) {
        if (word.n > 0) {
            add_resource(m, &c, lists, word);
        }
    }
    return c;
}

static void add_container(struct made_pod *m, struct str part)
{
    bool sidecar = str_starts(part, STR("sidecar "));
    bool init = sidecar || str_starts(part, STR("init "));
    size_t *n = init ? &m->pod.init_container_n : &m->pod.container_n;
    struct container *c = init ? &m->init[*n] : &m->app[*n];
    struct str head;
    struct str word;

    assert_true(*n < MADE_CONTAINERS_MAX);
    assert_true(str_split(&part, ':', &head));
    *c = (struct container){.sidecar = sidecar};
    while (str_split(&head, ' ', &word)) {
        c->name = word; /* the last word */
    }
    while (str_split(&part, ' ', &word)) {
        if (word.n > 0) {
            add_resource(m, c, init ? &m->init_lists[*n] : &m->app_lists[*n], word);
        }
    }
    (*n)++;
}

struct made_pod *made_pod_new(const char *notation)
{
    struct made_pod *m = calloc(1, sizeof(*m));
    struct str rest = str_of(notation);
    struct str part;
    size_t annotation_n = 0;

    assert_non_null(m);
    arena_init(&m->arena, 1 << 20);
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        if (str_starts(part, STR("@"))) {
            assert_true(annotation_n < ARRAY_LEN(m->annotations));
            m->annotations[annotation_n++] = make_kv(m, str_drop(part, 1));
        } else if (str_starts(part, STR("pod:"))) {
            struct container c = read_resources(m, &m->whole, part);

            m->pod.limits = c.limits;
            m->pod.requests = c.requests;
        } else if (str_starts(part, STR("overhead:"))) {
            m->pod.overhead = read_resources(m, &m->overhead, part).limits;
        } else {
            add_container(m, part);
        }
    }
    m->pod.init_containers = m->init;
    m->pod.containers = m->app;
    m->pod.annotations = (struct kv_list){m->annotations, annotation_n};
    return m;
}

void made_pod_free(struct made_pod *m)
{
    arena_fini(&m->arena);
    free(m);
}

static void render_patterns(struct strbuf *b, const char *word, const struct device_pattern *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(b, "%s%s%.*s", i == 0 ? word : ",", p[i].exclude ? "!" : "", STR_ARG(p[i].text));
    }
}

static void render(struct strbuf *b, const struct demand *d)
{
    static const char *const kinds[] = {"both", "milli", "memory", "whole", "fraction", "portion"};
    static const char *const classes[] = {" fixed-share", " best-effort", " equal-share"};

    if (d->defect != DEMAND_OK) {
        strbuf_addf(b, "defect %s", demand_defect_name(d->defect));
    } else if (d->gpu_request_n == 0 && d->plugin_managed_n == 0) {
        strbuf_addf(b, "none");
    }
    if (d->plugin_managed_n != 0) {
        strbuf_addf(b, "plugin-managed %d", d->plugin_managed_n);
    }
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        const struct gpu_request *w = &d->gpu_requests[i];
        strbuf_addf(b, "%s%.*s %ux%s(%d,%lld)@%llx", i > 0 ? " " : "", STR_ARG(w->container), w->count, kinds[w->kind],
                    w->milli, (long long)w->mem_mib, (unsigned long long)w->phases);
        if (w->profile != 0) {
            char text[MIG_PROFILE_BYTES_MAX];
            strbuf_addf(b, " mig %s", mig_profile_text(w->profile, text));
        }
    }
    render_patterns(b, " models ", d->models, d->model_n);
    render_patterns(b, " uuids ", d->uuids, d->uuid_n);
    strbuf_addf(b, "%s%s", d->says_qos ? classes[d->qos] : "",
                d->source == DEMAND_FROM_ANNOTATIONS ? " annotated" : "");
    if (d->defect == DEMAND_OK && d->dialect[0] != '\0' && strcmp(d->dialect, "native") != 0) {
        strbuf_addf(b, " %s", d->dialect);
    }
}

static void check(const struct policy *p, const char *name, const char *notation, const char *want)
{
    struct made_pod *m = made_pod_new(notation);
    struct strbuf got;
    struct demand d;

    strbuf_init(&got, 65536);
    assert_true(dialect_demand(p, &m->pod, &m->arena, &d));
    render(&got, &d);
    if (!str_eq_cstr(strbuf_view(&got), want)) {
        fail_msg("%s: \"%s\"\n got  \"%s\"\n want \"%s\"", name, notation, got.p, want);
    }
    assert_int_equal(d.dialect[0] == '\0', demand_is_empty(&d));
    strbuf_fini(&got);
    made_pod_free(m);
}

void check_demands(const struct policy *p, const struct demand_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(p, rows[i].name, rows[i].pod, rows[i].want);
    }
}
