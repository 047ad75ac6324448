/* A client for the tests of the simulated API server: one call a function, and a watch one can wait
 * on. */
#ifndef SUPPORT_HTTP_H
#define SUPPORT_HTTP_H

#include "base/strbuf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct apiserver;

struct http_reply {
    int status;      /* 0: the transfer failed */
    int curl_code;   /* CURLE_OK or why it failed */
    int retry_after; /* -1: no such header */
    bool json_type;  /* Content-Type: application/json */
    struct strbuf body;
    cJSON *doc; /* of the body; NULL when it is not JSON */
};

/* `path` follows the server's URL. body NULL: none. */
struct http_reply http_call(struct apiserver *a, const char *method, const char *path, const char *body);
struct http_reply http_patch(struct apiserver *a, const char *path, const char *content_type, const char *body);
void http_reply_fini(struct http_reply *r);

/* The call, its status asserted, nothing kept. */
void http_expect(struct apiserver *a, const char *method, const char *path, const char *body, int status);

const char *json_text(const cJSON *o, const char *path); /* "" when absent */

/* ---- watches ---- */

struct watcher;
/* Opens a watch; fails the test unless it answers 200. */
struct watcher *watcher_open(struct apiserver *a, const char *path);
/* The next event: {"type":...,"object":...}, which the caller deletes; NULL at the end of the
 * stream. Waits at most 10 s, then fails the test. */
cJSON *watcher_next(struct watcher *w);
/* Asserts the type and the name of the next event; returns its resourceVersion as a number. */
unsigned long watcher_expect(struct watcher *w, const char *type, const char *name);
/* How the transfer ended; watcher_next must have returned NULL. */
int watcher_curl_code(const struct watcher *w);
void watcher_close(struct watcher *w);

#endif
