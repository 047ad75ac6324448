#include "cmd/waiting_table.h"

#include "base/json_members.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdio.h>

#define WORDS_BYTES_MAX 4096 /* of one pod; more is cut */

enum { REASONS_SHOWN = 3 };

static void begin_part(struct strbuf *words)
{
    strbuf_add_cstr(words, words->n > 0 ? " + " : "");
}

/* One of gpuRequests. A whole GPU has no amounts; of a share, /state shows those that were given. */
static void add_request(struct json_reader *r, void *to)
{
    struct strbuf *words = to;
    struct str kind = STR_NULL, mig = STR_NULL;
    int64_t count = 1, milli = 0, mem_mib = 0;

    json_members(r, JSON_MEMBERS({"kind", .shown = &kind}, {"count", .i64 = &count}, {"milli", .i64 = &milli},
                                 {"memMib", .i64 = &mem_mib}, {"mig", .shown = &mig}));
    begin_part(words);
    if (mig.n > 0) {
        strbuf_addf(words, "%" PRId64 " MIG %.*s", count, STR_ARG(mig));
        return;
    }
    if (str_eq_cstr(kind, "whole")) {
        strbuf_addf(words, "%" PRId64 " GPU%s", count, count == 1 ? "" : "s");
        return;
    }
    if (count > 1) {
        strbuf_addf(words, "%" PRId64 " x ", count);
    }
    if (milli > 0) {
        strbuf_addf(words, "%" PRId64 " milli%s", milli, mem_mib > 0 ? " " : "");
    }
    if (mem_mib > 0) {
        strbuf_addf(words, "%" PRId64 " MiB", mem_mib);
    }
}

/* Why no node took it. */
struct refusal {
    struct str since; /* empty: it was not refused */
    int64_t node_n;
    size_t reason_n;
    struct strbuf reasons;
};

/* One of its reasons; the most frequent come first. */
static void add_reason(struct json_reader *r, void *to)
{
    struct refusal *f = to;
    struct str text = STR_NULL;
    int64_t n = 0;

    json_members(r, JSON_MEMBERS({"text", .shown = &text}, {"nodes", .i64 = &n}));
    if (f->reason_n++ < REASONS_SHOWN) {
        strbuf_addf(&f->reasons, "%s%" PRId64 " %.*s", f->reasons.n == 0 ? "" : ", ", n, STR_ARG(text));
    }
}

static void print_refusal(const struct refusal *f)
{
    if (f->since.n == 0) {
        return;
    }
    printf("; 0/%" PRId64 " nodes have taken it since %.*s: %.*s", f->node_n, STR_ARG(f->since),
           STR_ARG(strbuf_view(&f->reasons)));
    if (f->reason_n > REASONS_SHOWN) {
        printf(", and %zu more reasons", f->reason_n - REASONS_SHOWN);
    }
}

/* "2 x 500 milli", or why not: never a number that nobody knows. */
static void print_pod(struct json_reader *r, struct strbuf *words, struct refusal *f, bool first)
{
    struct str namespace_ = STR_NULL, pod = STR_NULL, defect = STR_NULL;
    int64_t plugin_n = 0;

    strbuf_reset(words);
    json_members(
        r, JSON_MEMBERS({"namespace", .shown = &namespace_}, {"pod", .shown = &pod}, {"defect", .shown = &defect},
                        {"refused", .object = JSON_MEMBERS({"since", .shown = &f->since}, {"nodes", .i64 = &f->node_n},
                                                           {"reasons", .element = add_reason, .to = f})},
                        {"request", .object = JSON_MEMBERS({"wholeGpus", .i64 = &plugin_n},
                                                           {"gpuRequests", .element = add_request, .to = words})}));
    if (json_failed(r)) {
        return;
    }
    if (plugin_n > 0) {
        begin_part(words);
        strbuf_addf(words, "%" PRId64 " of a device plugin", plugin_n);
    }
    printf("%s%.*s/%.*s  ", first ? "Waiting:  " : "          ", STR_ARG(namespace_), STR_ARG(pod));
    if (defect.n > 0) {
        printf("no node can take it: %.*s", STR_ARG(defect));
    } else if (words->n > 0) {
        printf("asks for %.*s", STR_ARG(strbuf_view(words)));
    } else {
        printf("what it asks for is not in this document");
    }
    print_refusal(f);
    printf("\n");
}

int waiting_table_print(struct json_reader *r, struct str pending, struct arena *a, struct err *reterr)
{
    struct refusal refusal = {.node_n = 0};
    struct strbuf words;
    bool first = true;
    int rc;

    strbuf_init(&words, WORDS_BYTES_MAX);
    strbuf_init(&refusal.reasons, WORDS_BYTES_MAX);
    json_reader_init(r, pending, a);
    json_array_begin(r);
    while (json_array_next(r)) {
        strbuf_reset(&refusal.reasons);
        refusal = (struct refusal){.reasons = refusal.reasons};
        print_pod(r, &words, &refusal, first);
        first = false;
    }
    strbuf_fini(&words);
    strbuf_fini(&refusal.reasons);
    rc = json_read_end(r, reterr);
    return rc != 0 ? err_wrap(reterr, rc, "the value of \"pending\"") : 0;
}
