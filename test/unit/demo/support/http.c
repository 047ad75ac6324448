#include "demo/support/http.h"

#include "demo/apiserver/apiserver.h"
#include "support/cmocka.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 10000

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    strbuf_add(ctx, p, size * n);
    return size * n;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct http_reply *r = ctx;
    struct str line = str_trim((struct str){p, size * n});
    if (str_starts(line, STR("Retry-After: "))) {
        uint64_t v;
        assert_true(str_to_u64(str_drop(line, strlen("Retry-After: ")), INT32_MAX, &v));
        r->retry_after = (int)v;
    }
    if (str_eq(line, STR("Content-Type: application/json"))) {
        r->json_type = true;
    }
    return size * n;
}

static CURL *handle_for(struct apiserver *a, const char *path)
{
    char url[2048];
    CURL *c = curl_easy_init();
    assert_non_null(c);
    snprintf(url, sizeof(url), "%s%s", apiserver_url(a), path);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    return c;
}

static struct http_reply send_body(struct apiserver *a, const char *method, const char *path, const char *content_type,
                                   const char *body)
{
    struct http_reply r = {.retry_after = -1};
    char header[128];
    long status = 0;
    CURL *c = handle_for(a, path);
    snprintf(header, sizeof(header), "Content-Type: %s", content_type);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    strbuf_init(&r.body, 64 << 20);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &r.body);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &r);
    if (body) {
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    }
    r.curl_code = (int)curl_easy_perform(c);
    if (r.curl_code == (int)CURLE_OK) {
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
        r.status = (int)status;
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    r.doc = cJSON_ParseWithLength(r.body.p, r.body.n);
    return r;
}

struct http_reply http_call(struct apiserver *a, const char *method, const char *path, const char *body)
{
    return send_body(a, method, path, "application/json", body);
}

struct http_reply http_patch(struct apiserver *a, const char *path, const char *content_type, const char *body)
{
    return send_body(a, "PATCH", path, content_type, body);
}

void http_reply_fini(struct http_reply *r)
{
    strbuf_fini(&r->body);
    cJSON_Delete(r->doc);
    r->doc = NULL;
}

void http_expect(struct apiserver *a, const char *method, const char *path, const char *body, int status)
{
    struct http_reply r = http_call(a, method, path, body);
    if (r.status != status) {
        print_error("%s %s: %s\n", method, path, r.body.p);
    }
    assert_int_equal(r.status, status);
    http_reply_fini(&r);
}

const char *json_text(const cJSON *o, const char *path)
{
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *key = strtok_r(copy, ".", &save); key && o; key = strtok_r(NULL, ".", &save)) {
        o = cJSON_GetObjectItemCaseSensitive(o, key);
    }
    const char *text = cJSON_GetStringValue(o);
    return text ? text : "";
}

/* ---- watches: one transfer in a multi handle, driven while the test waits ---- */

struct watcher {
    CURL *easy;
    CURLM *multi;
    struct strbuf bytes;
    size_t at;
    bool done;
    int code;
};

static void drive(struct watcher *w)
{
    int running = 0, left = 0;
    assert_int_equal(curl_multi_poll(w->multi, NULL, 0, 20, NULL), CURLM_OK);
    assert_int_equal(curl_multi_perform(w->multi, &running), CURLM_OK);
    const CURLMsg *m = curl_multi_info_read(w->multi, &left);
    if (m && m->msg == CURLMSG_DONE) {
        w->done = true;
        w->code = (int)m->data.result;
    }
}

struct watcher *watcher_open(struct apiserver *a, const char *path)
{
    struct watcher *w = calloc(1, sizeof(*w));
    long status = 0;
    assert_non_null(w);
    w->easy = handle_for(a, path);
    w->multi = curl_multi_init();
    strbuf_init(&w->bytes, 64 << 20);
    curl_easy_setopt(w->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(w->easy, CURLOPT_WRITEDATA, &w->bytes);
    curl_multi_add_handle(w->multi, w->easy);
    int running = 0;
    curl_multi_perform(w->multi, &running);
    for (int turn = 0; turn < PATIENCE_MS / 20 && status == 0 && !w->done; turn++) {
        drive(w);
        curl_easy_getinfo(w->easy, CURLINFO_RESPONSE_CODE, &status);
    }
    assert_int_equal(status, 200);
    return w;
}

cJSON *watcher_next(struct watcher *w)
{
    for (int turn = 0; turn < PATIENCE_MS / 20; turn++) {
        const char *line = w->bytes.p + w->at;
        const char *end = memchr(line, '\n', w->bytes.n - w->at);
        if (end) {
            cJSON *event = cJSON_ParseWithLength(line, (size_t)(end - line));
            assert_non_null(event);
            w->at += (size_t)(end - line) + 1;
            return event;
        }
        if (w->done) {
            return NULL;
        }
        drive(w);
    }
    fail_msg("no event within %d ms", PATIENCE_MS);
    return NULL;
}

unsigned long watcher_expect(struct watcher *w, const char *type, const char *name)
{
    cJSON *event = watcher_next(w);
    assert_non_null(event);
    assert_string_equal(json_text(event, "type"), type);
    assert_string_equal(json_text(event, "object.metadata.name"), name);
    unsigned long rv = strtoul(json_text(event, "object.metadata.resourceVersion"), NULL, 10);
    cJSON_Delete(event);
    return rv;
}

int watcher_curl_code(const struct watcher *w)
{
    assert_true(w->done);
    return w->code;
}

void watcher_close(struct watcher *w)
{
    curl_multi_remove_handle(w->multi, w->easy);
    curl_easy_cleanup(w->easy);
    curl_multi_cleanup(w->multi);
    strbuf_fini(&w->bytes);
    free(w);
}
