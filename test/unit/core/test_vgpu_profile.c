/* Profiles of virtual GPUs, and names that are none. */
#include "core/inventory/vgpu_profile.h"

#include "base/compiler.h"
#include "support/cmocka.h"

static void vgpu_profile__names__known_or_refused(void **state)
{
    static const struct {
        const char *text, *model;
        char series;
        int64_t mem_mib; /* 0: not known */
    } rows[] = {
        {"v100-4q-4GB", "v100", 'q', 4096},
        {"v100-8q-8GB", "v100", 'q', 8192},
        {"v100-16q-16GB", "v100", 'q', 16384},
        {"V100-16Q-16gb", "V100", 'q', 16384},
        {"a40-48c-48GB", "a40", 'c', 49152},
        {"m60-1b-1GB", "m60", 'b', 1024},
        {"rtx6000-24a-24GB", "rtx6000", 'a', 24576},
        {"v100-1024q-1024GB", "v100", 'q', 1048576},
        {"", NULL, 0, 0},
        {"v100", NULL, 0, 0},
        {"v100-4q", NULL, 0, 0},
        {"v100-4q-8GB", NULL, 0, 0},
        {"v100-4x-4GB", NULL, 0, 0},
        {"v100-4-4GB", NULL, 0, 0},
        {"v100-q-4GB", NULL, 0, 0},
        {"-4q-4GB", NULL, 0, 0},
        {"v100-4q-4", NULL, 0, 0},
        {"v100-4q-4G", NULL, 0, 0},
        {"v100-4q-4GiB", NULL, 0, 0},
        {"v100-4q-GB", NULL, 0, 0},
        {"v100-04q-4GB", NULL, 0, 0},
        {"v100-0q-0GB", NULL, 0, 0},
        {"v100-4q-4GB-", NULL, 0, 0},
        {"v100-4q-4GB-x", NULL, 0, 0},
        {"a100-1-5c", NULL, 0, 0},
        {"v100-1025q-1025GB", NULL, 0, 0},
        {"v100-99999999999999999999q-99999999999999999999GB", NULL, 0, 0},
        {"v 100-4q-4GB", NULL, 0, 0},
        {"v100-4q-+4GB", NULL, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct vgpu_profile p = {.mem_mib = -1};
        bool known = vgpu_profile_parse(str_of(rows[i].text), &p);

        if (known != (rows[i].mem_mib > 0)) {
            fail_msg("\"%s\" is %s", rows[i].text, known ? "known" : "not known");
        }
        assert_int_equal(p.mem_mib, known ? rows[i].mem_mib : -1);
        if (known) {
            assert_true(str_eq_cstr(p.model, rows[i].model));
            assert_int_equal(p.series, rows[i].series);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vgpu_profile__names__known_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
