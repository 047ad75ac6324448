/* Arrivals with their times: a table of stays. */
#include "sim/trace.h"

#include "sim/csv.h"

struct stay_columns {
    size_t arrive, depart, row;
};

/* A line for each, and one more for the header. */
static size_t count_stays(struct str text)
{
    size_t n = 1;

    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

static int stay_columns(const struct csv *c, struct stay_columns *ret, struct err *reterr)
{
    const struct csv_column wanted[] = {
        {"arrive_ms", &ret->arrive}, {"depart_ms", &ret->depart}, {"pod_row", &ret->row}};

    return csv_columns(c, wanted, ARRAY_LEN(wanted), reterr);
}

static int read_stay(const struct trace *t, const struct csv *c, const struct stay_columns *k, int64_t not_before_ms,
                     struct stay *ret, uint32_t *ret_row, struct err *reterr)
{
    int64_t row = 0;
    int rc = csv_number(c, k->arrive, STAY_MS_MAX, "when it arrives in ms", &ret->arrive_ms, reterr);

    ret->depart_ms = STAY_FOR_EVER;
    if (rc == 0 && c->fields[k->depart].n > 0) {
        rc = csv_number(c, k->depart, STAY_MS_MAX, "when it ends in ms, or nothing", &ret->depart_ms, reterr);
    }
    rc = rc != 0 ? rc : csv_number(c, k->row, (int64_t)t->pod_n - 1, "the row of a pod, from 0", &row, reterr);
    *ret_row = (uint32_t)row;
    if (rc == 0 && (ret->arrive_ms < not_before_ms || ret->depart_ms <= ret->arrive_ms)) {
        return err_set(reterr, ERR_INVALID, "%s:%u: %s", c->path, c->line,
                       ret->arrive_ms < not_before_ms ? "arrives before the line above it; sort by arrive_ms"
                                                      : "depart_ms must be later than arrive_ms, or empty");
    }
    return rc;
}

int arrivals_read_stays(struct trace *t, const char *path, struct arrivals *ret, struct err *reterr)
{
    struct stay_columns k;
    struct stay *stays;
    struct str text;
    struct csv c;
    uint32_t *rows, *ranks = ARENA_ARRAY(&t->arena, t->node_n, uint32_t);
    size_t n = 0, max;
    int rc = csv_read_file(path, TRACE_BYTES_MAX, &t->arena, &text, reterr);

    rc = rc != 0 ? rc : csv_begin(&c, path, text, reterr);
    rc = rc != 0 ? rc : stay_columns(&c, &k, reterr);
    if (rc != 0) {
        return rc;
    }
    max = count_stays(text);
    stays = ARENA_ARRAY(&t->arena, max, struct stay);
    rows = ARENA_ARRAY(&t->arena, max, uint32_t);
    if (stays == NULL || rows == NULL || ranks == NULL || max > TRACE_ARRIVALS_MAX) {
        return err_set(reterr, ERR_LIMIT, "%s: more than %d lines", path, TRACE_ARRIVALS_MAX);
    }
    while ((rc = csv_next(&c, reterr)) > 0) {
        rc = read_stay(t, &c, &k, n > 0 ? stays[n - 1].arrive_ms : 0, &stays[n], &rows[n], reterr);
        if (rc != 0) {
            return rc;
        }
        n++;
    }
    for (size_t i = 0; i < t->node_n; i++) {
        ranks[i] = (uint32_t)i;
    }
    *ret = (struct arrivals){
        .label = path, .node_rank = ranks, .pods = rows, .pod_n = n, .stays = stays, .seed = ret->seed};
    return rc != 0 || n > 0 ? rc : err_set(reterr, ERR_INVALID, "%s: nobody arrives", path);
}
