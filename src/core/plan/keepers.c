#include "core/plan/keepers.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "model/pod.h"

#include <stdlib.h>
#include <string.h>

struct keeper {
    char *text; /* uid and namespace in one block */
    struct str uid, namespace_;
    bool all; /* it may keep off pods of any namespace */
    uint32_t epoch;
};

/* A namespace with keepers that mean only their own. */
struct kept_namespace {
    char *name;
    uint32_t n;
    bool more; /* has some that found no place, until a list that began later shows none */
    uint32_t more_epoch;
};

struct keepers {
    struct keeper *keepers;
    uint32_t n, cap;
    struct hashmap by_uid;
    struct kept_namespace *namespaces;
    uint32_t namespace_n, namespace_cap;
    struct hashmap by_name;
    uint32_t all_n, epoch;
    bool too_many;
};

static const struct hash_key key = {0x6b656570, 0x706c616e};

static bool is_uid(const void *owner, uint32_t value, const void *wanted)
{
    const struct keepers *k = owner;

    return str_eq(k->keepers[value].uid, *(const struct str *)wanted);
}

static bool is_name(const void *owner, uint32_t value, const void *wanted)
{
    const struct keepers *k = owner;

    return str_eq(str_of(k->namespaces[value].name), *(const struct str *)wanted);
}

struct keepers *keepers_new(void)
{
    struct keepers *k = xcalloc(1, sizeof(*k));

    hashmap_init(&k->by_uid);
    hashmap_init(&k->by_name);
    return k;
}

void keepers_free(struct keepers *k)
{
    if (k == NULL) {
        return;
    }
    for (uint32_t i = 0; i < k->n; i++) {
        free(k->keepers[i].text);
    }
    for (uint32_t i = 0; i < k->namespace_n; i++) {
        free(k->namespaces[i].name);
    }
    hashmap_fini(&k->by_uid);
    hashmap_fini(&k->by_name);
    free(k->keepers);
    free(k->namespaces);
    free(k);
}

static uint32_t find_namespace(const struct keepers *k, struct str name)
{
    return hashmap_find(&k->by_name, hash_name(key, name), is_name, k, &name);
}

static struct kept_namespace *namespace_of(struct keepers *k, struct str name)
{
    uint32_t at = find_namespace(k, name);

    if (at == HASHMAP_NONE) {
        if (k->namespace_n == k->namespace_cap) {
            k->namespace_cap = k->namespace_cap == 0 ? 16 : k->namespace_cap * 2;
            k->namespaces = xreallocarray(k->namespaces, k->namespace_cap, sizeof(*k->namespaces));
        }
        at = k->namespace_n++;
        k->namespaces[at] = (struct kept_namespace){.name = str_dup(name)};
        hashmap_insert(&k->by_name, hash_name(key, name), at);
    }
    return &k->namespaces[at];
}

/* One that means nobody any more goes: names come and go for ever (defects.md, F136). */
static void tidy(struct keepers *k, struct kept_namespace *of)
{
    const uint32_t at = (uint32_t)(of - k->namespaces), last = k->namespace_n - 1;

    if (of->n > 0 || of->more) {
        return;
    }
    hashmap_remove(&k->by_name, hash_name(key, str_of(of->name)), at);
    free(of->name);
    if (at != last) {
        const uint64_t hash = hash_name(key, str_of(k->namespaces[last].name));

        hashmap_remove(&k->by_name, hash, last);
        k->namespaces[at] = k->namespaces[last];
        hashmap_insert(&k->by_name, hash, at);
    }
    k->namespace_n--;
}

static void forget(struct keepers *k, uint32_t at)
{
    struct keeper gone = k->keepers[at];
    const uint32_t last = --k->n;

    if (gone.all) {
        k->all_n--;
    } else {
        struct kept_namespace *of = namespace_of(k, gone.namespace_);

        of->n--;
        tidy(k, of);
    }
    hashmap_remove(&k->by_uid, hash_name(key, gone.uid), at);
    if (at != last) {
        hashmap_remove(&k->by_uid, hash_name(key, k->keepers[last].uid), last);
        k->keepers[at] = k->keepers[last];
        hashmap_insert(&k->by_uid, hash_name(key, k->keepers[at].uid), at);
    }
    free(gone.text);
}

/* Whoever has filled the table: the namespace of the one that finds no place is closed, not those of others. */
static void leave_out(struct keepers *k, struct str namespace_, bool all)
{
    if (all || (k->namespace_n >= KEEPERS_MAX && find_namespace(k, namespace_) == HASHMAP_NONE)) {
        k->too_many = true;
    } else {
        struct kept_namespace *of = namespace_of(k, namespace_);

        of->more = true;
        of->more_epoch = k->epoch;
    }
}

static void add(struct keepers *k, struct str uid, struct str namespace_, bool all)
{
    struct keeper *fresh;
    char *at;

    if (k->n == KEEPERS_MAX) {
        leave_out(k, namespace_, all);
        return;
    }
    if (k->n == k->cap) {
        k->cap = k->cap == 0 ? 16 : k->cap * 2;
        k->keepers = xreallocarray(k->keepers, k->cap, sizeof(*k->keepers));
    }
    fresh = &k->keepers[k->n];
    at = xmalloc(uid.n + namespace_.n + 1);
    *fresh = (struct keeper){.text = at, .all = all, .epoch = k->epoch};
    fresh->uid = str_put(&at, uid);
    fresh->namespace_ = str_put(&at, namespace_);
    if (all) {
        k->all_n++;
    } else {
        namespace_of(k, namespace_)->n++;
    }
    hashmap_insert(&k->by_uid, hash_name(key, uid), k->n++);
}

void keepers_observed(struct keepers *k, struct str uid, struct str namespace_, unsigned only)
{
    const bool keeps = (only & (POD_KEEPS_OTHERS_OFF | POD_KEEPS_ALL_OFF)) != 0;
    const bool all = (only & POD_KEEPS_ALL_OFF) != 0;
    const uint32_t at = hashmap_find(&k->by_uid, hash_name(key, uid), is_uid, k, &uid);

    if (at != HASHMAP_NONE && keeps && k->keepers[at].all == all) { /* a pod's affinity does not change */
        k->keepers[at].epoch = k->epoch;
        return;
    }
    if (at != HASHMAP_NONE) {
        forget(k, at);
    }
    if (keeps) {
        add(k, uid, namespace_, all);
    }
}

void keepers_gone(struct keepers *k, struct str uid)
{
    const uint32_t at = hashmap_find(&k->by_uid, hash_name(key, uid), is_uid, k, &uid);

    if (at != HASHMAP_NONE) {
        forget(k, at);
    }
}

void keepers_list_begin(struct keepers *k)
{
    k->epoch++;
}

void keepers_list_end(struct keepers *k, bool complete)
{
    if (!complete) {
        return;
    }
    for (uint32_t i = k->n; i > 0; i--) { /* the last one takes the place of one that goes */
        if (k->keepers[i - 1].epoch != k->epoch) {
            forget(k, i - 1);
        }
    }
    for (uint32_t i = k->namespace_n; i > 0; i--) { /* likewise */
        struct kept_namespace *of = &k->namespaces[i - 1];

        of->more = of->more && of->more_epoch == k->epoch;
        tidy(k, of);
    }
    if (k->n < KEEPERS_MAX / 2) { /* else some that were left out may still be there; the next list tells */
        k->too_many = false;
    }
}

bool keepers_mean(const struct keepers *k, struct str namespace_)
{
    const uint32_t at = find_namespace(k, namespace_);

    return k->too_many || k->all_n > 0 || at != HASHMAP_NONE;
}
