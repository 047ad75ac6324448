#include "json_read_internal.h"

bool json_fail_at(struct json_reader *r, size_t at, enum err_code code, const char *why)
{
    if (r->why == NULL) {
        r->code = code;
        r->why = why;
        r->why_at = at;
    }
    return false;
}

void json_fail(struct json_reader *r, enum err_code code, const char *why)
{
    json_fail_at(r, r->value_at, code, why);
}
