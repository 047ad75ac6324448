/* What holds of every dialect in the table, whichever it is: a new one is held to it by being listed. What one of them
 * means by its words is tested beside it (test_native_pods.c, test_kai.c and so on). */
#include "core/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t key_n(const struct dialect_key *keys)
{
    size_t n = 0;

    while (keys != NULL && keys[n].name != NULL) {
        n++;
    }
    return n;
}

static void dialects__names__unique_and_not_empty(void **state)
{
    (void)state;
    for (size_t i = 0; dialects[i] != NULL; i++) {
        assert_true(dialects[i]->name[0] != '\0');
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(dialects[i]->name, dialects[k]->name);
        }
    }
}

static void dialects__functions__none_without_its_other_half(void **state)
{
    (void)state;
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect *d = dialects[i];

        assert_int_equal(d->claims_pod == NULL, d->parse_request == NULL);
        assert_true(key_n(d->request_keys) + key_n(d->resources) <= DIALECT_WORDS_MAX);
        /* Only where a domain tells whose a word is can a typing error be seen. */
        assert_true(d->domain != NULL || key_n(d->resources) == 0);
    }
}

/* Two dialects that read the same annotation would both claim its pods. */
static void dialects__request_keys__one_reader_each(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    assert_true(dialect_writes_key(STR("fgpu.io/assignment")));
    assert_false(dialect_writes_key(STR("fgpu.io/assignment.c0"))); /* one for the whole pod */
    assert_true(dialect_writes_key(STR("fgpu.io/visible-devices")));
    assert_true(dialect_writes_key(STR("fgpu.io/visible-devices.i0")));
    assert_false(dialect_writes_key(STR("fgpu.io/visible-devices-of-mine")));
    assert_false(dialect_writes_key(STR("fgpu.io/gpus")));
    assert_false(dialect_writes_key(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects__names__unique_and_not_empty),
        cmocka_unit_test(dialects__functions__none_without_its_other_half),
        cmocka_unit_test(dialects__request_keys__one_reader_each),
        cmocka_unit_test(dialects__words_with_a_domain__each_has_its_sentence),
        cmocka_unit_test(dialect_writes_key__alone_or_per_container__not_what_only_begins_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
