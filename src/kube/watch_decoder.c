#include "kube/watch_decoder.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include <stddef.h>
#include <string.h>

static const char *const type_names[WATCH_EVENT_TYPE__MAX] = {
    [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
    [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
};

const char *watch_event_type_name(enum watch_event_type type)
{
    return type_names[type];
}

static enum watch_event_type type_of(struct str name)
{
    int type = 0;
    while (type < WATCH_EVENT_TYPE__MAX && !str_eq_cstr(name, type_names[type])) {
        type++;
    }
    return (enum watch_event_type)type;
}

void watch_decoder_init(struct watch_decoder *d, struct json_reader *reader, struct arena *arena,
                        const struct kube_field *fields, const struct watch_sink *sink)
{
    d->reader = reader;
    d->arena = arena;
    d->sink = *sink;
    d->event_n = 0;
    cut_text_init(&d->line, EXCERPT_EVENT, fields);
}

void watch_decoder_fini(struct watch_decoder *d)
{
    cut_text_fini(&d->line);
}

void watch_decoder_reset(struct watch_decoder *d)
{
    cut_text_reset(&d->line);
    d->event_n = 0;
}

struct line {
    enum watch_event_type type; /* __MAX: not seen yet */
    struct str object;
    bool decoded; /* the object went through sink.decode */
};

static bool decode_type(struct json_reader *r, void *at)
{
    enum watch_event_type *type = at;
    struct str name;
    if (json_string(r, &name)) {
        *type = type_of(name);
        if (*type == WATCH_EVENT_TYPE__MAX) {
            json_fail(r, ERR_PARSE, "unknown type of watch event");
        }
    }
    return !json_failed(r);
}

/* The API server writes "type" before "object"; then one pass over the line is enough. */
static void read_object(struct watch_decoder *d, struct line *line)
{
    struct json_reader *r = d->reader;
    if (line->type == WATCH_EVENT_TYPE__MAX) {
        json_raw(r, &line->object);
        return;
    }
    if (json_peek(r) != JSON_NONE) {
        size_t at = r->at;
        line->decoded = d->sink.decode(d->sink.ctx, line->type, r);
        line->object = (struct str){r->text + at, r->at - at};
    }
}

static int read_line(struct watch_decoder *d, struct str text, struct line *line, struct err *reterr)
{
    struct json_reader *r = d->reader;
    struct str key;
    json_reader_init(r, text, d->arena);
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("type"))) {
            decode_type(r, &line->type);
        } else if (str_eq(key, STR("object"))) {
            read_object(d, line);
        } else {
            json_skip(r);
        }
    }
    int rc = json_read_end(r, reterr);
    if (rc != 0) {
        return rc;
    }
    if (line->type == WATCH_EVENT_TYPE__MAX || line->object.p == NULL) {
        return err_set(reterr, ERR_PARSE, "watch event without type or object");
    }
    if (!line->decoded) {
        json_reader_init(r, line->object, d->arena);
        d->sink.decode(d->sink.ctx, line->type, r);
        return json_read_end(r, reterr);
    }
    return 0;
}

/* Type and object, of which the grammar is checked and nothing else. */
static int read_envelope(struct watch_decoder *d, struct str text, struct line *line, struct err *reterr)
{
    static const struct kube_field fields[] = {
        {STR("type"), decode_type, offsetof(struct line, type)},
        {STR("object"), kube_decode_raw, offsetof(struct line, object)},
        {STR_NULL},
    };
    json_reader_init(d->reader, text, d->arena);
    d->reader->as_stored = true;
    kube_decode_object(d->reader, fields, line);
    return json_read_end(d->reader, reterr);
}

/* Nested beyond all limits: told by brackets and quotes alone. */
static int salvage(struct watch_decoder *d, struct str text, const struct err *why, struct err *reterr)
{
    enum watch_event_type type = type_of(scan_member_text(text, STR("type")));
    struct str object = scan_member(text, STR("object"));
    if (type == WATCH_EVENT_TYPE__MAX || object.n == 0 || object.p[0] != '{') {
        return err_set(reterr, ERR_PARSE, "%s", why->msg);
    }
    return d->sink.unusable(d->sink.ctx, type, object, why, reterr);
}

/* One object that we cannot read must not end the watch for all others: what it is can still be told, unless the line
 * is not JSON at all. */
static int take_unusable(struct watch_decoder *d, struct str text, const struct err *why, struct err *reterr)
{
    struct line line = {.type = WATCH_EVENT_TYPE__MAX};
    int rc = read_envelope(d, text, &line, NULL);
    if (rc == -ERR_LIMIT) {
        return salvage(d, text, why, reterr);
    }
    if (rc != 0 || line.type == WATCH_EVENT_TYPE__MAX || line.object.n == 0 || line.object.p[0] != '{') {
        return scan_err_of_object(scan_member(text, STR("object")), why, reterr);
    }
    return d->sink.unusable(d->sink.ctx, line.type, line.object, why, reterr);
}

static int take_line(struct watch_decoder *d, struct str text, struct err *reterr)
{
    struct line line = {.type = WATCH_EVENT_TYPE__MAX};
    struct err why;
    text = str_trim(text);
    if (text.n == 0) {
        return 0;
    }
    d->event_n++;
    arena_reset(d->arena);
    int rc = read_line(d, text, &line, &why);
    rc = rc == 0 ? cut_text_judge(&d->line, &why) : rc;
    if (rc == 0) {
        return d->sink.event(d->sink.ctx, line.type, line.object, reterr);
    }
    return take_unusable(d, text, &why, reterr);
}

int watch_decoder_feed(struct watch_decoder *d, struct str bytes, struct err *reterr)
{
    while (bytes.n > 0) {
        const char *newline = memchr(bytes.p, '\n', bytes.n);
        struct str part = {bytes.p, newline != NULL ? (size_t)(newline - bytes.p) : bytes.n};
        struct str line;
        int rc = cut_text_add(&d->line, part, newline != NULL, "a watch event", &line, reterr);
        if (rc != 0 || newline == NULL) {
            return rc;
        }
        rc = take_line(d, line, reterr);
        if (rc != 0) {
            return rc;
        }
        cut_text_reset(&d->line);
        bytes = str_drop(bytes, part.n + 1);
    }
    return 0;
}

int watch_decoder_end(struct watch_decoder *d, struct err *reterr)
{
    return cut_text_is_empty(&d->line) ? 0 : err_set(reterr, ERR_PARSE, "watch stream ended inside an event");
}
