/* What may still change of a pod that is where we know it to be. */
#include "core/ledger/numbers.h"
#include "core/ledger/observe.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"
#include "core/ledger/trust.h"

#include <stdlib.h>

/* A contradiction between record and ledger, or its end. What is wrong with the request stays the conflict that is
 * shown: the same observation twice must change nothing. */
static void note_record(struct pod_entry *p, bool is_ours)
{
    if (!is_ours) {
        if (p->conflict != ledger_conflict_request && p->conflict != ledger_conflict_reading &&
            p->conflict != ledger_conflict_signature) {
            p->conflict = ledger_conflict_record;
        }
    } else if (p->conflict == ledger_conflict_record) {
        p->conflict = NULL;
    }
}

/* Whoever was given shares keeps a plugin's pods away from its node, whatever its annotations say now. */
static bool stays_of_its_kind(const struct demand *was, const struct demand *now)
{
    return ledger_same_shape(was, now) &&
           (was->source != DEMAND_FROM_ANNOTATIONS || demand_takes_shares(was) == demand_takes_shares(now));
}

/* The pod is where we know it to be, without a signed record. What may still change: amounts and constraints, and
 * contradictions. */
static void request_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f,
                              const struct demand *asked)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->ref_n > 0) {
        note_record(p, !p->contested && ledger_record_is_ours(l, p, f->assignment));
    }
    if (!demand_equal(asked, f->demand)) {
        p->conflict = ledger_conflict_request; /* it says more than counts */
    }
    if (demand_equal(p->demand, asked)) {
        return;
    }
    if (ledger_is_read_differently(p, asked)) {
        p->conflict = ledger_conflict_reading;
        ledger_pod_keep_charges(l, p);
    } else if (p->demand->source == DEMAND_FROM_ANNOTATIONS || !ledger_same_shape(p->demand, asked)) {
        p->conflict = ledger_conflict_request;
    }
    if (stays_of_its_kind(p->demand, asked)) {
        ledger_pod_set_demand(l, p, asked); /* floors keep the larger charge */
        if (asked->says_qos && asked->qos == QOS_EQUAL_SHARE) {
            p->qos = QOS_EQUAL_SHARE;
        }
        ledger_recompute(l, p->node);
    }
}

/* From now on its signed record says what it is charged on the devices that it holds already. */
static void begin_grant(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                        const struct demand *asked, int64_t at_ms)
{
    ledger_take_grant(l, p, f, asked, at_ms);
    ledger_keep_granted(l, p->node);
    ledger_recompute(l, p->node);
}

/* Does the signed record of a pod whose devices are known otherwise say the same of them? A verified one need not agree
 * on the amounts: it is what was granted. */
static bool begins_grant(const struct ledger *l, const struct pod_entry *p, const struct ledger_pod_fact *f)
{
    return ledger_fact_grants(f) && ledger_record_is_ours(l, p, f->assignment) &&
           (f->record_trust == RECORD_VERIFIED || (p->reserved_here && ledger_record_is_promised(l, p, f->assignment)));
}

/* Is there a better record than the one that is held? Only what nobody has verified gives way. */
static bool is_superseded(const struct pod_entry *p, const struct ledger_pod_fact *f)
{
    return ledger_fact_grants(f) &&
           (p->ref_n == 0 || (p->trust == RECORD_PROVISIONAL && f->record_trust == RECORD_VERIFIED));
}

static void renew_trust(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f)
{
    if (f->record_trust == RECORD_VERIFIED ||
        (p->trust == RECORD_PROVISIONAL && f->record_trust == RECORD_PROVISIONAL &&
         !str_eq(ledger_pod_proof(p), f->proof))) {
        ledger_trust_set(l, p, f->record_trust, f->proof);
        p->conflict = p->conflict == ledger_conflict_signature ? NULL : p->conflict;
    }
}

/* The pod is where we know it to be, and holds what a signed record gave it. Nothing that it asks for today changes
 * that; it is shown, where it still has the shape of the record. */
static void granted_reobserve(struct ledger *l, struct pod_entry *p, const struct ledger_pod_fact *f,
                              const struct demand *asked)
{
    bool same = ledger_record_is_granted(l, p, f->assignment);
    struct demand *before;

    note_record(p, same);
    if (p->trust == RECORD_PROVISIONAL && !demand_equal(p->latest, asked)) {
        struct demand *latest = demand_copy(asked); /* before it is freed: they may be the same */

        free(p->latest);
        p->latest = latest;
    }
    if (same) {
        renew_trust(l, p, f);
    }
    if (demand_equal(p->demand, f->demand) || !(same || stays_of_its_kind(p->demand, f->demand))) {
        return;
    }
    before = demand_copy(p->demand);
    if (same) {
        ledger_grant(l, p, f);
    } else {
        ledger_pod_set_demand(l, p, f->demand);
    }
    if (!demand_equal(before, p->demand)) {
        ledger_recompute(l, p->node);
    }
    free(before);
}

void ledger_pod_reobserve(struct ledger *l, uint32_t pod, const struct ledger_pod_fact *f, const struct demand *asked,
                          int64_t at_ms)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->record_parts != NULL && !is_superseded(p, f)) {
        granted_reobserve(l, p, f, asked);
    } else if (p->record_parts == NULL && begins_grant(l, p, f)) {
        begin_grant(l, p, f, asked, at_ms);
    } else if (is_superseded(p, f)) {
        ledger_pod_adopt(l, pod, f, asked, p->node, at_ms);
    } else {
        request_reobserve(l, pod, f, asked);
    }
}
