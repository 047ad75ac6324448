/* From /state and /metrics of the extender. */
#include "base/clock.h"
#include "base/json_members.h"
#include "doctor/facts.h"

#include <stdlib.h>

#define PUBLIC_KEYS_MAX 64

struct state_reader {
    struct json_reader r;
    struct doctor_facts *f;
    const struct doctor_node **node_end;
    const struct doctor_gpu **gpu_end;
    const struct doctor_pending **pending_end;
    struct doctor_foreign **foreign_end;
    struct doctor_node *node; /* that is being read */
    struct str *keys;
    struct str configuration;
};

/* Text that stays where the document is let go of. */
static struct str keep(struct state_reader *s, struct str text)
{
    return arena_str(s->f->arena, text);
}

static int64_t time_of(struct str text)
{
    int64_t ms;

    return clock_rfc3339_parse(text, &ms) ? ms : 0;
}

static void no_room(struct state_reader *s)
{
    json_fail(&s->r, ERR_LIMIT, "more than there is memory for");
}

/* ---- who holds what ---- */

static bool is_known(const struct state_reader *s, struct str namespace_, struct str name)
{
    for (const struct doctor_foreign *p = s->f->foreign; p != NULL; p = p->next) {
        if (str_eq(p->name, name) && str_eq(p->namespace_, namespace_)) {
            return true;
        }
    }
    return false;
}

static void read_allocation(struct json_reader *r, void *to)
{
    struct state_reader *s = to;
    struct str namespace_ = STR_NULL, pod = STR_NULL, state = STR_NULL;
    struct doctor_foreign *p;

    json_members(r, JSON_MEMBERS({"namespace", .text = &namespace_}, {"pod", .text = &pod}, {"state", .text = &state}));
    if (json_failed(r) || !str_eq(state, STR("foreign")) || is_known(s, namespace_, pod)) {
        return;
    }
    p = ARENA_NEW(s->f->arena, struct doctor_foreign);
    if (p == NULL) {
        no_room(s);
        return;
    }
    *p = (struct doctor_foreign){.namespace_ = keep(s, namespace_), .name = keep(s, pod), .node = s->node->name};
    *s->foreign_end = p;
    s->foreign_end = &p->next;
}

static void read_gpu(struct json_reader *r, void *to)
{
    struct state_reader *s = to;
    struct str uuid = STR_NULL;
    struct doctor_gpu *g;

    s->node->gpu_n++;
    json_members(r, JSON_MEMBERS({"uuid", .text = &uuid}, {"allocations", .element = read_allocation, .to = s}));
    if (json_failed(r) || uuid.n == 0) {
        return;
    }
    g = ARENA_NEW(s->f->arena, struct doctor_gpu);
    if (g == NULL) {
        no_room(s);
        return;
    }
    *g = (struct doctor_gpu){.uuid = keep(s, uuid), .node = s->node};
    *s->gpu_end = g;
    s->gpu_end = &g->next;
    s->f->gpu_n++;
}

static void read_whole(struct json_reader *r, void *to)
{
    struct state_reader *s = to;

    s->node->sells_whole = true;
    json_members(r, JSON_MEMBERS({"allocations", .element = read_allocation, .to = s}));
}

static void read_host_group(struct json_reader *r, void *to)
{
    struct state_reader *s = to;

    s->node->in_host_group = true;
    json_skip(r);
}

static void read_node(struct json_reader *r, void *to)
{
    struct state_reader *s = to;
    struct doctor_node *n = ARENA_NEW(s->f->arena, struct doctor_node);

    if (n == NULL) {
        no_room(s);
        return;
    }
    s->node = n;
    json_members(r, JSON_MEMBERS({"name", .text = &n->name}, {"described", .flag = &n->described},
                                 {"elsewhere", .flag = &n->elsewhere}, {"unmeasured", .flag = &n->unmeasured},
                                 {"needsAgent", .flag = &n->needs_agent}, {"source", .text = &n->source},
                                 {"note", .text = &n->note}, {"handOff", .text = &n->hand_off},
                                 {"vendor", .text = &n->vendor}, {"hostGroup", .read = read_host_group, .to = s},
                                 {"wholeGpus", .read = read_whole, .to = s}, {"gpus", .element = read_gpu, .to = s},
                                 {"unplaced", .element = read_allocation, .to = s}));
    n->name = keep(s, n->name);
    n->source = keep(s, n->source);
    n->note = keep(s, n->note);
    n->hand_off = keep(s, n->hand_off);
    n->vendor = keep(s, n->vendor);
    *s->node_end = n;
    s->node_end = &n->next;
}

static void read_pending(struct json_reader *r, void *to)
{
    struct state_reader *s = to;
    struct doctor_pending *p = ARENA_NEW(s->f->arena, struct doctor_pending);
    struct str since = STR_NULL, defect = STR_NULL;

    if (p == NULL) {
        no_room(s);
        return;
    }
    json_members(r, JSON_MEMBERS({"namespace", .text = &p->namespace_}, {"pod", .text = &p->name},
                                 {"since", .text = &since}, {"defect", .text = &defect}));
    p->namespace_ = keep(s, p->namespace_);
    p->name = keep(s, p->name);
    p->since_ms = time_of(since);
    p->is_valid = defect.n == 0;
    *s->pending_end = p;
    s->pending_end = &p->next;
}

/* ---- the whole ---- */

static void read_key(struct json_reader *r, void *to)
{
    struct state_reader *s = to;
    struct str key;

    if (json_string(r, &key) && s->f->public_key_n < PUBLIC_KEYS_MAX) {
        s->keys[s->f->public_key_n++] = keep(s, key);
    }
}

static void read_members(struct state_reader *s)
{
    struct doctor_facts *f = s->f;
    struct str kind = STR_NULL, as_of = STR_NULL, started = STR_NULL, mode = STR_NULL;
    const struct json_member signing[] = {{"mode", .text = &mode},
                                          {"publicKeys", .element = read_key, .to = s},
                                          {"refuted", .i64 = &f->refuted_n},
                                          {.key = NULL}};
    const struct json_member start[] = {{"reason", .text = &f->start_reason}, {.key = NULL}};
    const struct json_member metadata[] = {{"asOf", .text = &as_of},
                                           {"startedAt", .text = &started},
                                           {"ready", .flag = &f->is_ready},
                                           {"leader", .flag = &f->is_leader},
                                           {"start", .object = start},
                                           {"signing", .object = signing},
                                           {.key = NULL}};
    const struct json_member summary[] = {{"doubleBookedGpus", .i64 = &f->double_booked_n},
                                          {"foreignDecisions", .i64 = &f->foreign_decision_n},
                                          {.key = NULL}};

    json_members(&s->r,
                 JSON_MEMBERS({"kind", .text = &kind}, {"metadata", .object = metadata}, {"summary", .object = summary},
                              {"nodes", .element = read_node, .to = s}, {"pending", .element = read_pending, .to = s},
                              {"configuration", .raw = &s->configuration}));
    f->as_of_ms = time_of(as_of);
    f->started_ms = time_of(started);
    f->signs = !str_eq(mode, STR("off"));
    if (!json_failed(&s->r) && (!str_eq(kind, STR("State")) || s->configuration.n == 0)) {
        json_fail(&s->r, ERR_INVALID, "this is no /state of a whole cluster");
    }
}

int doctor_read_state(struct doctor_facts *f, struct str document, const struct config_names *names, struct err *reterr)
{
    struct state_reader *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL) {
        return err_set(reterr, ERR_LIMIT, "out of memory");
    }
    *s = (struct state_reader){.f = f,
                               .node_end = &f->nodes,
                               .gpu_end = &f->gpus,
                               .pending_end = &f->pending,
                               .foreign_end = &f->foreign,
                               .keys = ARENA_ARRAY(f->arena, PUBLIC_KEYS_MAX, struct str)};
    f->public_keys = s->keys;
    json_reader_init(&s->r, document, f->arena);
    if (s->keys == NULL) {
        no_room(s);
    } else {
        read_members(s);
    }
    rc = json_read_end(&s->r, reterr);
    if (rc == 0) {
        rc = config_parse(STR("configuration"), s->configuration, names, &f->config, NULL, reterr);
    }
    free(s);
    return rc;
}

/* ---- metrics ---- */

/* The value behind the last blank of a line; fractions are cut. */
static int64_t value_of(struct str line)
{
    size_t at = line.n;
    struct str digits;
    uint64_t v;

    while (at > 0 && line.p[at - 1] != ' ') {
        at--;
    }
    digits = str_drop(line, at);
    digits.n = str_span(digits, STR_DIGITS);
    return str_to_u64(digits, INT64_MAX, &v) ? (int64_t)v : 0;
}

static bool has_label(struct str line, struct str label)
{
    for (size_t i = 0; i + label.n <= line.n; i++) {
        if (str_starts(str_drop(line, i), label)) {
            return true;
        }
    }
    return false;
}

int doctor_read_metrics(struct doctor_facts *f, struct str text, struct err *reterr)
{
    struct str line;
    bool is_ours = false;

    while (str_split(&text, '\n', &line)) {
        is_ours = is_ours || str_starts(line, STR("fgpu_ledger_generation"));
        if (str_starts(line, STR("fgpu_requests_total{")) && has_label(line, STR("verb=\"filter\""))) {
            f->filter_n += value_of(line);
        } else if (str_starts(line, STR("fgpu_tls_certificate_expiration_timestamp_seconds "))) {
            f->certificate_end_s = value_of(line);
        }
    }
    return is_ours ? 0 : err_set(reterr, ERR_INVALID, "these are no metrics of an extender of fgpu");
}
