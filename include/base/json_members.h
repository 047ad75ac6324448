/* base/json_members.h - the members of an object that a reader wants, as a table; others are skipped.
 *
 * One of the pointers of a row says what the member is and where it goes. What is not in the object stays as it is.
 * Errors stick to the reader (base/json_read.h).
 *
 *     json_members(r, JSON_MEMBERS({"name", .text = &n.name},
 *                                  {"slots", .i32 = &n.slot_n, .max = SLOTS_MAX},
 *                                  {"host", .object = JSON_MEMBERS({"cpuMilli", .i64 = &n.cpu_milli})}));
 */
#ifndef BASE_JSON_MEMBERS_H
#define BASE_JSON_MEMBERS_H

#include "base/json_read.h"

#include <stdbool.h>
#include <stdint.h>

struct json_member {
    const char *key; /* NULL: the end of a list */
    struct str *text;
    struct str *shown; /* the same made fit for a terminal (base/printable.h); the reader needs an arena */
    struct str *raw;   /* the value as it stands in the document */
    bool *flag;
    int64_t *i64;
    int32_t *i32;
    int64_t min, max;                                 /* of a number; both 0: as its type says */
    const struct json_member *object;                 /* its members */
    void (*read)(struct json_reader *r, void *to);    /* reads the value itself; */
    void (*element)(struct json_reader *r, void *to); /* it is an array, and this reads one element; */
    void *to;                                         /* what they get */
};
#define JSON_MEMBERS(...) ((const struct json_member[]){__VA_ARGS__, {.key = NULL}})

void json_members(struct json_reader *r, const struct json_member *members);

#endif
