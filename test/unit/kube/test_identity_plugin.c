/* The identity with an exec plugin: a shell script that writes down its runs. */
#include "kube/identity.h"

#include "support/temp_dir.h"

#include "base/compiler.h"
#include "base/str.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define V1 "client.authentication.k8s.io/v1"
#define S INT64_C(1000000000)
#define TRIES 6000 /* of 10 ms */

static struct fixture {
    struct temp_dir dir;
    char script[2048];
    char *args[3];
    struct credentials_exec exec;
    struct credentials creds;
    struct clock clock;
    _Atomic int64_t mono_ns, wall_ms; /* the plugin's thread reads them */
    struct identity *id;
    const struct proof *proof;
    struct err err;
} f;

static int64_t mono_ns(void *ctx)
{
    (void)ctx;
    return f.mono_ns;
}

static int64_t wall_ms(void *ctx)
{
    (void)ctx;
    return f.wall_ms;
}

/* Prints the file `answer`, fails when there is none; "%d" in it is the number of the run. */
static int setup(void **state)
{
    static char dash_c[] = "-c", sh[] = "/bin/sh", version[] = V1, info[] = "{}";
    memset(&f, 0, sizeof(f));
    temp_dir_init(&f.dir);
    snprintf(f.script, sizeof(f.script),
             "cd %s && echo x >>runs && cat gate 2>/dev/null; "
             "sed \"s/%%d/$(grep -c x runs)/\" answer",
             f.dir.path);
    temp_dir_write(&f.dir, "runs", "");
    f.args[0] = dash_c;
    f.args[1] = f.script;
    f.exec = (struct credentials_exec){.api_version = version, .command = sh, .args = f.args, .info = info};
    f.creds.exec = &f.exec;
    f.clock = (struct clock){.mono_ns = mono_ns, .wall_ms = wall_ms};
    f.mono_ns = 1000 * S;
    f.wall_ms = 0;
    return 0;
}

static int teardown(void **state)
{
    proof_unref(f.proof);
    identity_free(f.id);
    temp_dir_fini(&f.dir);
    return 0;
}

static void begin(void)
{
    const struct identity_options options = {.clock = &f.clock};
    assert_int_equal(identity_new(&f.creds, &options, &f.id, NULL), 0);
}

static void answer_is(const char *status)
{
    char text[512];
    snprintf(text, sizeof(text), "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":%s}", status);
    temp_dir_write(&f.dir, "answer", text);
}

static uint64_t runs(void)
{
    struct identity_stats stats;
    identity_stats(f.id, &stats);
    return stats.plugin_run_n;
}

/* Asks until the plugin is not at work. */
static int get(void)
{
    int rc = -ERR_UNAVAILABLE;
    for (unsigned i = 0; i < TRIES && rc == -ERR_UNAVAILABLE; i++) {
        proof_unref(f.proof);
        f.proof = NULL;
        rc = identity_get(f.id, &f.proof, &f.err);
        if (rc == -ERR_UNAVAILABLE) {
            usleep(10000);
        }
    }
    return rc;
}

static void expect_token(const char *token)
{
    char line[256];
    snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
    if (get() != 0) {
        fail_msg("%s", f.err.msg);
    }
    assert_string_equal(f.proof->authorization, line);
}

/* The clock of the test stands still: the thread sleeps in real time, so it is woken by a want or
 * looks again by itself. */
static void pass_s(int64_t s)
{
    f.mono_ns += s * S;
    f.wall_ms += s * 1000;
}

static void answered(int status)
{
    int64_t begun_ns = f.mono_ns;
    f.mono_ns++;
    identity_answered(f.id, f.proof, begun_ns, status);
    f.mono_ns++;
}

static const char *trouble(void)
{
    struct identity_stats stats;
    identity_stats(f.id, &stats);
    return stats.trouble;
}

static void get__first_use__waits_for_the_plugin_and_runs_it_once(void **state)
{
    answer_is("{\"token\":\"t-%d\"}");
    begin();
    expect_token("t-1");
    pass_s(100000);
    expect_token("t-1"); /* it said nothing of an end */
    assert_int_equal(runs(), 1);
    assert_null(trouble());
}

static void get__expired__runs_again(void **state)
{
    answer_is("{\"token\":\"t-%d\",\"expirationTimestamp\":\"1970-01-01T00:01:00Z\"}");
    begin();
    expect_token("t-1");
    answer_is("{\"token\":\"t-%d\",\"expirationTimestamp\":\"1970-01-01T00:10:00Z\"}");
    pass_s(61);
    expect_token("t-2");
    assert_int_equal(runs(), 2);
}

static void answered__401__runs_again_and_tries_at_once(void **state)
{
    answer_is("{\"token\":\"t-%d\"}");
    begin();
    expect_token("t-1");
    pass_s(10);
    answered(401);
    assert_true(identity_has_more(f.id, f.proof));
    expect_token("t-2");
    answered(200);
    assert_int_equal(runs(), 2);
    assert_null(trouble());
}

/* Every answer is new and every answer is rejected: neither plugin nor server is hammered. */
static void answered__401_to_every_answer__pauses(void **state)
{
    answer_is("{\"token\":\"t-%d\"}");
    begin();
    expect_token("t-1");
    pass_s(10);
    answered(401);
    expect_token("t-2");
    answered(401);
    assert_false(identity_has_more(f.id, f.proof));
    assert_int_equal(get(), -ERR_DENIED);
    assert_string_equal(trouble(), "the API server rejects the credentials of fgpu (401)");
    for (uint64_t i = 0; i < 3; i++) {
        pass_s(40);
        assert_int_equal(get(), 0);
        answered(401);
        assert_int_equal(get(), -ERR_DENIED);
        assert_true(runs() <= 3 + i);
    }
}

static void get__plugin_fails__says_why_then_tries_again(void **state)
{
    begin(); /* no answer */
    assert_int_equal(get(), -ERR_DENIED);
    assert_non_null(strstr(f.err.msg, "exec plugin /bin/sh: ended with exit code"));
    assert_string_equal(trouble(), "the exec plugin gives no credentials");
    assert_int_equal(get(), -ERR_DENIED);
    assert_int_equal(runs(), 1);
    answer_is("{\"token\":\"t-%d\"}");
    pass_s(3);
    expect_token("t-2");
    assert_null(trouble());
}

static void get__renewal_fails__the_old_answer_is_used_to_its_end(void **state)
{
    answer_is("{\"token\":\"t-%d\",\"expirationTimestamp\":\"1970-01-01T00:10:00Z\"}");
    begin();
    expect_token("t-1");
    temp_dir_remove(&f.dir, "answer");
    pass_s(599);
    expect_token("t-1");
    assert_null(trouble());
    pass_s(2);
    assert_int_equal(get(), -ERR_DENIED);
    assert_string_equal(trouble(), "the exec plugin gives no credentials");
}

static void get__token_that_breaks_the_header__is_refused(void **state)
{
    answer_is("{\"token\":\"a\\\\r\\\\nX-Evil: 1\"}");
    begin();
    assert_int_equal(get(), -ERR_DENIED);
    assert_non_null(strstr(f.err.msg, "not a bearer token"));
    assert_null(strstr(f.err.msg, "Evil"));
}

static void get__certificate__becomes_files(void **state)
{
    char text[64] = "";
    answer_is("{\"clientCertificateData\":\"-----BEGIN C\",\"clientKeyData\":\"-----BEGIN K\"}");
    begin();
    assert_int_equal(get(), 0);
    assert_null(f.proof->authorization);
    FILE *file = fopen(f.proof->key_path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "-----BEGIN K");
    assert_non_null(f.proof->cert_path);
}

static void free__plugin_at_work__ends_it(void **state)
{
    char command[512];
    snprintf(command, sizeof(command), "mkfifo %s/gate", f.dir.path); /* nobody writes to it */
    assert_int_equal(system(command), 0);
    begin();
    assert_int_equal(identity_get(f.id, &f.proof, &f.err), -ERR_UNAVAILABLE);
    identity_free(f.id);
    f.id = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(get__first_use__waits_for_the_plugin_and_runs_it_once),
        TEST(get__expired__runs_again),
        TEST(answered__401__runs_again_and_tries_at_once),
        TEST(answered__401_to_every_answer__pauses),
        TEST(get__plugin_fails__says_why_then_tries_again),
        TEST(get__renewal_fails__the_old_answer_is_used_to_its_end),
        TEST(get__token_that_breaks_the_header__is_refused),
        TEST(get__certificate__becomes_files),
        TEST(free__plugin_at_work__ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
