/* bind believes no record of its node that nobody has verified: here nobody else verifies, as in the first moments
 * after a start. */
#include "base/strbuf.h"
#include "cmd/support/bind_fixture.h"
#include "extender/signing.h"
#include "support/cmocka.h"

static struct signing *signing;

static int start(void **state)
{
    assert_int_equal(signing_new_ephemeral(NULL, &signing, NULL), 0);
    bind_fixture_start(&(struct bind_fixture_options){.signing = signing});
    return 0;
}

static int end(void **state)
{
    bind_fixture_end();
    signing_free(signing);
    return 0;
}

/* Runs on node-00, has asked for the whole GPU, and carries a record of 100 milli with a signature that does not hold,
 * by a key that is known. */
static void create_forger(void)
{
    const struct sign_keyring *keys = signing_take(signing);
    struct strbuf json;

    strbuf_init(&json, 1U << 14);
    strbuf_addf(
        &json,
        "{\"metadata\":{\"name\":\"forger\",\"namespace\":\"ns\",\"uid\":\"forger\",\"annotations\":{"
        "\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"x\\\",\\\"containers\\\":[{\\\"name\\\":\\\"c\\\","
        "\\\"init\\\":false,\\\"devices\\\":[{\\\"uuid\\\":\\\"gpu-0-0\\\",\\\"index\\\":0,\\\"milli\\\":100,"
        "\\\"memMib\\\":1}]}],\\\"sig\\\":{\\\"key\\\":\\\"%s\\\",\\\"value\\\":\\\"",
        sign_keyring_private(keys)->public_.id);
    for (int i = 0; i < 85; i++) {
        strbuf_add_char(&json, 'A');
    }
    strbuf_add_cstr(&json,
                    "A==\\\"}}\"}},\"spec\":{\"nodeName\":\"node-00\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                    "\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"1000\"}}}]},"
                    "\"status\":{\"phase\":\"Running\"}}");
    sign_keyring_put(keys);
    assert_int_equal(apiserver_create(bind_fixture_api, APISERVER_PODS, json.p, NULL), 0);
    strbuf_fini(&json);
}

static void bind__forged_record_on_the_node__refuted_before_anything_is_sent(void **state)
{
    struct signing_stats stats;

    create_forger();
    bind_fixture_await_state("forger", LEDGER_BOUND); /* believed: nobody has looked */
    bind_fixture_create(&(struct bind_fixture_pod){.name = "a", .uid = "a", .milli = 500});
    bind_fixture_expect_error(bind_fixture_bind("a", "a", "node-00"), BIND_OUTCOME_NO_FIT, "");
    assert_int_equal(bind_fixture_posts(), 0);
    signing_stats(signing, &stats);
    assert_int_equal(stats.refuted_n, 1);
    bind_fixture_await_state("forger", LEDGER_FOREIGN);
    bind_fixture_delete("forger"); /* the checker at the end would not like its record either */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bind__forged_record_on_the_node__refuted_before_anything_is_sent, start, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
