/* Which decisions are kept, and what they say: filter, prioritize and reservations on a real store. */
#include "extender/decisions.h"

#include "core/placement/pack.h"
#include "extender/decision_words.h"
#include "extender/placement.h"
#include "extender/support/tested_store.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define NODES 4

static struct placement_context context;
static struct ingest ingest;
static struct policy policy;
static const struct str names[NODES] = {{"n0", 2}, {"n1", 2}, {"n2", 2}, {"n3", 2}};
static struct decision_note *found[DECISIONS_KEPT];
static size_t found_n;

static void forget(void)
{
    while (found_n > 0) {
        decision_put(found[--found_n]);
    }
}

static void use(struct str node_strategy)
{
    policy = *policy_defaults();
    policy.node_strategy = policy.device_strategy = node_strategy;
    ingest = (struct ingest){store, &policy, NULL, NULL};
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
}

static int setup(void **state)
{
    store_open(clock_system());
    apply_empty_lists();
    use(STR("binpack"));
    for (size_t i = 0; i < NODES; i++) {
        ingest_two_gpus(&ingest, names[i]);
    }
    return 0;
}

static int teardown(void **state)
{
    forget();
    return store_teardown(state);
}

struct test_pod {
    struct kv limit;
    char amount[16];
    struct container container;
    struct pod pod;
};

static struct pod *make_pod(struct test_pod *p, const char *uid, int milli)
{
    snprintf(p->amount, sizeof(p->amount), "%d", milli);
    p->limit = (struct kv){STR("fgpu.io/gpu-milli"), str_of(p->amount)};
    p->container = (struct container){.name = STR("c"), .limits = {&p->limit, 1}};
    p->pod = (struct pod){
        .namespace_ = STR("d"), .name = str_of(uid), .uid = str_of(uid), .containers = &p->container, .container_n = 1};
    return &p->pod;
}

static void filter(const struct pod *pod, const struct str *asked, size_t n)
{
    struct filter_result r;

    arena_reset(&arena);
    assert_int_equal(placement_filter(&context, &arena, pod, asked, n, &r, NULL), 0);
}

static void prioritize(const struct pod *pod, const struct str *asked, size_t n)
{
    struct prioritize_result r;

    arena_reset(&arena);
    assert_int_equal(placement_prioritize(&context, &arena, pod, asked, n, &r, NULL), 0);
}

static void bind(const struct pod *pod, struct str node)
{
    struct store_reservation r;

    arena_reset(&arena);
    assert_int_equal(ingest_pod(&ingest, &arena, pod, NULL), 0);
    assert_int_equal(store_reserve(store, &arena, pod->uid, pod->namespace_, pod->name, node, STR("id"), &context.plans,
                                   NULL, &r, NULL),
                     STORE_RESERVED);
}

/* One cycle of kube-scheduler. */
static void schedule(const struct pod *pod, struct str node)
{
    filter(pod, names, NODES);
    prioritize(pod, names, NODES);
    bind(pod, node);
}

static const struct decision_note *newest(void)
{
    forget();
    found_n = decisions_kept(store_decisions(store), STR_NULL, STR_NULL, found);
    assert_true(found_n > 0);
    return found[0];
}

static const char *sentence(const struct decision_note *d)
{
    static char text[DECISION_SENTENCE_MAX];

    return decision_sentence(d, text, sizeof(text));
}

static void decision__best_of_several__says_what_put_it_before_the_next(void **state)
{
    const struct decision_note *d;
    struct test_pod p;
    int64_t best = 0, next = 0;

    schedule(make_pod(&p, "first", 500), names[2]);
    d = newest();
    assert_int_equal(d->reason, PACK_BY_NAME); /* all are empty */
    assert_string_equal(sentence(d),
                        "of 4 nodes 4 fit; binpack put n0 before n1: they are equal, and it is the first by "
                        "name; bind asked for n2 all the same");
    schedule(make_pod(&p, "second", 200), names[2]);
    d = newest();
    assert_int_equal(found_n, 2);
    assert_true(str_eq_cstr(d->uid, "second") && str_eq_cstr(d->name, "second") && str_eq_cstr(d->namespace_, "d"));
    assert_true(str_eq_cstr(d->id, "id") && str_eq(d->node, names[2]) && d->at_ms > 0);
    assert_true(d->asked_n == NODES && d->fit_n == NODES && d->ranked_n == NODES && d->rule == 0);
    assert_true(str_eq(d->best, names[2]) && str_eq(d->next, names[0]) && d->reason == PACK_BY_SCORE);
    for (uint32_t i = 0; i < d->part_n; i++) {
        best += d->parts[i].best;
        next += d->parts[i].next;
    }
    assert_true(d->part_n == 2 && best == d->best_score && next == d->next_score && best > next);
    assert_string_equal(sentence(d),
                        "of 4 nodes 4 fit; binpack put n2 before n0: then its GPUs are 35.00 % used, those of "
                        "n0 10.00 %; compute 35.00 % and 10.00 %; memory 35.00 % and 10.00 %");
}

/* kube-scheduler does not ask for an order then (contract.md 2.3). */
static void decision__one_node_is_left__is_filters(void **state)
{
    const struct decision_note *d;
    struct test_pod p;

    for (size_t i = 0; i < NODES - 1; i++) {
        char uid[16];

        for (int k = 0; k < 2; k++) {
            snprintf(uid, sizeof(uid), "f%zu-%d", i, k);
            schedule(make_pod(&p, uid, 600), names[i]);
        }
    }
    make_pod(&p, "p", 600);
    filter(&p.pod, names, NODES);
    bind(&p.pod, names[3]);
    d = newest();
    assert_true(d->asked_n == NODES && d->fit_n == 1 && d->ranked_n == 1 && d->reason == PACK_BY_NONE);
    assert_true(str_eq(d->best, names[3]) && d->next.n == 0);
    assert_string_equal(sentence(d), "of 4 nodes 1 fit; n3 was the only choice");
}

static void decision__filter_answers_one_of_several__says_the_next(void **state)
{
    const struct decision_note *d;
    struct test_pod p;

    policy.candidates = 1;
    schedule(make_pod(&p, "first", 500), names[3]);
    make_pod(&p, "p", 100);
    filter(&p.pod, names, NODES);
    bind(&p.pod, names[3]);
    d = newest();
    assert_true(d->ranked_n == NODES && str_eq(d->best, names[3]) && str_eq(d->next, names[0]));
}

static void decision__nobody_asked_for_an_order__says_so(void **state)
{
    struct test_pod p;

    make_pod(&p, "p", 100);
    filter(&p.pod, names, NODES);
    bind(&p.pod, names[1]);
    assert_int_equal(newest()->ranked_n, 0);
    assert_string_equal(sentence(found[0]),
                        "of 4 nodes 4 fit; nobody asked this fgpu for their order; bind asked for n1");
}

static void decision__next_was_promised_to_another__says_so(void **state)
{
    struct test_pod first, p;
    const struct decision_note *d;

    for (size_t i = 0; i < 2; i++) { /* two nodes with one place for it */
        char uid[16];

        snprintf(uid, sizeof(uid), "f%zu", i);
        bind(make_pod(&first, uid, 1000), names[i]);
        snprintf(uid, sizeof(uid), "g%zu", i);
        bind(make_pod(&first, uid, 100), names[i]);
    }
    make_pod(&first, "first", 900);
    filter(&first.pod, names, 2);
    prioritize(&first.pod, names, 2); /* is promised n0 */
    make_pod(&p, "p", 900);
    filter(&p.pod, names, 2);
    prioritize(&p.pod, names, 2);
    bind(&p.pod, names[1]);
    d = newest();
    assert_true(str_eq(d->best, names[1]) && d->reason == PACK_BY_PROMISE && d->part_n == 0);
    assert_non_null(strstr(sentence(d), "n1 before n0: the latter has no room beside pods that were just promised it"));
}

static const struct demand tenth = DEMAND_OF_SHARE(100);

static void the_best_gets_another(void)
{
    struct test_pod p;

    bind(make_pod(&p, "another", 100), names[2]);
}

static void the_next_gets_another(void)
{
    struct test_pod p;

    bind(make_pod(&p, "another", 100), names[0]);
}

static void the_best_is_full(void)
{
    struct test_pod p;

    bind(make_pod(&p, "a", 500), names[2]);
    bind(make_pod(&p, "b", 1000), names[2]);
}

static void the_best_goes(void)
{
    apply((struct ledger_op){.kind = LEDGER_NODE_GONE, .name = names[2]});
}

static void another_node_gets_one(void)
{
    struct test_pod p;

    bind(make_pod(&p, "another", 100), names[3]);
}

/* Parts that are not those of the scores that were compared would explain something else. */
static void decision__its_nodes_change_before_it_is_explained__without_parts(void **state)
{
    static const struct {
        void (*change)(void);
        uint32_t part_n;
    } rows[] = {{NULL, 2},
                {another_node_gets_one, 2},
                {the_best_gets_another, 0},
                {the_next_gets_another, 0},
                {the_best_is_full, 0},
                {the_best_goes, 0}};
    const struct view_pod asking = {.uid = STR("p"), .namespace_ = STR("d"), .demand = &tenth};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_pack_answer answer;
        struct pack_result results[NODES];
        struct pack_key buffer[NODES];
        struct decision_note *d;
        struct test_pod first;

        assert_int_equal(teardown(NULL), 0);
        assert_int_equal(setup(NULL), 0);
        bind(make_pod(&first, "first", 500), names[2]);
        assert_int_equal(store_pack(store, &arena, &asking, &context.plans, NULL, 0, names, NODES, &answer, NULL), 0);
        assert_int_equal(pack_rank(answer.results, answer.n, 0, buffer), NODES);
        memcpy(results, answer.results, sizeof(results));
        answer.results = results; /* the arena is reset by what follows */
        if (rows[i].change != NULL) {
            rows[i].change();
        }
        d = store_explain(store, &arena, &asking, STR("p"), &context.plans, &answer, NODES);
        assert_true(d->reason == PACK_BY_SCORE && str_eq(d->best, names[2]) && str_eq(d->next, names[0]));
        assert_true(d->best_score > d->next_score);
        assert_int_equal(d->part_n, rows[i].part_n);
        decision_put(d);
    }
}

static void decision__strategy_that_looks_ahead__its_parts_add_up(void **state)
{
    const struct decision_note *d = NULL;
    unsigned with_parts = 0;
    struct test_pod p;

    use(STR("rsp"));
    for (int i = 0; i < 12; i++) {
        int64_t best = 0, next = 0;
        char uid[16];

        snprintf(uid, sizeof(uid), "p%d", i);
        schedule(make_pod(&p, uid, i % 2 == 0 ? 300 : 400), names[i % 3]);
        d = newest();
        assert_string_equal(d->criteria[0]->name, "rsp");
        for (uint32_t k = 0; k < d->part_n; k++) {
            best += d->parts[k].best;
            next += d->parts[k].next;
        }
        if (d->reason == PACK_BY_SCORE) {
            with_parts++;
            assert_true(d->part_n > 0 && best == d->best_score && next == d->next_score);
            assert_non_null(strstr(sentence(d), " milli of what expected pods could use, on n"));
        }
    }
    assert_true(with_parts > 3);
}

static void decision__by_several_criteria__the_score_of_each(void **state)
{
    struct test_pod p;
    const struct decision_note *d;

    policy.node_criteria = (struct criteria){.names = {STR("gpu-packing"), STR("binpack")}, .n = 2};
    policy.node_strategy = STR("gpu-packing");
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    schedule(make_pod(&p, "first", 500), names[1]);
    schedule(make_pod(&p, "p", 100), names[1]);
    d = newest();
    assert_true(d->criterion_n == 2 && d->weights_milli[0] == 0 && d->reason == PACK_BY_SCORE && d->part_n == 2);
    assert_true(d->best_score == 95 && d->next_score == 31 && d->parts[0].best == 95 && d->parts[1].best == 6000);
    assert_string_equal(sentence(d), "of 4 nodes 4 fit; gpu-packing, then binpack put n1 before n0: by gpu-packing "
                                     "scores 95 and 31");
}

static void judge_by(struct str first, struct str second, int32_t first_milli, int32_t second_milli)
{
    policy.node_criteria =
        (struct criteria){.names = {first, second}, .n = 2, .weights_milli = {first_milli, second_milli}};
    policy.node_strategy = first;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
}

/* Of two that decide in turn, the one that decided, in words that mean something. */
static void decision__by_a_chain__says_which_criterion_decided(void **state)
{
    const struct decision_note *d;
    struct test_pod p;

    judge_by(STR("gpu-packing"), STR("tight-fit"), 0, 0);
    schedule(make_pod(&p, "first", 550), names[1]);
    schedule(make_pod(&p, "second", 590), names[2]);
    schedule(make_pod(&p, "p", 400), names[2]);
    d = newest();
    assert_true(d->reason == PACK_BY_SCORE && d->decided_by == 1 && d->best_score > d->next_score);
    assert_string_equal(sentence(d),
                        "of 4 nodes 4 fit; gpu-packing, then tight-fit put n2 before n1: equal by gpu-packing, "
                        "and by tight-fit there and here it leaves 1.00 % and 5.00 % of compute or memory, "
                        "whichever is less, on the GPUs that it takes");
}

/* By none of the two: then it is another thing that puts one before the other, and no criterion is named. */
static void decision__by_a_chain_that_knows_no_difference__by_what_follows_it(void **state)
{
    const struct decision_note *d;
    struct test_pod p;

    judge_by(STR("binpack"), STR("tight-fit"), 0, 0);
    schedule(make_pod(&p, "p", 400), names[0]);
    d = newest();
    assert_int_not_equal(d->reason, PACK_BY_SCORE);
    assert_int_equal(d->decided_by, 0);
    assert_int_equal(d->best_score, d->next_score);
    assert_null(strstr(sentence(d), "by tight-fit"));
}

/* Points that were compared, and they add up. */
static void decision__by_weights__the_points_of_each_add_up(void **state)
{
    const struct decision_note *d;
    struct test_pod p;

    judge_by(STR("tight-fit"), STR("spread"), 750, 500);
    schedule(make_pod(&p, "first", 500), names[1]);
    schedule(make_pod(&p, "p", 100), names[1]);
    d = newest();
    assert_true(d->criterion_n == 2 && d->weights_milli[1] == 500 && d->reason == PACK_BY_SCORE && d->part_n == 2);
    assert_int_equal(d->parts[0].best + d->parts[1].best, d->best_score);
    assert_int_equal(d->parts[0].next + d->parts[1].next, d->next_score);
    assert_true(d->best_score == 750000 && d->next_score == 500000);
    assert_string_equal(sentence(d),
                        "of 4 nodes 4 fit; weighted tight-fit 0.75 and spread 0.5 put n1 before n0: 750 and "
                        "500 of 1250 points; of this by tight-fit 750 and 0, by spread 0 and 500");
}

/* Found in the file by its place and by what it selects. */
static void decision__by_a_packing_rule__says_which(void **state)
{
    const struct str namespaces[] = {STR("a-*"), STR("d")};
    struct kv labels[] = {{STR("tier"), STR("online")}}, zone = {STR("zone"), STR("z1")};
    const struct packing_rule rules[] = {
        {.pod_selector = {labels, 1}, .node_strategy = STR("spread")},
        {.namespaces = namespaces, .namespace_n = 2, .node_selector = {NULL, 0}, .node_strategy = STR("fgd")},
    };
    const struct packing_rule both = {.pod_selector = {labels, 1}, .node_selector = {&zone, 1}};
    const struct decision_note *d;
    struct test_pod p;
    char text[PACKING_RULE_WORDS_MAX], cut[30];

    policy.rules = rules;
    policy.rule_n = 2;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    schedule(make_pod(&p, "p", 100), names[0]);
    d = newest();
    assert_int_equal(d->rule, 2);
    assert_string_equal(sentence(d),
                        "of 4 nodes 4 fit; fgd (packing.rules[1] {namespaces: [a-*, d]}) put n0 before n1: they "
                        "are equal, and it is the first by name");
    assert_string_equal(packing_rule_words(&both, 7, text, sizeof(text)),
                        "packing.rules[7] {podSelector: {tier: online}, nodeSelector: {zone: z1}}");
    assert_string_equal(packing_rule_words(&both, 7, cut, sizeof(cut)), "packing.rules[7] {podSelec...");
}

static void choose(struct decisions *all, const struct decision_note *pod, struct str node, struct str id,
                   int64_t at_ms)
{
    decisions_choose(
        all,
        &(struct decision_note){
            .uid = pod->uid, .namespace_ = pod->namespace_, .name = pod->name, .node = node, .id = id, .at_ms = at_ms});
}

/* The newest first; pods that never come to a bind push nothing out. */
static void kept__more_than_there_is_room__the_oldest_go(void **state)
{
    struct decisions *all = decisions_new();
    struct decision_note *kept[DECISIONS_KEPT];
    char uid[16];
    size_t n;

    for (int i = 0; i < DECISIONS_KEPT + 10; i++) {
        const struct decision_note d = {.uid = {uid, (size_t)snprintf(uid, sizeof(uid), "u%d", i)},
                                        .namespace_ = i % 2 == 0 ? STR("even") : STR("odd")};

        decisions_consider(all, decision_new(&d, NULL, 0));
        choose(all, &d, i % 4 == 0 ? STR("a") : STR("b"), STR("id"), i);
    }
    for (int i = 0; i < 2 * DECISIONS_CONSIDERED; i++) {
        const struct decision_note d = {.uid = {uid, (size_t)snprintf(uid, sizeof(uid), "w%d", i)}};

        decisions_consider(all, decision_new(&d, NULL, 0));
    }
    n = decisions_kept(all, STR_NULL, STR_NULL, kept);
    assert_int_equal(n, DECISIONS_KEPT);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(kept[i]->at_ms, DECISIONS_KEPT + 9 - i);
        decision_put(kept[i]);
    }
    n = decisions_kept(all, STR_NULL, STR("odd"), kept);
    assert_int_equal(n, DECISIONS_KEPT / 2);
    while (n > 0) {
        assert_true(str_eq_cstr(kept[--n]->namespace_, "odd"));
        decision_put(kept[n]);
    }
    n = decisions_kept(all, STR("a"), STR("odd"), kept);
    assert_int_equal(n, 0);
    n = decisions_kept(all, STR("a"), STR_NULL, kept);
    assert_int_equal(n, DECISIONS_KEPT / 4);
    decisions_free(all); /* whoever has a reference may go on */
    while (n > 0) {
        assert_true(str_eq_cstr(kept[--n]->node, "a"));
        decision_put(kept[n]);
    }
}

/* For who follows: what came since, at most so many of the newest. */
static void kept_after__a_count__those_that_came_since(void **state)
{
    static const struct {
        uint64_t kept_n, after;
        size_t max, n; /* the newest n */
    } rows[] = {{0, 0, 10, 0},
                {5, 0, 10, 5},
                {5, 3, 10, 2},
                {5, 5, 10, 0},
                {5, 0, 5, 5},
                {5, 0, 4, 4},
                {5, 1, 4, 4},
                {5, 9, 10, 5}, /* of an earlier life of the process */
                {5, 9, 2, 2},
                {DECISIONS_KEPT + 7, 0, DECISIONS_KEPT + 100, DECISIONS_KEPT},
                {DECISIONS_KEPT + 7, 7, DECISIONS_KEPT, DECISIONS_KEPT},
                {DECISIONS_KEPT + 7, DECISIONS_KEPT + 6, 3, 1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct decisions *all = decisions_new();
        struct decision_note *got[DECISIONS_KEPT];
        uint64_t count = 0;
        size_t n;

        for (uint64_t k = 0; k < rows[i].kept_n; k++) {
            const struct decision_note d = {.uid = STR("u"), .namespace_ = STR("ns")};

            decisions_consider(all, decision_new(&d, NULL, 0));
            choose(all, &d, STR("n"), STR("id"), (int64_t)k);
        }
        assert_int_equal(decisions_kept_count(all), rows[i].kept_n);
        n = decisions_kept_after(all, rows[i].after, rows[i].max, got, &count);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(count, rows[i].kept_n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(got[k]->at_ms, rows[i].kept_n - n + k); /* the oldest first */
            decision_put(got[k]);
        }
        decisions_free(all);
    }
}

static void considered__again_and_bound_twice__only_the_last_attempt_counts(void **state)
{
    struct decisions *all = decisions_new();
    struct decision_note *kept[DECISIONS_KEPT];
    struct decision_note d = {.uid = STR("u"), .asked_n = 7, .fit_n = 5};
    size_t n;

    choose(all, &d, STR("a"), STR("none"), 1); /* nothing was considered */
    decisions_consider(all, decision_new(&d, NULL, 0));
    d = (struct decision_note){.uid = STR("u"), .ranked_n = 3, .best = STR("a")};
    decisions_consider(all, decision_new(&d, NULL, 0)); /* prioritize knows nothing of filter's numbers */
    choose(all, &d, STR("a"), STR("first"), 2);
    choose(all, &d, STR("a"), STR("second"), 3);
    n = decisions_kept(all, STR_NULL, STR_NULL, kept);
    assert_int_equal(n, 1);
    assert_true(str_eq_cstr(kept[0]->id, "first") && kept[0]->asked_n == 7 && kept[0]->fit_n == 5);
    assert_true(kept[0]->ranked_n == 3 && str_eq_cstr(kept[0]->best, "a"));
    decision_put(kept[0]);
    decisions_free(all);
}

/* Only pods that wait take a place. */
static void considered__many_are_bound_meanwhile__who_waits_is_not_forgotten(void **state)
{
    struct decisions *all = decisions_new();
    struct decision_note *kept[DECISIONS_KEPT];
    const struct decision_note first = {.uid = STR("first"), .asked_n = 3};
    char uid[16];
    size_t n;

    decisions_consider(all, decision_new(&first, NULL, 0));
    for (int i = 0; i < 2 * DECISIONS_CONSIDERED; i++) {
        const struct decision_note d = {.uid = {uid, (size_t)snprintf(uid, sizeof(uid), "u%d", i)}};

        decisions_consider(all, decision_new(&d, NULL, 0));
        choose(all, &d, STR("b"), STR("id"), 1);
    }
    choose(all, &first, STR("a"), STR("id"), 2);
    n = decisions_kept(all, STR("a"), STR_NULL, kept);
    assert_int_equal(n, 1);
    assert_true(!kept[0]->lost && kept[0]->asked_n == 3);
    decision_put(kept[0]);
    decisions_free(all);
}

/* It has its line, and the line says that the reasons are gone. A pod that nobody asked about has none. */
static void considered__more_than_there_is_room__the_loss_is_said_in_its_place(void **state)
{
    struct decisions *all = decisions_new();
    struct decision_note *kept[DECISIONS_KEPT];
    const struct decision_note first = {.uid = STR("first"), .namespace_ = STR("d"), .name = STR("p"), .asked_n = 3};
    const struct decision_note unseen = {.uid = STR("unseen"), .namespace_ = STR("d"), .name = STR("q")};
    char uid[16];
    size_t n;

    decisions_consider(all, decision_new(&first, NULL, 0));
    for (int i = 0; i < DECISIONS_CONSIDERED; i++) {
        const struct decision_note d = {.uid = {uid, (size_t)snprintf(uid, sizeof(uid), "u%d", i)}};

        decisions_consider(all, decision_new(&d, NULL, 0));
    }
    choose(all, &unseen, STR("a"), STR("none"), 1);
    choose(all, &first, STR("a"), STR("id"), 2);
    choose(all, &first, STR("a"), STR("again"), 3); /* said once */
    n = decisions_kept(all, STR("a"), STR("d"), kept);
    assert_int_equal(n, 1);
    assert_true(kept[0]->lost && str_eq_cstr(kept[0]->id, "id") && str_eq_cstr(kept[0]->name, "p") &&
                kept[0]->at_ms == 2);
    assert_string_equal(sentence(kept[0]),
                        "why is not known any more: more than 256 pods waited for their bind, and the "
                        "oldest were forgotten; bind asked for a");
    decision_put(kept[0]);
    decisions_consider(all, decision_new(&first, NULL, 0)); /* tried again: then it is known */
    choose(all, &first, STR("a"), STR("new"), 4);
    n = decisions_kept(all, STR_NULL, STR_NULL, kept);
    assert_true(n == 2 && !kept[0]->lost && kept[0]->asked_n == 3);
    decision_put(kept[0]);
    decision_put(kept[1]);
    decisions_free(all);
}

/* Whoever calls filter may claim any name. */
static void considered__names_no_pod_can_have__are_not_kept(void **state)
{
    static char text[300];
    struct decisions *all = decisions_new();
    struct decision_note *kept[DECISIONS_KEPT];
    const struct str lengthy = {text, sizeof(text)};
    const struct decision_note rows[] = {{.uid = lengthy},
                                         {.uid = STR_NULL},
                                         {.uid = STR("u"), .name = lengthy},
                                         {.uid = STR("u"), .namespace_ = {text, 64}}};

    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        decisions_consider(all, decision_new(&rows[i], NULL, 0));
        choose(all, &rows[i], STR("a"), STR("id"), 1);
        assert_int_equal(decisions_kept(all, STR_NULL, STR_NULL, kept), 0);
    }
    decisions_free(all);
}

/* ---- words ---- */

static void sentence__of_rsp__says_milli_and_only_what_differs(void **state)
{
    const struct reason_part parts[] = {
        {.of = {.kind = SCORE_PART_FILL}, .best = -180 * FORECAST_MILLI, .next = -120 * FORECAST_MILLI},
        {.of = {.kind = SCORE_PART_PLACES}, .best = 5, .next = 5},
        {.of = {.kind = SCORE_PART_HOSTS, .count = 1}, .best = -1, .next = -FORECAST_MILLI},
        {.of = {.kind = SCORE_PART_GANGS, .count = 8, .milli = 1000}, .best = 0, .next = -300 * FORECAST_MILLI},
        {.of = {.kind = SCORE_PART_SIZES, .milli = 700, .mem_mib = 1024},
         .best = FORECAST_MILLI,
         .next = -FORECAST_MILLI},
    };
    struct decision_note d = {.criteria = {strategy_find(STR("rsp"))},
                              .criterion_n = 1,
                              .rule = 2,
                              .rule_text = STR("packing.rules[1] {namespaces: [a]}"),
                              .ranked_n = 9,
                              .best = STR("node-a"),
                              .next = STR("node-b"),
                              .reason = PACK_BY_SCORE,
                              .best_score = -180 * FORECAST_MILLI,
                              .next_score = -420 * FORECAST_MILLI - 600};
    struct decision_note *made = decision_new(&d, parts, sizeof(parts) / sizeof(parts[0]));
    char cut[20];

    assert_string_equal(
        sentence(made),
        "rsp (packing.rules[1] {namespaces: [a]}) put node-a before node-b: there it takes 180 milli of what expected "
        "pods could use, on "
        "node-b 420; of this what expected pods would fill 180 and 120, idle GPUs of the nodes that certain pods need "
        "0.0007 and 1.0000, places for pods of 8 GPUs 0 and 300, GPUs with 700 milli free and 1024 MiB free -1 and 1");
    assert_string_equal(decision_sentence(made, cut, sizeof(cut)), "rsp (packing.rules[");
    decision_put(made);
}

static void sentence__of_each_reason__reads_well(void **state)
{
    static const struct {
        enum pack_reason reason;
        const char *text;
    } rows[] = {
        {PACK_BY_DOUBT, "fgd put a before b: an earlier decision for the latter may still take effect, so bind refuses "
                        "it now"},
        {PACK_BY_PROMISE, "fgd put a before b: the latter has no room beside pods that were just promised it"},
        {PACK_BY_RULE, "fgd put a before b: a later packing rule, or none, holds on the latter"},
        {PACK_BY_SLACK, "fgd put a before b: less of a fixed slice is wasted"},
        {PACK_BY_SCORE, "fgd put a before b: scores 57 and 43"},
        {PACK_BY_NAME, "fgd put a before b: they are equal, and it is the first by name"},
        {PACK_BY_NONE, "a was the only choice"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct decision_note d = {.criteria = {strategy_find(STR("fgd"))},
                                        .criterion_n = 1,
                                        .ranked_n = 2,
                                        .node = STR("a"),
                                        .best = STR("a"),
                                        .next = STR("b"),
                                        .reason = rows[i].reason,
                                        .best_score = 57,
                                        .next_score = 43};

        assert_string_equal(sentence(&d), rows[i].text);
    }
}

static void sentence__of_tight_fit__counts_gpus_and_shares(void **state)
{
    const int64_t opening = SCORE_PART_EMPTY_MAX * SCORE_PART_OPENING,
                  step = SCORE_PART_EMPTY_MAX * SCORE_PART_LEFT_STEP;
    const struct reason_part parts[] = {
        {.of = {.kind = SCORE_PART_OPENED}, .best = 0, .next = -opening},
        {.of = {.kind = SCORE_PART_LEFT}, .best = -1230 * step, .next = -4000 * step},
        {.of = {.kind = SCORE_PART_EMPTY}, .best = -3, .next = -4},
    };
    const struct decision_note d = {.criteria = {strategy_find(STR("tight-fit"))},
                                    .criterion_n = 1,
                                    .ranked_n = 2,
                                    .best = STR("a"),
                                    .next = STR("b"),
                                    .reason = PACK_BY_SCORE,
                                    .best_score = -1230 * step - 3,
                                    .next_score = -opening - 4000 * step - 4};
    struct decision_note *made = decision_new(&d, parts, sizeof(parts) / sizeof(parts[0]));

    assert_string_equal(sentence(made),
                        "tight-fit put a before b: there and here it shares 0 and 1 GPUs that were empty, "
                        "leaves 12.30 % and 40.00 % of compute or memory, whichever is less, on the GPUs "
                        "that it takes, leaves 3 and 4 GPUs empty");
    decision_put(made);
}

/* Whoever makes one may forget where its text came from. */
static void decision__made__has_text_of_its_own(void **state)
{
    char text[8][8];
    struct str *fields[8];
    struct decision_note from = {.ranked_n = 2}, *d;
    const struct reason_part parts[] = {{.best = 7, .next = 5}, {.best = 4, .next = 3}};

    fields[0] = &from.uid;
    fields[1] = &from.namespace_;
    fields[2] = &from.name;
    fields[3] = &from.best;
    fields[4] = &from.next;
    fields[5] = &from.rule_text;
    fields[6] = &from.id;
    fields[7] = &from.node;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        snprintf(text[i], sizeof(text[i]), "text-%zu", i);
        *fields[i] = str_of(text[i]);
    }
    d = decision_new(&from, parts, ARRAY_LEN(parts));
    memset(text, 'x', sizeof(text));
    assert_true(str_eq_cstr(d->uid, "text-0") && str_eq_cstr(d->namespace_, "text-1") &&
                str_eq_cstr(d->name, "text-2"));
    assert_true(str_eq_cstr(d->best, "text-3") && str_eq_cstr(d->next, "text-4"));
    assert_true(str_eq_cstr(d->rule_text, "text-5"));
    assert_int_equal(d->id.n + d->node.n, 0); /* bind says them */
    assert_int_equal(d->part_n, 2);
    assert_memory_equal(d->parts, parts, sizeof(parts));
    decision_put(d);
    decision_put(NULL);
}

int main(void)
{
#define STORE_TEST(f_) cmocka_unit_test_setup_teardown(f_, setup, teardown)
    const struct CMUnitTest tests[] = {
        STORE_TEST(decision__best_of_several__says_what_put_it_before_the_next),
        STORE_TEST(decision__one_node_is_left__is_filters),
        STORE_TEST(decision__filter_answers_one_of_several__says_the_next),
        STORE_TEST(decision__nobody_asked_for_an_order__says_so),
        STORE_TEST(decision__next_was_promised_to_another__says_so),
        STORE_TEST(decision__its_nodes_change_before_it_is_explained__without_parts),
        STORE_TEST(decision__strategy_that_looks_ahead__its_parts_add_up),
        STORE_TEST(decision__by_several_criteria__the_score_of_each),
        STORE_TEST(decision__by_a_chain__says_which_criterion_decided),
        cmocka_unit_test(decision__made__has_text_of_its_own),
        STORE_TEST(decision__by_a_chain_that_knows_no_difference__by_what_follows_it),
        STORE_TEST(decision__by_weights__the_points_of_each_add_up),
        STORE_TEST(decision__by_a_packing_rule__says_which),
        cmocka_unit_test(kept__more_than_there_is_room__the_oldest_go),
        cmocka_unit_test(kept_after__a_count__those_that_came_since),
        cmocka_unit_test(considered__again_and_bound_twice__only_the_last_attempt_counts),
        cmocka_unit_test(considered__many_are_bound_meanwhile__who_waits_is_not_forgotten),
        cmocka_unit_test(considered__more_than_there_is_room__the_loss_is_said_in_its_place),
        cmocka_unit_test(considered__names_no_pod_can_have__are_not_kept),
        cmocka_unit_test(sentence__of_rsp__says_milli_and_only_what_differs),
        cmocka_unit_test(sentence__of_each_reason__reads_well),
        cmocka_unit_test(sentence__of_tight_fit__counts_gpus_and_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
