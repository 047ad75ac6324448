/* What people are told of change-overs, word by word, in the log and by Events. When it is told:
 * test_change_overs.c. */
#include "extender/change_overs_internal.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "kube/events.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static char somebody;
static struct events *const people = (struct events *)&somebody; /* never looked into */
static char told[1024];                                          /* "REASON: NOTE\n" for each Event */
static char logged[1024];                                        /* "LEVEL: TEXT\n" for each record */

/* Of kube/events.h. */
void events_record(struct events *e, const struct event *event)
{
    const size_t n = strlen(told);

    assert_ptr_equal(e, people);
    assert_int_equal(event->regarding.kind, EVENT_OBJECT_SELF);
    snprintf(told + n, sizeof(told) - n, "%s: %.*s\n", event_words(event->reason)->reason, STR_ARG(event->note));
}

static void keep(void *ctx, const struct log_record *rec)
{
    const size_t n = strlen(logged);
    const char *end = logged + sizeof(logged);
    char *at = logged + n;

    at += snprintf(at, (size_t)(end - at), "%s: %s;", rec->level == LOG_LEVEL_WARNING ? "warning" : "info", rec->msg);
    for (size_t i = 0; i < rec->field_n; i++) {
        at += snprintf(at, (size_t)(end - at), " %.*s", STR_ARG(rec->fields[i].s));
    }
}

static struct log the_log = {.write = keep};
static char day[] = "day", night[] = "night", card[] = "card";
static struct change_overs change_overs = {.o = {.log = &the_log}};

/* Pools day and night; day is wanted. */
static struct change_over_now group_at(enum change_over_step step)
{
    told[0] = logged[0] = '\0';
    change_overs.o.events = people;
    return (struct change_over_now){.name = card,
                                    .pools = {day, night},
                                    .pool_n = 2,
                                    .machine = {.step = step, .wanted = 0, .admitted = CHANGE_OVER_NOBODY},
                                    .failed = CHANGE_OVER_NOBODY};
}

static void step__that_people_wait_for__an_event(void **state)
{
    static const struct {
        enum change_over_step step;
        const char *told;
        bool warns;
    } rows[] = {
        {CHANGE_OVER_OPEN, "NodePoolsChangeOver: Change-over of card: day is open\n", false},
        {CHANGE_OVER_CLOSED, "NodePoolsChangeOver: Change-over of card: all of its pools are closed\n", false},
        {CHANGE_OVER_CONFLICT,
         "NodePoolsChangeOverHeld: Change-over of card: the configuration has several of its pools open now, so none "
         "of them takes pods; let one alone be open at a time\n",
         true},
        {CHANGE_OVER_CLOSING, "", false},
        {CHANGE_OVER_CLOSE_COMMANDS, "", false},
        {CHANGE_OVER_OPEN_COMMAND, "", false},
        {CHANGE_OVER_OPENING, "", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct change_over_now g = group_at(rows[i].step);

        change_overs_tell_step(&change_overs, &g);
        assert_string_equal(told, rows[i].told);
        assert_int_equal(strncmp(logged, "warning", 7) == 0, rows[i].warns);
        assert_non_null(strstr(logged, "card"));
    }
}

static void pods__that_are_waited_for__the_first_three_by_name(void **state)
{
    static const char *const tails[] = {
        "waits for 0 pods with GPUs on the nodes that leave:\n",
        "waits for 1 pod with GPUs on the nodes that leave: ns/p0 on n0\n",
        "waits for 2 pods with GPUs on the nodes that leave: ns/p0 on n0, ns/p1 on n1\n",
        "waits for 3 pods with GPUs on the nodes that leave: ns/p0 on n0, ns/p1 on n1, ns/p2 on n2\n",
        "waits for 4 pods with GPUs on the nodes that leave: ns/p0 on n0, ns/p1 on n1, ns/p2 on n2, ...\n",
    };
    static const struct str names[] = {STR("p0"), STR("p1"), STR("p2"), STR("p3")};
    static const struct str nodes[] = {STR("n0"), STR("n1"), STR("n2"), STR("n3")};

    for (size_t n = 0; n < ARRAY_LEN(tails); n++) {
        struct change_over_now g = group_at(CHANGE_OVER_WAITING);
        char want[256];

        g.pod_n = g.shown_n = n;
        for (size_t i = 0; i < n; i++) {
            g.pods[i] = (struct pool_pod){.namespace_ = STR("ns"), .name = names[i], .node_name = nodes[i]};
        }
        change_overs_tell_step(&change_overs, &g);
        snprintf(want, sizeof(want), "NodePoolsChangeOver: Change-over of card: %s", tails[n]);
        assert_string_equal(told, want);
    }
}

static void command__fails__which_and_what_follows(void **state)
{
    static const struct {
        enum pool_order order;
        int32_t admitted;
        const char *told;
    } rows[] = {
        {POOL_RUN_CLOSED, CHANGE_OVER_NOBODY,
         "NodePoolsChangeOverHeld: Change-over of card: the command of night with \"closed\" failed and will be run "
         "again; until it succeeds no pool takes pods: no hypervisor\n"},
        {POOL_RUN_OPEN, CHANGE_OVER_NOBODY,
         "NodePoolsChangeOverHeld: Change-over of card: the command of night with \"open\" failed and will be run "
         "again; until it succeeds no pool takes pods: no hypervisor\n"},
        {POOL_RUN_CLOSED, 0,
         "NodePoolsChangeOverHeld: Change-over of card: the command of night with \"closed\" failed and will be run "
         "again; until it succeeds the machines may not be as they should: no hypervisor\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct change_over_now g = group_at(CHANGE_OVER_CLOSE_COMMANDS);

        g.failed = 1;
        g.machine.orders[1] = rows[i].order;
        g.machine.admitted = rows[i].admitted;
        snprintf(g.error, sizeof(g.error), "no hypervisor");
        change_overs_tell_failure(&change_overs, &g);
        assert_string_equal(told, rows[i].told);
        assert_non_null(strstr(logged, "no hypervisor"));
        assert_int_equal(strncmp(logged, "warning", 7), 0);
    }
}

static void pool_name__of_nobody_or_several__none(void **state)
{
    const struct change_over_now g = group_at(CHANGE_OVER_CONFLICT);

    assert_true(str_eq_cstr(change_overs_pool_name(&g, 0), "day"));
    assert_true(str_eq_cstr(change_overs_pool_name(&g, 1), "night"));
    assert_int_equal(change_overs_pool_name(&g, CHANGE_OVER_NOBODY).n, 0);
    assert_int_equal(change_overs_pool_name(&g, CHANGE_OVER_SEVERAL).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step__that_people_wait_for__an_event),
        cmocka_unit_test(pods__that_are_waited_for__the_first_three_by_name),
        cmocka_unit_test(command__fails__which_and_what_follows),
        cmocka_unit_test(pool_name__of_nobody_or_several__none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
