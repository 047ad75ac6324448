/* What time windows put over the file, and what of it is refused. */
#include "config/support/unit.h"

#include "base/compiler.h"
#include "config/describe.h"
#include "config/diff.h"
#include "config/schema_internal.h"

#include <string.h>

#define WHEN "from: 20:00, to: 08:00, timeZone: UTC"

/* What differs from the file while these are open: "key: before -> after; ...". */
static void expect_at(const char *body, uint32_t open, const char *want)
{
    struct config *file = unit_config(body), *at = config_at(file, open);
    struct strbuf got;

    strbuf_init(&got, 1 << 16);
    unit_diff_text(file, at, false, &got);
    expect_text(strbuf_view(&got), want, body);
    assert_string_equal(at->hash, file->hash);
    strbuf_fini(&got);
    config_free(file); /* what was made of it keeps it alive */
    expect_text(at->timetable.windows[0].name, "a", NULL);
    config_free(at);
}

static void window__open__its_values_hold_and_no_others(void **state)
{
    static const char body[] = "packing: {nodeStrategy: spread, candidates: 7}\n"
                               "timeWindows:\n"
                               "- {name: a, " WHEN ", packing: {nodeStrategy: binpack, hold: 1s}}\n"
                               "- {name: b, " WHEN ", devices: {memoryOnly: free, memoryReserve: 1Gi}}\n";

    expect_at(body, 0, "");
    expect_at(body, 1, "packing.nodeStrategy: spread -> binpack; packing.hold: 3s -> 1s");
    expect_at(body, 2, "devices.memoryReserve: 0 -> 1Gi; devices.memoryOnly: share -> free");
    expect_at(body, 3,
              "devices.memoryReserve: 0 -> 1Gi; devices.memoryOnly: share -> free; "
              "packing.nodeStrategy: spread -> binpack; packing.hold: 3s -> 1s");
}

static void window__chain_and_rules__take_the_place_of_the_files(void **state)
{
    static const char body[] =
        "packing: {nodeStrategy: [spread, tight-fit], rules: [{namespaces: [a], nodeStrategy: spread}]}\n"
        "timeWindows:\n"
        "- {name: a, " WHEN ", packing: {nodeStrategy: {binpack: 1, spread: 2.5}}}\n"
        "- {name: b, " WHEN ", packing: {nodeStrategy: binpack, rules: []}}\n";

    expect_at(body, 1, "packing.nodeStrategy: [spread, tight-fit] -> {binpack: 1.0, spread: 2.5}");
    expect_at(body, 2,
              "packing.nodeStrategy: [spread, tight-fit] -> binpack; "
              "packing.rules: [{\"namespaces\":[\"a\"],\"nodeStrategy\":\"spread\"}] -> []");
}

static void windows__two_open_that_differ__the_later_one_key_by_key(void **state)
{
    static const char body[] = "timeWindows:\n"
                               "- {name: a, " WHEN ", packing: {candidates: 1, hold: 1s}}\n"
                               "- {name: b, " WHEN ", packing: {candidates: 2, nodeStrategy: spread}}\n";

    expect_at(body, 3,
              "packing.nodeStrategy: rsp -> spread; packing.candidates: 100 -> 2; "
              "packing.hold: 3s -> 1s");
}

static void windows__sizes__replaced_and_added_by_name(void **state)
{
    static const char body[] = "sizes: {s: {milli: 100}, m: {milli: 200, memory: 1Gi}}\n"
                               "timeWindows:\n"
                               "- {name: a, " WHEN ", sizes: {m: {milli: 300}, l: {count: 2}}}\n"
                               "- {name: b, " WHEN ", sizes: {l: {count: 3}}}\n";
#define FILE_SIZES "sizes: {\"s\":{\"milli\":100},\"m\":{\"milli\":200,\"memory\":\"1Gi\"}} -> "

    expect_at(body, 1, FILE_SIZES "{\"s\":{\"milli\":100},\"m\":{\"milli\":300},\"l\":{\"count\":2}}");
    expect_at(body, 2,
              FILE_SIZES "{\"s\":{\"milli\":100},\"m\":{\"milli\":200,\"memory\":\"1Gi\"},\"l\":{\"count\":3}}");
    expect_at(body, 3, FILE_SIZES "{\"s\":{\"milli\":100},\"m\":{\"milli\":300},\"l\":{\"count\":3}}");
}

static void windows__node_pools__come_behind_the_files(void **state)
{
    static const char body[] = "nodePools: [{nodeSelector: {p: x}, state: closed}]\n"
                               "timeWindows: [{name: a, " WHEN ", nodePools: [{nodeSelector: {p: x}, state: open}]}]\n";

    expect_at(body, 1,
              "nodePools: [{\"nodeSelector\":{\"p\":\"x\"},\"state\":\"closed\"}] -> "
              "[{\"nodeSelector\":{\"p\":\"x\"},\"state\":\"closed\"},"
              "{\"nodeSelector\":{\"p\":\"x\"},\"state\":\"open\"}]");
}

static void config_at__of_one_made_for_other_windows__starts_from_the_file(void **state)
{
    struct config *file = unit_config("timeWindows:\n- {name: a, " WHEN ", packing: {candidates: 1}}\n"
                                      "- {name: b, " WHEN ", packing: {hold: 1s}}\n");
    struct config *first = config_at(file, 1), *second = config_at(first, 2), *third = config_at(second, 0);

    config_free(file);
    config_free(first);
    assert_int_equal(second->policy.candidates, 100);
    assert_int_equal(second->policy.tentative_ms, 1000);
    assert_int_equal(third->policy.tentative_ms, 3000);
    assert_int_equal(second->open, 2);
    config_free(second);
    config_free(third);
}

static void config_at__places__those_of_the_window(void **state)
{
    struct config *file =
        unit_config("packing:\n  candidates: 7\n  hold: 2s\ntimeWindows:\n- name: a\n  from: 20:00\n"
                    "  to: 08:00\n  timeZone: UTC\n  packing:\n    hold: 1s\n    nodeStrategy: spread\n");
    struct config *at = config_at(file, 1);
    static const char *const rows[][2] = {{"packing.candidates", "f.yaml:4:3"},
                                          {"packing.hold", "f.yaml:12:5"},
                                          {"packing.nodeStrategy", "f.yaml:13:5"},
                                          {"packing.deviceStrategy", "default"}};
    struct strbuf text;

    strbuf_init(&text, 1024);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&text);
        config_origin_text(at, str_of(rows[i][0]), &text);
        expect_text(strbuf_view(&text), rows[i][1], rows[i][0]);
    }
    strbuf_fini(&text);
    config_free(file);
    config_free(at);
}

static void windows__times__as_told(void **state)
{
    struct config *c = unit_config("timeWindows:\n"
                                   "- {name: a, days: [mon-fri], from: '20:00', to: '08:00', timeZone: Europe/Berlin}\n"
                                   "- {name: b, days: [fri-mon, wed], from: 00:00, to: 00:00, timeZone: UTC}\n"
                                   "- {name: c, from: 23:59, to: 24:00, timeZone: UTC}\n");
    const struct time_window *w = c->timetable.windows;

    assert_int_equal(c->timetable.window_n, 3);
    assert_int_equal(w[0].days, 0x1f);
    assert_int_equal(w[0].from_min, 1200);
    assert_int_equal(w[0].to_min, 480);
    expect_text(w[0].zone->name, "Europe/Berlin", NULL);
    assert_true(w[0].zone->transition_n > 300); /* until 2199 */
    assert_int_equal(w[1].days, 0x75);
    assert_int_equal(w[1].to_min, 1440);
    assert_int_equal(w[2].days, WEEKDAYS_ALL);
    assert_int_equal(w[2].from_min, 1439);
    assert_int_equal(w[2].to_min, 1440);
    assert_int_equal(c->window_notice_ms, 600000);
    config_free(c);
}

static void windows__mistakes__each_with_its_place(void **state)
{
    static const struct {
        const char *body, *want;
    } rows[] = {
        {"{name: a, " WHEN ", packing: {candidtes: 1}}",
         "f.yaml:4:60: unknown key 'candidtes' in timeWindows[0].packing; did you mean "
         "'candidates'?"},
        {"{name: a, " WHEN ", packing: {candidates: -1}}", "timeWindows[0].packing.candidates: -1 is out of range"},
        {"{name: a, " WHEN ", sizes: {x: {milli: 1500}}}", "timeWindows[0].sizes.x.milli: 1500 milli is neither"},
        {"{name: a, " WHEN ", serving: {}}", "unknown key 'serving' in timeWindows[0]; it belongs at the top level"},
        {"{name: a, " WHEN ", nodePools: [{nodeSelector: {}, state: open}]}",
         "timeWindows[0].nodePools[0].nodeSelector: nothing in it"},
        {"{name: a, " WHEN ", nodePools: [{nodeSelector: {-x: y}, state: open}]}", "the label key is not valid"},
        {"{name: a, " WHEN ", nodePools: [{nodeSelector: {x: y}, state: ajar}]}", "'ajar' is not one of: open, closed"},
        {"{name: a, " WHEN ", nodePools: [{nodeSelector: {x: y}, state: open, command: [x]}]}",
         "timeWindows[0].nodePools[0]: a command needs the 'name' of the pool beside it"},
        {"{name: a, from: 20.00, to: 08:00, timeZone: UTC}",
         "timeWindows[0].from: '20.00' is not a time such as 20:00"},
        {"{name: a, from: 24:00, to: 08:00, timeZone: UTC}", "timeWindows[0].from: '24:00' is not"},
        {"{name: a, from: 20:00, to: 24:01, timeZone: UTC}", "timeWindows[0].to: '24:01' is not"},
        {"{name: a, from: 8:00, to: 10:00, timeZone: UTC}", "timeWindows[0].from: '8:00' is not"},
        {"{name: a, days: [mo], " WHEN "}", "timeWindows[0].days[0]: 'mo' is not a day or days such as sat or mon-fri"},
        {"{name: a, days: [mon-], " WHEN "}", "'mon-' is not a day"},
        {"{name: a, days: [], " WHEN "}", "no days; leave the key out for every day"},
        {"{name: a, from: 20:00, to: 08:00, timeZone: Europe/Berln}",
         "timeWindows[0].timeZone: 'Europe/Berln': no time zone of this name in "
         "/usr/share/zoneinfo"},
        {"{name: a, from: 20:00, to: 08:00}", "timeWindows[0]: 'timeZone' is missing"},
        {"{name: a, " WHEN "}, {name: a, " WHEN "}", "timeWindows: element 1 has the same name as element 0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config *c = NULL;
        struct strbuf text, report;

        strbuf_init(&text, 1 << 16);
        strbuf_init(&report, 1 << 16);
        strbuf_addf(&text, "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\ntimeWindows: [\n%s]\n",
                    rows[i].body);
        assert_int_not_equal(config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL), 0);
        if (strstr(report.p, rows[i].want) == NULL) {
            fail_msg("row %zu: %s", i, report.p);
        }
        strbuf_fini(&text);
        strbuf_fini(&report);
    }
}

static void refuse_cold(void *ctx, const struct schema_field *row, const char *key)
{
    static const char *const sections[] = {"sizes", "devices", "packing", "tenants", "nodePools"};
    unsigned *n = ctx;

    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        size_t len = strlen(sections[i]);

        if (strncmp(key, sections[i], len) == 0 && (key[len] == '.' || key[len] == '\0')) {
            (*n)++;
            if (row->reload == CONFIG_RELOAD_RESTART) {
                fail_msg("%s needs a restart, but a time window may say it", key);
            }
        }
    }
}

/* The reader relies on it: a new key in one of these sections needs its `reload` column. */
static void windows__keys_that_they_may_say__none_needs_a_restart(void **state)
{
    unsigned n = 0;

    schema_each_key(refuse_cold, &n);
    assert_true(n >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window__open__its_values_hold_and_no_others),
        cmocka_unit_test(window__chain_and_rules__take_the_place_of_the_files),
        cmocka_unit_test(windows__two_open_that_differ__the_later_one_key_by_key),
        cmocka_unit_test(windows__sizes__replaced_and_added_by_name),
        cmocka_unit_test(windows__node_pools__come_behind_the_files),
        cmocka_unit_test(config_at__of_one_made_for_other_windows__starts_from_the_file),
        cmocka_unit_test(config_at__places__those_of_the_window),
        cmocka_unit_test(windows__times__as_told),
        cmocka_unit_test(windows__keys_that_they_may_say__none_needs_a_restart),
        cmocka_unit_test(windows__mistakes__each_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
