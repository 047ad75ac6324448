#include "core/support/simulation.h"

#include "base/bug.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops ---- */

static void check(struct simulation *s)
{
    const char *why = ledger_check(s->l);

    if (why != NULL) {
        simulation_fail(s, why, STR_NULL);
    }
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        struct ledger_pod pod;

        if (s->pod[i].hold != HOLD_NONE) {
            struct str uid = arena_printf(&s->w.arena, "uid-%u", i);
            enum ledger_pod_state want = s->pod[i].hold == HOLD_RESERVED ? LEDGER_RESERVED : LEDGER_CONFIRMED;

            if (!ledger_find_pod(s->l, uid, &pod) || pod.state != want) {
                simulation_fail(s, "a reservation is gone though nothing ended it", uid);
            }
        }
    }
    if (s->after != NULL) {
        s->after(s);
    }
}

static void forget(struct simulation *s, struct simulation_pod *p)
{
    first_grants_end(&s->grants, (unsigned)(p - s->pod));
    p->hold = HOLD_NONE;
    p->attached = false;
}

/* What the fact means for the things the ledger must hold. */
static void follow(struct simulation *s, const struct simulation_fact *f)
{
    struct simulation_pod *p = f->pod == NULL ? NULL : &s->pod[f->pod->number];

    if (f->kind == LEDGER_POD_OBSERVED) {
        p->late = p->late || (s->listed && f->pod->editable && f->pod->node_name.n > 0 && f->pod->record == NULL &&
                              p->seen_demand != f->pod->demand);
        p->seen_demand = f->pod->demand;
    }
    s->listed = s->listed || f->kind == LEDGER_PODS_END;
    if (f->kind == LEDGER_POD_OBSERVED && f->pod->node_name.n > 0) {
        if (!p->accepted) { /* somebody else bound it */
            first_grants_end(&s->grants, f->pod->number);
        }
        if (!p->attached) {
            p->attached_at = s->journal_n;
        }
        p->hold = HOLD_NONE;
        p->attached = true;
        p->seen_bracket = s->pods.brackets;
    } else if (f->kind == LEDGER_POD_OBSERVED) {
        p->seen_bracket = s->pods.brackets;
    } else if (f->kind == LEDGER_POD_GONE) {
        forget(s, p);
    } else if (f->kind == LEDGER_NODE_DESCRIBED) {
        first_grants_describe(&s->grants, f->node->name, &f->node->inventory);
    } else if (f->kind == LEDGER_PODS_END) {
        for (unsigned i = 0; i < s->w.pod_n; i++) {
            if (s->pod[i].seen_bracket == s->pods.brackets) {
                continue;
            }
            /* Not in the list, so it is gone; a Binding on its way is still waited for. */
            if (s->pod[i].hold == HOLD_RESERVED) {
                s->pod[i].missed = true;
            } else {
                forget(s, &s->pod[i]);
            }
        }
    }
}

static void tell(struct simulation *s, struct simulation_fact f)
{
    struct ledger_op op = simulation_op(&f);

    BUG_ON(s->journal_n == SIMULATION_OPS_MAX);
    s->journal[s->journal_n++] = f;
    if (ledger_apply(s->l, &op, NULL) != 0) {
        simulation_fail(s, "an observation was refused", STR_NULL);
    }
    follow(s, &f);
    check(s);
}

static void tell_event(struct simulation *s, const struct cluster_model_event *e)
{
    struct simulation_fact f = {.pod = e->pod, .node = e->node};

    if (e->pod != NULL) {
        f.kind = e->gone ? LEDGER_POD_GONE : LEDGER_POD_OBSERVED;
    } else {
        f.kind = e->gone ? LEDGER_NODE_GONE : LEDGER_NODE_DESCRIBED;
    }
    tell(s, f);
}

static int name_op(struct simulation *s, enum ledger_op_kind kind, unsigned pod)
{
    struct ledger_op op = {.kind = kind, .at_ms = 2, .name = arena_printf(&s->w.arena, "uid-%u", pod)};

    return ledger_apply(s->l, &op, NULL);
}

/* ---- watches and lists ---- */

static struct cluster_model_stream *stream_of(struct simulation *s, const struct simulation_feed *f)
{
    return f->pods ? &s->w.pod_stream : &s->w.node_stream;
}

static void feed_deliver(struct simulation *s, struct simulation_feed *f, size_t max)
{
    struct cluster_model_stream *stream = stream_of(s, f);

    for (size_t i = 0; i < max && f->cursor < stream->n; i++) {
        tell_event(s, &stream->events[f->cursor++]);
    }
}

static void feed_begin(struct simulation *s, struct simulation_feed *f)
{
    f->phase = FEED_BEGUN;
    f->brackets++;
    tell(s, (struct simulation_fact){.kind = f->pods ? LEDGER_PODS_BEGIN : LEDGER_NODES_BEGIN});
}

static void feed_snapshot(struct simulation *s, struct simulation_feed *f)
{
    f->phase = FEED_LISTING;
    f->item_n = 0;
    f->item_at = 0;
    f->snapshot = stream_of(s, f)->n;
    for (unsigned i = 0; i < (f->pods ? s->w.pod_n : CLUSTER_MODEL_NODES); i++) {
        struct cluster_model_event e = {.pod = f->pods ? s->w.pods[i] : NULL, .node = f->pods ? NULL : s->w.nodes[i]};

        if (e.pod != NULL || e.node != NULL) {
            f->items[f->item_n++] = e;
        }
    }
}

static void feed_items(struct simulation *s, struct simulation_feed *f, size_t max)
{
    for (size_t i = 0; i < max && f->item_at < f->item_n; i++) {
        tell_event(s, &f->items[f->item_at++]);
    }
    if (f->item_at == f->item_n) {
        f->phase = FEED_WATCHING;
        f->cursor = f->snapshot;
        f->floor = f->snapshot;
        tell(s, (struct simulation_fact){.kind = f->pods ? LEDGER_PODS_END : LEDGER_NODES_END});
    }
}

static void feed_step(struct simulation *s, struct simulation_feed *f)
{
    struct cluster_model *w = &s->w;
    unsigned how = cluster_model_below(w, 100);

    if (f->phase == FEED_BEGUN) {
        feed_snapshot(s, f);
    } else if (f->phase == FEED_LISTING && how < 5) {
        feed_begin(s, f); /* the list broke off: again from the start */
    } else if (f->phase == FEED_LISTING) {
        feed_items(s, f, 1 + cluster_model_below(w, 8));
    } else if (how < 5) {
        feed_begin(s, f);
    } else if (how < 15 && f->cursor > f->floor) {
        tell_event(s, &stream_of(s, f)->events[f->cursor - 1]);
    } else if (how < 20) {
        size_t back = 1 + cluster_model_below(w, 6);

        f->cursor = f->cursor - f->floor > back ? f->cursor - back : f->floor;
    } else {
        feed_deliver(s, f, 1 + cluster_model_below(w, 6));
    }
}

/* ---- Bindings ---- */

static bool may_reserve(const struct simulation *s, unsigned i)
{
    struct ledger_pod pod;
    char uid[24];

    snprintf(uid, sizeof(uid), "uid-%u", i);
    return !s->pod[i].flying && ledger_find_pod(s->l, str_of(uid), &pod) && pod.state == LEDGER_PENDING &&
           pod.demand->defect == DEMAND_OK;
}

static void reserve(struct simulation *s, unsigned i)
{
    struct simulation_pod *p = &s->pod[i];
    struct placement at;
    struct assignment as = {0};
    struct ledger_pod pod;
    const char *wrong;
    struct ledger_op op = {
        .kind = LEDGER_RESERVE,
        .at_ms = 3,
        .reserve = {.uid = arena_printf(&s->w.arena, "uid-%u", i),
                    .node_name = arena_printf(&s->w.arena, "n%u", cluster_model_below(&s->w, CLUSTER_MODEL_NODES)),
                    .decision_id = arena_printf(&s->w.arena, "ours-%u-%u", i, s->step),
                    .placement = &at}};

    if (ledger_place_pod(s->l, op.reserve.node_name, op.reserve.uid,
                         &(struct pack_params){.node_strategy = strategy_find(STR("tight-fit")),
                                               .device_strategy = strategy_find(STR("tight-fit"))},
                         &at) != VERDICT_FITS) {
        return;
    }
    if (ledger_apply(s->l, &op, NULL) != 0) {
        simulation_fail(s, "a placement that was just found is refused", op.reserve.uid);
    }
    if (!ledger_find_pod(s->l, op.reserve.uid, &pod)) {
        simulation_fail(s, "a pod just reserved is unknown", op.reserve.uid);
    }
    as.id = op.reserve.decision_id;
    if (pod.demand->plugin_managed_n == 0 && ledger_assignment(s->l, op.reserve.uid, &s->w.arena, &as, NULL) != 0) {
        simulation_fail(s, "a reservation without an assignment", op.reserve.uid);
    }
    *p = (struct simulation_pod){.hold = HOLD_RESERVED,
                                 .seen_bracket = p->seen_bracket,
                                 .was_reserved = true,
                                 .attached = true,
                                 .attached_at = s->journal_n,
                                 .flying = true,
                                 .node = op.reserve.node_name,
                                 .record = cluster_model_record_copy(&s->w, &as),
                                 .demand = demand_copy(pod.demand)};
    s->reserved_n++;
    wrong = first_grants_give(&s->grants, i, op.reserve.node_name, pod.demand, &as);
    if (wrong != NULL) {
        simulation_fail(s, wrong, op.reserve.node_name);
    }
    check(s);
}

/* The API server accepts or refuses. */
static void send(struct simulation *s, unsigned i)
{
    struct simulation_pod *p = &s->pod[i];

    p->sent = true;
    p->lost = cluster_model_chance(&s->w, 20);
    p->accepted = !cluster_model_chance(&s->w, 15) && cluster_model_bind(&s->w, i, p->node, p->record, p->demand);
    s->bound_n += p->accepted;
}

/* Its reply arrives; or, after a lost one, that of a GET, which knows whether the pod is still there. */
static void land(struct simulation *s, unsigned i)
{
    struct simulation_pod *p = &s->pod[i];
    bool bound = p->accepted && !(p->lost && s->w.pods[i] == NULL);

    p->flying = false;
    if (!bound || p->missed) {
        first_grants_end(&s->grants, i);
    }
    free(p->demand);
    p->demand = NULL;
    (void)name_op(s, bound ? LEDGER_CONFIRM : LEDGER_RELEASE, i); /* the pod may be gone */
    if (p->hold == HOLD_RESERVED) {
        p->hold = bound && !p->missed ? HOLD_CONFIRMED : HOLD_NONE;
        p->attached = bound;
    }
    if (p->missed && ledger_find_pod(s->l, arena_printf(&s->w.arena, "uid-%u", i), &(struct ledger_pod){0})) {
        simulation_fail(s, "a pod that is gone is kept after its Binding was decided", p->node);
    }
    check(s);
}

static void binding_step(struct simulation *s)
{
    unsigned first = s->w.pod_n == 0 ? 0 : cluster_model_below(&s->w, s->w.pod_n);

    for (unsigned k = 0; k < s->w.pod_n; k++) {
        unsigned i = (first + k) % s->w.pod_n;

        if (s->pod[i].flying && s->pod[i].sent) {
            if (!s->pod[i].lost || cluster_model_chance(&s->w, 20)) {
                land(s, i);
            }
            return;
        }
        if (s->pod[i].flying) {
            send(s, i);
            return;
        }
        if (may_reserve(s, i)) {
            reserve(s, i);
            return;
        }
    }
}

/* ---- life ---- */

struct simulation *simulation_new(uint64_t seed)
{
    struct simulation *s = xcalloc(1, sizeof(*s));

    s->seed = seed;
    s->action = "start";
    cluster_model_init(&s->w, seed);
    s->factors = cluster_model_chance(&s->w, 70) ? (struct cluster_model_factors){1000, 1000}
                                                 : (struct cluster_model_factors){1500, 1200};
    s->limits = (struct ledger_limits){
        .hash_key = {seed, 7}, .overcommit_milli = s->factors.milli, .overcommit_mem_milli = s->factors.mem_milli};
    s->l = ledger_new(&s->limits);
    first_grants_init(&s->grants, s->factors.milli, s->factors.mem_milli);
    s->pods.pods = true;
    feed_begin(s, &s->nodes);
    feed_begin(s, &s->pods);
    return s;
}

void simulation_free(struct simulation *s)
{
    for (unsigned i = 0; i < CLUSTER_MODEL_PODS_MAX; i++) {
        free(s->pod[i].demand);
    }
    ledger_free(s->l);
    cluster_model_fini(&s->w);
    free(s);
}

void simulation_step(struct simulation *s)
{
    static const struct {
        const char *name;
        unsigned percent;
        bool (*change)(struct cluster_model *w);
    } changes[] = {
        {"create a pod", 14, cluster_model_create_pod},          {"edit a request", 3, cluster_model_edit_request},
        {"edit a record", 2, cluster_model_edit_record},         {"resize a pod", 2, cluster_model_resize},
        {"delete a pod", 6, cluster_model_delete_pod},           {"finish a pod", 3, cluster_model_finish_pod},
        {"bind behind our back", 4, cluster_model_foreign_bind}, {"an agent reports", 2, cluster_model_agent_reports},
        {"change a node", 6, cluster_model_change_node},
    };
    unsigned how = cluster_model_below(&s->w, 100);

    s->step++;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (how < changes[i].percent) {
            s->action = changes[i].name;
            (void)changes[i].change(&s->w);
            return;
        }
        how -= changes[i].percent;
    }
    if (how < 26) {
        s->action = "pods";
        feed_step(s, &s->pods);
    } else if (how < 34) {
        s->action = "nodes";
        feed_step(s, &s->nodes);
    } else {
        s->action = "bind";
        binding_step(s);
    }
}

static void feed_finish_list(struct simulation *s, struct simulation_feed *f)
{
    if (f->phase == FEED_BEGUN) {
        feed_snapshot(s, f);
    }
    if (f->phase == FEED_LISTING) {
        feed_items(s, f, SIZE_MAX);
    }
}

static void feed_settle(struct simulation *s, struct simulation_feed *f, bool relist)
{
    feed_finish_list(s, f);
    if (relist) {
        feed_begin(s, f);
        feed_finish_list(s, f);
    }
    feed_deliver(s, f, SIZE_MAX);
}

void simulation_settle(struct simulation *s, bool relist)
{
    s->action = "settle";
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        if (s->pod[i].flying && !s->pod[i].sent) {
            send(s, i);
        }
        if (s->pod[i].flying) {
            land(s, i);
        }
    }
    feed_settle(s, &s->nodes, relist);
    feed_settle(s, &s->pods, relist);
}
