/* What must hold of a ledger that is fed from a cluster model: after every op, and at quiet points. */
#include "core/support/simulation_checks.h"

#include "core/request/demand_histogram.h"

#include "core/ledger/pod_table.h"
#include "core/ledger/snapshot.h"
#include "core/ledger/state.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <string.h>

/* ---- rule 1: the charge of a pod whose request can be edited never falls while it lives ---- */

struct charged {
    uint32_t node; /* LEDGER_NONE: it holds nothing */
    size_t n;
    struct pod_floor on[2 * CLUSTER_MODEL_DEVICES_MAX];
};

static struct charged charged[CLUSTER_MODEL_PODS_MAX];

static struct charged charged_now(const struct simulation *s, const struct cluster_model_pod *pod)
{
    struct charged now = {.node = LEDGER_NONE};
    uint32_t i = pod == NULL || !pod->editable ? LEDGER_NONE : ledger_pod_lookup(s->l, pod->uid);

    if (i == LEDGER_NONE || s->l->pods[i].node == LEDGER_NONE) {
        return now;
    }
    now.node = s->l->pods[i].node;
    for (size_t k = 0; k < s->l->pods[i].charge_n && now.n < 2 * CLUSTER_MODEL_DEVICES_MAX; k++) {
        const struct pod_charge *c = &s->l->pods[i].charges[k];

        now.on[now.n++] = (struct pod_floor){s->l->nodes[now.node].devices[c->ordinal].ref, c->charge};
    }
    return now;
}

static bool covers(const struct charge *a, const struct charge *b)
{
    return a->milli >= b->milli && a->mem_mib >= b->mem_mib && a->slots >= b->slots && a->exclusive >= b->exclusive;
}

static bool fell(const struct simulation *s, const struct charged *before, const struct charged *now)
{
    if (before->n == 0 || before->node != now->node) {
        return false;
    }
    if (now->n == 0) {
        return s->l->nodes[now->node].device_n > 0;
    }
    for (size_t i = 0; i < before->n; i++) {
        for (size_t j = 0; j < now->n; j++) {
            struct device_ref a = before->on[i].ref, b = now->on[j].ref;

            if (a.uuid_hash == b.uuid_hash && a.index == b.index &&
                !covers(&now->on[j].charge, &before->on[i].charge)) {
                return true;
            }
        }
    }
    return false;
}

static void charges_never_fall(struct simulation *s)
{
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        struct charged now = charged_now(s, s->w.pods[i]);

        if (fell(s, &charged[i], &now)) {
            simulation_fail(s, "rule 1: a charge fell", s->w.pods[i]->uid);
        }
        charged[i] = now;
    }
}

void simulation_watch_charges(struct simulation *s)
{
    memset(charged, 0, sizeof(charged));
    s->after = charges_never_fall;
}

/* ---- quiet points ---- */

/* Since the pod holds devices on the node, did the ledger ever see the node otherwise than now? Then the
 * charge of an editable request may rightly be larger than the present facts say. */
static bool node_was_different(const struct simulation *s, const struct cluster_model_pod *p,
                               const struct cluster_model_node *n)
{
    for (size_t i = s->journal_n; i-- > 0;) {
        const struct simulation_fact *f = &s->journal[i];

        if (f->kind == LEDGER_NODE_DESCRIBED && str_eq(f->node->name, n->name)) {
            if (f->node->changes != n->changes) {
                return true;
            }
            if (i < s->pod[p->number].attached_at) {
                return false;
            }
        }
    }
    return false;
}

/* Does what the ledger makes of the pod depend on what was seen before? Its annotations were edited after it
 * was bound, or nobody saw them before; or they can be, and what we once reserved for it, somebody else bound. */
static bool has_history(const struct simulation *s, const struct cluster_model_pod *p)
{
    bool ours = p->record != NULL && str_starts(p->record->id, STR("ours-"));

    return p->scarred || s->pod[p->number].late || (p->editable && s->pod[p->number].was_reserved && !ours);
}

/* Do the present facts alone determine the pod's charge? */
static bool is_plain(const struct simulation *s, const struct cluster_model_pod *p, const struct cluster_model_node *n)
{
    return !has_history(s, p) && cluster_model_devices_present(&s->w, p) &&
           !(p->editable && node_was_different(s, p, n));
}

static bool node_is_plain(const struct simulation *s, const struct cluster_model_node *n, bool without_editable)
{
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        const struct cluster_model_pod *p = s->w.pods[i];

        if (p != NULL && str_eq(p->node_name, n->name) && (!is_plain(s, p, n) || (without_editable && p->editable))) {
            return false;
        }
    }
    return true;
}

static const struct snapshot_node *node_in(const struct snapshot *snap, struct str name)
{
    for (size_t i = 0; i < snap->node_n; i++) {
        if (str_eq(snap->nodes[i].name, name)) {
            return &snap->nodes[i];
        }
    }
    return NULL;
}

/* How often `x`, of snapshot `of`, stands among the allocations of `d`, of snapshot `in`. */
static size_t count(const struct snapshot *in, const struct snapshot_device *d, const struct snapshot *of,
                    const struct snapshot_allocation *x)
{
    size_t n = 0;

    for (size_t i = 0; i < d->allocation_n; i++) {
        const struct snapshot_allocation *y = &d->allocations[i];

        n += str_eq(in->pods[y->pod].uid, of->pods[x->pod].uid) && str_eq(y->container, x->container) &&
             y->init == x->init && y->milli == x->milli && y->mem_mib == x->mem_mib;
    }
    return n;
}

static void compare_devices(const struct simulation *s, const struct snapshot *a, const struct snapshot *b,
                            const struct snapshot_node *x, const struct snapshot_node *y)
{
    if (x->device_n != y->device_n) {
        simulation_fail(s, "another number of devices", x->name);
    }
    for (size_t i = 0; i < x->device_n; i++) {
        const struct snapshot_device *d = &x->devices[i], *e = &y->devices[i];

        if (!str_eq(d->uuid, e->uuid) || d->index != e->index || !str_eq(d->model, e->model) ||
            d->healthy != e->healthy || d->lost != e->lost || d->milli_cap != e->milli_cap ||
            d->mem_cap_mib != e->mem_cap_mib || d->slot_cap != e->slot_cap) {
            simulation_fail(s, "another device", x->name);
        }
        if (d->milli_charged != e->milli_charged || d->mem_charged_mib != e->mem_charged_mib ||
            d->slot_charged != e->slot_charged || d->exclusive != e->exclusive) {
            simulation_fail(s, "another charge", x->name);
        }
        if (d->allocation_n != e->allocation_n) {
            simulation_fail(s, "another number of allocations", x->name);
        }
        for (size_t k = 0; k < d->allocation_n; k++) {
            if (count(a, d, a, &d->allocations[k]) != count(b, e, a, &d->allocations[k])) {
                simulation_fail(s, "another allocation", x->name);
            }
        }
    }
}

static bool pod_has_history(const struct simulation *s, struct str uid)
{
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        if (s->w.pods[i] != NULL && str_eq(s->w.pods[i]->uid, uid)) {
            return has_history(s, s->w.pods[i]);
        }
    }
    return false;
}

static bool node_has_history(const struct simulation *s, struct str node)
{
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        const struct cluster_model_pod *p = s->w.pods[i];

        if (p != NULL && str_eq(p->node_name, node) && has_history(s, p)) {
            return true;
        }
    }
    return false;
}

static void compare_nodes(const struct simulation *s, const struct snapshot *a, const struct snapshot *b,
                          bool without_editable)
{
    for (size_t i = 0; i < a->node_n; i++) {
        const struct snapshot_node *x = &a->nodes[i], *y = node_in(b, x->name);
        const struct cluster_model_node *n = cluster_model_node_of(&s->w, x->name);

        if (y == NULL) {
            if (!node_has_history(s, x->name)) {
                simulation_fail(s, "a node is missing", x->name);
            }
            continue;
        }
        if (!str_eq(x->uid, y->uid) && x->described) {
            simulation_fail(s, "another node UID", x->name);
        }
        if (x->described != y->described || x->source != y->source || x->plugin_managed_cap != y->plugin_managed_cap ||
            x->plugin_managed_used != y->plugin_managed_used || (x->described && x->schedulable != y->schedulable)) {
            simulation_fail(s, "another node", x->name);
        }
        if (memcmp(&x->host, &y->host, sizeof(x->host)) != 0) {
            simulation_fail(s, "other cores or memory", x->name);
        }
        if (n != NULL && node_is_plain(s, n, without_editable)) {
            compare_devices(s, a, b, x, y);
        }
    }
}

static void compare_pods(const struct simulation *s, const struct snapshot *a, const struct snapshot *b)
{
    for (unsigned i = 0; i < s->w.pod_n; i++) {
        const struct cluster_model_pod *p = s->w.pods[i];
        const struct snapshot_pod *x = p == NULL ? NULL : fixture_pod_in(a, p->uid);
        const struct snapshot_pod *y = p == NULL ? NULL : fixture_pod_in(b, p->uid);

        if (p == NULL || has_history(s, p)) {
            continue;
        }
        if ((x == NULL) != (y == NULL)) {
            simulation_fail(s, "only one of them knows a pod", p->uid);
        }
        if (x == NULL) {
            continue;
        }
        if (x->state != y->state || !str_eq(x->node_name, y->node_name) || x->deleting != y->deleting ||
            x->defect != y->defect || x->plugin_managed_n != y->plugin_managed_n ||
            strcmp(x->dialect, y->dialect) != 0) {
            simulation_fail(s, "another pod", p->uid);
        }
        if (x->state == LEDGER_BOUND && !str_eq(x->decision_id, y->decision_id)) {
            simulation_fail(s, "another decision", p->uid);
        }
        if (x->conflict != y->conflict) {
            simulation_fail(s, "a conflict on one side only", p->uid);
        }
    }
}

void simulation_same_state(struct simulation *s, const struct ledger *l, const struct ledger *other,
                           bool without_editable)
{
    struct arena a;
    struct snapshot x, y;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(l, &a, STR_NULL, STR_NULL, &x, NULL), 0);
    assert_int_equal(snapshot_take(other, &a, STR_NULL, STR_NULL, &y, NULL), 0);
    for (size_t i = 0; i < y.node_n; i++) {
        if (node_in(&x, y.nodes[i].name) == NULL && !node_has_history(s, y.nodes[i].name)) {
            simulation_fail(s, "a node too many in the other", y.nodes[i].name);
        }
    }
    compare_nodes(s, &x, &y, without_editable);
    compare_pods(s, &x, &y);
    for (size_t i = 0; i < x.pod_n; i++) {
        if (fixture_pod_in(&y, x.pods[i].uid) == NULL && !pod_has_history(s, x.pods[i].uid)) {
            simulation_fail(s, "a pod too many", x.pods[i].uid);
        }
    }
    arena_fini(&a);
}

/* The numbers of the devices against the oracle, which has never heard of the ledger. */
static void as_the_oracle_says(struct simulation *s)
{
    struct arena a;
    struct snapshot snap;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(s->l, &a, STR_NULL, STR_NULL, &snap, NULL), 0);
    for (unsigned k = 0; k < CLUSTER_MODEL_NODES; k++) {
        const struct cluster_model_node *n = s->w.nodes[k];
        const struct snapshot_node *x = n == NULL ? NULL : node_in(&snap, n->name);

        if (n == NULL || !node_is_plain(s, n, false)) {
            continue;
        }
        assert_non_null(x);
        assert_int_equal(x->device_n, n->inventory.device_n);
        for (size_t i = 0; i < x->device_n; i++) {
            struct charge sum = {0};

            for (unsigned j = 0; j < s->w.pod_n; j++) {
                const struct cluster_model_pod *p = s->w.pods[j];

                if (p != NULL && str_eq(p->node_name, n->name) && p->demand->plugin_managed_n == 0) {
                    struct charge c = cluster_model_charge(p, n, i, s->factors);

                    sum.milli += c.milli;
                    sum.mem_mib += c.mem_mib;
                    sum.slots += c.slots;
                    sum.exclusive = sum.exclusive || c.exclusive;
                }
            }
            if (x->devices[i].milli_charged != sum.milli || x->devices[i].mem_charged_mib != sum.mem_mib ||
                x->devices[i].slot_charged != sum.slots || x->devices[i].exclusive != sum.exclusive) {
                simulation_fail(s, "the oracle charges another amount", n->name);
            }
            if (x->devices[i].milli_cap != cluster_model_capacity_milli(&n->inventory.devices[i], s->factors)) {
                simulation_fail(s, "a device has another capacity", n->name);
            }
        }
    }
    arena_fini(&a);
}

/* Cores and memory of every described node: what it has less what its pods ask for, whatever happened before. */
static void host_as_the_facts_say(struct simulation *s)
{
    struct arena a;
    struct snapshot snap;

    arena_init(&a, 16U << 20);
    assert_int_equal(snapshot_take(s->l, &a, STR_NULL, STR_NULL, &snap, NULL), 0);
    for (unsigned k = 0; k < CLUSTER_MODEL_NODES; k++) {
        const struct cluster_model_node *n = s->w.nodes[k];
        const struct snapshot_node *x = n == NULL ? NULL : node_in(&snap, n->name);
        struct host_capacity left;

        if (n == NULL) {
            continue;
        }
        left = n->host;
        for (unsigned j = 0; j < s->w.pod_n; j++) {
            const struct cluster_model_pod *p = s->w.pods[j];

            if (p != NULL && str_eq(p->node_name, n->name)) {
                left.cpu_milli -= n->host.cpu_milli > 0 ? p->demand->host.cpu_milli : 0;
                left.mem_mib -= n->host.mem_mib > 0 ? p->demand->host.mem_mib : 0;
            }
        }
        assert_non_null(x);
        if (x->host.cpu_free_milli != left.cpu_milli || x->host.mem_free_mib != left.mem_mib) {
            simulation_fail(s, "cores or memory do not add up", n->name);
        }
    }
    arena_fini(&a);
}

/* A ledger that has just listed everything has counted every pod once that it can read, and those without GPUs
 * where there are GPUs; and nothing has departed. */
static void demand_histogram_is_that_of_the_pods(struct simulation *s, const struct ledger *fresh)
{
    uint64_t n = 0, late_n = 0;

    for (unsigned i = 0; i < s->w.pod_n; i++) {
        const struct cluster_model_pod *p = s->w.pods[i];
        struct ledger_pod known;

        late_n += p != NULL && s->pod[i].late; /* may be one without GPUs, on a node that nobody knows */
        if (p == NULL) {
            continue;
        }
        if (ledger_find_pod(fresh, p->uid, &known)) {
            n += known.demand->defect == DEMAND_OK;
        } else {
            n += p->node_name.n > 0 && cluster_model_node_of(&s->w, p->node_name) != NULL; /* all have GPUs */
        }
    }
    if (demand_histogram_arrived_n(ledger_demand_histogram(fresh)) != n ||
        demand_histogram_departed_n(ledger_demand_histogram(fresh)) != 0) {
        simulation_fail(s, "the demand histogram is not that of the pods", STR_NULL);
    }
    if (demand_histogram_arrived_n(ledger_demand_histogram(s->l)) + late_n < n) {
        simulation_fail(s, "a pod was never counted", STR_NULL);
    }
}

void simulation_quiet(struct simulation *s, bool relist)
{
    struct ledger *fresh;

    simulation_settle(s, relist);
    s->action = relist ? "quiet, relisted" : "quiet";
    fresh = simulation_fold(s);
    simulation_same_state(s, s->l, fresh, false);
    demand_histogram_is_that_of_the_pods(s, fresh);
    ledger_free(fresh);
    as_the_oracle_says(s);
    host_as_the_facts_say(s);
}
