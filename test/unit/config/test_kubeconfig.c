#include "config/kubeconfig.h"

#include "config/support/unit.h"

#include <stdio.h>
#include <string.h>

#define FOLDER FGPU_TEST_DATA "/config/kubeconfig"
#define CA_PEM "-----BEGIN CERTIFICATE-----\nQSBDQQ==\n-----END CERTIFICATE-----\n"
#define CERT_PEM "-----BEGIN CERTIFICATE-----\nQSBjbGllbnQ=\n-----END CERTIFICATE-----\n"
#define KEY_PEM "-----BEGIN PRIVATE KEY-----\nTm90IGEga2V5\n-----END PRIVATE KEY-----\n"

static struct credentials loaded(const char *path, const char *context)
{
    struct credentials c = {0};
    struct err err;

    if (kubeconfig_load(path, context, &c, &err) < 0) {
        fail_msg("refused: %s", err.msg);
    }
    return c;
}

static void load__files__relative_to_the_kubeconfig(void **state)
{
    struct credentials c = loaded(FOLDER "/files.yaml", NULL);
    assert_string_equal(c.server, "https://10.0.0.1:6443");
    assert_string_equal(c.ca_pem, CA_PEM);
    assert_string_equal(c.tls_server_name, "kubernetes.default");
    assert_false(c.insecure_skip_tls_verify);
    assert_false(c.disable_compression);
    assert_string_equal(c.client_cert_pem, CERT_PEM);
    assert_string_equal(c.client_key_pem, KEY_PEM);
    assert_non_null(strstr(c.ca_file, FOLDER "/"));
    assert_non_null(strstr(c.client_cert_file, FOLDER "/"));
    assert_non_null(strstr(c.client_key_file, FOLDER "/"));
    assert_null(c.token);
    assert_null(c.token_file);
    assert_null(c.username);
    credentials_fini(&c);
}

static void load__json_with_data__data_wins_over_a_missing_file(void **state)
{
    struct credentials c = loaded(FOLDER "/data.json", "");
    assert_string_equal(c.server, "https://example.com");
    assert_string_equal(c.ca_pem, CA_PEM);
    assert_string_equal(c.client_cert_pem, CERT_PEM);
    assert_string_equal(c.client_key_pem, KEY_PEM);
    assert_null(c.ca_file);
    assert_null(c.client_cert_file);
    assert_null(c.client_key_file);
    assert_null(c.token);
    credentials_fini(&c);
}

static void load__named_context__wins_over_current(void **state)
{
    struct credentials c = loaded(FOLDER "/files.yaml", "anonymous");
    assert_string_equal(c.server, "http://127.0.0.1:8080");
    assert_true(c.insecure_skip_tls_verify);
    assert_true(c.disable_compression);
    assert_null(c.ca_pem);
    assert_null(c.client_cert_pem);
    assert_null(c.username);
    credentials_fini(&c);

    c = loaded(FOLDER "/files.yaml", "basic");
    assert_string_equal(c.username, "eve");
    assert_string_equal(c.password, "12345");
    credentials_fini(&c);

    c = loaded(FOLDER "/files.yaml", "bearer");
    assert_string_equal(c.token, "abc.def");
    assert_string_equal(c.token_file, FOLDER "/tokens/t");
    credentials_fini(&c);
}

static void load__unreadable__code_and_text(void **state)
{
    struct credentials c = {0};
    struct err err = {0};
    assert_int_equal(kubeconfig_load("/nonexistent", NULL, &c, &err), -ERR_NOT_FOUND);
    assert_string_equal(err.msg, "/nonexistent: No such file or directory");
    assert_int_equal(kubeconfig_load("/dev/zero", NULL, &c, &err), -ERR_LIMIT);
    assert_string_equal(err.msg, "/dev/zero: larger than 1024 KiB");
}

/* A kubeconfig whose user (line 4) and cluster (line 7) have these keys. */
static void fill(struct strbuf *out, const char *user, const char *cluster)
{
    strbuf_reset(out);
    strbuf_addf(out,
                "current-context: c\n"
                "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                "users: [{name: u, user: {\n%s\n}}]\n"
                "clusters: [{name: k, cluster: {\n%s\n}}]\n",
                user, cluster);
}

static void parse__bad_user__place_and_remedy(void **state)
{
    static const struct {
        const char *name, *user, *want;
    } rows[] = {
        {"auth provider", "auth-provider: {name: gcp}",
         "k:4:1: auth-provider is not supported; use exec, a client certificate, a token or tokenFile (client-go "
         "removed it, too)"},
        {"impersonation", "token: hush, as: root", "k:4:14: as is not supported; use credentials of that identity"},
        {"not base64", "client-certificate-data: 'hu sh', client-key-data: QQ==",
         "k:4:26: client-certificate-data is not base64 (and 1 more)"},
        {"base64 cut", "client-key-data: QQ=", "k:4:18: client-key-data is not base64"},
        {"base64 goes on after padding", "client-key-data: QQ==QQ==", "k:4:18: client-key-data is not base64"},
        {"not PEM",
         "client-key-data: aHVzaA==", "k:4:18: client-key-data does not hold PEM (a text with -----BEGIN ...)"},
        {"missing file", "client-key: none.pem", "k:4:13: client-key: none.pem: No such file or directory"},
        {"certificate without key", "client-certificate: " FOLDER "/user/cert.pem", "k:3:25: client-key is missing"},
        {"key without certificate", "client-key: " FOLDER "/user/key.pem", "k:3:25: client-certificate is missing"},
        {"file is not PEM", "client-key: " FOLDER "/not.pem",
         "k:4:13: client-key: " FOLDER "/not.pem does not hold PEM (a text with -----BEGIN ...)"},
        {"token is a list", "token: [hush]", "k:4:8: token must be text, not a list"},
        {"two ways", "token: hush, username: u, password: p",
         "k:3:25: give either a token or username and password, not both"},
        {"password alone", "password: hush", "k:3:25: username is missing"},
        {"token twice", "token: hush, token: quiet", "k:4:14: duplicate key 'token', first on line 4"},
        {"a password that is an alias to YAML", "username: u, password: *hush",
         "k:4:24: aliases are not accepted; put text that starts with '*' in quotes"},
        {"a token that is an anchor to YAML", "token: &hush",
         "k:4:8: anchors are not accepted; put text that starts with '&' in quotes"},
        {"malformed beside a secret", "token: hush]",
         "k:4:12: not valid YAML: did not find expected ',' or '}'; a '{' is not closed"},
    };
    struct strbuf text;

    strbuf_init(&text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fill(&text, rows[i].user, "server: https://k");
        expect_kubeconfig_refused(strbuf_view(&text), NULL, rows[i].want, rows[i].name);
    }
    strbuf_fini(&text);
}

static void parse__bad_cluster__place_and_remedy(void **state)
{
    static const struct {
        const char *name, *cluster, *want;
    } rows[] = {
        {"no server", "tls-server-name: x", "k:6:31: server is missing"},
        {"server is a host", "server: 10.0.0.1:6443", "k:7:9: server must be a URL such as https://10.0.0.1:6443"},
        {"server without host", "server: 'https:///x'", "k:7:9: server must be a URL such as https://10.0.0.1:6443"},
        {"server with a user", "server: 'https://u:hush@k'",
         "k:7:9: server must be a URL such as https://10.0.0.1:6443"},
        {"server of two lines", "server: \"https://k\\nHost: x\"",
         "k:7:9: server must be a URL such as https://10.0.0.1:6443"},
        {"proxy of an unknown kind", "server: https://k, proxy-url: 'ftp://u:hush@p'",
         "k:7:31: proxy-url must be a URL such as http://10.0.0.1:3128; https:// and socks5:// are supported, too"},
        {"the other flag is a word", "server: https://k, disable-compression: yes",
         "k:7:41: disable-compression must be true or false"},
        {"flag is a word", "server: https://k, insecure-skip-tls-verify: yes",
         "k:7:46: insecure-skip-tls-verify must be true or false"},
        {"insecure and a CA",
         "server: https://k, insecure-skip-tls-verify: true, certificate-authority: " FOLDER "/ca.pem",
         "k:7:46: insecure-skip-tls-verify contradicts certificate-authority; remove one of them"},
    };
    struct strbuf text;

    strbuf_init(&text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fill(&text, "token: hush", rows[i].cluster);
        expect_kubeconfig_refused(strbuf_view(&text), NULL, rows[i].want, rows[i].name);
    }
    strbuf_fini(&text);
}

static void parse__proxy__is_taken(void **state)
{
    static const char *const urls[] = {"http://p:3128", "https://u:hush@p", "socks5://[::1]:1080"};
    struct strbuf text;
    strbuf_init(&text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct credentials c = {0};
        char cluster[128];
        (void)snprintf(cluster, sizeof(cluster), "server: https://k, proxy-url: '%s'", urls[i]);
        fill(&text, "token: hush", cluster);
        assert_int_equal(kubeconfig_parse("k", strbuf_view(&text), NULL, &c, NULL), 0);
        assert_string_equal(c.proxy_url, urls[i]);
        credentials_fini(&c);
    }
    strbuf_fini(&text);
}

static void parse__bad_structure__place_and_remedy(void **state)
{
    static const struct {
        const char *name, *text, *context, *want;
    } rows[] = {
        {"empty", "", NULL, "k: this is not a kubeconfig: it is empty"},
        {"text", "hello\n", NULL, "k:1:1: this is not a kubeconfig: it has no keys"},
        {"another kind", "kind: Pod\napiVersion: v1\n", NULL, "k:1:7: kind must be Config: this is not a kubeconfig"},
        {"another version", "kind: Config\napiVersion: v2\n", NULL, "k:2:13: apiVersion must be v1"},
        {"no current context", "contexts: [{name: a, context: {}}, {name: b, context: {}}]\n", NULL,
         "k: no current-context; name a context; there are: a, b"},
        {"no such context", "current-context: x\ncontexts: [{name: a, context: {}}]\n", NULL,
         "k:1:18: no context is named 'x'; there are: a"},
        {"no such context asked for", "current-context: a\ncontexts: [{name: a, context: {}}]\n", "z",
         "k: no context is named 'z'; there are: a"},
        {"no contexts", "current-context: x\n", NULL, "k:1:18: no context is named 'x'"},
        {"contexts is a mapping", "current-context: x\ncontexts: {x: {}}\n", NULL,
         "k:2:11: contexts must be a list, not a mapping"},
        {"context is text", "current-context: x\ncontexts: [x]\n", NULL,
         "k:2:12: an element of contexts must have keys, found text"},
        {"context without content", "current-context: x\ncontexts: [{name: x}]\n", NULL,
         "k:2:19: 'context' with its keys is missing here"},
        {"context twice",
         "current-context: x\ncontexts: [{name: x, context: {cluster: k}}, {name: x, context: "
         "{}}]\n"
         "clusters: [{name: k, cluster: {server: https://k}}]\n",
         NULL, "k:2:53: a second context with this name"},
        {"context without cluster", "current-context: x\ncontexts: [{name: x, context: {user: u}}]\n", NULL,
         "k:2:31: cluster is missing"},
        {"no such cluster and user", "current-context: x\ncontexts: [{name: x, context: {cluster: k, user: u}}]\n",
         NULL, "k:2:41: no cluster is named 'k' (and 1 more)"},
        {"anchor", "current-context: &a x\n", NULL,
         "k:1:18: anchors are not accepted; put text that starts with '&' in quotes"},
        {"second document", "current-context: x\n---\na: b\n", NULL,
         "k:2:1: a second document starts here; the file must hold only one"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_kubeconfig_refused(str_of(rows[i].text), rows[i].context, rows[i].want, rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load__files__relative_to_the_kubeconfig),
        cmocka_unit_test(load__json_with_data__data_wins_over_a_missing_file),
        cmocka_unit_test(load__named_context__wins_over_current),
        cmocka_unit_test(load__unreadable__code_and_text),
        cmocka_unit_test(parse__bad_user__place_and_remedy),
        cmocka_unit_test(parse__bad_cluster__place_and_remedy),
        cmocka_unit_test(parse__proxy__is_taken),
        cmocka_unit_test(parse__bad_structure__place_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
