/* What audits ask of the store. */
#include "extender/store_internal.h"

#include <string.h>

#define AUDIT_SLICE 256 /* entries handed out in one section */

struct ledger *store_audit_scratch(struct store *s)
{
    return ledger_audit_scratch(s->ledger); /* limits never change */
}

enum ledger_drift store_drift(struct store *s, struct ledger *scratch, const struct ledger_op *op,
                              uint64_t *ret_touched)
{
    enum ledger_drift d;

    mutex_lock(&s->lock);
    d = ledger_drift(s->ledger, scratch, op, ret_touched);
    mutex_unlock(&s->lock);
    return d;
}

/* As ledger_repair() applies it. */
static void record_repair(struct store *s, const struct ledger_op *op, enum ledger_drift drift)
{
    const struct ledger_op gone = {.kind = LEDGER_POD_GONE, .name = op->pod.uid};
    struct store_line line = store_line_begin(s);

    if (drift == DRIFT_POD_UNBOUND) {
        store_line_op(&line, &gone);
        store_line_end_at(s, &line, op->at_ms, ledger_generation(s->ledger) - 1);
        strbuf_reset(&line.text);
    }
    store_line_op(&line, op);
    store_line_end(s, &line, op->at_ms);
    store_line_fini(&line);
}

int store_repair(struct store *s, struct ledger *scratch, struct ledger_op *op, uint64_t touched,
                 enum ledger_drift *ret, struct err *reterr)
{
    uint64_t now, capacity_before;
    int rc = 0;

    mutex_lock(&s->lock);
    store_stamp(s, op);
    capacity_before = ledger_capacity_generation(s->ledger);
    *ret = ledger_drift(s->ledger, scratch, op, &now);
    if (now != touched) {
        *ret = DRIFT_NONE;
    } else if (*ret != DRIFT_NONE) {
        rc = ledger_repair(s->ledger, op, *ret, reterr);
        record_repair(s, op, *ret);
    }
    store_unlock_and_tell(s, capacity_before);
    return rc;
}

bool store_audit_next(struct store *s, store_audit_next_fn *next, uint32_t *at, store_audit_fn *fn, void *ctx)
{
    bool more;

    mutex_lock(&s->lock);
    more = next(s->ledger, at, AUDIT_SLICE, fn, ctx);
    mutex_unlock(&s->lock);
    return more;
}

void store_excess_causes(struct store *s, uint64_t ret[EXCESS_CAUSE_N])
{
    uint32_t at = 0;
    bool more = true;

    memset(ret, 0, EXCESS_CAUSE_N * sizeof(*ret));
    while (more) {
        mutex_lock(&s->lock);
        more = ledger_excess_causes(s->ledger, &at, AUDIT_SLICE, ret);
        mutex_unlock(&s->lock);
    }
}
