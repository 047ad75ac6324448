/* Random clusters whose watches lose events: an audit finds the objects that the ledger has wrong,
 * all of them and no others, and after its repairs the ledger is that of twins that lost nothing.
 */
#include "core/ledger/audit.h"
#include "core/ledger/snapshot.h"
#include "core/support/ledger_fixture.h"
#include "core/support/simulation.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 600 /* others: support/seeds.h */
#define STEPS 200
#define BURST 30

struct audit {
    struct simulation *s;
    struct ledger *scratch;
    bool repair;
    unsigned found[DRIFT__MAX];
    unsigned total;
    char uids[CLUSTER_MODEL_PODS_MAX + CLUSTER_MODEL_NODES][16];
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
    char text[CLUSTER_MODEL_PODS_MAX][16];
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

    for (unsigned i = 0; i < CLUSTER_MODEL_NODES; i++) {
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

        if (cluster_model_node_of(&s->w, op.name) == NULL) {
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

/* Which events of the two streams, from the end of the common life on, are not told. */
struct losses {
    size_t pods_from, nodes_from;
    bool pods[CLUSTER_MODEL_EVENTS_MAX], nodes[CLUSTER_MODEL_EVENTS_MAX];
};

static struct str id_of(const struct cluster_model_event *e)
{
    return e->pod != NULL ? e->pod->uid : e->node->name;
}

static bool same_object(const struct cluster_model_event *a, const struct cluster_model_event *b)
{
    return str_eq(id_of(a), id_of(b));
}

static void tell_event(struct simulation *s, const struct cluster_model_event *e)
{
    struct simulation_fact fact = {.pod = e->pod, .node = e->node};
    struct ledger_op op;

    fact.kind = e->pod != NULL ? (e->gone ? LEDGER_POD_GONE : LEDGER_POD_OBSERVED)
                               : (e->gone ? LEDGER_NODE_GONE : LEDGER_NODE_DESCRIBED);
    op = simulation_op(&fact);
    if (ledger_apply(s->l, &op, NULL) != 0) {
        simulation_fail(s, "an observation was refused", id_of(e));
    }
}

/* Tells the ledger the events of a stream from the cursor on. `lost`: those marked are not told. */
static void deliver(struct simulation *s, struct simulation_feed *f, const struct cluster_model_stream *stream,
                    const bool *lost)
{
    for (; f->cursor < stream->n; f->cursor++) {
        if (lost == NULL || !lost[f->cursor]) {
            tell_event(s, &stream->events[f->cursor]);
        }
    }
}

static void deliver_late(struct simulation *s, const struct cluster_model_stream *stream, size_t from, const bool *lost,
                         bool gone)
{
    for (size_t i = from; i < stream->n; i++) {
        if (lost[i] && stream->events[i].gone == gone) {
            tell_event(s, &stream->events[i]);
        }
    }
}

static void burst(struct simulation *s)
{
    static bool (*const changes[])(struct cluster_model *) = {
        cluster_model_create_pod, cluster_model_edit_request, cluster_model_edit_record,   cluster_model_delete_pod,
        cluster_model_finish_pod, cluster_model_foreign_bind, cluster_model_agent_reports, cluster_model_change_node};

    for (unsigned i = 0; i < BURST; i++) {
        (void)changes[cluster_model_below(&s->w, sizeof(changes) / sizeof(changes[0]))](&s->w);
    }
}

/* An object that changed twice has a history that a list cannot tell: only last versions are lost,
 * and of objects that changed once. */
static void choose_losses(struct simulation *s, const struct cluster_model_stream *stream, size_t from, bool *lost)
{
    for (size_t i = from; i < stream->n; i++) {
        bool once = true;

        for (size_t j = from; j < stream->n; j++) {
            once = once && (i == j || !same_object(&stream->events[i], &stream->events[j]));
        }
        lost[i] = once && cluster_model_chance(&s->w, 50);
    }
}

/* ---- ledgers compared ---- */

/* Whose numbers of devices must be equal? */
enum numbers { OF_NO_NODE, OF_NODES_WITHOUT_LOST_DEVICES, OF_ALL_NODES };

static void same_pods(struct simulation *s, const struct snapshot *x, const struct snapshot *y)
{
    if (x->pod_n != y->pod_n) {
        simulation_fail(s, "another number of pods", STR_NULL);
    }
    for (size_t i = 0; i < x->pod_n; i++) {
        const struct snapshot_pod *p = &x->pods[i], *q = fixture_pod_in(y, p->uid);

        if (q == NULL || p->state != q->state || !str_eq(p->node_name, q->node_name) || p->deleting != q->deleting ||
            p->conflict != q->conflict || p->defect != q->defect || !str_eq(p->decision_id, q->decision_id)) {
            simulation_fail(s, "another pod", p->uid);
        }
    }
}

static bool has_lost_device(const struct snapshot_node *n)
{
    bool has = false;

    for (size_t i = 0; i < n->device_n; i++) {
        has = has || n->devices[i].lost;
    }
    return has;
}

static void same_devices(struct simulation *s, const struct snapshot_node *n, const struct snapshot_node *m)
{
    if (n->device_n != m->device_n) {
        simulation_fail(s, "another number of devices", n->name);
    }
    for (size_t i = 0; i < n->device_n; i++) {
        const struct snapshot_device *d = &n->devices[i], *e = &m->devices[i];

        if (!str_eq(d->uuid, e->uuid) || d->lost != e->lost || d->healthy != e->healthy ||
            d->milli_cap != e->milli_cap || d->mem_cap_mib != e->mem_cap_mib || d->slot_cap != e->slot_cap) {
            simulation_fail(s, "another device", n->name);
        }
        if (d->milli_charged != e->milli_charged || d->mem_charged_mib != e->mem_charged_mib ||
            d->slot_charged != e->slot_charged || d->exclusive != e->exclusive) {
            simulation_fail(s, "another charge", n->name);
        }
    }
}

static void same_nodes(struct simulation *s, const struct snapshot *x, const struct snapshot *y, enum numbers numbers)
{
    if (x->node_n != y->node_n) {
        simulation_fail(s, "another number of nodes", STR_NULL);
    }
    for (size_t i = 0; i < x->node_n; i++) {
        const struct snapshot_node *n = &x->nodes[i], *m = &y->nodes[i];
        bool loses = has_lost_device(n) || has_lost_device(m);

        if (!str_eq(n->name, m->name) || n->described != m->described || n->schedulable != m->schedulable ||
            n->plugin_managed_used != m->plugin_managed_used) {
            simulation_fail(s, "another node", n->name);
        }
        if (numbers == OF_ALL_NODES || (numbers == OF_NODES_WITHOUT_LOST_DEVICES && !loses)) {
            same_devices(s, n, m);
        }
    }
}

static void same_state(struct simulation *s, const struct ledger *got, const struct ledger *want, enum numbers numbers)
{
    struct snapshot x, y;
    struct arena a;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(got, &a, STR_NULL, STR_NULL, &x, NULL), 0);
    assert_int_equal(snapshot_take(want, &a, STR_NULL, STR_NULL, &y, NULL), 0);
    same_pods(s, &x, &y);
    same_nodes(s, &x, &y, numbers);
    arena_fini(&a);
}

/* ---- what an audit says ---- */

static bool is_among(const struct audit *a, struct str id)
{
    for (unsigned i = 0; i < a->total; i++) {
        if (str_eq(str_of(a->uids[i]), id)) {
            return true;
        }
    }
    return false;
}

static bool was_lost(const struct cluster_model_stream *stream, size_t from, const bool *lost, const char *id)
{
    bool found = false;

    for (size_t i = from; i < stream->n; i++) {
        found = found || (lost[i] && str_eq_cstr(id_of(&stream->events[i]), id));
    }
    return found;
}

/* Each finding is of an object whose event was lost. */
static void blames_only_losses(const struct audit *a, const struct losses *lost)
{
    const struct cluster_model *w = &a->s->w;

    for (unsigned i = 0; i < a->total; i++) {
        if (!was_lost(&w->pod_stream, lost->pods_from, lost->pods, a->uids[i]) &&
            !was_lost(&w->node_stream, lost->nodes_from, lost->nodes, a->uids[i])) {
            simulation_fail(a->s, "drift where nothing was lost", str_of(a->uids[i]));
        }
    }
}

/* A pod that was created, or went, is always seen to be missing. */
static void blames_lost_lives(const struct audit *a, const struct ledger *twin, const struct losses *lost)
{
    for (size_t j = lost->pods_from; j < a->s->w.pod_stream.n; j++) {
        const struct cluster_model_event *e = &a->s->w.pod_stream.events[j];
        struct ledger_pod p;

        if (lost->pods[j] && !e->gone && !is_among(a, e->pod->uid) && ledger_find_pod(twin, e->pod->uid, &p) &&
            p.node_name.n > 0 && (!ledger_find_pod(a->s->l, e->pod->uid, &p) || p.node_name.n == 0)) {
            simulation_fail(a->s, "a lost binding was not found", e->pod->uid);
        }
    }
}

/* ---- lives ---- */

/* The same for all that are born with one seed. */
static struct simulation *common_life(uint64_t seed, bool editable)
{
    struct simulation *s = simulation_new(seed);

    s->w.editable_percent = editable ? 50 : 0;
    for (unsigned i = 0; i < STEPS; i++) {
        simulation_step(s);
    }
    simulation_settle(s, true);
    finds_nothing(s, "drift in a ledger that heard everything");
    burst(s);
    return s;
}

/* Hears every event at once. */
static struct simulation *life_of_twin(uint64_t seed, bool editable)
{
    struct simulation *twin = common_life(seed, editable);

    deliver(twin, &twin->nodes, &twin->w.node_stream, NULL);
    deliver(twin, &twin->pods, &twin->w.pod_stream, NULL);
    finds_nothing(twin, "drift in a twin that heard everything");
    return twin;
}

/* Hears all of them, too, but those that are lost to the other only when that one is audited, and
 * in the order of the audit: what there is, then what is gone. */
static struct simulation *life_of_late_twin(uint64_t seed, bool editable, const struct losses *lost)
{
    struct simulation *late = common_life(seed, editable);

    deliver(late, &late->nodes, &late->w.node_stream, lost->nodes);
    deliver(late, &late->pods, &late->w.pod_stream, lost->pods);
    for (int gone = 0; gone < 2; gone++) {
        deliver_late(late, &late->w.node_stream, lost->nodes_from, lost->nodes, gone != 0);
        deliver_late(late, &late->w.pod_stream, lost->pods_from, lost->pods, gone != 0);
    }
    return late;
}

/* After its repairs the ledger has the pods and nodes of a twin that lost nothing. Which devices
 * that left the inventory are still there depends on the order in which it was told: such a device
 * stays while a pod holds it, and for a pod that names it later it is there or not. So the numbers
 * of nodes that lost some are compared with those of a twin that heard the same late. Requests in
 * annotations keep the largest charge that was ever seen, which depends on the order, too. */
static void one_life(uint64_t seed, bool editable, unsigned found[DRIFT__MAX])
{
    static struct losses lost;
    struct simulation *s = common_life(seed, editable), *twin = life_of_twin(seed, editable), *late;
    struct audit a = {.s = s, .scratch = ledger_audit_scratch(s->l), .repair = true};

    lost = (struct losses){.pods_from = s->pods.cursor, .nodes_from = s->nodes.cursor};
    choose_losses(s, &s->w.pod_stream, lost.pods_from, lost.pods);
    choose_losses(s, &s->w.node_stream, lost.nodes_from, lost.nodes);
    late = life_of_late_twin(seed, editable, &lost);
    s->action = "losing events";
    deliver(s, &s->nodes, &s->w.node_stream, lost.nodes);
    deliver(s, &s->pods, &s->w.pod_stream, lost.pods);
    audit(&a);
    blames_only_losses(&a, &lost);
    blames_lost_lives(&a, twin->l, &lost);
    finds_nothing(s, "drift after the repair");
    same_state(s, s->l, twin->l, editable ? OF_NO_NODE : OF_NODES_WITHOUT_LOST_DEVICES);
    same_state(s, s->l, late->l, OF_ALL_NODES);
    for (size_t i = 0; i < DRIFT__MAX; i++) {
        found[i] += a.found[i];
    }
    ledger_free(a.scratch);
    simulation_free(s);
    simulation_free(twin);
    simulation_free(late);
}

static void random__lost_events__found_repaired_and_nothing_else(void **state)
{
    const struct seeds seeds = seeds_of_test(1, SEEDS);
    unsigned found[DRIFT__MAX] = {0};

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        one_life(seed, seed % 2 == 0, found);
    }
    for (size_t i = DRIFT_NONE + 1; i < DRIFT__MAX; i++) {
        /* nothing in this cluster finishes apart from going, moves, or comes undone */
        bool possible = i != DRIFT_POD_FINISHED && i != DRIFT_POD_NODE && i != DRIFT_POD_UNBOUND;

        if (found[i] > 0 ? !possible : possible && seeds.n >= SEEDS) {
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
