/* What differs between two configurations, and what that takes. */
#include "config/diff.h"
#include "config/support/unit.h"

#include "base/bug.h"
#include "config/describe.h"
#include "config/schema_internal.h"

#include <stdio.h>
#include <string.h>

/* "key: before -> after (applies); ..." */
static void expect_diff(const char *before, const char *after, const char *want)
{
    struct config *a = unit_config(before), *b = unit_config(after);
    struct strbuf got;

    strbuf_init(&got, 1 << 16);
    unit_diff_text(a, b, true, &got);
    expect_text(strbuf_view(&got), want, after);
    strbuf_fini(&got);
    config_free(a);
    config_free(b);
}

static void diff__values__key_by_key(void **state)
{
    expect_diff("", "", "");
    expect_diff("packing: {hold: 60s}\n", "packing: {hold: 1m}\n", ""); /* meaning, not spelling */
    expect_diff("", "packing: {candidates: 7, hold: 0}\n",
                "packing.candidates: 100 -> 7 (at once); packing.hold: 3s -> 0s (at once)");
    expect_diff("", "devices: {memoryReserve: 1Gi, overcommit: {memory: 1.5}}\n",
                "devices.memoryReserve: 0 -> 1Gi (after a relist); "
                "devices.overcommit.memory: 1.0 -> 1.5 (after a relist)");
}

static void diff__lists__one_key_each(void **state)
{
    expect_diff("", "resources: {whole: []}\nsizes: {a: {milli: 5}}\n",
                "resources.whole: [\"nvidia.com/gpu\",\"nvidia.com/gpu.shared\"] -> [] (after a relist); "
                "sizes: {} -> {\"a\":{\"milli\":5}} (after a relist)");
    expect_diff("sizes: {a: {milli: 5}, b: {milli: 6}}\n", "sizes: {a: {milli: 5}, b: {milli: 6}}\n", "");
}

static void diff__long_list__is_cut_but_compared_whole(void **state)
{
    struct strbuf text;
    struct config_diff d;

    strbuf_init(&text, 1 << 20);
    strbuf_add_cstr(&text, "sizes:\n");
    for (int i = 0; i < 900; i++) {
        strbuf_addf(&text, "  size-%d: {milli: 5}\n", i);
    }
    struct config *a = unit_config(text.p);
    strbuf_add_cstr(&text, "  last: {milli: 5}\n");
    struct config *b = unit_config(text.p);
    config_diff(a, b, &d);
    assert_int_equal(d.n, 1);
    assert_true(d.changes[0].after.n < 1100);
    assert_true(str_ends(d.changes[0].after, STR("...")));
    config_diff_fini(&d);
    config_free(a);
    config_free(b);
    strbuf_fini(&text);
}

struct found {
    const char *key;
    enum config_reload reload;
    bool seen;
};

static void look_for(void *ctx, const struct schema_field *row, const char *key)
{
    struct found *f = ctx;

    if (strcmp(key, f->key) == 0) {
        f->seen = true;
        f->reload = row->reload;
    }
}

/* A key that decides how the running process is built must not look as if it could change. */
static void schema__what_needs_a_restart__says_so(void **state)
{
    static const char *const cold[] = {
        "serving.verbsAddress",
        "serving.opsAddress",
        "serving.healthAddress",
        "election",
        "limits.connections",
        "logging.format",
        "clientConnection.wakeObject",
        "signing.mode",
        "signing.privateKey",
        "signing.publicKeys",
        "resources.sliceDrivers",
        "apiVersion",
        "serving.metricsAddress",
        "clientConnection.runObject",
        "lease.object",
        "lease.schedulerHost",
        "lease.leaseDuration",
        "consistency",
        "clientConnection.intentObjects",
    };
    static const char *const relist[] = {"resources.compute",
                                         "resources.memory",
                                         "resources.count",
                                         "resources.whole",
                                         "sizes",
                                         "nodeTemplates",
                                         "devices.memoryReserve",
                                         "signing.acceptUnsignedBefore",
                                         "devices.maxSharers",
                                         "devices.memoryOnly",
                                         "devices.overcommit.compute",
                                         "devices.overcommit.memory",
                                         "devices.overrides"};

    for (size_t i = 0; i < ARRAY_LEN(cold); i++) {
        struct found f = {.key = cold[i]};
        schema_each_key(look_for, &f);
        assert_true(f.seen && f.reload == CONFIG_RELOAD_RESTART);
    }
    for (size_t i = 0; i < ARRAY_LEN(relist); i++) {
        struct found f = {.key = relist[i]};
        schema_each_key(look_for, &f);
        assert_true(f.seen && f.reload == CONFIG_RELOAD_RELIST);
    }
}

static void origins__file_flag_default__told_apart(void **state)
{
    struct config *c = unit_config("packing:\n  candidates: 5\nsizes:\n  a: {milli: 5}\nlogging:\n");
    struct strbuf out;
    static const struct {
        const char *key, *want;
    } rows[] = {{"packing.candidates", "f.yaml:4:3"},
                {"sizes", "f.yaml:5:1"},
                {"packing.hold", "default"},
                {"logging.verbosity", "flag -v"},
                {"apiVersion", "f.yaml:1:1"}};

    config_set_by_flag(c, "logging.verbosity", "-v");
    config_set_by_flag(c, "logging.verbosity", "-v");
    strbuf_init(&out, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&out);
        config_origin_text(c, str_of(rows[i].key), &out);
        expect_text(strbuf_view(&out), rows[i].want, rows[i].key);
    }
    strbuf_reset(&out);
    config_write_effective(c, &out);
    assert_non_null(strstr(out.p, "\npacking.candidates: 5  # f.yaml:4:3\n"));
    assert_non_null(strstr(out.p, "\nsizes: {\"a\":{\"milli\":5}}  # f.yaml:5:1\n"));
    strbuf_fini(&out);
    config_free(c);
}

static void yaml__written_and_read_back__same_configuration(void **state)
{
    static const char *const rows[] = {
        "",
        "resources: {compute: [], memory: [], count: [], whole: []}\n",
        ("sizes: {'on': {milli: 250, memory: 4Gi}, '1': {count: 2}}\n"
         "nodeTemplates:\n- {label: a=b, gpus: 2, memory: 80Gi, model: \"\\\"q\\\" # \\u00e9\"}\n"
         "- {label: x.com/a=, gpus: 1, memory: 1Mi}\n"),
        ("serving: {verbsAddress: '[::1]:0', opsAddress: 127.0.0.9:0, healthAddress: '[::]:7'}\n"
         "clientConnection: {wakeObject: '', runObject: ''}\ndevices: {overcommit: {memory: 1.125}}\n"),
        ("devices:\n  overrides:\n"
         "  - {nodeSelector: {pool: '1', a.b/c: x}, memoryReserve: 1Gi, overcommit: {compute: 1.5}}\n"
         "  - {nodeSelector: {d: ''}, maxSharers: 3}\n"
         "tenants:\n- {name: '1', namespaces: ['*', '0'], gpuShare: 0%, memory: 1Mi}\n"),
    };
    struct strbuf text;
    struct config_diff d;

    strbuf_init(&text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct config *a = unit_config(rows[i]), *b = NULL;
        struct err err;
        strbuf_reset(&text);
        config_write_yaml(a, &text);
        if (config_parse(STR("again"), strbuf_view(&text), &unit_names, &b, NULL, &err) != 0) {
            fail_msg("%s\n%s", err.msg, text.p);
        }
        config_diff(a, b, &d);
        assert_int_equal(d.n, 0);
        config_diff_fini(&d);
        config_free(a);
        config_free(b);
    }
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diff__values__key_by_key),
        cmocka_unit_test(diff__lists__one_key_each),
        cmocka_unit_test(diff__long_list__is_cut_but_compared_whole),
        cmocka_unit_test(schema__what_needs_a_restart__says_so),
        cmocka_unit_test(origins__file_flag_default__told_apart),
        cmocka_unit_test(yaml__written_and_read_back__same_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
