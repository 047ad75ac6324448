/* Single values of a document. */
#include "sim/state_file_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "core/dialects/dialect.h"
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

void state_file_require(struct json_reader *r, bool there, const char *why)
{
    if (!there && !json_failed(r)) {
        json_fail(r, ERR_INVALID, why);
    }
}

void state_file_profile(struct json_reader *r, void *to)
{
    uint16_t *ret = to;
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        *ret = mig_profile_parse(text);
        state_file_require(r, *ret != MIG_NO_PROFILE, "a MIG profile that this version does not know");
    }
}

void state_file_kind(struct json_reader *r, void *to)
{
    enum gpu_request_kind *ret = to;
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

void state_file_qos(struct json_reader *r, void *to)
{
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        state_file_require(r, qos_parse(text, to), "a quality of service that this version does not know");
    }
}

void state_file_time(struct json_reader *r, void *to)
{
    struct str text = STR_NULL;

    if (json_string(r, &text)) {
        state_file_require(r, clock_rfc3339_parse(text, to), "not a time");
    }
}

const char *state_file_dialect(struct json_reader *r, struct str name)
{
    const struct dialect *d = dialect_find(name);

    state_file_require(r, d != NULL || name.n == 0, "a vocabulary that this version does not know");
    return d == NULL ? "" : d->name;
}
