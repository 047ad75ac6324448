/* Charges of GPU requests, matching of constraints, copies. */
#include "base/compiler.h"
#include "base/rng.h"
#include "core/request/demand.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define MEM_HUGE (INT64_MAX / 2)

struct charge_row {
    const char *name;
    enum gpu_request_kind kind;
    int32_t milli;
    int64_t mem_mib;
    int32_t cap_milli;
    int64_t cap_mem, base_mem;
    struct charge want;
};

static const struct charge_row charge_rows[] = {
    {"both as given", GPU_REQUEST_BOTH, 300, 4096, 1000, 81920, 81920, {300, 1, 4096, false}},
    {"both, more than the device has", GPU_REQUEST_BOTH, 1000, 99999, 1000, 81920, 81920, {1000, 1, 99999, false}},
    {"both, memory only in mode free", GPU_REQUEST_BOTH, 0, 4096, 1000, 81920, 81920, {0, 1, 4096, false}},
    {"milli, even", GPU_REQUEST_MILLI, 500, 0, 1000, 81920, 81920, {500, 1, 40960, false}},
    {"milli, rounded down", GPU_REQUEST_MILLI, 333, 0, 1000, 81559, 81559, {333, 1, 27159, false}},
    {"milli, one of a small device", GPU_REQUEST_MILLI, 1, 0, 1000, 999, 999, {1, 1, 0, false}},
    {"milli, of the memory before over-commit", GPU_REQUEST_MILLI, 500, 0, 2000, 163840, 81920, {500, 1, 40960, false}},
    {"milli, limited to the capacity", GPU_REQUEST_MILLI, 900, 0, 1000, 100, 81920, {900, 1, 100, false}},
    {"milli, memory unknown", GPU_REQUEST_MILLI, 900, 0, 1000, 0, 0, {900, 1, 0, false}},
    {"milli, negative capacity", GPU_REQUEST_MILLI, 900, 0, 1000, -5, 81920, {900, 1, 0, false}},
    {"milli, product above 64 bits",
     GPU_REQUEST_MILLI,
     999,
     0,
     1000,
     MEM_HUGE,
     MEM_HUGE,
     {999, 1, MEM_HUGE / 1000 * 999 + MEM_HUGE % 1000 * 999 / 1000, false}},
    {"memory, its share of compute", GPU_REQUEST_MEMORY, 0, 8192, 1000, 81920, 81920, {100, 1, 8192, false}},
    {"memory, share rounded down", GPU_REQUEST_MEMORY, 0, 8191, 1000, 81920, 81920, {99, 1, 8191, false}},
    {"memory, at least one milli", GPU_REQUEST_MEMORY, 0, 1, 1000, 81920, 81920, {1, 1, 1, false}},
    {"memory, all of it", GPU_REQUEST_MEMORY, 0, 81920, 1000, 81920, 81920, {1000, 1, 81920, false}},
    {"memory, more than all of it", GPU_REQUEST_MEMORY, 0, 163840, 1000, 81920, 81920, {1000, 1, 163840, false}},
    {"memory, of the memory before over-commit",
     GPU_REQUEST_MEMORY,
     0,
     8192,
     1000,
     163840,
     81920,
     {100, 1, 8192, false}},
    {"memory, product above 64 bits", GPU_REQUEST_MEMORY, 0, MEM_HUGE, 1000, 81920, 81920, {1000, 1, MEM_HUGE, false}},
    {"memory, device unknown", GPU_REQUEST_MEMORY, 0, 8192, 1000, 0, 0, {1000, 1, 8192, false}},
    {"fraction", GPU_REQUEST_FRACTION, 500, 0, 1000, 81920, 81920, {500, 1, 40950, false}},
    {"fraction, rounded down", GPU_REQUEST_FRACTION, 333, 0, 1000, 81559, 81559, {333, 1, 27139, false}},
    {"fraction, whole steps", GPU_REQUEST_FRACTION, 125, 0, 1000, 40000, 40000, {125, 1, 5000, false}},
    {"fraction, below one step", GPU_REQUEST_FRACTION, 999, 0, 1000, 99, 99, {999, 1, 0, false}},
    {"fraction, of the memory before over-commit",
     GPU_REQUEST_FRACTION,
     500,
     0,
     1000,
     163840,
     81920,
     {500, 1, 40950, false}},
    {"fraction, memory unknown", GPU_REQUEST_FRACTION, 500, 0, 1000, 0, 0, {500, 1, 0, false}},
    {"fraction, limited to the capacity", GPU_REQUEST_FRACTION, 900, 0, 1000, 100, 81920, {900, 1, 100, false}},
    {"portion, rounded up", GPU_REQUEST_PORTION, 0, 20480, 1000, 81559, 81559, {260, 1, 20480, false}},
    {"portion, even", GPU_REQUEST_PORTION, 0, 20375, 1000, 81559, 81559, {250, 1, 20375, false}},
    {"portion, a bit more", GPU_REQUEST_PORTION, 0, 20376, 1000, 81559, 81559, {260, 1, 20376, false}},
    {"portion, least", GPU_REQUEST_PORTION, 0, 1, 1000, 81559, 81559, {10, 1, 1, false}},
    {"portion, all that is seen", GPU_REQUEST_PORTION, 0, 81500, 1000, 81559, 81559, {1000, 1, 81500, false}},
    {"portion, more than is seen", GPU_REQUEST_PORTION, 0, 81559, 1000, 81559, 81559, {1000, 1, 81559, false}},
    {"portion, more than there is", GPU_REQUEST_PORTION, 0, 90000, 1000, 81559, 81559, {1000, 1, 90000, false}},
    {"portion, below one step", GPU_REQUEST_PORTION, 0, 1, 1000, 99, 99, {1000, 1, 1, false}},
    {"portion, memory unknown", GPU_REQUEST_PORTION, 0, 1, 1000, 0, 0, {1000, 1, 1, false}},
    {"whole", GPU_REQUEST_WHOLE, 1000, 0, 1000, 81920, 81920, {1000, 1, 81920, true}},
    {"whole, with over-commit", GPU_REQUEST_WHOLE, 1000, 0, 1500, 163840, 81920, {1500, 1, 163840, true}},
    {"whole, memory unknown", GPU_REQUEST_WHOLE, 1000, 0, 1000, 0, 0, {1000, 1, 0, true}},
    {"whole, negative capacity", GPU_REQUEST_WHOLE, 1000, 0, -1, -1, -1, {0, 1, 0, true}},
};

static void gpu_request_charge__table__as_in_the_design(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(charge_rows); i++) {
        const struct charge_row *row = &charge_rows[i];
        struct gpu_request w = {.count = 1, .kind = row->kind, .milli = row->milli, .mem_mib = row->mem_mib};
        struct charge c = gpu_request_charge(&w, row->cap_milli, row->cap_mem, row->base_mem);
        if (c.milli != row->want.milli || c.slots != row->want.slots || c.mem_mib != row->want.mem_mib ||
            c.exclusive != row->want.exclusive) {
            fail_msg("%s: milli %d, slots %d, memory %lld, exclusive %d", row->name, c.milli, c.slots,
                     (long long)c.mem_mib, c.exclusive);
        }
    }
}

/* Shares that add up to one device never take more than it has. */
static void gpu_request_charge__random_shares_of_one_device__never_add_up_to_more(void **state)
{
    struct rng rng;

    rng_init(&rng, 7);
    for (int round = 0; round < 2000; round++) {
        int64_t mem = (int64_t)rng_below(&rng, 200000) + 1;
        bool by_memory = rng_below(&rng, 2) == 0;
        int64_t milli_sum = 0;
        int64_t mem_sum = 0;
        int64_t left = by_memory ? mem : DEVICE_MILLI;
        int64_t tiny_n = 0; /* those raised to one milli */
        while (left > 0) {
            int64_t part = (int64_t)rng_below(&rng, (uint64_t)left) + 1;
            struct gpu_request w = {.kind = by_memory ? GPU_REQUEST_MEMORY : GPU_REQUEST_MILLI};
            if (by_memory) {
                w.mem_mib = part;
            } else {
                w.milli = (int32_t)part;
            }
            struct charge c = gpu_request_charge(&w, DEVICE_MILLI, mem, mem);
            assert_true(c.milli >= 1);
            tiny_n += by_memory && part * DEVICE_MILLI < mem;
            milli_sum += c.milli;
            mem_sum += c.mem_mib;
            left -= part;
        }
        assert_true(milli_sum <= DEVICE_MILLI + tiny_n);
        assert_true(mem_sum <= mem);
    }
}

static void demand_words__every_defect__unique_and_plain(void **state)
{
    for (unsigned d = 0; d < DEMAND_DEFECT__MAX; d++) {
        const char *text = demand_defect_text((enum demand_defect)d);
        assert_non_null(text);
        assert_non_null(demand_defect_name((enum demand_defect)d));
        assert_true(strlen(text) < 130);
        assert_null(strchr(text, ','));
        for (unsigned e = 0; e < d; e++) {
            assert_string_not_equal(text, demand_defect_text((enum demand_defect)e));
            assert_string_not_equal(demand_defect_name((enum demand_defect)d),
                                    demand_defect_name((enum demand_defect)e));
        }
    }
}

struct pattern_row {
    const char *name;
    struct device_pattern patterns[3];
    size_t n;
    const char *text;
    bool model, uuid; /* the answers for either kind of list */
};

static const struct pattern_row pattern_rows[] = {
    {"no list", {{{NULL, 0}, false}}, 0, "GPU-a", true, true},
    {"no list, unknown", {{{NULL, 0}, false}}, 0, "", true, true},
    {"included", {{{"GPU-a", 5}, false}}, 1, "GPU-a", true, true},
    {"other case", {{{"gpu-A", 5}, false}}, 1, "GPU-a", true, false},
    {"not included", {{{"GPU-b", 5}, false}}, 1, "GPU-a", false, false},
    {"part of a name", {{{"GPU", 3}, false}}, 1, "GPU-a", false, false},
    {"wildcard", {{{"*u-*", 4}, false}}, 1, "GPU-a", true, false},
    {"unknown against an inclusion", {{{"GPU-a", 5}, false}}, 1, "", false, false},
    {"excluded", {{{"GPU-a", 5}, true}}, 1, "GPU-a", false, false},
    {"another excluded", {{{"GPU-b", 5}, true}}, 1, "GPU-a", true, true},
    {"unknown against an exclusion", {{{"GPU-a", 5}, true}}, 1, "", true, true},
    {"second of two", {{{"GPU-b", 5}, false}, {{"GPU-a", 5}, false}}, 2, "GPU-a", true, true},
    {"exclusion behind the inclusion", {{{"GPU-a", 5}, false}, {{"GPU-a", 5}, true}}, 2, "GPU-a", false, false},
    {"exclusion before the inclusion", {{{"GPU-a", 5}, true}, {{"GPU-a", 5}, false}}, 2, "GPU-a", false, false},
    {"inclusion of another beside an exclusion",
     {{{"GPU-c", 5}, true}, {{"GPU-b", 5}, false}},
     2,
     "GPU-a",
     false,
     false},
};

static void demand_allows__table__exclusions_win(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(pattern_rows); i++) {
        const struct pattern_row *row = &pattern_rows[i];
        struct demand models = {.model_n = row->n, .models = row->patterns};
        struct demand uuids = {.uuid_n = row->n, .uuids = row->patterns};
        if (demand_allows_model(&models, str_of(row->text)) != row->model) {
            fail_msg("%s: model", row->name);
        }
        if (demand_allows_uuid(&uuids, str_of(row->text), STR_NULL) != row->uuid) {
            fail_msg("%s: uuid", row->name);
        }
        assert_true(demand_allows_model(&uuids, str_of(row->text)));
        assert_true(demand_allows_uuid(&models, str_of(row->text), STR_NULL));
    }
}

static void label_pair_hash__pairs__differ_where_the_pairs_do(void **state)
{
    /* FNV-1a of "a=b", computed by hand with the published constants. */
    uint64_t want = UINT64_C(0xcbf29ce484222325);
    for (const char *p = "a=b"; *p != '\0'; p++) {
        want = (want ^ (uint8_t)*p) * UINT64_C(1099511628211);
    }
    assert_int_equal(label_pair_hash(STR("a"), STR("b")), want);
    assert_int_not_equal(label_pair_hash(STR("ab"), STR("c")), label_pair_hash(STR("a"), STR("bc")));
    assert_int_not_equal(label_pair_hash(STR("a"), STR("")), label_pair_hash(STR(""), STR("a")));
    assert_int_not_equal(label_pair_hash(STR("a"), STR("\xff")), label_pair_hash(STR("a"), STR("\x7f")));
}

static void label_hashes_match__lists__all_wanted_must_be_there(void **state)
{
    static const uint64_t labels[] = {1, 2, 3};
    static const uint64_t some[] = {3, 1};
    static const uint64_t other[] = {1, 4};

    assert_true(label_hashes_match(some, 2, labels, 3));
    assert_true(label_hashes_match(some, 1, labels, 3));
    assert_false(label_hashes_match(other, 2, labels, 3));
    assert_false(label_hashes_match(some, 2, labels, 2));
    assert_false(label_hashes_match(some, 2, NULL, 0));
    assert_false(label_hashes_match(NULL, 0, labels, 3));
    assert_false(label_hashes_match(NULL, 0, NULL, 0));
}

static void demand_copy__source_overwritten__still_equal(void **state)
{
    char text[] = "main-init-GPU-a*-UUID-x";
    struct gpu_request gpu_requests[] = {
        {.container = {text, 4}, .count = 2, .kind = GPU_REQUEST_BOTH, .milli = 300, .mem_mib = 5, .phases = 1},
        {.container = {text + 5, 4}, .init = true, .position = 3, .count = 1, .kind = GPU_REQUEST_WHOLE, .phases = 6},
    };
    struct device_pattern models[] = {{{text + 10, 6}, true}, {{text + 10, 3}, false}};
    struct device_pattern uuids[] = {{{text + 17, 6}, false}};
    uint64_t isolate[] = {11, 12};
    struct demand d = {
        .source = DEMAND_FROM_ANNOTATIONS,
        .says_qos = true,
        .qos = QOS_EQUAL_SHARE,
        .dialect = "native",
        .gpu_request_n = 2,
        .gpu_requests = gpu_requests,
        .model_n = 2,
        .models = models,
        .uuid_n = 1,
        .uuids = uuids,
        .isolate_n = 2,
        .isolate = isolate,
    };

    struct demand *first = demand_copy(&d);
    struct demand *second = demand_copy(first);
    assert_true(demand_equal(&d, first));
    memset(text, '?', sizeof(text) - 1);
    memset(gpu_requests, 0, sizeof(gpu_requests));
    memset(models, 0, sizeof(models));
    memset(uuids, 0, sizeof(uuids));
    memset(isolate, 0, sizeof(isolate));
    assert_false(demand_equal(&d, first));
    assert_true(demand_equal(first, second));
    assert_true(str_eq(first->gpu_requests[1].container, STR("init")));
    assert_true(str_eq(first->models[0].text, STR("GPU-a*")));
    assert_true(str_eq(first->uuids[0].text, STR("UUID-x")));
    free(first);
    assert_int_equal(second->isolate[1], 12);
    free(second);
}

static void demand_copy__empty__is_empty(void **state)
{
    struct demand none = {.dialect = ""};
    struct demand broken = {.defect = DEMAND_FRACTION, .dialect = "native"};
    struct demand *copy = demand_copy(&none);

    assert_true(demand_equal(copy, &none));
    assert_true(demand_is_empty(copy));
    assert_false(demand_equal(copy, &broken));
    assert_false(demand_is_empty(&broken));
    free(copy);
}

/* Every field counts: changing any one makes two demands differ. */
static void demand_equal__one_field_changed__differs(void **state)
{
    static const uint64_t hashes[2] = {1, 2};
    static const struct device_pattern patterns[3] = {{{"a", 1}, false}, {{"b", 1}, false}, {{"a", 1}, true}};
    struct gpu_request base_gpu_request = {
        .container = STR("c"), .count = 1, .kind = GPU_REQUEST_BOTH, .milli = 1, .phases = 1};
    struct demand a = {
        .dialect = "native",
        .gpu_request_n = 1,
        .gpu_requests = &base_gpu_request,
        .model_n = 1,
        .models = patterns,
        .uuid_n = 1,
        .uuids = patterns,
        .isolate_n = 1,
        .isolate = hashes,
    };
    struct gpu_request gpu_requests[9];
    for (size_t i = 0; i < ARRAY_LEN(gpu_requests); i++) {
        gpu_requests[i] = base_gpu_request;
    }
    gpu_requests[0].container = STR("d");
    gpu_requests[1].init = true;
    gpu_requests[2].position = 1;
    gpu_requests[3].count = 2;
    gpu_requests[4].kind = GPU_REQUEST_MILLI;
    gpu_requests[5].milli = 2;
    gpu_requests[6].mem_mib = 1;
    gpu_requests[7].phases = 3;

    for (size_t i = 0; i < ARRAY_LEN(gpu_requests); i++) {
        struct demand b = a;
        b.gpu_requests = &gpu_requests[i];
        assert_int_equal(demand_equal(&a, &b), i == 8); /* the last one is unchanged */
    }
    struct demand changed[12];
    for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
        changed[i] = a;
    }
    changed[0].defect = DEMAND_COUNT;
    changed[1].source = DEMAND_FROM_ANNOTATIONS;
    changed[2].says_qos = true;
    changed[3].dialect = "other";
    changed[4].plugin_managed_n = 1;
    changed[5].gpu_request_n = 0;
    changed[6].models = patterns + 1;
    changed[7].models = patterns + 2;
    changed[8].uuids = patterns + 1;
    changed[9].isolate = hashes + 1;
    changed[10].model_n = 2;
    changed[11].isolate_n = 2;
    for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
        assert_false(demand_equal(&a, &changed[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_request_charge__table__as_in_the_design),
        cmocka_unit_test(gpu_request_charge__random_shares_of_one_device__never_add_up_to_more),
        cmocka_unit_test(demand_words__every_defect__unique_and_plain),
        cmocka_unit_test(demand_allows__table__exclusions_win),
        cmocka_unit_test(label_pair_hash__pairs__differ_where_the_pairs_do),
        cmocka_unit_test(label_hashes_match__lists__all_wanted_must_be_there),
        cmocka_unit_test(demand_copy__source_overwritten__still_equal),
        cmocka_unit_test(demand_copy__empty__is_empty),
        cmocka_unit_test(demand_equal__one_field_changed__differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
