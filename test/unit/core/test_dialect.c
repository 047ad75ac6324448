/* What holds of every dialect in the table, whichever it is: a new one is held to it by being listed. What one of them
 * means by its words is tested beside it (test_native_pods.c, test_kai.c and so on). */
#include "core/dialects/dialect.h"

#include "base/compiler.h"
#include "core/support/random_assignment.h"
#include "support/cmocka.h"

#include <string.h>

static size_t key_n(const struct dialect_key *keys)
{
    size_t n = 0;

    while (keys != NULL && keys[n].name != NULL) {
        n++;
    }
    return n;
}

/* The order is that in which a pod with two vocabularies is told so, and a source of an inventory asked. */
static void dialects__table__these_in_this_order(void **state)
{
    static const char *const names[] = {"native", "units", "kai"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_non_null(dialects[i]);
        assert_string_equal(dialects[i]->name, names[i]);
        assert_ptr_equal(dialect_find(str_of(names[i])), dialects[i]);
    }
    assert_null(dialects[ARRAY_LEN(names)]);
    assert_null(dialect_find(STR("")));
    assert_null(dialect_find(STR("nativ")));
}

static void dialects__functions__none_without_its_other_half(void **state)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect *d = dialects[i];

        assert_int_equal(d->claims_pod == NULL, d->parse_request == NULL);
        /* Two requests are no request. */
        assert_true(i == 0 || d->claims_pod == NULL || d->beside != DEMAND_OK);
        assert_int_equal(d->claims_node == NULL, d->parse_node == NULL);
        assert_int_equal(d->format_assignment == NULL, d->parse_assignment == NULL);
        assert_true(d->answers != NULL || (d->format_assignment == NULL && d->hand_off == NULL));
        assert_true(key_n(d->request_keys) + key_n(d->resources) <= DIALECT_WORDS_MAX);
        /* Only where a domain tells whose a word is can a typing error be seen. */
        assert_true(d->domain != NULL || key_n(d->resources) == 0);
    }
}

/* Two dialects that read the same annotation would both claim its pods. */
static void dialects__request_keys__one_reader_each(void **state)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        for (size_t k = 0; k < key_n(dialects[i]->request_keys); k++) {
            const char *name = dialects[i]->request_keys[k].name;
            size_t readers = 0;

            assert_true(dialect_is_request_key(str_of(name)));
            assert_false(dialect_writes_key(str_of(name))); /* an answer is never a request */
            for (size_t j = 0; dialects[j] != NULL; j++) {
                for (size_t m = 0; m < key_n(dialects[j]->request_keys); m++) {
                    readers += strcmp(name, dialects[j]->request_keys[m].name) == 0;
                }
            }
            assert_int_equal(readers, 1);
        }
    }
}

/* What one dialect counts no other one may count again. */
static void dialects__resources__one_owner_each(void **state)
{
    static const struct compute_resource compute[] = {{STR("a/a"), 1000, ABOVE_REFUSE, PICKS_FGPU},
                                                      {STR("a/b"), 100, ABOVE_SPAN, PICKS_KUBELET}};
    static const struct str names[] = {STR("a/a"), STR("a/b"), STR("fgpu.io/gpu-memory-mib"), STR("nvidia.com/gpu"),
                                       STR("fgpu.io/gpu-count")};
    struct policy p = *policy_defaults();

    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t owners = 0;

        for (size_t k = 0; dialects[k] != NULL; k++) {
            owners += dialects[k]->owns_resource != NULL && dialects[k]->owns_resource(&p, names[i]);
        }
        assert_int_equal(owners, 1);
        assert_true(dialect_owns_resource(&p, names[i]));
    }
    assert_false(dialect_owns_resource(&p, STR("cpu")));
}

static void check_meant(const struct dialect *d, const struct dialect_key *key)
{
    if (d->domain == NULL) {
        assert_int_equal(key->meant, DEMAND_OK);
        return;
    }
    assert_true(strncmp(key->name, d->domain, strlen(d->domain)) == 0);
    assert_true(key->meant >= DEMAND_MEANT_FRACTION);
    assert_non_null(strstr(demand_defect_text(key->meant), key->name)); /* the pod is told this very word */
}

static void dialects__words_with_a_domain__each_has_its_sentence(void **state)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect *d = dialects[i];

        for (size_t k = 0; k < key_n(d->request_keys); k++) {
            check_meant(d, &d->request_keys[k]);
        }
        for (size_t k = 0; k < key_n(d->resources); k++) {
            check_meant(d, &d->resources[k]);
            assert_true(dialect_owns_resource(policy_defaults(), str_of(d->resources[k].name)));
        }
    }
}

static void dialect_writes_key__alone_or_per_container__not_what_only_begins_so(void **state)
{
    assert_true(dialect_writes_key(STR("fgpu.io/assignment")));
    assert_false(dialect_writes_key(STR("fgpu.io/assignment.c0"))); /* one for the whole pod */
    assert_true(dialect_writes_key(STR("fgpu.io/visible-devices")));
    assert_true(dialect_writes_key(STR("fgpu.io/visible-devices.i0")));
    assert_false(dialect_writes_key(STR("fgpu.io/visible-devices-of-mine")));
    assert_false(dialect_writes_key(STR("fgpu.io/gpus")));
    assert_false(dialect_writes_key(STR("")));
}

static void assert_same_list(struct kv_list want, struct kv_list got)
{
    assert_int_equal(want.n, got.n);
    for (size_t i = 0; i < want.n; i++) {
        assert_true(str_eq(want.items[i].key, got.items[i].key));
        assert_true(str_eq(want.items[i].value, got.items[i].value));
    }
}

/* A format may lack fields of an assignment. What it has comes back, so that what was read is written again as it was.
 */
static void dialects__assignment_read_back__the_same_as_far_as_its_format_goes(void **state)
{
    struct rng rng;
    size_t writers = 0;

    rng_init(&rng, 4);
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect *d = dialects[i];

        writers += d->format_assignment != NULL;
        for (int round = 0; d->format_assignment != NULL && round < 500; round++) {
            struct assignment as, back, again;
            struct kv_list list, second;
            struct arena a;

            arena_init(&a, 1 << 22);
            random_assignment(&rng, &a, &as);
            as.dialect = d->name;
            assert_int_equal(d->format_assignment(&as, &a, &list, NULL), 0);
            assert_int_equal(d->parse_assignment(list, &a, &back, NULL), 0);
            assert_int_equal(d->format_assignment(&back, &a, &second, NULL), 0);
            assert_same_list(list, second);
            assert_int_equal(d->parse_assignment(second, &a, &again, NULL), 0);
            assert_same_assignment(&back, &again);
            arena_fini(&a);
        }
    }
    assert_true(writers > 0);
}

static void dialects__no_assignment__not_found(void **state)
{
    const struct kv other = {STR("app"), STR("web")};
    struct assignment as;
    struct arena a;

    arena_init(&a, 1 << 12);
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (dialects[i]->parse_assignment != NULL) {
            assert_int_equal(dialects[i]->parse_assignment((struct kv_list){&other, 1}, &a, &as, NULL), -ERR_NOT_FOUND);
        }
    }
    arena_fini(&a);
}

/* Policies and the next answer know a key as fgpu's own only if the dialect says so. */
static void dialect_answer__whoever_asked__own_record_first_and_own_keys_only(void **state)
{
    unsigned answered[HAND_OFF__MAX] = {0};
    struct rng rng;

    rng_init(&rng, 5);
    for (size_t i = 0; dialects[i] != NULL; i++) {
        for (int round = 0; round < 200; round++) {
            struct assignment as;
            struct kv_list list;
            struct arena a;

            arena_init(&a, 1 << 22);
            random_assignment(&rng, &a, &as);
            as.dialect = dialects[i]->name;
            as.hand_off = (enum hand_off)(round % HAND_OFF__MAX);
            if (dialect_answer(&as, &a, &list, NULL) != 0) {
                assert_true(hand_off_is_of_others(as.hand_off)); /* a long name, an instance, no memory */
                arena_fini(&a);
                continue;
            }
            answered[as.hand_off]++;
            assert_true(str_eq_cstr(list.items[0].key, ASSIGNMENT_KEY));
            for (size_t k = 0; k < list.n; k++) {
                assert_true(dialect_writes_key(list.items[k].key));
                assert_ptr_equal(kv_find(list, list.items[k].key), &list.items[k].value); /* none twice */
            }
            arena_fini(&a);
        }
    }
    for (size_t h = 0; h < HAND_OFF__MAX; h++) {
        assert_true(answered[h] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects__table__these_in_this_order),
        cmocka_unit_test(dialects__functions__none_without_its_other_half),
        cmocka_unit_test(dialects__request_keys__one_reader_each),
        cmocka_unit_test(dialects__resources__one_owner_each),
        cmocka_unit_test(dialects__words_with_a_domain__each_has_its_sentence),
        cmocka_unit_test(dialects__assignment_read_back__the_same_as_far_as_its_format_goes),
        cmocka_unit_test(dialects__no_assignment__not_found),
        cmocka_unit_test(dialect_answer__whoever_asked__own_record_first_and_own_keys_only),
        cmocka_unit_test(dialect_writes_key__alone_or_per_container__not_what_only_begins_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
