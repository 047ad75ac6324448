/* Which container runtimes take CDI devices from us. */
#include "node/runtime.h"
#include "support/cmocka.h"

#include "base/compiler.h"

static void runtime__of_each_version__does_what_its_code_says(void **state)
{
    static const struct {
        const char *name, *version;
        enum runtime_cdi cdi;
    } rows[] = {
        {"containerd", "1.7.0", RUNTIME_CDI_IGNORED},
        {"containerd", "v1.7.29", RUNTIME_CDI_IGNORED},
        {"containerd", "1.7.30", RUNTIME_CDI_IF_ENABLED},
        {"containerd", "1.7.30~ds1", RUNTIME_CDI_IF_ENABLED},
        {"containerd", "v2.0.0", RUNTIME_CDI_IGNORED},
        {"containerd", "2.0.11", RUNTIME_CDI_IGNORED},
        {"containerd", "v2.1.0-rc.1", RUNTIME_CDI_INJECTED},
        {"containerd", "v2.4.2", RUNTIME_CDI_INJECTED},
        {"containerd", "2.4.2+unknown", RUNTIME_CDI_INJECTED}, /* built from its module */
        {"containerd", "3.0", RUNTIME_CDI_INJECTED},
        {"cri-o", "1.30.0", RUNTIME_CDI_IGNORED},
        {"cri-o", "1.33.9", RUNTIME_CDI_IGNORED},
        {"cri-o", "1.34.0", RUNTIME_CDI_INJECTED},
        {"cri-o", "2.0.0", RUNTIME_CDI_INJECTED},
        {"containerd", "", RUNTIME_CDI_IGNORED},
        {"containerd", "2", RUNTIME_CDI_IGNORED},
        {"containerd", "two.one.0", RUNTIME_CDI_IGNORED},
        {"containerd", "2x.1.0", RUNTIME_CDI_IGNORED},
        {"containerd", "99999999999999999999.1.0", RUNTIME_CDI_IGNORED},
        {"another", "9.9.9", RUNTIME_CDI_IGNORED},
        {"", "", RUNTIME_CDI_IGNORED},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum runtime_cdi got = runtime_cdi_of(str_of(rows[i].name), str_of(rows[i].version));

        if (got != rows[i].cdi) {
            fail_msg("%s %s: %d", rows[i].name, rows[i].version, got);
        }
    }
}

static void runtime__start_of_a_container__can_fail_in_containerd_alone(void **state)
{
    assert_true(runtime_start_can_fail(STR("containerd")));
    assert_false(runtime_start_can_fail(STR("cri-o")));
    assert_false(runtime_start_can_fail(STR("containerd-like")));
    assert_false(runtime_start_can_fail(STR_NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtime__of_each_version__does_what_its_code_says),
        cmocka_unit_test(runtime__start_of_a_container__can_fail_in_containerd_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
