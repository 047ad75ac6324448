/* Pods that were refused on a sample while another node takes them. kube-scheduler is a model here: it samples, rotates
 * its first node, refuses nodes itself, and tries refused pods again after an event. No duration is asserted. */
#include "extender/elsewhere.h"
#include "extender/elsewhere_budget.h"
#include "extender/elsewhere_pods.h"
#include "extender/support/tested_store.h"

#include "base/bug.h"
#include "base/rng.h"
#include "core/placement/pack.h"
#include "support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODES_MAX = 640, PODS_MAX = 8 };

static struct clock_manual now;
static struct policy_set *policies;
static struct requeue_trigger *trigger;
static struct elsewhere *elsewhere;
static atomic_int sent_n;
static int noticed_n; /* of them */

static const struct demand demand = DEMAND_OF_SHARE(600);

static char node_text[NODES_MAX][16];
static struct str node_names[NODES_MAX];

static void send(void *ctx, struct requeue_trigger *w)
{
    (void)ctx;
    atomic_fetch_add(&sent_n, 1); /* before nothing is under way any more */
    requeue_trigger_sent(w, WAKE_DONE, "test");
}

static int setup(void **state)
{
    /* So late that no thread wakes up by itself; requeue_trigger_due_ns() has it look at the clock. */
    clock_manual_init(&now, 4000000000000000000, 5000);
    store_open(&now.clock);
    policies = policy_set_new(rules_of(policy_defaults(), 1));
    atomic_store(&sent_n, 0);
    noticed_n = 0;
    (void)state;
    return requeue_trigger_new(store, &now.clock, NULL, send, NULL, &trigger, NULL) != 0 ||
           elsewhere_new(store, policies, &now.clock, NULL, trigger, &elsewhere, NULL) != 0;
}

static int teardown(void **state)
{
    requeue_trigger_stop(trigger);
    elsewhere_free(elsewhere);
    requeue_trigger_free(trigger);
    policy_set_free(policies);
    return store_teardown(state);
}

/* ---- the cluster ---- */

static void describe(int i, bool room)
{
    struct device device = {.index = 0, .minor = -1, .mem_mib = 1000, .slot_n = 16, .numa = -1, .healthy = room};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};

    (void)snprintf(node_text[i], sizeof(node_text[i]), "n%03d", i);
    node_names[i] = str_of(node_text[i]);
    apply((struct ledger_op){.kind = LEDGER_NODE_DESCRIBED,
                             .node = {.name = node_names[i], .schedulable = true, .inventory = &inventory}});
}

static void describe_all(int n, int with_room)
{
    for (int i = 0; i < n; i++) {
        describe(i, i == with_room);
    }
}

/* ---- one question, without a scheduler ---- */

static struct view_pod asking(const char *uid)
{
    return (struct view_pod){.uid = str_of(uid), .namespace_ = STR("d"), .demand = &demand};
}

/* Filter over these names. True: some node takes the pod, the best of them is *ret. */
static bool filter(const char *uid, const struct str *names, size_t n, struct str *ret)
{
    const struct rules *rules = policy_set_take(policies);
    struct filter_result r = {.outcome = FILTER_NONE_FITS, .pod = asking(uid)};
    struct store_pack_answer answer;
    bool fits = false;

    arena_reset(&arena);
    assert_int_equal(store_pack(store, &arena, &r.pod, &rules->placement.plans, NULL, 0, names, n, &answer, NULL), 0);
    rules_put(rules);
    for (size_t i = 0; i < answer.n && !fits; i++) {
        fits = answer.results[i].verdict == VERDICT_FITS;
        *ret = answer.results[i].name;
    }
    if (!fits) {
        r.results = answer.results;
        r.result_n = answer.n;
        r.asked = answer.asked;
        elsewhere_refused(elsewhere, &r);
        elsewhere_drain(elsewhere);
    }
    return fits;
}

static void refused(const char *uid, int first, int n)
{
    struct str unused;

    assert_false(filter(uid, &node_names[first], (size_t)n, &unused));
}

static struct elsewhere_counts counts(void)
{
    struct elsewhere_counts c;

    elsewhere_counts(elsewhere, &c);
    return c;
}

/* Has one been sent that nobody has taken notice of? Whatever is due by now, is. */
static bool is_sent(void)
{
    while (requeue_trigger_due_ns(trigger) <= clock_mono_ns(&now.clock)) {
        usleep(50);
    }
    return atomic_load(&sent_n) > noticed_n;
}

/* The next PATCH, however long that takes. False: none is due. */
static bool next_is_sent(void)
{
    if (!is_sent()) {
        const int64_t at_ns = requeue_trigger_due_ns(trigger);

        if (at_ns == INT64_MAX) {
            return false;
        }
        clock_manual_advance_ms(&now, (at_ns - clock_mono_ns(&now.clock) + NS_PER_MS - 1) / NS_PER_MS);
        assert_true(is_sent());
    }
    noticed_n++;
    return true;
}

static void a_node_outside_of_the_sample__wakes(void **state)
{
    describe_all(200, 150);
    refused("a", 0, 100);
    assert_int_equal(counts().woken_n, 1);
    assert_true(next_is_sent());
    assert_false(next_is_sent());
}

static void no_node_outside_of_the_sample__is_silent(void **state)
{
    describe_all(200, -1);
    refused("a", 0, 100);
    assert_int_equal(counts().searched_n, 1);
    assert_int_equal(counts().woken_n, 0);
    assert_false(next_is_sent());
}

/* kube-scheduler does not stop at fewer than a hundred: it has looked at every node. */
static void fewer_names_than_any_sample__are_all_there_are(void **state)
{
    describe_all(200, 150);
    refused("a", 0, 99);
    assert_int_equal(counts().searched_n, 0);
}

/* Its taint is known: no attempt will name it. */
static void the_node_is_tainted__is_silent(void **state)
{
    struct taint taint = {.key = STR("k"), .value = STR("v"), .effect = TAINT_NO_SCHEDULE};
    struct device device = {.index = 0, .minor = -1, .mem_mib = 1000, .slot_n = 16, .numa = -1, .healthy = true};
    const struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &device, .device_n = 1};

    describe_all(200, -1);
    apply_pod("a", NULL, &demand);
    apply((struct ledger_op){
        .kind = LEDGER_NODE_DESCRIBED,
        .node = {
            .name = node_names[150], .schedulable = true, .inventory = &inventory, .taints = &taint, .taint_n = 1}});
    refused("a", 0, 100);
    assert_int_equal(counts().searched_n, 1);
    assert_int_equal(counts().woken_n, 0);
}

/* The same names again and again: what is left is given up after ELSEWHERE_STALE_MAX more attempts, until it changes.
 */
static void nodes_that_are_never_named__are_given_up_until_they_change(void **state)
{
    describe_all(200, 150);
    for (int i = 0; i < ELSEWHERE_STALE_MAX + 1; i++) {
        refused("a", 0, 100);
        assert_int_equal(counts().woken_n, i + 1);
        while (next_is_sent()) { /* every other time it is a pair */
        }
    }
    assert_int_equal(atomic_load(&sent_n), 1 + ELSEWHERE_STALE_MAX * 3 / 2);
    for (int i = 0; i < 20; i++) {
        refused("a", 0, 100);
    }
    assert_int_equal(counts().woken_n, ELSEWHERE_STALE_MAX + 1);
    assert_int_equal(counts().given_up_n, 1);
    refused("b", 0, 100); /* another pod may be let in where this one is not */
    assert_int_equal(counts().woken_n, ELSEWHERE_STALE_MAX + 2);
    describe(150, true); /* a label, perhaps */
    refused("a", 0, 100);
    assert_int_equal(counts().woken_n, ELSEWHERE_STALE_MAX + 3);
}

static int64_t due_in_ms(void)
{
    return (requeue_trigger_due_ns(trigger) - clock_mono_ns(&now.clock)) / NS_PER_MS;
}

/* A ledger that never rests: each change of the node that nobody names is news. */
static void nodes_that_change_without_end__are_waited_for_more_and_more_seldom(void **state)
{
    describe_all(200, 150);
    for (int i = 0; i < 100; i++) {
        describe(50, false);
        describe(150, true);
        refused("a", 0, 100);
        while (due_in_ms() <= REQUEUE_TRIGGER_PAUSE_MS) {
            (void)next_is_sent();
        }
    }
    assert_in_range(due_in_ms(), REQUEUE_TRIGGER_PAUSE_MS, ELSEWHERE_REFILL_MS);
    assert_in_range(atomic_load(&sent_n), 1, 2 * 3 + ELSEWHERE_SPARE);
}

/* That a node is full is known before kube-scheduler names it; that it names it shows that it goes on all the same. */
static void samples_of_full_nodes_on_the_way__cost_no_pause(void **state)
{
    describe_all(600, 550);
    for (int first = 0; first < 500; first += 100) {
        refused("a", first, 100);
        assert_true(is_sent() || due_in_ms() <= REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
        assert_true(next_is_sent());
        assert_false(next_is_sent());
    }
}

/* The names that are shown never hold the node that takes the pod. */
static void give_up_on(const char *uid)
{
    const uint64_t before = counts().given_up_n;

    for (int i = 0; i < 100 && counts().given_up_n == before; i++) {
        refused(uid, 0, 100);
        while (next_is_sent()) {
        }
    }
    assert_int_equal(counts().given_up_n, before + 1);
}

/* A small pod is put on the node, which still takes the one that waits, and goes again. */
static void a_node_that_was_given_up__is_news_when_it_gains_not_when_it_loses_room(void **state)
{
    const struct demand small = DEMAND_OF_SHARE(100);
    uint64_t woken_n;

    describe_all(200, 150);
    give_up_on("a");
    woken_n = counts().woken_n;
    apply_pod("small", node_text[150], &small);
    refused("a", 0, 100);
    assert_int_equal(counts().woken_n, woken_n);
    apply((struct ledger_op){.kind = LEDGER_POD_GONE, .name = STR("small")});
    refused("a", 0, 100);
    assert_int_equal(counts().woken_n, woken_n + 1);
}

/* An attempt that has named no new node is waited after; one that names some ends the wait. */
static void a_new_node_is_shown_during_a_pause__the_pause_is_over(void **state)
{
    describe_all(200, 150);
    refused("a", 0, 100);
    assert_true(next_is_sent());
    refused("a", 0, 100);
    assert_int_equal(due_in_ms(), ELSEWHERE_STALE_PAUSE_MS);
    refused("a", 20, 100);
    assert_in_range(due_in_ms(), 0, REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
}

/* Of a PATCH that is shared the time stays, also where the room goes and comes back meanwhile: it is not before its
 * time in vain. */
static void an_attempt_before_a_shared_time__is_no_sign(void **state)
{
    describe_all(200, 150);
    for (int i = 0; i <= 2 * 3 + ELSEWHERE_SPARE; i++) { /* its own, and one more */
        while (next_is_sent()) {
        }
        describe(50, false);
        describe(150, true);
        refused("a", 0, 100);
        assert_int_equal(counts().woken_n, i + 1);
    }
    assert_int_equal(due_in_ms(), ELSEWHERE_REFILL_MS);
    describe(150, false);
    refused("a", 0, 100);
    describe(150, true);
    refused("a", 0, 100);
    assert_int_equal(due_in_ms(), ELSEWHERE_REFILL_MS);
    assert_true(next_is_sent());
    assert_false(next_is_sent()); /* no pair */
}

/* ---- what all share ---- */

#define BEGIN_NS (5 * NS_PER_S)
#define MS(ms_) (BEGIN_NS + (ms_)*NS_PER_MS)

static void budget__nobody_gets_on__twice_as_long_each_time(void **state)
{
    static const int64_t pauses_ms[] = {10000, 20000, 40000, 80000, 160000, 300000, 300000};
    struct elsewhere_budget b;
    int64_t at_ms = 0;

    elsewhere_budget_init(&b, BEGIN_NS);
    for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
        assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(at_ms)), pauses_ms[i]);
        assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(at_ms) + 1), pauses_ms[i]); /* a part of a ms is one */
        assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(at_ms + 1)), pauses_ms[i] - 1);
        assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(at_ms + pauses_ms[i]) - 1), 1);
        at_ms += pauses_ms[i];
    }
}

static void budget__whoever_asks__waits_at_least_his_own_time(void **state)
{
    struct elsewhere_budget b;

    elsewhere_budget_init(&b, BEGIN_NS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 15000, MS(0)), 15000);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(14999)), 1); /* which all share */
    elsewhere_budget_init(&b, BEGIN_NS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 9999, MS(0)), 10000);
}

/* One for each time that nobody asks in, as many as a pod has at most. */
static void budget__nobody_asks_for_a_while__is_filled(void **state)
{
    struct elsewhere_budget b;

    elsewhere_budget_init(&b, BEGIN_NS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(9999)), 10000); /* not yet */
    elsewhere_budget_init(&b, BEGIN_NS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(10000)), REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(10020)), 10000); /* there was one */
    elsewhere_budget_init(&b, BEGIN_NS);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 25, MS(100000 + 25 * i)), 25);
    }
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 25, MS(100075)), 10000);
    /* The last pause was 10 s; now it is as long that nobody may ask. */
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(110075)), 20000);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(130075 + 39999)), 40000);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(170074 + 40000 + 80000)), REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS);
}

static void budget__somebody_gets_on__short_again(void **state)
{
    struct elsewhere_budget b;

    elsewhere_budget_init(&b, BEGIN_NS);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(0)), 10000);
    assert_false(elsewhere_budget_progress(&b, MS(0))); /* it is sent as soon anyway */
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(10000)), 10000);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(20000)), 20000);
    assert_true(elsewhere_budget_progress(&b, MS(29999)));
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(29999)), 10000);
    assert_int_equal(elsewhere_budget_ask_ms(&b, 3, 0, MS(39999)), 10000);
}

/* ---- what is remembered of each ---- */

static struct elsewhere_pods *remembered;

static struct elsewhere_pod *remember(const char *uid, const struct demand *d, uint64_t rules_generation,
                                      int64_t now_ns)
{
    struct demand copy = *d;
    const struct elsewhere_question q = {.pod = asking(uid), .demand = &copy};

    return elsewhere_pods_of(remembered, &q, rules_generation, now_ns);
}

static void put_bits(struct elsewhere_pod *p)
{
    p->asked = (struct store_tried){.bits = xcalloc(1, sizeof(uint64_t)), .word_n = 1, .names_version = 3};
    p->tried = (struct store_tried){.bits = xcalloc(1, sizeof(uint64_t)), .word_n = 1, .names_version = 3};
}

static void pods__another_request_or_other_rules__nodes_are_forgotten_and_not_what_is_spent(void **state)
{
    const struct demand other = DEMAND_OF_SHARE(601);
    struct elsewhere_pod *p;

    remembered = xcalloc(1, sizeof(*remembered));
    p = remember("a", &demand, 1, 1);
    p->spent_n = 5;
    put_bits(p);
    assert_ptr_equal(remember("a", &demand, 1, 2), p);
    assert_non_null(p->asked.bits);
    assert_ptr_equal(remember("a", &other, 1, 3), p);
    assert_true(p->asked.bits == NULL && p->tried.bits == NULL && p->asked.names_version == 0);
    put_bits(p);
    assert_ptr_equal(remember("a", &other, 2, 4), p);
    assert_true(p->asked.bits == NULL && p->tried.bits == NULL);
    assert_true(p->spent_n == 5 && p->heard_ns == 4);
    elsewhere_pods_free(remembered);
    free(remembered);
}

/* Whoever was heard of the longest time ago goes, after twice as long as kube-scheduler waits at most. */
static void pods__all_places_are_taken__shared_until_one_is_not_heard_of(void **state)
{
    const int64_t keep_ns = 2 * ELSEWHERE_VAIN_PAUSE_MAX_MS * NS_PER_MS;
    struct elsewhere_pod *first, *second, *shared;
    const struct demand other = DEMAND_OF_SHARE(601);
    char uid[16];

    remembered = xcalloc(1, sizeof(*remembered));
    for (int i = 0; i < ELSEWHERE_PODS_MAX; i++) {
        (void)snprintf(uid, sizeof(uid), "p%d", i);
        assert_ptr_equal(remember(uid, &demand, 1, 1000 + i), &remembered->pods[i]);
    }
    first = remember("p0", &demand, 1, 5000);
    second = &remembered->pods[1];
    assert_ptr_equal(first, &remembered->pods[0]);
    second->spent_n = 9;
    shared = remember("over", &demand, 1, 1001 + keep_ns - 1);
    assert_ptr_equal(shared, &remembered->others);
    put_bits(shared);
    assert_ptr_equal(remember("over2", &other, 1, 1001 + keep_ns - 1), shared);
    assert_true(shared->asked.bits != NULL && shared->demand == NULL); /* of many: what they ask for is no matter */
    assert_ptr_equal(remember("over2", &other, 2, 1001 + keep_ns - 1), shared);
    assert_null(shared->asked.bits);
    assert_ptr_equal(remember("over", &demand, 2, 1001 + keep_ns), second);
    assert_true(second->spent_n == 0 && str_eq_cstr(second->uid_text, "over"));
    assert_ptr_equal(remember("over", &demand, 2, 1001 + keep_ns), second);
    assert_ptr_equal(remember("p1", &demand, 2, 1001 + keep_ns), shared);
    elsewhere_pods_free(remembered);
    free(remembered);
}

static void pods__asked_about__counted_once_while_the_names_are_the_same(void **state)
{
    uint64_t asked[] = {0x5, 0x1, 0xff}, bits[] = {0x4, 0};
    struct store_tried t = {.bits = bits, .word_n = 2, .names_version = 3};
    const struct elsewhere_question q = {.asked = asked, .asked_word_n = 3, .names_version = 3},
                                    other = {.asked = asked, .asked_word_n = 3, .names_version = 4},
                                    short_ = {.asked = asked, .asked_word_n = 1, .names_version = 3};

    assert_int_equal(elsewhere_add_asked(&t, &other), 1);
    assert_true(bits[0] == 0x4 && bits[1] == 0);
    assert_int_equal(elsewhere_add_asked(&t, &short_), 1);
    assert_true(bits[0] == 0x5 && bits[1] == 0);
    assert_int_equal(elsewhere_add_asked(&t, &q), 1);
    assert_true(bits[0] == 0x5 && bits[1] == 1);
    assert_int_equal(elsewhere_add_asked(&t, &q), 0);
}

/* How many are sent in so many seconds to these pods; before each, the node that none of them is shown gains. */
static int sent_in(int pod_n, int64_t seconds)
{
    const int64_t end_ns = clock_mono_ns(&now.clock) + seconds * NS_PER_S;
    const int before = atomic_load(&sent_n);

    for (;;) {
        describe(150, true);
        for (int i = 0; i < pod_n; i++) {
            char uid[16];

            (void)snprintf(uid, sizeof(uid), "p%d", i);
            refused(uid, 0, 100);
        }
        if (clock_mono_ns(&now.clock) > end_ns) {
            return atomic_load(&sent_n) - before;
        }
        if (!next_is_sent()) { /* all of them have given up for now */
            clock_manual_advance_ms(&now, REQUEUE_TRIGGER_PAUSE_MS);
        }
    }
}

/* A selector keeps ten pods on a full pool, another pool never rests: they share a trickle, not one each. */
static void many_pods_beside_nodes_that_gain_without_end__share_ever_longer_pauses(void **state)
{
    describe_all(200, 150);
    (void)sent_in(10, 3600);
    assert_in_range(sent_in(10, 3600), 1, 2 * 3600 * 1000 / ELSEWHERE_VAIN_PAUSE_MAX_MS);
}

/* After long pauses one of the pods is shown what it was not shown before. */
static void a_woken_pod_that_is_shown_new_nodes__makes_the_pauses_short(void **state)
{
    describe_all(200, 150);
    (void)sent_in(10, 3600);
    while (due_in_ms() > ELSEWHERE_VAIN_PAUSE_MAX_MS) {
        (void)sent_in(10, 1);
    }
    assert_in_range(due_in_ms(), 4 * ELSEWHERE_REFILL_MS, ELSEWHERE_VAIN_PAUSE_MAX_MS);
    refused("p3", 20, 100);
    assert_in_range(due_in_ms(), 0, ELSEWHERE_REFILL_MS);
}

/* For itself there is nothing to be found any more; that it was shown new nodes is news for the others. */
static void a_woken_pod_that_is_shown_new_nodes_in_vain__makes_the_pauses_of_others_short(void **state)
{
    describe_all(200, 150);
    (void)sent_in(10, 3600);
    while (due_in_ms() > ELSEWHERE_VAIN_PAUSE_MAX_MS) {
        (void)sent_in(10, 1);
    }
    assert_in_range(due_in_ms(), 4 * ELSEWHERE_REFILL_MS, ELSEWHERE_VAIN_PAUSE_MAX_MS);
    describe(150, false);
    refused("p3", 20, 100);
    assert_in_range(due_in_ms(), 0, ELSEWHERE_REFILL_MS);
}

/* As many pods as are remembered, and some more. */
static void more_pods_than_are_remembered__give_up_too(void **state)
{
    char uid[16];
    int round_n = 0;

    describe_all(200, 150);
    for (int i = 0; i < ELSEWHERE_PODS_MAX; i++) {
        (void)snprintf(uid, sizeof(uid), "p%d", i);
        refused(uid, 0, 100);
    }
    do {
        const uint64_t woken_n = counts().woken_n;

        for (int i = 0; i < 3; i++) {
            (void)snprintf(uid, sizeof(uid), "over%d", i);
            refused(uid, 0, 100);
        }
        if (counts().woken_n == woken_n) {
            break;
        }
        while (next_is_sent()) {
        }
    } while (round_n++ < 100);
    assert_in_range(round_n, 1, 3 * ELSEWHERE_STALE_MAX);
    assert_in_range(counts().given_up_n, 1, 1);
    refused("p7", 0, 100); /* who has a place still has all its attempts */
    assert_true(next_is_sent());
}

/* ---- the model ---- */

struct waiting_pod {
    char uid[16];
    uint8_t allowed[NODES_MAX]; /* by kube-scheduler itself */
    int bound;                  /* the node; -1: none */
    bool queued;                /* else it waits for an event */
    int attempt_n;
    uint64_t since; /* when it was queued */
};

static struct model {
    int node_n, sample_n, pod_n, first;
    bool room[NODES_MAX];
    struct waiting_pod pods[PODS_MAX];
    uint64_t turn;
    int event_n;
} m;

static void queue(struct waiting_pod *p)
{
    p->queued = true;
    p->since = m.turn++;
}

static void event(void)
{
    for (int i = 0; i < m.pod_n; i++) {
        if (m.pods[i].bound < 0 && !m.pods[i].queued) {
            queue(&m.pods[i]);
        }
    }
}

static struct waiting_pod *pop(void)
{
    struct waiting_pod *next = NULL;

    for (int i = 0; i < m.pod_n; i++) {
        if (m.pods[i].queued && (next == NULL || m.pods[i].since < next->since)) {
            next = &m.pods[i];
        }
    }
    return next;
}

/* schedule_one.go: findNodesThatFitPod, without what runs beside each other. */
static void attempt(struct waiting_pod *p)
{
    struct str names[NODES_MAX], best = STR_NULL;
    size_t n = 0;
    int looked = 0;

    p->queued = false;
    p->attempt_n++;
    while (looked < m.node_n && n < (size_t)m.sample_n) {
        const int i = (m.first + looked++) % m.node_n;

        if (p->allowed[i]) {
            names[n++] = node_names[i];
        }
    }
    m.first = (m.first + looked) % m.node_n;
    if (n > 0 && filter(p->uid, names, n, &best)) {
        p->bound = (int)strtol(best.p + 1, NULL, 10);
        m.room[p->bound] = false;
        apply_pod(p->uid, node_text[p->bound], &demand);
    }
}

static bool could_be_bound(const struct waiting_pod *p)
{
    for (int i = 0; i < m.node_n && p->bound < 0; i++) {
        if (m.room[i] && p->allowed[i]) {
            return true;
        }
    }
    return false;
}

/* How much of a cluster each pod may be put on by kube-scheduler itself. */
enum allowed { ALLOWED_ALL, ALLOWED_WITHOUT_ROOM, ALLOWED_SOME, ALLOWED_HALF, ALLOWED__MAX };

static void make_pod(struct rng *d, int i, enum allowed allowed)
{
    struct waiting_pod *p = &m.pods[i];

    (void)snprintf(p->uid, sizeof(p->uid), "p%d", i);
    p->bound = -1;
    for (int k = 0; k < m.node_n; k++) {
        p->allowed[k] = allowed == ALLOWED_ALL || (allowed == ALLOWED_HALF && k < m.node_n / 2) ||
                        (allowed == ALLOWED_WITHOUT_ROOM && !m.room[k]) ||
                        (allowed == ALLOWED_SOME && rng_below(d, 3) > 0);
    }
    queue(p);
}

/* `round`: samples that divide the cluster. */
static void make_model(struct rng *d, bool round, int pods_max, enum allowed kinds)
{
    m = (struct model){.node_n = round ? 500 : 100 + (int)rng_below(d, NODES_MAX - 100)};
    m.sample_n = round ? 100 : 100 + (int)rng_below(d, (uint64_t)m.node_n - 99);
    m.pod_n = 1 + (int)rng_below(d, (uint64_t)pods_max);
    m.first = (int)rng_below(d, (uint64_t)m.node_n);
    for (int i = 0; i < m.node_n; i++) {
        m.room[i] = rng_below(d, (uint64_t)m.node_n) < 2;
        describe(i, m.room[i]);
    }
    for (int i = 0; i < m.pod_n; i++) {
        make_pod(d, i, (enum allowed)rng_below(d, (uint64_t)kinds));
    }
}

/* Until nobody is queued and no PATCH is due. Events come at any time after they were sent. */
static void run_model(struct rng *d)
{
    for (;;) {
        struct waiting_pod *p = pop();

        if (p != NULL && !(is_sent() && rng_below(d, 2) == 0)) {
            attempt(p);
            (void)is_sent(); /* at this moment, in every run */
            clock_manual_advance_ms(&now, 3);
        } else if (next_is_sent()) {
            m.event_n++;
            event();
        } else {
            return;
        }
    }
}

/* Whatever kube-scheduler refuses. */
static void check_events(unsigned seed)
{
    /* Each pod: those that lead to any node, some to spare, those that find out that the rest is not named, and both
     * of each pair. A pod that is bound changes a node for all the others. */
    const int each = 2 * (m.node_n / m.sample_n + 1) + ELSEWHERE_SPARE + 2 * ELSEWHERE_STALE_MAX;
    const int most = each * m.pod_n * (m.pod_n + 1);

    if (m.event_n > most) {
        fail_msg("seed %u: %d events, not at most %d (%d nodes, samples of %d, %d pods)", seed, m.event_n, most,
                 m.node_n, m.sample_n, m.pod_n);
    }
}

static int waiting_beside_room(void)
{
    int n = 0;

    for (int i = 0; i < m.pod_n; i++) {
        n += could_be_bound(&m.pods[i]);
    }
    return n;
}

static int run_seed(unsigned seed, bool round, int pods_max, enum allowed kinds)
{
    struct rng d;
    int left_n;

    rng_init(&d, seed);
    assert_int_equal(setup(NULL), 0);
    make_model(&d, round, pods_max, kinds);
    run_model(&d);
    check_events(seed);
    left_n = waiting_beside_room();
    assert_int_equal(teardown(NULL), 0);
    return left_n;
}

static void who_fits_is_bound(unsigned seed, bool round, int pods_max, enum allowed kinds)
{
    if (run_seed(seed, round, pods_max, kinds) > 0) {
        fail_msg("seed %u: a pod waits beside a node that takes it (%d nodes, samples of %d, %d pods, %d events)", seed,
                 m.node_n, m.sample_n, m.pod_n, m.event_n);
    }
}

static void one_pod__is_bound_after_one_attempt_for_each_sample_and_one_more(void **state)
{
    for (unsigned seed = 1; seed < 40; seed++) {
        who_fits_is_bound(seed, seed % 2 == 0, 1, ALLOWED__MAX);
        if (m.pods[0].bound >= 0) {
            assert_in_range(m.pods[0].attempt_n, 1, (m.node_n + m.sample_n - 1) / m.sample_n + 1);
        }
    }
}

static void several_pods__who_fits_is_bound(void **state)
{
    for (unsigned seed = 100; seed < 140; seed++) {
        who_fits_is_bound(seed, false, PODS_MAX, ALLOWED_SOME);
    }
}

/* Pods that take turns would be shown the same nodes again and again. One run of 1,000 leaves a pod behind all the same
 * (decision 0088), one of these is among them; without the second PATCH most do. */
static void samples_that_divide_the_cluster__nearly_all_are_bound(void **state)
{
    int left_n = 0;

    for (unsigned seed = 200; seed < 240; seed++) {
        left_n += run_seed(seed, true, PODS_MAX, ALLOWED_SOME);
    }
    assert_in_range(left_n, 0, 1);
}

/* Where every pod that takes turns with one is let in on the same part of the cluster, the turn of that one always
 * begins in that part, and no number of events leads it out. What is promised then is that they end. */
static void pods_that_are_let_in_on_one_part__events_end(void **state)
{
    int left_n = 0;

    for (unsigned seed = 300; seed < 360; seed++) {
        left_n += run_seed(seed, seed % 2 == 0, PODS_MAX, ALLOWED__MAX);
    }
    print_message("%d of these pods wait beside a node that takes them\n", left_n);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_node_outside_of_the_sample__wakes),
        T(no_node_outside_of_the_sample__is_silent),
        T(fewer_names_than_any_sample__are_all_there_are),
        T(the_node_is_tainted__is_silent),
        T(nodes_that_are_never_named__are_given_up_until_they_change),
        T(nodes_that_change_without_end__are_waited_for_more_and_more_seldom),
        T(samples_of_full_nodes_on_the_way__cost_no_pause),
        T(a_node_that_was_given_up__is_news_when_it_gains_not_when_it_loses_room),
        T(a_new_node_is_shown_during_a_pause__the_pause_is_over),
        T(an_attempt_before_a_shared_time__is_no_sign),
        cmocka_unit_test(budget__nobody_gets_on__twice_as_long_each_time),
        cmocka_unit_test(budget__whoever_asks__waits_at_least_his_own_time),
        cmocka_unit_test(budget__nobody_asks_for_a_while__is_filled),
        cmocka_unit_test(budget__somebody_gets_on__short_again),
        cmocka_unit_test(pods__another_request_or_other_rules__nodes_are_forgotten_and_not_what_is_spent),
        cmocka_unit_test(pods__all_places_are_taken__shared_until_one_is_not_heard_of),
        cmocka_unit_test(pods__asked_about__counted_once_while_the_names_are_the_same),
        T(many_pods_beside_nodes_that_gain_without_end__share_ever_longer_pauses),
        T(a_woken_pod_that_is_shown_new_nodes__makes_the_pauses_short),
        T(a_woken_pod_that_is_shown_new_nodes_in_vain__makes_the_pauses_of_others_short),
        T(more_pods_than_are_remembered__give_up_too),
        cmocka_unit_test(one_pod__is_bound_after_one_attempt_for_each_sample_and_one_more),
        cmocka_unit_test(several_pods__who_fits_is_bound),
        cmocka_unit_test(samples_that_divide_the_cluster__nearly_all_are_bound),
        cmocka_unit_test(pods_that_are_let_in_on_one_part__events_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
