#include "kube/exec_plugin.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define V1 "client.authentication.k8s.io/v1"
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\","
#define PATIENCE_MS 60000

/* Runs a script with /bin/sh. */
static int run_with(const char *script, int64_t timeout_ms, char **env, struct exec_credential *ret, struct err *reterr)
{
    char sh[] = "/bin/sh", dash_c[] = "-c", version[] = V1, info[] = "{\"the\":\"info\"}";
    char *text = strdup(script);
    char *args[] = {dash_c, text, NULL};
    const struct credentials_exec e = {.api_version = version, .command = sh, .args = args, .env = env, .info = info};
    int rc = exec_plugin_run(&e, timeout_ms, NULL, ret, reterr);
    free(text);
    /* whatever happened, no child is left to be reaped */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return rc;
}

static void expect_failure(const char *script, int code, const char *part)
{
    struct exec_credential c = {.token = NULL};
    struct err err = {.code = ERR_OK};
    int rc = run_with(script, PATIENCE_MS, NULL, &c, &err);
    if (rc != -code || strstr(err.msg, part) == NULL) {
        fail_msg("%s: %d %s", script, rc, err.msg);
    }
    assert_null(strstr(err.msg, "hush"));
    assert_null(c.token);
}

static void run__token_with_expiry__is_taken(void **state)
{
    struct exec_credential c;
    assert_int_equal(run_with("echo '" HEAD "\"status\":{\"token\":\"abc\",\"expirationTimestamp\":"
                              "\"2026-11-20T08:00:00Z\"}}'; echo words >&2",
                              PATIENCE_MS, NULL, &c, NULL),
                     0);
    assert_string_equal(c.token, "abc");
    assert_null(c.cert_pem);
    assert_true(c.expires_wall_ms == 1795161600000);
    exec_credential_fini(&c);
}

static void run__environment__info_variables_and_ours(void **state)
{
    static char one[] = "ONE=1", ours[] = "OURS=replaced";
    char *env[] = {one, ours, NULL};
    struct exec_credential c;
    setenv("OURS", "kept", 1);
    setenv("OTHER", "other", 1);
    setenv("KUBERNETES_EXEC_INFO", "somebody else's", 1);
    assert_int_equal(run_with("test \"$KUBERNETES_EXEC_INFO\" = '{\"the\":\"info\"}' || exit 1\n"
                              "test -z \"$(cat)\" || exit 2\n"                     /* standard input is empty */
                              "ls /proc/self/fd | grep -qvE '^[0-3]$' && exit 3\n" /* 3 is that of ls */
                              "echo '" HEAD "\"status\":{\"token\":\"'$ONE-$OURS-$OTHER'\"}}'",
                              PATIENCE_MS, env, &c, NULL),
                     0);
    assert_string_equal(c.token, "1-replaced-other");
    assert_true(c.expires_wall_ms == INT64_MAX);
    exec_credential_fini(&c);
}

static void run__failures__say_what_and_no_secret(void **state)
{
    expect_failure("echo 'please log in' >&2; echo '{\"token\":\"hush\"}'; exit 7", ERR_UNAVAILABLE,
                   "exec plugin /bin/sh: ended with exit code 7: please log in");
    expect_failure("echo hush-hush-hush-hush-hush-hush-hush-hush-hush is bad >&2; exit 1", ERR_UNAVAILABLE,
                   "exit code 1: [...] is bad");
    expect_failure("kill -9 $$", ERR_UNAVAILABLE, "was ended by signal 9");
    expect_failure("echo hush", ERR_PARSE, "JSON at byte");
    expect_failure("true", ERR_PARSE, "JSON at byte");
    expect_failure("yes hush", ERR_LIMIT, "printed more than");
}

static void run__no_such_command__install_hint(void **state)
{
    char name[] = "no-such-plugin", hint[] = "install it with apt", version[] = V1, info[] = "{}";
    const struct credentials_exec e = {.api_version = version, .command = name, .install_hint = hint, .info = info};
    struct exec_credential c;
    struct err err;
    assert_int_equal(exec_plugin_run(&e, PATIENCE_MS, NULL, &c, &err), -ERR_NOT_FOUND);
    assert_string_equal(err.msg, "exec plugin no-such-plugin: cannot be started: No such file or "
                                 "directory; install it with apt");
}

/* The grandchild keeps the pipes open and ignores signals that can be ignored; if it were not
 * killed it would be seen by pgrep as long as it sleeps. */
static void run__too_long__the_whole_group_is_killed(void **state)
{
    char script[256], pattern[64];
    struct exec_credential c;
    struct err err;
    snprintf(pattern, sizeof(pattern), "sleep 7%d", (int)getpid());
    snprintf(script, sizeof(script), "trap '' TERM INT HUP; (trap '' TERM INT HUP; %s) & %s", pattern, pattern);
    assert_int_equal(run_with(script, 200, NULL, &c, &err), -ERR_TIMEOUT);
    assert_non_null(strstr(err.msg, "did not end within 200 ms"));
    /* and one that ended by itself but left somebody behind */
    snprintf(script, sizeof(script), "%s & echo '" HEAD "\"status\":{\"token\":\"abc\"}}'", pattern);
    assert_int_equal(run_with(script, PATIENCE_MS, NULL, &c, &err), 0);
    exec_credential_fini(&c);
    for (unsigned tries = 0;; tries++) { /* killed is not gone yet */
        snprintf(script, sizeof(script), "grep -lsxz '%s' /proc/[0-9]*/cmdline >/dev/null", strchr(pattern, ' ') + 1);
        if (system(script) != 0) {
            break;
        }
        assert_true(tries < 1000);
    }
}

static void run__cancelled__ends_soon(void **state)
{
    char name[] = "sleep", amount[] = "1000", version[] = V1, info[] = "{}";
    char *args[] = {amount, NULL};
    const struct credentials_exec e = {.api_version = version, .command = name, .args = args, .info = info};
    atomic_bool cancel = true;
    struct exec_credential c;
    assert_int_equal(exec_plugin_run(&e, INT32_MAX, &cancel, &c, NULL), -ERR_CANCELLED);
}

static void parse__bad__is_refused_without_repeating_it(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *part;
    } rows[] = {
        {"[\"hush\"]", ERR_INVALID, "object"},
        {"{\"kind\":\"Pod\",\"hush\":1}", ERR_INVALID, "kind is not ExecCredential"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}", ERR_INVALID,
         "apiVersion is not the one of the kubeconfig"},
        {HEAD "\"spec\":{}}", ERR_INVALID, "neither a token nor"},
        {HEAD "\"status\":null}", ERR_INVALID, "neither a token nor"},
        {HEAD "\"status\":{\"token\":\"\"}}", ERR_INVALID, "neither a token nor"},
        {HEAD "\"status\":{\"clientCertificateData\":\"hush\"}}", ERR_INVALID, "together"},
        {HEAD "\"status\":{\"token\":\"hush\",\"clientKeyData\":\"hush\"}}", ERR_INVALID, "together"},
        {HEAD "\"status\":{\"token\":\"hush\",\"expirationTimestamp\":\"hush\"}}", ERR_INVALID, "RFC 3339"},
        {HEAD "\"status\":{\"token\":\"hush\",\"token\":\"b\"}}", ERR_PARSE, "duplicate"},
        {HEAD "\"status\":{\"token\":7}}", ERR_INVALID, ""},
        {HEAD "\"status\":{\"token\":\"hush\"}} hush", ERR_PARSE, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct exec_credential c = {.token = NULL};
        struct err err = {.code = ERR_OK};
        int rc = exec_credential_parse(str_of(rows[i].text), V1, &c, &err);
        if (rc != -rows[i].code || strstr(err.msg, rows[i].part) == NULL || strstr(err.msg, "hush") != NULL ||
            c.token != NULL) {
            fail_msg("%s: %d %s", rows[i].text, rc, err.msg);
        }
    }
}

static void parse__certificate_and_unknown_keys__are_taken(void **state)
{
    struct exec_credential c;
    assert_int_equal(exec_credential_parse(STR(HEAD "\"spec\":{\"x\":1},\"status\":{\"clientCertificateData\":"
                                                    "\"-----BEGIN\\nA\",\"clientKeyData\":\"K\",\"token\":null,"
                                                    "\"new\":[]}}"),
                                           V1, &c, NULL),
                     0);
    assert_null(c.token);
    assert_string_equal(c.cert_pem, "-----BEGIN\nA");
    assert_string_equal(c.key_pem, "K");
    exec_credential_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__token_with_expiry__is_taken),
        cmocka_unit_test(run__environment__info_variables_and_ours),
        cmocka_unit_test(run__failures__say_what_and_no_secret),
        cmocka_unit_test(run__no_such_command__install_hint),
        cmocka_unit_test(run__too_long__the_whole_group_is_killed),
        cmocka_unit_test(run__cancelled__ends_soon),
        cmocka_unit_test(parse__bad__is_refused_without_repeating_it),
        cmocka_unit_test(parse__certificate_and_unknown_keys__are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
