/* Goes through a trace: reads its lines, puts what is to be done into the order in which it happened, and does it.
 *
 * A decision by filter or prioritize stands in the trace when it was over, and names the lines before which it looked
 * up promises and before which it judged. So it is three acts, at three places in the order.
 */
#include "extender/replay_internal.h"

#include "base/bug.h"
#include "base/json_members.h"
#include "base/order.h"
#include "core/ledger/ledger.h"
#include "extender/op_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_BYTES_MAX ((size_t)8 << 30)

static const char *const verb_names[] = {
    [REPLAY_FILTER] = "filter", [REPLAY_PRIORITIZE] = "prioritize", [REPLAY_BIND] = "bind"};

const char *replay_verb_name(enum replay_verb v)
{
    return verb_names[v];
}

int replay_bad_line(const struct replay *r, const struct replay_line *l, int rc, struct err *reterr)
{
    (void)r;
    return err_wrap(reterr, rc, "line number %" PRIu64, l->line.seq);
}

void replay_differs(struct replay *r, const struct replay_line *l, const char *what, struct str namespace_,
                    struct str name, const char *recorded, const char *now)
{
    struct replay_difference d = {l->line.seq, l->line.at_ms, what, namespace_, name, recorded, now};

    for (size_t v = 0; what == NULL && v < REPLAY_VERB__MAX; v++) {
        if (str_eq_cstr(l->line.type, verb_names[v])) {
            d.what = verb_names[v];
            r->report->verbs[v].different_n++;
        }
    }
    r->report->different_n++;
    r->stopped = !r->o->differs(r->o->ctx, &d);
}

const struct placement_context *replay_context(const struct replay *r, uint64_t generation)
{
    if (r->other != NULL) {
        return r->other;
    }
    for (size_t i = 0; i < r->configuration_n; i++) {
        if (r->configurations[i].generation == generation) {
            return &r->configurations[i].context;
        }
    }
    return NULL;
}

/* ---- reading all lines ---- */

static bool kind_of(struct str type, enum replay_kind *ret)
{
    static const struct {
        const char *type;
        enum replay_kind kind;
    } kinds[] = {
        {"op", REPLAY_OP},        {"filter", REPLAY_DECISION},     {"prioritize", REPLAY_DECISION},
        {"bind", REPLAY_BINDING}, {"tentative", REPLAY_TENTATIVE}, {"tentativeEnd", REPLAY_TENTATIVE_END},
        {"doubt", REPLAY_DOUBT},  {"doubtEnd", REPLAY_DOUBT_END},  {"configuration", REPLAY_CONFIGURATION},
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_eq_cstr(type, kinds[i].type)) {
            *ret = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* When the acts of a decision were. */
static int read_places(struct replay *r, struct replay_line *l, struct err *reterr)
{
    int64_t promises_at = 0, judged_at = 0;
    int rc;

    json_reader_init(r->reader, l->line.text, &r->arena);
    json_members(r->reader, JSON_MEMBERS({"promisesAt", .i64 = &promises_at}, {"judgedAt", .i64 = &judged_at},
                                         {"promisesNs", .i64 = &l->promises_ns}, {"moved", .flag = &l->moved}));
    rc = json_read_end(r->reader, reterr);
    if (rc == 0 && (promises_at < 1 || promises_at > judged_at || (uint64_t)judged_at > l->line.seq)) {
        rc = err_set(reterr, ERR_INVALID, "promisesAt and judgedAt are no earlier lines in this order");
    }
    l->promises_at = (uint64_t)promises_at;
    l->judged_at = (uint64_t)judged_at;
    return rc != 0 ? replay_bad_line(r, l, rc, reterr) : 0;
}

static struct replay_configuration *place_for_configuration(struct replay *r)
{
    struct replay_configuration *c;

    if (r->configuration_n == r->configuration_cap) {
        r->configuration_cap = r->configuration_cap == 0 ? 1 : r->configuration_cap * 2;
        r->configurations = xreallocarray(r->configurations, r->configuration_cap, sizeof(*c));
    }
    c = &r->configurations[r->configuration_n];
    *c = (struct replay_configuration){.generation = 0};
    return c;
}

static int read_configuration(struct replay *r, struct replay_line *l, struct err *reterr)
{
    struct replay_configuration *c;
    struct str text = STR_NULL;
    const struct policy *policy;
    int64_t generation = 0;
    int rc;

    if (r->configuration_n == REPLAY_CONFIGURATIONS_MAX) {
        return err_set(reterr, ERR_LIMIT, "more than %d configurations", REPLAY_CONFIGURATIONS_MAX);
    }
    c = place_for_configuration(r);
    json_reader_init(r->reader, l->line.text, &r->arena);
    json_members(r->reader, JSON_MEMBERS({"config", .i64 = &generation}, {"configuration", .raw = &text}));
    rc = json_read_end(r->reader, reterr);
    rc = rc == 0 ? r->o->policy(r->o->ctx, text, &policy, reterr) : rc;
    if (rc == 0 && r->store == NULL) {
        const struct hash_key key = {1, 2}; /* it changes the order of nothing */
        const struct ledger_limits limits = ledger_limits_of(policy, key);

        r->store = store_new(&limits, &r->clock.clock);
    }
    rc = rc == 0 ? placement_context_init(&c->context, r->store, policy, reterr) : rc;
    c->generation = (uint64_t)generation;
    r->configuration_n += rc == 0;
    return rc != 0 ? replay_bad_line(r, l, rc, reterr) : 0;
}

static int take_line(struct replay *r, const struct trace_line *line, struct err *reterr)
{
    struct replay_line *l = &r->lines[r->line_n];

    *l = (struct replay_line){.line = *line};
    if (!kind_of(line->type, &l->kind)) {
        err_set(reterr, ERR_INVALID, "it is of type \"%.*s\", which cannot be replayed", STR_ARG(line->type));
        return replay_bad_line(r, l, -ERR_INVALID, reterr);
    }
    r->line_n++;
    return l->kind == REPLAY_DECISION        ? read_places(r, l, reterr)
           : l->kind == REPLAY_CONFIGURATION ? read_configuration(r, l, reterr)
                                             : 0;
}

static int read_lines(struct replay *r, struct str document, struct err *reterr)
{
    struct trace_lines lines;
    struct trace_line line;
    size_t cap = 0;
    bool any = true;
    int rc = trace_lines_begin(&lines, document, r->reader, &r->arena, reterr);

    r->report->head = lines.head;
    if (rc == 0 && !lines.head.complete) {
        return err_set(reterr, ERR_INVALID,
                       "it begins with line number %" PRIu64
                       ", and the ledger before that is not known; a trace can be "
                       "replayed as long as it has everything since the start (flightRecorder.memory)",
                       lines.head.first);
    }
    while (rc == 0 && any) {
        rc = trace_lines_next(&lines, &line, &any, reterr);
        if (rc == 0 && any && r->line_n == cap) {
            cap = cap == 0 ? 1024 : cap * 2;
            r->lines = xreallocarray(r->lines, cap, sizeof(*r->lines));
        }
        if (rc == 0 && any) {
            rc = take_line(r, &line, reterr);
        }
    }
    if (rc == 0 && r->store == NULL) {
        rc = err_set(reterr, ERR_INVALID, "there is no configuration in it");
    }
    return rc;
}

/* ---- acts in their order ---- */

enum act { ACT_PROMISES, ACT_JUDGE, ACT_LINE };

struct step {
    uint64_t at; /* before this line, or, ACT_LINE, in its place */
    enum act act;
    struct replay_line *line;
};

static int by_time(const void *x, const void *y)
{
    const struct step *a = x, *b = y;

    if (a->at != b->at) {
        return ORDER(a->at, b->at);
    }
    if (a->act != b->act) {
        return ORDER(a->act, b->act);
    }
    return ORDER(a->line, b->line);
}

static struct step *make_steps(const struct replay *r, size_t *ret_n)
{
    struct step *steps = xcalloc(r->line_n * 3 + 1, sizeof(*steps));
    size_t n = 0;

    for (size_t i = 0; i < r->line_n; i++) {
        struct replay_line *l = &r->lines[i];

        if (l->kind == REPLAY_DECISION) {
            steps[n++] = (struct step){l->promises_at, ACT_PROMISES, l};
            steps[n++] = (struct step){l->judged_at, ACT_JUDGE, l};
        }
        steps[n++] = (struct step){l->line.seq, ACT_LINE, l};
    }
    qsort(steps, n, sizeof(*steps), by_time);
    *ret_n = n;
    return steps;
}

/* ---- lines that are no decision ---- */

/* As in the trace, so an op that failed fails again and changes nothing. */
static int apply_op(struct replay *r, const struct replay_line *l, struct err *reterr)
{
    struct ledger_op op = {.kind = LEDGER_OP__MAX};
    struct str key, name = STR_NULL;
    const char *why;
    struct err ignored;
    int rc;

    json_reader_init(r->reader, l->line.text, &r->arena);
    json_object_begin(r->reader);
    while (json_object_next(r->reader, &key)) {
        if (str_eq_cstr(key, "op") && json_string(r->reader, &name)) {
            op.kind = op_json_kind(name);
        } else if (op.kind < LEDGER_OP__MAX && op_json_key(op.kind) != NULL && str_eq_cstr(key, op_json_key(op.kind))) {
            op_json_read(r->reader, &r->arena, &op);
        } else {
            json_skip(r->reader);
        }
    }
    rc = json_read_end(r->reader, reterr);
    if (rc == 0 && (op.kind == LEDGER_OP__MAX || op.kind == LEDGER_RESERVE)) {
        rc = err_set(reterr, ERR_INVALID, "no op that can be applied");
    }
    why = rc == 0 ? op_json_check(&op) : NULL;
    if (why != NULL) {
        rc = err_set(reterr, ERR_INVALID, "%s", why);
    }
    if (rc != 0) {
        return replay_bad_line(r, l, rc, reterr);
    }
    rc = store_apply(r->store, &op, &ignored); /* whether it failed then, too, the generation says */
    r->report->op_n += rc == 0;
    return 0;
}

static void read_demand(struct json_reader *r, void *to)
{
    op_json_read_demand(r, r->arena, to);
}

static int apply_tentative(struct replay *r, const struct replay_line *l, struct err *reterr)
{
    struct str uid = STR_NULL, node = STR_NULL;
    struct demand d = {.dialect = ""};
    int64_t until_ns = 0;
    int rc;

    json_reader_init(r->reader, l->line.text, &r->arena);
    json_members(r->reader, JSON_MEMBERS({"uid", .text = &uid}, {"node", .text = &node}, {"untilNs", .i64 = &until_ns},
                                         {"demand", .read = read_demand, .to = &d}));
    rc = json_read_end(r->reader, reterr);
    if (rc == 0 && op_json_check_demand(&d) != NULL) {
        rc = err_set(reterr, ERR_INVALID, "%s", op_json_check_demand(&d));
    }
    if (rc != 0) {
        return replay_bad_line(r, l, rc, reterr);
    }
    if (l->kind == REPLAY_TENTATIVE_END) {
        store_tentative_end(r->store, uid);
    } else {
        r->clock.mono_ns = until_ns - NS_PER_MS;
        store_tentative(r->store, uid, node, &d, 1);
    }
    return 0;
}

static int apply_doubt(struct replay *r, const struct replay_line *l, struct err *reterr)
{
    struct str node = STR_NULL;
    int rc;

    json_reader_init(r->reader, l->line.text, &r->arena);
    json_members(r->reader, JSON_MEMBERS({"node", .text = &node}));
    rc = json_read_end(r->reader, reterr);
    if (rc != 0) {
        return replay_bad_line(r, l, rc, reterr);
    }
    store_doubt(r->store, node, l->kind == REPLAY_DOUBT);
    return 0;
}

static int do_line(struct replay *r, struct replay_line *l, struct err *reterr)
{
    char recorded[64], now[64];
    int rc = 0;

    r->clock.wall_ms = l->line.at_ms;
    switch (l->kind) {
    case REPLAY_OP:
        rc = apply_op(r, l, reterr);
        break;
    case REPLAY_BINDING:
        rc = replay_bind(r, l, reterr);
        break;
    case REPLAY_TENTATIVE:
    case REPLAY_TENTATIVE_END:
        rc = apply_tentative(r, l, reterr);
        break;
    case REPLAY_DOUBT:
    case REPLAY_DOUBT_END:
        rc = apply_doubt(r, l, reterr);
        break;
    case REPLAY_DECISION:
    case REPLAY_CONFIGURATION:
        break; /* was done before */
    }
    if (rc == 0 && !r->stopped && store_generation(r->store) != l->line.generation) {
        snprintf(recorded, sizeof(recorded), "generation %" PRIu64, l->line.generation);
        snprintf(now, sizeof(now), "generation %" PRIu64, store_generation(r->store));
        replay_differs(r, l, "the ledger after this line", STR_NULL, STR_NULL, recorded, now);
        r->stopped = true; /* it would be another one after every line that follows */
    }
    return rc;
}

static int do_steps(struct replay *r, struct err *reterr)
{
    size_t n;
    struct step *steps = make_steps(r, &n);
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0 && !r->stopped; i++) {
        struct replay_line *l = steps[i].line;

        rc = steps[i].act == ACT_PROMISES ? replay_promises(r, l, reterr)
             : steps[i].act == ACT_JUDGE  ? replay_judge(r, l, reterr)
                                          : do_line(r, l, reterr);
    }
    free(steps);
    return rc;
}

/* ---- the whole ---- */

static bool same_pairs(struct kv_list a, struct kv_list b)
{
    bool same = a.n == b.n;

    for (size_t i = 0; same && i < a.n; i++) {
        same = str_eq(a.items[i].key, b.items[i].key) && str_eq(a.items[i].value, b.items[i].value);
    }
    return same;
}

/* Which nodes a rule selects is recorded as a bit of the node, by the place of the rule; the labels are not. */
static int check_selectors(const struct policy *other, const struct policy *recorded, struct err *reterr)
{
    for (size_t i = 0; i < other->rule_n; i++) {
        const struct kv_list selector = other->rules[i].node_selector;

        if (selector.n > 0 && (i >= recorded->rule_n || !same_pairs(selector, recorded->rules[i].node_selector))) {
            return err_set(reterr, ERR_INVALID,
                           "packing.rules[%zu] of the other configuration selects nodes by labels, which a trace does "
                           "not have; only a nodeSelector that was in effect in the same place can be used",
                           i);
        }
    }
    return 0;
}

static int begin_other(struct replay *r, struct err *reterr)
{
    int rc = 0;

    if (r->o->other == NULL) {
        return 0;
    }
    for (size_t i = 0; i < r->configuration_n && rc == 0; i++) {
        rc = check_selectors(r->o->other, r->configurations[i].context.policy, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    r->other = xcalloc(1, sizeof(*r->other));
    return placement_context_init(r->other, r->store, r->o->other, reterr);
}

static void end(struct replay *r)
{
    for (size_t i = 0; i < r->line_n; i++) {
        if (r->lines[i].pending != NULL) {
            arena_fini(&r->lines[i].pending->arena);
            free(r->lines[i].pending);
        }
    }
    store_free(r->store);
    free(r->lines);
    free(r->configurations);
    free(r->other);
    free(r->reader);
    arena_fini(&r->arena);
}

int replay_run(struct str document, const struct replay_options *o, struct replay_report *ret, struct err *reterr)
{
    struct replay r = {.o = o, .report = ret};
    int rc;

    *ret = (struct replay_report){.op_n = 0};
    r.reader = xcalloc(1, sizeof(*r.reader));
    arena_init(&r.arena, REPLAY_BYTES_MAX);
    clock_manual_init(&r.clock, 0, 0);
    rc = read_lines(&r, document, reterr);
    rc = rc == 0 ? begin_other(&r, reterr) : rc;
    rc = rc == 0 ? do_steps(&r, reterr) : rc;
    end(&r);
    return rc;
}
