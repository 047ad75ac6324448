/* fgpu whatif: what another configuration would make of the cluster as it is. */
#include "sim/whatif.h"

#include "base/json_write.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OUTPUT_BYTES_MAX ((size_t)64 << 20)

enum { OPT_CONFIG = 256 };

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    INQUIRY_OPTIONS,
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf(
        "Usage: fgpu whatif --config FILE [options]\n\n"
        "Checks the configuration, then shows what it would make of the state of a running "
        "extender:\n"
        "settings that differ, pods charged otherwise, GPUs over-committed, what would fit, "
        "fragmentation,\n"
        "and the node of each pending pod. Reads only.\n\n"
        "  --config FILE     the new configuration\n" INQUIRY_HELP "\n"
        "Exit codes: 0 ok, 1 it would over-commit GPUs or there is no answer, 2 usage, 3 invalid\n"
        "configuration.\n");
}

/* ---- JSON ---- */

static void write_survey(struct json_writer *w, const char *key, const struct survey *s,
                         size_t overcommitted)
{
    json_write_key(w, key);
    json_write_object_begin(w);
    json_write_kv_i64(w, "overCommittedGpus", (int64_t)overcommitted);
    json_write_kv_i64(w, "idleMilli", s->idle_milli);
    json_write_kv_i64(w, "fragmentedMilli", s->fragmented_milli);
    json_write_kv_i64(w, "typicalPods", (int64_t)s->typical_n);
    json_write_kv_i64(w, "largestFreeMilli", s->largest_milli);
    json_write_kv_i64(w, "largestFreeMemMib", s->largest_mem_mib);
    json_write_kv_i64(w, "mostEmptyGpus", s->empty_gpu_n);
    json_write_object_end(w);
}

static void write_count(struct json_writer *w, const char *key, int64_t n)
{
    json_write_key(w, key);
    if (n < 0) {
        json_write_null(w);
    } else {
        json_write_i64(w, n);
    }
}

static void write_changes(struct json_writer *w, const struct whatif *x)
{
    json_write_key(w, "changes");
    json_write_array_begin(w);
    for (size_t i = 0; i < x->diff.n; i++) {
        const struct config_change *c = &x->diff.changes[i];

        json_write_object_begin(w);
        json_write_kv_str(w, "key", c->key);
        json_write_kv_str(w, "before", c->before);
        json_write_kv_str(w, "after", c->after);
        json_write_kv_cstr(w, "applies", config_reload_text(c->reload));
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_key(w, "notJudged");
    json_write_array_begin(w);
    for (size_t i = 0; x->unjudged[i] != NULL; i++) {
        json_write_cstr(w, x->unjudged[i]);
    }
    json_write_array_end(w);
}

static void write_lists(struct json_writer *w, const struct whatif *x)
{
    json_write_key(w, "overCommitted");
    json_write_array_begin(w);
    for (size_t i = 0; i < x->gpu_n && i < WHATIF_GPUS_MAX; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "node", x->gpus[i].node);
        json_write_kv_str(w, "uuid", x->gpus[i].uuid);
        json_write_kv_i64(w, "index", x->gpus[i].index);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_key(w, "moreFit");
    json_write_array_begin(w);
    for (size_t i = 0; i < x->size_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "size", x->sizes[i].name);
        write_count(w, "before", x->sizes[i].before);
        write_count(w, "after", x->sizes[i].after);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_key(w, "pending");
    json_write_array_begin(w);
    for (size_t i = 0; i < x->pending_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "namespace", x->pending[i].namespace_);
        json_write_kv_str(w, "pod", x->pending[i].name);
        json_write_kv_str(w, "before", x->pending[i].before);
        json_write_kv_str(w, "after", x->pending[i].after);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_json(const struct whatif *x, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    write_changes(&w, x);
    json_write_kv_i64(&w, "pods", (int64_t)x->pod_n);
    json_write_kv_i64(&w, "podsChargedOtherwise", (int64_t)x->recharged_n);
    json_write_kv_i64(&w, "nodes", (int64_t)x->node_n);
    json_write_kv_i64(&w, "nodesReadOtherwise", (int64_t)x->reread_n);
    write_survey(&w, "before", &x->before, x->overcommitted_before);
    write_survey(&w, "after", &x->after, x->overcommitted_after);
    write_lists(&w, x);
    json_write_object_end(&w);
    strbuf_add_char(out, '\n');
}

/* ---- table ---- */

static void table_changes(const struct whatif *x, struct strbuf *out)
{
    if (x->diff.n == 0) {
        strbuf_add_cstr(out, "No setting differs.\n");
    } else {
        strbuf_addf(out, "%-32s %-20s %-20s %s\n", "SETTING", "BEFORE", "AFTER", "APPLIES");
    }
    for (size_t i = 0; i < x->diff.n; i++) {
        const struct config_change *c = &x->diff.changes[i];

        strbuf_addf(out, "%-32.*s %-20.*s %-20.*s %s\n", STR_ARG(c->key), STR_ARG(c->before),
                    STR_ARG(c->after), config_reload_text(c->reload));
    }
    for (size_t i = 0; x->unjudged[i] != NULL; i++) {
        strbuf_addf(
            out,
            "%s: not judged below; the state does not hold what pods and nodes literally say\n",
            x->unjudged[i]);
    }
}

static void table_pair(struct strbuf *out, const char *what, int64_t before, int64_t after)
{
    strbuf_addf(out, "%-32s %12" PRId64 " %12" PRId64 "\n", what, before, after);
}

static void table_sizes(const struct whatif *x, struct strbuf *out)
{
    for (size_t i = 0; i < x->size_n; i++) {
        char before[24] = "-", after[24] = "-", name[96];

        if (x->sizes[i].before >= 0) {
            snprintf(before, sizeof(before), "%" PRId64, x->sizes[i].before);
        }
        if (x->sizes[i].after >= 0) {
            snprintf(after, sizeof(after), "%" PRId64, x->sizes[i].after);
        }
        snprintf(name, sizeof(name), "more fit: %s", x->sizes[i].name);
        strbuf_addf(out, "%-32s %12s %12s\n", name, before, after);
    }
}

static void write_table(const struct whatif *x, struct strbuf *out)
{
    table_changes(x, out);
    strbuf_addf(
        out, "\n%zu of %zu pods would be charged otherwise, %zu of %zu nodes read otherwise.\n\n",
        x->recharged_n, x->pod_n, x->reread_n, x->node_n);
    strbuf_addf(out, "%-32s %12s %12s\n", "", "BEFORE", "AFTER");
    table_pair(out, "over-committed GPUs", (int64_t)x->overcommitted_before,
               (int64_t)x->overcommitted_after);
    table_pair(out, "idle milli", x->before.idle_milli, x->after.idle_milli);
    table_pair(out, "fragmented milli", x->before.fragmented_milli, x->after.fragmented_milli);
    table_pair(out, "largest free milli of a GPU", x->before.largest_milli, x->after.largest_milli);
    table_pair(out, "its free memory, MiB", x->before.largest_mem_mib, x->after.largest_mem_mib);
    table_pair(out, "most empty GPUs on a node", x->before.empty_gpu_n, x->after.empty_gpu_n);
    table_sizes(x, out);
    for (size_t i = 0; i < x->gpu_n && i < WHATIF_GPUS_MAX; i++) {
        strbuf_addf(out, "%swould be over-committed: %.*s GPU %d %.*s\n", i == 0 ? "\n" : "",
                    STR_ARG(x->gpus[i].node), (int)x->gpus[i].index, STR_ARG(x->gpus[i].uuid));
    }
    for (size_t i = 0; i < x->pending_n; i++) {
        const struct whatif_pod *p = &x->pending[i];

        strbuf_addf(out, "%spending %.*s/%.*s: %.*s -> %.*s\n", i == 0 ? "\n" : "",
                    STR_ARG(p->namespace_), STR_ARG(p->name),
                    STR_ARG(p->before.n > 0 ? p->before : STR("nowhere")),
                    STR_ARG(p->after.n > 0 ? p->after : STR("nowhere")));
    }
}

/* ---- the command ---- */

static int show(const struct inquiry *q, const struct whatif *x)
{
    struct strbuf out;

    strbuf_init(&out, OUTPUT_BYTES_MAX);
    if (q->json) {
        write_json(x, &out);
    } else {
        write_table(x, &out);
    }
    fputs(out.p, stdout);
    strbuf_fini(&out);
    return x->gpu_n > 0 ? EXIT_RUNTIME : EXIT_OK;
}

static int compare(const struct inquiry *q, const struct config *next,
                   const struct config_names *names, int *ret_code, struct err *reterr)
{
    struct strbuf document;
    struct state_file state;
    struct whatif x;
    int r;

    strbuf_init(&document, STATE_FILE_BYTES_MAX);
    r = inquiry_state(q, false, &document, reterr);
    if (r == 0) {
        r = state_file_parse(q->state_file != NULL ? q->state_file : q->server,
                             strbuf_view(&document), names, &state, reterr);
    }
    if (r == 0) {
        r = whatif_run(&state, next, &x, reterr);
        if (r == 0) {
            *ret_code = show(q, &x);
            whatif_fini(&x);
        }
        state_file_fini(&state);
    }
    strbuf_fini(&document);
    return r;
}

static int run(const struct inquiry *q, const char *path)
{
    struct config_names names;
    struct config *next = NULL;
    struct strbuf report;
    struct err err;
    int code = EXIT_OK;

    cmd_config_names(&names);
    strbuf_init(&report, 1 << 20);
    if (config_load(path, &names, &next, &report, &err) != 0) {
        fputs(report.n > 0 ? report.p : err.msg, stderr);
        fputs(report.n > 0 ? "" : "\n", stderr);
        strbuf_fini(&report);
        return EXIT_CONFIG;
    }
    strbuf_fini(&report);
    if (compare(q, next, &names, &code, &err) != 0) {
        fprintf(stderr, "fgpu whatif: %s\n", err.msg);
        code = EXIT_RUNTIME;
    }
    config_free(next);
    return code;
}

int cmd_whatif(int argc, char **argv)
{
    const char *path = NULL;
    struct inquiry q;
    int c;

    inquiry_init(&q);
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1) {
        if (c == 'h') {
            print_help();
            return EXIT_OK;
        }
        if (c == OPT_CONFIG) {
            path = optarg;
        } else if (!inquiry_option(&q, c, optarg)) {
            return cmd_usage_error("whatif", "cannot use %s", argv[optind - 1]);
        }
    }
    if (optind < argc) {
        return cmd_usage_error("whatif", "unexpected argument %s", argv[optind]);
    }
    if (path == NULL || inquiry_problem(&q) != NULL) {
        return cmd_usage_error("whatif", "%s",
                               path == NULL ? "--config is missing" : inquiry_problem(&q));
    }
    return run(&q, path);
}
