#define _GNU_SOURCE /* memmem */
/* What of a pod decides in filters of kube-scheduler that fgpu is not asked about (core/plan).
 *
 * Nothing of it may make an object unreadable, or cost more memory than it is worth, because it decides about planning
 * ahead and nothing else: a value of another type than it should have, or more than the bounds below, is skipped and
 * noted (POD_CONSTRAINTS_ODD). So every type is looked at before it is read. */
#include "objects_internal.h"
#include "scan_internal.h"

#include <string.h>

const struct kube_field kube_nothing_fields[] = {{STR_NULL}};

bool kube_comes(struct json_reader *r, struct pod *p, enum json_type t)
{
    enum json_type next = json_peek(r);

    if (next == t) {
        return true;
    }
    p->scheduler_only |= next == JSON_NULL ? 0 : POD_CONSTRAINTS_ODD;
    json_skip(r);
    return false;
}

void kube_skip_odd(struct json_reader *r, struct pod *p)
{
    p->scheduler_only |= POD_CONSTRAINTS_ODD;
    json_skip(r);
}

/* ---- what must be there ---- */

/* Skips the array that comes next; is anything in it? */
static bool skip_list(struct json_reader *r, struct pod *p)
{
    bool any = false;

    if (!kube_comes(r, p, JSON_ARRAY)) {
        return false;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        any = true;
        json_skip(r);
    }
    return any;
}

bool kube_note_list(struct json_reader *r, struct pod *p, enum scheduler_only bit)
{
    p->scheduler_only |= skip_list(r, p) ? bit : 0;
    return !json_failed(r);
}

bool kube_decode_gates(struct json_reader *r, void *at)
{
    return kube_note_list(r, at, POD_GATED);
}

bool kube_decode_spreads(struct json_reader *r, void *at)
{
    return kube_note_list(r, at, POD_SPREADS);
}

bool kube_decode_claims(struct json_reader *r, void *at)
{
    return kube_note_list(r, at, POD_CLAIMS);
}

bool kube_decode_grouped(struct json_reader *r, void *at)
{
    struct pod *p = at;

    p->scheduler_only |= json_peek(r) != JSON_NULL ? POD_GROUPED : 0;
    return json_skip(r);
}

bool kube_decode_host_network(struct json_reader *r, void *at)
{
    struct pod *p = at;

    return kube_comes(r, p, JSON_BOOL) ? json_bool(r, &p->host_network) : !json_failed(r);
}

/* ---- volumes ---- */

const struct kube_field kube_volume_fields[] = {
    {STR("configMap"), .inner = kube_nothing_fields}, {STR("secret"), .inner = kube_nothing_fields},
    {STR("emptyDir"), .inner = kube_nothing_fields},  {STR("downwardAPI"), .inner = kube_nothing_fields},
    {STR("projected"), .inner = kube_nothing_fields}, {STR_NULL},
};

/* Is it one of those that any node makes? Of exactly one kind, as the API server wants. */
static bool is_made_anywhere(struct json_reader *r)
{
    size_t known = 0, others = 0;
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        const struct kube_field *f = kube_volume_fields;
        bool is_null = json_peek(r) == JSON_NULL;

        while (f->key.p != NULL && !str_eq(key, f->key)) {
            f++;
        }
        known += f->key.p != NULL && !is_null;
        others += f->key.p == NULL && !is_null && !str_eq(key, STR("name"));
        json_skip(r);
    }
    return known == 1 && others == 0;
}

bool kube_decode_volumes(struct json_reader *r, void *at)
{
    struct pod *p = at;

    if (!kube_comes(r, p, JSON_ARRAY)) {
        return !json_failed(r);
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        if (json_peek(r) != JSON_OBJECT) {
            kube_skip_odd(r, p);
        } else if (!is_made_anywhere(r)) {
            p->scheduler_only |= POD_VOLUMES;
        }
    }
    return !json_failed(r);
}

/* ---- ports ---- */

const struct kube_field kube_port_fields[] = {{STR("hostPort"), kube_decode_raw, 0}, {STR_NULL}};

/* A port that cannot be read is taken for one of the host. */
static bool is_host_port(struct json_reader *r)
{
    bool is = false;
    struct str key, value;

    if (json_peek(r) != JSON_OBJECT) {
        json_skip(r);
        return true;
    }
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (!str_eq(key, STR("hostPort"))) {
            json_skip(r);
        } else if (json_raw(r, &value)) {
            is = !str_eq(value, STR("0")) && !str_eq(value, STR("null"));
        }
    }
    return is;
}

bool kube_decode_ports(struct json_reader *r, void *at)
{
    struct container *c = at;

    if (json_peek(r) != JSON_ARRAY) {
        c->has_ports = c->has_host_ports = json_peek(r) != JSON_NULL;
        return json_skip(r);
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        c->has_ports = true;
        c->has_host_ports = is_host_port(r) || c->has_host_ports;
    }
    return !json_failed(r);
}

/* ---- who wrote the nomination ---- */

static const struct kube_field nominated_fields[] = {{STR("f:nominatedNodeName"), kube_decode_raw, 0}, {STR_NULL}};
static const struct kube_field status_fields[] = {{STR("f:status"), .inner = nominated_fields}, {STR_NULL}};
const struct kube_field kube_managed_fields[] = {
    {STR("manager"), kube_decode_raw, 0}, {STR("fieldsV1"), .inner = status_fields}, {STR_NULL}};

static bool is_our_nomination(struct str entry)
{
    struct str status = scan_member(scan_member(entry, STR("fieldsV1")), STR("f:status"));

    return str_eq(scan_member_text(entry, STR("manager")), STR(PLANNER_FIELD_MANAGER)) &&
           scan_member(status, STR("f:nominatedNodeName")).n > 0;
}

/* Several KiB in nearly every pod, in which nearly never stands our name: so it is passed over as a whole, and looked
 * into by text alone. */
bool kube_decode_managers(struct json_reader *r, void *at)
{
    struct pod *p = at;
    struct str all;
    size_t i;

    if (!json_raw(r, &all)) {
        return false;
    }
    if (all.p[0] != '[' || memmem(all.p, all.n, PLANNER_FIELD_MANAGER, sizeof(PLANNER_FIELD_MANAGER) - 1) == NULL) {
        return true;
    }
    for (i = 1; i < all.n && !p->nominated_by_planner; i++) {
        struct json_scan s = {0};
        size_t from = i;

        if (all.p[i] == '{') {
            i = scan_value(&s, all.p, i, all.n);
            p->nominated_by_planner = is_our_nomination((struct str){all.p + from, i - from});
        }
    }
    return true;
}
