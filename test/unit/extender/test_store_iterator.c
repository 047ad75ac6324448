/* Iterators from several threads beside writers: each shows one moment. */
#include "base/bug.h"
#include "extender/support/tested_store.h"
#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 40, DEVICES = 4, PODS = 60, WRITERS = 3, READERS = 3, ITERATORS = 40 };

static struct clock_manual now;
static atomic_bool over;
static const struct demand demand = DEMAND_OF_SHARE(70);

/* From any thread. */
static void apply_or_stop(struct ledger_op *op)
{
    BUG_ON(store_apply(store, op, NULL) != 0);
}

static void describe(unsigned node)
{
    char name[16], uuids[DEVICES][24];
    struct device devices[DEVICES];
    struct inventory inventory = {.devices = devices, .device_n = DEVICES, .source = INVENTORY_ANNOTATION};
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED,
                           .node = {.uid = STR("u"), .schedulable = true, .inventory = &inventory}};

    snprintf(name, sizeof(name), "n%02u", node);
    for (int i = 0; i < DEVICES; i++) {
        snprintf(uuids[i], sizeof(uuids[i]), "GPU-%u-%d", node, i);
        devices[i] = (struct device){.uuid = str_of(uuids[i]),
                                     .index = i,
                                     .model = STR("A100"),
                                     .mem_mib = 81920,
                                     .slot_n = 16,
                                     .healthy = true};
    }
    op.node.name = str_of(name);
    apply_or_stop(&op);
}

static int setup(void **state)
{
    clock_manual_init(&now, 1000, 5000);
    store_open(&now.clock);
    atomic_store(&over, false);
    for (unsigned i = 0; i < NODES; i++) {
        describe(i);
    }
    return 0;
}

static uint32_t roll(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % n;
}

/* Its own pods come, are bound to some node without a record, and go; nodes go and come back. */
static void *write_on(void *arg)
{
    uint32_t seed = *(const uint32_t *)arg;

    for (uint32_t i = 0; !atomic_load(&over); i++) {
        char uid[24], node[16];
        struct ledger_op op = {.kind = LEDGER_POD_OBSERVED,
                               .pod = {.namespace_ = STR("d"), .name = STR("p"), .demand = &demand}};
        uint32_t what = roll(&seed, 100);

        snprintf(uid, sizeof(uid), "w%u-%u", *(const uint32_t *)arg, roll(&seed, PODS));
        snprintf(node, sizeof(node), "n%02u", roll(&seed, NODES));
        if (what < 3) {
            op = (struct ledger_op){.kind = LEDGER_NODE_GONE, .name = str_of(node)};
        } else if (what < 8) {
            describe(roll(&seed, NODES));
            continue;
        } else if (what < 35) {
            op = (struct ledger_op){.kind = LEDGER_POD_GONE, .name = str_of(uid)};
        } else {
            op.pod.uid = str_of(uid);
            op.pod.node_name = what < 60 ? STR_NULL : str_of(node);
        }
        apply_or_stop(&op);
    }
    return NULL;
}

struct sums {
    int64_t milli, mem_mib;
    uint64_t devices, by_state[LEDGER_POD_STATE__MAX];
};

static void add(const struct snapshot *s, struct sums *sums)
{
    for (size_t i = 0; i < s->node_n; i++) {
        for (size_t j = 0; j < s->nodes[i].device_n; j++) {
            const struct snapshot_device *d = &s->nodes[i].devices[j];
            int64_t milli = 0;

            for (size_t k = 0; k < d->allocation_n; k++) { /* allocations make up the charge */
                milli += d->allocations[k].milli;
            }
            BUG_ON(milli != d->milli_charged);
            if (s->nodes[i].described) {
                sums->devices++;
                sums->milli += milli;
                sums->mem_mib += d->mem_charged_mib;
            }
        }
    }
    for (size_t i = 0; i < s->pod_n; i++) {
        BUG_ON(!str_eq_cstr(s->pods[i].namespace_, "d"));
        sums->by_state[s->pods[i].state]++;
    }
}

static void *read_on(void *arg)
{
    const struct snapshot_iterator_filter all = {0};
    size_t *ended = arg;
    struct arena a;

    arena_init(&a, 4U << 20);
    for (int i = 0; i < ITERATORS; i++) {
        struct store_head head;
        const struct snapshot *totals = &head.totals;
        struct snapshot s;
        struct sums sums = {0};
        struct store_iterator *w = store_iterator_open(store, &all, 4U << 20, &a, &head);
        enum snapshot_iterator_step step;

        while ((step = store_iterator_next(w, &a, &s)) == SNAPSHOT_ITERATOR_MORE) {
            add(&s, &sums);
            arena_reset(&a);
            sched_yield();
        }
        BUG_ON(step != SNAPSHOT_ITERATOR_END);
        BUG_ON(sums.milli != totals->milli_charged || sums.mem_mib != totals->mem_charged_mib);
        BUG_ON(sums.devices != totals->device_n);
        BUG_ON(memcmp(sums.by_state, totals->pods_by_state, sizeof(sums.by_state)) != 0);
        store_iterator_close(w);
        *ended += 1;
    }
    arena_fini(&a);
    return NULL;
}

static void iterators__beside_writers__sums_are_those_of_the_opening(void **state)
{
    uint32_t seeds[WRITERS];
    size_t ended[READERS] = {0};
    pthread_t writers[WRITERS], readers[READERS];
    uint64_t before = store_generation(store);

    for (uint32_t i = 0; i < WRITERS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&writers[i], NULL, write_on, &seeds[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &ended[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        assert_int_equal(ended[i], ITERATORS);
    }
    atomic_store(&over, true);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    assert_true(store_generation(store) > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(iterators__beside_writers__sums_are_those_of_the_opening, setup,
                                        store_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
