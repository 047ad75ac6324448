/* cmd/json_members.h - the members of an object that a command wants to show; others are skipped. */
#ifndef CMD_JSON_MEMBERS_H
#define CMD_JSON_MEMBERS_H

#include "base/json_read.h"

/* One of the pointers says what the member is and where it goes; it stays as it is if there is no such member. */
struct json_member {
    const char *key; /* NULL: the end of a list */
    int64_t *i64;
    bool *flag;
    struct str *text;                 /* fit for a terminal */
    struct str *raw;                  /* the value as it stands in the document */
    const struct json_member *object; /* its members */
};
#define JSON_MEMBERS(...) ((const struct json_member[]){__VA_ARGS__, {.key = NULL}})

/* Errors are kept by the reader. */
void json_members(struct json_reader *r, const struct json_member *members);

#endif
