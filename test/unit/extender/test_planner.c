/* Which patches the planner sends, and when, by a clock that moves only when told to; the nodes are made up. */
#include "extender/planner.h"
#include "extender/support/warnings.h"

#include "base/bug.h"
#include "support/cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS_MAX = 4096, LEAD = PLANNER_LEAD_MIN };

static struct clock_manual now;
static struct planner *planner;

/* What was sent, and not answered yet. */
static struct sent {
    struct planner_call *call;
    char uid[32], name[32], node[32];
    uint64_t version;
} sent[CALLS_MAX];
static size_t sent_n;
static size_t choose_n;     /* how often nodes were asked for */
static bool no_node;        /* no node takes anybody */
static size_t held_n;       /* in the last question */
static size_t front_n;      /* likewise */
static size_t max_n;        /* likewise: how many are wanted */
static atomic_bool answers; /* each is done at once */

static void send(void *ctx, struct planner *p, struct planner_call *call, const struct nomination *n)
{
    struct sent *s = &sent[sent_n];

    if (atomic_load(&answers)) {
        planner_sent(p, call, &(struct nomination_answer){.reply = NOMINATION_DONE}, "");
        return;
    }
    assert_true(sent_n < CALLS_MAX);
    s->call = call;
    snprintf(s->uid, sizeof(s->uid), "%.*s", STR_ARG(n->pod_uid));
    snprintf(s->name, sizeof(s->name), "%.*s/%.*s", STR_ARG(n->namespace_), STR_ARG(n->pod_name));
    snprintf(s->node, sizeof(s->node), "%.*s", STR_ARG(n->node_name));
    s->version = n->pod_version;
    sent_n++;
}

static void (*while_choosing)(void);

static size_t choose(void *ctx, struct planner_question *q)
{
    size_t n = 0;

    choose_n++;
    if (while_choosing != NULL) {
        while_choosing();
    }
    held_n = q->held_n;
    max_n = q->max;
    front_n = q->looked_n = q->front_n;
    for (; q->looked_n < q->pod_n && n < q->max; q->looked_n++) {
        const struct waiting_pod *pod = q->pods[q->looked_n];
        char name[32];

        snprintf(name, sizeof(name), "node-of-%.*s", STR_ARG(pod->uid));
        if (!no_node && pod->uid.p[0] != 'u') { /* "u0": unfit */
            q->ret[n++] = (struct planner_choice){pod, arena_str(q->arena, str_of(name))};
        }
    }
    return n;
}

static char promised[256]; /* "uid:node " for each promise, in order */

static void promise(void *ctx, const struct waiting_pod *pod, struct str node_name)
{
    const size_t n = strlen(promised);

    snprintf(promised + n, sizeof(promised) - n, "%.*s:%.*s ", STR_ARG(pod->uid), STR_ARG(node_name));
}

static int setup(void **state)
{
    clock_manual_init(&now, 1000 * NS_PER_S, 1000000000);
    warnings_reset();
    sent_n = choose_n = held_n = front_n = 0;
    promised[0] = '\0';
    no_node = false;
    while_choosing = NULL;
    atomic_store(&answers, false);
    planner = planner_new(&(struct planner_options){
        .clock = &now.clock, .log = &warnings_log, .send = send, .choose = choose, .promise = promise});
    planner_enable(planner, true);
    return 0;
}

static void answer(size_t i, enum nomination_reply reply)
{
    struct planner_call *call = sent[i].call;

    BUG_ON(call == NULL);
    sent[i].call = NULL;
    planner_sent(planner, call, &(struct nomination_answer){.reply = reply}, "as the test says");
}

static void answer_all(enum nomination_reply reply)
{
    for (size_t i = 0; i < sent_n; i++) {
        if (sent[i].call != NULL) {
            answer(i, reply);
        }
    }
}

static int teardown(void **state)
{
    atomic_store(&answers, true);
    planner_stop(planner);
    answer_all(NOMINATION_FAILED);
    planner_free(planner);
    return 0;
}

/* ---- pods ---- */

struct a_pod {
    const char *uid, *name; /* name NULL: the uid */
    uint64_t version;
    int32_t priority;
    int64_t created_ms;
    const char *nominated, *scheduler; /* scheduler NULL: "s" */
    bool by_us;
    enum plan_obstacle obstacle;
};

static struct str text_at(char **at, const char *s)
{
    return s == NULL ? STR_NULL : str_put(at, str_of(s));
}

/* In one block, as that of core/plan. */
static struct waiting_pod *waits(const struct a_pod *o)
{
    struct waiting_pod *w = xcalloc(1, sizeof(*w) + 256);
    char *at = (char *)(w + 1);

    w->uid = text_at(&at, o->uid);
    w->namespace_ = text_at(&at, "ns");
    w->name = text_at(&at, o->name != NULL ? o->name : o->uid);
    w->scheduler_name = text_at(&at, o->scheduler != NULL ? o->scheduler : "s");
    w->nominated = text_at(&at, o->nominated);
    w->nominated_by_us = o->by_us;
    w->version = o->version;
    w->priority = o->priority;
    w->queued_ms = o->created_ms;
    w->obstacle = o->obstacle;
    return w;
}

static void see(const struct a_pod *o)
{
    const struct pod pod = {.uid = str_of(o->uid)};

    planner_observed(planner, &pod, waits(o));
}

static void bound(const char *uid, const char *node)
{
    const struct pod pod = {.uid = str_of(uid), .node_name = str_of(node)};

    planner_observed(planner, &pod, NULL);
}

/* "p0" ... in the order of the queue, at version 10. */
static void see_queue(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char uid[32];

        snprintf(uid, sizeof(uid), "p%zu", i);
        see(&(struct a_pod){.uid = uid, .version = 10});
    }
}

static void asked(struct str uid, struct str scheduler, size_t name_n, bool some_fit, struct str node)
{
    planner_asked(planner, &(struct planner_ask){uid, scheduler, name_n, some_fit, node});
}

static void scheduler_asks(void)
{
    asked(STR("somebody"), STR("s"), 5, true, STR_NULL);
}

static void turn_after_ms(int64_t ms)
{
    clock_manual_advance_ms(&now, ms);
    (void)planner_turn(planner);
}

static struct planner_status status(void)
{
    struct planner_status s;

    planner_read(planner, &s);
    return s;
}

/* Each patch that was sent since `from`, in words. */
static void assert_sent(size_t from, const char *want)
{
    char text[1024] = "";

    for (size_t i = from; i < sent_n; i++) {
        const size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, "%s%s@%d:%s", i > from ? " " : "", sent[i].uid, (int)sent[i].version,
                 sent[i].node[0] != '\0' ? sent[i].node : "-");
    }
    assert_string_equal(text, want);
}

/* p4 is nominated, and the watch shows it. */
static void nominate_p4(void)
{
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(0, "p4@10:node-of-p4");
    answer(0, NOMINATION_DONE);
    see(&(struct a_pod){.uid = "p4", .version = 11, .nominated = "node-of-p4", .by_us = true});
    assert_int_equal(status().outstanding_n, 1);
}

/* ---- who is nominated ---- */

static void turn__the_head_of_the_queue__but_not_who_is_next(void **state)
{
    see_queue(LEAD);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(sent_n, 0);
    see(&(struct a_pod){.uid = "late", .version = 7, .created_ms = 5});
    see(&(struct a_pod){.uid = "early", .version = 8, .priority = 1, .created_ms = 9});
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(0, "p3@10:node-of-p3 late@7:node-of-late"); /* the one of higher priority goes to the front */
    assert_string_equal(sent[0].name, "ns/p3");
}

static void turn__a_scheduler_that_never_asked__nobody(void **state)
{
    see_queue(LEAD + 2);
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(choose_n, 0);
    asked(STR("x"), STR("another"), 5, true, STR_NULL);
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(choose_n, 0);
    scheduler_asks();
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, 2);
}

static void turn__nominated_by_others_or_not_to_be_planned__never(void **state)
{
    scheduler_asks();
    for (int i = 0; i < LEAD * 2; i++) {
        char uid[32];

        snprintf(uid, sizeof(uid), "o%d", i);
        see(&(struct a_pod){.uid = uid, .version = 3, .nominated = "n", .obstacle = PLAN_NOMINATED});
    }
    turn_after_ms(PLANNER_TICK_MS);
    turn_after_ms(PLANNER_KEPT_MS * 2);
    assert_int_equal(sent_n, 0);
    see_queue(LEAD + 1);
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(0, "p4@10:node-of-p4");
    assert_int_equal(held_n, LEAD * 2); /* their room is taken into account */
}

static void turn__a_pod_that_is_asked_about_or_bound__left_alone(void **state)
{
    see_queue(LEAD + 3);
    scheduler_asks();
    asked(STR("p4"), STR("s"), 5, true, STR_NULL);
    planner_binding(planner, STR("p5"));
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(sent_n, 1); /* of five that are left the fifth */
    assert_sent(0, "p6@10:node-of-p6");
    asked(STR("p0"), STR("s"), 5, false, STR_NULL); /* refused: at the end of the queue */
    clock_manual_advance_ms(&now, PLANNER_ASKED_MS);
    answer(0, NOMINATION_GONE);
    planner_gone(planner, STR("p6"));
    turn_after_ms(0);
    assert_sent(1, "p5@10:node-of-p5 p0@10:node-of-p0");
}

static void turn__anti_affinity_of_another__nobody_whom_it_may_mean(void **state)
{
    struct pod keeper = {.uid = STR("k"), .namespace_ = STR("elsewhere"), .scheduler_only = POD_KEEPS_OTHERS_OFF};

    see_queue(LEAD + 1); /* in "ns" */
    scheduler_asks();
    keeper.node_name = STR("n");
    planner_observed(planner, &keeper, NULL);
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(0, "p4@10:node-of-p4");
    see_queue(LEAD + 2);
    keeper.uid = STR("k2");
    keeper.namespace_ = STR("ns");
    planner_observed(planner, &keeper, NULL);
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(sent_n, 1);
    planner_gone(planner, STR("k2"));
    turn_after_ms(PLANNER_LOOK_MS);
    assert_sent(1, "p5@10:node-of-p5");
}

static void turn__no_node__looks_again_after_a_while(void **state)
{
    no_node = true;
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(choose_n, 1);
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(choose_n, 1);
    turn_after_ms(PLANNER_UNFIT_MS);
    assert_int_equal(choose_n, 2);
    turn_after_ms(PLANNER_UNFIT_MS);
    assert_int_equal(choose_n, 2);
    turn_after_ms(PLANNER_UNFIT_MS);
    assert_int_equal(choose_n, 3);
    assert_int_equal(sent_n, 0);
}

static void turn__many_pods_without_a_node_in_front__those_behind_get_theirs(void **state)
{
    scheduler_asks();
    for (int i = 0; i < 1000; i++) {
        char uid[32];

        snprintf(uid, sizeof(uid), "u%d", i);
        see(&(struct a_pod){.uid = uid, .version = 3});
    }
    see_queue(LEAD * 2);
    for (int i = 0; i < 100; i++) { /* each time the first ones are left alone for longer */
        turn_after_ms(PLANNER_TICK_MS);
    }
    assert_true(sent_n >= LEAD);
    assert_string_equal(sent[0].node, "node-of-p0");
}

static void turn__more_than_in_flight_or_wanted__waits(void **state)
{
    size_t before;

    see_queue(500);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(sent_n, PLANNER_IN_FLIGHT_MAX);
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, PLANNER_IN_FLIGHT_MAX);
    answer_all(NOMINATION_DONE);
    turn_after_ms(PLANNER_TICK_MS);
    answer_all(NOMINATION_DONE);
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(status().outstanding_n, PLANNER_OUTSTANDING_MIN);
    assert_int_equal(held_n, PLANNER_IN_FLIGHT_MAX);
    for (int i = 0; i < 100; i++) { /* so many in the horizon */
        char uid[32], node[48];

        snprintf(uid, sizeof(uid), "p%d", i);
        snprintf(node, sizeof(node), "node-of-%s", uid);
        bound(uid, node);
    }
    before = sent_n;
    for (int i = 0; i < 20; i++) {
        turn_after_ms(PLANNER_TICK_MS);
        answer_all(NOMINATION_DONE);
    }
    assert_int_equal(status().outstanding_n, 100);
    assert_int_equal(sent_n - before, 100);
}

/* As many are wanted as were bound in the last two seconds, counted in eighths of them. */
static void wanted__as_many_as_were_bound_in_the_horizon(void **state)
{
    enum { PARTS = 8, PART_MS = PLANNER_HORIZON_MS / PARTS, ROUNDS = 40, MANY = 12 };
    int bound_n[ROUNDS];

    no_node = true; /* so that none is outstanding */
    scheduler_asks();
    for (int round = 0; round < ROUNDS; round++) {
        int sum = 0;

        bound_n[round] = round < 10 ? 3 + round % 5 : round < 20 ? 7 - round % 3 : round % 4 == 0 ? 20 : 0;
        for (int i = 0; i < MANY + bound_n[round]; i++) {
            char uid[32];

            snprintf(uid, sizeof(uid), "p%d-%d", round, i);
            see(&(struct a_pod){.uid = uid, .version = 10});
            if (i >= MANY) {
                bound(uid, "n");
            }
        }
        for (int k = round; k >= 0 && k > round - PARTS; k--) {
            sum += bound_n[k];
        }
        max_n = 0;
        turn_after_ms(PART_MS - 1);
        if ((int)max_n != (sum < PLANNER_OUTSTANDING_MIN ? PLANNER_OUTSTANDING_MIN : sum)) {
            fail_msg("round %d: %zu are wanted of %d", round, max_n, sum);
        }
        clock_manual_advance_ms(&now, 1);
    }
}

/* ---- what becomes of it ---- */

static void bound__where_it_was_nominated__counts(void **state)
{
    nominate_p4();
    bound("p4", "node-of-p4");
    assert_int_equal(status().used_n, 1);
    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_KEPT_MS * 2);
    assert_sent(1, "");
}

static void bound__elsewhere__not_used(void **state)
{
    nominate_p4();
    bound("p4", "another");
    assert_int_equal(status().used_n, 0);
    assert_int_equal(status().outstanding_n, 0);
}

static void kept__not_bound__withdrawn_once_and_left_for_a_while(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .by_us = true});
    turn_after_ms(PLANNER_KEPT_MS - PLANNER_TICK_MS - 1);
    assert_sent(1, "");
    turn_after_ms(PLANNER_TICK_MS + 1);
    assert_sent(1, "p4@12:-");
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, 2);
    answer(1, NOMINATION_DONE);
    assert_int_equal(status().withdrawn_n, 1);
    see(&(struct a_pod){.uid = "p4", .version = 13});
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, 2);
    turn_after_ms(PLANNER_AGAIN_MS);
    assert_sent(2, "p4@13:node-of-p4");
}

static void kept__a_bind_in_hand__not_withdrawn(void **state)
{
    nominate_p4();
    clock_manual_advance_ms(&now, PLANNER_KEPT_MS - 10);
    planner_binding(planner, STR("p4"));
    turn_after_ms(PLANNER_LOOK_MS);
    assert_sent(1, "");
    turn_after_ms(PLANNER_ASKED_MS);
    assert_sent(1, "p4@11:-");
}

static void kept__withdrawal_meets_another_version__sent_again(void **state)
{
    nominate_p4();
    turn_after_ms(PLANNER_KEPT_MS);
    assert_sent(1, "p4@11:-");
    answer(1, NOMINATION_CHANGED);
    see(&(struct a_pod){.uid = "p4", .version = 20, .nominated = "node-of-p4", .by_us = true});
    turn_after_ms(300);
    assert_sent(2, "p4@20:-");
    answer(2, NOMINATION_FAILED);
    turn_after_ms(300);
    assert_sent(3, "p4@20:-");
}

/* The next version is on its way, whatever failed before; and that is no failure. */
static void kept__withdrawal_fails_and_then_meets_another_version__soon_again(void **state)
{
    nominate_p4();
    turn_after_ms(PLANNER_KEPT_MS);
    answer(1, NOMINATION_FAILED);
    turn_after_ms(250);
    answer(2, NOMINATION_FAILED);
    turn_after_ms(500);
    answer(3, NOMINATION_CHANGED);
    turn_after_ms(249);
    assert_int_equal(sent_n, 4);
    turn_after_ms(1);
    assert_int_equal(sent_n, 5);
    answer(4, NOMINATION_FAILED);
    turn_after_ms(999);
    assert_int_equal(sent_n, 5);
    turn_after_ms(1);
    assert_int_equal(sent_n, 6);
}

static void kept__withdrawal_fails_again_and_again__ever_later(void **state)
{
    static const int64_t pauses_ms[] = {250, 500, 1000, 2000, 4000, 5000, 5000};

    nominate_p4();
    turn_after_ms(PLANNER_KEPT_MS);
    for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
        assert_int_equal(sent_n, 2 + i);
        answer(1 + i, NOMINATION_FAILED);
        turn_after_ms(pauses_ms[i] - 1);
        assert_int_equal(sent_n, 2 + i);
        turn_after_ms(1);
    }
    answer(sent_n - 1, NOMINATION_DONE);
    assert_int_equal(status().outstanding_n, 0);
    assert_int_equal(status().withdrawn_n, 1);
}

static void seen__taken_back_by_the_scheduler__waits(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12});
    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_KEPT_MS);
    assert_sent(1, "");
    turn_after_ms(PLANNER_AGAIN_MS);
    assert_sent(1, "p4@12:node-of-p4");
}

static void seen__nominated_by_another_after_us__not_ours_any_more(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "elsewhere", .obstacle = PLAN_NOMINATED});
    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_KEPT_MS * 2);
    assert_sent(1, "");
}

static void send_to_p4(void)
{
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(0, "p4@10:node-of-p4");
}

/* ---- managedFields, which whoever may patch a pod can change ---- */

static void assert_taken_back_in_time(size_t from, const char *want)
{
    assert_int_equal(status().outstanding_n, 1);
    turn_after_ms(PLANNER_KEPT_MS);
    assert_sent(from, want);
}

static void fields_reset__it_was_seen_as_ours__stays_ours(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    assert_taken_back_in_time(1, "p4@12:-");
}

static void fields_stripped__it_was_sent_by_us__ours(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_DONE);
    see(&(struct a_pod){.uid = "p4", .version = 11, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    assert_taken_back_in_time(1, "p4@11:-");
}

static void fields_stripped__an_answer_was_lost_and_it_lands_late__ours(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_FAILED);
    turn_after_ms(PLANNER_KEPT_MS);
    assert_sent(1, "p4@10:-");
    answer(1, NOMINATION_DONE);
    see(&(struct a_pod){.uid = "p4", .version = 10});
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    turn_after_ms(0);
    assert_sent(2, "p4@12:-");
}

static void assert_not_ours(void)
{
    const size_t before = sent_n;

    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_KEPT_MS * 2);
    assert_int_equal(sent_n, before);
}

static void seen__another_value_and_then_ours_again__not_ours(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "elsewhere", .obstacle = PLAN_NOMINATED});
    see(&(struct a_pod){.uid = "p4", .version = 13, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    assert_not_ours();
}

static void seen__none_and_then_ours_again__not_ours(void **state)
{
    nominate_p4();
    see(&(struct a_pod){.uid = "p4", .version = 12});
    see(&(struct a_pod){.uid = "p4", .version = 13, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    assert_not_ours();
}

static void changed__another_chose_the_same_node__not_ours(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_CHANGED);
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .obstacle = PLAN_NOMINATED});
    assert_not_ours();
}

/* ---- answers ---- */

static void lost__it_did_not_land__nominated_anew(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_FAILED);
    assert_int_equal(status().outstanding_n, 1);      /* perhaps */
    see(&(struct a_pod){.uid = "p4", .version = 10}); /* proves nothing */
    assert_int_equal(status().outstanding_n, 1);
    see(&(struct a_pod){.uid = "p4", .version = 12}); /* it carried version 10: it cannot land any more */
    assert_int_equal(status().outstanding_n, 0);
}

static void lost__it_landed__taken_back_in_time(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_FAILED);
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .by_us = true});
    turn_after_ms(PLANNER_KEPT_MS - 1);
    assert_int_equal(sent_n, 1);
    turn_after_ms(1);
    assert_sent(1, "p4@12:-");
}

static void lost__it_lands_after_it_was_taken_back__taken_back_at_once(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_FAILED);
    turn_after_ms(PLANNER_KEPT_MS);
    assert_sent(1, "p4@10:-"); /* of nothing, as far as is known */
    answer(1, NOMINATION_DONE);
    see(&(struct a_pod){.uid = "p4", .version = 12, .nominated = "node-of-p4", .by_us = true});
    turn_after_ms(0);
    assert_sent(2, "p4@12:-");
}

static void changed__the_next_version__nominated_anew(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_CHANGED);
    assert_int_equal(status().outstanding_n, 0);
    assert_int_equal(status().failed_n[NOMINATION_CHANGED], 1);
    see(&(struct a_pod){.uid = "p4", .version = 12});
    turn_after_ms(PLANNER_LOOK_MS);
    assert_sent(1, "p4@12:node-of-p4");
    assert_int_equal(warnings(), 0);
}

static void answer__of_a_pod_that_is_gone_bound_or_another__nothing(void **state)
{
    send_to_p4();
    planner_gone(planner, STR("p4"));
    see(&(struct a_pod){.uid = "p4-again", .name = "p4", .version = 30, .created_ms = 7});
    answer(0, NOMINATION_GONE);
    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(1, "p4-again@30:node-of-p4-again");
    bound("p4-again", "node-of-p4-again");
    assert_int_equal(status().used_n, 1);
    answer(1, NOMINATION_CHANGED);
    assert_int_equal(status().outstanding_n, 0);
    turn_after_ms(PLANNER_KEPT_MS * 2);
    assert_int_equal(sent_n, 2);
}

static void forbidden__told_once_and_tried_rarely(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_FORBIDDEN);
    assert_int_equal(warnings(), 1);
    assert_non_null(strstr(status().trouble, "manifests/plan-ahead"));
    turn_after_ms(30000);
    assert_int_equal(sent_n, 1);
    turn_after_ms(31000);
    assert_int_equal(sent_n, 2);
    answer(1, NOMINATION_FORBIDDEN);
    assert_int_equal(warnings(), 1);
    turn_after_ms(61000);
    assert_int_equal(sent_n, 3);
    answer(2, NOMINATION_DONE);
    assert_string_equal(status().trouble, "");
}

static void refused_by_policy__told_with_the_remedy(void **state)
{
    send_to_p4();
    answer(0, NOMINATION_REFUSED);
    assert_int_equal(warnings(), 1);
    assert_int_equal(status().outstanding_n, 0);
    assert_non_null(strstr(status().trouble, "policy"));
    turn_after_ms(PLANNER_AGAIN_MS); /* the pod's own time; its scheduler's is longer */
    assert_int_equal(sent_n, 1);
    turn_after_ms(60000);
    assert_int_equal(sent_n, 2);
}

static void refused_by_policy__pods_of_other_schedulers__planned_as_before(void **state)
{
    send_to_p4();
    asked(STR("somebody else"), STR("listed"), 5, true, STR_NULL);
    answer(0, NOMINATION_REFUSED);
    see(&(struct a_pod){.uid = "of-s", .version = 20, .created_ms = 5});
    for (int i = 0; i < LEAD + 1; i++) {
        char uid[32];

        snprintf(uid, sizeof(uid), "q%d", i);
        see(&(struct a_pod){.uid = uid, .version = 10, .created_ms = 3, .scheduler = "listed"});
    }
    turn_after_ms(PLANNER_TICK_MS);
    assert_sent(1, "q4@10:node-of-q4");
    answer(1, NOMINATION_DONE);
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, 2);
}

/* ---- promises ---- */

static void promise__with_the_patch_and_given_back_where_the_api_server_refuses(void **state)
{
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    assert_string_equal(promised, "p4:node-of-p4 ");
    answer(0, NOMINATION_REFUSED);
    assert_string_equal(promised, "p4:node-of-p4 p4: ");
}

static void promise__the_scheduler_was_faster__what_filter_promised_stays(void **state)
{
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_TICK_MS);
    answer(0, NOMINATION_CHANGED);
    assert_string_equal(promised, "p4:node-of-p4 ");
}

static void held__promised_by_filter_and_not_bound__its_room_is_counted(void **state)
{
    see_queue(LEAD + 2);
    scheduler_asks();
    asked(STR("p0"), STR("s"), 5, true, STR("n"));
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(held_n, 1);
    assert_int_equal(front_n, LEAD); /* and those who are next */
}

/* Of several nodes the scheduler chooses; of none there is nothing to choose. */
static void held__filter_answered_several_nodes_or_none__nothing_is_counted(void **state)
{
    see_queue(LEAD + 2);
    scheduler_asks();
    asked(STR("p0"), STR("s"), 5, true, STR_NULL);
    asked(STR("p1"), STR("s"), 5, false, STR("n"));
    turn_after_ms(PLANNER_TICK_MS);
    assert_true(choose_n > 0);
    assert_int_equal(held_n, 0);
}

/* ---- as fast as the scheduler ---- */

/* It asks about these pods, so often. Those among `n` that are nominated about one node. */
static void scheduler_takes(int from, int n, int64_t every_ms, size_t name_n)
{
    for (int i = from; i < from + n; i++) {
        char uid[32], node[48];

        snprintf(uid, sizeof(uid), "p%d", i);
        snprintf(node, sizeof(node), "node-of-%s", uid);
        clock_manual_advance_ms(&now, every_ms);
        asked(str_of(uid), STR("s"), name_n, true, str_of(node));
    }
}

static void lead__patches_take_longer__pods_farther_back_are_nominated(void **state)
{
    see_queue(200);
    scheduler_asks();
    assert_int_equal(status().lead_n, PLANNER_LEAD_MIN);
    scheduler_takes(0, 40, 10, 5);
    turn_after_ms(PLANNER_TICK_MS);
    assert_string_equal(sent[0].uid, "p44");
    clock_manual_advance_ms(&now, 200); /* the patches' time */
    answer_all(NOMINATION_DONE);
    scheduler_takes(60, 40, 10, 5);
    assert_in_range(status().lead_n, 20, 30); /* 10 ms a pod, 200 and 10 ms */
    turn_after_ms(PLANNER_LOOK_MS);           /* it asks no more: nobody comes nearer */
    assert_int_equal(status().lead_n, PLANNER_LEAD_MIN);
}

static void hits__seldom__planning_rests(void **state)
{
    size_t before;

    see_queue(400);
    scheduler_asks();
    for (int i = 0; i < 10; i++) {
        turn_after_ms(PLANNER_TICK_MS);
        answer_all(NOMINATION_DONE);
    }
    before = sent_n;
    assert_true(before >= PLANNER_OUTSTANDING_MIN);
    for (size_t i = 0; i < before; i++) {
        bound(sent[i].uid, "elsewhere");
    }
    assert_in_range(status().hits_permille, 1, 600);
    turn_after_ms(PLANNER_LOOK_MS);
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, before);
    turn_after_ms(PLANNER_PAUSE_MS);
    assert_true(sent_n > before);
}

static atomic_uint gone_n;

static void goes(void *ctx)
{
    (*(atomic_uint *)ctx)++;
}

/* A hit costs 2 ms, a pod without a node 50; p40 to p51 are nominated, and not known to have landed. */
static void begin_to_pace(void)
{
    gone_n = 0;
    see_queue(100);
    scheduler_asks();
    scheduler_takes(0, 20, 2, 1);
    scheduler_takes(20, 16, 50, 5);
    turn_after_ms(PLANNER_TICK_MS);
    assert_int_equal(sent_n, PLANNER_IN_FLIGHT_MAX);
    assert_string_equal(sent[0].uid, "p40");
}

static void pace__next_pods_are_on_their_way__the_answer_waits_for_them(void **state)
{
    begin_to_pace();
    answer(0, NOMINATION_DONE);
    scheduler_takes(40, 1, 2, 1);
    assert_true(planner_holds(planner, STR("p40")));
    assert_false(planner_lets_go(planner, STR("p40"), goes, &gone_n));
    turn_after_ms(1);
    assert_int_equal(gone_n, 0);
    answer_all(NOMINATION_DONE);
    turn_after_ms(1);
    assert_int_equal(gone_n, 0); /* the scheduler does not know yet */
    turn_after_ms(PLANNER_SETTLE_MS);
    assert_int_equal(gone_n, 1);
    scheduler_takes(41, 1, 2, 1); /* enough are known now */
    assert_false(planner_holds(planner, STR("p41")));
    assert_int_equal(status().paced_n, 1);
}

static void pace__they_do_not_land__no_longer_than_a_look_at_all_nodes_takes(void **state)
{
    begin_to_pace();
    answer(0, NOMINATION_DONE);
    scheduler_takes(40, 1, 2, 1);
    assert_false(planner_lets_go(planner, STR("p40"), goes, &gone_n));
    turn_after_ms(20);
    assert_int_equal(gone_n, 0);
    turn_after_ms(30); /* 50 - 2 ms, smoothed */
    assert_int_equal(gone_n, 1);
}

static void pace__nobody_else_waits(void **state)
{
    begin_to_pace();
    scheduler_takes(36, 1, 2, 5); /* not nominated */
    assert_false(planner_holds(planner, STR("p36")));
    assert_false(planner_holds(planner, STR("unknown")));
    answer_all(NOMINATION_CHANGED); /* nothing is on its way */
    scheduler_takes(40, 1, 2, 1);
    assert_false(planner_holds(planner, STR("p40")));
}

static void pace__a_look_at_all_nodes_is_not_dearer__nobody_waits(void **state)
{
    see_queue(100);
    scheduler_asks();
    scheduler_takes(0, 20, 3, 1);
    scheduler_takes(20, 16, 3, 5);
    turn_after_ms(PLANNER_TICK_MS);
    answer(0, NOMINATION_DONE);
    scheduler_takes(40, 1, 3, 1);
    assert_false(planner_holds(planner, STR("p40")));
}

static void pace__planning_is_switched_off_or_ends__answers_go(void **state)
{
    begin_to_pace();
    answer(0, NOMINATION_DONE);
    scheduler_takes(40, 1, 2, 1);
    assert_false(planner_lets_go(planner, STR("p40"), goes, &gone_n));
    planner_enable(planner, false);
    turn_after_ms(0);
    assert_int_equal(gone_n, 1);
    planner_enable(planner, true);
    assert_false(planner_lets_go(planner, STR("p40"), goes, &gone_n));
    atomic_store(&answers, true);
    assert_int_equal(planner_start(planner, NULL), 0);
    planner_stop(planner);
    assert_int_equal(gone_n, 2);
}

static unsigned gone_when_choosing;

/* p64 to p71 are on their way, those before them are bound: nodes are to be chosen anew. */
static void pace_until_the_choice_is_used_up(void)
{
    begin_to_pace();
    for (int i = 0; i < 2; i++) {
        answer_all(NOMINATION_DONE);
        turn_after_ms(0);
    }
    assert_int_equal(sent_n, PLANNER_OUTSTANDING_MIN);
    assert_string_equal(sent[24].uid, "p64");
    for (size_t i = 0; i < 24; i++) {
        bound(sent[i].uid, sent[i].node);
    }
    gone_when_choosing = 0;
}

static void look_who_has_gone(void)
{
    gone_when_choosing = gone_n;
}

static void F134_pace__its_time_is_up__goes_before_nodes_are_chosen(void **state)
{
    pace_until_the_choice_is_used_up();
    scheduler_takes(64, 1, 2, 1);
    assert_false(planner_lets_go(planner, STR("p64"), goes, &gone_n));
    while_choosing = look_who_has_gone;
    turn_after_ms(PLANNER_HOLD_MAX_MS);
    assert_int_equal(choose_n, 2);
    assert_int_equal(gone_when_choosing, 1);
}

static void hold_one_and_take_long(void)
{
    while_choosing = NULL;
    scheduler_takes(64, 1, 2, 1);
    assert_false(planner_lets_go(planner, STR("p64"), goes, &gone_n));
    clock_manual_advance_ms(&now, PLANNER_HOLD_MAX_MS);
    for (int i = 0; i < 2000 && gone_n == 0; i++) {
        usleep(1000);
    }
    gone_when_choosing = gone_n;
}

static void F134_pace__comes_while_nodes_are_being_chosen__waits_no_longer(void **state)
{
    pace_until_the_choice_is_used_up();
    while_choosing = hold_one_and_take_long;
    atomic_store(&answers, true); /* of what is sent from here on */
    clock_manual_advance_ms(&now, PLANNER_TICK_MS);
    assert_int_equal(planner_start(planner, NULL), 0);
    for (int i = 0; i < 4000 && gone_n == 0; i++) {
        usleep(1000);
    }
    answer_all(NOMINATION_DONE);
    planner_stop(planner);
    assert_int_equal(gone_when_choosing, 1);
}

/* ---- nobody schedules; start and stop ---- */

static void nobody_binds__planning_pauses_longer_and_longer(void **state)
{
    int64_t nominated_at_ms[3] = {0};
    size_t n = 0;

    see_queue(LEAD + 1);
    scheduler_asks();
    for (int64_t ms = 0; ms < 120000 && n < 3; ms += 100) {
        turn_after_ms(100);
        if (sent_n > 0 && sent[sent_n - 1].call != NULL) {
            const bool nominates = sent[sent_n - 1].node[0] != '\0';

            answer(sent_n - 1, NOMINATION_DONE);
            see(&(struct a_pod){
                .uid = "p4", .version = 10 + sent_n, .nominated = nominates ? "node-of-p4" : NULL, .by_us = nominates});
            if (nominates) {
                nominated_at_ms[n++] = ms;
            }
        }
    }
    assert_int_equal(n, 3);
    assert_true(nominated_at_ms[1] - nominated_at_ms[0] >= PLANNER_KEPT_MS + PLANNER_AGAIN_MS);
    assert_true(nominated_at_ms[2] - nominated_at_ms[1] >= PLANNER_KEPT_MS + 2 * PLANNER_AGAIN_MS);
}

static void start__nominations_of_an_earlier_process__taken_back_at_once(void **state)
{
    planner_enable(planner, false); /* also where planning is off */
    see(&(struct a_pod){.uid = "a", .version = 5, .nominated = "n", .by_us = true});
    see(&(struct a_pod){.uid = "b", .version = 6, .nominated = "n", .obstacle = PLAN_NOMINATED});
    see(&(struct a_pod){.uid = "c", .version = 7, .nominated = "m", .by_us = true, .obstacle = PLAN_GATED});
    turn_after_ms(0);
    assert_int_equal(sent_n, 2);
    assert_string_equal(sent[0].node, "");
    assert_string_equal(sent[1].node, "");
    answer_all(NOMINATION_DONE);
    assert_int_equal(status().outstanding_n, 0);
    see_queue(LEAD + 1);
    scheduler_asks();
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(choose_n, 0);
}

static void enable__off__takes_back(void **state)
{
    nominate_p4();
    planner_enable(planner, false);
    turn_after_ms(0);
    assert_sent(1, "p4@11:-");
}

static void stop__takes_back_what_is_outstanding(void **state)
{
    nominate_p4();
    atomic_store(&answers, true);
    assert_int_equal(planner_start(planner, NULL), 0);
    planner_stop(planner);
    assert_int_equal(status().withdrawn_n, 1);
    assert_int_equal(status().outstanding_n, 0);
}

static void stop__nobody_answers__ends_all_the_same(void **state)
{
    nominate_p4();
    assert_int_equal(planner_start(planner, NULL), 0);
    planner_stop(planner);
    assert_sent(1, "p4@11:-");
    assert_int_equal(status().outstanding_n, 1);
}

/* ---- the table ---- */

static void list__complete__forgets_who_is_missing(void **state)
{
    see_queue(10);
    planner_list_begin(planner);
    see_queue(4);
    planner_list_end(planner, false);
    assert_int_equal(status().waiting_n, 10);
    planner_list_begin(planner);
    see_queue(4);
    planner_list_end(planner, true);
    assert_int_equal(status().waiting_n, 4);
    scheduler_asks();
    turn_after_ms(PLANNER_LOOK_MS);
    assert_int_equal(sent_n, 0);
}

static void full__the_last_of_the_queue__left_out(void **state)
{
    see_queue(PLANNER_PODS_MAX);
    see(&(struct a_pod){.uid = "one more", .version = 3});
    assert_int_equal(status().waiting_n, PLANNER_PODS_MAX);
    assert_int_equal(status().left_out_n, 1);
    see(&(struct a_pod){.uid = "hasty", .version = 3, .priority = 9});
    assert_int_equal(status().waiting_n, PLANNER_PODS_MAX);
    see(&(struct a_pod){.uid = "ours", .version = 3, .nominated = "n", .by_us = true}); /* must be taken back */
    turn_after_ms(0);
    assert_sent(0, "ours@3:-");
    bound("p0", "n");
    see(&(struct a_pod){.uid = "one more", .version = 3});
    assert_int_equal(status().left_out_n, 1);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(turn__the_head_of_the_queue__but_not_who_is_next),
        TEST(turn__a_scheduler_that_never_asked__nobody),
        TEST(turn__nominated_by_others_or_not_to_be_planned__never),
        TEST(turn__a_pod_that_is_asked_about_or_bound__left_alone),
        TEST(turn__anti_affinity_of_another__nobody_whom_it_may_mean),
        TEST(turn__no_node__looks_again_after_a_while),
        TEST(turn__many_pods_without_a_node_in_front__those_behind_get_theirs),
        TEST(turn__more_than_in_flight_or_wanted__waits),
        TEST(wanted__as_many_as_were_bound_in_the_horizon),
        TEST(bound__where_it_was_nominated__counts),
        TEST(bound__elsewhere__not_used),
        TEST(kept__not_bound__withdrawn_once_and_left_for_a_while),
        TEST(kept__a_bind_in_hand__not_withdrawn),
        TEST(kept__withdrawal_meets_another_version__sent_again),
        TEST(kept__withdrawal_fails_and_then_meets_another_version__soon_again),
        TEST(kept__withdrawal_fails_again_and_again__ever_later),
        TEST(seen__taken_back_by_the_scheduler__waits),
        TEST(seen__nominated_by_another_after_us__not_ours_any_more),
        TEST(fields_reset__it_was_seen_as_ours__stays_ours),
        TEST(fields_stripped__it_was_sent_by_us__ours),
        TEST(fields_stripped__an_answer_was_lost_and_it_lands_late__ours),
        TEST(seen__another_value_and_then_ours_again__not_ours),
        TEST(seen__none_and_then_ours_again__not_ours),
        TEST(changed__another_chose_the_same_node__not_ours),
        TEST(lost__it_did_not_land__nominated_anew),
        TEST(lost__it_landed__taken_back_in_time),
        TEST(lost__it_lands_after_it_was_taken_back__taken_back_at_once),
        TEST(changed__the_next_version__nominated_anew),
        TEST(answer__of_a_pod_that_is_gone_bound_or_another__nothing),
        TEST(forbidden__told_once_and_tried_rarely),
        TEST(refused_by_policy__told_with_the_remedy),
        TEST(refused_by_policy__pods_of_other_schedulers__planned_as_before),
        TEST(promise__with_the_patch_and_given_back_where_the_api_server_refuses),
        TEST(promise__the_scheduler_was_faster__what_filter_promised_stays),
        TEST(held__filter_answered_several_nodes_or_none__nothing_is_counted),
        TEST(held__promised_by_filter_and_not_bound__its_room_is_counted),
        TEST(lead__patches_take_longer__pods_farther_back_are_nominated),
        TEST(hits__seldom__planning_rests),
        TEST(pace__next_pods_are_on_their_way__the_answer_waits_for_them),
        TEST(pace__they_do_not_land__no_longer_than_a_look_at_all_nodes_takes),
        TEST(pace__nobody_else_waits),
        TEST(pace__a_look_at_all_nodes_is_not_dearer__nobody_waits),
        TEST(pace__planning_is_switched_off_or_ends__answers_go),
        TEST(F134_pace__its_time_is_up__goes_before_nodes_are_chosen),
        TEST(F134_pace__comes_while_nodes_are_being_chosen__waits_no_longer),
        TEST(nobody_binds__planning_pauses_longer_and_longer),
        TEST(start__nominations_of_an_earlier_process__taken_back_at_once),
        TEST(enable__off__takes_back),
        TEST(stop__takes_back_what_is_outstanding),
        TEST(stop__nobody_answers__ends_all_the_same),
        TEST(list__complete__forgets_who_is_missing),
        TEST(full__the_last_of_the_queue__left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
