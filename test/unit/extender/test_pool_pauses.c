/* When a command of a node pool that fails is run again, by a clock that the test moves. The commands are real and end
 * at once; what else is told of them: test_pool_commands.c. */
#include "extender/pool_commands.h"

#include "extender/support/fake_time.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <unistd.h>

#define PATIENCE_NS (60 * NS_PER_S)

static struct pool_commands *commands;
static struct clock_manual wall;
static struct arena arena;

static const struct str fails[] = {STR("/bin/false")}, works[] = {STR("/bin/true")};
static struct kv label = {STR("p"), STR("x")};

static int setup(void **state)
{
    const struct pool_commands_options o = {.clock = &wall.clock};

    fake_time_set(1000 * NS_PER_S);
    clock_manual_init(&wall, 0, 77000);
    arena_init(&arena, 1 << 20);
    return pool_commands_new(&o, &commands, NULL);
}

static int teardown(void **state)
{
    pool_commands_free(commands);
    arena_fini(&arena);
    return 0;
}

static void set(enum node_pool_state state, const struct str *command)
{
    const struct node_pool pool = {.selector = {&label, 1},
                                   .state = state,
                                   .name = STR("night"),
                                   .command = command,
                                   .command_n = 1,
                                   .timeout_ms = 20000};
    const struct policy p = {.node_pools = &pool, .node_pool_n = 1};

    pool_commands_set(commands, &p);
}

static const struct pool_command_status *status(void)
{
    const struct pool_command_status *all;

    arena_reset(&arena);
    assert_int_equal(pool_commands_list(commands, &arena, &all), 1);
    return all;
}

static const struct pool_command_status *await(enum pool_command_result r, uint32_t tries)
{
    const int64_t end_ns = clock_mono_ns(clock_system()) + PATIENCE_NS;
    const struct pool_command_status *s = status();

    while (s->result != r || s->tries != tries) {
        if (clock_mono_ns(clock_system()) > end_ns) {
            fail_msg("%s after %u tries, for a minute", pool_command_result_name(s->result), s->tries);
        }
        usleep(500);
        s = status();
    }
    return s;
}

/* It doubles, up to ten minutes, and not a moment earlier. */
static void command__fails_again_and_again__ever_longer_pauses(void **state)
{
    static const int64_t pauses_ms[] = {10000, 20000, 40000, 80000, 160000, 320000, 600000, 600000};

    set(NODE_POOL_OPEN, fails);
    for (uint32_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
        assert_int_equal(await(POOL_COMMAND_FAILED, i + 1)->at_ms, 77000);
        assert_int_equal(fake_time_await_waiter_ms(), pauses_ms[i]);
        fake_time_advance_ms(pauses_ms[i] - 1);
        assert_int_equal(fake_time_await_waiter_ms(), 1);
        assert_int_equal(status()->tries, i + 1);
        fake_time_advance_ms(1);
    }
    (void)await(POOL_COMMAND_FAILED, ARRAY_LEN(pauses_ms) + 1);
}

/* What was done for another state or by another command says nothing: at once, and the pauses begin anew. */
static void pool__changes_in_a_pause__run_at_once(void **state)
{
    set(NODE_POOL_OPEN, fails);
    (void)await(POOL_COMMAND_FAILED, 1);
    fake_time_advance_ms(10000);
    (void)await(POOL_COMMAND_FAILED, 2);
    assert_int_equal(fake_time_await_waiter_ms(), 20000);
    set(NODE_POOL_OPEN, fails); /* nothing new */
    assert_int_equal(fake_time_await_waiter_ms(), 20000);
    set(NODE_POOL_CLOSED, fails);
    (void)await(POOL_COMMAND_FAILED, 1);
    assert_int_equal(fake_time_await_waiter_ms(), 10000);
    set(NODE_POOL_CLOSED, works);
    assert_null(await(POOL_COMMAND_OK, 1)->error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(command__fails_again_and_again__ever_longer_pauses),
        TEST(pool__changes_in_a_pause__run_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
