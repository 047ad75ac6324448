/* Small questions to a store that other threads ask: heads, flags, what a list left out. */
#include "base/compiler.h"
#include "core/ledger/snapshot_iterator.h"
#include "extender/contact.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct clock_manual now;
static const struct demand share = DEMAND_OF_SHARE(300);

static int setup(void **state)
{
    clock_manual_init(&now, 1000 * NS_PER_S, 5000);
    store_open(&now.clock);
    return 0;
}

static const struct str ours[] = {STR("d")};
static const struct tenant tenants[] = {{.name = STR("team"),
                                         .namespaces = ours,
                                         .namespace_n = 1,
                                         .gpu_permille = TENANT_UNLIMITED,
                                         .milli = 1300,
                                         .mem_permille = TENANT_UNLIMITED,
                                         .mem_mib = TENANT_UNLIMITED}};

static void fill(void)
{
    apply_empty_lists();
    apply_node("n0", 2, 40000, true);
    apply_node("n1", 1, 40000, true);
    apply_pod("a", NULL, &share);
    apply_pod("b", "n1", &share);
    apply((struct ledger_op){.kind = LEDGER_TENANTS, .tenants = {tenants, 1}});
}

static void expect_head(const struct store_head *h)
{
    assert_int_equal(h->totals.device_n, 3);
    assert_int_equal(h->totals.milli_charged, 300);
    assert_int_equal(h->totals.generation, store_generation(store));
    assert_int_equal(h->tenant_n, 1);
    assert_true(str_eq_cstr(h->tenants[0].name, "team"));
    assert_int_equal(h->demand_histogram.arrived_n, 2);
}

static void head__of_the_whole_cluster__as_an_iterator_has_it(void **state)
{
    static const struct snapshot_iterator_filter everything;
    static struct store_head h;
    struct store_iterator *it;

    fill();
    store_head(store, &arena, &h);
    expect_head(&h);
    assert_null(h.incidents);
    memset(&h, 0, sizeof(h));
    it = store_iterator_open(store, &everything, 1 << 20, &arena, &h);
    expect_head(&h);
    free(h.incidents);
    store_iterator_close(it);
    store_iterator_close(NULL);
}

/* Of nodes that changed since a generation; who is gone since then is named. */
static void iterator__since_a_generation__changes_and_who_left(void **state)
{
    static struct store_head h;
    struct snapshot_iterator_filter since = {0};
    struct store_iterator *it;
    struct snapshot section;
    const struct str *left = NULL;
    size_t left_n = 0;
    size_t node_n = 0;

    fill();
    since.changed = true;
    since.since = store_generation(store);
    apply((struct ledger_op){.kind = LEDGER_NODE_GONE, .name = STR("n0")});
    apply_pod("c", "n1", &share);
    it = store_iterator_open(store, &since, 1 << 20, &arena, &h);
    while (store_iterator_next(it, &arena, &section) == SNAPSHOT_ITERATOR_MORE) {
        node_n += section.node_n;
    }
    assert_int_equal(node_n, 1);
    assert_true(store_iterator_left(it, &left, &left_n));
    assert_int_equal(left_n, 1);
    assert_true(str_eq_cstr(left[0], "n0"));
    free(h.incidents);
    store_iterator_close(it);
}

static void contact__lost__not_ready_and_not_warm(void **state)
{
    struct contact *c = contact_new(&now.clock, NULL, 20000);

    fill();
    assert_null(store_not_warm(store));
    contact_follow(c, KUBE_PODS);
    store_follow_contact(store, c);
    assert_true(store_is_ready(store));
    clock_manual_advance_ms(&now, 20001);
    assert_non_null(strstr(store_not_ready(store), "no news of pods"));
    assert_non_null(strstr(store_not_warm(store), "no news of pods"));
    assert_null(store_not_open(store)); /* what asks for no GPU is bound */
    store_close(store, "the end");
    assert_string_equal(store_not_warm(store), "the end");
    store_follow_contact(store, NULL);
    contact_free(c);
}

static void lost_inventory__there_is_room__none(void **state)
{
    fill();
    assert_null(store_lost_inventory(store));
    assert_false(store_has_unverified(store));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(head__of_the_whole_cluster__as_an_iterator_has_it),
        TEST(iterator__since_a_generation__changes_and_who_left),
        TEST(contact__lost__not_ready_and_not_warm),
        TEST(lost_inventory__there_is_room__none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
