/* A ring of bytes. Places are counted from the beginning of all time, so that a reader notices what it has missed. */
#include "extender/recorder.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MAX = 128 };

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
    memset(r->bytes, '\n', bytes); /* not 0: the pages shall be ours from now on */
    r->cap = bytes;
    r->first = r->next = 1;
    return r;
}

void recorder_free(struct recorder *r)
{
    free(r);
}

static void drop_oldest(struct recorder *r)
{
    size_t at = r->begin % r->cap;
    size_t straight = r->cap - at;
    const char *end = memchr(r->bytes + at, '\n', straight);

    if (end == NULL) {
        end = memchr(r->bytes, '\n', at);
        BUG_ON(end == NULL);
        r->begin += straight + (size_t)(end - r->bytes) + 1;
    } else {
        r->begin += (size_t)(end - (r->bytes + at)) + 1;
    }
    r->first++;
}

static void put(struct recorder *r, const char *p, size_t n)
{
    size_t at = r->end % r->cap;
    size_t straight = n < r->cap - at ? n : r->cap - at;

    memcpy(r->bytes + at, p, straight);
    memcpy(r->bytes, p + straight, n - straight);
    r->end += n;
}

void recorder_add(struct recorder *r, int64_t at_ms, uint64_t generation, struct str body)
{
    char head[HEAD_MAX], omitted[HEAD_MAX];
    size_t head_n, n;

    BUG_ON(body.n < 3 || body.p[0] != '{');
    if (body.n > r->cap / 4) {
        body.n = (size_t)snprintf(omitted, sizeof(omitted), "{\"type\":\"omitted\",\"bytes\":%zu}", body.n);
        body.p = omitted;
    }
    head_n =
        (size_t)snprintf(head, sizeof(head), "{\"seq\":%" PRIu64 ",\"atMs\":%" PRId64 ",\"generation\":%" PRIu64 ",",
                         r->next, at_ms, generation);
    n = head_n + body.n - 1 + 1; /* without its brace, with a line end */
    while (r->end + n - r->begin > r->cap) {
        drop_oldest(r);
    }
    put(r, head, head_n);
    put(r, body.p + 1, body.n - 1);
    put(r, "\n", 1);
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
