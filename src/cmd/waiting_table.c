#include "cmd/waiting_table.h"

#include "base/json_members.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdio.h>

#define WORDS_BYTES_MAX 4096 /* of one pod; more is cut */

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

/* "2 x 500 milli", or why not: never a number that nobody knows. */
static void print_pod(struct json_reader *r, struct strbuf *words, bool first)
{
    struct str namespace_ = STR_NULL, pod = STR_NULL, defect = STR_NULL;
    int64_t plugin_n = 0;

    strbuf_reset(words);
    json_members(
        r, JSON_MEMBERS({"namespace", .shown = &namespace_}, {"pod", .shown = &pod}, {"defect", .shown = &defect},
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
        printf("no node can take it: %.*s\n", STR_ARG(defect));
    } else if (words->n > 0) {
        printf("asks for %.*s\n", STR_ARG(strbuf_view(words)));
    } else {
        printf("what it asks for is not in this document\n");
    }
}

int waiting_table_print(struct json_reader *r, struct str pending, struct arena *a, struct err *reterr)
{
    struct strbuf words;
    bool first = true;
    int rc;

    strbuf_init(&words, WORDS_BYTES_MAX);
    json_reader_init(r, pending, a);
    json_array_begin(r);
    while (json_array_next(r)) {
        print_pod(r, &words, first);
        first = false;
    }
    strbuf_fini(&words);
    rc = json_read_end(r, reterr);
    return rc != 0 ? err_wrap(reterr, rc, "the value of \"pending\"") : 0;
}
