/* fgpu rightsize: which size would have held each workload, from the /state of the agents; idle GPUs, pods that never
 * touched theirs, and who crowds out neighbours. Nobody is resized. */
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/rightsize_show.h"
#include "cmd/terminal.h"
#include "config/diagnostics.h"
#include "config/load.h"
#include "sim/rightsize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCES_MAX 1024
#define ARENA_BYTES_MAX ((size_t)256 << 20)
#define MARGIN_DEFAULT 20
#define MARGIN_MAX 400
#define LEAST_SECONDS_DEFAULT 3600
#define COMMAND "rightsize"

struct options {
    struct inquiry inquiry; /* its command, token and CA; each source in turn */
    const char *config;
    const char *from[SOURCES_MAX];
    size_t from_n;
    int64_t margin_percent, least_seconds;
};

static const struct page_option options[] = {
    {"from", .value = "FILE|URL", .id = 'f',
     .text =
         "ops listener of an agent (http://127.0.0.1:9444, by kubectl port-forward), or its /state saved to a file; "
         "once for each node. What ended earlier is in files that were saved earlier"},
    {"config", .value = "FILE", .text = "configuration of fgpu: its named sizes are what is proposed",
     .id = OPTION_AT(struct options, config)},
    {"margin", .value = "PERCENT", .id = 'm',
     .text = "above the peak, 0 to " QUOTE(MARGIN_MAX) " (default " QUOTE(MARGIN_DEFAULT) ")"},
    {"least-seconds", .value = "N", .id = 'l',
     .text = "that the instances of a workload were seen together (default " QUOTE(LEAST_SECONDS_DEFAULT) ")"},
    {"token-file", .value = "FILE", .text = "bearer token, for a proxy before the listeners",
     .id = OPTION_AT(struct options, inquiry.token_file)},
    {"ca-file", .value = "FILE", .text = "PEM with the CA of its certificate",
     .id = OPTION_AT(struct options, inquiry.ca_file)},
    {"output", 'o', "table|json", "default table"},
};

const struct page page_rightsize = {
    .command = "fgpu rightsize",
    .usage = "--from FILE|URL [--from ...] [options]",
    .about =
        "Proposes for each workload the smallest size that would have held what it used of its GPUs, with what was "
        "seen of it; lists idle GPUs, pods that never touched theirs, and who crowds out neighbours. Nobody is "
        "resized.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .notes = "Workloads are pods of one namespace whose names differ only in what a controller appends. Of several "
             "documents of a node each container counts once.\n\n"
             "Verdicts:\n"
             "  smaller    less would have held: see the proposal\n"
             "  larger     it used more memory than it was given: see the proposal\n"
             "  fits       nothing smaller, or no smaller named size, would have held\n"
             "  untouched  none of its pods ever had a process on its GPU\n"
             "  brief      seen for less than --least-seconds\n"
             "  not-told   nobody looked, or the driver did not tell its memory or its compute\n"
             "  instance   it has a MIG instance, of which the driver does not tell the compute",
    .exit_codes = "0 ok, 1 a source could not be read (the others are shown), 2 usage, 3 invalid configuration",
    .examples = "fgpu rightsize --from http://127.0.0.1:9444\n"
                "fgpu rightsize --from node-a.json --from node-b.json --config fgpu.yaml --margin 20",
};

static int take_number(const char *option, const char *value, int64_t max, int64_t *ret)
{
    uint64_t n;

    if (!str_to_u64(str_of(value), (uint64_t)max, &n)) {
        return cmd_usage_error(COMMAND, "--%s must be a number from 0 to %" PRId64 ", not \"%s\"", option, max, value);
    }
    *ret = (int64_t)n;
    return EXIT_OK;
}

static int take(void *ret, int option, const char *value)
{
    struct options *o = ret;

    switch (option) {
    case 'f':
        if (o->from_n == SOURCES_MAX) {
            return cmd_usage_error(COMMAND, "--from may be given %d times at most", SOURCES_MAX);
        }
        o->from[o->from_n++] = value;
        return EXIT_OK;
    case 'm':
        return take_number("margin", value, MARGIN_MAX, &o->margin_percent);
    case 'l':
        return take_number("least-seconds", value, INT32_MAX, &o->least_seconds);
    default:
        return inquiry_take(&o->inquiry, option, value);
    }
}

/* ---- reading ---- */

static bool is_url(const char *source)
{
    return strncmp(source, "http://", 7) == 0 || strncmp(source, "https://", 8) == 0;
}

/* 127.0.0.1:9444 or localhost:9444/state: a listener to whom it was written, a file to us. */
static bool is_url_without_scheme(const char *source)
{
    const size_t host_n = strcspn(source, "/:");

    return host_n > 0 && source[host_n] == ':' && strspn(source + host_n + 1, STR_DIGITS) > 0;
}

/* The message of `reterr`, with its source before it, once, and with what to do where that is known. */
static int complete_message(const char *source, int rc, struct err *reterr)
{
    const bool named = str_starts(str_of(reterr->msg), str_of(source)); /* those of files and of servers */

    if (rc == -ERR_NOT_FOUND && is_url_without_scheme(source)) {
        return err_set(reterr, ERR_NOT_FOUND, "%s: no such file; an ops listener is written http://%s", source, source);
    }
    return named ? rc : err_wrap(reterr, rc, "%s", source);
}

static int read_source(const struct options *o, const char *source, struct rightsize *r, struct err *reterr)
{
    struct inquiry q = o->inquiry;
    struct strbuf document;
    struct str text;
    int rc;

    q.server = source;
    q.state_file = is_url(source) ? NULL : source;
    strbuf_init(&document, RIGHTSIZE_DOCUMENT_BYTES_MAX);
    rc = inquiry_state(&q, false, &document, reterr);
    if (rc == 0) {
        text = arena_str(r->arena, strbuf_view(&document));
        rc = text.p == NULL ? err_set(reterr, ERR_LIMIT, "more documents than there is memory for")
                            : rightsize_read(r, text, reterr);
    }
    strbuf_fini(&document);
    return rc != 0 ? complete_message(source, rc, reterr) : 0;
}

/* ---- all of it ---- */

static int show(struct rightsize *r, const struct options *o, const struct policy *policy, bool complete)
{
    const struct rightsize_rules rules = {
        .margin_percent = (int)o->margin_percent, .least_seconds = o->least_seconds, .policy = policy};
    struct rightsize_view v = {
        .read = r, .complete = complete, .margin_percent = o->margin_percent, .least_seconds = o->least_seconds};
    struct strbuf out;
    struct err err;

    if (rightsize_judge(r, &rules, &v.workloads, &v.n, &err) != 0) {
        terminal_complain(COMMAND, err.msg);
        return EXIT_RUNTIME;
    }
    strbuf_init(&out, ARENA_BYTES_MAX);
    if (o->inquiry.json) {
        rightsize_json(&v, &out);
        terminal_print_json(strbuf_view(&out));
        printf("\n");
    } else {
        rightsize_table(&v, &out);
        terminal_print(strbuf_view(&out));
    }
    strbuf_fini(&out);
    return complete ? EXIT_OK : EXIT_RUNTIME;
}

static int run(const struct options *o, const struct policy *policy)
{
    struct rightsize r = {.uses = NULL};
    struct arena a;
    bool complete = true;
    int code;

    arena_init(&a, ARENA_BYTES_MAX);
    r.arena = &a;
    for (size_t i = 0; i < o->from_n; i++) {
        struct err err;

        if (read_source(o, o->from[i], &r, &err) != 0) {
            terminal_complain(COMMAND, err.msg);
            complete = false;
        }
    }
    code = show(&r, o, policy, complete);
    arena_fini(&a);
    return code;
}

int cmd_rightsize(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_rightsize, .take = take};
    static struct options o; /* too large for a stack */
    struct config_names names;
    struct config *config = NULL;
    struct strbuf report;
    struct err err;
    int code;

    o = (struct options){
        .inquiry = {.command = COMMAND}, .margin_percent = MARGIN_DEFAULT, .least_seconds = LEAST_SECONDS_DEFAULT};
    code = options_read(&line, argc, argv, &o);
    if (code == EXIT_OK && o.from_n == 0) {
        code = cmd_usage_error(COMMAND, "--from is missing: an agent's ops listener, or its /state saved to a file");
    }
    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (o.config == NULL) {
        return run(&o, NULL);
    }
    cmd_config_names(&names);
    strbuf_init(&report, 1 << 20);
    if (config_load(o.config, &names, &config, &report, &err) != 0) {
        fputs(report.n > 0 ? report.p : err.msg, stderr);
        fputs(report.n > 0 ? "" : "\n", stderr);
        code = EXIT_CONFIG;
    } else {
        code = run(&o, &config->policy);
        config_free(config);
    }
    strbuf_fini(&report);
    return code;
}
