#include "api_fixture.h"

#include "base/bug.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api_fixture f;

static bool handle(void *ctx, const struct http_in *in);

static void observe(void *ctx, const char *verb, const char *resource, int status, int64_t duration_ns)
{
    (void)ctx;
    pthread_mutex_lock(&f.lock);
    snprintf(f.observed, sizeof(f.observed), "%s %s %d %s", verb, resource, status,
             duration_ns >= 0 ? "took" : "negative");
    pthread_mutex_unlock(&f.lock);
}

int api_setup(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    BUG_ON(pthread_mutex_init(&f.lock, NULL) != 0 || pthread_cond_init(&f.changed, NULL) != 0);
    temp_dir_init(&f.dir);
    snprintf(f.token_file, sizeof(f.token_file), "%s/token", f.dir.path);
    f.server = http_server_start(handle, NULL);
    snprintf(f.server_url, sizeof(f.server_url), "http://127.0.0.1:%u", http_server_port(f.server));
    f.creds.server = f.server_url;
    f.options.observe = observe;
    return 0;
}

int api_teardown(void **state)
{
    (void)state;
    kube_client_free(f.client);
    if (f.server != NULL) {
        http_server_stop(f.server);
    }
    temp_dir_fini(&f.dir);
    pthread_cond_destroy(&f.changed);
    pthread_mutex_destroy(&f.lock);
    return 0;
}

void connect_client(void)
{
    struct err err;
    if (kube_client_new(&f.creds, &f.options, &f.client, &err) != 0) {
        fail_msg("no client: %s", err.msg);
    }
}

static void record(const struct http_in *in)
{
    pthread_mutex_lock(&f.lock);
    f.seen_n++;
    snprintf(f.last, sizeof(f.last), "%s %s\n%s\n%s", in->method, in->target, in->head, in->body);
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
}

static void wait_for_release(void)
{
    pthread_mutex_lock(&f.lock);
    while (!f.release) {
        pthread_cond_wait(&f.changed, &f.lock);
    }
    pthread_mutex_unlock(&f.lock);
}

void release(void)
{
    pthread_mutex_lock(&f.lock);
    f.release = true;
    pthread_cond_broadcast(&f.changed);
    pthread_mutex_unlock(&f.lock);
}

void wait_until_seen(unsigned n)
{
    pthread_mutex_lock(&f.lock);
    while (f.seen_n < n) {
        pthread_cond_wait(&f.changed, &f.lock);
    }
    pthread_mutex_unlock(&f.lock);
}

static void reply_token(const struct http_in *in)
{
    char value[128] = "none";
    http_header(in, "Authorization", value, sizeof(value));
    http_reply(in, strstr(value, "bad") != NULL ? 401 : 200, "", value);
}

static void reply_chunks(const struct http_in *in)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3\r\none\r\n4\r\n two\r\n0\r\n\r\n";
    http_send(in, text, sizeof(text) - 1);
}

/* "one two", gzipped; `n` bytes of it, the last alone, to a client that offers it. */
static void reply_gzip(const struct http_in *in, size_t n)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 27\r\n\r\n";
    static const char text[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\x03\xcb\xcf\x4b\x55\x28\x29\xcf"
                               "\x07\x00\x2f\x89\x07\xcd\x07\x00\x00\x00";
    char offered[64];
    if (!http_header(in, "Accept-Encoding", offered, sizeof(offered)) || strcmp(offered, "gzip") != 0) {
        http_reply(in, 200, "", "plain");
        return;
    }
    http_send(in, head, sizeof(head) - 1);
    http_send(in, text, n - 1);
    http_send(in, text + n - 1, 1);
}

/* The path says what the server does. */
static bool handle(void *ctx, const struct http_in *in)
{
    static const char forbidden[] = "{\"kind\":\"Status\",\"message\":\"pods is forbidden: User "
                                    "\\\"u\\\" cannot list\",\"code\":403}";
    const char *path = in->target;
    (void)ctx;
    record(in);
    if (strncmp(path, "/status/", 8) == 0) {
        http_reply(in, (int)strtol(path + 8, NULL, 10), "", "{}");
    } else if (strcmp(path, "/retry") == 0) {
        http_reply(in, 429, "Retry-After: 7\r\n", "");
    } else if (strcmp(path, "/redirect") == 0) {
        http_reply(in, 302, "Location: /status/200\r\n", "");
    } else if (strcmp(path, "/forbidden") == 0) {
        http_reply(in, 403, "Content-Type: application/json\r\n", forbidden);
    } else if (strcmp(path, "/plain") == 0) {
        http_reply(in, 503, "", "nothing is recorded here\r\n");
    } else if (strcmp(path, "/page") == 0) {
        http_reply(in, 502, "", "<html>Bad Gateway</html>");
    } else if (strcmp(path, "/token") == 0) {
        reply_token(in);
    } else if (strcmp(path, "/drop") == 0) {
        return false;
    } else if (strcmp(path, "/half") == 0) {
        http_send(in, "HTTP/1.1 201 x\r\nContent-Length: 100\r\n\r\nabc", 43);
        return false;
    } else if (strcmp(path, "/garbage") == 0) {
        http_send(in, "\x16\x03\x01garbage\r\n\r\n", 14);
        return false;
    } else if (strcmp(path, "/hang") == 0) {
        http_hang(in);
        return false;
    } else if (strcmp(path, "/gate") == 0) {
        wait_for_release();
        http_reply(in, 200, "", "through");
    } else if (strcmp(path, "/chunks") == 0) {
        reply_chunks(in);
    } else if (strcmp(path, "/gzip") == 0) {
        reply_gzip(in, 27);
    } else if (strcmp(path, "/gzip-half") == 0) {
        reply_gzip(in, 14);
        return false;
    } else if (strcmp(path, "/trickle") == 0) {
        static const char start[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nevent\r\n";
        http_send(in, start, sizeof(start) - 1);
        http_hang(in);
        return false;
    } else if (strcmp(path, "/second-drops") == 0) {
        if (in->nth == 0) {
            http_reply(in, 200, "", "first");
            return true;
        }
        return false;
    } else {
        http_reply(in, 200, "", "ok");
    }
    return true;
}

struct kube_request get(const char *path)
{
    return (struct kube_request){
        .method = "GET",
        .path = path,
        .deadline_ms = 30000,
        .verb = "get",
        .resource = "pods",
    };
}

struct kube_request post(const char *path)
{
    struct kube_request r = get(path);
    r.method = "POST";
    r.body = STR("{\"a\":1}");
    r.verb = "create";
    return r;
}

void expect(const struct kube_request *request, enum kube_outcome_kind kind, bool sent, int status)
{
    struct call_result r;
    call_now(f.client, request, &r);
    if (r.outcome.kind != kind || r.outcome.maybe_sent != sent || r.outcome.http_status != status) {
        fail_msg("%s %s: %s, sent %d, status %d, %s", request->method, request->path, kube_outcome_name(r.outcome.kind),
                 r.outcome.maybe_sent, r.outcome.http_status, r.outcome.detail);
    }
}
