/* Ways past the agent, in configurations as containerd, CRI-O and NVIDIA's toolkit write them. */
#include "node/doors.h"
#include "support/cmocka.h"

#include "base/compiler.h"

static const char plain[] = "version = 3\n"
                            "[plugins.'io.containerd.cri.v1.runtime'.containerd]\n"
                            "  default_runtime_name = 'runc'\n"
                            "[plugins.'io.containerd.nri.v1.nri']\n"
                            "  disable = false\n"
                            "  [plugins.'io.containerd.nri.v1.nri'.default_validator]\n"
                            "    enable = true\n"
                            "    reject_oci_hook_adjustment = false\n"
                            "[plugins.'io.containerd.other']\n"
                            "  enable = false\n";
static const char nvidia[] = "version = 2\n"
                             "[plugins]\n"
                             "  [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
                             "    default_runtime_name = \"nvidia\" # set by the toolkit\n"
                             "[plugins.\"io.containerd.other\"]\n"
                             "  enable = true\n";
static const char toolkit[] = "#accept-nvidia-visible-devices-as-volume-mounts = false\n"
                              "#accept-nvidia-visible-devices-envvar-when-unprivileged = true\n"
                              "[nvidia-container-cli]\n"
                              "load-kmods = true\n";
static const char closed[] = "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n";
static const char mounts[] = "accept-nvidia-visible-devices-as-volume-mounts=true\n" /* without blanks */
                             "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n";
static const char crio[] = "[crio.runtime]\ndefault_runtime = \"nvidia-cdi\"\n";

static void doors__of_each_configuration__are_open_or_not(void **state)
{
    static const struct {
        const char *files[2];
        unsigned open;
    } rows[] = {
        {{"", ""}, 0}, /* nothing was read: nothing is said */
        {{plain, toolkit}, 0},
        {{plain, ""}, 0},
        {{nvidia, ""}, 1U << DOOR_VARIABLE | 1U << DOOR_NO_VALIDATOR},
        {{nvidia, toolkit}, 1U << DOOR_VARIABLE | 1U << DOOR_NO_VALIDATOR},
        {{nvidia, closed}, 1U << DOOR_NO_VALIDATOR},
        {{mounts, nvidia}, 1U << DOOR_MOUNT | 1U << DOOR_NO_VALIDATOR},
        {{crio, plain}, 0}, /* the later one wins */
        {{crio, ""}, 1U << DOOR_VARIABLE | 1U << DOOR_NO_VALIDATOR},
        {{toolkit, closed}, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doors d = {.read_runtime = false};

        doors_read(&d, str_of(rows[i].files[0]));
        doors_read(&d, str_of(rows[i].files[1]));
        for (unsigned door = 0; door < DOOR__MAX; door++) {
            if (doors_is_open(&d, (enum door)door) != ((rows[i].open >> door & 1) != 0)) {
                fail_msg("row %zu, door %u", i, door);
            }
        }
    }
}

static void doors__of_a_file_that_is_not_understood__say_so(void **state)
{
    static const struct {
        const char *text, *imports;
        bool strange;
    } rows[] = {
        {"", NULL, false},
        {plain, NULL, false},
        {toolkit, NULL, false},
        {closed, NULL, false},
        {"# nothing but this\n\n", NULL, false},
        {"version = 3\nimports = []\n", NULL, false},
        {"imports = [ ] # none\n", NULL, false},
        {"imports = [\"/etc/containerd/conf.d/*.toml\"]\n[plugins]\n", "imports = [\"/etc/containerd/conf.d/*.toml\"]",
         false},
        {"  imports=[\n  '/etc/a.toml',\n]\n", "imports=[", false},
        {"#imports = ['/etc/a.toml']\n", NULL, false},
        {"\"a.b\".c = 1\n", NULL, false},
        {"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:\n", NULL, true},
        {"{\"default-runtime\": \"nvidia\"}\n", NULL, true},
        {"<html a=b>\n", NULL, true},
        {"[broken\n=\n", NULL, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct doors d = {.read_runtime = false};
        const struct doors_file file = doors_read(&d, str_of(rows[i].text));

        if (!str_eq(file.imports, str_of(rows[i].imports)) || file.strange != rows[i].strange) {
            fail_msg("row %zu: \"%.*s\", %d", i, STR_ARG(file.imports), file.strange);
        }
    }
}

/* It may be anything. */
static void doors__of_half_a_file__read_no_further(void **state)
{
    struct doors d = {.read_runtime = false};

    for (size_t n = 0; n < sizeof(nvidia); n++) {
        doors_read(&d, (struct str){nvidia, n});
    }
    doors_read(&d, STR("default_runtime_name"));
    doors_read(&d, STR("default_runtime_name = \""));
    doors_read(&d, STR("= [\n]\n['\n"));
    assert_true(d.read_runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doors__of_each_configuration__are_open_or_not),
        cmocka_unit_test(doors__of_a_file_that_is_not_understood__say_so),
        cmocka_unit_test(doors__of_half_a_file__read_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
