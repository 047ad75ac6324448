#include "routes/health.h"

#include "base/bug.h"

static enum httpd_action finish_health(struct httpd_response *resp, int status)
{
    resp->status = status;
    resp->content_type = HEALTH_CONTENT_TYPE;
    BUG_ON(!httpd_response_header(resp, "X-Content-Type-Options", STR(HEALTH_NOSNIFF)));
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR(HEALTH_CACHE_CONTROL)));
    return HTTPD_REPLY;
}

static enum httpd_action handle_all(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct health_handler *h = ctx;
    struct str exclude[HEALTH_EXCLUDES_MAX];
    struct health_query query = {.reasons = h->reasons, .exclude = exclude};
    struct str name, value;
    size_t at = 0;

    while (httpd_request_query_next(req, &at, &name, &value)) {
        if (str_eq(name, STR("verbose"))) {
            query.verbose = true;
        } else if (str_eq(name, STR("exclude"))) {
            if (query.exclude_n == HEALTH_EXCLUDES_MAX) {
                strbuf_add_cstr(&resp->body, "more than 32 exclude parameters\n");
                return finish_health(resp, 400);
            }
            exclude[query.exclude_n++] = value;
        }
    }
    return finish_health(resp, health_render(h->health, h->endpoint, &query, &resp->body));
}

static enum httpd_action handle_one(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct health_handler *h = ctx;
    struct str name = str_drop(httpd_request_path(req), h->prefix.n);

    return finish_health(resp, health_render_check(h->health, h->endpoint, name, &resp->body));
}

void health_routes(struct health_handlers *h, const struct health *health, bool reasons,
                   struct httpd_route routes[HEALTH_ROUTES])
{
    static const struct {
        enum health_endpoint endpoint;
        const char *path, *prefix;
    } table[HEALTH_ENDPOINTS] = {
        {HEALTH_LIVEZ, "/livez", "/livez/"},
        {HEALTH_READYZ, "/readyz", "/readyz/"},
        {HEALTH_HEALTHZ, "/healthz", "/healthz/"},
    };

    for (size_t i = 0; i < HEALTH_ENDPOINTS; i++) {
        h->each[i] = (struct health_handler){health, table[i].endpoint, reasons, str_of(table[i].prefix)};
        routes[2 * i] =
            (struct httpd_route){.method = "GET", .path = table[i].path, .handle = handle_all, .ctx = &h->each[i]};
        routes[2 * i + 1] = (struct httpd_route){.method = "GET",
                                                 .path = table[i].prefix,
                                                 .handle = handle_one,
                                                 .ctx = &h->each[i],
                                                 .flags = HTTPD_ROUTE_PREFIX};
    }
}
