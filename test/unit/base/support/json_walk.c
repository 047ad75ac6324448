#include "base/support/json_walk.h"

static void walk_number(struct json_reader *r, struct json_writer *w)
{
    struct str raw;
    if (json_raw(r, &raw)) {
        json_write_raw(w, raw);
    }
}

static void walk_object(struct json_reader *r, struct json_writer *w)
{
    struct str key;
    if (!json_object_begin(r)) {
        return;
    }
    json_write_object_begin(w);
    while (json_object_next(r, &key)) {
        json_write_key_str(w, key);
        json_walk(r, w);
        if (json_failed(r)) {
            return;
        }
    }
    if (!json_failed(r)) {
        json_write_object_end(w);
    }
}

static void walk_array(struct json_reader *r, struct json_writer *w)
{
    if (!json_array_begin(r)) {
        return;
    }
    json_write_array_begin(w);
    while (json_array_next(r)) {
        json_walk(r, w);
    }
    if (!json_failed(r)) {
        json_write_array_end(w);
    }
}

void json_walk(struct json_reader *r, struct json_writer *w)
{
    struct str text;
    bool truth;
    if (w->depth == JSON_WRITE_DEPTH_MAX) {
        walk_number(r, w);
        return;
    }
    switch (json_peek(r)) {
    case JSON_NONE:
        return;
    case JSON_NULL:
        if (json_null(r)) {
            json_write_null(w);
        }
        return;
    case JSON_BOOL:
        if (json_bool(r, &truth)) {
            json_write_bool(w, truth);
        }
        return;
    case JSON_NUMBER:
        walk_number(r, w);
        return;
    case JSON_STRING:
        if (json_string(r, &text)) {
            json_write_str(w, text);
        }
        return;
    case JSON_ARRAY:
        walk_array(r, w);
        return;
    case JSON_OBJECT:
        walk_object(r, w);
        return;
    }
}
