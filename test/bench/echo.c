/* bench_echo: what HTTP alone costs. The HTTP layer of fgpu, and a handler that answers a POST with
 * bytes it was given before by a PUT to the same path. So the same request and reply bytes travel
 * through the same library, and the ratio of the two times is what fgpu itself adds.
 *
 * Prints its URL; ends when its standard input is closed.
 */
#include "base/bug.h"
#include "support/serve.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PATHS_MAX = 8 };

struct canned {
    struct strbuf path, body;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct canned canned[PATHS_MAX];
static size_t canned_n;

static struct canned *find(struct str path)
{
    for (size_t i = 0; i < canned_n; i++) {
        if (str_eq(strbuf_view(&canned[i].path), path)) {
            return &canned[i];
        }
    }
    return NULL;
}

static enum httpd_action handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct str path = httpd_request_path(req), body = httpd_request_body(req);
    struct canned *c;

    (void)ctx;
    pthread_mutex_lock(&lock);
    c = find(path);
    if (str_eq(httpd_request_method(req), STR("PUT"))) {
        if (c == NULL) {
            BUG_ON(canned_n == PATHS_MAX);
            c = &canned[canned_n++];
            strbuf_init(&c->path, 256);
            strbuf_init(&c->body, 64 << 20);
            strbuf_add_str(&c->path, path);
        }
        strbuf_reset(&c->body);
        strbuf_add_str(&c->body, body);
    } else if (c != NULL) {
        strbuf_add(&resp->body, c->body.p, c->body.n);
    }
    pthread_mutex_unlock(&lock);
    return HTTPD_REPLY;
}

int main(void)
{
    const struct httpd_route route = {.path = "/", .handle = handle, .flags = HTTPD_ROUTE_PREFIX};
    /* As the listener of the verbs: cmd/service.c. */
    const struct httpd_listener_config listener = {
        .name = "echo", .address = "127.0.0.1:0", .routes = &route, .route_n = 1, .thread_n = 2};

    return serve_until_stdin_ends(&listener);
}
