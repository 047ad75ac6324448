/* Which nodes the policy closes. */
#include "core/time/node_pools.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#define LABELS(...)                                                                                                    \
    {                                                                                                                  \
        (const struct kv[]){__VA_ARGS__}, sizeof((const struct kv[]){__VA_ARGS__}) / sizeof(struct kv)                 \
    }
#define A                                                                                                              \
    {                                                                                                                  \
        STR("pool"), STR("a")                                                                                          \
    }
#define B                                                                                                              \
    {                                                                                                                  \
        STR("pool"), STR("b")                                                                                          \
    }
#define FAST                                                                                                           \
    {                                                                                                                  \
        STR("fast"), STR("")                                                                                           \
    }

static void node_pools_close__tables__the_last_entry_that_the_node_is_in(void **state)
{
    const struct {
        const char *name;
        struct node_pool pools[3];
        size_t pool_n;
        struct kv_list labels;
        bool want;
    } rows[] = {
        {"no entries", {{.state = NODE_POOL_OPEN}}, 0, LABELS(A), false},
        {"in it", {{.selector = LABELS(A), .state = NODE_POOL_CLOSED}}, 1, LABELS(FAST, A), true},
        {"another value", {{.selector = LABELS(A), .state = NODE_POOL_CLOSED}}, 1, LABELS(B), false},
        {"without labels", {{.selector = LABELS(A), .state = NODE_POOL_CLOSED}}, 1, {NULL, 0}, false},
        {"one label of two", {{.selector = LABELS(A, FAST), .state = NODE_POOL_CLOSED}}, 1, LABELS(A), false},
        {"both labels", {{.selector = LABELS(A, FAST), .state = NODE_POOL_CLOSED}}, 1, LABELS(FAST, A), true},
        {"closed, opened",
         {{.selector = LABELS(A), .state = NODE_POOL_CLOSED}, {.selector = LABELS(A), .state = NODE_POOL_OPEN}},
         2,
         LABELS(A),
         false},
        {"opened, closed",
         {{.selector = LABELS(A), .state = NODE_POOL_OPEN}, {.selector = LABELS(FAST), .state = NODE_POOL_CLOSED}},
         2,
         LABELS(A, FAST),
         true},
        {"the last speaks of others",
         {{.selector = LABELS(A), .state = NODE_POOL_CLOSED}, {.selector = LABELS(B), .state = NODE_POOL_OPEN}},
         2,
         LABELS(A),
         true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct policy p = {.node_pools = rows[i].pools, .node_pool_n = rows[i].pool_n};
        const struct node n = {.name = STR("n"), .labels = rows[i].labels};

        if (node_pools_close(&p, &n) != rows[i].want) {
            fail_msg("%s", rows[i].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_pools_close__tables__the_last_entry_that_the_node_is_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
