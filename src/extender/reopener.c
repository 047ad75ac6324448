#include "extender/reopener.h"

static void report_turned_away(struct reopener *r, const struct store_turned_away *t, int64_t now_ns)
{
    if (t->total_n == r->told_n || now_ns < r->tell_at_ns) {
        return;
    }
    LOG_WARNING(
        r->log,
        "Pods that use GPUs find no room in fgpu. They are not counted, and nodes that they may be on take no new "
        "pods with GPUs until a list of all pods shows otherwise. Delete pods whose spec.nodeName is not a node of "
        "the cluster, and let only schedulers and controllers set it",
        LOG_I64("turnedAway", (int64_t)(t->total_n - r->told_n)), LOG_I64("pods", (int64_t)t->pod_n),
        LOG_I64("closedNodes", (int64_t)t->node_n), LOG_CSTR("last", t->last));
    r->told_n = t->total_n;
    r->tell_at_ns = now_ns + REOPENER_TELL_MS * NS_PER_MS;
}

void reopener_tick(struct reopener *r)
{
    int64_t now_ns = clock_mono_ns(r->clock);
    int64_t pause_ms = r->pause_ms > 0 ? r->pause_ms : REOPENER_PAUSE_MIN_MS;
    struct store_turned_away t;

    store_turned_away(r->store, &t);
    report_turned_away(r, &t, now_ns);
    if (t.node_n == 0) {
        r->pause_ms = 0;
    } else if (now_ns >= r->relist_at_ns && r->relist(r->ctx)) {
        r->relist_at_ns = now_ns + pause_ms * NS_PER_MS;
        r->pause_ms = pause_ms < REOPENER_PAUSE_MAX_MS / 2 ? pause_ms * 2 : REOPENER_PAUSE_MAX_MS;
    }
}
