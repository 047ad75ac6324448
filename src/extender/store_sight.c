/* What planning ahead asks of the store. */
#include "core/plan/head.h"
#include "extender/store_internal.h"

static bool look_ahead(struct store *s, const struct store_sight *q)
{
    bool done = true;

    for (size_t i = 0; i < q->strategy_n && done; i++) {
        done = forecast_follow(q->forecast, ledger_cluster_view(s->ledger), q->strategies[i]);
    }
    return done;
}

void store_see(struct store *s, const struct store_sight *q)
{
    bool done, grow;

    do {
        mutex_lock(&s->lock);
        done = look_ahead(s, q);
        grow = done && !mirror_follow(q->mirror, s->ledger);
        done = done && !grow;
        if (done) {
            plan_sight_take(q->sight, s->ledger, q->held, q->held_n);
        }
        mutex_unlock(&s->lock);
        if (grow) {
            mirror_grow(q->mirror);
        }
    } while (!done);
}
