/* The thread that makes the events of /v1/stream. */
#include "routes/stream_internal.h"

#include "base/bug.h"
#include "base/hash.h"
#include "obs/catalog.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WORK_SHARE = 5, DECISIONS_A_BATCH = 256, FIRST_DECISIONS = 64 };

#define STREAM_HASH_KEY ((struct hash_key){0x7374726561, 0x66656564})

struct stream_feed {
    struct stream_log log; /* first: stream_feed_log() */
    struct state_context *state;
    struct thread thread;
    bool started;
    /* of the thread */
    bool following; /* somebody did in the last turn */
    struct stream_conflicts conflicts;
    uint64_t decision_count;
    uint64_t cluster_hash;
    int64_t cluster_ns, spoken_ns; /* when the last such event, and the last text, was made */
    struct strbuf text;
    bool in_batch, in_nodes;
};

static int64_t now_ns(void)
{
    return clock_mono_ns(clock_system());
}

/* ---- events ---- */

static void begin_batch(struct stream_feed *f, uint64_t to)
{
    if (!f->in_batch) {
        f->in_batch = true;
        stream_log_begin(&f->log, to);
    }
}

static void say(struct stream_feed *f)
{
    stream_log_add(&f->log, strbuf_view(&f->text));
    strbuf_reset(&f->text);
}

static void begin_event(struct stream_feed *f, const char *event, uint64_t generation)
{
    begin_batch(f, generation);
    strbuf_addf(&f->text, "id: %" PRIu64 "\nevent: %s\ndata: {\"generation\":%" PRIu64, generation, event, generation);
}

static void begin_nodes(struct stream_feed *f, const struct state_document *d)
{
    if (!f->in_nodes) {
        f->in_nodes = true;
        begin_event(f, "nodes", state_document_generation(d));
        strbuf_add_cstr(&f->text, ",\"nodes\":[");
    } else {
        strbuf_add_char(&f->text, ',');
    }
}

static void node_changed(void *ctx, struct state_document *d, const struct node_item *item)
{
    struct stream_feed *f = ctx;
    struct json_writer w;

    stream_conflicts_put(&f->conflicts, d, item);
    begin_nodes(f, d);
    json_writer_init(&w, &f->text);
    state_write_node(&w, item);
    say(f);
}

static void nodes_left(struct stream_feed *f, const struct state_document *d, const struct str *left, size_t n)
{
    struct json_writer w;

    if (n > 0 && !f->in_nodes) {
        begin_nodes(f, d);
    }
    if (!f->in_nodes) {
        return;
    }
    strbuf_add_cstr(&f->text, "],\"gone\":");
    json_writer_init(&w, &f->text);
    json_write_array_begin(&w);
    for (size_t i = 0; i < n; i++) {
        stream_conflicts_remove(&f->conflicts, left[i]);
        json_write_str(&w, left[i]);
    }
    json_write_array_end(&w);
    strbuf_add_cstr(&f->text, "}\n\n");
    say(f);
}

static void say_decisions(struct stream_feed *f, uint64_t generation)
{
    struct decision_note *notes[DECISIONS_KEPT];
    size_t n = decisions_kept_after(store_decisions(f->state->store), f->decision_count, DECISIONS_A_BATCH, notes,
                                    &f->decision_count);
    struct json_writer w;

    if (n == 0) {
        return;
    }
    begin_event(f, "decisions", generation);
    strbuf_add_cstr(&f->text, ",\"decisions\":");
    json_writer_init(&w, &f->text);
    json_write_array_begin(&w);
    for (size_t i = 0; i < n; i++) {
        state_write_reason(&w, notes[i]);
        decision_put(notes[i]);
    }
    json_write_array_end(&w);
    strbuf_add_cstr(&f->text, "}\n\n");
    say(f);
}

/* Is it another one than the last? When and at which versions it was read makes no difference. */
static bool is_news(struct stream_feed *f, const struct state_document *d, struct str members)
{
    uint64_t hash = hash_name(STREAM_HASH_KEY, members);

    hash = hash_fold(hash ^ d->config.generation, 3 + 2 * (uint64_t)d->ready + 4 * (uint64_t)d->leader);
    if (hash == f->cluster_hash) {
        return false;
    }
    f->cluster_hash = hash;
    return true;
}

static void say_cluster(struct stream_feed *f, struct state_document *d)
{
    struct strbuf members;
    struct json_writer w;

    strbuf_init(&members, STREAM_PIECE_BYTES_MAX);
    stream_write_cluster(&members, d, &f->conflicts);
    if (!members.overflowed && is_news(f, d, strbuf_view(&members))) {
        begin_event(f, "cluster", state_document_generation(d));
        strbuf_add_char(&f->text, ',');
        say(f);
        json_writer_init(&w, &f->text);
        json_write_object_begin(&w);
        state_write_time(&w, "asOf", d->as_of_ms);
        state_write_metadata(&w, d);
        json_write_object_end(&w);
        /* one object of two: the first without its braces, the second without its opening one */
        stream_log_add(&f->log, (struct str){f->text.p + 1, f->text.n - 2});
        strbuf_reset(&f->text);
        strbuf_add_char(&f->text, ',');
        strbuf_add(&f->text, members.p + 1, members.n - 1);
        strbuf_add_cstr(&f->text, "\n\n");
        say(f);
    }
    strbuf_fini(&members);
}

/* ---- turns ---- */

static void end_batch(struct stream_feed *f)
{
    if (f->in_batch) {
        stream_log_end(&f->log);
        f->spoken_ns = now_ns();
    }
    f->in_batch = f->in_nodes = false;
}

static void cut(struct stream_feed *f)
{
    stream_log_cut_all(&f->log, store_generation(f->state->store));
    strbuf_reset(&f->text);
    f->in_batch = f->in_nodes = false;
    f->following = false; /* what was kept of nodes may be wrong */
}

static void keep_conflicts(void *ctx, struct state_document *d, const struct node_item *item)
{
    struct stream_feed *f = ctx;

    stream_conflicts_put(&f->conflicts, d, item);
}

/* The first turn for somebody: what does not come with changes. */
static void catch_up(struct stream_feed *f)
{
    struct state_document *d = state_changes_new(f->state, 0, false);
    uint64_t count = decisions_kept_count(store_decisions(f->state->store));

    stream_conflicts_clear(&f->conflicts);
    f->decision_count = count > FIRST_DECISIONS ? count - FIRST_DECISIONS : 0;
    f->following = state_changes_each(d, keep_conflicts, f);
    state_document_free(d);
}

static void say_changes(struct stream_feed *f, uint64_t since, bool cluster)
{
    struct state_document *d = state_changes_new(f->state, since, cluster);
    const struct str *left;
    size_t left_n;

    if (!store_iterator_left(d->iterator, &left, &left_n)) {
        stream_log_finish_all(&f->log, STR("event: reload\ndata: {}\n\n"), state_document_generation(d));
        f->following = false;
    } else if (!state_changes_each(d, node_changed, f)) {
        cut(f);
    } else {
        nodes_left(f, d, left, left_n);
        say_decisions(f, state_document_generation(d));
        if (cluster) {
            f->cluster_ns = now_ns();
            say_cluster(f, d);
        }
        end_batch(f);
    }
    state_document_free(d);
}

static void take_turn(struct stream_feed *f)
{
    uint64_t since = stream_log_covered(&f->log);
    bool cluster = now_ns() - f->cluster_ns >= STREAM_CLUSTER_MS * NS_PER_MS;

    if (cluster && stream_log_take_joined(&f->log)) {
        f->cluster_hash = 0; /* whoever came has none yet */
    }
    if (!f->following) {
        catch_up(f);
    }
    if (store_generation(f->state->store) != since || cluster) {
        say_changes(f, since, cluster);
    }
    if (now_ns() - f->spoken_ns >= STREAM_KEEP_ALIVE_MS * NS_PER_MS) {
        stream_log_remark(&f->log, STR(": keep-alive\n\n"));
        f->spoken_ns = now_ns();
    }
    stream_log_wake_expired(&f->log, now_ns());
}

static void *feed_main(void *ctx)
{
    struct stream_feed *f = ctx;

    while (!stream_log_is_closed(&f->log)) {
        int64_t begun_ns = now_ns(), rest_ns;

        if (stream_log_wait(&f->log, begun_ns + STREAM_CLUSTER_MS * NS_PER_MS) == 0) {
            f->following = false;
            stream_conflicts_clear(&f->conflicts);
            continue;
        }
        begun_ns = now_ns();
        take_turn(f);
        rest_ns = (now_ns() - begun_ns) * (WORK_SHARE - 1);
        stream_log_rest(&f->log,
                        now_ns() + (rest_ns > STREAM_TICK_MS * NS_PER_MS ? rest_ns : STREAM_TICK_MS * NS_PER_MS));
    }
    return NULL;
}

/* ---- beginning and end ---- */

int stream_feed_new(struct state_context *state, struct stream_feed **ret, struct err *reterr)
{
    struct stream_feed *f = xcalloc(1, sizeof(*f));
    int rc;

    f->state = state;
    stream_log_init(&f->log, STREAM_LOG_BYTES, STREAM_CLIENTS_MAX);
    strbuf_init(&f->text, STREAM_PIECE_BYTES_MAX);
    rc = thread_start(&f->thread, "stream", feed_main, f, reterr);
    f->started = rc == 0;
    if (rc != 0) {
        stream_feed_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void stream_feed_stop(struct stream_feed *f)
{
    if (f != NULL && f->started) {
        f->started = false;
        stream_log_close(&f->log);
        thread_join(&f->thread);
    }
}

void stream_feed_free(struct stream_feed *f)
{
    if (f != NULL) {
        stream_feed_stop(f);
        stream_conflicts_clear(&f->conflicts);
        strbuf_fini(&f->text);
        stream_log_fini(&f->log);
        free(f);
    }
}

struct stream_log *stream_feed_log(struct stream_feed *f)
{
    return &f->log;
}

void stream_collect(void *feed, struct metrics *m)
{
    struct stream_feed *f = feed;
    uint64_t dropped;
    size_t n = stream_log_count(&f->log, &dropped);

    metric_set(METRIC(m, FGPU_PAGE_STREAMS), (int64_t)n);
    metric_set(METRIC(m, FGPU_PAGE_STREAMS_DROPPED_TOTAL), (int64_t)dropped);
}
