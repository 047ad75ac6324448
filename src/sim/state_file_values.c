/* Single values of a document, each within its range. */
#include "sim/state_file_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "model/mig.h"
#include "model/qos.h"

#include <stdlib.h>

void *state_file_grow(void *items, size_t *n, size_t *cap, size_t size)
{
    if (*n == *cap) {
        *cap = *cap == 0 ? 256 : *cap * 2;
        items = xreallocarray(items, *cap, size);
    }
    ++*n;
    return items;
}

bool state_file_i64(struct json_reader *r, int64_t min, int64_t max, int64_t *ret)
{
    int64_t v = 0;

    if (!json_i64(r, &v)) {
        return false;
    }
    if (v < min || v > max) {
        json_fail(r, ERR_INVALID, "a number out of its range");
        return false;
    }
    *ret = v;
    return true;
}

void state_file_i32(struct json_reader *r, int64_t min, int64_t max, int32_t *ret)
{
    int64_t v = 0;

    if (state_file_i64(r, min, max, &v)) {
        *ret = (int32_t)v;
    }
}

void state_file_profile(struct json_reader *r, uint16_t *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        *ret = mig_profile_parse(text);
        if (*ret == MIG_NO_PROFILE) {
            json_fail(r, ERR_INVALID, "a MIG profile that this version does not know");
        }
    }
}

/* The number under `want` of {"capacity", "charged", "free"}. */
void state_file_amount(struct json_reader *r, const char *want, int64_t max, int64_t *ret)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, want)) {
            state_file_i64(r, 0, max, ret);
        } else {
            json_skip(r);
        }
    }
}

void state_file_kind(struct json_reader *r, enum gpu_request_kind *ret)
{
    struct str text = STR_NULL;

    json_string(r, &text);
    for (int i = 0; !json_failed(r) && i < GPU_REQUEST_KIND__MAX; i++) {
        if (str_eq_cstr(text, gpu_request_kind_name((enum gpu_request_kind)i))) {
            *ret = (enum gpu_request_kind)i;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a kind of request that this version does not know");
}

void state_file_qos(struct json_reader *r, enum qos *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text) && !qos_parse(text, ret)) {
        json_fail(r, ERR_INVALID, "a quality of service that this version does not know");
    }
}

void state_file_time(struct json_reader *r, int64_t *ret)
{
    struct str text = STR_NULL;

    if (json_string(r, &text) && !clock_rfc3339_parse(text, ret)) {
        json_fail(r, ERR_INVALID, "not a time");
    }
}

void state_file_require(struct file_reader *f, bool there, const char *why)
{
    if (!there && !json_failed(&f->json)) {
        json_fail(&f->json, ERR_INVALID, why);
    }
}
