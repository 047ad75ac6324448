#include "config/kubeconfig.h"

#include "config/support/unit.h"

#include <stdio.h>
#include <string.h>

#define CA_B64 "LS0tLS1CRUdJTiBYLS0tLS0K" /* "-----BEGIN X-----\n" */
#define V1 "client.authentication.k8s.io/v1"

static void fill(struct strbuf *out, const char *exec, const char *cluster)
{
    strbuf_reset(out);
    strbuf_addf(out,
                "current-context: c\n"
                "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                "users: [{name: u, user: {exec: {\n%s\n}}}]\n"
                "clusters: [{name: k, cluster: {server: https://k, %s}}]\n",
                exec, cluster);
}

static struct credentials parsed(const char *exec, const char *cluster)
{
    struct credentials c = {0};
    struct strbuf text;
    struct err err;

    strbuf_init(&text, 1 << 20);
    fill(&text, exec, cluster);
    if (kubeconfig_parse("/etc/x/kubeconfig", strbuf_view(&text), NULL, &c, &err) != 0) {
        fail_msg("refused: %s", err.msg);
    }
    strbuf_fini(&text);
    assert_non_null(c.exec);
    return c;
}

static void exec__all_keys__are_taken(void **state)
{
    struct credentials c = parsed("apiVersion: " V1 ", command: aws, args: [eks, 'get token', ''],\n"
                                  "env: [{name: A, value: 1=2}, {name: B, value: null}],\n"
                                  "installHint: install it, interactiveMode: IfAvailable, provideClusterInfo: false",
                                  "certificate-authority-data: " CA_B64);
    assert_string_equal(c.exec->api_version, V1);
    assert_string_equal(c.exec->command, "aws");
    assert_string_equal(c.exec->args[0], "eks");
    assert_string_equal(c.exec->args[1], "get token");
    assert_string_equal(c.exec->args[2], "");
    assert_null(c.exec->args[3]);
    assert_string_equal(c.exec->env[0], "A=1=2");
    assert_string_equal(c.exec->env[1], "B=");
    assert_null(c.exec->env[2]);
    assert_string_equal(c.exec->install_hint, "install it");
    assert_string_equal(c.exec->info,
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":{\"interactive\":false}}");
    credentials_fini(&c);
}

static void exec__command_with_a_slash__counts_from_the_folder(void **state)
{
    static const char *const rows[][2] = {
        {"aws", "aws"}, {"./aws", "/etc/x/./aws"}, {"bin/aws", "/etc/x/bin/aws"}, {"/aws", "/aws"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char exec[128];
        (void)snprintf(exec, sizeof(exec), "apiVersion: %sbeta1, command: %s", V1, rows[i][0]);
        struct credentials c = parsed(exec, "");
        assert_string_equal(c.exec->command, rows[i][1]);
        assert_null(c.exec->args);
        assert_null(c.exec->env);
        assert_null(c.exec->install_hint);
        credentials_fini(&c);
    }
}

static void exec__cluster_info__tells_cluster_and_extension(void **state)
{
    struct credentials c =
        parsed("apiVersion: " V1 ", command: aws, interactiveMode: Never, provideClusterInfo: true",
               "certificate-authority-data: " CA_B64 ", tls-server-name: n, proxy-url: 'http://p', "
               "extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, "
               "extension: {audience: \"a\\\"b\", n: 7, s: '7', z: 007, f: -1.5, t: true, q: 'true', "
               "nil: ~, list: [x, {y: z}]}}]");
    assert_string_equal(c.exec->info,
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":{\"cluster\":{"
                        "\"server\":\"https://k\",\"tls-server-name\":\"n\","
                        "\"certificate-authority-data\":\"" CA_B64 "\",\"proxy-url\":\"http://p\","
                        "\"config\":{\"audience\":\"a\\\"b\",\"n\":7,\"s\":\"7\",\"z\":\"007\",\"f\":-1.5,"
                        "\"t\":true,\"q\":\"true\",\"nil\":null,\"list\":[\"x\",{\"y\":\"z\"}]}},"
                        "\"interactive\":false}}");
    credentials_fini(&c);
}

static void exec__bad__place_and_remedy(void **state)
{
    static const struct {
        const char *name, *exec, *want;
    } rows[] = {
        {"no command", "apiVersion: " V1 ", interactiveMode: Never", "k:3:32: command is missing"},
        {"no version", "command: a", "k:3:32: apiVersion is missing: " V1 " or " V1 "beta1"},
        {"old version", "apiVersion: " V1 "alpha1, command: a", "k:4:13: apiVersion must be " V1 " or " V1 "beta1"},
        {"v1 without mode", "apiVersion: " V1 ", command: a",
         "k:3:32: interactiveMode is missing: Never or IfAvailable"},
        {"wants a terminal", "apiVersion: " V1 ", command: a, interactiveMode: Always",
         "k:4:75: interactiveMode Always needs a terminal, which a service does not have; use other credentials"},
        {"unknown mode", "apiVersion: " V1 ", command: a, interactiveMode: never",
         "k:4:75: interactiveMode must be Never, IfAvailable or Always"},
        {"args is text", "apiVersion: " V1 "beta1, command: a, args: hush", "k:4:69: args must be a list, not text"},
        {"arg is a list", "apiVersion: " V1 "beta1, command: a, args: [[hush]]",
         "k:4:70: an element of args must be text, not a list"},
        {"env without name", "apiVersion: " V1 "beta1, command: a, env: [{value: hush}]",
         "k:4:69: an element of env must have a name without '='"},
        {"env name with =", "apiVersion: " V1 "beta1, command: a, env: [{name: a=hush}]",
         "k:4:69: an element of env must have a name without '='"},
        {"beside a token", "apiVersion: " V1 "beta1, command: a}, token: hush, x: {a: b",
         "k:3:25: exec makes the credentials: give either exec or a token, a certificate or "
         "username and password, not both"},
    };
    struct strbuf text;

    strbuf_init(&text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fill(&text, rows[i].exec, "");
        expect_kubeconfig_refused(strbuf_view(&text), NULL, rows[i].want, rows[i].name);
    }
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec__all_keys__are_taken),
        cmocka_unit_test(exec__command_with_a_slash__counts_from_the_folder),
        cmocka_unit_test(exec__cluster_info__tells_cluster_and_extension),
        cmocka_unit_test(exec__bad__place_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
