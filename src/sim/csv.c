#include "sim/csv.h"

#include "base/file.h"

#include <string.h>

/* Cuts one field off; false when a quote is not closed. */
static bool cut_field(struct str *rest, struct str *ret)
{
    if (rest->n > 0 && rest->p[0] == '"') {
        const char *end = memchr(rest->p + 1, '"', rest->n - 1);
        size_t n;

        if (end == NULL) {
            return false;
        }
        *ret = (struct str){rest->p + 1, (size_t)(end - rest->p) - 1};
        n = ret->n + 2;
        if (n < rest->n && rest->p[n] != ',') {
            return false;
        }
        *rest = n < rest->n ? str_drop(*rest, n + 1) : STR_NULL;
        return true;
    }
    str_split(rest, ',', ret);
    *ret = str_trim(*ret);
    return true;
}

static int cut_line(struct csv *c, struct str line, struct str *fields, size_t *ret_n, struct err *reterr)
{
    size_t n = 0;

    while (line.p != NULL) {
        if (n == CSV_COLUMNS_MAX) {
            return err_set(reterr, ERR_LIMIT, "%s:%u: more than %d columns", c->path, c->line, CSV_COLUMNS_MAX);
        }
        if (!cut_field(&line, &fields[n])) {
            return err_set(reterr, ERR_PARSE,
                           "%s:%u: field %zu has a quote that does not end it; quote whole fields or none", c->path,
                           c->line, n + 1);
        }
        n++;
    }
    *ret_n = n;
    return 0;
}

static bool next_line(struct csv *c, struct str *ret)
{
    while (str_split(&c->rest, '\n', ret)) {
        c->line++;
        *ret = str_trim(*ret);
        if (ret->n > 0) {
            return true;
        }
    }
    return false;
}

int csv_begin(struct csv *c, const char *path, struct str text, struct err *reterr)
{
    struct str line;

    c->path = path;
    c->rest = text;
    c->line = 0;
    c->column_n = 0;
    if (!next_line(c, &line)) {
        return err_set(reterr, ERR_PARSE, "%s: empty; the first line must name the columns", path);
    }
    return cut_line(c, line, c->columns, &c->column_n, reterr);
}

size_t csv_find(const struct csv *c, const char *name)
{
    for (size_t i = 0; i < c->column_n; i++) {
        if (str_eq_cstr(c->columns[i], name)) {
            return i;
        }
    }
    return CSV_NONE;
}

int csv_columns(const struct csv *c, const struct csv_column *wanted, size_t n, struct err *reterr)
{
    for (size_t i = 0; i < n; i++) {
        *wanted[i].ret = csv_find(c, wanted[i].name);
        if (*wanted[i].ret == CSV_NONE) {
            return err_set(reterr, ERR_PARSE, "%s:1: no column \"%s\" in the header; add it", c->path, wanted[i].name);
        }
    }
    return 0;
}

int csv_next(struct csv *c, struct err *reterr)
{
    struct str line;
    size_t n;
    int rc;

    if (!next_line(c, &line)) {
        return 0;
    }
    rc = cut_line(c, line, c->fields, &n, reterr);
    if (rc != 0) {
        return rc;
    }
    if (n != c->column_n) {
        return err_set(reterr, ERR_PARSE, "%s:%u: %zu fields, but the header names %zu columns", c->path, c->line, n,
                       c->column_n);
    }
    return 1;
}

int csv_number(const struct csv *c, size_t column, int64_t max, const char *meaning, int64_t *ret, struct err *reterr)
{
    uint64_t v;

    if (!str_to_u64(c->fields[column], (uint64_t)max, &v)) {
        return err_set(reterr, ERR_PARSE, "%s:%u: column %.*s: \"%.*s\" is not a whole number from 0 to %lld; write %s",
                       c->path, c->line, STR_ARG(c->columns[column]), STR_ARG(c->fields[column]), (long long)max,
                       meaning);
    }
    *ret = (int64_t)v;
    return 0;
}

int csv_text(const struct csv *c, size_t column, const char *meaning, struct str *ret, struct err *reterr)
{
    if (c->fields[column].n == 0) {
        return err_set(reterr, ERR_PARSE, "%s:%u: column %.*s is empty; write %s", c->path, c->line,
                       STR_ARG(c->columns[column]), meaning);
    }
    *ret = c->fields[column];
    return 0;
}

int csv_read_file(const char *path, size_t max_bytes, struct arena *a, struct str *ret, struct err *reterr)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, max_bytes);
    rc = file_or_pipe_read(path, &text, reterr);
    if (rc == 0) {
        *ret = arena_str(a, strbuf_view(&text));
        rc = ret->p == NULL ? err_set(reterr, ERR_LIMIT, "%s: larger than what may be kept", path) : 0;
    }
    strbuf_fini(&text);
    return rc;
}
