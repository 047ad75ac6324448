/* What the API server has of a publication, and what to write. */
#include "base/json_members.h"
#include "base/json_write.h"
#include "base/quantity.h"
#include "node/publication.h"

/* ---- reading ---- */

struct quantities {
    struct str milli, mem_mib, count;
};

static int64_t number_of(struct str text)
{
    struct quantity q;

    return text.p != NULL && quantity_parse(text, &q) == QUANTITY_OK && quantity_is_integer(q) ? quantity_value(q) : -1;
}

static struct publication_totals totals_of(const struct quantities *q)
{
    return (struct publication_totals){number_of(q->milli), number_of(q->mem_mib), number_of(q->count)};
}

int publication_read_node(struct str json, struct arena *a, struct publication_seen *ret, struct err *reterr)
{
    struct quantities capacity = {.milli = STR_NULL}, allocatable = {.milli = STR_NULL};
    struct json_reader r; /* large, and only its start is touched */
    int rc;

    *ret = (struct publication_seen){.resource_version = STR_NULL, .gpus = STR_NULL};
    json_reader_init(&r, json, a);
    r.as_stored = true;
    json_members(
        &r,
        JSON_MEMBERS(
            {"metadata",
             .object = JSON_MEMBERS({"resourceVersion", .text = &ret->resource_version},
                                    {"annotations", .object = JSON_MEMBERS({PUBLICATION_KEY, .text = &ret->gpus})})},
            {"status", .object = JSON_MEMBERS(
                           {"capacity", .object = JSON_MEMBERS({PUBLICATION_MILLI, .text = &capacity.milli},
                                                               {PUBLICATION_MEMORY, .text = &capacity.mem_mib},
                                                               {PUBLICATION_COUNT, .text = &capacity.count})},
                           {"allocatable", .object = JSON_MEMBERS({PUBLICATION_MILLI, .text = &allocatable.milli},
                                                                  {PUBLICATION_MEMORY, .text = &allocatable.mem_mib},
                                                                  {PUBLICATION_COUNT, .text = &allocatable.count})})}));
    rc = json_read_end(&r, reterr);
    if (rc == 0 && ret->resource_version.n == 0) {
        rc = err_set(reterr, ERR_INVALID, "the node has no metadata.resourceVersion");
    }
    ret->ours = str_starts(ret->gpus, STR(PUBLICATION_BEGINS));
    ret->totals_ours = str_starts(ret->gpus, STR(PUBLICATION_WITH_TOTALS));
    ret->capacity = totals_of(&capacity);
    ret->allocatable = totals_of(&allocatable);
    return rc;
}

/* ---- writing ---- */

/* The API server refuses the patch unless the node is still what was seen. Leaves the object open. */
static void write_metadata_begin(struct json_writer *w, const struct publication_seen *seen)
{
    json_write_kv_object_begin(w, "metadata");
    json_write_key(w, "resourceVersion");
    json_write_str(w, seen->resource_version);
}

/* NULL: removes it. */
static void write_annotation(struct strbuf *body, const struct publication_seen *seen, const struct str *gpus)
{
    struct json_writer w;

    json_writer_init(&w, body);
    json_write_object_begin(&w);
    write_metadata_begin(&w, seen);
    json_write_kv_object_begin(&w, "annotations");
    json_write_key(&w, PUBLICATION_KEY);
    if (gpus == NULL) {
        json_write_null(&w);
    } else {
        json_write_str(&w, *gpus);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_object_end(&w);
}

static void write_quantity(struct json_writer *w, const char *name, int64_t value)
{
    json_write_key(w, name);
    if (value < 0) {
        json_write_null(w);
    } else {
        struct strbuf text;

        strbuf_init(&text, 32);
        strbuf_add_i64(&text, value);
        json_write_str(w, strbuf_view(&text));
        strbuf_fini(&text);
    }
}

static void write_totals(struct strbuf *body, const struct publication_seen *seen, const struct publication_totals *t)
{
    static const char *const places[] = {"capacity", "allocatable"};
    struct json_writer w;

    json_writer_init(&w, body);
    json_write_object_begin(&w);
    write_metadata_begin(&w, seen);
    json_write_object_end(&w);
    json_write_kv_object_begin(&w, "status");
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        json_write_kv_object_begin(&w, places[i]);
        write_quantity(&w, PUBLICATION_MILLI, t->milli);
        write_quantity(&w, PUBLICATION_MEMORY, t->mem_mib);
        write_quantity(&w, PUBLICATION_COUNT, t->count);
        json_write_object_end(&w);
    }
    json_write_object_end(&w);
    json_write_object_end(&w);
}

static bool totals_eq(const struct publication_totals *a, const struct publication_totals *b)
{
    return a->milli == b->milli && a->mem_mib == b->mem_mib && a->count == b->count;
}

static enum publication_step write_totals_unless(const struct publication_totals *wanted,
                                                 const struct publication_seen *seen, struct strbuf *body)
{
    if (totals_eq(wanted, &seen->capacity) && totals_eq(wanted, &seen->allocatable)) {
        return PUBLICATION_DONE;
    }
    write_totals(body, seen, wanted);
    return PUBLICATION_WRITE_TOTALS;
}

/* Before the annotation changes: without it nobody would know that they are ours. */
static enum publication_step remove_our_totals(const struct publication_seen *seen, struct strbuf *body)
{
    const struct publication_totals none = {-1, -1, -1};

    return seen->totals_ours ? write_totals_unless(&none, seen, body) : PUBLICATION_DONE;
}

static enum publication_step annotate(struct str gpus, const struct publication_seen *seen, struct strbuf *body)
{
    if (seen->gpus.p != NULL && str_eq(gpus, seen->gpus)) {
        return PUBLICATION_DONE;
    }
    write_annotation(body, seen, &gpus);
    return PUBLICATION_WRITE_ANNOTATION;
}

static enum publication_step close_all(const struct publication_seen *seen, struct strbuf *body)
{
    enum publication_step step;
    struct strbuf closed;

    strbuf_init(&closed, 2 * PUBLICATION_BYTES_MAX);
    publication_format_closed(seen->gpus, &closed);
    step = annotate(strbuf_view(&closed), seen, body);
    strbuf_fini(&closed);
    return step;
}

static enum publication_step step_of_ours(const struct publication *wanted, const struct publication_seen *seen,
                                          struct strbuf *body)
{
    switch (wanted->mode) {
    case PUBLICATION_CLOSED:
        return seen->ours ? close_all(seen, body) : PUBLICATION_DONE;
    case PUBLICATION_RETIRED:
        if (seen->ours) {
            write_annotation(body, seen, NULL);
        }
        return seen->ours ? PUBLICATION_WRITE_ANNOTATION : PUBLICATION_DONE;
    case PUBLICATION_ANNOTATION:
    case PUBLICATION_ALL:
        return annotate(wanted->gpus, seen, body);
    case PUBLICATION_OFF:
        break;
    }
    return PUBLICATION_DONE;
}

enum publication_step publication_next(const struct publication *wanted, const struct publication_seen *seen,
                                       struct strbuf *body)
{
    enum publication_step step;

    strbuf_reset(body);
    if (wanted->mode == PUBLICATION_OFF) {
        return PUBLICATION_DONE;
    }
    if (seen->gpus.p != NULL && !seen->ours) {
        return PUBLICATION_FOREIGN;
    }
    step = wanted->mode == PUBLICATION_ALL ? PUBLICATION_DONE : remove_our_totals(seen, body);
    if (step == PUBLICATION_DONE) {
        step = step_of_ours(wanted, seen, body);
    }
    return step == PUBLICATION_DONE && wanted->mode == PUBLICATION_ALL
               ? write_totals_unless(&wanted->totals, seen, body)
               : step;
}
