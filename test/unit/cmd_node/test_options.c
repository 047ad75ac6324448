/* The command line of fgpu-node. */
#include "base/compiler.h"
#include "cmd_node/options.h"
#include "support/cmocka.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32

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
    optind = 0; /* getopt starts anew */
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
        {"--public-keys k", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k more", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --kubeconfig f", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --hand-over magic", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --log-format xml", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-compute 0.9", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-compute 10.1", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k --overcommit-memory x", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k -v 11", NODE_EXIT_USAGE},
        {"--node-name n1 --public-keys k -v -1", NODE_EXIT_USAGE},
        {"--help", -1},
        {"--version", -1},
    };
    struct node_options o;
    char text[512];

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
    char text[512];

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
    assert_int_equal(o.overcommit_milli, 1000);
    assert_int_equal(o.overcommit_mem_milli, 1000);
}

static void options__all_of_them__are_kept(void **state)
{
    struct node_options o;
    char text[512];

    assert_int_equal(setenv("POD_NAMESPACE", "fgpu-system", 1), 0);
    assert_int_equal(
        read_line("--node-name n1 --public-keys a --public-keys b --nri-socket s --nvml-library l --cdi-dir d "
                  "--hand-over env --exempt x,,y --stand-back --overcommit-compute 1.5 --overcommit-memory 1200m "
                  "--log-format json -v 4",
                  text, &o),
        NODE_EXIT_OK);
    assert_string_equal(o.node_name, "n1");
    assert_int_equal(o.public_key_n, 2);
    assert_string_equal(o.public_keys[1].p, "b");
    assert_string_equal(o.nri_socket, "s");
    assert_string_equal(o.nvml_library, "l");
    assert_string_equal(o.cdi_dir, "d");
    assert_int_equal(o.hand_over, NODE_HAND_OVER_ENV);
    assert_int_equal(o.exempt_n, 2); /* what is said replaces the default */
    assert_true(str_eq(o.exempt[1], STR("y")));
    assert_true(o.stand_back);
    assert_int_equal(o.overcommit_milli, 1500);
    assert_int_equal(o.overcommit_mem_milli, 1200);
    assert_true(o.json);
    assert_int_equal(o.verbosity, 4);
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
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, without_environment, without_environment)
    const struct CMUnitTest tests[] = {
        ALONE(options__of_each_line__are_taken_or_refused),
        ALONE(options__without_more__have_their_defaults),
        ALONE(options__all_of_them__are_kept),
        ALONE(options__too_many_of_a_kind__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
