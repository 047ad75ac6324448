/* One decision, made again and compared. */
#include "extender/replay_internal.h"

#include "base/bug.h"
#include "base/json_members.h"
#include "base/sentence.h"
#include "core/placement/pack.h"
#include "extender/op_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct found {
    struct str node;
    int64_t score;
};

struct recorded {
    struct view_pod pod;
    struct str name, decision, node, asked, assignment, reason;
    struct demand demand;
    uint64_t *labels;
    size_t label_n;
    int64_t config, nodes, fit, digest, verdict;
    struct found best, next;
    uint64_t devices[DEMAND_GPU_REQUESTS_MAX];
    size_t device_n;
    bool undone;
    struct arena *arena;
};

static void read_label(struct json_reader *r, void *to)
{
    struct recorded *d = to;
    uint64_t *grown;
    int64_t v = 0;

    if (d->label_n % 16 == 0) {
        grown = ARENA_ARRAY(d->arena, d->label_n + 16, uint64_t);
        if (grown == NULL) {
            json_fail(r, ERR_LIMIT, "the decision does not fit its memory");
            return;
        }
        if (d->label_n > 0) {
            memcpy(grown, d->labels, d->label_n * sizeof(*grown));
        }
        d->labels = grown;
    }
    (void)json_i64(r, &v);
    d->labels[d->label_n++] = (uint64_t)v;
}

static void read_devices(struct json_reader *r, void *to)
{
    struct recorded *d = to;
    int64_t v = 0;

    if (d->device_n == DEMAND_GPU_REQUESTS_MAX) {
        json_fail(r, ERR_INVALID, "more GPU requests than a pod can have");
        return;
    }
    (void)json_i64(r, &v);
    d->devices[d->device_n++] = (uint64_t)v;
}

static void read_demand(struct json_reader *r, void *to)
{
    struct recorded *d = to;

    op_json_read_demand(r, d->arena, &d->demand);
}

#define FOUND(member) JSON_MEMBERS({"node", .text = &ret->member.node}, {"score", .i64 = &ret->member.score})

static int read_decision(struct replay *r, const struct replay_line *l, struct arena *a, struct recorded *ret,
                         struct err *reterr)
{
    int64_t priority = 0;
    int rc;

    *ret = (struct recorded){.demand.dialect = "", .arena = a};
    json_reader_init(r->reader, l->line.text, a);
    json_members(r->reader,
                 JSON_MEMBERS({"namespace", .text = &ret->pod.namespace_}, {"name", .text = &ret->name},
                              {"uid", .text = &ret->pod.uid}, {"config", .i64 = &ret->config},
                              {"priority", .i64 = &priority, .min = INT32_MIN, .max = INT32_MAX},
                              {"labels", .element = read_label, .to = ret}, {"demand", .read = read_demand, .to = ret},
                              {"asked", .text = &ret->asked}, {"nodes", .i64 = &ret->nodes}, {"fit", .i64 = &ret->fit},
                              {"digest", .i64 = &ret->digest}, {"best", .object = FOUND(best)},
                              {"next", .object = FOUND(next)}, {"decision", .text = &ret->decision},
                              {"node", .text = &ret->node},
                              {"verdict", .i64 = &ret->verdict, .min = 0, .max = UINT8_MAX},
                              {"reason", .shown = &ret->reason}, {"devices", .element = read_devices, .to = ret},
                              {"assignment", .raw = &ret->assignment}, {"undone", .flag = &ret->undone}));
    rc = json_read_end(r->reader, reterr);
    if (rc == 0 && op_json_check_demand(&ret->demand) != NULL) {
        rc = err_set(reterr, ERR_INVALID, "%s", op_json_check_demand(&ret->demand));
    }
    ret->pod.priority = (int32_t)priority;
    ret->pod.demand = &ret->demand;
    ret->pod.label_hashes = ret->labels;
    ret->pod.label_n = ret->label_n;
    return rc != 0 ? replay_bad_line(r, l, rc, reterr) : 0;
}

static const struct placement_context *context_of(const struct replay *r, const struct replay_line *l,
                                                  const struct recorded *d, struct err *reterr)
{
    const struct placement_context *c = replay_context(r, (uint64_t)d->config);

    if (c == NULL) {
        err_set(reterr, ERR_INVALID, "it has no configuration of generation %" PRId64, d->config);
        (void)replay_bad_line(r, l, -ERR_INVALID, reterr);
    }
    return c;
}

/* ---- filter and prioritize ---- */

static void end_pending(struct replay_line *l)
{
    arena_fini(&l->pending->arena);
    free(l->pending);
    l->pending = NULL;
}

int replay_promises(struct replay *r, struct replay_line *l, struct err *reterr)
{
    struct replay_pending *p = xcalloc(1, sizeof(*p));
    struct store_promises when;
    struct str uid = STR_NULL;
    int rc;

    l->pending = p;
    arena_init(&p->arena, REPLAY_DECISION_BYTES_MAX);
    json_reader_init(r->reader, l->line.text, &p->arena);
    json_members(r->reader, JSON_MEMBERS({"uid", .text = &uid}));
    rc = json_read_end(r->reader, reterr);
    r->clock.mono_ns = l->promises_ns;
    if (rc == 0) {
        rc = store_tentatives(r->store, &p->arena, uid, &p->tentatives, &p->tentative_n, &when, reterr);
    }
    return rc != 0 ? replay_bad_line(r, l, rc, reterr) : 0;
}

struct now {
    struct store_pack_answer answer;
    size_t fit_n;
    struct pack_key keys[2];
};

static void words_of(char buf[REPLAY_WORDS_MAX], int64_t nodes, int64_t fit, const struct found *best,
                     const struct found *next)
{
    struct sentence t = sentence_begin(buf, REPLAY_WORDS_MAX);

    sentence_add(&t, "%" PRId64 " of %" PRId64 " nodes fit", fit, nodes);
    if (best->node.n > 0) {
        sentence_add(&t, "; %.*s is the best (score %" PRId64 ")", STR_ARG(best->node), best->score);
    }
    if (next->node.n > 0) {
        sentence_add(&t, ", then %.*s (%" PRId64 ")", STR_ARG(next->node), next->score);
    }
}

static struct found found_at(const struct now *n, size_t i)
{
    return i < n->fit_n ? (struct found){n->answer.results[i].name, n->answer.results[i].score}
                        : (struct found){.score = 0};
}

static void compare(struct replay *r, const struct replay_line *l, const struct recorded *d, const struct now *n)
{
    const struct found best = found_at(n, 0), next = found_at(n, 1);
    const bool same_best = str_eq(best.node, d->best.node) && (int64_t)n->fit_n == d->fit;
    const bool same_digest = store_answer_digest(&n->answer) == (uint64_t)d->digest;
    char recorded[REPLAY_WORDS_MAX], now[REPLAY_WORDS_MAX];
    struct sentence t;

    if (r->other != NULL ? same_best
                         : same_best && same_digest && str_eq(next.node, d->next.node) && best.score == d->best.score &&
                               next.score == d->next.score && (int64_t)n->answer.n == d->nodes) {
        return;
    }
    words_of(recorded, d->nodes, d->fit, &d->best, &d->next);
    words_of(now, (int64_t)n->answer.n, (int64_t)n->fit_n, &best, &next);
    if (strcmp(recorded, now) == 0) { /* then it is among the others */
        t = (struct sentence){now, sizeof(now), strlen(now)};
        sentence_add(&t, "; another node is judged otherwise (digest %" PRId64 " instead of %" PRId64 ")",
                     (int64_t)store_answer_digest(&n->answer), d->digest);
    }
    replay_differs(r, l, NULL, d->pod.namespace_, d->name, recorded, now);
}

static int judge(struct replay *r, struct replay_line *l, const struct recorded *d, struct err *reterr)
{
    const struct placement_context *c = context_of(r, l, d, reterr);
    struct replay_pending *p = l->pending;
    const struct str *names;
    struct now n;
    size_t name_n;
    int rc;

    if (c == NULL) {
        return -ERR_INVALID;
    }
    rc = store_names_at(r->store, &p->arena, &d->pod, d->asked, &names, &name_n, reterr);
    if (rc == 0) {
        rc = store_pack(r->store, &p->arena, &d->pod, &c->plans, p->tentatives, p->tentative_n, names, name_n,
                        &n.answer, reterr);
    }
    if (rc != 0) {
        return replay_bad_line(r, l, rc, reterr);
    }
    n.fit_n = pack_rank(n.answer.results, n.answer.n, 2, n.keys);
    compare(r, l, d, &n);
    return 0;
}

/* A moved one is only passed: with the ledger as it is at one moment it may be another one. */
int replay_judge(struct replay *r, struct replay_line *l, struct err *reterr)
{
    const enum replay_verb v = str_eq_cstr(l->line.type, "filter") ? REPLAY_FILTER : REPLAY_PRIORITIZE;
    struct recorded *d;
    int rc = 0;

    BUG_ON(l->pending == NULL);
    if (l->moved) {
        r->report->verbs[v].moved_n++;
    } else {
        r->report->verbs[v].again_n++;
        d = xmalloc(sizeof(*d));
        rc = read_decision(r, l, &l->pending->arena, d, reterr);
        rc = rc == 0 ? judge(r, l, d, reterr) : rc;
        free(d);
    }
    end_pending(l);
    return rc;
}

/* ---- bind ---- */

/* `refusal`: NULL where it fits. */
static void words_of_bind(char buf[REPLAY_WORDS_MAX], struct str node, const char *refusal, const uint64_t *devices,
                          size_t request_n)
{
    struct sentence t = sentence_begin(buf, REPLAY_WORDS_MAX);

    if (refusal != NULL) {
        sentence_add(&t, "refused on %.*s: %s", STR_ARG(node), refusal);
        return;
    }
    sentence_add(&t, "reserved on %.*s:", STR_ARG(node));
    if (request_n == 0) {
        sentence_add(&t, " GPUs that kubelet picks");
    }
    for (size_t i = 0; i < request_n; i++) {
        const char *separator = i == 0 ? " devices " : "; devices ";

        for (unsigned k = 0; k < 64; k++) {
            if ((devices[i] >> k & 1) != 0) {
                sentence_add(&t, "%s%u", separator, k);
                separator = ", ";
            }
        }
    }
}

static void compare_bind(struct replay *r, const struct replay_line *l, const struct recorded *d, enum verdict verdict,
                         const struct placement *at, size_t request_n)
{
    char recorded[REPLAY_WORDS_MAX], now[REPLAY_WORDS_MAX];
    const bool fitted = d->verdict == verdict_numbers[VERDICT_FITS], fits = verdict == VERDICT_FITS;
    const bool same_devices = request_n == d->device_n && (request_n == 0 || memcmp(at->gpu_request_devices, d->devices,
                                                                                    request_n * sizeof(uint64_t)) == 0);

    if (verdict_numbers[verdict] != d->verdict || (fits && !same_devices)) {
        words_of_bind(recorded, d->node, fitted ? NULL : arena_cstr(d->arena, d->reason), d->devices, d->device_n);
        words_of_bind(now, d->node, fits ? NULL : verdict_text(verdict), at->gpu_request_devices, request_n);
        replay_differs(r, l, NULL, d->pod.namespace_, d->name, recorded, now);
    }
}

/* The record that would be written, byte for byte. */
static int compare_record(struct replay *r, const struct replay_line *l, const struct recorded *d, struct err *reterr)
{
    struct assignment as;
    struct json_writer w;
    struct strbuf text;
    int rc = store_reserved_assignment(r->store, d->arena, d->pod.uid, &as, reterr);

    strbuf_init(&text, 1 << 20);
    if (rc == 0 && as.container_n > 0) {
        json_writer_init(&w, &text);
        op_json_write_assignment(&w, &as);
    }
    if (rc == 0 && !str_eq(strbuf_view(&text), d->assignment)) {
        replay_differs(r, l, NULL, d->pod.namespace_, d->name,
                       d->assignment.n > 0 ? arena_cstr(d->arena, d->assignment) : "no record",
                       text.n > 0 ? text.p : "no record");
    }
    strbuf_fini(&text);
    return rc;
}

static int apply_reservation(struct replay *r, const struct recorded *d, struct err *reterr)
{
    struct placement at;
    struct ledger_op op = {.kind = LEDGER_RESERVE, .reserve = {d->pod.uid, d->node, d->decision, &at}};

    memset(&at, 0, sizeof(at));
    memcpy(at.gpu_request_devices, d->devices, sizeof(d->devices));
    return store_apply(r->store, &op, reterr);
}

static int bind_again(struct replay *r, struct replay_line *l, const struct recorded *d, struct err *reterr)
{
    const struct placement_context *c = context_of(r, l, d, reterr);
    enum verdict verdict = VERDICT_FITS;
    struct store_pod pod;
    struct placement at;
    int rc = 0;

    if (c == NULL) {
        return -ERR_INVALID;
    }
    memset(&at, 0, sizeof(at));
    if (!store_find_pod(r->store, d->arena, d->pod.uid, &pod) ||
        !store_judge_bind(r->store, d->pod.uid, d->node, &c->plans, &verdict, &at)) {
        err_set(reterr, ERR_INVALID, "bind of a pod that no line before it has shown");
        return replay_bad_line(r, l, -ERR_INVALID, reterr);
    }
    compare_bind(r, l, d, verdict, &at, pod.pod.demand->gpu_request_n);
    if (!r->stopped && d->verdict == verdict_numbers[VERDICT_FITS]) {
        rc = apply_reservation(r, d, reterr);
        rc = rc == 0 && r->other == NULL && !d->undone ? compare_record(r, l, d, reterr) : rc;
    }
    return rc != 0 ? replay_bad_line(r, l, rc, reterr) : 0;
}

int replay_bind(struct replay *r, struct replay_line *l, struct err *reterr)
{
    struct recorded *d = xmalloc(sizeof(*d));
    struct arena a;
    int rc;

    r->report->verbs[REPLAY_BIND].again_n++;
    arena_init(&a, REPLAY_DECISION_BYTES_MAX);
    rc = read_decision(r, l, &a, d, reterr);
    rc = rc == 0 ? bind_again(r, l, d, reterr) : rc;
    arena_fini(&a);
    free(d);
    return rc;
}
