/* httpd/response.c - responses, and how they are handed to libmicrohttpd. */
#include "httpd/server_internal.h"

#include "base/bug.h"
#include "httpd/stream.h"

#include <stdlib.h>
#include <string.h>

void httpd_response_init(struct httpd_response *resp, size_t body_max_bytes)
{
    resp->status = 200;
    resp->content_type = "application/json";
    strbuf_init(&resp->body, body_max_bytes);
    resp->stream = NULL;
    resp->close_connection = false;
    resp->header_n = 0; /* headers[] is not cleared: over a kilobyte, read only up to header_n */
}

void httpd_response_fini(struct httpd_response *resp)
{
    const size_t max = resp->body.max_bytes;
    strbuf_fini(&resp->body);
    httpd_stream_unref(resp->stream);
    httpd_response_init(resp, max);
}

bool httpd_response_header(struct httpd_response *resp, const char *name, struct str value)
{
    if (resp->header_n == HTTPD_RESPONSE_HEADERS_MAX || value.n == 0 || value.n >= HTTPD_RESPONSE_HEADER_VALUE_MAX) {
        return false;
    }
    for (size_t i = 0; i < value.n; i++) {
        const unsigned char c = (unsigned char)value.p[i];
        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    char *copy = resp->headers[resp->header_n].value;
    memcpy(copy, value.p, value.n);
    copy[value.n] = '\0';
    resp->headers[resp->header_n].name = name;
    resp->header_n++;
    return true;
}

void httpd_response_text(struct httpd_response *resp, int status, const char *text)
{
    httpd_response_fini(resp);
    resp->status = status;
    resp->content_type = "text/plain; charset=utf-8";
    strbuf_add_cstr(&resp->body, text);
}

static struct MHD_Response *plain_response(struct httpd_response *resp)
{
    size_t n = 0;
    char *p = strbuf_take(&resp->body, &n);
    struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback(n, p, free);
    if (r == NULL) {
        free(p);
    }
    return r;
}

static void add_headers(struct httpd_request *req, struct MHD_Response *r)
{
    const struct httpd_response *resp = &req->response;
    if (resp->content_type != NULL) {
        MHD_add_response_header(r, "Content-Type", resp->content_type);
    }
    for (size_t i = 0; i < resp->header_n; i++) {
        MHD_add_response_header(r, resp->headers[i].name, resp->headers[i].value);
    }
    if (resp->close_connection || atomic_load(&req->server->draining)) {
        MHD_add_response_header(r, "Connection", "close");
    }
}

enum MHD_Result httpd_response_queue(struct httpd_request *req)
{
    struct httpd_response *resp = &req->response;
    if (resp->stream == NULL && resp->body.overflowed) {
        httpd_response_text(resp, 500, "reply larger than the server's limit");
    }
    const bool streamed = resp->stream != NULL;
    httpd_conn_sending(req->conn);
    struct MHD_Response *r = streamed ? httpd_stream_response(req) : plain_response(resp);
    if (r == NULL) {
        httpd_response_fini(resp);
        return MHD_NO; /* out of memory: the connection closes */
    }
    add_headers(req, r);
    const enum MHD_Result result = MHD_queue_response(req->mhd, (unsigned)resp->status, r);
    if (result == MHD_YES) {
        req->status_sent = resp->status;
    }
    MHD_destroy_response(r); /* libmicrohttpd keeps its own reference */
    httpd_response_fini(resp);
    return result;
}
