#include "demo/apiserver/apiserver_internal.h"
#include "demo/apiserver/watch_internal.h"

#include "base/bug.h"
#include "httpd/stream.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_CHUNK_BYTES 65536
#define STREAM_BUFFER_MAX (64 << 20)

struct stream {
    struct stream *next, *prev; /* under streams.lock */
    struct streams *owner;
    struct httpd_stream *http; /* one reference */
    struct watch *watch;       /* used by read() only, which never runs twice at once */
    struct strbuf lines;
    size_t sent;
    struct fault_flow flow;
    size_t inject_n; /* bytes of flow.inject still in front of everything */
    uint32_t own_n;  /* bytes sent behind it */
    atomic_int_fast64_t due_ns;
    atomic_bool cut;
};

void streams_init(struct streams *s, const struct clock *clock)
{
    *s = (struct streams){.clock = clock};
    mutex_init(&s->lock, "demo streams");
}

void streams_fini(struct streams *s)
{
    BUG_ON(s->first);
    mutex_destroy(&s->lock);
}

/* The next bytes are there, or what comes instead of them. */
static ssize_t stream_fill(struct stream *t)
{
    if (t->sent < t->lines.n) {
        return 1;
    }
    if (!t->watch) {
        return HTTPD_STREAM_END;
    }
    strbuf_reset(&t->lines);
    t->sent = 0;
    enum watch_next next = watch_next(t->watch, &t->lines, STREAM_CHUNK_BYTES, clock_mono_ns(t->owner->clock));
    atomic_store(&t->due_ns, watch_due_ns(t->watch));
    BUG_ON(t->lines.overflowed);
    switch (next) {
    case WATCH_WAIT:
        return HTTPD_STREAM_WAIT;
    case WATCH_END:
        return HTTPD_STREAM_END;
    case WATCH_LINES:
        break;
    }
    return 1;
}

/* What the fault makes of a body that has gone as far as it may. */
static ssize_t stream_then(struct stream *t)
{
    switch (t->flow.then) {
    case FAULT_END:
        return HTTPD_STREAM_END;
    case FAULT_CUT:
        return HTTPD_STREAM_ABORT;
    case FAULT_STALL:
        atomic_store(&t->due_ns, INT64_MAX);
        return HTTPD_STREAM_WAIT;
    case FAULT_GO_ON:
    case FAULT_THEN__MAX:
        break;
    }
    BUG("nothing follows");
}

static ssize_t stream_read(void *ctx, char *buf, size_t max)
{
    struct stream *t = ctx;
    bool limited = t->flow.then != FAULT_GO_ON && t->inject_n == 0;
    if (atomic_load(&t->cut)) {
        return HTTPD_STREAM_ABORT;
    }
    if (limited && t->own_n == t->flow.after_bytes) {
        return stream_then(t);
    }
    ssize_t rc = stream_fill(t);
    if (rc <= 0) {
        return rc;
    }
    size_t n = t->inject_n > 0 ? t->inject_n : t->lines.n - t->sent;
    n = n < max ? n : max;
    n = t->flow.split_bytes > 0 && n > t->flow.split_bytes ? t->flow.split_bytes : n;
    n = limited && n > t->flow.after_bytes - t->own_n ? t->flow.after_bytes - t->own_n : n;
    memcpy(buf, t->lines.p + t->sent, n);
    t->sent += n;
    if (t->inject_n > 0) {
        t->inject_n -= n;
    } else {
        t->own_n += (uint32_t)n;
    }
    return (ssize_t)n;
}

static void stream_close(void *ctx)
{
    struct stream *t = ctx;
    struct streams *s = t->owner;
    mutex_lock(&s->lock);
    if (t->prev) {
        t->prev->next = t->next;
    } else {
        s->first = t->next;
    }
    if (t->next) {
        t->next->prev = t->prev;
    }
    s->n--;
    mutex_unlock(&s->lock);
    struct httpd_stream *http = t->http;
    watch_free(t->watch);
    strbuf_fini(&t->lines);
    free(t);
    httpd_stream_unref(http);
}

struct httpd_stream *streams_open(struct streams *s, struct watch *w, struct str text, const struct fault_flow *flow)
{
    struct stream *t = xcalloc(1, sizeof(*t));
    t->owner = s;
    t->watch = w;
    t->flow = *flow;
    t->inject_n = strlen(flow->inject);
    strbuf_init(&t->lines, STREAM_BUFFER_MAX);
    strbuf_add_cstr(&t->lines, flow->inject);
    strbuf_add_str(&t->lines, text);
    atomic_init(&t->due_ns, w ? watch_due_ns(w) : INT64_MAX);
    atomic_init(&t->cut, false);
    t->http = httpd_stream_new(&(struct httpd_stream_source){.read = stream_read, .close = stream_close, .ctx = t});
    struct httpd_stream *ret = httpd_stream_ref(t->http);

    mutex_lock(&s->lock);
    t->next = s->first;
    if (t->next) {
        t->next->prev = t;
    }
    s->first = t;
    s->n++;
    mutex_unlock(&s->lock);
    return ret;
}

/* Waking takes locks of the server's, and closing takes ours under them perhaps: so wake without
 * ours. */
static void wake_due(struct streams *s, int64_t due_ns, bool cut)
{
    size_t n = 0;
    mutex_lock(&s->lock);
    struct httpd_stream **due = xcalloc(s->n + 1, sizeof(*due));
    for (struct stream *t = s->first; t; t = t->next) {
        if (atomic_load(&t->due_ns) <= due_ns) {
            if (cut) {
                atomic_store(&t->cut, true);
            }
            due[n++] = httpd_stream_ref(t->http);
        }
    }
    mutex_unlock(&s->lock);
    for (size_t i = 0; i < n; i++) {
        httpd_stream_wake(due[i]);
        httpd_stream_unref(due[i]);
    }
    free(due);
}

void streams_wake(struct streams *s)
{
    wake_due(s, INT64_MAX, false);
}

void streams_tick(struct streams *s)
{
    wake_due(s, clock_mono_ns(s->clock), false);
}

void streams_cut(struct streams *s)
{
    wake_due(s, INT64_MAX, true);
}

uint32_t streams_count(struct streams *s)
{
    mutex_lock(&s->lock);
    uint32_t n = s->n;
    mutex_unlock(&s->lock);
    return n;
}
