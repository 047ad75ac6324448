/* The container of a process, by paths as Kubernetes' runtimes write them. */
#include "base/compiler.h"
#include "node/cgroup_path.h"
#include "support/cmocka.h"

#include <string.h>

#define ID "3f29c1ba6a1be7d0a47b4b5d5b6e2c3c0c5c5a1f0e9d8c7b6a5948372615f4e3"
#define OTHER "aa29c1ba6a1be7d0a47b4b5d5b6e2c3c0c5c5a1f0e9d8c7b6a5948372615f4bb"
#define POD "0e1f2a3b-4c5d-6e7f-8091-a2b3c4d5e6f7"
#define POD_ "0e1f2a3b_4c5d_6e7f_8091_a2b3c4d5e6f7"

static const struct str ids[] = {{OTHER, 64}, {ID, 64}};

static size_t container_of(const char *file)
{
    return cgroup_container(str_of(file), ids, ARRAY_LEN(ids));
}

static void cgroup__paths_of_all_runtimes_and_drivers__name_the_container(void **state)
{
    static const char *const files[] = {
        /* version 2 */
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID
        ".scope\n",
        "0::/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope\n",
        "0::/kubepods/besteffort/pod" POD "/" ID "\n",
        "0::/kubepods/besteffort/pod" POD "/crio-" ID "\n",
        /* version 1, with controllers that have no cgroup of it */
        "12:memory:/kubepods/burstable/pod" POD "/" ID "\n11:cpu,cpuacct:/kubepods/burstable/pod" POD "/" ID
        "\n1:name=systemd:/\n0::/\n",
        "4:devices:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_ ".slice/crio-" ID ".scope\n",
        /* seen from a cgroup namespace of one's own */
        "0::/../../kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n",
        /* a node in a container; a container with cgroups of its own; kubelet's cgroupRoot */
        "0::/docker/"
        "ccccccba6a1be7d0a47b4b5d5b6e2c3c0c5c5a1f0e9d8c7b6a5948372615f4e3"
        "/kubelet/kubepods/pod" POD "/" ID "\n",
        "0::/kubepods/burstable/pod" POD "/" ID "/init.scope\n",
        "0::/some-root/kubepods/pod" POD "/" ID,
        "9:pids:/a:b/kubepods/pod" POD "/" ID "\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (container_of(files[i]) != 1) {
            fail_msg("not found: %s", files[i]);
        }
    }
}

static void cgroup__processes_outside__are_nobodys(void **state)
{
    static const char *const files[] = {
        "",
        "\n",
        "0::/\n",
        "0::/system.slice/containerd.service\n",
        "0::/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID ".scope\n",
        "0::/kubepods/pod" POD "/dd" ID "\n",
        "0::/kubepods/pod" POD "/3f29c1ba6a1b\n",
        "0::/kubepods/pod" POD "/not-" ID "\n",
        ID "\n",
        "0:" ID "\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (container_of(files[i]) != CGROUP_NOBODY) {
            fail_msg("found: %s", files[i]);
        }
    }
}

/* A tenant who may make cgroups in a container's own names one after a neighbour. */
static void cgroup__a_name_below_a_container__says_nothing(void **state)
{
    assert_int_equal(container_of("0::/kubepods/pod" POD "/" ID "/cri-containerd-" OTHER ".scope\n"), 1);
    assert_int_equal(container_of("0::/kubepods/pod" POD "/" OTHER "/" ID "\n"), 0);
}

static void cgroup__lines_that_disagree__are_nobodys(void **state)
{
    assert_int_equal(container_of("4:memory:/kubepods/pod" POD "/" ID "\n3:cpu:/kubepods/pod" POD "/" OTHER "\n"),
                     CGROUP_NOBODY);
}

static void cgroup__a_container_without_an_id__has_no_processes(void **state)
{
    const struct str none = STR("");

    assert_int_equal(cgroup_container(STR("0::/\n"), &none, 1), CGROUP_NOBODY);
    assert_int_equal(cgroup_container(STR("0::/crio-.scope\n"), &none, 1), CGROUP_NOBODY);
}

/* ---- the cgroup of a process ---- */

static void cgroup__of_proc__is_that_of_version_2_and_of_the_container(void **state)
{
    static const struct {
        const char *text, *path; /* NULL: `why` */
        const char *why;
    } rows[] = {
        {"0::/kubepods.slice/pod1.slice/cri-containerd-c1d2.scope\n",
         "/kubepods.slice/pod1.slice/cri-containerd-c1d2.scope", NULL},
        {"4:memory:/kubepods/pod1/c1d2\n0::/kubepods/pod1/c1d2\n", "/kubepods/pod1/c1d2", NULL},
        {"0::/machine/crio-c1d2.scope/container\n", "/machine/crio-c1d2.scope/container", NULL},
        {"4:memory:/kubepods/pod1/c1d2\n", NULL, "no cgroup of version 2"},
        {"", NULL, "no cgroup of version 2"},
        {"0::/system.slice/sshd.service\n", NULL, "not in a cgroup of the container"},
        {"0::/kubepods/pod1/crio-conmon-c1d2.scope\n", NULL, "not in a cgroup of the container"},
        {"0::/kubepods/pod1/xc1d2\n", NULL, "not in a cgroup of the container"},
        {"4:memory:/kubepods/pod1/c1d2\n0::/system.slice/containerd.service\n", NULL,
         "not in a cgroup of the container"},
        {"0::/\n", NULL, "not in a cgroup of the container"},
        {"0::/../../kubepods/pod1/c1d2\n", NULL, "hostPID"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str path;
        const char *why = NULL;
        const bool found = cgroup_path_of_container(str_of(rows[i].text), STR("c1d2"), &path, &why);

        assert_int_equal(found, rows[i].path != NULL);
        if (found) {
            assert_true(str_eq_cstr(path, rows[i].path));
        } else {
            assert_non_null(strstr(why, rows[i].why));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgroup__of_proc__is_that_of_version_2_and_of_the_container),
        cmocka_unit_test(cgroup__paths_of_all_runtimes_and_drivers__name_the_container),
        cmocka_unit_test(cgroup__processes_outside__are_nobodys),
        cmocka_unit_test(cgroup__a_name_below_a_container__says_nothing),
        cmocka_unit_test(cgroup__lines_that_disagree__are_nobodys),
        cmocka_unit_test(cgroup__a_container_without_an_id__has_no_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
