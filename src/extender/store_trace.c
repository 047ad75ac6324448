/* What the store says to its flight recorder. */
#include "extender/store_trace.h"

#include "base/bug.h"
#include "base/hash.h"
#include "core/placement/pack.h"
#include "extender/op_json.h"
#include "extender/store_internal.h"

#include <stdio.h>

#define LINE_BYTES_MAX ((size_t)4 << 20)

void store_record(struct store *s, size_t bytes)
{
    BUG_ON(s->recorder != NULL);
    s->recorder = recorder_new(bytes);
}

/* ---- lines ---- */

struct store_line store_line_begin(const struct store *s)
{
    struct store_line l = {.wanted = s->recorder != NULL};

    strbuf_init(&l.text, LINE_BYTES_MAX);
    return l;
}

/* The writer points to the text, so it is begun where the line stays. */
static struct json_writer *open_line(struct store_line *l, struct json_writer *w, const char *type)
{
    json_writer_init(w, &l->text);
    json_write_object_begin(w);
    json_write_kv_cstr(w, "type", type);
    return w;
}

void store_line_end_at(struct store *s, struct store_line *l, int64_t at_ms, uint64_t generation)
{
    if (l->wanted && l->text.overflowed) {
        recorder_add(s->recorder, at_ms, generation, RECORDER_TEXT, STR("{\"type\":\"omitted\"}"));
    } else if (l->wanted && l->text.n > 0) {
        recorder_add(s->recorder, at_ms, generation, l->form, strbuf_view(&l->text));
    }
}

void store_line_end(struct store *s, struct store_line *l, int64_t at_ms)
{
    store_line_end_at(s, l, at_ms, ledger_generation(s->ledger));
}

void store_line_fini(struct store_line *l)
{
    strbuf_fini(&l->text);
}

void store_line_op(struct store_line *l, const struct ledger_op *op)
{
    if (l->wanted) {
        l->form = RECORDER_OP;
        op_pack(&l->text, op);
    }
}

static void write_pod(struct json_writer *w, struct str namespace_, struct str name, struct str uid)
{
    json_write_kv_str(w, "namespace", namespace_);
    json_write_kv_str(w, "name", name);
    json_write_kv_str(w, "uid", uid);
}

void store_line_bind(struct store_line *l, const struct store_line_bind *b)
{
    struct json_writer w;

    if (!l->wanted) {
        return;
    }
    open_line(l, &w, "bind");
    json_write_kv_str(&w, "decision", b->decision_id);
    write_pod(&w, b->pod->namespace_, b->pod->name, b->uid);
    json_write_kv_str(&w, "node", b->node_name);
    json_write_kv_i64(&w, "config", (int64_t)b->config);
    json_write_kv_i64(&w, "verdict", verdict_numbers[b->verdict]);
    if (b->verdict != VERDICT_FITS) {
        json_write_kv_cstr(&w, "reason", verdict_text(b->verdict));
    } else {
        json_write_kv_array_begin(&w, "devices");
        for (size_t i = 0; i < b->pod->demand->gpu_request_n; i++) {
            json_write_i64(&w, (int64_t)b->placement->gpu_request_devices[i]);
        }
        json_write_array_end(&w);
    }
    if (b->assignment != NULL) {
        json_write_key(&w, "assignment");
        op_json_write_assignment(&w, b->assignment);
    }
    if (b->undone) {
        json_write_kv_bool(&w, "undone", true);
    }
    json_write_object_end(&w);
}

void store_line_tentative(struct store_line *l, struct str uid, struct str node_name, const struct demand *d,
                          int64_t until_ns)
{
    struct json_writer w;

    if (!l->wanted) {
        return;
    }
    open_line(l, &w, "tentative");
    json_write_kv_str(&w, "uid", uid);
    json_write_kv_str(&w, "node", node_name);
    json_write_kv_i64(&w, "untilNs", until_ns);
    json_write_key(&w, "demand");
    op_json_write_demand(&w, d);
    json_write_object_end(&w);
}

void store_line_tentative_end(struct store_line *l, struct str uid)
{
    struct json_writer w;

    if (l->wanted) {
        open_line(l, &w, "tentativeEnd");
        json_write_kv_str(&w, "uid", uid);
        json_write_object_end(&w);
    }
}

void store_line_doubt(struct store_line *l, struct str node_name, bool in_doubt)
{
    struct json_writer w;

    if (l->wanted) {
        open_line(l, &w, in_doubt ? "doubt" : "doubtEnd");
        json_write_kv_str(&w, "node", node_name);
        json_write_object_end(&w);
    }
}

/* A line that changes nothing: its place is that of the moment at which it is written. */
static void add_line(struct store *s, struct store_line *l)
{
    const int64_t at_ms = clock_wall_ms(s->clock);

    mutex_lock(&s->lock);
    store_line_end(s, l, at_ms);
    mutex_unlock(&s->lock);
}

void store_record_configuration(struct store *s, uint64_t generation, const char *hash, struct str text)
{
    struct store_line l = store_line_begin(s);
    struct json_writer w;

    if (l.wanted) {
        open_line(&l, &w, "configuration");
        json_write_kv_i64(&w, "config", (int64_t)generation);
        json_write_kv_cstr(&w, "hash", hash);
        json_write_key(&w, "configuration");
        json_write_raw(&w, text);
        json_write_object_end(&w);
        add_line(s, &l);
    }
    store_line_fini(&l);
}

/* ---- decisions ---- */

/* A sum, so that the order does not matter; without a branch, because who fits is for nobody to foresee. */
uint64_t store_answer_digest(const struct store_pack_answer *answer)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < answer->n; i++) {
        const struct pack_result *r = &answer->results[i];
        const uint64_t fits = r->verdict == VERDICT_FITS ? UINT64_MAX : 0;
        const uint64_t known = r->verdict != VERDICT_NODE_UNKNOWN ? UINT64_MAX : 0;
        const uint64_t what = (uint64_t)verdict_numbers[r->verdict] | (uint64_t)r->name_order << 32 |
                              (((uint64_t)r->group << 8 | (uint64_t)r->demoted << 15) & fits);

        sum += hash_fold(what ^ UINT64_C(0x243f6a8885a308d3),
                         (((uint64_t)r->score * 65537 + r->slack) & fits) ^ UINT64_C(0x13198a2e03707345)) &
               known;
    }
    return sum;
}

static size_t known_n(const struct store_pack_answer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < answer->asked.word_n; i++) {
        n += (size_t)__builtin_popcountll(answer->asked.bits[i]);
    }
    return n;
}

/* The first place from `i` on that is in the set, or is not; the end where there is none. A word at a time: mostly all
 * nodes are in it. */
static size_t next_place(const struct node_set *asked, size_t i, bool in)
{
    const uint64_t turned = in ? 0 : UINT64_MAX;

    for (; i < asked->word_n * 64; i = (i / 64 + 1) * 64) {
        uint64_t left = (asked->bits[i / 64] ^ turned) >> i % 64;

        if (left != 0) {
            return i + (unsigned)__builtin_ctzll(left);
        }
    }
    return asked->word_n * 64;
}

/* "0-59,61": places of nodes in the ledger. */
static void write_asked(struct json_writer *w, const struct node_set *asked)
{
    size_t n = asked->word_n * 64, from, end;
    struct strbuf text;

    strbuf_init(&text, LINE_BYTES_MAX);
    for (from = next_place(asked, 0, true); from < n; from = next_place(asked, end, true)) {
        end = next_place(asked, from, false);
        strbuf_add_cstr(&text, text.n > 0 ? "," : "");
        strbuf_add_u64(&text, from);
        if (end - 1 > from) {
            strbuf_add_char(&text, '-');
            strbuf_add_u64(&text, end - 1);
        }
    }
    json_write_kv_str(w, "asked", strbuf_view(&text));
    strbuf_fini(&text);
}

static void write_result(struct json_writer *w, const char *key, const struct pack_result *r)
{
    json_write_kv_object_begin(w, key);
    json_write_kv_str(w, "node", r->name);
    json_write_kv_i64(w, "score", r->score);
    if (r->demoted == PACK_PROMISED) {
        json_write_kv_bool(w, "demoted", true);
    } else if (r->demoted == PACK_IN_DOUBT) {
        json_write_kv_bool(w, "inDoubt", true);
    }
    json_write_object_end(w);
}

static void write_decision(struct json_writer *w, const struct store_decided *d)
{
    const struct store_pack_answer *a = d->answer;

    write_pod(w, d->pod->namespace_, d->pod_name, d->pod->uid);
    json_write_kv_i64(w, "config", (int64_t)d->config);
    json_write_kv_i64(w, "priority", d->pod->priority);
    json_write_kv_array_begin(w, "labels");
    for (size_t i = 0; i < d->pod->label_n; i++) {
        json_write_i64(w, (int64_t)d->pod->label_hashes[i]);
    }
    json_write_array_end(w);
    json_write_key(w, "demand");
    op_json_write_demand(w, d->pod->demand);
    json_write_kv_i64(w, "promisesAt", (int64_t)a->promises.seq);
    json_write_kv_i64(w, "promisesNs", a->promises.now_ns);
    json_write_kv_i64(w, "judgedAt", (int64_t)a->judged_at);
    if (a->moved) {
        json_write_kv_bool(w, "moved", true);
    }
    write_asked(w, &a->asked);
    json_write_kv_i64(w, "nodes", (int64_t)known_n(a));
    json_write_kv_i64(w, "fit", (int64_t)d->fit_n);
    json_write_kv_i64(w, "digest", (int64_t)store_answer_digest(a));
    if (d->fit_n > 0) {
        write_result(w, "best", &a->results[0]);
    }
    if (d->fit_n > 1) {
        write_result(w, "next", &a->results[1]);
    }
}

void store_record_decision(struct store *s, const struct store_decided *d)
{
    struct store_line l = store_line_begin(s);
    struct json_writer w;

    if (l.wanted) {
        open_line(&l, &w, d->verb);
        write_decision(&w, d);
        json_write_object_end(&w);
        add_line(s, &l);
    }
    store_line_fini(&l);
}

/* ---- places of nodes ---- */

/* "7" or "3-7". */
static bool read_range(struct str text, uint64_t max, uint64_t *ret_from, uint64_t *ret_to)
{
    struct str from;

    if (!str_split(&text, '-', &from) || !str_to_u64(from, max, ret_from)) {
        return false;
    }
    *ret_to = *ret_from;
    return text.n == 0 || (str_to_u64(text, max, ret_to) && *ret_to >= *ret_from);
}

static bool names_of(const struct ledger_view *v, struct str places, struct str *ret, size_t *ret_n)
{
    struct str range;
    uint64_t from, to;

    *ret_n = 0;
    while (places.n > 0 && str_split(&places, ',', &range)) {
        if (v->node_n == 0 || !read_range(range, v->node_n - 1, &from, &to)) {
            return false;
        }
        for (; from <= to; from++) {
            if (v->names[from].n == 0 || *ret_n == v->node_n) {
                return false;
            }
            ret[(*ret_n)++] = v->names[from];
        }
    }
    return true;
}

int store_names_at(struct store *s, struct arena *a, const struct view_pod *pod, struct str places,
                   const struct str **ret, size_t *ret_n, struct err *reterr)
{
    struct str *names = NULL;
    struct ledger_view v;
    int rc;

    mutex_lock(&s->lock);
    rc = ledger_view_unnominated(s->ledger, a, pod, &v, reterr);
    if (rc == 0) {
        names = ARENA_ARRAY(a, v.node_n + 1, struct str);
    }
    if (rc == 0 && (names == NULL || !names_of(&v, places, names, ret_n))) {
        rc = err_set(reterr, ERR_INVALID, "these are no places of nodes in the ledger: %.*s", STR_ARG(places));
    }
    mutex_unlock(&s->lock);
    *ret = names;
    return rc;
}
