/* Which records are believed: those that nobody has verified yet stand in a list, oldest first. */
#include "base/bug.h"
#include "core/ledger/internal.h"

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

/* ---- verdicts ---- */

/* Its proof stays, so that the same record is known again. */
static void refuse(struct ledger *l, struct pod_entry *p, const struct str *proof)
{
    ledger_trust_set(l, p, RECORD_UNSIGNED, STR_NULL);
    p->record_refused = true;
    proof_set(p, *proof);
}

int ledger_judged_apply(struct ledger *l, const struct ledger_judged *j, int64_t at_ms)
{
    uint32_t pod = ledger_pod_lookup(l, j->uid);
    struct pod_entry *p = pod == LEDGER_NONE ? NULL : &l->pods[pod];

    if (p == NULL || p->trust != RECORD_PROVISIONAL || !str_eq(ledger_pod_proof(p), j->proof)) {
        return 0;
    }
    p->touched = l->generation + 1;
    if (j->valid) {
        ledger_trust_set(l, p, RECORD_VERIFIED, STR_NULL);
        if (!p->reserved_here) { /* from now on it is known to hold its devices (core/ledger/incidents.h) */
            p->attached = l->generation + 1;
            ledger_overcommit_note(l, p->node);
            ledger_decision_verified(l, pod, at_ms);
        }
    } else if (p->reserved_here) {
        refuse(l, p, &j->proof);
        p->conflict = ledger_conflict_signature;
    } else {
        struct demand *asked = demand_copy(p->latest != NULL ? p->latest : p->demand);
        char *uid = str_dup(p->uid);
        const struct ledger_pod_fact seen = {
            .uid = str_of(uid), .node_name = l->names[p->node], .demand = asked};

        asked->host = p->demand->host;
        p->usurping = false;
        if (!j->key_gone) {
            refuse(l, p, &j->proof);
        }
        ledger_pod_adopt(l, pod, &seen, asked, p->node, at_ms);
        free(uid);
        free(asked);
    }
    return 0;
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

bool ledger_is_unverified(const struct ledger *l, struct str node_name)
{
    uint32_t node = l->unverified_first == LEDGER_NONE ? LEDGER_NONE : ledger_node_find(l, node_name);
    bool found = false;

    for (uint32_t i = 0; node != LEDGER_NONE && i < l->nodes[node].pod_n && !found; i++) {
        found = l->pods[l->nodes[node].pods[i]].trust == RECORD_PROVISIONAL;
    }
    return found;
}
