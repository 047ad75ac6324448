#include "routes/page.h"

#include "base/bug.h"
#include "routes/state_internal.h"

#include <zlib.h>

static const struct {
    const char *name, *value;
} strict_headers[] = {
    {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                                "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static void add(struct httpd_response *resp, const char *name, const char *value)
{
    BUG_ON(!httpd_response_header(resp, name, str_of(value)));
}

/* ---- what the client takes ---- */

/* "q=0", "q=0.000": the client does not take it (RFC 9110, 12.4.2). */
static bool is_refused(struct str parameter)
{
    bool refused = str_starts(parameter, STR("q=0"));

    for (size_t i = 3; i < parameter.n && refused; i++) {
        refused = parameter.p[i] == '0' || parameter.p[i] == '.';
    }
    return refused;
}

/* Of a list like "gzip;q=0.5, br": is `word` in it, and not with q=0? */
static bool accepts(struct str list, struct str word)
{
    struct str item, name;

    while (str_split(&list, ',', &item)) {
        str_split(&item, ';', &name);
        if (str_ieq(str_trim(name), word)) {
            return !is_refused(str_trim(item));
        }
    }
    return false;
}

bool page_is_wanted(const struct httpd_request *req)
{
    return accepts(httpd_request_header(req, "Accept"), STR("text/html"));
}

/* ---- the answer ---- */

static bool inflate_into(struct strbuf *out, const struct page_asset *a)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)a->gzip, .avail_in = (uInt)(a->gzip_end - a->gzip)};
    char *to = strbuf_reserve(out, a->bytes);
    int rc;

    if (to == NULL || inflateInit2(&z, MAX_WBITS + 16) != Z_OK) {
        return false;
    }
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)a->bytes;
    rc = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (rc == Z_STREAM_END && z.avail_out == 0) {
        strbuf_commit(out, a->bytes);
    }
    return rc == Z_STREAM_END;
}

static void add_body(const struct page_asset *a, const struct httpd_request *req, struct httpd_response *resp)
{
    if (accepts(httpd_request_header(req, "Accept-Encoding"), STR("gzip"))) {
        add(resp, "Content-Encoding", "gzip");
        strbuf_add(&resp->body, a->gzip, (size_t)(a->gzip_end - a->gzip));
    } else if (!inflate_into(&resp->body, a)) {
        httpd_response_text(resp, 500, "the page cannot be unpacked\n");
    }
}

static enum httpd_action send_asset(const struct page_asset *a, const struct httpd_request *req,
                                    struct httpd_response *resp)
{
    for (size_t i = 0; i < ARRAY_LEN(strict_headers); i++) {
        add(resp, strict_headers[i].name, strict_headers[i].value);
    }
    add(resp, "Cache-Control", a->immutable ? "public, max-age=31536000, immutable" : "no-cache");
    add(resp, "Vary", a->immutable ? "Accept-Encoding" : "Accept, Accept-Encoding");
    add(resp, "ETag", a->etag);
    if (state_is_unchanged(req, str_of(a->etag))) {
        resp->status = 304;
        resp->content_type = NULL;
        return HTTPD_REPLY;
    }
    resp->content_type = a->content_type;
    add_body(a, req, resp);
    return HTTPD_REPLY;
}

static const struct page_asset *find(struct str name)
{
    for (size_t i = 0; i < page_asset_n; i++) {
        if (str_eq(str_of(page_assets[i].name), name)) {
            return &page_assets[i];
        }
    }
    return NULL;
}

enum httpd_action page_handle_index(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct page_asset *a = find(STR("index.html"));

    (void)ctx;
    BUG_ON(a == NULL); /* the build sees to it */
    return send_asset(a, req, resp);
}

static enum httpd_action handle_door(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    const struct page_door *p = ctx;

    return page_is_wanted(req) ? page_handle_index(NULL, req, resp) : p->handle(p->ctx, req, resp);
}

void page_open_door(struct page_door *p, struct httpd_route *route)
{
    *p = (struct page_door){route->handle, route->ctx};
    route->handle = handle_door;
    route->ctx = p;
}

enum httpd_action page_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str path = httpd_request_path(req);
    const struct page_asset *a = find(str_drop(path, sizeof(PAGE_PREFIX) - 1));

    (void)ctx;
    if (a == NULL || str_eq(str_of(a->name), STR("index.html"))) {
        httpd_response_text(resp, 404, "no such file of the page\n");
        add(resp, "X-Content-Type-Options", "nosniff");
        return HTTPD_REPLY;
    }
    return send_asset(a, req, resp);
}
