/* httpd/request_view.c - a request as its handler sees it. */
#include "httpd/server_internal.h"

#include <stdlib.h>

struct str httpd_request_method(const struct httpd_request *req)
{
    return req->method;
}

struct str httpd_request_path(const struct httpd_request *req)
{
    return req->path;
}

struct str httpd_request_body(const struct httpd_request *req)
{
    return (struct str){req->body_n != 0 ? req->body : NULL, req->body_n};
}

enum httpd_body httpd_request_body_state(const struct httpd_request *req)
{
    return req->body_state;
}

bool httpd_request_query(const struct httpd_request *req, const char *name, struct str *ret_value)
{
    for (size_t i = 0; i < req->query_n; i++) {
        if (str_eq_cstr(req->query[i].name, name)) {
            *ret_value = req->query[i].value;
            return true;
        }
    }
    return false;
}

bool httpd_request_query_next(const struct httpd_request *req, size_t *at, struct str *ret_name, struct str *ret_value)
{
    if (*at >= req->query_n) {
        return false;
    }
    *ret_name = req->query[*at].name;
    *ret_value = req->query[*at].value;
    (*at)++;
    return true;
}

struct str httpd_request_header(const struct httpd_request *req, const char *name)
{
    return str_of(MHD_lookup_connection_value(req->mhd, MHD_HEADER_KIND, name));
}

struct str httpd_request_peer(struct httpd_request *req)
{
    const char *text = req->conn->peer_text;
    return arena_str(&req->arena, text[0] != '\0' ? str_of(text) : STR("unknown"));
}

struct str httpd_request_client(struct httpd_request *req)
{
    const char *name = req->conn->client_name;
    return name[0] != '\0' ? arena_str(&req->arena, str_of(name)) : STR_NULL;
}

struct arena *httpd_request_arena(struct httpd_request *req)
{
    return &req->arena;
}

void httpd_request_forget(struct httpd_request *req)
{
    struct str *const kept[] = {&req->method, &req->path};
    char *copies[ARRAY_LEN(kept)];
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        copies[i] = str_dup(*kept[i]);
    }
    arena_reset(&req->arena);
    req->query = NULL;
    req->query_n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        *kept[i] = arena_str(&req->arena, str_of(copies[i]));
        free(copies[i]);
    }
}

void *httpd_request_note(const struct httpd_request *req)
{
    return req->note;
}

int64_t httpd_request_start_ns(const struct httpd_request *req)
{
    return req->start_ns;
}
