#include "kube/incluster.h"

#include "support/temp_dir.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define CA "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

static struct temp_dir dir;

static int setup(void **state)
{
    temp_dir_init(&dir);
    temp_dir_write(&dir, "token", "secret\n");
    temp_dir_write(&dir, "ca.crt", CA);
    return 0;
}

static int teardown(void **state)
{
    temp_dir_fini(&dir);
    return 0;
}

static void load__address__becomes_a_url(void **state)
{
    static const struct {
        const char *host, *port, *url;
    } rows[] = {
        {"10.96.0.1", "443", "https://10.96.0.1:443"},
        {"fd00::1", "6443", "https://[fd00::1]:6443"},
        {"kubernetes.default.svc", "443", "https://kubernetes.default.svc:443"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct credentials c;
        assert_int_equal(incluster_load(rows[i].host, rows[i].port, dir.path, &c, NULL), 0);
        assert_string_equal(c.server, rows[i].url);
        assert_string_equal(c.ca_pem, CA);
        char token_file[128];
        snprintf(token_file, sizeof(token_file), "%s/token", dir.path);
        assert_string_equal(c.token_file, token_file);
        assert_null(c.token);
        assert_null(c.username);
        assert_false(c.insecure_skip_tls_verify);
        credentials_fini(&c);
    }
}

static void load__bad_environment__is_an_error_with_a_remedy(void **state)
{
    static const struct {
        const char *name, *host, *port;
        enum err_code code;
        const char *word;
    } rows[] = {
        {"outside", NULL, NULL, ERR_NOT_FOUND, "--kubeconfig"},
        {"no port", "10.0.0.1", NULL, ERR_NOT_FOUND, "KUBERNETES_SERVICE_PORT"},
        {"empty host", "", "443", ERR_NOT_FOUND, "--kubeconfig"},
        {"port is a word", "10.0.0.1", "https", ERR_INVALID, "KUBERNETES_SERVICE_PORT"},
        {"port too large", "10.0.0.1", "65536", ERR_INVALID, "KUBERNETES_SERVICE_PORT"},
        {"port zero", "10.0.0.1", "0", ERR_INVALID, "KUBERNETES_SERVICE_PORT"},
        {"host with path", "evil/x", "443", ERR_INVALID, "KUBERNETES_SERVICE_HOST"},
        {"host with user", "a@b", "443", ERR_INVALID, "KUBERNETES_SERVICE_HOST"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct credentials c = {.server = NULL};
        struct err err = {.code = ERR_OK};
        int rc = incluster_load(rows[i].host, rows[i].port, dir.path, &c, &err);
        if (rc != -(int)rows[i].code || strstr(err.msg, rows[i].word) == NULL || c.server != NULL) {
            fail_msg("row %s: %d %s", rows[i].name, rc, err.msg);
        }
    }
}

static void load__missing_or_empty_files__are_named(void **state)
{
    struct credentials c = {.server = NULL};
    struct err err = {.code = ERR_OK};
    temp_dir_write(&dir, "ca.crt", "nothing");
    assert_int_equal(incluster_load("10.0.0.1", "443", dir.path, &c, &err), -ERR_INVALID);
    assert_non_null(strstr(err.msg, "ca.crt"));
    temp_dir_remove(&dir, "ca.crt");
    assert_int_equal(incluster_load("10.0.0.1", "443", dir.path, &c, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "ca.crt"));
    temp_dir_remove(&dir, "token");
    assert_int_equal(incluster_load("10.0.0.1", "443", dir.path, &c, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "automountServiceAccountToken"));
    assert_null(c.server);
    assert_int_equal(incluster_load("10.0.0.1", "443", "/nonexistent", &c, &err), -ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(load__address__becomes_a_url),
        TEST(load__bad_environment__is_an_error_with_a_remedy),
        TEST(load__missing_or_empty_files__are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
