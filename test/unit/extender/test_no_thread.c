/* Parts with a thread of their own, on a machine that gives none: an error, and nothing is left behind (the leak
 * sanitizer looks); with a thread they begin, and end at once. */
#include "base/compiler.h"
#include "base/sync.h"
#include "extender/binder.h"
#include "extender/elector.h"
#include "extender/elsewhere.h"
#include "extender/planner.h"
#include "extender/pool_commands.h"
#include "extender/requeue_trigger.h"
#include "extender/run_keeper.h"
#include "extender/shadow.h"
#include "extender/signing.h"
#include "extender/support/fake_client.h"
#include "extender/support/tested_store.h"
#include "extender/support/warnings.h"
#include "extender/verifier.h"
#include "support/cmocka.h"

#include <string.h>

/* As the linker names them. */
int __wrap_thread_start(struct thread *ret, const char *name, void *(*run)(void *), void *ctx, struct err *reterr);
int __real_thread_start(struct thread *ret, const char *name, void *(*run)(void *), void *ctx, struct err *reterr);

static int given_n; /* threads that the machine gives */

int __wrap_thread_start(struct thread *ret, const char *name, void *(*run)(void *), void *ctx, struct err *reterr)
{
    return given_n-- > 0 ? __real_thread_start(ret, name, run, ctx, reterr)
                         : err_set(reterr, ERR_INTERNAL, "there is no thread");
}

static struct policy_set *policies;
static struct signing *signing;
static struct requeue_trigger *trigger;

static int setup(void **state)
{
    given_n = 1;
    fake_client_reset();
    store_open(clock_system());
    policies = policy_set_new(rules_of(policy_defaults(), 1));
    assert_int_equal(signing_new_ephemeral(NULL, &signing, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    signing_free(signing);
    policy_set_free(policies);
    store_check_and_free();
    fake_client_reset();
    return 0;
}

/* ---- each begins, and ends if it has begun ---- */

static int begin_binder(struct err *reterr)
{
    const struct binder_options o = {
        .deadline_ms = 5000, .max_in_flight = 2, .intent_objects = STR("ns/prefix")}; /* and tables of its own */
    struct binder *b = NULL;
    const int rc = binder_new(policies, NULL, clock_system(), NULL, &o, &b, reterr);

    if (b != NULL) {
        binder_stop(b);
        fake_client_cancel_all();
    }
    binder_free(b);
    return rc;
}

static int begin_elector(struct err *reterr)
{
    const struct elector_options o = {.clock = clock_system(),
                                      .lease = STR("ns/l"),
                                      .host = "h",
                                      .duration_ms = 8000,
                                      .renew_deadline_ms = 6000,
                                      .retry_ms = 200};
    struct elector *e;
    int rc = elector_new(&o, &e, NULL);

    assert_int_equal(rc, 0);
    rc = elector_start(e, reterr);
    elector_stop(e, false, 0);
    fake_client_cancel_all();
    elector_free(e);
    return rc;
}

static void send(void *ctx, struct requeue_trigger *w)
{
    fail_msg("nobody waits");
}

static int begin_requeue_trigger(struct err *reterr)
{
    struct requeue_trigger *w = NULL;
    const int rc = requeue_trigger_new(store, clock_system(), NULL, send, NULL, &w, reterr);

    requeue_trigger_stop(w);
    requeue_trigger_free(w);
    return rc;
}

static int begin_elsewhere(struct err *reterr)
{
    struct elsewhere *e = NULL;
    const int given = given_n;
    int rc;

    given_n = 1;
    assert_int_equal(requeue_trigger_new(store, clock_system(), NULL, send, NULL, &trigger, NULL), 0);
    given_n = given;
    rc = elsewhere_new(store, policies, clock_system(), NULL, trigger, &e, reterr);
    elsewhere_free(e);
    requeue_trigger_stop(trigger);
    requeue_trigger_free(trigger);
    return rc;
}

static int begin_shadow(struct err *reterr)
{
    struct shadow *s = NULL;
    const int rc = shadow_new(store, &s, reterr);

    shadow_free(s);
    return rc;
}

static int begin_verifier(struct err *reterr)
{
    const struct verifier_options o = {policies, signing, NULL, NULL};
    struct verifier *v = NULL;
    const int rc = verifier_start(&o, &v, reterr);

    verifier_stop(v);
    return rc;
}

static int begin_pool_commands(struct err *reterr)
{
    const struct pool_commands_options o = {.clock = clock_system()};
    struct pool_commands *c = NULL;
    const int rc = pool_commands_new(&o, &c, reterr);

    pool_commands_free(c);
    return rc;
}

static void tell(void *ctx, const struct run_news *news)
{
}

static int begin_run_keeper(struct err *reterr)
{
    const struct run_keeper_options o = {.clock = clock_system(),
                                         .run_object = STR("ns/run"),
                                         .wake_object = STR("ns/wake"),
                                         .version = "v",
                                         .tell = tell};
    struct run_keeper *k = NULL;
    const int rc = run_keeper_start(&o, &k, reterr);

    run_keeper_stop(k);
    fake_client_cancel_all();
    run_keeper_free(k);
    return rc;
}

/* Two: one plans, one paces the answers of filter. */
static int begin_planner(struct err *reterr)
{
    struct planner *p = planner_new(&(struct planner_options){.clock = clock_system()});
    const int rc = planner_start(p, reterr);

    planner_stop(p);
    planner_free(p);
    return rc;
}

static const struct part {
    const char *name;
    int (*begin)(struct err *reterr);
    int thread_n;
} parts[] = {
    {"binder", begin_binder, 1},         {"elector", begin_elector, 1},
    {"elsewhere", begin_elsewhere, 1},   {"requeue trigger", begin_requeue_trigger, 1},
    {"shadow", begin_shadow, 1},         {"verifier", begin_verifier, 1},
    {"run keeper", begin_run_keeper, 1}, {"pool commands", begin_pool_commands, 1},
    {"planner", begin_planner, 2},
};

static void part__without_a_thread__an_error_and_with_it_begins(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        for (int n = 0; n <= parts[i].thread_n; n++) {
            struct err err = {.msg = ""};
            int rc;

            given_n = n;
            rc = parts[i].begin(&err);
            if (rc != (n < parts[i].thread_n ? -ERR_INTERNAL : 0) ||
                (rc != 0 && strcmp(err.msg, "there is no thread") != 0)) {
                fail_msg("%s with %d threads: %d, \"%s\"", parts[i].name, n, rc, err.msg);
            }
        }
    }
}

/* One lane is there; pools whose own cannot be opened are run by it, one after the other. */
static void pools__more_than_lanes__a_warning(void **state)
{
    static const struct str works[] = {STR("/bin/true")};
    static const struct kv label = {STR("p"), STR("x")};
    const struct node_pool pools[] = {
        {.selector = {&label, 1}, .name = STR("a"), .command = works, .command_n = 1, .timeout_ms = 20000},
        {.selector = {&label, 1}, .name = STR("b"), .command = works, .command_n = 1, .timeout_ms = 20000}};
    const struct policy p = {.node_pools = pools, .node_pool_n = ARRAY_LEN(pools)};
    const struct pool_commands_options o = {.clock = clock_system(), .log = &warnings_log};
    struct pool_commands *c;

    warnings_reset();
    given_n = 1;
    assert_int_equal(pool_commands_new(&o, &c, NULL), 0);
    pool_commands_set(c, &p);
    assert_int_equal(warnings(), 1);
    given_n = 1;
    pool_commands_set(c, &p);
    assert_int_equal(warnings(), 1);
    pool_commands_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(part__without_a_thread__an_error_and_with_it_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(pools__more_than_lanes__a_warning, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
