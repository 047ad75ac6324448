/* fgpu explain: why a pod waits, or why it is where it is, from /v1/explain of a running extender. */
#include "base/json_members.h"
#include "base/printable.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/terminal.h"
#include "kube/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES_MAX ((size_t)64 << 20)
#define PATH_BYTES_MAX 8192

struct options {
    struct inquiry in;
    const char *pod;
};

static const struct page_option options[] = {
    INQUIRY_SERVER_ROWS("json: the whole answer (config/explain.schema.json)"),
};

const struct page page_explain = {
    .command = "fgpu explain",
    .usage = "pod/NAMESPACE/NAME [options]",
    .about =
        "Of a pod that waits: how many nodes refuse it and why, which come nearest, what their GPUs lack, and whose "
        "end would make room. Of a pod that runs: which GPUs it has, and why there.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 ok, 1 no answer, or no such pod, 2 usage",
    .examples = "fgpu explain pod/default/train-0",
    .word = "pod/NAMESPACE/NAME",
};

/* ---- the table ---- */

struct answer {
    struct str outcome, text, reasons, nearest, notes, allocations, near_names;
};

struct shown {
    struct json_reader reader; /* of one list at a time */
    struct arena arena;
};

static int read_answer(struct shown *s, struct str document, struct answer *ret, struct err *reterr)
{
    json_reader_init(&s->reader, document, &s->arena);
    json_members(&s->reader, JSON_MEMBERS({"outcome", .shown = &ret->outcome}, {"text", .shown = &ret->text},
                                          {"reasons", .raw = &ret->reasons}, {"nearest", .raw = &ret->nearest},
                                          {"notes", .raw = &ret->notes}, {"allocations", .raw = &ret->allocations},
                                          {"nearNames", .raw = &ret->near_names}));
    return json_read_end(&s->reader, reterr);
}

/* Prints the elements of a list under `title`, if there are any. */
static int print_list(struct shown *s, struct str list, const char *title, void (*print)(struct json_reader *r),
                      struct err *reterr)
{
    bool any = false;

    if (list.n == 0) {
        return 0;
    }
    json_reader_init(&s->reader, list, &s->arena);
    json_array_begin(&s->reader);
    while (json_array_next(&s->reader)) {
        if (!any) {
            printf("\n%s\n", title);
        }
        any = true;
        print(&s->reader);
    }
    return json_read_end(&s->reader, reterr);
}

static void print_reason(struct json_reader *r)
{
    struct str text = STR_NULL;
    int64_t n = 0;

    json_members(r, JSON_MEMBERS({"text", .shown = &text}, {"nodes", .i64 = &n}));
    printf("%6" PRId64 "  %.*s\n", n, STR_ARG(text));
}

static void print_node(struct json_reader *r)
{
    struct str node = STR_NULL, reason = STR_NULL, text = STR_NULL;

    json_members(r, JSON_MEMBERS({"node", .shown = &node}, {"reasonText", .shown = &reason}, {"text", .shown = &text}));
    printf("%-20.*s  %.*s%s%.*s\n", STR_ARG(node), STR_ARG(reason), text.n > 0 ? "; " : "", STR_ARG(text));
}

static void print_note(struct json_reader *r)
{
    struct str text = STR_NULL, example = STR_NULL;
    int64_t n = 0;

    json_members(r, JSON_MEMBERS({"text", .shown = &text}, {"nodes", .i64 = &n}, {"example", .shown = &example}));
    printf("%6" PRId64 "  %-20.*s  %.*s\n", n, STR_ARG(example), STR_ARG(text));
}

static void print_allocation(struct json_reader *r)
{
    struct str uuid = STR_NULL, model = STR_NULL, container = STR_NULL;
    int64_t index = 0, milli = 0, mem_mib = 0;

    json_members(r, JSON_MEMBERS({"index", .i64 = &index}, {"uuid", .shown = &uuid}, {"model", .shown = &model},
                                 {"container", .shown = &container}, {"milli", .i64 = &milli},
                                 {"memMib", .i64 = &mem_mib}));
    printf("%4" PRId64 "  %-40.*s  %-26.*s  %5" PRId64 "  %8" PRId64 "  %.*s\n", index, STR_ARG(uuid), STR_ARG(model),
           milli, mem_mib, STR_ARG(container));
}

static void print_name(struct json_reader *r)
{
    struct str name = STR_NULL;

    if (json_string(r, &name)) {
        name = printable(r->arena, name);
        printf("%.*s\n", STR_ARG(name));
    }
}

static int show(const struct options *o, struct shown *s, struct str document, struct answer *ret, struct err *reterr)
{
    int rc = read_answer(s, document, ret, reterr);

    if (rc != 0) {
        return rc;
    }
    printf("%s: %.*s.\n", o->pod, STR_ARG(ret->text));
    rc = print_list(s, ret->reasons, " NODES  REASON", print_reason, reterr);
    rc = rc == 0 ? print_list(s, ret->nearest, "NEAREST NODES         WHAT IS MISSING", print_node, reterr) : rc;
    rc = rc == 0 ? print_list(s, ret->notes, " NODES  ONE OF THEM           WHAT THEY SAY ABOUT THEIR GPUS", print_note,
                              reterr)
                 : rc;
    rc = rc == 0 ? print_list(s, ret->allocations,
                              " GPU  UUID                                      MODEL                       MILLI       "
                              "MiB  CONTAINER",
                              print_allocation, reterr)
                 : rc;
    return rc == 0 ? print_list(s, ret->near_names, "Did you mean:", print_name, reterr) : rc;
}

/* ---- the command ---- */

/* The path of the question; false: it is no pod. */
static bool path_of(const char *pod, struct strbuf *ret)
{
    struct str rest = str_of(pod), kind, namespace_;

    if (!str_split(&rest, '/', &kind) || !str_eq(kind, STR("pod")) || !str_split(&rest, '/', &namespace_) ||
        namespace_.n == 0 || rest.n == 0 || memchr(rest.p, '/', rest.n) != NULL) {
        return false;
    }
    strbuf_add_cstr(ret, "/v1/explain?pod=");
    kube_url_escape(ret, namespace_);
    strbuf_add_cstr(ret, "%2F");
    kube_url_escape(ret, rest);
    strbuf_add_char(ret, '\0');
    return !ret->overflowed;
}

static int run_explain(const struct options *o, const char *path)
{
    static struct shown shown; /* too large for a stack */
    struct strbuf document;
    struct answer answer = {.outcome = STR_NULL};
    struct err err;
    int rc;

    strbuf_init(&document, ANSWER_BYTES_MAX);
    arena_init(&shown.arena, ANSWER_BYTES_MAX);
    rc = inquiry_get(&o->in, path, &document, &err);
    if (rc == 0 && o->in.json) {
        terminal_print_json(strbuf_view(&document));
        rc = read_answer(&shown, strbuf_view(&document), &answer, &err);
    } else if (rc == 0) {
        rc = show(o, &shown, strbuf_view(&document), &answer, &err);
    }
    if (rc != 0) {
        terminal_complain("explain", err.msg);
    } else if (str_eq(answer.outcome, STR("unknown"))) {
        rc = -ERR_NOT_FOUND;
    }
    arena_fini(&shown.arena);
    strbuf_fini(&document);
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

int cmd_explain(int argc, char **argv)
{
    static const struct command_line line = {
        .page = &page_explain, .take = inquiry_take, .word_at = offsetof(struct options, pod)};
    struct options o = {.pod = NULL};
    struct strbuf path;
    int code;

    if (!inquiry_read(&line, argc, argv, &o.in, &code)) {
        return code;
    }
    strbuf_init(&path, PATH_BYTES_MAX);
    if (o.pod == NULL) {
        code = cmd_usage_error("explain", "which pod? Write pod/NAMESPACE/NAME");
    } else if (!path_of(o.pod, &path)) {
        code = cmd_usage_error("explain", "cannot use \"%s\"; write pod/NAMESPACE/NAME", o.pod);
    } else {
        code = run_explain(&o, path.p);
    }
    strbuf_fini(&path);
    return code;
}
