/* What must hold for every strategy of the table, in a cluster with a history: it only prefers.
 * Whoever adds one to the table has it judged here.
 *
 *   - never more is given away than there is, and what filter finds bind can charge;
 *   - what fits is what the brute-force oracle says, whatever the strategies;
 *   - the same question has the same answer, for a replica that saw the same, too, in whatever
 * order nodes are named;
 *   - more free capacity never turns "fits" into "does not fit".
 *
 * Strategies differ at node and device level, so each is paired with itself and with the next one
 * of the table.
 */
#include "base/compiler.h"
#include "core/fit/feasibility.h"
#include "core/placement/pack.h"
#include "core/support/oracle.h"
#include "core/support/random_demand.h"
#include "core/support/growing_cluster.h"
#include "support/cmocka.h"

#include <string.h>

enum { CLUSTERS = 12, STEPS = 40, NODES = 5, PAIRS_MAX = 64 };

struct pair {
    const struct strategy *node, *device;
};

static struct pair pairs[PAIRS_MAX];
static size_t pair_n;

static int make_pairs(void **state)
{
    size_t n = strategy_count();

    assert_in_range(n, 1, PAIRS_MAX / 2);
    for (size_t i = 0; i < n; i++) {
        pairs[pair_n++] = (struct pair){strategies[i], strategies[i]};
        pairs[pair_n++] = (struct pair){strategies[i], strategies[(i + 1) % n]};
    }
    return 0;
}

#define FAIL_AT(seed, step, pair, node_, why)                                                                          \
    fail_msg("seed %d step %d, %s on %s, node %s: %s", (int)(seed), (int)(step), (pair)->device->name,                 \
             (pair)->node->name, (node_), why)

/* One question, answered by one pair for all nodes. */
struct answer {
    struct pack_result results[GROWING_CLUSTER_NODES_MAX]; /* in the order of the nodes */
    struct pack_result ranked[GROWING_CLUSTER_NODES_MAX];
    size_t fit_n;
};

enum manner {
    AFRESH,
    BACKWARDS,  /* nodes are named the other way round */
    REMEMBERED, /* by what has been remembered of all questions before, as a service does */
};

static void ask(struct growing_cluster *t, const struct pair *pair, const struct growing_cluster_pod *pod,
                enum manner manner, struct answer *ret)
{
    struct pack_params p = growing_cluster_params(t, pair->node, pair->device);
    struct str names[GROWING_CLUSTER_NODES_MAX];
    struct pack_key keys[GROWING_CLUSTER_NODES_MAX];
    struct ledger_view v;
    struct pack_query q;
    size_t n = t->node_n;

    arena_reset(&t->f.arena);
    for (size_t i = 0; i < n; i++) {
        names[i] = t->names[manner == BACKWARDS ? n - 1 - i : i];
    }
    assert_int_equal(ledger_view(t->f.l, &t->f.arena, VIEW_POD("question", &pod->demand), &v, NULL), 0);
    if (manner == REMEMBERED) {
        pack_query_init(&q, &v, &p, NULL, 0);
        q.known = score_cache_find(t->scores, &pod->demand, &p, v.node_n);
        assert_int_equal(pack_some(&v, &q, names, n, ret->ranked), n);
        if (p.node_strategy->normalise != NULL) {
            p.node_strategy->normalise(ret->ranked, n);
        }
    } else {
        pack_nodes(&v, &p, NULL, 0, names, n, ret->ranked);
    }
    for (size_t i = 0; i < n; i++) {
        ret->results[manner == BACKWARDS ? n - 1 - i : i] = ret->ranked[i];
    }
    ret->fit_n = pack_rank(ret->ranked, n, 0, keys);
}

/* ---- what fits ---- */

static bool oracle_fits(const struct node_state *n, const struct device_state *devices, const struct ledger_view *v,
                        const struct demand *d)
{
    if (d->plugin_managed_n > 0) {
        return n->share_pod_n == 0 && n->plugin_managed_cap - n->plugin_managed_used >= d->plugin_managed_n;
    }
    return (n->plugin_managed_used == 0 || !demand_takes_shares(d)) &&
           oracle_places(devices, n->device_n, v->allowed_models, d, NULL);
}

static void check_placement(const struct node_state *n, const struct device_state *devices, const struct ledger_view *v,
                            const struct placement *at, const char **ret_why)
{
    const struct demand *d = v->pod.demand;

    *ret_why = oracle_objection(devices, n->device_n, v->allowed_models, d, d->gpu_request_n, at);
    for (size_t i = 0; i < n->device_n && *ret_why == NULL; i++) {
        struct charge c = placement_charge(d, at, devices, i);

        if (c.slots > 0 && !device_takes(&devices[i], &c)) {
            *ret_why = "a device does not take its charge";
        }
    }
}

static void check_against_oracle(struct growing_cluster *t, int seed, int step, const struct growing_cluster_pod *pod)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    bool possible[GROWING_CLUSTER_NODES_MAX];
    struct ledger_view v;

    arena_reset(&t->f.arena);
    assert_int_equal(ledger_view(t->f.l, &t->f.arena, VIEW_POD("question", &pod->demand), &v, NULL), 0);
    for (size_t i = 0; i < t->node_n; i++) {
        const struct node_state *n = ledger_view_find(&v, t->names[i]);

        possible[i] = oracle_fits(n, ledger_view_devices(&v, n, buffer), &v, &pod->demand);
    }
    for (size_t k = 0; k < pair_n; k++) {
        struct pack_params p = growing_cluster_params(t, pairs[k].node, pairs[k].device);

        for (size_t i = 0; i < t->node_n; i++) {
            const struct node_state *n = ledger_view_find(&v, t->names[i]);
            struct placement at;
            const char *why = NULL;
            int64_t score;
            bool fits = pack_node(&v, n, &p, &score, &at) == VERDICT_FITS;

            if (fits != possible[i]) {
                FAIL_AT(seed, step, &pairs[k], t->nodes[i].name,
                        fits ? "fits, the oracle says" : "the oracle knows a way");
            }
            if (fits && pod->demand.gpu_request_n > 0) {
                check_placement(n, ledger_view_devices(&v, n, buffer), &v, &at, &why);
            }
            if (why != NULL) {
                FAIL_AT(seed, step, &pairs[k], t->nodes[i].name, why);
            }
        }
    }
}

/* ---- what has been given away ---- */

static void check_sound(struct growing_cluster *t, int seed, int step, const struct pair *pair)
{
    for (size_t i = 0; i < t->node_n; i++) {
        const struct snapshot_node *n = fixture_state(&t->f, t->nodes[i].name);

        for (size_t k = 0; k < n->device_n; k++) {
            const struct snapshot_device *d = &n->devices[k];
            bool knows = d->mem_cap_mib > 0;

            if (d->milli_charged > d->milli_cap || d->slot_charged > d->slot_cap ||
                (knows && d->mem_charged_mib > d->mem_cap_mib)) {
                FAIL_AT(seed, step, pair, t->nodes[i].name, "more is given away than there is");
            }
        }
        if (n->plugin_managed_used > n->plugin_managed_cap) {
            FAIL_AT(seed, step, pair, t->nodes[i].name, "more GPUs of the plugin than there are");
        }
    }
}

/* A history under this pair: pods come, and some go. */
static void live(struct growing_cluster *t, int seed, int steps, const struct pair *pair)
{
    struct pack_params p = {.node_strategy = pair->node, .device_strategy = pair->device};

    for (int step = 0; step < steps; step++) {
        struct growing_cluster_pod pod;

        growing_cluster_draw(t, &pod);
        growing_cluster_come(t, &p, &pod);
        if (rng_below(&t->rng, 3) == 0) {
            growing_cluster_go(t);
        }
        check_sound(t, seed, step, pair);
    }
}

static void table__histories__never_more_than_there_is(void **state)
{
    for (size_t k = 0; k < pair_n; k++) {
        for (int seed = 1; seed <= 3; seed++) {
            struct growing_cluster *t = growing_cluster_new((uint64_t)seed * 1000 + k, NODES);

            live(t, seed, STEPS, &pairs[k]);
            growing_cluster_free(t);
        }
    }
}

static void table__any_state__fits_what_the_oracle_says(void **state)
{
    for (int seed = 1; seed <= CLUSTERS; seed++) {
        struct growing_cluster *t = growing_cluster_new((uint64_t)seed, NODES);

        for (int step = 0; step < STEPS; step++) {
            struct growing_cluster_pod pod;

            growing_cluster_draw(t, &pod);
            check_against_oracle(t, seed, step, &pod);
            live(t, seed, 1, &pairs[(size_t)(seed + step) % pair_n]);
        }
        growing_cluster_free(t);
    }
}

/* ---- the same again ---- */

static bool same_answer(const struct growing_cluster *t, const struct answer *a, const struct answer *b)
{
    for (size_t i = 0; i < t->node_n; i++) {
        if (a->results[i].verdict != b->results[i].verdict ||
            (a->results[i].verdict == VERDICT_FITS && a->results[i].score != b->results[i].score) ||
            (i < a->fit_n && !str_eq(a->ranked[i].name, b->ranked[i].name))) {
            return false;
        }
    }
    return a->fit_n == b->fit_n;
}

/* Two clusters of one seed live the same life. One is asked at every step, the other at the end only.
 */
static void table__same_history__same_answers(void **state)
{
    for (int seed = 1; seed <= CLUSTERS; seed++) {
        struct growing_cluster *t = growing_cluster_new((uint64_t)seed, NODES),
                               *twin = growing_cluster_new((uint64_t)seed, NODES);
        const struct pair *lives = &pairs[(size_t)seed % pair_n];
        struct growing_cluster_pod pod;

        for (int step = 0; step < STEPS; step++) {
            struct answer a;

            live(t, seed, 1, lives);
            for (size_t k = 0; k < pair_n; k += 3) {
                ask(t, &pairs[k], &t->pods[t->pod_n - 1], REMEMBERED, &a);
            }
        }
        live(twin, seed, STEPS, lives);
        for (int times = 0; times < 16; times++) {
            pod = t->pods[t->pod_n - 1 - (size_t)times]; /* some of these questions are known */
            pod.demand.gpu_requests = pod.gpu_requests;
            pod.demand.models = &pod.model;
            for (size_t k = 0; k < pair_n; k++) {
                struct answer first, again, backwards, other;

                ask(t, &pairs[k], &pod, AFRESH, &first);
                ask(t, &pairs[k], &pod, REMEMBERED, &again);
                ask(t, &pairs[k], &pod, BACKWARDS, &backwards);
                ask(twin, &pairs[k], &pod, AFRESH, &other);
                if (!same_answer(t, &first, &again)) {
                    FAIL_AT(seed, STEPS, &pairs[k], "any", "another answer from what is remembered");
                }
                if (!same_answer(t, &first, &backwards)) {
                    FAIL_AT(seed, STEPS, &pairs[k], "any", "another answer when nodes are named in another order");
                }
                if (!same_answer(t, &first, &other)) {
                    FAIL_AT(seed, STEPS, &pairs[k], "any", "another answer of a replica");
                }
            }
        }
        growing_cluster_free(t);
        growing_cluster_free(twin);
    }
}

/* ---- more room ---- */

enum { QUESTIONS = 6 };

struct before {
    struct growing_cluster_pod pods[QUESTIONS];
    struct answer answers[QUESTIONS][PAIRS_MAX];
};

static bool asks_for_a_part_of_memory(const struct demand *d)
{
    for (size_t i = 0; i < d->gpu_request_n; i++) {
        if (d->gpu_requests[i].kind != GPU_REQUEST_BOTH) {
            return true;
        }
    }
    return false;
}

static void look(struct growing_cluster *t, struct before *b)
{
    for (size_t q = 0; q < QUESTIONS; q++) {
        struct growing_cluster_pod *pod = &b->pods[q];

        growing_cluster_draw(t, pod);
        for (size_t k = 0; k < pair_n; k++) {
            ask(t, &pairs[k], pod, AFRESH, &b->answers[q][k]);
        }
    }
}

/* Whatever fitted still does. `mem`: memory has grown, and a share of it would, too. */
static unsigned check_still_fits(struct growing_cluster *t, int seed, int step, const struct before *b, bool mem,
                                 const char *what)
{
    unsigned checked = 0;

    for (size_t q = 0; q < QUESTIONS; q++) {
        if (mem && asks_for_a_part_of_memory(&b->pods[q].demand)) {
            continue;
        }
        for (size_t k = 0; k < pair_n; k++) {
            struct answer now;

            ask(t, &pairs[k], &b->pods[q], REMEMBERED, &now);
            for (size_t i = 0; i < GROWING_CLUSTER_NODES_MAX && i < t->node_n; i++) {
                bool fitted =
                    b->answers[q][k].fit_n > 0 && i < NODES && b->answers[q][k].results[i].verdict == VERDICT_FITS;

                if (fitted && now.results[i].verdict != VERDICT_FITS) {
                    FAIL_AT(seed, step, &pairs[k], t->nodes[i].name, what);
                }
                checked += fitted;
            }
            if (b->answers[q][k].fit_n > 0 && now.fit_n < b->answers[q][k].fit_n) {
                FAIL_AT(seed, step, &pairs[k], "any", what);
            }
        }
    }
    return checked;
}

static void table__more_room__what_fitted_still_fits(void **state)
{
    static struct before b;
    unsigned ended = 0, came = 0, grew[GROWING_CLUSTER_GROWTH__MAX] = {0};

    for (int seed = 101; seed <= 100 + CLUSTERS; seed++) {
        struct growing_cluster *t = growing_cluster_new((uint64_t)seed, NODES);
        enum growing_cluster_growth how = (enum growing_cluster_growth)(seed % GROWING_CLUSTER_GROWTH__MAX);
        size_t node = rng_below(&t->rng, NODES);

        live(t, seed, STEPS / 2, &pairs[(size_t)seed % pair_n]);
        for (int step = 0; step < 3; step++) {
            look(t, &b);
            if (growing_cluster_go(t)) {
                ended += check_still_fits(t, seed, step, &b, false, "does not fit any more when a pod has ended");
            }
            live(t, seed, 3, &pairs[(size_t)(seed + step) % pair_n]);
        }
        look(t, &b);
        for (size_t i = 0; i < NODES; i++) {
            if (growing_cluster_grow(t, (node + i) % NODES, how)) {
                grew[how] += check_still_fits(t, seed, STEPS, &b, how == GROWING_CLUSTER_MORE_MEMORY,
                                              "does not fit any more on a larger node");
            }
        }
        look(t, &b);
        growing_cluster_add_node(t);
        came += check_still_fits(t, seed, STEPS, &b, false, "does not fit any more when a node has come");
        growing_cluster_free(t);
    }
    assert_true(ended > 1000 && came > 1000);
    for (size_t i = 0; i < ARRAY_LEN(grew); i++) {
        assert_true(grew[i] > 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__histories__never_more_than_there_is),
        cmocka_unit_test(table__any_state__fits_what_the_oracle_says),
        cmocka_unit_test(table__same_history__same_answers),
        cmocka_unit_test(table__more_room__what_fitted_still_fits),
    };

    return cmocka_run_group_tests(tests, make_pairs, NULL);
}
