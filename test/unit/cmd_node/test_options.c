/* The command line of fgpu-node. */
#include "base/compiler.h"
#include "cmd_node/options.h"
#include "support/cmocka.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 128

/* The words of `line`, which stay in `text`. */
static int read_line(const char *line, char *text, struct node_options *o)
{
    char name[] = "fgpu-node", *argv[WORDS_MAX] = {name}, *at = strcpy(text, line);
    int argc = 1;

    for (char *word; (word = strsep(&at, " ")) != NULL && argc < WORDS_MAX - 1;) {
        if (word[0] != '\0') {
            argv[argc++] = word;
        }
    }
    assert_in_range(argc, 1, WORDS_MAX - 2); /* nothing was cut */
    optind = 0;                              /* getopt starts anew */
    return node_options_read(argc, argv, o);
}

static int without_environment(void **state)
{
    return unsetenv("NODE_NAME") + unsetenv("POD_NAMESPACE");
}

static void options__of_each_line__are_taken_or_refused(void **state)
{
    static const struct {
        const char *line;
        int code;
    } rows[] = {
        {"--node-name n1 --public-keys k", NODE_EXIT_OK},
        {"", NODE_EXIT_USAGE},
        {"--node-name n1", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ignore-xids 63,", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ignore-xids all", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ignore-xids 65536", NODE_EXIT_USAGE},
        {"--public-keys k", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k more", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --kubeconfigs f", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --hand-over magic", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --limits Driver", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --limits hami-core", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --limits mps", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --publish everything", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --log-format xml", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-compute 0.9", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-compute 10.1", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-memory x", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --max-sharers 0", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --max-sharers 1001", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --max-sharers x", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k -v 11", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k -v -1", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ops-address off --health-address :9445", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --ops-address [::1]:1", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --ops-address somewhere", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ops-address :9444", NODE_EXIT_USAGE}, /* everybody could read it */
        {"--node-name n1 --public-keys k --ops-address :9444 --ops-anonymous", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --usage-interval off", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --usage-interval 500ms", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --usage-interval 6m", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --usage-interval 10", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --exceed-grace 2h", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --exceed-grace s", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --on-exceed maybe", NODE_EXIT_USAGE},
        /* as the DaemonSet has them, and with metrics for everybody */
        {"--node-name n1 --public-keys k --publish=auto --health-address=0.0.0.0:9445 --runtime-config=/host/a "
         "--runtime-config=/host/b",
         NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --publish=auto --health-address=0.0.0.0:9445 --ops-anonymous "
         "--ops-address=:9444",
         NODE_EXIT_OK},
        /* the same port twice, and everybody alone on a listener that only this machine reaches */
        {"--node-name n1 --public-keys k --health-address 0.0.0.0:9444", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ops-address off --health-address 0.0.0.0:9444", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --ops-address [::1]:0 --health-address [::1]:0", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --ops-anonymous", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --ops-anonymous --ops-address [::1]:9444", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --usage-interval off --on-exceed kill", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --usage-interval off --on-exceed report", NODE_EXIT_OK},
        {"--node-name N1 --public-keys k", NODE_EXIT_USAGE},
        {"--node-name n1.example --public-keys k", NODE_EXIT_OK},
        {"--node-name n1 --public-keys k --exempt Foo", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --exempt a,b.c", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --limits driver --limits watch", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --limits hami-core --hami-core-library rel.so", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --hami-core-library=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --cdi-dir=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --cdi-dir cdi", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --nri-socket=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --nri-socket nri.sock", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --proc=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --mps-directory=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --cgroup-root=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --kubeconfig=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --nvml-library=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --nvml-library libnvidia-ml.so.1", NODE_EXIT_OK}, /* the loader's */
        {"--node-name n1 --public-keys=", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --runtime-config=", NODE_EXIT_USAGE},
        {"--help", -1},
        {"--version", -1},
    };
    struct node_options o;
    char text[1024];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const int code = read_line(rows[i].line, text, &o);

        if (code != rows[i].code) {
            fail_msg("%s: %d", rows[i].line, code);
        }
    }
}

static void options__without_more__have_their_defaults(void **state)
{
    struct node_options o;
    char text[1024];

    assert_int_equal(setenv("NODE_NAME", "from-environment", 1), 0);
    assert_int_equal(setenv("POD_NAMESPACE", "fgpu-system", 1), 0);
    assert_int_equal(read_line("--public-keys k", text, &o), NODE_EXIT_OK);
    assert_string_equal(o.node_name, "from-environment");
    assert_string_equal(o.nri_socket, "/var/run/nri/nri.sock");
    assert_string_equal(o.cdi_dir, "/var/run/cdi");
    assert_null(o.nvml_library);
    assert_int_equal(o.exempt_n, 3);
    assert_true(str_eq(o.exempt[0], STR("kube-system")));
    assert_true(str_eq(o.exempt[1], STR("gpu-operator")));
    assert_true(str_eq(o.exempt[2], STR("fgpu-system")));
    assert_int_equal(o.hand_over, NODE_HAND_OVER_AUTO);
    assert_false(o.stand_back);
    assert_false(o.refuse_privileged);
    assert_int_equal(o.limits, LIMITS_AUTO);
    assert_string_equal(o.mps_dir, "/run/fgpu/mps");
    assert_string_equal(o.cgroup_root, "/sys/fs/cgroup");
    assert_null(o.hami_library);
    assert_int_equal(o.max_sharers, INT32_MAX);
    assert_int_equal(o.overcommit_milli, 1000);
    assert_int_equal(o.overcommit_mem_milli, 1000);
}

static void options__all_of_them__are_kept(void **state)
{
    struct node_options o;
    char text[1024];

    assert_int_equal(setenv("POD_NAMESPACE", "fgpu-system", 1), 0);
    assert_int_equal(
        read_line("--node-name n1 --public-keys a --public-keys b --kubeconfig f --nri-socket /s --nvml-library l "
                  "--cdi-dir /d "
                  "--hand-over env --exempt x,,y --stand-back --refuse-privileged --max-sharers 4 --runtime-config p "
                  "--runtime-config q --overcommit-compute 1.5 "
                  "--overcommit-memory 1200m --publish annotation "
                  "--limits hami-core --mps-directory /m --hami-core-library /h --cgroup-root /g "
                  "--ignore-xids 63,94 --ignore-xids 65535 --log-format json -v 4",
                  text, &o),
        NODE_EXIT_OK);
    assert_string_equal(o.node_name, "n1");
    assert_int_equal(o.public_key_n, 2);
    assert_string_equal(o.public_keys[1].p, "b");
    assert_string_equal(o.kubeconfig, "f");
    assert_int_equal(o.publish, NODE_PUBLISH_ANNOTATION);
    assert_string_equal(o.nri_socket, "/s");
    assert_string_equal(o.nvml_library, "l");
    assert_string_equal(o.cdi_dir, "/d");
    assert_int_equal(o.hand_over, NODE_HAND_OVER_ENV);
    assert_int_equal(o.exempt_n, 2); /* what is said replaces the default */
    assert_true(str_eq(o.exempt[1], STR("y")));
    assert_true(o.stand_back);
    assert_true(o.refuse_privileged);
    assert_int_equal(o.limits, LIMITS_HAMI_CORE);
    assert_string_equal(o.mps_dir, "/m");
    assert_string_equal(o.hami_library, "/h");
    assert_string_equal(o.cgroup_root, "/g");
    assert_int_equal(o.max_sharers, 4);
    assert_int_equal(o.runtime_config_n, 2);
    assert_string_equal(o.runtime_config[1], "q");
    assert_int_equal(o.overcommit_milli, 1500);
    assert_int_equal(o.overcommit_mem_milli, 1200);
    assert_int_equal(o.ignored_xid_n, 3);
    assert_int_equal(o.ignored_xids[0], 63);
    assert_int_equal(o.ignored_xids[2], 65535);
    assert_true(o.json);
    assert_int_equal(o.verbosity, 4);
}

/* A word with a blank in it, or none: what a shell passes on of quotes. */
static void options__of_words_that_no_name_has__are_refused(void **state)
{
    static const char *const words[] = {"--node-name=A B", "--node-name=a b", "--exempt=a b"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        char name[] = "fgpu-node", node[] = "--node-name=n1", keys[] = "--public-keys=k", word[32];
        char *argv[] = {name, node, keys, strcpy(word, words[i]), NULL};
        struct node_options o;

        optind = 0;
        assert_int_equal(node_options_read(4, argv, &o), NODE_EXIT_USAGE);
    }
}

static void options__of_an_environment_with_no_name__are_refused(void **state)
{
    struct node_options o;
    char text[64];

    assert_int_equal(setenv("POD_NAMESPACE", "No Name", 1), 0);
    assert_int_equal(read_line("--node-name n1 --public-keys k", text, &o), NODE_EXIT_USAGE);
}

static void options__too_many_of_a_kind__are_refused(void **state)
{
    char line[4096] = "--node-name n1 --public-keys k --exempt ", text[4096];
    struct node_options o;

    for (int i = 0; i <= NODE_EXEMPT_MAX; i++) {
        strcat(line, "n,");
    }
    assert_int_equal(read_line(line, text, &o), NODE_EXIT_USAGE);
    strcpy(line, "--node-name n1");
    for (int i = 0; i <= NODE_PATHS_MAX; i++) {
        strcat(line, " --public-keys k");
    }
    assert_int_equal(read_line(line, text, &o), NODE_EXIT_USAGE);
    strcpy(line, "--node-name n1 --public-keys k --ignore-xids 0");
    for (int i = 0; i < NODE_XIDS_MAX; i++) {
        strcat(line, ",1");
    }
    assert_int_equal(read_line(line, text, &o), NODE_EXIT_USAGE);
}

static void options__of_use__have_defaults_and_are_taken(void **state)
{
    struct node_options o;
    char text[256];

    assert_int_equal(read_line("--node-name n --public-keys k", text, &o), NODE_EXIT_OK);
    assert_string_equal(o.ops_address.host, "127.0.0.1");
    assert_int_equal(o.ops_address.port, 9444);
    assert_true(o.health_off);
    assert_string_equal(o.proc, "/proc");
    assert_int_equal(o.usage_interval_ms, 10000);
    assert_int_equal(o.exceed_grace_ms, 30000);
    assert_false(o.exceed_kill);
    assert_int_equal(read_line("--node-name n --public-keys k --ops-address off --health-address 0.0.0.0:80 --proc /p "
                               "--usage-interval 5m --on-exceed kill --exceed-grace 0s",
                               text, &o),
                     NODE_EXIT_OK);
    assert_true(o.ops_off);
    assert_int_equal(o.health_address.port, 80);
    assert_string_equal(o.proc, "/p");
    assert_int_equal(o.usage_interval_ms, 300000);
    assert_int_equal(o.exceed_grace_ms, 0);
    assert_true(o.exceed_kill);
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, without_environment, without_environment)
    const struct CMUnitTest tests[] = {
        ALONE(options__of_each_line__are_taken_or_refused),
        ALONE(options__of_use__have_defaults_and_are_taken),
        ALONE(options__without_more__have_their_defaults),
        ALONE(options__all_of_them__are_kept),
        ALONE(options__too_many_of_a_kind__are_refused),
        ALONE(options__of_words_that_no_name_has__are_refused),
        ALONE(options__of_an_environment_with_no_name__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
