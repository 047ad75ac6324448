/* The configuration in effect: references, status, what /configz says. */
#include "config/slot.h"
#include "config/support/unit.h"

#include <string.h>

#define AT_MS 1795161600123 /* 2026-11-20T08:00:00.123Z */

static struct config_slot *slot;

static int setup(void **state)
{
    slot = config_slot_new(unit_config("packing: {candidates: 1}\n"), "f.yaml", AT_MS);
    return 0;
}

static int teardown(void **state)
{
    config_slot_free(slot);
    return 0;
}

static void take__replaced_meanwhile__the_old_one_stays_valid(void **state)
{
    const struct config *held = config_slot_take(slot);
    struct config *next = unit_config("packing: {candidates: 2}\n");
    struct config_status status;

    next->generation = 2;
    config_slot_set(slot, next, AT_MS + 1000);
    assert_int_equal(held->policy.candidates, 1);
    config_free(held); /* under a sanitizer: not before, and now */
    held = config_slot_take(slot);
    assert_ptr_equal(held, next);
    config_free(held);
    config_slot_status(slot, &status);
    assert_int_equal(status.generation, 2);
    assert_int_equal(status.since_ms, AT_MS + 1000);
    assert_string_equal(status.hash, next->hash);
    assert_false(status.attempted);
}

static void expect_in_configz(const char *want)
{
    struct strbuf out;
    struct json_writer w;

    strbuf_init(&out, 1 << 20);
    json_writer_init(&w, &out);
    config_slot_write(slot, &w);
    if (strstr(out.p, want) == NULL) {
        fail_msg("no %s in %s", want, out.p);
    }
    strbuf_fini(&out);
}

static void write__each_outcome__said(void **state)
{
    struct config_attempt a = {
        .outcome = CONFIG_INVALID, .at_ms = AT_MS, .hash = "0011223344556677", .error = "f.yaml:4:3: no"};

    expect_in_configz("{\"componentconfig\":{\"apiVersion\":");
    expect_in_configz("\"file\":\"f.yaml\",");
    expect_in_configz("\"generation\":1,\"since\":\"2026-11-20T08:00:00.123Z\",\"lastError\":null,"
                      "\"lastReload\":null,\"origins\":{");
    expect_in_configz("\"packing.candidates\":\"f.yaml:3:11\"");
    expect_in_configz("\"packing.hold\":\"default\"");
    config_slot_record(slot, &a);
    expect_in_configz("\"lastError\":\"f.yaml:4:3: no\",\"lastReload\":{\"at\":\"2026-11-20T08:00:00.123Z\","
                      "\"outcome\":\"invalid\",\"hash\":\"0011223344556677\"},");
    a = (struct config_attempt){.outcome = CONFIG_NEEDS_RESTART, .restart_keys = "election"};
    config_slot_record(slot, &a);
    expect_in_configz("\"lastError\":null,");
    expect_in_configz("\"outcome\":\"needs_restart\",\"hash\":\"\",\"needsRestart\":\"election\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(take__replaced_meanwhile__the_old_one_stays_valid, setup, teardown),
        cmocka_unit_test_setup_teardown(write__each_outcome__said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
