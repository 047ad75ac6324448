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

enum { OPT_CONFIG = 256, OPT_AT, OPT_KUBECONFIG, OPT_CONTEXT };

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    {"at", required_argument, NULL, OPT_AT},
    {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
    {"context", required_argument, NULL, OPT_CONTEXT},
    INQUIRY_OPTIONS,
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu whatif --config FILE [options]\n\n"
           "Checks the configuration, then shows what it would change in the cluster of a running extender:\n"
           "settings that differ, pods with another charge, GPUs over-committed, tenants above their limits,\n"
           "closed nodes, what would fit, fragmentation, and the node of each pending pod. It changes nothing.\n\n"
           "/state has neither labels nor the text of requests. What depends on them is shown as not judged.\n"
           "With --kubeconfig nodes and pods are read from the API server, and everything is judged.\n\n"
           "  --config FILE     the new configuration\n"
           "  --kubeconfig FILE the API server: lists nodes and pods\n"
           "  --context NAME    of the kubeconfig; without it its current-context\n"
           "  --at TIME         the time for which time windows count, 2026-03-01T20:30:00Z; without it\n"
           "                    the time of the state\n" INQUIRY_HELP "\n"
           "Exit codes: 0 ok, 1 it would over-commit GPUs, or take a tenant above its limit, or there is no\n"
           "answer, 2 usage, 3 invalid configuration.\n");
}

struct options {
    const char *config, *at, *kubeconfig, *context;
    int64_t at_ms;
};

static bool take_option(void *ctx, int c, const char *value)
{
    struct options *o = ctx;

    switch (c) {
    case OPT_CONFIG:
        o->config = value;
        return true;
    case OPT_KUBECONFIG:
        o->kubeconfig = value;
        return true;
    case OPT_CONTEXT:
        o->context = value;
        return true;
    case OPT_AT:
        o->at = value;
        return clock_rfc3339_parse(str_of(value), &o->at_ms);
    default:
        return false;
    }
}

static const char *problem_of(void *ctx)
{
    const struct options *o = ctx;

    return o->config == NULL                             ? "--config is missing"
           : o->context != NULL && o->kubeconfig == NULL ? "--context is of a --kubeconfig"
                                                         : NULL;
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

static int judge(const struct options *o, const struct inquiry *in, struct whatif_question *q, int64_t at_ms,
                 int *ret_code, struct err *reterr)
{
    struct whatif x;
    int rc = o->kubeconfig == NULL ? 0 : read_cluster(o, q, reterr);

    rc = rc != 0 ? rc : whatif_run(q, &x, reterr);
    if (rc == 0) {
        const struct whatif_shown shown = {&x, at_ms, {q->before, q->after}};

        *ret_code = show(in, &shown);
        whatif_fini(&x);
    }
    ledger_free(q->ledgers[0]);
    ledger_free(q->ledgers[1]);
    return rc;
}

/* As it is at that moment: with the windows that are open then. */
static struct config *config_then(const struct config *c, int64_t at_ms)
{
    return config_at(c, timetable_open(&c->timetable, at_ms / 1000));
}

static int ask(const struct options *o, const struct inquiry *in, const struct config *next,
               const struct config_names *names, int *ret_code, struct err *reterr)
{
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

        rc = judge(o, in, &q, at_ms, ret_code, reterr);
        config_free(before);
        config_free(after);
        state_file_fini(&state);
    }
    strbuf_fini(&document);
    return rc;
}

static int run_whatif(const struct options *o, const struct inquiry *in)
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
    if (ask(o, in, next, &names, &code, &err) != 0) {
        terminal_complain("whatif", err.msg);
        code = EXIT_RUNTIME;
    }
    config_free(next);
    return code;
}

int cmd_whatif(int argc, char **argv)
{
    struct options o = {.config = NULL};
    const struct inquiry_command command = {.name = "whatif",
                                            .options = long_options,
                                            .print_help = print_help,
                                            .own = take_option,
                                            .problem = problem_of,
                                            .ctx = &o};
    struct inquiry q;
    int code;

    return inquiry_read(&q, &command, argc, argv, &code) ? run_whatif(&o, &q) : code;
}
