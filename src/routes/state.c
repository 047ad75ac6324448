/* GET /state over HTTP: query, ETag, and the choice between one plain answer and a stream. */
#include "routes/state.h"

#include "base/bug.h"
#include "httpd/stream.h"
#include "routes/state_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of one piece: a node and everybody on it. */
#define PIECE_BYTES_MAX ((size_t)64 << 20)

/* ---- query ---- */

struct query {
    struct str node, namespace_;
    bool summary;
};

static int query_take(struct str *field, const char *name, struct str value, struct err *reterr)
{
    if (field->n > 0) {
        return err_set(reterr, ERR_INVALID, "%s is given twice", name);
    }
    if (value.n == 0) {
        return err_set(reterr, ERR_INVALID, "%s needs a name; leave it out to get all", name);
    }
    *field = value;
    return 0;
}

static int query_read(const struct httpd_request *req, struct query *ret, struct err *reterr)
{
    struct str name, value, fields = STR_NULL;
    size_t at = 0;
    int rc = 0;

    while (rc == 0 && httpd_request_query_next(req, &at, &name, &value)) {
        if (str_eq(name, STR("node"))) {
            rc = query_take(&ret->node, "node", value, reterr);
        } else if (str_eq(name, STR("namespace"))) {
            rc = query_take(&ret->namespace_, "namespace", value, reterr);
        } else if (str_eq(name, STR("fields"))) {
            rc = query_take(&fields, "fields", value, reterr);
        } else {
            rc = err_set(reterr, ERR_INVALID, "unknown parameter \"%.*s\"; use node, namespace or fields",
                         (int)(name.n < 64 ? name.n : 64), name.p != NULL ? name.p : "");
        }
    }
    ret->summary = fields.n > 0;
    if (rc == 0 && ret->summary && !str_eq(fields, STR("summary"))) {
        rc = err_set(reterr, ERR_INVALID, "fields can only be \"summary\"");
    }
    if (rc == 0 && ret->summary && (ret->node.n > 0 || ret->namespace_.n > 0)) {
        rc = err_set(reterr, ERR_INVALID, "fields=summary is about the whole cluster; leave node and namespace out");
    }
    return rc;
}

/* ---- headers ---- */

enum { ETAG_BYTES = 24 };

static struct str etag_of(uint64_t generation, char buf[ETAG_BYTES])
{
    (void)snprintf(buf, ETAG_BYTES, "\"%" PRIu64 "\"", generation);
    return str_of(buf);
}

static void add_headers(struct httpd_response *resp, uint64_t generation)
{
    char etag[ETAG_BYTES];

    BUG_ON(!httpd_response_header(resp, "ETag", etag_of(generation, etag)));
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-cache")));
}

/* If-None-Match: "*", or a list of tags; W/ makes no difference here (RFC 9110, 13.1.2). */
bool state_is_unchanged(const struct httpd_request *req, struct str wanted)
{
    struct str rest = httpd_request_header(req, "If-None-Match"), tag;

    if (rest.n == 0) {
        return false;
    }
    while (str_split(&rest, ',', &tag)) {
        tag = str_trim(tag);
        if (str_starts(tag, STR("W/"))) {
            tag = str_drop(tag, 2);
        }
        if (str_eq(tag, wanted) || str_eq(tag, STR("*"))) {
            return true;
        }
    }
    return false;
}

enum httpd_action state_refuse(struct httpd_response *resp, int status, const struct err *err)
{
    httpd_response_text(resp, status, err->msg);
    strbuf_add_char(&resp->body, '\n');
    BUG_ON(!httpd_response_header(resp, "X-Content-Type-Options", STR("nosniff")));
    if (status == 503) {
        BUG_ON(!httpd_response_header(resp, "Retry-After", STR("1")));
    }
    return HTTPD_REPLY;
}

bool state_take_place(atomic_uint *taken_n, unsigned max, const char *busy, struct httpd_response *resp)
{
    struct err err;

    if (atomic_fetch_add(taken_n, 1) < max) {
        return true;
    }
    atomic_fetch_sub(taken_n, 1);
    err_set(&err, ERR_UNAVAILABLE, "%u %s", max, busy);
    (void)state_refuse(resp, 503, &err);
    return false;
}

/* ---- the stream ---- */

struct reader {
    struct state_context *context;
    struct state_document *document;
    struct strbuf piece;
    size_t at; /* of the piece, already sent */
};

/* False at the end, or when the document is torn or a piece is larger than any real node could make it
 * (ret_broken). */
static bool next_piece(struct reader *r, bool *ret_broken)
{
    enum state_step step;

    do {
        strbuf_reset(&r->piece);
        r->at = 0;
        step = state_document_next(r->document, &r->piece);
        *ret_broken = step == STATE_TORN || r->piece.overflowed;
        if (step == STATE_COMPLETE || *ret_broken) {
            r->piece.n = 0;
            return false;
        }
    } while (r->piece.n == 0);
    return true;
}

static ssize_t reader_read(void *ctx, char *buf, size_t max)
{
    struct reader *r = ctx;
    size_t n = 0;
    bool broken = false;

    while (n < max && (r->at < r->piece.n || next_piece(r, &broken))) {
        size_t part = r->piece.n - r->at < max - n ? r->piece.n - r->at : max - n;

        memcpy(buf + n, r->piece.p + r->at, part);
        r->at += part;
        n += part;
    }
    if (broken) {
        return HTTPD_STREAM_ABORT;
    }
    return n > 0 ? (ssize_t)n : HTTPD_STREAM_END;
}

static void reader_close(void *ctx)
{
    struct reader *r = ctx;

    atomic_fetch_sub(&r->context->reader_n, 1);
    state_document_free(r->document);
    strbuf_fini(&r->piece);
    free(r);
}

static void answer_streamed(struct state_context *c, struct state_document *d, struct httpd_response *resp)
{
    struct reader *r = xcalloc(1, sizeof(*r));
    struct httpd_stream_source source = {.read = reader_read, .close = reader_close, .ctx = r};

    r->context = c;
    r->document = d;
    strbuf_init(&r->piece, PIECE_BYTES_MAX);
    resp->stream = httpd_stream_new(&source);
}

/* ---- the answer ---- */

static enum httpd_action answer_plain(struct state_context *c, struct state_document *d, struct httpd_response *resp)
{
    enum state_step step = STATE_MORE;
    uint64_t generation = state_document_generation(d);
    struct err err;

    while (step == STATE_MORE) {
        step = state_document_next(d, &resp->body);
    }
    state_document_free(d);
    atomic_fetch_sub(&c->reader_n, 1);
    if (step == STATE_TORN) {
        strbuf_reset(&resp->body);
        err_set(&err, ERR_LIMIT, "the state does not fit its memory; ask for one node");
        return state_refuse(resp, 503, &err);
    }
    add_headers(resp, generation);
    return HTTPD_REPLY;
}

/* Takes a place among the readers, which whoever finishes the document gives back. */
static enum httpd_action answer_document(struct state_context *c, const struct query *q, struct httpd_response *resp)
{
    struct state_document *d;

    if (!state_take_place(&c->reader_n, STATE_READERS_MAX,
                          "requests for /state are already running; try again, or ask for fields=summary", resp)) {
        return HTTPD_REPLY;
    }
    d = state_document_new(c, q->node, q->namespace_);
    if (q->node.n > 0 || q->namespace_.n > 0) {
        return answer_plain(c, d, resp);
    }
    add_headers(resp, state_document_generation(d));
    answer_streamed(c, d, resp);
    return HTTPD_REPLY;
}

enum httpd_action state_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct state_context *c = ctx;
    struct query q = {0};
    char etag[ETAG_BYTES];
    struct err err;
    uint64_t generation;

    if (query_read(req, &q, &err) != 0) {
        return state_refuse(resp, 400, &err);
    }
    generation = store_generation(c->store);
    if (state_is_unchanged(req, etag_of(generation, etag))) {
        resp->status = 304;
        resp->content_type = NULL;
        add_headers(resp, generation);
        return HTTPD_REPLY;
    }
    if (q.summary) {
        add_headers(resp, state_write_summary(c, &resp->body));
        return HTTPD_REPLY;
    }
    return answer_document(c, &q, resp);
}
