/* Who is who: nodes by name, pods by UID, devices by what somebody knows of them. */
#include "core/ledger/device_table.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

static bool node_has_name(const void *owner, uint32_t value, const void *key)
{
    const struct ledger *l = owner;
    const struct str *name = key;

    return str_eq(l->names[value], *name);
}

uint32_t ledger_node_find(const struct ledger *l, struct str name)
{
    return hashmap_find(&l->node_index, hash_name(l->limits.hash_key, name), node_has_name, l, &name);
}

static bool pod_has_uid(const void *owner, uint32_t value, const void *key)
{
    const struct ledger *l = owner;
    const struct str *uid = key;

    return str_eq(l->pods[value].uid, *uid);
}

uint32_t ledger_pod_lookup(const struct ledger *l, struct str uid)
{
    return hashmap_find(&l->pod_index, hash_str(l->limits.hash_key, uid), pod_has_uid, l, &uid);
}

bool device_ref_equal(struct device_ref a, struct device_ref b)
{
    if (a.uuid_hash != 0 && b.uuid_hash != 0) {
        return a.uuid_hash == b.uuid_hash;
    }
    return a.index == b.index;
}

/* How good an answer the device is, best first. Among those that are not there any more the order on the node decides:
 * who was there last comes first, so that a pod stays where it is. */
enum answer { IS_THERE, IS_THERE_BY_INDEX, WAS_THERE, IS_RECORDED, IS_ANOTHER };

static enum answer answer_of(const struct ledger_device *d, struct device_ref ref)
{
    if (!device_ref_equal(d->ref, ref)) {
        return IS_ANOTHER;
    }
    if (d->lost) {
        return d->recorded ? IS_RECORDED : WAS_THERE;
    }
    return d->ref.uuid_hash == ref.uuid_hash ? IS_THERE : IS_THERE_BY_INDEX; /* or neither side knows a UUID */
}

uint32_t ledger_device_find(const struct node_entry *n, const struct pod_entry *p, struct device_ref ref)
{
    uint32_t found = LEDGER_NONE;
    enum answer best = p->record_parts != NULL ? IS_ANOTHER : IS_RECORDED;

    for (uint32_t i = 0; i < n->device_n && best != IS_THERE; i++) {
        enum answer a = answer_of(&n->devices[i], ref);

        if (a < best) {
            best = a;
            found = i;
        }
    }
    return found;
}

struct device_ref ledger_device_ref(const struct ledger *l, struct str uuid, int32_t index)
{
    /* 0 means "no UUID", so the one text in 2^64 that hashes to it becomes 1. */
    uint64_t hash = uuid.n > 0 ? hash_str(l->limits.hash_key, uuid) : 0;

    return (struct device_ref){uuid.n > 0 && hash == 0 ? 1 : hash, index};
}

static struct str uuid_in_records(const struct ledger *l, const struct node_entry *n, struct device_ref ref)
{
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t k = 0; p->record_parts != NULL && k < p->ref_n; k++) {
            if (p->refs[k].uuid_hash == ref.uuid_hash) {
                return p->record_parts[k].uuid;
            }
        }
    }
    return STR_NULL;
}

struct str ledger_device_uuid(const struct ledger *l, const struct node_entry *n, const struct ledger_device *d)
{
    if (d->uuid.n > 0) {
        return d->uuid;
    }
    return d->recorded && d->ref.uuid_hash != 0 ? uuid_in_records(l, n, d->ref) : STR_NULL;
}
