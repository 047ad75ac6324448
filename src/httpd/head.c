/* httpd/head.c - checks the head of a request, decodes its target and finds its route.
 *
 * libmicrohttpd 0.9.75 lets a good deal pass (two Content-Lengths, Content-Length beside
 * Transfer-Encoding, any Transfer-Encoding at all); two parties that read one message differently
 * are how requests are smuggled, so all of it is refused here. What stands between the words of a
 * head is for head_bytes.c.
 */
#include "httpd/server_internal.h"

#include "base/bug.h"

#include <stdio.h>
#include <string.h>

static void fault(struct httpd_request *req, int status, const char *text)
{
    if (req->fault_status == 0) {
        req->fault_status = status;
        req->fault_text = text;
        req->discard = true;
    }
}

/* The target could not be decoded: because of what it says, or for want of memory. */
static void undecodable(struct httpd_request *req, const char *text)
{
    if (req->arena.refused) {
        fault(req, 503, "too many request bytes in flight, try again");
    } else {
        fault(req, 400, req->arena.overflowed ? "request head too large" : text);
    }
}

struct head_scan {
    unsigned host_n, length_n, encoding_n;
    bool chunked, content_encoding, bad_expect, bad_name, control_bytes;
    struct str host, length, content_type;
    struct head_bytes bytes;
};

static bool has_control_bytes(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* RFC 9110 5.6.2 */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return s.n > 0;
}

/* RFC 3986 allows less; the rest is for the router. */
static bool is_visible_ascii(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= 0x20 || s.p[i] >= 0x7f) {
            return false;
        }
    }
    return true;
}

static enum MHD_Result scan_header(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_n, const char *value,
                                   size_t value_n)
{
    (void)kind;
    struct head_scan *scan = cls;
    const struct str name = {key, key_n};
    const struct str text = {value, value == NULL ? 0 : value_n};
    if (str_ieq(name, STR("Host"))) {
        scan->host_n++;
        scan->host = text;
    } else if (str_ieq(name, STR("Content-Length"))) {
        scan->length_n++;
        scan->length = text;
    } else if (str_ieq(name, STR("Transfer-Encoding"))) {
        scan->encoding_n++;
        scan->chunked = str_ieq(text, STR("chunked"));
    } else if (str_ieq(name, STR("Content-Encoding"))) {
        scan->content_encoding = true;
    } else if (str_ieq(name, STR("Content-Type"))) {
        scan->content_type = text;
    } else if (str_ieq(name, STR("Expect"))) {
        scan->bad_expect |= !str_ieq(str_trim(text), STR("100-continue"));
    }
    httpd_head_bytes_header(&scan->bytes, name, text);
    scan->bad_name |= !is_token(name);
    scan->control_bytes |= has_control_bytes(text.p, text.n);
    return MHD_YES;
}

/* False: where the message ends is not certain. */
static bool check_framing(struct httpd_request *req, const struct head_scan *scan)
{
    uint64_t length = 0;
    if (!httpd_head_bytes_end(&scan->bytes)) {
        fault(req, 400, "malformed head: lines end in CRLF, are not folded and hold no NUL");
    } else if (scan->bad_name || scan->control_bytes) {
        fault(req, 400, "control bytes in a header, or a name that is not a token");
    } else if (scan->length_n > 1) {
        fault(req, 400, "more than one Content-Length header");
    } else if (scan->encoding_n > 1) {
        fault(req, 400, "more than one Transfer-Encoding header");
    } else if (scan->encoding_n != 0 && !scan->chunked) {
        fault(req, 400, "Transfer-Encoding must be exactly \"chunked\"");
    } else if (scan->encoding_n != 0 && scan->length_n != 0) {
        fault(req, 400, "Content-Length and Transfer-Encoding together");
    } else if (scan->encoding_n != 0) {
        fault(req, 411, "a body needs a Content-Length: chunked bodies are not supported");
    } else if (scan->length_n != 0 && !str_to_u64(scan->length, SIZE_MAX - 1, &length)) {
        fault(req, 400, "malformed Content-Length header");
    }
    req->content_length = (size_t)length;
    if (scan->length_n != 0) {
        req->head_end = (uintptr_t)scan->bytes.last.p + scan->bytes.last.n + 4; /* CRLF CRLF */
    }
    return req->fault_status == 0;
}

/* "name:port" and "[::1]:port" without the port; the brackets stay. */
static struct str host_without_port(struct str host)
{
    size_t n = host.n;

    while (n > 0 && host.p[n - 1] >= '0' && host.p[n - 1] <= '9') {
        n--;
    }
    return n > 0 && host.p[n - 1] == ':' ? (struct str){host.p, n - 1} : host;
}

static bool is_ip_literal(struct str host)
{
    struct address ignored;
    char text[ADDRESS_TEXT_MAX];
    int n = snprintf(text, sizeof(text), "%.*s:1", STR_ARG(host));

    return n > 0 && n < (int)sizeof(text) && address_parse((struct str){text, (size_t)n}, &ignored, NULL) == 0 &&
           !ignored.any;
}

/* A web page whose name is made to mean this address sends that name here; no page can make a browser send an address
 * that it does not come from. address_parse takes "localhost", too. */
static bool host_is_ours(const struct httpd_listener *l, struct str host)
{
    struct str name = host_without_port(str_trim(host));

    if (!l->config.check_host || is_ip_literal(name)) {
        return true;
    }
    for (size_t i = 0; i < l->config.host_n; i++) {
        if (str_ieq(name, l->config.hosts[i])) {
            return true;
        }
    }
    return str_ieq(name, STR("localhost"));
}

/* Where the message ends is clear; whether it is acceptable is another matter. */
static void check_meaning(struct httpd_request *req, const struct head_scan *scan, struct str version)
{
    if (!str_eq(version, STR("HTTP/1.1")) && !str_eq(version, STR("HTTP/1.0"))) {
        fault(req, 505, "only HTTP/1.1 is supported");
    } else if (scan->host_n > 1) {
        fault(req, 400, "more than one Host header");
    } else if (scan->host_n == 1 && !host_is_ours(req->listener, scan->host)) {
        fault(req, 421, "not a name of this listener: call it by address, or list the name in serving.opsAllowedHosts");
    } else if (scan->bad_expect) {
        fault(req, 417, "only \"Expect: 100-continue\" is understood");
    } else if (scan->content_encoding) {
        fault(req, 415, "Content-Encoding is not supported: send the body as it is");
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

/* Undoes percent escapes into the arena; false on a malformed one, a NUL, or a full arena. */
static bool unescape(struct httpd_request *req, struct str in, bool plus_is_blank, struct str *ret)
{
    char *out = arena_alloc(&req->arena, in.n + 1);
    if (out == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c == '%') {
            const int hi = i + 2 < in.n ? hex_value(in.p[i + 1]) : -1;
            const int lo = i + 2 < in.n ? hex_value(in.p[i + 2]) : -1;
            if (hi < 0 || lo < 0) {
                return false;
            }
            c = (char)(hi * 16 + lo);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        if (c == '\0') {
            return false;
        }
        out[n++] = c;
    }
    *ret = (struct str){out, n};
    return true;
}

static void decode_query(struct httpd_request *req, struct str query)
{
    req->query = ARENA_ARRAY(&req->arena, QUERY_PAIRS_MAX, struct query_pair);
    struct str part;
    if (req->query == NULL) {
        undecodable(req, "malformed query");
    }
    while (req->query != NULL && str_split(&query, '&', &part)) {
        if (part.n == 0) {
            continue;
        }
        if (req->query_n == QUERY_PAIRS_MAX) {
            fault(req, 400, "too many query parameters");
            return;
        }
        struct query_pair *pair = &req->query[req->query_n];
        struct str name = STR_NULL;
        struct str value = part;
        str_split(&value, '=', &name);
        if (!unescape(req, name, true, &pair->name) || !unescape(req, value, true, &pair->value)) {
            undecodable(req, "malformed query");
            return;
        }
        req->query_n++;
    }
}

static void decode_target(struct httpd_request *req)
{
    struct str rest = req->target;
    struct str path = STR_NULL;
    str_split(&rest, '?', &path);
    if (path.n == 0 || path.p[0] != '/' || !is_visible_ascii(req->target) || !unescape(req, path, false, &req->path)) {
        undecodable(req, "malformed request target");
        return;
    }
    if (rest.n > 0) {
        decode_query(req, rest);
    }
}

static bool method_matches(const struct httpd_route *route, struct str method)
{
    return route->method == NULL || str_eq_cstr(method, route->method) ||
           (str_eq(method, STR("HEAD")) && strcmp(route->method, "GET") == 0);
}

static bool path_matches(const struct httpd_route *route, struct str path)
{
    const struct str own = str_of(route->path);
    return (route->flags & HTTPD_ROUTE_PREFIX) != 0 ? str_starts(path, own) : str_eq(path, own);
}

static void add_allowed(struct httpd_request *req, const char *method)
{
    const size_t n = strlen(req->allow);
    if (strstr(req->allow, method) == NULL && n + strlen(method) + 3 <= sizeof(req->allow)) {
        snprintf(req->allow + n, sizeof(req->allow) - n, "%s%s", n == 0 ? "" : ", ", method);
    }
}

static void find_route(struct httpd_request *req)
{
    const struct httpd_listener_config *config = &req->listener->config;
    for (unsigned pass = 0; pass < 2; pass++) {
        const unsigned wanted = pass == 0 ? 0 : HTTPD_ROUTE_PREFIX;
        for (size_t i = 0; i < config->route_n; i++) {
            const struct httpd_route *route = &config->routes[i];
            if ((route->flags & HTTPD_ROUTE_PREFIX) != wanted || !path_matches(route, req->path)) {
                continue;
            }
            if (method_matches(route, req->method)) {
                req->route = route;
                return;
            }
            add_allowed(req, route->method);
            if (strcmp(route->method, "GET") == 0) {
                add_allowed(req, "HEAD");
            }
        }
    }
    if (req->allow[0] != '\0') {
        fault(req, 405, "method not allowed");
    } else {
        fault(req, 404, "no such path");
    }
}

/* "application/json", parameters allowed. */
static bool is_json(struct str content_type)
{
    struct str media = STR_NULL;
    str_split(&content_type, ';', &media);
    return str_ieq(str_trim(media), STR("application/json"));
}

static void accept_body(struct httpd_request *req, const struct head_scan *scan)
{
    if ((req->route->flags & HTTPD_ROUTE_JSON) != 0 && !is_json(scan->content_type)) {
        fault(req, 415, "Content-Type must be application/json");
        return;
    }
    req->body_max =
        req->route->body_max_bytes != 0 ? req->route->body_max_bytes : atomic_load(&req->server->body_max_bytes);
    if (req->content_length != SIZE_MAX && req->content_length > req->body_max) {
        req->body_state = HTTPD_BODY_TOO_LARGE;
        req->discard = true;
    }
}

bool httpd_request_read_head(struct httpd_request *req, const char *method, const char *version)
{
    struct head_scan scan = {.host_n = 0};
    httpd_head_bytes_begin(&scan.bytes, str_of(method), req->raw_target, str_of(version));
    MHD_get_connection_values_n(req->mhd, MHD_HEADER_KIND, scan_header, &scan);
    req->method = arena_str(&req->arena, str_of(method));
    if (!check_framing(req, &scan)) {
        return false;
    }
    check_meaning(req, &scan, str_of(version));
    decode_target(req);
    if (req->fault_status != 0) {
        return true;
    }
    find_route(req);
    if (req->route != NULL) {
        accept_body(req, &scan);
    }
    return true;
}
