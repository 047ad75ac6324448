/* Streamed bodies: data over time, waiting, waking, hang-up, abort, stop. */
#include "base/bug.h"
#include "httpd/stream.h"
#include "httpd/support/fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>

/* A queue of text that a stream reads; counts its reads so that a busy loop shows. */
struct feed {
    pthread_mutex_t lock;
    char text[4096];
    size_t n, at;
    bool ended, fail;
    size_t reads, waits;
    bool closed;
    pthread_cond_t changed;
    struct httpd_stream *stream; /* the producer's reference */
};

static ssize_t feed_read(void *ctx, char *buf, size_t max)
{
    struct feed *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->reads++;
    ssize_t result;
    if (f->at < f->n) {
        const size_t m = f->n - f->at < max ? f->n - f->at : max;
        memcpy(buf, f->text + f->at, m);
        f->at += m;
        result = (ssize_t)m;
    } else if (f->fail) {
        result = HTTPD_STREAM_ABORT;
    } else if (f->ended) {
        result = HTTPD_STREAM_END;
    } else {
        f->waits++;
        result = HTTPD_STREAM_WAIT;
    }
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return result;
}

static void feed_close(void *ctx)
{
    struct feed *f = ctx;
    pthread_mutex_lock(&f->lock);
    BUG_ON(f->closed);
    f->closed = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void feed_init(struct feed *f)
{
    memset(f, 0, sizeof(*f));
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->stream = httpd_stream_new(&(struct httpd_stream_source){.read = feed_read, .close = feed_close, .ctx = f});
}

static void feed_fini(struct feed *f)
{
    httpd_stream_unref(f->stream);
    assert_true(f->closed);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
}

static void feed_add(struct feed *f, const char *text)
{
    pthread_mutex_lock(&f->lock);
    BUG_ON(f->n + strlen(text) > sizeof(f->text));
    memcpy(f->text + f->n, text, strlen(text));
    f->n += strlen(text);
    pthread_mutex_unlock(&f->lock);
    httpd_stream_wake(f->stream);
}

static void feed_end(struct feed *f, bool fail)
{
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    f->fail = fail;
    pthread_mutex_unlock(&f->lock);
    httpd_stream_wake(f->stream);
}

static void feed_wait_closed(struct feed *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->closed) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
}

static void feed_wait_waiting(struct feed *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->waits == 0) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
}

static enum httpd_action handler_stream(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)req;
    struct feed *f = ctx;
    resp->stream = httpd_stream_ref(f->stream);
    return HTTPD_REPLY;
}

/* A client that watches a feed. */
struct watch {
    struct feed feed;
    struct httpd_route route;
    struct fixture f;
    struct client c;
};

static void watch_begin(struct watch *w, const char *method)
{
    char head[64];
    feed_init(&w->feed);
    w->route = (struct httpd_route){.method = "GET", .path = "/watch", .handle = handler_stream, .ctx = &w->feed};
    fixture_start(&w->f, NULL, &w->route, 1);
    client_open(&w->c, w->f.port);
    snprintf(head, sizeof(head), "%s /watch HTTP/1.1\r\nHost: x\r\n\r\n", method);
    client_text(&w->c, head);
}

static void watch_end(struct watch *w)
{
    client_close(&w->c);
    fixture_stop(&w->f);
    feed_fini(&w->feed);
}

/* The body has no end. */
static void expect_cut(struct watch *w)
{
    struct reply r;
    assert_true(client_reply(&w->c, &r));
    assert_false(r.complete);
    reply_fini(&r);
}

static void stream__data_over_time__each_piece_arrives_when_produced(void **state)
{
    struct watch w;
    watch_begin(&w, "GET");
    for (int i = 0; i < 50; i++) {
        char event[32];
        snprintf(event, sizeof(event), "{\"event\":%d}\n", i);
        feed_add(&w.feed, event);
        assert_true(client_wait_for(&w.c, event)); /* before the next one is produced */
    }
    poll(NULL, 0, 300); /* would be thousands of reads if waiting were a loop */
    pthread_mutex_lock(&w.feed.lock);
    const size_t reads = w.feed.reads;
    pthread_mutex_unlock(&w.feed.lock);
    assert_in_range(reads, 50, 300);
    feed_end(&w.feed, false);
    struct reply r;
    assert_true(client_reply(&w.c, &r));
    assert_true(r.complete);
    assert_int_equal(r.body_n, w.feed.n);
    assert_memory_equal(r.body, w.feed.text, w.feed.n);
    assert_false(reply_has(&r, "Connection: close"));
    reply_fini(&r);
    feed_wait_closed(&w.feed);
    httpd_stream_wake(w.feed.stream); /* over: nothing happens */
    watch_end(&w);
}

static void stream__source_aborts__the_client_sees_a_cut_body(void **state)
{
    struct watch w;
    watch_begin(&w, "GET");
    feed_add(&w.feed, "half");
    assert_true(client_wait_for(&w.c, "half"));
    feed_end(&w.feed, true);
    expect_cut(&w);
    watch_end(&w);
}

static void stream__client_hangs_up_while_waiting__source_is_closed(void **state)
{
    struct watch w;
    watch_begin(&w, "GET");
    feed_wait_waiting(&w.feed);
    client_close(&w.c);
    feed_wait_closed(&w.feed); /* without anybody producing anything */
    fixture_stop(&w.f);
    feed_fini(&w.feed);
}

static void stream__server_stops__waiting_stream_is_cut(void **state)
{
    struct watch w;
    watch_begin(&w, "GET");
    feed_add(&w.feed, "half");
    assert_true(client_wait_for(&w.c, "half"));
    feed_wait_waiting(&w.feed);
    httpd_server_stop(w.f.server, CLIENT_PATIENCE_S * 1000); /* does not wait for the stream */
    expect_cut(&w);
    watch_end(&w);
}

/* Never ends, always has more. */
static ssize_t endless_read(void *ctx, char *buf, size_t max)
{
    (void)ctx;
    memset(buf, 'z', max);
    return (ssize_t)max;
}

static enum httpd_action handler_endless(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)req;
    resp->stream = httpd_stream_new(&(struct httpd_stream_source){.read = endless_read});
    return HTTPD_REPLY;
}

static void stream__client_that_does_not_read__does_not_hold_up_the_stop(void **state)
{
    const struct httpd_route route = {.method = "GET", .path = "/z", .handle = handler_endless};
    struct fixture f;
    fixture_start(&f, NULL, &route, 1);
    struct client c;
    client_open(&c, f.port);
    client_text(&c, "GET /z HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_wait_for(&c, "zzzz"));
    fixture_stop(&f);
    client_drain(&c);
    client_close(&c);
}

static void stream__head_or_never_sent__source_is_closed_once(void **state)
{
    struct watch w;
    watch_begin(&w, "HEAD");
    struct reply r;
    assert_true(client_reply_head(&w.c, &r));
    assert_int_equal(r.status, 200);
    reply_fini(&r);
    client_close(&w.c);
    fixture_stop(&w.f);
    assert_int_equal(w.feed.reads, 0);
    feed_fini(&w.feed);

    feed_init(&w.feed);
    struct httpd_response resp;
    httpd_response_init(&resp, 100);
    resp.stream = httpd_stream_ref(w.feed.stream);
    httpd_response_fini(&resp);
    assert_false(w.feed.closed);
    httpd_stream_unref(w.feed.stream);
    assert_true(w.feed.closed);
    w.feed.stream = NULL;
    feed_fini(&w.feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream__data_over_time__each_piece_arrives_when_produced),
        cmocka_unit_test(stream__source_aborts__the_client_sees_a_cut_body),
        cmocka_unit_test(stream__client_hangs_up_while_waiting__source_is_closed),
        cmocka_unit_test(stream__server_stops__waiting_stream_is_cut),
        cmocka_unit_test(stream__client_that_does_not_read__does_not_hold_up_the_stop),
        cmocka_unit_test(stream__head_or_never_sent__source_is_closed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
