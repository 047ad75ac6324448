#include "kube/transport.h"

#include "kube/support/api_fixture.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_auth(const char *expected, int status)
{
    struct kube_request r = get("/token");
    struct call_result result;
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.http_status, status);
    assert_string_equal(result.body, expected);
}

static void auth__replaced_token_file__is_used_after_a_401(void **state)
{
    temp_dir_write(&f.dir, "token", "bad-1");
    f.creds.token_file = f.token_file;
    connect_client();
    expect_auth("Bearer bad-1", 401);
    temp_dir_write(&f.dir, "token", "good-2");
    expect_auth("Bearer good-2", 200);
    temp_dir_write(&f.dir, "token", "good-3"); /* not rejected: kept for a while */
    expect_auth("Bearer good-2", 200);
}

static void auth__token_replaced_since_it_was_read__the_same_call_succeeds(void **state)
{
    struct kube_request any = get("/x"), create = post("/token");
    struct call_result result;
    temp_dir_write(&f.dir, "token", "bad-1");
    f.creds.token_file = f.token_file;
    connect_client();
    expect(&any, KUBE_ANSWERED, true, 200); /* nobody looks at tokens there */
    temp_dir_write(&f.dir, "token", "good-2");
    call_now(f.client, &create, &result);
    assert_int_equal(result.outcome.http_status, 200);
    assert_string_equal(result.body, "Bearer good-2");
    assert_int_equal(f.seen_n, 3);
    assert_non_null(strstr(f.last, "{\"a\":1}")); /* the body was sent again */
}

static void auth__rejected_again_and_again__not_sent_and_says_why(void **state)
{
    struct kube_request r = get("/token");
    struct call_result result;
    temp_dir_write(&f.dir, "token", "bad-1");
    f.creds.token_file = f.token_file;
    connect_client();
    expect_auth("Bearer bad-1", 401);
    expect_auth("Bearer bad-1", 401);
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.kind, KUBE_NOT_SENT);
    assert_int_equal(result.outcome.http_status, 401);
    assert_false(result.outcome.maybe_sent);
    assert_non_null(strstr(result.outcome.detail, "rejects our credentials"));
    assert_int_equal(f.seen_n, 2);
}

static void auth__no_token_file__is_not_sent(void **state)
{
    struct kube_request r = get("/token");
    struct call_result result;
    f.creds.token_file = f.token_file;
    connect_client();
    call_now(f.client, &r, &result);
    assert_int_equal(result.outcome.kind, KUBE_NOT_SENT);
    assert_non_null(strstr(result.outcome.detail, "token"));
    assert_int_equal(f.seen_n, 0);
}

static void auth__literal_token_and_basic__are_sent(void **state)
{
    snprintf(f.token, sizeof(f.token), "literal");
    f.creds.token = f.token;
    connect_client();
    expect_auth("Bearer literal", 200);
    kube_client_free(f.client);
    f.creds.token = NULL;
    snprintf(f.user, sizeof(f.user), "aladdin");
    snprintf(f.password, sizeof(f.password), "opensesame");
    f.creds.username = f.user;
    f.creds.password = f.password;
    connect_client();
    expect_auth("Basic YWxhZGRpbjpvcGVuc2VzYW1l", 200);
}

static void client__bad_credentials__are_refused(void **state)
{
    static char token[] = "t", cert[] = "pem", tls_name[] = "a b";
    static const struct {
        const char *name, *server;
        char *token, *cert, *tls_name;
        const char *word;
    } rows[] = {
        {"no scheme", "10.0.0.1:6443", NULL, NULL, NULL, "address"},
        {"other scheme", "ftp://10.0.0.1", NULL, NULL, NULL, "https:// or http://, not ftp://"},
        {"empty", "", NULL, NULL, NULL, "address"},
        {"user in the address", "https://u:p@10.0.0.1", NULL, NULL, NULL, "scheme, host, port"},
        {"query", "https://10.0.0.1/?a=b", NULL, NULL, NULL, "scheme, host, port"},
        {"token over http", "http://10.0.0.1:80", token, NULL, NULL, "plain http"},
        {"item 18: a name, whatever it resolves to", "http://localhost:80", token, NULL, NULL, "127.0.0.1"},
        {"item 18: a name that begins like an address", "http://127.0.0.1.example.com", token, NULL, NULL,
         "plain http"},
        {"item 18: mapped, and not loopback", "http://[::ffff:10.0.0.1]:80", token, NULL, NULL, "plain http"},
        {"certificate without key", "https://10.0.0.1", NULL, cert, NULL, "together"},
        {"TLS name", "https://10.0.0.1", NULL, NULL, tls_name, "TLS server name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char server[64];
        struct credentials creds = {.server = server,
                                    .token = rows[i].token,
                                    .client_cert_pem = rows[i].cert,
                                    .tls_server_name = rows[i].tls_name};
        struct err err = {.code = ERR_OK};
        struct kube_client *client = NULL;
        snprintf(server, sizeof(server), "%s", rows[i].server);
        int rc = kube_client_new(&creds, &f.options, &client, &err);
        if (rc != -ERR_INVALID || strstr(err.msg, rows[i].word) == NULL || client != NULL) {
            fail_msg("row %s: %d %s", rows[i].name, rc, err.msg);
        }
    }
}

static void item18__loopback_by_address__credentials_may_be_sent(void **state)
{
    static const char *const servers[] = {"http://127.0.0.1:1", "http://127.1.2.3:1", "http://[::1]:1",
                                          "http://[::ffff:127.0.0.1]:1"};
    static char token[] = "t";

    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        char server[64];
        struct credentials creds = {.server = server, .token = token};
        struct kube_client *client = NULL;
        struct err err = {.code = ERR_OK};

        snprintf(server, sizeof(server), "%s", servers[i]);
        if (kube_client_new(&creds, &f.options, &client, &err) != 0) {
            fail_msg("%s: %s", servers[i], err.msg);
        }
        kube_client_free(client);
    }
}

static void client__path_prefix_in_the_address__comes_first(void **state)
{
    struct kube_request r = get("/api/v1/pods");
    snprintf(f.base_path, sizeof(f.base_path), "%s/k8s/clusters/c-1/", f.server_url);
    f.creds.server = f.base_path;
    connect_client();
    expect(&r, KUBE_ANSWERED, true, 200);
    assert_non_null(strstr(f.last, "GET /k8s/clusters/c-1/api/v1/pods\n"));
}

static void client__proxy_in_the_environment__is_not_used(void **state)
{
    struct kube_request r = get("/x");
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    connect_client();
    expect(&r, KUBE_ANSWERED, true, 200);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
        TEST(auth__replaced_token_file__is_used_after_a_401),
        TEST(auth__token_replaced_since_it_was_read__the_same_call_succeeds),
        TEST(auth__rejected_again_and_again__not_sent_and_says_why),
        TEST(auth__no_token_file__is_not_sent),
        TEST(auth__literal_token_and_basic__are_sent),
        TEST(client__bad_credentials__are_refused),
        TEST(item18__loopback_by_address__credentials_may_be_sent),
        TEST(client__path_prefix_in_the_address__comes_first),
        TEST(client__proxy_in_the_environment__is_not_used),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
