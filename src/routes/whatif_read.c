/* Reading what somebody asks: strictly, because a misspelt key would be answered with a wrong number. */
#include "routes/whatif.h"

#include "base/json_read.h"
#include "model/names.h"

#include <string.h>

/* Of a key that is not known, so many bytes are said. */
enum { NAMED_BYTES = 64 };

/* One reading. The reader keeps where a value is malformed, this what is wrong with one that can be read. */
struct reading {
    struct json_reader *r;
    struct err *reterr;
    bool failed; /* reterr says why */
};

static int named(struct str s)
{
    return (int)(s.n < NAMED_BYTES ? s.n : NAMED_BYTES);
}

static bool refuse_key(struct reading *d, const char *where, struct str key, const char *why)
{
    err_set(d->reterr, ERR_INVALID, "%s\"%.*s\": %s", where, named(key), key.p != NULL ? key.p : "", why);
    d->failed = true;
    return false;
}

/* Kubernetes takes whole numbers in limits without quotes. Of 0.5 and 1e3 it is not said in which digits they come. */
static bool read_number(struct reading *d, const char *where, struct str key, struct str *ret)
{
    if (!json_raw(d->r, ret)) {
        return false;
    }
    for (size_t i = 0; i < ret->n; i++) {
        if (strchr("-0123456789", ret->p[i]) == NULL) {
            return refuse_key(d, where, key, "write the value in quotes");
        }
    }
    return true;
}

static bool read_value(struct reading *d, const char *where, struct str key, struct str *ret)
{
    return json_peek(d->r) == JSON_NUMBER ? read_number(d, where, key, ret) : json_string(d->r, ret);
}

static void read_pairs(struct reading *d, const char *where, struct kv_list *ret)
{
    struct kv *items = ARENA_ARRAY(d->r->arena, WHATIF_KEYS_MAX, struct kv);
    struct str key, value;
    size_t n = 0;

    if (items == NULL) {
        json_fail(d->r, ERR_LIMIT, "the request does not fit its memory");
        return;
    }
    json_object_begin(d->r);
    while (!d->failed && json_object_next(d->r, &key)) {
        if (n == WHATIF_KEYS_MAX) {
            refuse_key(d, where, key, "there are more than 64 keys");
        } else if (!kube_name_is_annotation_key(key)) {
            refuse_key(d, where, key, "no name that Kubernetes accepts here");
        } else if (read_value(d, where, key, &value)) {
            if (value.n > WHATIF_VALUE_MAX) {
                refuse_key(d, where, key, "the value is longer than 4096 bytes");
            } else {
                items[n++] = (struct kv){key, value};
            }
        }
    }
    *ret = (struct kv_list){items, n};
}

static void read_namespace(struct reading *d, struct whatif_question *ret)
{
    if (json_string(d->r, &ret->namespace_) && !kube_name_is_label(ret->namespace_)) {
        refuse_key(d, "namespace ", ret->namespace_, "no name of a namespace");
    }
}

static void read_count(struct reading *d, struct whatif_question *ret)
{
    int64_t count;

    if (!json_i64(d->r, &count)) {
        return;
    }
    if (count < 1 || count > WHATIF_PODS_MAX) {
        err_set(d->reterr, ERR_INVALID, "count must be a number from 1 to %d", WHATIF_PODS_MAX);
        d->failed = true;
        return;
    }
    ret->count = (uint64_t)count;
}

int whatif_read(struct str body, struct arena *a, struct whatif_question *ret, struct err *reterr)
{
    struct err unsaid;
    struct reading d = {.r = ARENA_NEW(a, struct json_reader), .reterr = reterr != NULL ? reterr : &unsaid};
    struct str key;

    *ret = (struct whatif_question){.namespace_ = STR("default"), .count = 1};
    if (d.r == NULL) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    json_reader_init(d.r, body, a);
    json_object_begin(d.r);
    while (!d.failed && json_object_next(d.r, &key)) {
        if (str_eq_cstr(key, "limits")) {
            read_pairs(&d, "limits: ", &ret->limits);
        } else if (str_eq_cstr(key, "annotations")) {
            read_pairs(&d, "annotations: ", &ret->annotations);
        } else if (str_eq_cstr(key, "namespace")) {
            read_namespace(&d, ret);
        } else if (str_eq_cstr(key, "count")) {
            read_count(&d, ret);
        } else {
            refuse_key(&d, "unknown key ", key, "use limits, annotations, namespace and count");
        }
    }
    return d.failed ? -(int)d.reterr->code : json_read_end(d.r, reterr);
}
