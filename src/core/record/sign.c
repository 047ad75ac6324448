/* What a signature of a record covers.
 *
 * Numbers are 8 bytes, first byte highest; a text is its length and its bytes; a list is its length and its elements.
 * Whatever may differ in meaning is written as the text that the record has (qos, mig), never as a number of an enum
 * of ours, so that the bytes stay the same in every version. */
#include "core/record/assignment.h"
#include "model/mig.h"
#include "model/qos.h"

#include <string.h>

#define SIGNED_DOMAIN STR("fgpu.io/assignment signature v1")

/* Without `to` it only counts. */
struct signed_text {
    char *to;
    size_t n;
};

static void put_bytes(struct signed_text *t, const char *p, size_t n)
{
    if (t->to != NULL && n > 0) {
        memcpy(t->to + t->n, p, n);
    }
    t->n += n;
}

static void put_number(struct signed_text *t, uint64_t v)
{
    char bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(unsigned char)(v >> (56 - 8 * i));
    }
    put_bytes(t, bytes, sizeof(bytes));
}

static void put_text(struct signed_text *t, struct str s)
{
    put_number(t, s.n);
    put_bytes(t, s.p, s.n);
}

static void put_device(struct signed_text *t, const struct assigned_device *d)
{
    char profile[MIG_PROFILE_BYTES_MAX];

    put_text(t, d->uuid);
    put_number(t, (uint64_t)d->index);
    put_number(t, (uint64_t)d->milli);
    put_number(t, (uint64_t)d->mem_mib);
    put_number(t, d->exclusive ? 1 : 0);
    put_text(t, d->profile == 0 ? STR_NULL : str_of(mig_profile_text(d->profile, profile)));
}

static void put_record(struct signed_text *t, const struct assignment *as, struct str pod_uid, struct str node_name)
{
    put_text(t, SIGNED_DOMAIN);
    put_text(t, pod_uid);
    put_text(t, node_name);
    put_text(t, as->id);
    put_text(t, str_of(qos_name(as->qos)));
    put_number(t, as->container_n);
    for (size_t i = 0; i < as->container_n; i++) {
        const struct assigned_container *c = &as->containers[i];

        put_text(t, c->name);
        put_number(t, c->init ? 1 : 0);
        put_number(t, c->device_n);
        for (size_t k = 0; k < c->device_n; k++) {
            put_device(t, &c->devices[k]);
        }
    }
}

int assignment_signed_bytes(const struct assignment *as, struct str pod_uid, struct str node_name, struct arena *a,
                            struct str *ret, struct err *reterr)
{
    struct signed_text t = {NULL, 0};

    put_record(&t, as, pod_uid, node_name);
    t.to = arena_alloc(a, t.n);
    if (t.to == NULL) {
        return assignment_no_memory(reterr);
    }
    t.n = 0;
    put_record(&t, as, pod_uid, node_name);
    *ret = (struct str){t.to, t.n};
    return 0;
}
