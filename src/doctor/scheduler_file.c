#include "doctor/scheduler_file.h"

#include "config/yaml_doc.h"

#define NAMES_MAX 1000

struct reading {
    struct arena *arena;
    struct diagnostics diagnostics;
};

static struct str text_of(const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *n = yaml_doc_find(map, str_of(key));

    return n != NULL && n->type == YAML_DOC_TEXT && !yaml_doc_is_null(n) ? n->text : STR_NULL;
}

static bool flag_of(const struct yaml_doc_node *map, const char *key)
{
    return str_eq(text_of(map, key), STR("true"));
}

static int64_t number_of(struct reading *rd, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *n = yaml_doc_find(map, str_of(key));
    uint64_t v;

    if (n == NULL || yaml_doc_is_null(n)) {
        return SCHEDULER_NUMBER_MISSING;
    }
    if (n->type != YAML_DOC_TEXT || !str_to_u64(n->text, INT32_MAX, &v)) {
        diagnostics_add(&rd->diagnostics, n->pos, "%s is no number that kube-scheduler takes", key);
        return SCHEDULER_NUMBER_MISSING;
    }
    return (int64_t)v;
}

/* "1m30s", "500ms", as Go writes durations; without fractions. */
static bool parse_duration(struct str s, int64_t *ret_ms)
{
    static const struct {
        struct str unit;
        int64_t ms;
    } units[] = {{STR("ms"), 1}, {STR("s"), 1000}, {STR("m"), 60000}, {STR("h"), 3600000}};
    int64_t sum = 0;

    while (s.n > 0) {
        const size_t digits = str_span(s, STR_DIGITS);
        const struct str rest = str_drop(s, digits);
        const size_t letters = str_span(rest, STR_LOWER);
        int64_t factor = 0;
        uint64_t v;

        for (size_t i = 0; i < ARRAY_LEN(units); i++) {
            if (str_eq((struct str){rest.p, letters}, units[i].unit)) {
                factor = units[i].ms;
            }
        }
        if (factor == 0 || !str_to_u64((struct str){s.p, digits}, 1000000, &v)) {
            return false;
        }
        sum += (int64_t)v * factor;
        s = str_drop(rest, letters);
    }
    *ret_ms = sum;
    return true;
}

static int64_t duration_of(struct reading *rd, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *n = yaml_doc_find(map, str_of(key));
    int64_t ms;

    if (n == NULL || yaml_doc_is_null(n)) {
        return SCHEDULER_NUMBER_MISSING;
    }
    if (n->type != YAML_DOC_TEXT || n->text.n == 0 || !parse_duration(n->text, &ms)) {
        diagnostics_add(&rd->diagnostics, n->pos, "%s is no time like 10s", key);
        return SCHEDULER_NUMBER_MISSING;
    }
    return ms;
}

/* Texts, or maps with a name. */
static struct scheduler_names names_of(struct reading *rd, const struct yaml_doc_node *map, const char *key)
{
    const struct yaml_doc_node *list = yaml_doc_find(map, str_of(key));
    struct scheduler_names ret = {.n = 0};
    struct str *items;

    if (list == NULL || list->type != YAML_DOC_LIST || list->child_n > NAMES_MAX) {
        return ret;
    }
    items = ARENA_ARRAY(rd->arena, list->child_n, struct str);
    if (items == NULL) {
        return ret;
    }
    for (const struct yaml_doc_node *n = list->first; n != NULL; n = n->next) {
        const struct str name = n->type == YAML_DOC_TEXT ? n->text : text_of(n, "name");

        if (name.n > 0) {
            items[ret.n++] = name;
        }
    }
    ret.items = items;
    return ret;
}

static void split_url(struct scheduler_extender *e)
{
    const struct str scheme_end = STR("://");
    struct str rest = e->url_prefix, host;
    size_t at = 0, end;
    uint64_t port;

    while (at + scheme_end.n <= rest.n && !str_starts(str_drop(rest, at), scheme_end)) {
        at++;
    }
    if (at + scheme_end.n > rest.n) {
        return;
    }
    e->url_is_https = str_eq((struct str){rest.p, at}, STR("https"));
    rest = str_drop(rest, at + scheme_end.n);
    for (end = 0; end < rest.n && rest.p[end] != '/'; end++) {
    }
    host = (struct str){rest.p, end};
    e->url_path = str_drop(rest, end);
    while (str_ends(e->url_path, STR("/"))) {
        e->url_path.n--;
    }
    e->url_port = e->url_is_https ? 443 : 80;
    for (size_t i = host.n; i-- > 0 && host.p[i] != ']';) {
        if (host.p[i] == ':' && str_to_u64(str_drop(host, i + 1), UINT16_MAX, &port)) {
            e->url_port = (uint16_t)port;
            host.n = i;
            break;
        }
    }
    e->url_host = host;
}

static void read_extender(struct reading *rd, const struct yaml_doc_node *n, struct scheduler_extender *ret)
{
    const struct yaml_doc_node *tls = yaml_doc_find(n, STR("tlsConfig"));

    *ret = (struct scheduler_extender){
        .url_prefix = text_of(n, "urlPrefix"),
        .filter_verb = text_of(n, "filterVerb"),
        .prioritize_verb = text_of(n, "prioritizeVerb"),
        .bind_verb = text_of(n, "bindVerb"),
        .preempt_verb = text_of(n, "preemptVerb"),
        .weight = number_of(rd, n, "weight"),
        .http_timeout_ms = duration_of(rd, n, "httpTimeout"),
        .enable_https = flag_of(n, "enableHTTPS"),
        .node_cache_capable = flag_of(n, "nodeCacheCapable"),
        .ignorable = flag_of(n, "ignorable"),
        .ca_file = text_of(tls, "caFile"),
        .cert_file = text_of(tls, "certFile"),
        .key_file = text_of(tls, "keyFile"),
        .server_name = text_of(tls, "serverName"),
        .managed = names_of(rd, n, "managedResources"),
    };
    split_url(ret);
}

static void read_profile(struct reading *rd, const struct yaml_doc_node *n, struct scheduler_profile *ret)
{
    const struct yaml_doc_node *plugins = yaml_doc_find(n, STR("pluginConfig"));

    *ret = (struct scheduler_profile){.name = text_of(n, "schedulerName")};
    if (ret->name.n == 0) {
        ret->name = STR("default-scheduler");
    }
    if (plugins == NULL || plugins->type != YAML_DOC_LIST) {
        return;
    }
    for (const struct yaml_doc_node *p = plugins->first; p != NULL; p = p->next) {
        if (str_eq(text_of(p, "name"), STR("NodeResourcesFit"))) {
            const struct yaml_doc_node *args = yaml_doc_find(p, STR("args"));

            ret->ignored = names_of(rd, args, "ignoredResources");
            ret->ignored_groups = names_of(rd, args, "ignoredResourceGroups");
        }
    }
}

/* The elements of a list; one alone that says nothing where there is none and `at_least_one`. */
static size_t count_of(const struct yaml_doc_node *list, bool at_least_one)
{
    const size_t n = list != NULL && list->type == YAML_DOC_LIST ? list->child_n : 0;

    return n == 0 && at_least_one ? 1 : n;
}

static int64_t or_else(int64_t ms, int64_t otherwise)
{
    return ms == SCHEDULER_NUMBER_MISSING ? otherwise : ms;
}

static void read_election(struct reading *rd, const struct yaml_doc_node *root, struct scheduler_file *ret)
{
    const struct yaml_doc_node *e = yaml_doc_find(root, STR("leaderElection"));
    const struct yaml_doc_node *elects = e != NULL ? yaml_doc_find(e, STR("leaderElect")) : NULL;

    ret->elects = elects == NULL || elects->type != YAML_DOC_TEXT || !str_eq(elects->text, STR("false"));
    ret->lease_namespace = e != NULL ? text_of(e, "resourceNamespace") : STR_NULL;
    ret->lease_namespace = ret->lease_namespace.n > 0 ? ret->lease_namespace : STR("kube-system");
    ret->lease_name = e != NULL ? text_of(e, "resourceName") : STR_NULL;
    ret->lease_name = ret->lease_name.n > 0 ? ret->lease_name : STR("kube-scheduler");
    ret->lease_ms = or_else(e != NULL ? duration_of(rd, e, "leaseDuration") : SCHEDULER_NUMBER_MISSING, 15000);
    ret->renew_deadline_ms = or_else(e != NULL ? duration_of(rd, e, "renewDeadline") : SCHEDULER_NUMBER_MISSING, 10000);
    ret->retry_ms = or_else(e != NULL ? duration_of(rd, e, "retryPeriod") : SCHEDULER_NUMBER_MISSING, 2000);
}

static bool read_lists(struct reading *rd, const struct yaml_doc_node *root, struct scheduler_file *ret)
{
    const struct yaml_doc_node *extenders = yaml_doc_find(root, STR("extenders"));
    const struct yaml_doc_node *profiles = yaml_doc_find(root, STR("profiles"));
    const size_t extender_n = count_of(extenders, false), profile_n = count_of(profiles, true);
    struct scheduler_extender *e = ARENA_ARRAY(rd->arena, extender_n + 1, struct scheduler_extender);
    struct scheduler_profile *p = ARENA_ARRAY(rd->arena, profile_n, struct scheduler_profile);
    const struct yaml_doc_node *n;

    if (e == NULL || p == NULL) {
        return false;
    }
    n = extender_n > 0 ? extenders->first : NULL;
    for (size_t i = 0; i < extender_n; i++, n = n->next) {
        read_extender(rd, n, &e[i]);
    }
    n = profiles != NULL && profiles->type == YAML_DOC_LIST ? profiles->first : NULL;
    for (size_t i = 0; i < profile_n; i++, n = n != NULL ? n->next : NULL) {
        read_profile(rd, n, &p[i]);
    }
    *ret = (struct scheduler_file){
        .extenders = e,
        .extender_n = extender_n,
        .profiles = p,
        .profile_n = profile_n,
        .sampled_percent = number_of(rd, root, "percentageOfNodesToScore"),
    };
    read_election(rd, root, ret);
    return true;
}

int scheduler_file_read(struct str name, struct str text, struct arena *a, struct scheduler_file *ret,
                        struct err *reterr)
{
    struct reading rd = {.arena = a};
    const struct yaml_doc_node *root = NULL;
    int rc;

    diagnostics_init(&rd.diagnostics, a, name, text);
    rc = yaml_doc_read(text, a, &rd.diagnostics, &root);
    if (rc == 0 && !str_eq(text_of(root, "kind"), STR("KubeSchedulerConfiguration"))) {
        return err_set(reterr, ERR_INVALID, "%.*s is no KubeSchedulerConfiguration: its kind is \"%.*s\"",
                       STR_ARG(name), STR_ARG(text_of(root, "kind")));
    }
    if (rc == 0 && !read_lists(&rd, root, ret)) {
        return err_set(reterr, ERR_LIMIT, "%.*s is too large", STR_ARG(name));
    }
    if (diagnostics_any(&rd.diagnostics)) {
        const struct diagnostic *d = &rd.diagnostics.items[0];

        return err_set(reterr, ERR_INVALID, "%.*s:%u:%u: %.*s", STR_ARG(name), d->pos.line, d->pos.column,
                       STR_ARG(d->message));
    }
    return rc;
}

const struct scheduler_extender *scheduler_file_ours(const struct scheduler_file *f, uint16_t port)
{
    for (size_t i = 0; i < f->extender_n; i++) {
        if (port != 0 && f->extenders[i].url_port == port) {
            return &f->extenders[i];
        }
    }
    for (size_t i = 0; i < f->extender_n && f->extender_n > 1; i++) {
        if (f->extenders[i].bind_verb.n > 0) {
            return &f->extenders[i];
        }
    }
    return f->extender_n > 0 ? &f->extenders[0] : NULL;
}

static bool has(struct scheduler_names names, struct str name)
{
    for (size_t i = 0; i < names.n; i++) {
        if (str_eq(names.items[i], name)) {
            return true;
        }
    }
    return false;
}

bool scheduler_profile_ignores(const struct scheduler_profile *p, struct str resource)
{
    struct str rest = resource, group;

    return has(p->ignored, resource) || (str_split(&rest, '/', &group) && has(p->ignored_groups, group));
}
