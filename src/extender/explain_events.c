#include "extender/explain_events.h"

#include "extender/explain.h"
#include "extender/notices.h"

#define ARENA_BYTES_MAX ((size_t)256 << 20)

static bool tell(const struct placement_context *c, struct arena *a, struct events *events,
                 const struct waiting_refused *due)
{
    const struct event_object pod = {EVENT_OBJECT_POD, due->namespace_, due->name, due->uid};
    char why[EXPLAIN_SENTENCE_MAX];
    struct explanation e;
    bool is_news;

    if (explain_pod(c, a, due->namespace_, due->name, 1, &e, NULL) != 0) {
        return false; /* not ready, or no memory: later */
    }
    is_news = e.kind == EXPLAIN_WAITING && e.open_fit_n == 0 && str_eq(e.pod.pod.uid, due->uid) &&
              explain_kinds(&e) != due->told;
    if (is_news) {
        waiting_told(store_waiting(c->store), due->uid, explain_kinds(&e));
        if (events != NULL) {
            notice_pod_waits(events, &pod, explain_tenant_sentence(&e, why, sizeof(why)));
        }
    }
    explain_end(&e);
    return is_news;
}

bool explain_events_tick(const struct placement_context *c, struct events *events, int64_t after_ms, int64_t now_ms)
{
    struct waiting_refused due;
    struct arena a;
    bool told;

    if (after_ms == 0) {
        return false;
    }
    arena_init(&a, ARENA_BYTES_MAX);
    told = waiting_take_refused(store_waiting(c->store), &a, now_ms, after_ms, 2 * after_ms, &due) &&
           tell(c, &a, events, &due);
    arena_fini(&a);
    return told;
}
