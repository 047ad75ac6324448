/* Which records are believed: those that nobody has verified yet stand in a list, oldest first. */
#include "base/bug.h"
#include "core/ledger/node_table.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"
#include "core/ledger/trust.h"

#include <stdlib.h>

const char *record_trust_name(enum record_trust t)
{
    static const char *const names[] = {
        [RECORD_UNSIGNED] = "refused", [RECORD_PROVISIONAL] = "provisional", [RECORD_VERIFIED] = "verified"};

    BUG_ON((unsigned)t > RECORD_VERIFIED);
    return names[t];
}

static void list_add(struct ledger *l, struct pod_entry *p)
{
    uint32_t pod = (uint32_t)(p - l->pods);

    p->unverified_before = l->unverified_last;
    p->unverified_after = LEDGER_NONE;
    if (l->unverified_last != LEDGER_NONE) {
        l->pods[l->unverified_last].unverified_after = pod;
    } else {
        l->unverified_first = pod;
    }
    l->unverified_last = pod;
}

static void list_remove(struct ledger *l, struct pod_entry *p)
{
    if (p->unverified_before != LEDGER_NONE) {
        l->pods[p->unverified_before].unverified_after = p->unverified_after;
    } else {
        l->unverified_first = p->unverified_after;
    }
    if (p->unverified_after != LEDGER_NONE) {
        l->pods[p->unverified_after].unverified_before = p->unverified_before;
    } else {
        l->unverified_last = p->unverified_before;
    }
    p->unverified_before = p->unverified_after = LEDGER_NONE;
}

static void proof_set(struct pod_entry *p, struct str proof)
{
    char *copy = proof.n > 0 ? str_dup(proof) : NULL;

    free(p->proof);
    p->proof = copy;
    p->proof_n = proof.n;
}

void ledger_trust_set(struct ledger *l, struct pod_entry *p, enum record_trust trust, struct str proof)
{
    bool was_listed = p->trust == RECORD_PROVISIONAL, is_listed = trust == RECORD_PROVISIONAL;

    if (was_listed && !is_listed) {
        list_remove(l, p);
    } else if (is_listed && !was_listed) {
        list_add(l, p);
    }
    p->trust = trust;
    p->record_refused = false;
    proof_set(p, is_listed ? proof : STR_NULL);
    if (!is_listed && was_listed) { /* what it asks for without its record is no question any more */
        free(p->latest);
        p->latest = NULL;
    }
}

void ledger_trust_refuse(struct ledger *l, struct pod_entry *p, struct str proof)
{
    ledger_trust_set(l, p, RECORD_UNSIGNED, STR_NULL);
    p->record_refused = true;
    proof_set(p, proof);
}

/* ---- what is to be verified ---- */

static size_t put(const struct pod_entry *p, struct arena *a, struct ledger_unverified *ret, size_t n)
{
    ret[n] = (struct ledger_unverified){arena_str(a, p->uid), arena_str(a, ledger_pod_proof(p))};
    return a->overflowed ? n : n + 1;
}

size_t ledger_unverified(const struct ledger *l, struct str node_name, struct arena *a, struct ledger_unverified *ret,
                         size_t max)
{
    uint32_t node = node_name.n > 0 ? ledger_node_find(l, node_name) : LEDGER_NONE;
    size_t n = 0;

    if (node_name.n == 0) {
        for (uint32_t i = l->unverified_first; i != LEDGER_NONE && n < max && !a->overflowed;) {
            n = put(&l->pods[i], a, ret, n);
            i = l->pods[i].unverified_after;
        }
        return n;
    }
    for (uint32_t i = 0; node != LEDGER_NONE && i < l->nodes[node].pod_n && n < max && !a->overflowed; i++) {
        const struct pod_entry *p = &l->pods[l->nodes[node].pods[i]];

        if (p->trust == RECORD_PROVISIONAL) {
            n = put(p, a, ret, n);
        }
    }
    return n;
}

size_t ledger_unverified_n(const struct ledger *l, size_t max)
{
    size_t n = 0;

    for (uint32_t i = l->unverified_first; i != LEDGER_NONE && n < max; i = l->pods[i].unverified_after) {
        n++;
    }
    return n;
}

bool ledger_is_unverified(const struct ledger *l, struct str node_name)
{
    uint32_t node = l->unverified_first == LEDGER_NONE ? LEDGER_NONE : ledger_node_find(l, node_name);
    bool found = false;

    for (uint32_t i = 0; node != LEDGER_NONE && i < l->nodes[node].pod_n && !found; i++) {
        found = l->pods[l->nodes[node].pods[i]].trust == RECORD_PROVISIONAL;
    }
    return found;
}
