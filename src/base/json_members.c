#include "base/json_members.h"

#include "base/bug.h"
#include "base/printable.h"

static void read_shown(struct json_reader *r, struct str *ret)
{
    BUG_ON(r->arena == NULL);
    if (!json_string(r, ret)) {
        return;
    }
    *ret = printable(r->arena, *ret);
    if (ret->p == NULL) {
        json_fail(r, ERR_LIMIT, "the document does not fit its memory");
    }
}

static void read_number(struct json_reader *r, const struct json_member *m)
{
    bool any = m->min == 0 && m->max == 0;
    int64_t min = !any ? m->min : m->i32 != NULL ? INT32_MIN : INT64_MIN;
    int64_t max = !any ? m->max : m->i32 != NULL ? INT32_MAX : INT64_MAX;
    int64_t v = 0;

    if (!json_i64(r, &v)) {
        return;
    }
    if (v < min || v > max) {
        json_fail(r, ERR_INVALID, "a number out of its range");
    } else if (m->i32 != NULL) {
        *m->i32 = (int32_t)v;
    } else {
        *m->i64 = v;
    }
}

static void read_member(struct json_reader *r, const struct json_member *m)
{
    if (m->text != NULL) {
        (void)json_string(r, m->text);
    } else if (m->shown != NULL) {
        read_shown(r, m->shown);
    } else if (m->raw != NULL) {
        (void)json_raw(r, m->raw);
    } else if (m->flag != NULL) {
        (void)json_bool(r, m->flag);
    } else if (m->i64 != NULL || m->i32 != NULL) {
        read_number(r, m);
    } else if (m->object != NULL) {
        json_members(r, m->object);
    } else if (m->read != NULL) {
        m->read(r, m->to);
    } else if (m->element != NULL) {
        for (json_array_begin(r); json_array_next(r);) {
            m->element(r, m->to);
        }
    } else {
        json_skip(r); /* the end: nobody wants it */
    }
}

void json_members(struct json_reader *r, const struct json_member *members)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        const struct json_member *m = members;

        while (m->key != NULL && !str_eq_cstr(key, m->key)) {
            m++;
        }
        read_member(r, m);
    }
}
