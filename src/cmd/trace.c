/* fgpu trace: what changed and what was decided, from the flight recorder of a running extender or from a file. */
#include "base/bug.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_members.h"
#include "base/printable.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/terminal.h"
#include "core/fit/verdict.h"
#include "extender/trace_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_BYTES_MAX ((size_t)2 << 30)
#define ARENA_BYTES_MAX ((size_t)1 << 30)
#define DETAILS_MAX 512

struct options {
    struct inquiry in;
    const char *pod, *node, *decision, *out, *from;
};

static const struct page_option options[] = {
    {"pod", .value = "NAMESPACE/NAME", .text = "only what is about this pod", .id = OPTION_AT(struct options, pod)},
    {"node", .value = "NAME", .text = "only what is about this node, and decisions that chose it",
     .id = OPTION_AT(struct options, node)},
    {"decision", .value = "ID", .text = "only what is about the pod of this decision",
     .id = OPTION_AT(struct options, decision)},
    {"out", .value = "FILE", .text = "saves the whole trace to a new file, for fgpu replay, and shows nothing",
     .id = OPTION_AT(struct options, out)},
    {"from", .value = "FILE", .text = "reads a saved trace instead", .id = OPTION_AT(struct options, from)},
    INQUIRY_SERVER_ROWS("json: the lines as they are (config/trace.schema.json)"),
};

const struct page page_trace = {
    .command = "fgpu trace",
    .usage = "[options]",
    .about = "Shows what the flight recorder has: the last changes of the cluster as fgpu took them, and its last "
             "decisions, each with its inputs, in the order in which they happened. A decision has the id that the "
             "log line of the bind, the record of the pod and /state name.\n"
             "How much is remembered: flightRecorder.memory of the configuration.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 ok, 1 no answer, 2 usage",
    .examples = "fgpu trace --pod default/train-0\n"
                "fgpu trace --out trace.jsonl",
};

/* ---- one line ---- */

struct row {
    struct trace_line line;
    struct str namespace_, name, uid, node, decision, op, best, next, of, reason;
    struct str fact_name, fact_namespace, fact_uid, fact_node, fact_note; /* of a pod or a node as it was seen */
    int64_t nodes, fit, verdict, score, next_score, config, device_n;
    bool moved, deleting;
    struct strbuf gpus;
};

static void read_gpu(struct json_reader *r, void *to)
{
    struct strbuf *out = to;
    struct str uuid = STR_NULL;
    int64_t index = 0;

    json_members(r, JSON_MEMBERS({"index", .i64 = &index}, {"uuid", .shown = &uuid}));
    strbuf_addf(out, "%sGPU %" PRId64 "%s%.*s", out->n > 0 ? ", " : "", index, uuid.n > 0 ? " " : "", STR_ARG(uuid));
}

static void read_container(struct json_reader *r, void *to)
{
    json_members(r, JSON_MEMBERS({"devices", .element = read_gpu, .to = to}));
}

static void count_device(struct json_reader *r, void *to)
{
    int64_t *n = to;

    (*n)++;
    json_skip(r);
}

/* Everything that is shown of any kind of line; each has some of it. */
static int read_row(struct json_reader *r, struct arena *a, struct row *ret, struct err *reterr)
{
    const struct json_member *facts =
        JSON_MEMBERS({"name", .shown = &ret->fact_name}, {"namespace", .shown = &ret->fact_namespace},
                     {"uid", .text = &ret->fact_uid}, {"node", .shown = &ret->fact_node},
                     {"note", .shown = &ret->fact_note}, {"deleting", .flag = &ret->deleting},
                     {"inventory", .object = JSON_MEMBERS({"devices", .element = count_device, .to = &ret->device_n})});

    json_reader_init(r, ret->line.text, a);
    json_members(
        r, JSON_MEMBERS(
               {"namespace", .shown = &ret->namespace_}, {"name", .shown = &ret->name}, {"uid", .text = &ret->uid},
               {"node", .shown = &ret->node}, {"decision", .shown = &ret->decision}, {"op", .shown = &ret->op},
               {"nodes", .i64 = &ret->nodes}, {"fit", .i64 = &ret->fit}, {"verdict", .i64 = &ret->verdict},
               {"reason", .shown = &ret->reason}, {"moved", .flag = &ret->moved}, {"config", .i64 = &ret->config},
               {"facts", .object = facts},
               {"best", .object = JSON_MEMBERS({"node", .shown = &ret->best}, {"score", .i64 = &ret->score})},
               {"next", .object = JSON_MEMBERS({"node", .shown = &ret->next}, {"score", .i64 = &ret->next_score})},
               {"gone", .object = JSON_MEMBERS({"name", .shown = &ret->of})},
               {"of", .object = JSON_MEMBERS({"name", .shown = &ret->of})},
               {"judged", .object = JSON_MEMBERS({"uid", .shown = &ret->of})},
               {"assignment", .object = JSON_MEMBERS({"containers", .element = read_container, .to = &ret->gpus})}));
    return json_read_end(r, reterr);
}

static bool is_of_pod(const struct row *w)
{
    return str_eq_cstr(w->op, "podObserved");
}

static struct str uid_of(const struct row *w)
{
    return w->uid.n > 0 ? w->uid : is_of_pod(w) ? w->fact_uid : w->of;
}

/* ---- which lines ---- */

/* Lines name a pod by its UID, some by nothing else: so the UIDs of the pod that is asked for are found first. */
struct wanted {
    const struct options *o;
    struct str *uids;
    size_t uid_n, uid_cap;
};

static bool has_uid(const struct wanted *x, struct str uid)
{
    for (size_t i = 0; i < x->uid_n; i++) {
        if (str_eq(x->uids[i], uid)) {
            return true;
        }
    }
    return false;
}

static bool is_named(struct str namespace_, struct str name, const char *pod)
{
    struct str rest = str_of(pod);

    return str_starts(rest, namespace_) && pod[namespace_.n] == '/' && str_eq_cstr(name, pod + namespace_.n + 1);
}

static bool names_pod(const struct options *o, const struct row *w)
{
    if (o->decision != NULL) {
        return str_eq_cstr(w->decision, o->decision);
    }
    return (w->name.n > 0 && is_named(w->namespace_, w->name, o->pod)) ||
           (is_of_pod(w) && is_named(w->fact_namespace, w->fact_name, o->pod));
}

static void note_uid(struct wanted *x, const struct row *w)
{
    const struct str uid = uid_of(w);

    if ((x->o->pod == NULL && x->o->decision == NULL) || uid.n == 0 || !names_pod(x->o, w) || has_uid(x, uid)) {
        return;
    }
    if (x->uid_n == x->uid_cap) {
        x->uid_cap = x->uid_cap == 0 ? 8 : x->uid_cap * 2;
        x->uids = xreallocarray(x->uids, x->uid_cap, sizeof(*x->uids));
    }
    x->uids[x->uid_n++] = uid;
}

static bool is_about_node(const struct row *w, const char *node)
{
    return str_eq_cstr(w->node, node) || str_eq_cstr(w->best, node) || str_eq_cstr(w->of, node) ||
           str_eq_cstr(is_of_pod(w) ? w->fact_node : w->fact_name, node);
}

static bool is_wanted(const struct wanted *x, const struct row *w)
{
    return ((x->o->pod == NULL && x->o->decision == NULL) || has_uid(x, uid_of(w))) &&
           (x->o->node == NULL || is_about_node(w, x->o->node));
}

/* ---- showing ---- */

static void describe(const struct row *w, struct strbuf *out)
{
    if (str_eq_cstr(w->line.type, "bind") && w->verdict == verdict_numbers[VERDICT_FITS]) {
        strbuf_addf(out, "reserved %s", w->gpus.n > 0 ? w->gpus.p : "GPUs that kubelet picks");
    } else if (str_eq_cstr(w->line.type, "bind")) {
        strbuf_addf(out, "refused: %.*s", STR_ARG(w->reason));
    } else if (w->nodes > 0) {
        strbuf_addf(out, "%" PRId64 " of %" PRId64 " nodes fit", w->fit, w->nodes);
        if (w->best.n > 0) {
            strbuf_addf(out, "; %.*s is the best", STR_ARG(w->best));
        }
        if (w->next.n > 0) {
            strbuf_addf(out, " (score %" PRId64 "), then %.*s (%" PRId64 ")", w->score, STR_ARG(w->next),
                        w->next_score);
        }
        strbuf_add_cstr(out, w->moved ? "; the cluster changed meanwhile" : "");
    } else if (is_of_pod(w)) {
        strbuf_addf(out, "%s%s", w->fact_node.n > 0 ? "bound" : "not bound", w->deleting ? ", being deleted" : "");
    } else if (str_eq_cstr(w->op, "nodeDescribed")) {
        strbuf_addf(out, "%" PRId64 " GPUs%s%.*s", w->device_n, w->fact_note.n > 0 ? "; " : "", STR_ARG(w->fact_note));
    } else if (str_eq_cstr(w->line.type, "configuration")) {
        strbuf_addf(out, "generation %" PRId64 " of the configuration", w->config);
    } else if (w->of.n > 0) {
        strbuf_add_str(out, w->of);
    }
}

static void print_row(const struct row *w)
{
    const struct str what = w->op.n > 0 ? w->op : w->line.type;
    const struct str namespace_ = w->name.n > 0 ? w->namespace_ : w->fact_namespace;
    const struct str name = w->name.n > 0 ? w->name : is_of_pod(w) ? w->fact_name : STR_NULL;
    const struct str node = w->node.n > 0 ? w->node : is_of_pod(w) ? w->fact_node : w->fact_name;
    char when[CLOCK_RFC3339_MAX], pod[DETAILS_MAX];
    struct strbuf details;

    strbuf_init(&details, 4096);
    describe(w, &details);
    snprintf(pod, sizeof(pod), "%.*s%s%.*s", STR_ARG(namespace_), name.n > 0 ? "/" : "", STR_ARG(name));
    printf("%8" PRIu64 "  %-24s  %-13.*s  %-16.*s  %-28s  %-18.*s  %s\n", w->line.seq,
           clock_rfc3339(w->line.at_ms, when), STR_ARG(what), STR_ARG(w->decision), pod, STR_ARG(node), details.p);
    strbuf_fini(&details);
}

struct shown {
    struct json_reader reader;
    struct arena arena;
};

typedef void row_fn(struct wanted *x, const struct row *w);

static void show_row(struct wanted *x, const struct row *w)
{
    if (is_wanted(x, w) && x->o->in.json) {
        terminal_print_json(w->line.text);
        printf("\n");
    } else if (is_wanted(x, w)) {
        print_row(w);
    }
}

static void note_row(struct wanted *x, const struct row *w)
{
    note_uid(x, w);
}

static int each_row(struct shown *s, struct str document, struct wanted *x, row_fn *fn, struct err *reterr)
{
    struct trace_lines lines;
    struct row w;
    bool any = true;
    int rc = trace_lines_begin(&lines, document, &s->reader, &s->arena, reterr);

    while (rc == 0 && any) {
        w = (struct row){.moved = false};
        rc = trace_lines_next(&lines, &w.line, &any, reterr);
        strbuf_init(&w.gpus, DETAILS_MAX * 8);
        if (rc == 0 && any) {
            rc = read_row(&s->reader, &s->arena, &w, reterr);
        }
        if (rc == 0 && any) {
            fn(x, &w);
        }
        strbuf_fini(&w.gpus);
    }
    return rc;
}

static int show(const struct options *o, struct shown *s, struct str document, struct err *reterr)
{
    struct wanted x = {.o = o};
    int rc = each_row(s, document, &x, note_row, reterr);

    if (rc == 0) {
        if (!o->in.json) {
            printf("     SEQ  TIME                      WHAT           DECISION          POD                           "
                   "NODE                DETAILS\n");
        }
        rc = each_row(s, document, &x, show_row, reterr);
    }
    free(x.uids);
    return rc;
}

/* ---- saving ---- */

static int save(struct shown *s, const char *path, struct str document, struct err *reterr)
{
    struct trace_lines lines;
    struct trace_line line;
    bool any = true, written;
    int rc = trace_lines_begin(&lines, document, &s->reader, &s->arena, reterr);
    FILE *f;

    while (rc == 0 && any) {
        rc = trace_lines_next(&lines, &line, &any, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    f = fopen(path, "wxe");
    if (f == NULL) {
        return err_set(reterr, ERR_DENIED, "%s: %m%s", path,
                       errno == EEXIST ? "; give another name, or remove it" : "");
    }
    written = fwrite(document.p, 1, document.n, f) == document.n;
    written = fclose(f) == 0 && written;
    if (!written) {
        return err_set(reterr, ERR_INTERNAL, "%s: %m", path);
    }
    printf("%s: %" PRIu64 " lines, %s\n", path, lines.head.next - lines.head.first,
           lines.head.complete ? "everything since the start of fgpu"
                               : "the last ones; fgpu replay needs everything since the start, see "
                                 "flightRecorder.memory");
    return 0;
}

static int run_trace(const struct options *o)
{
    static struct shown shown; /* too large for a stack */
    struct strbuf document;
    struct err err;
    bool is_read;
    int rc;

    strbuf_init(&document, TRACE_BYTES_MAX);
    arena_init(&shown.arena, ARENA_BYTES_MAX);
    rc = o->from != NULL ? file_or_pipe_read(o->from, &document, &err)
                         : inquiry_get(&o->in, "/v1/trace", &document, &err);
    is_read = rc == 0;
    if (is_read) {
        rc = o->out != NULL ? save(&shown, o->out, strbuf_view(&document), &err)
                            : show(o, &shown, strbuf_view(&document), &err);
    }
    if (rc != 0 && is_read && o->from != NULL) {
        rc = err_wrap(&err, rc, "%s", o->from);
    }
    if (rc != 0) {
        terminal_complain("trace", err.msg);
    }
    arena_fini(&shown.arena);
    strbuf_fini(&document);
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

int cmd_trace(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_trace, .take = inquiry_take};
    struct options o = {.pod = NULL};
    int code;

    if (!inquiry_read(&line, argc, argv, &o.in, &code)) {
        return code;
    }
    if (o.pod != NULL && strchr(o.pod, '/') == NULL) {
        return cmd_usage_error("trace", "cannot use \"%s\"; write NAMESPACE/NAME", o.pod);
    }
    if (o.pod != NULL && o.decision != NULL) {
        return cmd_usage_error("trace", "give --pod or --decision, not both");
    }
    return run_trace(&o);
}
