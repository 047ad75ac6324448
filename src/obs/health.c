/* obs/health.c - runs the checks and writes Kubernetes' texts. */
#include "obs/health.h"

#include "base/bug.h"
#include "obs/log_format_internal.h"

void health_init(struct health *h)
{
    h->check_n = 0;
}

static bool name_is_valid(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
    }
    return name.n > 0;
}

void health_add(struct health *h, const struct health_check *check)
{
    BUG_ON(h->check_n == HEALTH_CHECKS_MAX);
    BUG_ON(!name_is_valid(str_of(check->name)) || check->probe == NULL || check->endpoints == 0);
    for (size_t i = 0; i < h->check_n; i++) {
        BUG_ON(str_eq_cstr(str_of(h->checks[i].name), check->name));
    }
    h->checks[h->check_n++] = *check;
}

static const char *endpoint_name(enum health_endpoint endpoint)
{
    switch (endpoint) {
    case HEALTH_LIVEZ:
        return "livez";
    case HEALTH_READYZ:
        return "readyz";
    case HEALTH_HEALTHZ:
        return "healthz";
    }
    BUG("health endpoint out of range");
}

static bool is_excluded(const struct health_query *query, const char *name)
{
    for (size_t i = 0; i < query->exclude_n; i++) {
        if (str_eq_cstr(query->exclude[i], name)) {
            return true;
        }
    }
    return false;
}

static const struct health_check *find_check(const struct health *h, enum health_endpoint endpoint, struct str name)
{
    for (size_t i = 0; i < h->check_n; i++) {
        if ((h->checks[i].endpoints & endpoint) != 0 && str_eq_cstr(name, h->checks[i].name)) {
            return &h->checks[i];
        }
    }
    return NULL;
}

/* The smallest unknown exclusion above `after` (p == NULL: above nothing): sorted and without
 * repeats, in quadratic time over a handful of parameters. */
static bool next_unknown(const struct health *h, enum health_endpoint endpoint, const struct health_query *query,
                         struct str after, struct str *ret)
{
    bool found = false;
    for (size_t i = 0; i < query->exclude_n; i++) {
        const struct str name = query->exclude[i];
        if (find_check(h, endpoint, name) == NULL && (after.p == NULL || str_cmp(name, after) > 0) &&
            (!found || str_cmp(name, *ret) < 0)) {
            *ret = name;
            found = true;
        }
    }
    return found;
}

static void warn_unknown(const struct health *h, enum health_endpoint endpoint, const struct health_query *query,
                         struct strbuf *out)
{
    struct str name = STR_NULL;
    bool any = false;
    while (next_unknown(h, endpoint, query, name, &name)) {
        strbuf_add_cstr(out, any ? "," : "warn: some health checks cannot be excluded: no matches for ");
        log_add_quoted(out, name, SIZE_MAX);
        any = true;
        if (name.p == NULL) {
            name = STR(""); /* an empty value sorts first; go on behind it */
        }
    }
    if (any) {
        strbuf_add_char(out, '\n');
    }
}

/* One line per check; returns how many failed. */
static size_t add_lines(const struct health *h, enum health_endpoint endpoint, const struct health_query *query,
                        struct strbuf *out)
{
    size_t failed = 0;
    for (size_t i = 0; i < h->check_n; i++) {
        const struct health_check *c = &h->checks[i];
        if ((c->endpoints & endpoint) == 0) {
            continue;
        }
        if (is_excluded(query, c->name)) {
            strbuf_addf(out, "[+]%s excluded: ok\n", c->name);
            continue;
        }
        const char *reason = c->probe(c->ctx);
        if (reason != NULL) {
            strbuf_addf(out, "[-]%s failed: %s\n", c->name, query->reasons ? reason : "reason withheld");
            failed++;
        } else {
            strbuf_addf(out, "[+]%s ok\n", c->name);
        }
    }
    return failed;
}

int health_render(const struct health *h, enum health_endpoint endpoint, const struct health_query *query,
                  struct strbuf *out)
{
    struct strbuf lines;
    strbuf_init(&lines, out->max_bytes);
    const size_t failed = add_lines(h, endpoint, query, &lines);
    warn_unknown(h, endpoint, query, &lines);
    if (failed > 0 || query->verbose) {
        strbuf_add_str(out, strbuf_view(&lines));
        strbuf_addf(out, "%s check %s\n", endpoint_name(endpoint), failed > 0 ? "failed" : "passed");
    } else {
        strbuf_add_cstr(out, "ok");
    }
    strbuf_fini(&lines);
    return failed > 0 ? 500 : 200;
}

int health_render_check(const struct health *h, enum health_endpoint endpoint, struct str name, struct strbuf *out)
{
    const struct health_check *c = find_check(h, endpoint, name);
    if (c == NULL) {
        strbuf_add_cstr(out, "no such check");
        return 404;
    }
    const char *reason = c->probe(c->ctx);
    if (reason == NULL) {
        strbuf_add_cstr(out, "ok");
        return 200;
    }
    strbuf_addf(out, "internal server error: %s\n", reason);
    return 500;
}
