#include "config/zone.h"

#include "base/file.h"
#include "base/strbuf.h"
#include "config/zone_internal.h"

#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 44
#define FIRST_YEAR 1970 /* of what a footer is written out for */

/* RFC 9636, 3.1. */
struct header {
    uint32_t is_utc_n, is_standard_n, leap_n, time_n, type_n, char_n;
};

static uint64_t number_at(const char *p, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes; i++) {
        v = v << 8 | (unsigned char)p[i];
    }
    return v;
}

/* NULL: the file ends before. */
static const char *take_bytes(struct str *rest, size_t n)
{
    const char *p = rest->p;

    if (rest->n < n) {
        return NULL;
    }
    *rest = str_drop(*rest, n);
    return p;
}

static const char *read_header(struct str *rest, struct header *ret, char *ret_version)
{
    const char *p = take_bytes(rest, HEADER_BYTES);
    uint32_t v[6];

    if (p == NULL || memcmp(p, "TZif", 4) != 0) {
        return "it is not a TZif file";
    }
    for (size_t i = 0; i < 6; i++) {
        v[i] = (uint32_t)number_at(p + 20 + 4 * i, 4);
        if (v[i] > ZONE_FILE_BYTES_MAX) {
            return "a count in it is larger than the file";
        }
    }
    *ret = (struct header){v[0], v[1], v[2], v[3], v[4], v[5]};
    *ret_version = p[4];
    return NULL;
}

static size_t body_bytes(const struct header *h, size_t time_bytes)
{
    return h->time_n * (time_bytes + 1) + (size_t)h->type_n * 6 + h->char_n + h->leap_n * (time_bytes + 4) +
           h->is_standard_n + h->is_utc_n;
}

static bool read_offset(const char *type, int32_t *ret)
{
    *ret = (int32_t)(uint32_t)number_at(type, 4);
    return *ret >= -ZONE_OFFSET_MAX_S && *ret <= ZONE_OFFSET_MAX_S;
}

/* Transitions of the file, then those of the rule after them; room for both is in `out`. */
struct table {
    struct zone_transition *out;
    size_t n;
    int32_t first_offset_s;
};

static const char *read_body(struct str *rest, const struct header *h, struct table *ret)
{
    const char *body = take_bytes(rest, body_bytes(h, 8));
    const char *indexes, *types;

    if (body == NULL) {
        return "it ends too early";
    }
    if (h->leap_n > 0) {
        return "it counts leap seconds, which unix time does not";
    }
    indexes = body + (size_t)h->time_n * 8;
    types = indexes + h->time_n;
    if (h->type_n == 0 || !read_offset(types, &ret->first_offset_s)) {
        return "its first offset is missing or out of range";
    }
    for (size_t i = 0; i < h->time_n; i++) {
        int64_t at_s = (int64_t)number_at(body + 8 * i, 8);
        unsigned type = (unsigned char)indexes[i];
        int32_t offset_s;

        if (type >= h->type_n || !read_offset(types + (size_t)6 * type, &offset_s) ||
            (ret->n > 0 && at_s <= ret->out[ret->n - 1].at_s)) {
            return "a transition in it is not valid";
        }
        /* Times before there were clocks: the sums below stay far from overflow. */
        if (at_s < -(INT64_C(1) << 40)) {
            ret->first_offset_s = offset_s;
            continue;
        }
        if (at_s > INT64_C(1) << 40) {
            return "a transition in it is not valid";
        }
        ret->out[ret->n++] = (struct zone_transition){at_s, offset_s};
    }
    return NULL;
}

static void append(struct table *t, int64_t at_s, int32_t offset_s)
{
    if (t->n == 0 || at_s > t->out[t->n - 1].at_s) {
        t->out[t->n++] = (struct zone_transition){at_s, offset_s};
    }
}

static void write_out(struct table *t, const struct zone_rule *r)
{
    if (!r->has_daylight) {
        if (t->n == 0) {
            t->first_offset_s = r->standard_s;
        }
        return;
    }
    for (int32_t year = FIRST_YEAR; year <= ZONE_YEAR_MAX; year++) {
        int64_t begin_s, end_s;

        zone_rule_year(r, year, &begin_s, &end_s);
        if (begin_s < end_s) {
            append(t, begin_s, r->daylight_s);
            append(t, end_s, r->standard_s);
        } else {
            append(t, end_s, r->standard_s);
            append(t, begin_s, r->daylight_s);
        }
    }
}

static const char *read_footer(struct str *rest, struct table *t)
{
    const char *end = rest->n > 1 ? memchr(rest->p + 1, '\n', rest->n - 1) : NULL;
    struct zone_rule rule;
    struct str text;

    if (end == NULL || rest->p[0] != '\n') {
        return "its footer is missing";
    }
    text = (struct str){rest->p + 1, (size_t)(end - rest->p) - 1};
    if (text.n == 0) {
        return NULL; /* nobody knows: the last offset stays */
    }
    if (!zone_rule_parse(text, &rule)) {
        return "its footer is not a rule";
    }
    write_out(t, &rule);
    return NULL;
}

static const char *read_file(struct str *rest, struct arena *a, struct table *ret)
{
    struct header h;
    char version;
    const char *wrong = read_header(rest, &h, &version);

    if (wrong != NULL) {
        return wrong;
    }
    if (version < '2') {
        return "it has version 1, whose times end in 2037; install a newer tz database";
    }
    if (take_bytes(rest, body_bytes(&h, 4)) == NULL) {
        return "it ends too early";
    }
    wrong = read_header(rest, &h, &version);
    if (wrong != NULL) {
        return wrong;
    }
    *ret = (struct table){
        .out = ARENA_ARRAY(a, (size_t)h.time_n + (ZONE_YEAR_MAX - FIRST_YEAR + 1) * 2, struct zone_transition)};
    if (ret->out == NULL) {
        return "it does not fit the memory of the configuration";
    }
    wrong = read_body(rest, &h, ret);
    return wrong != NULL ? wrong : read_footer(rest, ret);
}

int zone_parse(struct str name, struct str bytes, struct arena *a, struct time_zone *ret, struct err *reterr)
{
    struct table t;
    const char *wrong = read_file(&bytes, a, &t);

    if (wrong != NULL) {
        return err_set(reterr, ERR_PARSE, "time zone %.*s: %s", STR_ARG(name), wrong);
    }
    *ret = (struct time_zone){arena_str(a, name), t.first_offset_s, t.out, t.n};
    return 0;
}

/* Letters, digits, '_', '-', '+' and '/' between them: never a path that leads out of the database.
 */
static bool is_zone_name(struct str name)
{
    bool after_slash = true;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');

        if (!letter && (after_slash || (c != '_' && c != '-' && c != '+' && c != '/'))) {
            return false;
        }
        after_slash = c == '/';
    }
    return !after_slash && name.n <= ZONE_NAME_BYTES_MAX;
}

int zone_load(const char *dir, struct str name, struct arena *a, struct time_zone *ret, struct err *reterr)
{
    struct strbuf bytes;
    char path[512];
    struct err err;
    int n, rc;

    if (str_eq(name, STR("UTC"))) {
        *ret = (struct time_zone){.name = STR("UTC")};
        return 0;
    }
    if (!is_zone_name(name)) {
        return err_set(reterr, ERR_INVALID, "not a name of a time zone, such as Europe/Berlin or UTC");
    }
    n = snprintf(path, sizeof(path), "%s/%.*s", dir, STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return err_set(reterr, ERR_LIMIT, "the path of the time zone database is too long");
    }
    strbuf_init(&bytes, ZONE_FILE_BYTES_MAX);
    rc = file_or_pipe_read(path, &bytes, &err);
    if (rc == 0) {
        rc = zone_parse(name, strbuf_view(&bytes), a, ret, reterr);
    } else if (err.code == ERR_NOT_FOUND) {
        rc = err_set(reterr, ERR_NOT_FOUND, "no time zone of this name in %s (Debian package tzdata)", dir);
    } else {
        err_set(reterr, err.code, "%s", err.msg);
    }
    strbuf_fini(&bytes);
    return rc;
}
