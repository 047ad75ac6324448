/* Lists and watches, from caches that lag. */
#define SIM_STREAM SIM_NET
#include "api_internal.h"

#include "fiber.h"
#include "net.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS_MAX 64
#define BOOKMARK_MS 20000

/* One request of a stream, from its beginning to its end. */
struct watch {
    struct kube_stream *to; /* NULL: free */
    uint64_t number;        /* tells late events of an earlier user of this place */
    enum kind kind;
    unsigned server;
    bool is_open, silent;
    bool fills; /* it begins with everything, as of `cursor` */
    bool lists; /* a list, or a probe; then it ends */
    bool refused;
    bool probes; /* one object, to hear whether anybody is there */
    bool tells;  /* the ledger; an audit reads for itself */
    char *path;
    uint64_t cursor; /* sent up to here */
};

static struct {
    unsigned server_n;
    uint64_t cache[SERVERS_MAX][2];       /* version up to which it has everything of this kind */
    int64_t cache_due_ns[SERVERS_MAX][2]; /* of the last change that is under way to it */
    struct watch watches[STREAMS_MAX];
    uint64_t number;
} api;

/* ---- documents ---- */

static void send_event(const struct watch *w, const char *type, const char *json)
{
    struct strbuf b;

    strbuf_init(&b, 4U * 1024 * 1024);
    strbuf_addf(&b, "{\"type\":\"%s\",\"object\":", type);
    strbuf_add_cstr(&b, json);
    strbuf_add_cstr(&b, "}\n");
    if (b.n > 100 && sim_chance(20)) { /* in two pieces */
        stream_bytes(w->to, b.p, b.n / 2);
        stream_bytes(w->to, b.p + b.n / 2, b.n - b.n / 2);
    } else {
        stream_bytes(w->to, b.p, b.n);
    }
    strbuf_fini(&b);
}

static void send_bookmark(const struct watch *w, bool ends_fill)
{
    char json[256];

    snprintf(json, sizeof(json),
             "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{%s}}}",
             w->kind == PODS ? "Pod" : "Node", (unsigned long long)w->cursor,
             ends_fill ? "\"k8s.io/initial-events-end\":\"true\"" : "");
    send_event(w, "BOOKMARK", json);
}

/* ---- the process hears ---- */

static void is_told(const struct watch *w)
{
    if (w->tells) {
        stream_tells(w->to, w->kind, w->cursor);
    }
}

static void end(struct watch *w, struct kube_outcome o)
{
    w->is_open = false;
    stream_end(w->to, o);
}

static void expire(struct watch *w)
{
    TRACE("410: a watch of fgpu %u", stream_of(w->to)->number);
    send_event(w, "ERROR",
               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"too old resource "
               "version\",\"reason\":\"Expired\",\"code\":410}");
    end(w, answered_with(200));
}

/* What the cache has and the watch has not sent. */
static void catch_up(struct watch *w)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    const uint64_t have = api.cache[w->server][w->kind];

    while (w->is_open && !w->silent && w->cursor < have) {
        bool gone;
        const struct change *c = etcd_next(w->kind, w->cursor, &gone);

        if (gone) {
            expire(w);
            return;
        }
        if (c == NULL || c->version > have) {
            w->cursor = have;
        } else {
            w->cursor = c->version;
            if (c->shown) {
                send_event(w, types[c->shows], c->json);
            }
        }
        is_told(w);
    }
}

/* ---- caches ---- */

struct advance {
    unsigned server;
    enum kind kind;
    uint64_t to;
};

static void cache_advances(void *ctx)
{
    struct advance *a = ctx;
    uint64_t *at = &api.cache[a->server][a->kind];

    *at = a->to > *at ? a->to : *at;
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        struct watch *w = &api.watches[i];

        if (w->to != NULL && w->is_open && w->server == a->server && w->kind == a->kind) {
            catch_up(w);
        }
    }
    free(a);
}

static void changed(const struct change *c)
{
    if (c->kind > NODES) {
        return;
    }
    for (unsigned i = 0; i < api.server_n; i++) {
        struct advance *a = xmalloc(sizeof(*a));
        int64_t *due = &api.cache_due_ns[i][c->kind];
        const int64_t lag_ms = sim_chance(weather.lag) ? (int64_t)sim_below((uint64_t)weather.lag_ms + 1) : 0;
        const int64_t at_ns = sim_now_ns() + lag_ms * NS_PER_MS + 200000 + (int64_t)sim_below(2000000);

        *a = (struct advance){i, c->kind, c->version};
        *due = at_ns > *due ? at_ns : *due; /* in order */
        sim_at(*due, cache_advances, a);
    }
}

void watch_init(unsigned server_n)
{
    api.server_n = server_n;
    etcd_follow(changed);
}

/* ---- requests ---- */

static void fill(struct watch *w)
{
    w->cursor = etcd_version();
    for (const struct object *o = etcd_first(w->kind); o != NULL; o = o->next) {
        if (w->kind != PODS || o->phase != SUCCEEDED) {
            send_event(w, "ADDED", o->json);
        }
    }
    send_bookmark(w, true);
    is_told(w);
}

static void answer_list(struct watch *w)
{
    uint64_t version = 0;
    char *body = api_page(w->kind, w->path, &version);

    stream_status(w->to, body != NULL ? 200 : 410);
    if (body == NULL) {
        end(w, answered_with(410));
        return;
    }
    stream_bytes(w->to, body, strlen(body));
    free(body);
    if (version != 0 && !w->probes) {
        w->cursor = version;
        is_told(w);
    }
    end(w, answered_with(200));
}

static void open_watch(struct watch *w)
{
    stream_status(w->to, 200);
    if (sim_chance(weather.expire) && !w->fills) {
        expire(w);
        return;
    }
    if (w->fills) {
        fill(w);
    }
    catch_up(w);
}

struct later {
    struct watch *watch;
    uint64_t number;
};

static struct later *later_of(struct watch *w)
{
    struct later *l = xmalloc(sizeof(*l));

    *l = (struct later){w, w->number};
    return l;
}

static struct watch *take_later(void *ctx)
{
    struct later *l = ctx;
    struct watch *w = l->watch->to != NULL && l->watch->number == l->number ? l->watch : NULL;

    free(l);
    return w;
}

static void bookmark_due(void *ctx)
{
    struct watch *w = take_later(ctx);

    if (w != NULL && w->is_open) {
        if (!w->silent) {
            send_bookmark(w, false);
        }
        sim_in_ms(BOOKMARK_MS, bookmark_due, later_of(w));
    }
}

static void request_arrives(void *ctx)
{
    struct watch *w = take_later(ctx);

    if (w == NULL) {
        return;
    }
    w->is_open = true;
    if (stream_of(w->to)->cut) {
        end(w, (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true});
    } else if (w->refused) {
        stream_status(w->to, 404);
        end(w, answered_with(404));
    } else if (sim_chance(weather.fail)) {
        end(w, answered_with(sim_chance(500) ? 503 : 500));
    } else if (w->fills && sim_chance(weather.no_lists)) {
        end(w, answered_with(400));
    } else if (w->lists) {
        answer_list(w);
    } else {
        open_watch(w);
        if (w->is_open) {
            sim_in_ms(BOOKMARK_MS, bookmark_due, later_of(w));
        }
    }
}

static struct watch *place(struct kube_stream *s)
{
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        if (api.watches[i].to == s) {
            return &api.watches[i];
        }
    }
    return NULL;
}

void api_open(struct kube_stream *s, const char *path)
{
    struct watch *w = place(NULL);
    const char *version = strstr(path, "resourceVersion=");

    BUG_ON(w == NULL);
    *w = (struct watch){.to = s,
                        .number = ++api.number,
                        .kind = strstr(path, "/nodes") != NULL ? NODES : PODS,
                        .server = (unsigned)sim_below(api.server_n),
                        .fills = strstr(path, "sendInitialEvents") != NULL,
                        .lists = strstr(path, "watch=true") == NULL,
                        .tells = strncmp(fiber_name(), "kube-", 5) == 0,
                        .refused = strstr(path, "resourceslices") != NULL,
                        .probes = strstr(path, "limit=1&") != NULL,
                        .path = memcpy(xmalloc(strlen(path) + 1), path, strlen(path) + 1),
                        .cursor = version != NULL ? strtoull(version + 16, NULL, 10) : 0};
    if (stream_of(s)->cut || stream_of(s)->unreachable_until_ns > sim_now_ns() || sim_chance(weather.refuse)) {
        end(w, (struct kube_outcome){.kind = KUBE_NOT_SENT});
        return;
    }
    sim_at(sim_now_ns() + api_delay_ns(), request_arrives, later_of(w));
}

void api_close(struct kube_stream *s)
{
    struct watch *w = place(s);

    if (w != NULL) {
        free(w->path);
        w->path = NULL;
        w->to = NULL;
        w->is_open = false;
    }
}

void api_break_a_watch(bool silent)
{
    struct watch *w = &api.watches[sim_below(STREAMS_MAX)];

    if (w->to == NULL || !w->is_open || w->silent) {
        return;
    }
    silent = silent && stream_of(w->to)->ready_ns > 0; /* it has listed everything */
    TRACE("%s: the watch of %s of fgpu %u", silent ? "silent" : "breaks", w->kind == PODS ? "pods" : "nodes",
          stream_of(w->to)->number);
    if (silent) {
        w->silent = true;
        stream_of(w->to)->had_silence = true;
    } else {
        end(w, (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true});
    }
}

void api_break_silent(void)
{
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        if (api.watches[i].to != NULL && api.watches[i].is_open && api.watches[i].silent) {
            end(&api.watches[i], (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true});
        }
    }
}

void watch_cut(const struct process *p)
{
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        struct watch *w = &api.watches[i];

        if (w->to != NULL && stream_of(w->to) == p && w->is_open) {
            end(w, (struct kube_outcome){.kind = KUBE_LOST, .maybe_sent = true});
        }
    }
}
