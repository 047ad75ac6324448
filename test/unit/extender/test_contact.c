/* Blind is not ready: when, in which words, and how often it is said. */
#include "extender/contact.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S INT64_C(1000000000)

static struct clock_manual the_clock;
static struct strbuf told; /* a letter for each line of the log, and its error */

static void write_record(void *ctx, const struct log_record *r)
{
    (void)ctx;
    strbuf_addf(&told, "%c", r->level == LOG_LEVEL_ERROR ? 'E' : r->level == LOG_LEVEL_WARNING ? 'W' : 'I');
}

static struct contact *begin(const struct log *log)
{
    clock_manual_init(&the_clock, 1000 * S, 0);
    strbuf_init(&told, 4096);
    struct contact *c = contact_new(&the_clock.clock, log, 20000);
    contact_follow(c, KUBE_PODS);
    contact_follow(c, KUBE_NODES);
    return c;
}

static void end(struct contact *c)
{
    contact_free(c);
    strbuf_fini(&told);
}

static void pass(int64_t seconds)
{
    clock_manual_advance_ms(&the_clock, seconds * 1000);
}

static struct reflector_stats heard(void)
{
    return (struct reflector_stats){.last_contact_ns = clock_mono_ns(&the_clock.clock)};
}

static void contact_lost__after_stale_after_of_either_resource__says_which_and_why(void **state)
{
    struct contact *c = begin(NULL);
    struct reflector_stats fine, bad;
    assert_null(contact_lost(c));
    pass(20);
    assert_null(contact_lost(c));
    pass(1);
    assert_non_null(strstr(contact_lost(c), "pods"));
    fine = heard();
    contact_news(c, KUBE_PODS, &fine);
    bad = (struct reflector_stats){.trouble = REFLECTOR_FORBIDDEN, .trouble_n = 1, .trouble_verb = "watch"};
    contact_news(c, KUBE_NODES, &bad);
    assert_string_equal(contact_lost(c), "fgpu is not ready: it has had no news of nodes for longer than "
                                         "staleAfter (the API server forbids it; see the ClusterRole and the "
                                         "credentials)");
    assert_int_equal(contact_age_ms(c, KUBE_NODES), 21000);
    assert_int_equal(contact_age_ms(c, KUBE_PODS), 0);
    fine = heard();
    contact_news(c, KUBE_NODES, &fine);
    assert_null(contact_lost(c));
    end(c);
}

static void contact_lost__nobody_follows_or_no_limit__never(void **state)
{
    clock_manual_init(&the_clock, 1000 * S, 0);
    struct contact *free_of_it = contact_new(&the_clock.clock, NULL, 0),
                   *alone = contact_new(&the_clock.clock, NULL, 1000);
    contact_follow(free_of_it, KUBE_PODS);
    pass(100000);
    assert_null(contact_lost(free_of_it));
    assert_null(contact_lost(alone));
    assert_null(contact_lost(NULL));
    contact_free(free_of_it);
    contact_free(alone);
}

static void contact_news__persistent_403__logged_at_once_then_each_minute_and_its_end_once(void **state)
{
    const struct log log = {.write = write_record, .verbosity = 2};
    struct contact *c = begin(&log);
    struct reflector_stats s = {.trouble = REFLECTOR_FORBIDDEN, .trouble_verb = "watch"};
    for (int i = 0; i < 40; i++) { /* a failure every five seconds: 195 s */
        s.trouble_n++;
        contact_news(c, KUBE_PODS, &s);
        pass(5);
    }
    assert_string_equal(told.p, "WEWWW"); /* at once; blind; after 60, 120 and 180 s */
    s.trouble = REFLECTOR_UNREACHABLE;    /* another cause is told at once */
    s.trouble_n++;
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "WEWWWW");
    s.trouble = REFLECTOR_FINE;
    s.last_contact_ns = clock_mono_ns(&the_clock.clock);
    contact_news(c, KUBE_PODS, &s);
    contact_news(c, KUBE_PODS, &s);
    s.last_contact_ns++;
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "WEWWWWI");
    end(c);
}

/* Silence alone is no failure of an exchange: said when somebody asks, once, and its end once. */
static void contact_lost__silence__told_once_until_there_is_news(void **state)
{
    const struct log log = {.write = write_record, .verbosity = 2};
    struct contact *c = begin(&log);
    struct reflector_stats s = heard();
    int64_t last_ns;
    contact_news(c, KUBE_PODS, &s);
    contact_news(c, KUBE_NODES, &s);
    last_ns = s.last_contact_ns;
    assert_string_equal(told.p, ""); /* nothing was wrong */
    clock_manual_advance_ms(&the_clock, 20001);
    assert_non_null(strstr(contact_lost(c), "pods for longer than staleAfter (the API server is silent)"));
    assert_non_null(contact_lost(c));
    assert_string_equal(told.p, "E");
    s.last_contact_ns = last_ns + 1 * NS_PER_MS; /* news, and one ms less than too old */
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "EI");
    assert_int_equal(contact_age_ms(c, KUBE_PODS), 20000);
    s.last_contact_ns = last_ns; /* of an exchange that began before */
    contact_news(c, KUBE_PODS, &s);
    assert_int_equal(contact_age_ms(c, KUBE_PODS), 20000);
    assert_non_null(strstr(contact_lost(c), "nodes"));
    assert_string_equal(told.p, "EIE");
    end(c);
}

/* News that is too old already ends nothing; the same failure told again is none. */
static void contact_news__old_or_told_before__says_nothing(void **state)
{
    const struct log log = {.write = write_record, .verbosity = 2};
    struct contact *c = begin(&log);
    struct reflector_stats s = {.trouble = REFLECTOR_REFUSED, .trouble_n = 1, .trouble_verb = "list"};
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "W");
    pass(61);
    contact_news(c, KUBE_PODS, &s); /* nothing has failed since; but nobody has heard of pods */
    assert_string_equal(told.p, "WE");
    s.trouble_n++;
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "WEW");
    s.trouble = REFLECTOR_FINE;
    s.last_contact_ns = clock_mono_ns(&the_clock.clock) - 20001 * NS_PER_MS;
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "WEW");
    s.last_contact_ns += 1 * NS_PER_MS;
    contact_news(c, KUBE_PODS, &s);
    assert_string_equal(told.p, "WEWI");
    end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contact_lost__after_stale_after_of_either_resource__says_which_and_why),
        cmocka_unit_test(contact_lost__nobody_follows_or_no_limit__never),
        cmocka_unit_test(contact_lost__silence__told_once_until_there_is_news),
        cmocka_unit_test(contact_news__old_or_told_before__says_nothing),
        cmocka_unit_test(contact_news__persistent_403__logged_at_once_then_each_minute_and_its_end_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
