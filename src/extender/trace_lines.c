#include "extender/trace_lines.h"

#include "base/json_members.h"
#include "extender/store_trace.h"

#include <inttypes.h>

static bool next_text(struct trace_lines *t, struct str *ret)
{
    do {
        if (!str_split(&t->rest, '\n', ret)) {
            return false;
        }
    } while (ret->n == 0);
    return true;
}

int trace_lines_begin(struct trace_lines *t, struct str document, struct json_reader *reader, struct arena *a,
                      struct err *reterr)
{
    struct str line = STR_NULL, version = STR_NULL;
    int64_t first = 0, next = 0;
    int rc;

    *t = (struct trace_lines){.reader = reader, .arena = a, .rest = document};
    if (!next_text(t, &line)) {
        return err_set(reterr, ERR_INVALID, "there is nothing in it");
    }
    json_reader_init(reader, line, a);
    json_members(reader, JSON_MEMBERS({"apiVersion", .text = &version}, {"version", .shown = &t->head.version},
                                      {"startedAt", .shown = &t->head.started_at}, {"asOf", .shown = &t->head.as_of},
                                      {"first", .i64 = &first, .min = 1, .max = INT64_MAX},
                                      {"next", .i64 = &next, .min = 1, .max = INT64_MAX},
                                      {"complete", .flag = &t->head.complete}));
    rc = json_read_end(reader, reterr);
    if (rc != 0) {
        return err_wrap(reterr, rc, "the first line");
    }
    if (!str_eq_cstr(version, TRACE_API_VERSION)) {
        return err_set(reterr, ERR_INVALID, "no trace of fgpu: its first line does not say apiVersion %s",
                       TRACE_API_VERSION);
    }
    t->head.first = t->next = (uint64_t)first;
    t->head.next = (uint64_t)next;
    return 0;
}

static int read_line(struct trace_lines *t, struct trace_line *ret, struct err *reterr)
{
    int64_t seq = 0, generation = 0;
    int rc;

    json_reader_init(t->reader, ret->text, t->arena);
    json_members(t->reader, JSON_MEMBERS({"seq", .i64 = &seq}, {"atMs", .i64 = &ret->at_ms},
                                         {"generation", .i64 = &generation}, {"type", .shown = &ret->type}));
    rc = json_read_end(t->reader, reterr);
    ret->seq = (uint64_t)seq;
    ret->generation = (uint64_t)generation;
    return rc != 0 ? err_wrap(reterr, rc, "the line after number %" PRIu64, t->next - 1) : 0;
}

int trace_lines_next(struct trace_lines *t, struct trace_line *ret, bool *ret_any, struct err *reterr)
{
    struct trace_line line = {.text = STR_NULL};
    int rc;

    *ret_any = false;
    if (t->ended) {
        return 0;
    }
    if (!next_text(t, &line.text)) {
        return err_set(reterr, ERR_INVALID, "it is cut off after line number %" PRIu64 ": its last line is missing",
                       t->next - 1);
    }
    rc = read_line(t, &line, reterr);
    if (rc != 0) {
        return rc;
    }
    if (str_eq_cstr(line.type, "end")) {
        t->ended = true;
        return t->next == t->head.next
                   ? 0
                   : err_set(reterr, ERR_INVALID, "lines are missing after number %" PRIu64, t->next - 1);
    }
    if (line.seq != t->next) {
        return err_set(reterr, ERR_INVALID, "a line with number %" PRIu64 " stands where %" PRIu64 " should", line.seq,
                       t->next);
    }
    t->next++;
    *ret = line;
    *ret_any = true;
    return 0;
}
