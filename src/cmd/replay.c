/* fgpu replay: the decisions of a saved trace made again, and the first that comes out otherwise. */
#include "base/bug.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/printable.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/terminal.h"
#include "config/load.h"
#include "extender/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_BYTES_MAX ((size_t)2 << 30)
#define SHOWN_MAX 10 /* differences */

struct options {
    const char *config;
    const char *file; /* the word; not at the beginning, see struct command_line */
    bool json;
};

static const struct page_option options[] = {
    {"config", .value = "FILE",
     .text = "decides by the packing section of this configuration, without its time windows, instead of what was in "
             "effect, and shows which decisions would differ",
     .id = OPTION_AT(struct options, config)},
    {"output", 'o', "table|json", "json: counts and differences"},
};

const struct page page_replay = {
    .command = "fgpu replay",
    .usage = "FILE [options]",
    .about =
        "Makes the decisions of a trace (fgpu trace --out FILE) again, on the ledger as it was at each of them, and "
        "says "
        "whether all come out as they did, bit for bit: the judgement of every node by filter and prioritize, the "
        "devices and the record of every bind. Else it shows the first that does not, as it was and as it is now.\n"
        "With --config each decision is made by the other strategies and packing rules on the cluster as it really "
        "was: "
        "what was decided then is what goes on. The ten first decisions that would differ are shown, and all counted: "
        "another best node, or other devices on the node of a bind.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes =
        "0 all the same, or with --config: compared; 1 a difference, or no trace that can be replayed; 2 usage; "
        "3 invalid configuration",
    .examples = "fgpu replay trace.jsonl\n"
                "fgpu replay trace.jsonl --config other.yaml",
    .word = "FILE",
};

/* ---- what is found ---- */

struct differences {
    struct strbuf text; /* of the table, or elements of the JSON */
    struct json_writer w;
    struct arena arena;
    const struct config **configs; /* that were recorded */
    size_t config_n;
    struct config_names names;
    size_t shown_n;
    bool json, by_other;
    const char *file;
};

static void show_text(struct differences *x, const struct replay_difference *d)
{
    char when[CLOCK_RFC3339_MAX];
    struct str namespace_ = printable(&x->arena, d->namespace_), name = printable(&x->arena, d->name);

    strbuf_addf(&x->text, "line %" PRIu64 ", %s, %s%s%.*s%s%.*s\n  recorded: %s\n  %s      %s\n", d->seq,
                clock_rfc3339(d->at_ms, when), d->what, name.n > 0 ? " of " : "", STR_ARG(namespace_),
                name.n > 0 ? "/" : "", STR_ARG(name), d->recorded, x->by_other ? "then:" : "now: ", d->now);
}

static void show_json(struct differences *x, const struct replay_difference *d)
{
    json_write_object_begin(&x->w);
    json_write_kv_i64(&x->w, "seq", (int64_t)d->seq);
    json_write_kv_i64(&x->w, "atMs", d->at_ms);
    json_write_kv_cstr(&x->w, "what", d->what);
    json_write_kv_str(&x->w, "namespace", d->namespace_);
    json_write_kv_str(&x->w, "name", d->name);
    json_write_kv_cstr(&x->w, "recorded", d->recorded);
    json_write_kv_cstr(&x->w, x->by_other ? "other" : "now", d->now);
    json_write_object_end(&x->w);
}

static bool differs(void *ctx, const struct replay_difference *d)
{
    struct differences *x = ctx;

    if (x->shown_n++ >= SHOWN_MAX) {
        return true;
    }
    if (x->json) {
        show_json(x, d);
    } else {
        show_text(x, d);
    }
    return x->by_other;
}

static int policy_of(void *ctx, struct str configuration, const struct policy **ret, struct err *reterr)
{
    struct differences *x = ctx;
    struct config *c;
    int rc = config_parse(STR("configuration"), configuration, &x->names, &c, NULL, reterr);

    if (rc == 0) {
        x->configs = xreallocarray(x->configs, x->config_n + 1, sizeof(*x->configs));
        x->configs[x->config_n++] = c;
        *ret = &c->policy;
    }
    return rc;
}

/* ---- what is said ---- */

static void say_counts(const struct replay_report *r, bool by_other)
{
    uint64_t again_n = 0, moved_n = 0;

    for (size_t v = 0; v < REPLAY_VERB__MAX; v++) {
        again_n += r->verbs[v].again_n;
        moved_n += r->verbs[v].moved_n;
    }
    printf("%" PRIu64 " decisions made again", again_n);
    for (size_t v = 0; v < REPLAY_VERB__MAX; v++) {
        printf("%s%s %" PRIu64, v == 0 ? " (" : ", ", replay_verb_name((enum replay_verb)v), r->verbs[v].again_n);
        if (by_other) {
            printf(", other: %" PRIu64, r->verbs[v].different_n);
        }
    }
    printf(") on %" PRIu64 " changes of the ledger", r->op_n);
    if (moved_n > 0) {
        printf("; not made again: %" PRIu64 " during which the cluster changed", moved_n);
    }
    if (by_other) {
        printf(".\n");
    } else {
        printf("%s\n", r->different_n == 0 ? ": all as recorded." : ", up to the first difference.");
    }
}

static void say_json(const struct differences *x, const struct replay_report *r)
{
    struct json_writer w;
    struct strbuf out;

    strbuf_init(&out, 1 << 24);
    json_writer_init(&w, &out);
    json_write_object_begin(&w);
    json_write_kv_str(&w, "version", r->head.version);
    json_write_kv_bool(&w, "same", r->different_n == 0);
    json_write_kv_i64(&w, "changes", (int64_t)r->op_n);
    for (size_t v = 0; v < REPLAY_VERB__MAX; v++) {
        json_write_kv_object_begin(&w, replay_verb_name((enum replay_verb)v));
        json_write_kv_i64(&w, "again", (int64_t)r->verbs[v].again_n);
        json_write_kv_i64(&w, "different", (int64_t)r->verbs[v].different_n);
        json_write_kv_i64(&w, "moved", (int64_t)r->verbs[v].moved_n);
        json_write_object_end(&w);
    }
    json_write_key(&w, "differences");
    json_write_raw(&w, strbuf_view(&x->text));
    json_write_object_end(&w);
    strbuf_add_char(&out, '\n');
    terminal_print_json(strbuf_view(&out));
    strbuf_fini(&out);
}

/* ---- the command ---- */

static int replay(struct differences *x, const struct config *other, struct str document)
{
    const struct replay_options o = {
        .policy = policy_of, .other = other != NULL ? &other->policy : NULL, .differs = differs, .ctx = x};
    struct replay_report report;
    struct err err;

    if (x->json) {
        json_writer_init(&x->w, &x->text);
        json_write_array_begin(&x->w);
    }
    const int rc = replay_run(document, &o, &report, &err);

    if (rc != 0) {
        (void)err_wrap(&err, rc, "%s", x->file);
        terminal_complain("replay", err.msg);
        return EXIT_RUNTIME;
    }
    if (x->json) {
        json_write_array_end(&x->w);
        say_json(x, &report);
    } else {
        terminal_print(strbuf_view(&x->text));
        say_counts(&report, x->by_other);
    }
    return other != NULL || report.different_n == 0 ? EXIT_OK : EXIT_RUNTIME;
}

static int run_replay(const struct options *o, const struct config *other)
{
    struct differences x = {.json = o->json, .by_other = other != NULL, .file = o->file};
    struct strbuf document;
    struct err err;
    int code = EXIT_RUNTIME;

    cmd_config_names(&x.names);
    strbuf_init(&x.text, 1 << 22);
    strbuf_init(&document, TRACE_BYTES_MAX);
    arena_init(&x.arena, 1 << 22);
    if (file_or_pipe_read(o->file, &document, &err) != 0) {
        terminal_complain("replay", err.msg);
    } else {
        code = replay(&x, other, strbuf_view(&document));
    }
    for (size_t i = 0; i < x.config_n; i++) {
        config_free(x.configs[i]);
    }
    free(x.configs);
    arena_fini(&x.arena);
    strbuf_fini(&document);
    strbuf_fini(&x.text);
    return code;
}

static int take_output(void *ret, int option, const char *value)
{
    struct options *o = ret;

    BUG_ON(option != 'o');
    o->json = strcmp(value, "json") == 0;
    return o->json || strcmp(value, "table") == 0
               ? EXIT_OK
               : cmd_usage_error("replay", "cannot use \"%s\"; there are table and json", value);
}

int cmd_replay(int argc, char **argv)
{
    static const struct command_line line = {
        .page = &page_replay, .take = take_output, .word_at = offsetof(struct options, file)};
    struct options o = {.file = NULL};
    struct config_names names;
    struct config *other = NULL;
    struct strbuf report;
    struct err err;
    int code = options_read(&line, argc, argv, &o);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (o.file == NULL) {
        return cmd_usage_error("replay", "which trace? Write the name of a file of fgpu trace --out");
    }
    if (o.config != NULL) {
        cmd_config_names(&names);
        strbuf_init(&report, 1 << 20);
        code = config_load(o.config, &names, &other, &report, &err) == 0 ? EXIT_OK : EXIT_CONFIG;
        if (report.n > 0 && report.p[report.n - 1] == '\n') {
            report.p[report.n - 1] = '\0';
        }
        if (code != EXIT_OK) {
            terminal_complain("replay", report.n > 0 ? report.p : err.msg);
        }
        strbuf_fini(&report);
    }
    code = code == EXIT_OK ? run_replay(&o, other) : code;
    config_free(other);
    return code;
}
