/* fgpu whatif: what another configuration would make of the cluster as it is. */
#include "sim/whatif.h"

#include "base/clock.h"
#include "cmd/cluster_reading.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/terminal.h"
#include "cmd/whatif_show.h"
#include "config/kubeconfig.h"
#include "core/time/timetable.h"

#include <stdio.h>
#include <string.h>

#define OUTPUT_BYTES_MAX ((size_t)64 << 20)

struct options {
    struct inquiry in;
    const char *config, *at, *kubeconfig, *context;
    int64_t at_ms;
};

enum { OPT_AT = 256 };

static const struct page_option options[] = {
    {"config", .value = "FILE", .text = "the new configuration", .id = OPTION_AT(struct options, config)},
    {"kubeconfig", .value = "FILE", .text = "the API server: lists nodes and pods",
     .id = OPTION_AT(struct options, kubeconfig)},
    {"context", .value = "NAME", .text = "of the kubeconfig; without it its current-context",
     .id = OPTION_AT(struct options, context)},
    {"at", .value = "TIME", .id = OPT_AT,
     .text = "the time for which time windows count, 2026-03-01T20:30:00Z; without it the time of the state"},
    INQUIRY_ROWS("default table"),
};

const struct page page_whatif = {
    .command = "fgpu whatif",
    .usage = "--config FILE [options]",
    .about =
        "Checks the configuration, then shows what it would change in the cluster of a running extender: settings "
        "that differ, pods with another charge, GPUs over-committed, tenants above their limits, closed nodes, what "
        "would fit, fragmentation, and the node of each pending pod. It changes nothing.\n\n"
        "/state has neither labels nor the text of requests. What depends on them is shown as not judged. With "
        "--kubeconfig nodes and pods are read from the API server, and everything is judged.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes =
        "0 ok, 1 it would over-commit GPUs, or take a tenant above its limit, or there is no answer, 2 usage, "
        "3 invalid configuration",
    .examples = "fgpu whatif --config new.yaml\n"
                "fgpu whatif --config new.yaml --kubeconfig ~/.kube/config --at 2026-03-01T20:30:00Z",
};

static int take_option(void *ret, int option, const char *value)
{
    struct options *o = ret;

    if (option != OPT_AT) {
        return inquiry_take(ret, option, value);
    }
    o->at = value;
    return clock_rfc3339_parse(str_of(value), &o->at_ms)
               ? EXIT_OK
               : cmd_usage_error("whatif", "cannot use %s; --at is a time like 2026-03-01T20:30:00Z", value);
}

/* ---- asking ---- */

static int show(const struct inquiry *q, const struct whatif_shown *s)
{
    struct strbuf out;

    strbuf_init(&out, OUTPUT_BYTES_MAX);
    if (q->json) {
        whatif_show_json(s, &out);
        terminal_print_json(strbuf_view(&out));
    } else {
        whatif_show_table(s, &out);
        terminal_print(strbuf_view(&out));
    }
    strbuf_fini(&out);
    return whatif_is_worse(s->result) ? EXIT_RUNTIME : EXIT_OK;
}

/* From the API server instead of the state. */
static int read_cluster(const struct options *o, struct whatif_question *q, struct err *reterr)
{
    const struct policy *const policies[2] = {&q->before->policy, &q->after->policy};
    struct credentials creds = {0};
    int rc = kubeconfig_load(o->kubeconfig, o->context, &creds, reterr);

    if (rc == 0) {
        rc = cluster_read(&creds, policies, q->ledgers, reterr);
        credentials_fini(&creds);
    }
    q->state = NULL;
    return rc;
}

static int judge(const struct options *o, struct whatif_question *q, int64_t at_ms, int *ret_code, struct err *reterr)
{
    struct whatif x;
    int rc = o->kubeconfig == NULL ? 0 : read_cluster(o, q, reterr);

    rc = rc != 0 ? rc : whatif_run(q, &x, reterr);
    if (rc == 0) {
        const struct whatif_shown shown = {&x, at_ms, {q->before, q->after}};

        *ret_code = show(&o->in, &shown);
        whatif_fini(&x);
    }
    ledger_free(q->ledgers[0]);
    ledger_free(q->ledgers[1]);
    return rc;
}

/* As it is at that moment: with the windows that are open then. */
static struct config *config_then(const struct config *c, int64_t at_ms)
{
    struct config *then = config_at(c, timetable_open(&c->timetable, at_ms / 1000));

    then->policy.admitted_pools = UINT64_MAX; /* as if every change-over had ended: its pools are open by the file */
    return then;
}

static int ask(const struct options *o, const struct config *next, const struct config_names *names, int *ret_code,
               struct err *reterr)
{
    const struct inquiry *in = &o->in;
    struct strbuf document;
    struct state_file state;
    int rc;

    strbuf_init(&document, STATE_FILE_BYTES_MAX);
    rc = inquiry_state(in, false, &document, reterr);
    if (rc == 0) {
        rc = state_file_parse(in->state_file != NULL ? in->state_file : in->server, strbuf_view(&document), names,
                              &state, reterr);
    }
    if (rc == 0) {
        int64_t at_ms = o->at != NULL ? o->at_ms : state.as_of_ms;
        struct config *before = config_then(state.file_config, at_ms), *after = config_then(next, at_ms);
        struct whatif_question q = {.before = before, .after = after, .state = &state, .mix = state.mix};

        rc = judge(o, &q, at_ms, ret_code, reterr);
        config_free(before);
        config_free(after);
        state_file_fini(&state);
    }
    strbuf_fini(&document);
    return rc;
}

static int run_whatif(const struct options *o)
{
    struct config_names names;
    struct config *next = NULL;
    struct strbuf report;
    struct err err;
    int code = EXIT_OK;

    cmd_config_names(&names);
    strbuf_init(&report, 1 << 20);
    if (config_load(o->config, &names, &next, &report, &err) != 0) {
        fputs(report.n > 0 ? report.p : err.msg, stderr);
        fputs(report.n > 0 ? "" : "\n", stderr);
        strbuf_fini(&report);
        return EXIT_CONFIG;
    }
    strbuf_fini(&report);
    if (ask(o, next, &names, &code, &err) != 0) {
        terminal_complain("whatif", err.msg);
        code = EXIT_RUNTIME;
    }
    config_free(next);
    return code;
}

int cmd_whatif(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_whatif, .take = take_option};
    struct options o = {.config = NULL};
    int code;

    if (!inquiry_read(&line, argc, argv, &o.in, &code)) {
        return code;
    }
    if (o.config == NULL) {
        return cmd_usage_error("whatif", "--config is missing");
    }
    if (o.context != NULL && o.kubeconfig == NULL) {
        return cmd_usage_error("whatif", "--context is of a --kubeconfig");
    }
    return run_whatif(&o);
}
