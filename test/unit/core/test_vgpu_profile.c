/* Profiles of virtual GPUs, and names that are none. */
#include "core/inventory/vgpu_profile.h"

#include "base/compiler.h"
#include "support/cmocka.h"

static void vgpu_profile__names__known_or_refused(void **state)
{
    static const struct {
        const char *text;
        int64_t mem_mib; /* 0: not known */
    } rows[] = {
        {"v100-4q-4GB", 4096},
        {"v100-8q-8GB", 8192},
        {"v100-16q-16GB", 16384},
        {"V100-16Q-16gb", 16384},
        {"a40-48c-48GB", 49152},
        {"m60-1b-1GB", 1024},
        {"rtx6000-24a-24GB", 24576},
        {"v100-1024q-1024GB", 1048576},
        {"", 0},
        {"v100", 0},
        {"v100-4q", 0},
        {"v100-4q-8GB", 0},
        {"v100-4x-4GB", 0},
        {"v100-4-4GB", 0},
        {"v100-q-4GB", 0},
        {"-4q-4GB", 0},
        {"v100-4q-4", 0},
        {"v100-4q-4G", 0},
        {"v100-4q-4GiB", 0},
        {"v100-4q-GB", 0},
        {"v100-04q-4GB", 0},
        {"v100-0q-0GB", 0},
        {"v100-4q-4GB-", 0},
        {"v100-4q-4GB-x", 0},
        {"a100-1-5c", 0},
        {"v100-1025q-1025GB", 0},
        {"v100-99999999999999999999q-99999999999999999999GB", 0},
        {"v 100-4q-4GB", 0},
        {"v100-4q-+4GB", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t mem_mib = -1;
        bool known = vgpu_profile_parse(str_of(rows[i].text), &mem_mib);

        if (known != (rows[i].mem_mib > 0)) {
            fail_msg("\"%s\" is %s", rows[i].text, known ? "known" : "not known");
        }
        assert_int_equal(mem_mib, known ? rows[i].mem_mib : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vgpu_profile__names__known_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
