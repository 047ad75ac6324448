/* Which GPUs a container can open, by what the runtime tells. */
#include "base/compiler.h"
#include "cmd_node/gpus_told.h"
#include "support/cmocka.h"

#define ALL (-1)

static struct gpu_nodes with_rule(bool allow, const char *type, int64_t major, int64_t minor, const char *access)
{
    const struct nri_device_rule rules[] = {
        {.allow = false, .type = STR("a"), .major = ALL, .minor = ALL, .access = STR("rwm")},
        {.allow = true, .type = STR("c"), .major = 1, .minor = 3, .access = STR("rwm")},
        {.allow = allow, .type = str_of(type), .major = major, .minor = minor, .access = str_of(access)}};
    const struct nri_container c = {.device_rules = rules, .device_rule_n = ARRAY_LEN(rules)};

    return gpus_told(&c);
}

static void gpus_told__nodes__of_character_devices_count(void **state)
{
    const struct nri_device devices[] = {{.path = STR("/dev/null"), .type = STR("c"), .major = 1, .minor = 3},
                                         {.path = STR("/dev/other-name"), .type = STR("c"), .major = 195, .minor = 2},
                                         {.path = STR("/dev/nvidia5"), .type = STR("b"), .major = 195, .minor = 5}};
    const struct nri_container c = {.devices = devices, .device_n = ARRAY_LEN(devices)}, bare = {.device_n = 0};
    struct gpu_nodes told = gpus_told(&c);

    assert_true(gpu_nodes_has(&told, 2));
    assert_false(gpu_nodes_has(&told, 5) || gpu_nodes_has(&told, 3) || told.everything);
    told = gpus_told(&bare);
    assert_int_equal(gpu_nodes_first(&told), -1);
}

/* Who may make nodes may open none by that: the rule "c *:* m" is everybody's. */
static void gpus_told__rules__that_let_open_count(void **state)
{
    static const struct {
        bool allow;
        const char *type;
        int64_t major, minor;
        const char *access;
        int32_t first; /* GPU; -1: none */
        bool everything;
    } rows[] = {
        {true, "c", 195, 4, "rw", 4, false},    {true, "c", 195, 4, "r", 4, false},
        {true, "c", 195, ALL, "rwm", 0, false}, {true, "c", 195, 255, "rwm", -1, false},
        {true, "b", 195, 4, "rw", -1, false},   {false, "c", 195, 4, "rw", -1, false},
        {true, "c", ALL, ALL, "m", -1, false},  {true, "a", ALL, ALL, "rwm", 0, true},
        {true, "", ALL, ALL, "rwm", 0, true},   {true, "c", ALL, ALL, "rw", 0, true},
        {true, "a", ALL, ALL, "", 0, true},     {true, "b", ALL, ALL, "rwm", -1, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gpu_nodes told =
            with_rule(rows[i].allow, rows[i].type, rows[i].major, rows[i].minor, rows[i].access);

        if (gpu_nodes_first(&told) != rows[i].first || told.everything != rows[i].everything) {
            fail_msg("row %zu: %d", i, gpu_nodes_first(&told));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_told__nodes__of_character_devices_count),
        cmocka_unit_test(gpus_told__rules__that_let_open_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
