/* Random clusters whose watches lose events: an audit finds the objects that the ledger has wrong,
 * all of them and no others, and after its repairs the ledger is that of a twin that lost nothing.
 */
#include "core/ledger_audit.h"
#include "core/snapshot.h"
#include "core/support/simulation.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 400 /* from 1, or from the environment variable FGPU_TEST_SEED */
#define STEPS 200
#define BURST 30

struct audit {
    struct simulation *s;
    struct ledger *scratch;
    bool repair;
    unsigned found[DRIFT__MAX];
    unsigned total;
    char uids[WORLD_PODS_MAX + WORLD_NODES][16];
};

static void look(struct audit *a, const struct ledger_op *op, struct str id)
{
    uint64_t touched;
    enum ledger_drift d = ledger_drift(a->s->l, a->scratch, op, &touched);

    if (d == DRIFT_NONE) {
        return;
    }
    a->found[d]++;
    snprintf(a->uids[a->total++], sizeof(a->uids[0]), "%.*s", STR_ARG(id));
    if (a->repair && ledger_repair(a->s->l, op, d, NULL) != 0) {
        simulation_fail(a->s, "a repair is refused", id);
    }
    if (ledger_check(a->s->l) != NULL || ledger_check(a->scratch) != NULL) {
        simulation_fail(a->s, "an invariant is broken by a look or a repair", id);
    }
}

struct ids {
    char text[WORLD_PODS_MAX][16];
    unsigned n;
};

static void keep(void *ctx, const struct ledger_audit_entry *e)
{
    struct ids *ids = ctx;

    snprintf(ids->text[ids->n++], sizeof(ids->text[0]), "%.*s", STR_ARG(e->id));
}

/* As the auditor does: everything that exists, then everything that only the ledger has. */
static void audit(struct audit *a)
{
    struct simulation *s = a->s;
    struct ids nodes = {.n = 0}, pods = {.n = 0};
    uint32_t at = 0;

    for (unsigned i = 0; i < WORLD_NODES; i++) {
        if (s->w.nodes[i] != NULL) {
            struct simulation_fact f = {.kind = LEDGER_NODE_DESCRIBED, .node = s->w.nodes[i]};
            struct ledger_op op = simulation_op(&f);

            look(a, &op, op.node.name);
        }
    }
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        if (s->w.pods[i] != NULL) {
            struct simulation_fact f = {.kind = LEDGER_POD_OBSERVED, .pod = s->w.pods[i]};
            struct ledger_op op = simulation_op(&f);

            look(a, &op, op.pod.uid);
        }
    }
    (void)ledger_audit_nodes(s->l, &at, UINT32_MAX, keep, &nodes);
    for (unsigned i = 0; i < nodes.n; i++) {
        struct ledger_op op = {.kind = LEDGER_NODE_GONE, .name = str_of(nodes.text[i])};

        if (world_node_of(&s->w, op.name) == NULL) {
            look(a, &op, op.name);
        }
    }
    at = 0;
    (void)ledger_audit_pods(s->l, &at, UINT32_MAX, keep, &pods);
    for (unsigned i = 0; i < pods.n; i++) {
        struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = str_of(pods.text[i])};
        unsigned number = (unsigned)strtoul(pods.text[i] + strlen("uid-"), NULL, 10);

        if (s->w.pods[number] == NULL) {
            look(a, &op, op.name);
        }
    }
}

static void finds_nothing(struct simulation *s, const char *why)
{
    struct audit a = {.s = s, .scratch = ledger_audit_scratch(s->l)};

    audit(&a);
    for (size_t i = 0; i < DRIFT__MAX; i++) {
        if (a.found[i] > 0) {
            s->action = ledger_drift_name((enum ledger_drift)i);
        }
    }
    if (a.total > 0) {
        simulation_fail(s, why, str_of(a.uids[0]));
    }
    ledger_free(a.scratch);
}

/* ---- losing events ---- */

static struct str id_of(const struct world_event *e)
{
    return e->pod != NULL ? e->pod->uid : e->node->name;
}

static bool same_object(const struct world_event *a, const struct world_event *b)
{
    return str_eq(id_of(a), id_of(b));
}

/* Tells the ledger the events of a stream from the cursor on. `lost`: those marked are not told. */
static void deliver(struct simulation *s, struct simulation_feed *f,
                    const struct world_stream *stream, const bool *lost)
{
    for (; f->cursor < stream->n; f->cursor++) {
        const struct world_event *e = &stream->events[f->cursor];
        struct simulation_fact fact = {.pod = e->pod, .node = e->node};
        struct ledger_op op;

        if (lost != NULL && lost[f->cursor]) {
            continue;
        }
        fact.kind = e->pod != NULL ? (e->gone ? LEDGER_POD_GONE : LEDGER_POD_OBSERVED)
                                   : (e->gone ? LEDGER_NODE_GONE : LEDGER_NODE_DESCRIBED);
        op = simulation_op(&fact);
        if (ledger_apply(s->l, &op, NULL) != 0) {
            simulation_fail(s, "an observation was refused", id_of(e));
        }
    }
}

static void burst(struct simulation *s)
{
    static bool (*const changes[])(struct world *) = {
        world_create_pod, world_edit_request, world_edit_record,   world_delete_pod,
        world_finish_pod, world_foreign_bind, world_agent_reports, world_change_node};

    for (unsigned i = 0; i < BURST; i++) {
        (void)changes[world_below(&s->w, sizeof(changes) / sizeof(changes[0]))](&s->w);
    }
}

/* An object that changed twice has a history that a list cannot tell: only last versions are lost,
 * and of objects that changed once. */
static unsigned choose_losses(struct simulation *s, const struct world_stream *stream, size_t from,
                              bool *lost)
{
    unsigned n = 0;

    for (size_t i = from; i < stream->n; i++) {
        bool once = true;

        for (size_t j = from; j < stream->n; j++) {
            once = once && (i == j || !same_object(&stream->events[i], &stream->events[j]));
        }
        lost[i] = once && world_chance(&s->w, 50);
        n += lost[i];
    }
    return n;
}

static const struct snapshot_pod *pod_in(const struct snapshot *snap, struct str uid)
{
    for (size_t i = 0; i < snap->pod_n; i++) {
        if (str_eq(snap->pods[i].uid, uid)) {
            return &snap->pods[i];
        }
    }
    return NULL;
}

/* Did the ledger learn of a change of this node only by the audit? */
static bool node_was_lost(const struct simulation *s, struct str name, size_t from,
                          const bool *lost)
{
    for (size_t i = from; i < s->w.node_stream.n; i++) {
        if (lost[i] && str_eq(id_of(&s->w.node_stream.events[i]), name)) {
            return true;
        }
    }
    return false;
}

/* Pods of the one as of the other; devices too, where no request is in annotations (those keep the
 * largest charge that was ever seen) and node and pods were seen in the same order: a device that
 * leaves the inventory before, or after, the pod that names it is there no more, or lost. */
static void same_state(struct simulation *s, const struct ledger *got, const struct ledger *want,
                       bool numbers, size_t nodes_from, const bool *lost_nodes)
{
    struct snapshot x, y;
    struct arena a;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(got, &a, STR_NULL, STR_NULL, &x, NULL), 0);
    assert_int_equal(snapshot_take(want, &a, STR_NULL, STR_NULL, &y, NULL), 0);
    if (x.pod_n != y.pod_n || x.node_n != y.node_n) {
        simulation_fail(s, "another number of pods or nodes", STR_NULL);
    }
    for (size_t i = 0; i < x.pod_n; i++) {
        const struct snapshot_pod *p = &x.pods[i], *q = pod_in(&y, p->uid);

        if (q == NULL || p->state != q->state || !str_eq(p->node_name, q->node_name) ||
            p->deleting != q->deleting || p->conflict != q->conflict || p->defect != q->defect ||
            !str_eq(p->decision_id, q->decision_id)) {
            simulation_fail(s, "another pod", p->uid);
        }
    }
    for (size_t i = 0; i < x.node_n; i++) {
        const struct snapshot_node *n = &x.nodes[i], *m = &y.nodes[i];

        if (!str_eq(n->name, m->name) || n->described != m->described ||
            n->unsteered_used != m->unsteered_used) {
            simulation_fail(s, "another node", n->name);
        }
        if (!numbers || node_was_lost(s, n->name, nodes_from, lost_nodes)) {
            continue;
        }
        if (n->device_n != m->device_n) {
            simulation_fail(s, "another number of devices", n->name);
        }
        for (size_t j = 0; j < n->device_n; j++) {
            const struct snapshot_device *d = &n->devices[j], *e = &m->devices[j];

            if (!str_eq(d->uuid, e->uuid) || d->lost != e->lost ||
                d->milli_charged != e->milli_charged || d->mem_charged_mib != e->mem_charged_mib ||
                d->slot_charged != e->slot_charged) {
                simulation_fail(s, "another charge", n->name);
            }
        }
    }
    arena_fini(&a);
}

static bool is_among(const struct audit *a, struct str id)
{
    for (unsigned i = 0; i < a->total; i++) {
        if (str_eq(str_of(a->uids[i]), id)) {
            return true;
        }
    }
    return false;
}

/* Each finding is of an object whose event was lost. */
static void blames_only_losses(const struct audit *a, size_t pods_from, const bool *lost_pods,
                               size_t nodes_from, const bool *lost_nodes)
{
    for (unsigned i = 0; i < a->total; i++) {
        bool lost = false;

        for (size_t j = pods_from; j < a->s->w.pod_stream.n; j++) {
            lost = lost ||
                   (lost_pods[j] && str_eq_cstr(id_of(&a->s->w.pod_stream.events[j]), a->uids[i]));
        }
        for (size_t j = nodes_from; j < a->s->w.node_stream.n; j++) {
            lost = lost || (lost_nodes[j] &&
                            str_eq_cstr(id_of(&a->s->w.node_stream.events[j]), a->uids[i]));
        }
        if (!lost) {
            simulation_fail(a->s, "drift where nothing was lost", str_of(a->uids[i]));
        }
    }
}

/* A pod that was created, or went, is always seen to be missing. */
static void blames_lost_lives(const struct audit *a, const struct ledger *twin, size_t from,
                              const bool *lost)
{
    for (size_t j = from; j < a->s->w.pod_stream.n; j++) {
        const struct world_event *e = &a->s->w.pod_stream.events[j];
        struct ledger_pod p;

        if (lost[j] && !e->gone && !is_among(a, e->pod->uid) &&
            ledger_find_pod(twin, e->pod->uid, &p) && p.node_name.n > 0 &&
            (!ledger_find_pod(a->s->l, e->pod->uid, &p) || p.node_name.n == 0)) {
            simulation_fail(a->s, "a lost binding was not found", e->pod->uid);
        }
    }
}

static void one_life(uint64_t seed, bool editable, unsigned found[DRIFT__MAX])
{
    static bool lost_pods[WORLD_EVENTS_MAX], lost_nodes[WORLD_EVENTS_MAX];
    struct simulation *s = simulation_new(seed), *twin = simulation_new(seed);
    struct audit a = {.s = s, .repair = true};
    size_t pods_from, nodes_from;

    s->w.editable_percent = twin->w.editable_percent = editable ? 50 : 0;
    for (unsigned i = 0; i < STEPS; i++) {
        simulation_step(s);
        simulation_step(twin);
    }
    simulation_settle(s, true);
    simulation_settle(twin, true);
    finds_nothing(s, "drift in a ledger that heard everything");
    burst(s);
    burst(twin);
    pods_from = s->pods.cursor;
    nodes_from = s->nodes.cursor;
    memset(lost_pods, 0, sizeof(lost_pods));
    memset(lost_nodes, 0, sizeof(lost_nodes));
    (void)choose_losses(s, &s->w.pod_stream, pods_from, lost_pods);
    (void)choose_losses(s, &s->w.node_stream, nodes_from, lost_nodes);
    s->action = "losing events";
    deliver(twin, &twin->nodes, &twin->w.node_stream, NULL);
    deliver(twin, &twin->pods, &twin->w.pod_stream, NULL);
    deliver(s, &s->nodes, &s->w.node_stream, lost_nodes);
    deliver(s, &s->pods, &s->w.pod_stream, lost_pods);
    finds_nothing(twin, "drift in a twin that heard everything");
    a.scratch = ledger_audit_scratch(s->l);
    audit(&a);
    blames_only_losses(&a, pods_from, lost_pods, nodes_from, lost_nodes);
    blames_lost_lives(&a, twin->l, pods_from, lost_pods);
    finds_nothing(s, "drift after the repair");
    same_state(s, s->l, twin->l, !editable, nodes_from, lost_nodes);
    for (size_t i = 0; i < DRIFT__MAX; i++) {
        found[i] += a.found[i];
    }
    ledger_free(a.scratch);
    simulation_free(s);
    simulation_free(twin);
}

static void random__lost_events__found_repaired_and_nothing_else(void **state)
{
    const char *from = getenv("FGPU_TEST_SEED");
    uint64_t first = from == NULL ? 1 : strtoull(from, NULL, 10);
    unsigned found[DRIFT__MAX] = {0};

    (void)state;
    for (uint64_t seed = first; seed < first + SEEDS; seed++) {
        one_life(seed, seed % 2 == 0, found);
    }
    for (size_t i = DRIFT_NONE + 1; i < DRIFT__MAX; i++) {
        /* nothing in this world finishes apart from going, moves, or comes undone */
        bool possible = i != DRIFT_POD_FINISHED && i != DRIFT_POD_NODE && i != DRIFT_POD_UNBOUND;

        if ((found[i] > 0) != possible) {
            fail_msg("%s: %u", ledger_drift_name((enum ledger_drift)i), found[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__lost_events__found_repaired_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
