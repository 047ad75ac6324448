/* Commands of node pools: real programs, run for real. */
#include "extender/pool_commands.h"
#include "extender/pool_argv.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define POLL_US 2000

static struct temp_dir directory;
static struct pool_commands *commands;
static struct arena arena;

static bool allowed;

static bool may_run(void *ctx)
{
    return __atomic_load_n((bool *)ctx, __ATOMIC_SEQ_CST);
}

static int setup(void **state)
{
    const struct pool_commands_options o = {
        .clock = clock_system(), .retry_min_ms = 20, .may_run = may_run, .may_run_ctx = &allowed};

    __atomic_store_n(&allowed, true, __ATOMIC_SEQ_CST);
    temp_dir_init(&directory);
    arena_init(&arena, 1 << 20);
    return pool_commands_new(&o, &commands, NULL);
}

static int teardown(void **state)
{
    pool_commands_free(commands);
    arena_fini(&arena);
    temp_dir_fini(&directory);
    return 0;
}

static const struct str selector_key = {"p", 1};

static struct node_pool pool(const char *name, enum node_pool_state state, const struct str *command, size_t n)
{
    static struct kv label;

    label = (struct kv){selector_key, STR("x")};
    return (struct node_pool){.selector = {&label, 1},
                              .state = state,
                              .name = str_of(name),
                              .command = command,
                              .command_n = n,
                              .timeout_ms = 20000};
}

static void set(const struct node_pool *pools, size_t n)
{
    const struct policy p = {.node_pools = pools, .node_pool_n = n};

    pool_commands_set(commands, &p);
}

static const struct pool_command_status *status(size_t i, size_t want_n)
{
    const struct pool_command_status *all = NULL;

    assert_int_equal(pool_commands_list(commands, &arena, &all), want_n);
    return want_n > 0 ? &all[i] : NULL;
}

static const struct pool_command_status *await(size_t i, size_t n, enum pool_command_result r, uint32_t tries)
{
    for (int ms = 0; ms < PATIENCE_MS; ms += POLL_US / 1000) {
        const struct pool_command_status *s;

        arena_reset(&arena);
        s = status(i, n);
        if (s->result == r && s->tries >= tries) {
            return s;
        }
        usleep(POLL_US);
    }
    fail_msg("no such result in time");
    return NULL;
}

/* What the script wrote, "NAME STATE;" for each run. */
static const char *told(void)
{
    static char text[4096];
    char path[128];
    FILE *f;

    temp_dir_path(&directory, "told", path, sizeof(path));
    f = fopen(path, "r");
    if (f == NULL) {
        return "";
    }
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Pool "night" with this script; good until the next call. sh is named by the test as the admin's program; fgpu itself
 * uses no shell. */
static struct node_pool scripted(enum node_pool_state state, const char *body)
{
    static char text[256];
    static struct str argv[3];

    snprintf(text, sizeof(text), "d=%s; %s", directory.path, body);
    argv[0] = STR("/bin/sh");
    argv[1] = STR("-c");
    argv[2] = str_of(text);
    return pool("night", state, argv, ARRAY_LEN(argv));
}

static void await_told(void)
{
    while (told()[0] == '\0') {
        usleep(POLL_US);
    }
}

static void put_file(const char *name)
{
    char path[128];

    temp_dir_path(&directory, name, path, sizeof(path));
    assert_int_equal(fclose(fopen(path, "w")), 0);
}

#define TELL "printf '%s %s;' $0 $1 >> $d/told"

static void pool__opens_and_closes__run_each_time_with_name_and_state(void **state)
{
    struct node_pool p = scripted(NODE_POOL_CLOSED, TELL);

    set(&p, 1);
    assert_int_equal(await(0, 1, POOL_COMMAND_OK, 1)->state, NODE_POOL_CLOSED);
    set(&p, 1); /* nothing new */
    p.state = NODE_POOL_OPEN;
    set(&p, 1);
    while (await(0, 1, POOL_COMMAND_OK, 1)->state != NODE_POOL_OPEN) {
    }
    assert_string_equal(told(), "night closed;night open;");
    assert_null(status(0, 1)->error);
    assert_true(status(0, 1)->at_ms > 0);
}

static void pool__an_entry_of_a_window_behind_the_files__its_state_with_the_files_command(void **state)
{
    struct node_pool pools[4] = {scripted(NODE_POOL_OPEN, TELL)};

    pools[0].name = STR("day");
    pools[1] = pool("", NODE_POOL_CLOSED, NULL, 0);
    pools[2] = pool("other", NODE_POOL_CLOSED, NULL, 0); /* without a command: not ours */
    pools[3] = pool("day", NODE_POOL_CLOSED, NULL, 0);
    set(pools, 4);
    (void)await(0, 1, POOL_COMMAND_OK, 1);
    assert_string_equal(told(), "day closed;");
    set(pools, 2);
    while (await(0, 1, POOL_COMMAND_OK, 1)->state != NODE_POOL_OPEN) {
    }
    assert_string_equal(told(), "day closed;day open;");
    set(NULL, 0);
    assert_null(status(0, 0));
}

static void command__fails__is_tried_again_until_it_works(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, "[ -e $d/ready ] || { echo no hypervisor >&2; exit 3; }");

    set(&p, 1);
    assert_string_equal(await(0, 1, POOL_COMMAND_FAILED, 2)->error, "ended with exit code 3: no hypervisor");
    assert_int_equal(pool_commands_failing(commands), 1);
    put_file("ready");
    assert_null(await(0, 1, POOL_COMMAND_OK, 3)->error);
    assert_int_equal(pool_commands_failing(commands), 0);
}

static void command__cannot_be_started__said(void **state)
{
    const struct str argv[] = {STR("/nowhere/machines")};
    struct node_pool p = pool("night", NODE_POOL_OPEN, argv, 1);

    set(&p, 1);
    assert_non_null(strstr(await(0, 1, POOL_COMMAND_FAILED, 1)->error, "cannot be started"));
}

static void command__does_not_end__is_ended_with_what_it_started(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, "sleep 1000 & sleep 1000");

    p.timeout_ms = 100;
    set(&p, 1);
    assert_non_null(strstr(await(0, 1, POOL_COMMAND_FAILED, 1)->error, "did not end within 100 ms"));
}

static void stop__while_a_command_runs__ends_it(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, TELL "; sleep 1000");

    set(&p, 1);
    await_told();
    pool_commands_free(commands); /* returns long before the timeout of the command, or the test never ends */
    commands = NULL;
}

static void pool__changes_while_a_command_runs__the_new_state_has_the_last_word(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, TELL "; until [ -e $d/go ]; do sleep 0.01; done");

    set(&p, 1);
    await_told();
    p.state = NODE_POOL_CLOSED;
    set(&p, 1);
    assert_int_equal(status(0, 1)->result, POOL_COMMAND_WAITING);
    put_file("go");
    assert_int_equal(await(0, 1, POOL_COMMAND_OK, 1)->state, NODE_POOL_CLOSED);
    assert_string_equal(told(), "night open;night closed;");
}

/* As many as there are lanes, all but the last of which hang. */
static void command__all_other_pools_hang__runs_all_the_same(void **state)
{
    static const struct str hangs[] = {STR("/bin/sh"), STR("-c"), STR("sleep 1000")};
    struct node_pool pools[POOL_LANES_MAX];
    char names[POOL_LANES_MAX][16];
    const size_t n = ARRAY_LEN(pools);

    for (size_t i = 0; i + 1 < n; i++) {
        snprintf(names[i], sizeof(names[i]), "hangs-%zu", i);
        pools[i] = pool(names[i], NODE_POOL_OPEN, hangs, ARRAY_LEN(hangs));
    }
    pools[n - 1] = scripted(NODE_POOL_OPEN, TELL);
    set(pools, n);
    (void)await(n - 1, n, POOL_COMMAND_OK, 1);
    assert_int_equal(status(0, n)->result, POOL_COMMAND_WAITING);
    assert_string_equal(told(), "night open;");
}

static void command__prints_more_than_is_kept__its_exit_code_decides(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, "head -c 3000000 /dev/zero; " TELL);

    set(&p, 1);
    assert_null(await(0, 1, POOL_COMMAND_OK, 1)->error);
    assert_string_equal(told(), "night open;"); /* it was not ended in the middle */
    p = scripted(NODE_POOL_CLOSED, "head -c 3000000 /dev/zero; echo no hypervisor >&2; exit 3");
    set(&p, 1);
    assert_string_equal(await(0, 1, POOL_COMMAND_FAILED, 1)->error, "ended with exit code 3: no hypervisor");
}

/* Pool "night", alone in a group with one that has no command. */
static void set_in_group(const struct node_pool *p)
{
    static const struct str names[] = {STR("night"), STR("day")};
    const struct change_over_group group = {.name = STR("card"), .pools = names, .pool_n = 2};
    const struct policy policy = {.node_pools = p, .node_pool_n = 1, .change_overs = &group, .change_over_n = 1};

    pool_commands_set(commands, &policy);
}

static void pool_of_a_group__ordered__run_then_and_for_that_state_alone(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, TELL "; [ -e $d/ready ] || exit 3");
    char path[128];

    set_in_group(&p);
    pool_commands_order(commands, STR("night"), POOL_RUN_CLOSED);
    (void)await(0, 1, POOL_COMMAND_FAILED, 2); /* again and again, */
    pool_commands_order(commands, STR("night"), POOL_HOLD);
    pool_commands_order(commands, STR("day"), POOL_RUN_OPEN); /* it has no command */
    put_file("ready");
    pool_commands_order(commands, STR("night"), POOL_RUN_CLOSED); /* ... until it works */
    assert_int_equal(await(0, 1, POOL_COMMAND_OK, 1)->state, NODE_POOL_CLOSED);
    temp_dir_path(&directory, "told", path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    set_in_group(&p); /* what the policy says is not asked for */
    pool_commands_order(commands, STR("night"), POOL_RUN_CLOSED);
    pool_commands_order(commands, STR("night"), POOL_RUN_OPEN);
    while (await(0, 1, POOL_COMMAND_OK, 1)->state != NODE_POOL_OPEN) {
    }
    assert_string_equal(told(), "night open;");
    p.state = NODE_POOL_CLOSED;
    set(&p, 1); /* in no group any more */
    while (await(0, 1, POOL_COMMAND_OK, 1)->state != NODE_POOL_CLOSED) {
    }
    assert_string_equal(told(), "night open;night closed;");
    pool_commands_order(commands, STR("night"), POOL_RUN_OPEN); /* nobody orders it now */
    assert_int_equal(status(0, 1)->state, NODE_POOL_CLOSED);
}

/* Each wakes a lane that has nothing to do: it said OK, and waits since then. */
static void pool_of_a_group__ordered_after_it_worked__run_at_once(void **state)
{
    struct node_pool p = scripted(NODE_POOL_OPEN, TELL);

    set_in_group(&p);
    for (int i = 0; i < 4; i++) {
        const bool open = i % 2 == 0;

        pool_commands_order(commands, STR("night"), open ? POOL_RUN_OPEN : POOL_RUN_CLOSED);
        while (await(0, 1, POOL_COMMAND_OK, 1)->state != (open ? NODE_POOL_OPEN : NODE_POOL_CLOSED)) {
        }
    }
    pool_commands_order(commands, STR("night"), POOL_HOLD);
    pool_commands_order(commands, STR("night"), POOL_RUN_CLOSED); /* it is so */
    assert_string_equal(told(), "night open;night closed;night open;night closed;");
}

static void pool_of_a_group__not_ordered_yet__nothing_is_run(void **state)
{
    const struct node_pool other = pool("night", NODE_POOL_OPEN, NULL, 0);
    struct node_pool p = scripted(NODE_POOL_OPEN, TELL);

    set_in_group(&p);
    for (int i = 0; i < 100; i++) {
        arena_reset(&arena);
        assert_int_equal(status(0, 1)->result, POOL_COMMAND_WAITING);
        usleep(POLL_US);
    }
    assert_string_equal(told(), "");
    set_in_group(&other);
    assert_null(status(0, 0));
}

static void argv__same_only_if_each_word_is(void **state)
{
    static char mig[] = "mig", on[] = "on", off[] = "off";
    static char *none[] = {NULL}, *a[] = {mig, on, NULL}, *b[] = {mig, off, NULL}, *longer[] = {mig, on, off, NULL};
    char **const rows[] = {none, a, b, longer};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            assert_int_equal(pool_argv_same(rows[i], rows[k]), i == k);
        }
    }
}

/* A replica that does not decide (any more) runs nothing, whatever is due. */
static void command__not_allowed__is_run_when_it_is(void **state)
{
    const struct node_pool p = scripted(NODE_POOL_OPEN, "echo \"$1 $2;\" >> $d/told");

    __atomic_store_n(&allowed, false, __ATOMIC_SEQ_CST);
    set(&p, 1);
    assert_string_equal(await(0, 1, POOL_COMMAND_FAILED, 2)->error, "this replica does not decide");
    assert_string_equal(told(), "");
    __atomic_store_n(&allowed, true, __ATOMIC_SEQ_CST);
    (void)await(0, 1, POOL_COMMAND_OK, 3);
    assert_string_not_equal(told(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argv__same_only_if_each_word_is),
        cmocka_unit_test_setup_teardown(pool__opens_and_closes__run_each_time_with_name_and_state, setup, teardown),
        cmocka_unit_test_setup_teardown(pool__an_entry_of_a_window_behind_the_files__its_state_with_the_files_command,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(command__fails__is_tried_again_until_it_works, setup, teardown),
        cmocka_unit_test_setup_teardown(command__cannot_be_started__said, setup, teardown),
        cmocka_unit_test_setup_teardown(command__does_not_end__is_ended_with_what_it_started, setup, teardown),
        cmocka_unit_test_setup_teardown(stop__while_a_command_runs__ends_it, setup, teardown),
        cmocka_unit_test_setup_teardown(pool__changes_while_a_command_runs__the_new_state_has_the_last_word, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(command__all_other_pools_hang__runs_all_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(command__prints_more_than_is_kept__its_exit_code_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(pool_of_a_group__ordered__run_then_and_for_that_state_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(pool_of_a_group__ordered_after_it_worked__run_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(pool_of_a_group__not_ordered_yet__nothing_is_run, setup, teardown),
        cmocka_unit_test_setup_teardown(command__not_allowed__is_run_when_it_is, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
