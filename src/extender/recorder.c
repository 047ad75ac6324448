/* A ring of bytes. Places are counted from the beginning of all time, so that a reader notices what it has missed. */
#include "extender/recorder.h"

#include "base/bug.h"
#include "extender/op_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OMITTED_MAX = 64 };

/* In front of each body, as bytes: frames begin anywhere. */
struct frame {
    uint32_t n; /* bytes of the body */
    uint32_t form;
    int64_t at_ms;
    uint64_t generation;
};

struct recorder {
    size_t cap;
    uint64_t first, next; /* numbers of lines */
    uint64_t begin, end;  /* bytes; the line `first` begins at `begin` */
    char bytes[];
};

struct recorder *recorder_new(size_t bytes)
{
    struct recorder *r;

    BUG_ON(bytes < RECORDER_BYTES_MIN);
    r = xmalloc(sizeof(*r) + bytes);
    memset(r, 0, sizeof(*r));
    memset(r->bytes, 0xff, bytes); /* not 0: the pages shall be ours from now on */
    r->cap = bytes;
    r->first = r->next = 1;
    return r;
}

void recorder_free(struct recorder *r)
{
    free(r);
}

static void get(const struct recorder *r, uint64_t from, void *to, size_t n)
{
    size_t at = from % r->cap;
    size_t straight = n < r->cap - at ? n : r->cap - at;

    memcpy(to, r->bytes + at, straight);
    memcpy((char *)to + straight, r->bytes, n - straight);
}

static void put(struct recorder *r, const void *p, size_t n)
{
    size_t at = r->end % r->cap;
    size_t straight = n < r->cap - at ? n : r->cap - at;

    memcpy(r->bytes + at, p, straight);
    memcpy(r->bytes, (const char *)p + straight, n - straight);
    r->end += n;
}

static void drop_oldest(struct recorder *r)
{
    struct frame f;

    get(r, r->begin, &f, sizeof(f));
    r->begin += sizeof(f) + f.n;
    BUG_ON(r->begin > r->end);
    r->first++;
}

void recorder_add(struct recorder *r, int64_t at_ms, uint64_t generation, enum recorder_form form, struct str body)
{
    char omitted[OMITTED_MAX];
    struct frame f;

    BUG_ON(body.n == 0 || (form == RECORDER_TEXT && (body.n < 3 || body.p[0] != '{')));
    if (body.n > r->cap / 4) {
        body.n = (size_t)snprintf(omitted, sizeof(omitted), "{\"type\":\"omitted\",\"bytes\":%zu}", body.n);
        body.p = omitted;
        form = RECORDER_TEXT;
    }
    f = (struct frame){(uint32_t)body.n, form, at_ms, generation};
    while (r->end + sizeof(f) + body.n - r->begin > r->cap) {
        drop_oldest(r);
    }
    put(r, &f, sizeof(f));
    put(r, body.p, body.n);
    r->next++;
}

uint64_t recorder_first(const struct recorder *r)
{
    return r->first;
}

uint64_t recorder_next(const struct recorder *r)
{
    return r->next;
}

void recorder_open(const struct recorder *r, struct recorder_cursor *ret)
{
    *ret = (struct recorder_cursor){r->begin, r->end};
}

bool recorder_read(const struct recorder *r, struct recorder_cursor *c, char *buf, size_t max, size_t *ret_n)
{
    size_t at = c->at % r->cap;
    size_t n = (size_t)(c->end - c->at) < max ? (size_t)(c->end - c->at) : max;

    *ret_n = 0;
    if (c->at < r->begin && c->at < c->end) {
        return false;
    }
    n = n < r->cap - at ? n : r->cap - at;
    memcpy(buf, r->bytes + at, n);
    c->at += n;
    *ret_n = n;
    return true;
}

/* ---- as text ---- */

/* The first members of every line; its object stays open. */
static void begin_line(struct json_writer *w, const struct frame *f, uint64_t seq, struct strbuf *to)
{
    json_writer_init(w, to);
    json_write_object_begin(w);
    json_write_kv_i64(w, "seq", (int64_t)seq);
    json_write_kv_i64(w, "atMs", f->at_ms);
    json_write_kv_i64(w, "generation", (int64_t)f->generation);
}

size_t recorder_line(struct str frames, uint64_t seq, struct strbuf *to)
{
    struct json_writer w;
    struct str body;
    struct frame f;

    if (frames.n < sizeof(f)) {
        return 0;
    }
    memcpy(&f, frames.p, sizeof(f));
    if (frames.n - sizeof(f) < f.n) {
        return 0;
    }
    body = (struct str){frames.p + sizeof(f), f.n};
    begin_line(&w, &f, seq, to);
    if (f.form == RECORDER_OP) {
        json_write_kv_cstr(&w, "type", "op");
        op_json_write_packed(&w, body);
        json_write_object_end(&w);
    } else { /* an object already: its members and its end */
        strbuf_add_char(to, ',');
        strbuf_add_str(to, str_drop(body, 1));
    }
    strbuf_add_char(to, '\n');
    return sizeof(f) + f.n;
}
