#include "cmd/json_members.h"

#include "cmd/terminal.h"

static void read_member(struct json_reader *r, const struct json_member *m)
{
    if (m->i64 != NULL) {
        (void)json_i64(r, m->i64);
    } else if (m->flag != NULL) {
        (void)json_bool(r, m->flag);
    } else if (m->text != NULL) {
        (void)terminal_string(r, m->text);
    } else if (m->raw != NULL) {
        (void)json_raw(r, m->raw);
    } else if (m->object != NULL) {
        json_members(r, m->object);
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
