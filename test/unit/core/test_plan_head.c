/* Planning ahead against the ledger itself: what is planned is what filter would choose pod after pod, and bind takes
 * it. */
#include "core/plan/head.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "core/placement/shadow_decision.h"
#include "core/support/growing_cluster.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 24

/* A cluster with its node objects, and pods that wait. */
struct bench {
    struct growing_cluster *t;
    struct node_facts_table *facts;
    uint32_t pods_max[GROWING_CLUSTER_NODES_MAX];
    struct mirror mirror;
    struct plan_sight sight;
    struct plan_head *head;
    struct policy policy;
    struct pack_plans plans;
    struct waiting_pod *waiting[WAITING_MAX];
    struct growing_cluster_pod drawn[WAITING_MAX];
    size_t waiting_n;
    struct plan_choice chosen[WAITING_MAX];
    struct plan_answer answer;
};

static const char *const zones[] = {"a", "b", "c"};

static void describe(struct bench *b, size_t i, const char *zone, bool tainted, int32_t pods_max)
{
    const struct kv labels[] = {{STR("zone"), str_of(zone)}, {STR("arch"), STR("x")}};
    const struct taint taint = {.key = STR("gpu"), .value = STR("only"), .effect = TAINT_NO_SCHEDULE};
    char pods[16];
    struct kv allocatable[] = {{STR("pods"), STR_NULL}};
    const struct node node = {.name = str_of(b->t->nodes[i].name),
                              .labels = {labels, 2},
                              .allocatable = {allocatable, 1},
                              .taints = &taint,
                              .taint_n = tainted};

    snprintf(pods, sizeof(pods), "%d", pods_max);
    allocatable[0].value = str_of(pods);
    b->pods_max[i] = (uint32_t)pods_max;
    assert_true(node_facts_put(b->facts, &node));
}

static void bench_init(struct bench *b, uint64_t seed, size_t node_n)
{
    memset(b, 0, sizeof(*b));
    b->t = growing_cluster_new(seed, node_n);
    b->facts = node_facts_table_new();
    mirror_init(&b->mirror);
    plan_sight_init(&b->sight);
    b->head = plan_head_new();
    b->policy = *policy_defaults();
    b->answer.chosen = b->chosen;
    for (size_t i = 0; i < node_n; i++) {
        describe(b, i, zones[i % 3], false, 110);
    }
}

static void bench_fini(struct bench *b)
{
    for (size_t i = 0; i < b->waiting_n; i++) {
        waiting_pod_free(b->waiting[i]);
    }
    plan_head_free(b->head);
    plan_sight_fini(&b->sight);
    mirror_fini(&b->mirror);
    node_facts_table_free(b->facts);
    growing_cluster_free(b->t);
}

static void use(struct bench *b, const char *node_strategy, const char *device_strategy)
{
    b->policy.node_strategy = str_of(node_strategy);
    b->policy.device_strategy = str_of(device_strategy);
    assert_int_equal(pack_plans_init(&b->plans, &b->policy, NULL), 0);
}

static const struct host_capacity HOST = {4000, 8192}, NO_HOST = {0, 0};

/* One node with so many GPUs, and binpack. */
static void bench_of_one(struct bench *b, const char *name, int gpu_n, struct host_capacity host)
{
    bench_init(b, 3, 0);
    b->t->f.host = host;
    fixture_node(&b->t->f, name, gpu_n, 16000);
    snprintf(b->t->nodes[0].name, sizeof(b->t->nodes[0].name), "%s", name);
    describe(b, 0, "a", false, 110);
    use(b, "binpack", "binpack");
}

/* The ledger hears of it; `zone`: it wants that one; NULL: any. */
static struct waiting_pod *wait_for(struct bench *b, const char *zone, bool tolerates, int32_t priority)
{
    struct growing_cluster_pod *d = &b->drawn[b->waiting_n];
    const struct kv selector = {STR("zone"), str_of(zone != NULL ? zone : "")};
    const struct toleration toleration = {.key = STR("gpu"), .operator_ = TOLERATION_EXISTS};
    const struct container c = {.name = STR("c")};
    struct pod pod = {.namespace_ = STR("default"),
                      .priority = priority,
                      .containers = &c,
                      .container_n = 1,
                      .node_selector = {&selector, zone != NULL},
                      .tolerations = &toleration,
                      .toleration_n = tolerates};
    struct waiting_pod *w;

    BUG_ON(b->waiting_n == WAITING_MAX);
    snprintf(d->uid, sizeof(d->uid), "w%zu", b->waiting_n);
    pod.uid = pod.name = str_of(d->uid);
    d->demand.gpu_requests = d->demand.gpu_request_n > 0 ? d->gpu_requests : NULL;
    d->demand.models = d->demand.model_n > 0 ? &d->model : NULL;
    assert_int_equal(fixture_pod(&b->t->f, d->uid, &d->demand, NULL, NULL), 0);
    w = waiting_pod_new(&b->policy, &pod, &d->demand, NULL, 0);
    w->arrival = b->waiting_n;
    assert_true(w->obstacle == PLAN_ELIGIBLE || demand_is_empty(&d->demand));
    b->waiting[b->waiting_n++] = w;
    return w;
}

static void wait_for_share(struct bench *b, int32_t milli, struct host_request host)
{
    struct growing_cluster_pod *d = &b->drawn[b->waiting_n];

    memset(d, 0, sizeof(*d));
    d->demand = fixture_share(&d->gpu_requests[0], milli);
    d->demand.host = host;
    (void)wait_for(b, NULL, false, 0);
}

static int by_turn(const void *a, const void *b)
{
    const struct waiting_pod *const *x = a, *const *y = b;

    return waiting_pod_compare(*x, *y);
}

/* Rules select every second node. */
static void follow_mirror(struct bench *b, struct mirror *m)
{
    while (!mirror_follow(m, b->t->f.l)) {
        mirror_grow(m);
    }
    for (uint32_t i = 0; i < m->node_n; i++) {
        m->rules[i] = i % 2;
    }
}

static void follow(struct bench *b, struct plan_held *held, size_t held_n)
{
    (void)growing_cluster_params(b->t, b->plans.rest.params.node_strategy, b->plans.rest.params.device_strategy);
    follow_mirror(b, &b->mirror);
    plan_sight_take(&b->sight, b->t->f.l, held, held_n);
}

static void ask(struct bench *b, struct plan_held *held, size_t held_n, size_t front_n, size_t max)
{
    plan_head(b->head,
              &(struct plan_question){.mirror = &b->mirror,
                                      .sight = &b->sight,
                                      .nodes = b->facts,
                                      .plans = &b->plans,
                                      .forecast = b->t->forecast,
                                      .held = held,
                                      .held_n = held_n,
                                      .pods = (const struct waiting_pod *const *)b->waiting,
                                      .pod_n = b->waiting_n,
                                      .front_n = front_n,
                                      .max = max},
              &b->answer);
}

static void plan(struct bench *b, struct plan_held *held, size_t held_n, size_t max)
{
    follow(b, held, held_n);
    ask(b, held, held_n, 0, max);
}

/* ---- the property ---- */

/* What filter would answer first, asked about the nodes that kube-scheduler leaves. */
static bool filter(struct bench *b, const struct waiting_pod *p, const struct pack_params *params, struct str *ret)
{
    struct growing_cluster *t = b->t;
    struct pack_result results[GROWING_CLUSTER_NODES_MAX];
    struct str names[GROWING_CLUSTER_NODES_MAX];
    struct ledger_view v;
    struct pack_key best;
    size_t n = 0;

    arena_reset(&t->f.arena);
    assert_int_equal(ledger_view(t->f.l, &t->f.arena,
                                 &(struct view_pod){.uid = p->uid, .namespace_ = p->namespace_, .demand = p->demand},
                                 &v, NULL),
                     0);
    for (size_t i = 0; i < t->node_n; i++) {
        const struct node_facts *f = node_facts_find(b->facts, t->names[i]);
        const struct node_state *row = ledger_view_find(&v, t->names[i]);
        struct mirror now; /* for the number of pods */

        mirror_init(&now);
        while (!mirror_follow(&now, t->f.l)) {
            mirror_grow(&now);
        }
        if (node_takes(p, f) && host_room(f, &row->host, now.pod_n[row - v.nodes], p->demand->host)) {
            names[n++] = t->names[i];
        }
        mirror_fini(&now);
    }
    fixture_pack(&v, params, NULL, 0, names, n, results);
    if (pack_rank(results, n, 1, &best) == 0) {
        return false;
    }
    *ret = results[0].name;
    return true;
}

static void reserve(struct bench *b, const struct waiting_pod *p, struct str node, const struct pack_params *params)
{
    struct placement at;
    struct ledger_op op = {.kind = LEDGER_RESERVE, .reserve = {p->uid, node, p->uid, &at}};

    assert_int_equal(ledger_place_pod(b->t->f.l, node, p->uid, params, &at), VERDICT_FITS);
    assert_int_equal(ledger_apply(b->t->f.l, &op, NULL), 0);
    assert_null(ledger_check(b->t->f.l));
}

static void replay(struct bench *b, uint64_t seed)
{
    const struct forecast_prices prices = *forecast_prices(b->t->forecast);
    struct pack_params params = b->plans.rest.params;
    size_t at = 0;

    params.forecast = b->t->forecast; /* as it was when the plan was made: it does not follow */
    params.prices = &prices;
    for (size_t i = 0; i < b->answer.looked_n; i++) {
        const struct waiting_pod *p = b->waiting[i];
        bool planned = at < b->answer.chosen_n && b->chosen[at].pod == p;
        struct str node = STR_NULL;
        bool fits = filter(b, p, &params, &node);

        if (fits != planned || (fits && !str_eq(node, b->chosen[at].node_name))) {
            fail_msg("seed %llu, %s: pod %zu of %zu is planned %.*s, filter says %.*s", (unsigned long long)seed,
                     params.node_strategy->name, i, b->waiting_n, STR_ARG(planned ? b->chosen[at].node_name : STR_NULL),
                     STR_ARG(node));
        }
        if (fits) {
            reserve(b, p, node, &params);
            at++;
        }
    }
    assert_int_equal(at, b->answer.chosen_n);
}

static void draw_backlog(struct bench *b)
{
    struct growing_cluster *t = b->t;

    for (size_t i = 0; i < t->node_n; i++) {
        describe(b, i, zones[rng_below(&t->rng, 3)], rng_below(&t->rng, 4) == 0, 1 + (int32_t)rng_below(&t->rng, 12));
    }
    while (b->waiting_n < WAITING_MAX) {
        struct growing_cluster_pod *d = &b->drawn[b->waiting_n];
        const char *zone = rng_below(&t->rng, 3) == 0 ? zones[rng_below(&t->rng, 3)] : NULL;

        if (b->waiting_n > 0 && rng_below(&t->rng, 2) == 0) {
            *d = d[-1]; /* backlogs come in series */
        } else {
            growing_cluster_draw(t, d);
        }
        (void)wait_for(b, zone, rng_below(&t->rng, 2) == 0, (int32_t)rng_below(&t->rng, 3));
    }
    qsort(b->waiting, b->waiting_n, sizeof(b->waiting[0]), by_turn);
}

/* Who has a node waits no longer. */
static void drop_chosen(struct bench *b)
{
    size_t kept = 0, at = 0;

    for (size_t i = 0; i < b->waiting_n; i++) {
        if (at < b->answer.chosen_n && b->chosen[at].pod == b->waiting[i]) {
            waiting_pod_free(b->waiting[i]);
            at++;
        } else {
            b->waiting[kept++] = b->waiting[i];
        }
    }
    b->waiting_n = kept;
}

static void plan_head__any_cluster_and_strategy__is_what_filter_says_pod_after_pod(void **state)
{
    const struct seeds seeds = seeds_of_test(1, 60);
    static struct bench b;
    size_t chosen_n = 0, unfit_n = 0, later_n = 0;

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        const struct strategy *s = strategies[seed % 9];
        struct growing_cluster_pod p;

        BUG_ON(s == NULL);
        bench_init(&b, seed, 2 + seed % 7);
        use(&b, s->name, s->name);
        for (int i = 0; i < 12; i++) {
            growing_cluster_draw(b.t, &p);
            growing_cluster_come(b.t, &b.plans.rest.params, &p);
            if (i % 4 == 3) {
                (void)growing_cluster_go(b.t);
            }
        }
        draw_backlog(&b);
        plan(&b, NULL, 0, 6);
        assert_true(b.answer.chosen_n <= 6);
        chosen_n += b.answer.chosen_n;
        unfit_n += b.answer.unfit_n;
        replay(&b, seed);
        /* the next round begins where the ledger is now, and remembers scores of the last one */
        drop_chosen(&b);
        plan(&b, NULL, 0, WAITING_MAX);
        later_n += b.answer.chosen_n;
        replay(&b, seed);
        bench_fini(&b);
    }
    if (seeds.n >= 60) {
        assert_true(chosen_n > 200 && later_n > 100 && unfit_n > 100);
    }
}

/* ---- rules, several criteria ---- */

/* The same decision by core/placement/shadow_decision.h, which knows rules and criteria and shares no code with plans
 * but plan_judge() and choice_make(). */
static bool shadow(struct bench *b, const struct waiting_pod *p, struct str *ret, const struct pack_plan **ret_by)
{
    struct ledger_view v;
    struct resolved_plan resolved;
    struct shadow_choice c;
    struct mirror now;
    uint32_t nodes[GROWING_CLUSTER_NODES_MAX];
    struct shadow_decision t = {.mirror = &now, .nodes = nodes, .demand = p->demand};

    mirror_init(&now);
    follow_mirror(b, &now);
    arena_reset(&b->t->f.arena);
    assert_int_equal(ledger_view(b->t->f.l, &b->t->f.arena,
                                 &(struct view_pod){.uid = p->uid, .namespace_ = p->namespace_, .demand = p->demand},
                                 &v, NULL),
                     0);
    t.allowed_models = v.allowed_models;
    for (uint32_t i = 0; i < now.node_n; i++) {
        const struct node_facts *f = node_facts_find(b->facts, now.names[i]);

        if (node_takes(p, f) && host_room(f, &now.nodes[i].host, now.pod_n[i], p->demand->host)) {
            nodes[t.node_n++] = i;
        }
    }
    resolved_plan_make(&resolved, &b->plans, p->namespace_, NULL, 0);
    c = shadow_choose(&t, &resolved, b->t->forecast, &b->t->f.arena);
    if (c.fits) {
        *ret = now.names[c.node]; /* of the ledger, too */
        *ret_by = resolved.steps[resolved_plan_step(&resolved, now.rules[c.node])].plan;
    }
    mirror_fini(&now);
    return c.fits;
}

static struct criteria two_of(size_t first, int32_t weight)
{
    return (struct criteria){.names = {str_of(strategies[first % 9]->name), str_of(strategies[(first + 4) % 9]->name)},
                             .weights_milli = {weight, weight > 0 ? 1000 - weight : 0},
                             .n = 2};
}

static void plan_head__rules_and_criteria__is_what_a_shadow_decision_says(void **state)
{
    static const struct kv every_second = {STR("half"), STR("yes")};
    const struct seeds seeds = seeds_of_test(1, 40);
    static struct packing_rule rule;
    static struct bench b;
    size_t chosen_n = 0;

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct growing_cluster_pod drawn;
        size_t at = 0;

        bench_init(&b, seed, 2 + seed % 7);
        b.policy.node_criteria = seed % 3 == 0 ? (struct criteria){.n = 0} : two_of(seed, seed % 3 == 1 ? 0 : 300);
        rule = (struct packing_rule){.node_selector = {&every_second, 1}, .node_criteria = two_of(seed / 3, 600)};
        rule.node_strategy = rule.node_criteria.names[0];
        b.policy.rules = &rule;
        b.policy.rule_n = seed % 2;
        use(&b, strategies[seed % 9]->name, strategies[(seed / 9) % 9]->name);
        for (int i = 0; i < 8; i++) {
            growing_cluster_draw(b.t, &drawn);
            growing_cluster_come(b.t, &b.plans.rest.params, &drawn);
        }
        draw_backlog(&b);
        (void)growing_cluster_params(b.t, strategy_find(STR("rsp")), strategy_find(STR("fgd"))); /* for all of them */
        plan(&b, NULL, 0, WAITING_MAX);
        for (size_t i = 0; i < b.answer.looked_n; i++) {
            const struct waiting_pod *p = b.waiting[i];
            bool planned = at < b.answer.chosen_n && b.chosen[at].pod == p;
            const struct pack_plan *by = NULL;
            struct str node = STR_NULL;
            struct pack_params params;

            if (shadow(&b, p, &node, &by) != planned || (planned && !str_eq(node, b.chosen[at].node_name))) {
                fail_msg("seed %llu: pod %zu is planned %.*s, a shadow decision says %.*s", (unsigned long long)seed, i,
                         STR_ARG(planned ? b.chosen[at].node_name : STR_NULL), STR_ARG(node));
            }
            if (planned) {
                params = by->params;
                params.forecast = b.t->forecast;
                reserve(&b, p, node, &params);
                at++;
            }
        }
        assert_int_equal(at, b.answer.chosen_n);
        chosen_n += at;
        bench_fini(&b);
    }
    if (seeds.n >= 40) {
        assert_true(chosen_n > 200);
    }
}

/* ---- single cases ---- */

static void plan_head__pods_that_hold_a_nomination__keep_their_room(void **state)
{
    static struct bench b;
    struct plan_held held[3];

    bench_of_one(&b, "only", 1, NO_HOST); /* no host: nothing is known of cores and memory */
    wait_for_share(&b, 400, (struct host_request){0, 0});
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 0);
    assert_int_equal(b.answer.unfit_n, 1);

    b.t->f.host = (struct host_capacity){4000, 8192};
    fixture_node(&b.t->f, "only", 1, 16000);
    for (int i = 0; i < 3; i++) {
        wait_for_share(&b, 400, (struct host_request){0, 0});
    }
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 2); /* of four */
    assert_int_equal(b.answer.looked_n, 4);
    assert_true(str_eq_cstr(b.chosen[0].node_name, "only"));
    assert_ptr_equal(b.chosen[0].pod, b.waiting[0]);
    assert_ptr_equal(b.chosen[1].pod, b.waiting[1]);

    /* the last one was nominated before: one of those in front of it, and itself not again */
    held[0] = (struct plan_held){.pod = b.waiting[3], .node_name = STR("only")};
    plan(&b, held, 1, 9);
    assert_true(held[0].fits);
    assert_int_equal(b.answer.chosen_n, 1);
    assert_int_equal(b.answer.unfit_n, 2);

    /* three held: the third does not fit, and while it is so nobody else is sent there */
    for (size_t i = 0; i < 3; i++) {
        held[i] = (struct plan_held){.pod = b.waiting[i + 1], .node_name = STR("only")};
    }
    plan(&b, held, 3, 9);
    assert_true(held[0].fits && held[1].fits && !held[2].fits);
    assert_int_equal(b.answer.chosen_n, 0);

    /* one of them is on its way: the ledger counts it, so the plan does not */
    reserve(&b, b.waiting[1], STR("only"), &b.plans.rest.params);
    plan(&b, held, 1, 9);
    assert_true(held[0].counted && held[0].fits);
    assert_int_equal(b.answer.chosen_n, 1);

    /* nominated to a node that nobody knows */
    held[0] = (struct plan_held){.pod = b.waiting[3], .node_name = STR("gone")};
    plan(&b, held, 1, 9);
    assert_false(held[0].fits);
    assert_int_equal(b.answer.chosen_n, 1);
    bench_fini(&b);
}

static void plan_head__cores_memory_and_number_of_pods__are_never_passed(void **state)
{
    static struct bench b;

    bench_of_one(&b, "only", 1, HOST);
    for (int i = 0; i < 5; i++) {
        wait_for_share(&b, 10, (struct host_request){1500, 0});
    }
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 2);
    for (int i = 0; i < 5; i++) {
        wait_for_share(&b, 10, (struct host_request){0, 3000});
    }
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 4);
    for (int i = 0; i < 5; i++) {
        wait_for_share(&b, 10, (struct host_request){0, 0});
    }
    describe(&b, 0, "a", false, 7);
    plan(&b, NULL, 0, 20);
    assert_int_equal(b.answer.chosen_n, 7);
    /* a pod without GPUs that asks for nothing takes a place all the same */
    {
        struct demand none = {.dialect = ""};

        assert_int_equal(fixture_pod(&b.t->f, "cpu", &none, "only", NULL), 0);
    }
    plan(&b, NULL, 0, 20);
    assert_int_equal(b.answer.chosen_n, 6);
    describe(&b, 0, "a", false, 0);
    plan(&b, NULL, 0, 20);
    assert_int_equal(b.answer.chosen_n, 0);
    node_facts_remove(b.facts, STR("only"));
    plan(&b, NULL, 0, 20);
    assert_int_equal(b.answer.chosen_n, 0);
    bench_fini(&b);
}

static void plan_head__limit_of_the_tenant__is_shared_by_the_backlog(void **state)
{
    static const struct str namespaces[] = {{"default", 7}};
    const struct tenant tenant = {.name = STR("t"),
                                  .namespaces = namespaces,
                                  .namespace_n = 1,
                                  .gpu_permille = TENANT_UNLIMITED,
                                  .milli = 900,
                                  .mem_permille = TENANT_UNLIMITED,
                                  .mem_mib = TENANT_UNLIMITED};
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {&tenant, 1}};
    static struct bench b;
    struct plan_held held;

    bench_of_one(&b, "only", 4, HOST);
    assert_int_equal(ledger_apply(b.t->f.l, &op, NULL), 0);
    for (int i = 0; i < 4; i++) {
        wait_for_share(&b, 300, (struct host_request){0, 0});
    }
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 3);
    held = (struct plan_held){.pod = b.waiting[3], .node_name = STR("only")};
    plan(&b, &held, 1, 9);
    assert_int_equal(b.answer.chosen_n, 2);
    reserve(&b, b.waiting[0], STR("only"), &b.plans.rest.params);
    plan(&b, &held, 1, 9);
    assert_int_equal(b.answer.chosen_n, 1); /* the first one again: the caller knows that it is on its way */
    bench_fini(&b);
}

/* A half of the best GPUs is more memory than the tenant may have, of the worst it is not. */
static void plan_head__best_nodes_are_too_much_for_the_tenant__the_next_one(void **state)
{
    static const struct str namespaces[] = {{"default", 7}};
    const struct tenant tenant = {.name = STR("t"),
                                  .namespaces = namespaces,
                                  .namespace_n = 1,
                                  .gpu_permille = TENANT_UNLIMITED,
                                  .milli = TENANT_UNLIMITED,
                                  .mem_permille = TENANT_UNLIMITED,
                                  .mem_mib = 5000};
    static const char *const names[] = {"a", "b", "c"};
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {&tenant, 1}};
    static struct bench b;

    bench_of_one(&b, "a", 1, HOST);
    fixture_node(&b.t->f, "b", 1, 16000);
    fixture_node(&b.t->f, "c", 1, 8000);
    for (size_t i = 1; i < 3; i++) {
        snprintf(b.t->nodes[i].name, sizeof(b.t->nodes[i].name), "%s", names[i]);
        describe(&b, i, "a", false, 110);
    }
    wait_for_share(&b, 500, (struct host_request){0, 0});
    wait_for_share(&b, 500, (struct host_request){0, 0});
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 2);
    assert_true(str_eq_cstr(b.chosen[0].node_name, "a"));
    assert_int_equal(ledger_apply(b.t->f.l, &op, NULL), 0);
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 1);
    assert_true(str_eq_cstr(b.chosen[0].node_name, "c"));
    assert_int_equal(b.answer.unfit_n, 1);
    bench_fini(&b);
}

/* It is nominated, and asks for cores alone. */
static void plan_head__pod_without_gpus_holds_a_nomination__its_cores_are_gone(void **state)
{
    static struct bench b;
    struct waiting_pod *plain;
    struct plan_held held;

    bench_of_one(&b, "only", 1, HOST);
    wait_for_share(&b, 10, (struct host_request){1500, 0});
    wait_for_share(&b, 10, (struct host_request){1500, 0});
    memset(&b.drawn[b.waiting_n], 0, sizeof(b.drawn[0]));
    b.drawn[b.waiting_n].demand = (struct demand){.dialect = "", .host = {.cpu_milli = 2000}};
    plain = wait_for(&b, NULL, false, 0);
    held = (struct plan_held){.pod = plain, .node_name = STR("only")};
    plan(&b, &held, 1, 9);
    assert_true(held.fits);
    assert_int_equal(b.answer.chosen_n, 1);
    bench_fini(&b);
}

static void plan_head__nodes_come_and_go_between_rounds__and_it_follows(void **state)
{
    static struct bench b;

    bench_of_one(&b, "first", 1, HOST);
    for (int i = 0; i < 4; i++) {
        wait_for_share(&b, 600, (struct host_request){0, 0});
    }
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 1);
    /* known to the ledger alone; then to the planner, too */
    fixture_node(&b.t->f, "second", 2, 16000);
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 1);
    snprintf(b.t->nodes[1].name, sizeof(b.t->nodes[1].name), "second");
    describe(&b, 1, "a", false, 110);
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 3);
    /* a taint that nobody tolerates */
    describe(&b, 1, "a", true, 110);
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 1);
    describe(&b, 1, "a", false, 110);
    /* the first one goes, and its facts stay behind */
    assert_int_equal(fixture_name_op(&b.t->f, LEDGER_NODE_GONE, "first"), 0);
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 2);
    assert_true(str_eq_cstr(b.chosen[0].node_name, "second"));
    bench_fini(&b);
}

static void plan_head__work_and_number__are_bounded(void **state)
{
    static struct bench b;
    struct plan_question q;

    bench_of_one(&b, "only", 4, HOST);
    for (int i = 0; i < 8; i++) {
        wait_for_share(&b, 100 + i, (struct host_request){0, 0});
    }
    plan(&b, NULL, 0, 3);
    assert_int_equal(b.answer.chosen_n, 3);
    assert_int_equal(b.answer.looked_n, 3);
    follow(&b, NULL, 0);
    q = (struct plan_question){.mirror = &b.mirror,
                               .sight = &b.sight,
                               .nodes = b.facts,
                               .plans = &b.plans,
                               .pods = (const struct waiting_pod *const *)b.waiting,
                               .pod_n = b.waiting_n,
                               .max = 9,
                               .work_max = 5};
    plan_head(b.head, &q, &b.answer);
    assert_in_range(b.answer.chosen_n, 1, 4);
    /* nothing while others keep to themselves, nor before all is known */
    follow(&b, NULL, 0);
    b.sight.cluster.isolates = true;
    plan_head(b.head, &q, &b.answer);
    assert_int_equal(b.answer.chosen_n, 0);
    assert_int_equal(b.answer.obstacle_n[PLAN_OTHER_PODS], 8);
    b.sight.cluster.synced = false;
    plan_head(b.head, &q, &b.answer);
    assert_int_equal(b.answer.looked_n, 0);
    bench_fini(&b);
}

static void plan_head__no_nodes__nobody_is_chosen(void **state)
{
    static struct bench b;

    bench_init(&b, 3, 0);
    use(&b, "binpack", "binpack");
    wait_for_share(&b, 100, (struct host_request){0, 0});
    plan(&b, NULL, 0, 9);
    assert_int_equal(b.answer.chosen_n, 0);
    assert_int_equal(b.answer.unfit_n, 1);
    bench_fini(&b);
}

/* ---- what should not be ---- */

/* Scores are remembered by the versions of nodes. Where one is wrong, nobody may be nominated by it, and no process may
 * end: others are planned as ever. */
static void plan_head__what_is_remembered_is_wrong__the_pod_is_skipped_and_counted(void **state)
{
    static struct bench b;

    bench_of_one(&b, "n", 1, HOST);
    wait_for_share(&b, 400, (struct host_request){0, 0});
    plan(&b, NULL, 0, 1);
    assert_int_equal(b.answer.chosen_n, 1);
    follow(&b, NULL, 0);
    b.mirror.devices[b.mirror.nodes[0].first_device].milli_free = 0; /* and no version tells */
    ask(&b, NULL, 0, 0, 1);
    assert_int_equal(b.answer.chosen_n, 0);
    assert_int_equal(b.answer.looked_n, 1);
    assert_int_equal(b.answer.unfit_n, 0);
    assert_int_equal(b.answer.differ_n, 1);
    follow(&b, NULL, 0);
    b.mirror.devices[b.mirror.nodes[0].first_device].milli_free = 1000;
    plan(&b, NULL, 0, 1);
    assert_int_equal(b.answer.chosen_n, 1);
    assert_int_equal(b.answer.differ_n, 0);
    bench_fini(&b);
}

/* ---- the pods at the very front ---- */

static void plan_head__pods_in_front__take_their_places_and_are_not_chosen(void **state)
{
    static struct bench b;

    bench_of_one(&b, "n", 1, HOST);
    for (int i = 0; i < 3; i++) {
        wait_for_share(&b, 400, (struct host_request){0, 0});
    }
    follow(&b, NULL, 0);
    ask(&b, NULL, 0, 1, 3); /* of two places the first pod takes one */
    assert_int_equal(b.answer.chosen_n, 1);
    assert_ptr_equal(b.chosen[0].pod, b.waiting[1]);
    assert_int_equal(b.answer.looked_n, 3);
    assert_int_equal(b.answer.unfit_n, 1);
    follow(&b, NULL, 0);
    ask(&b, NULL, 0, 2, 3);
    assert_int_equal(b.answer.chosen_n, 0);
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_head__any_cluster_and_strategy__is_what_filter_says_pod_after_pod),
        cmocka_unit_test(plan_head__rules_and_criteria__is_what_a_shadow_decision_says),
        cmocka_unit_test(plan_head__pods_that_hold_a_nomination__keep_their_room),
        cmocka_unit_test(plan_head__cores_memory_and_number_of_pods__are_never_passed),
        cmocka_unit_test(plan_head__limit_of_the_tenant__is_shared_by_the_backlog),
        cmocka_unit_test(plan_head__best_nodes_are_too_much_for_the_tenant__the_next_one),
        cmocka_unit_test(plan_head__pod_without_gpus_holds_a_nomination__its_cores_are_gone),
        cmocka_unit_test(plan_head__nodes_come_and_go_between_rounds__and_it_follows),
        cmocka_unit_test(plan_head__work_and_number__are_bounded),
        cmocka_unit_test(plan_head__no_nodes__nobody_is_chosen),
        cmocka_unit_test(plan_head__what_is_remembered_is_wrong__the_pod_is_skipped_and_counted),
        cmocka_unit_test(plan_head__pods_in_front__take_their_places_and_are_not_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
