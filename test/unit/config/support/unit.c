#include "config/support/unit.h"

#include "base/compiler.h"
#include "config/diff.h"
#include "config/kubeconfig.h"

#include <stdio.h>
#include <string.h>

static const struct str strategies[] = {{"binpack", 7}, {"spread", 6}, {"tight-fit", 9}, {"rsp", 3}};
const struct config_names unit_names = {strategies, ARRAY_LEN(strategies)};

void expect_text(struct str got, const char *want, const char *row)
{
    if (!str_eq_cstr(got, want)) {
        fail_msg("row '%s':\n--- got\n%.*s\n--- wanted\n%s", row != NULL ? row : "-", STR_ARG(got), want);
    }
}

struct config *unit_config(const char *body)
{
    struct config *c = NULL;
    struct strbuf text, report;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&report, 1 << 20);
    strbuf_addf(&text, UNIT_HEAD "%s", body);
    if (config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL) < 0) {
        fail_msg("refused:\n%s", report.p);
    }
    strbuf_fini(&text);
    strbuf_fini(&report);
    return c;
}

void expect_reports(const struct mistake *rows, size_t n)
{
    struct strbuf text, report;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&report, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        struct config *c = NULL;
        struct err err = {0};
        int rc;

        strbuf_reset(&text);
        strbuf_reset(&report);
        strbuf_addf(&text, UNIT_HEAD "%s", rows[i].text);
        rc = config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, &err);
        expect_text(strbuf_view(&report), rows[i].want, rows[i].name);
        assert_int_equal(rc, -ERR_INVALID);
        assert_null(c);
        assert_memory_equal(err.msg, rows[i].want, 11);
    }
    strbuf_fini(&text);
    strbuf_fini(&report);
}

void unit_diff_text(const struct config *before, const struct config *after, bool reloads, struct strbuf *ret)
{
    struct config_diff d;

    config_diff(before, after, &d);
    for (size_t i = 0; i < d.n; i++) {
        const struct config_change *c = &d.changes[i];

        strbuf_addf(ret, "%s%.*s: %.*s -> %.*s", i > 0 ? "; " : "", STR_ARG(c->key), STR_ARG(c->before),
                    STR_ARG(c->after));
        if (reloads) {
            strbuf_addf(ret, " (%s)", config_reload_text(c->reload));
        } else {
            assert_int_not_equal(c->reload, CONFIG_RELOAD_RESTART);
        }
    }
    config_diff_fini(&d);
}

void expect_kubeconfig_refused(struct str text, const char *context, const char *want, const char *row)
{
    struct credentials c = {0}, zero = {0};
    struct err err = {0};
    int rc = kubeconfig_parse("k", text, context, &c, &err);

    expect_text(str_of(err.msg), want, row);
    assert_int_equal(rc, -ERR_INVALID);
    assert_null(strstr(err.msg, "hush"));
    assert_memory_equal(&c, &zero, sizeof(c));
}

void unit_read(const char *path, struct strbuf *ret)
{
    FILE *f = fopen(path, "re");
    char buf[4096];
    size_t n;

    if (f == NULL) {
        fail_msg("cannot open %s", path);
        return;
    }
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
        strbuf_add(ret, buf, n);
    }
    assert_int_equal(ferror(f), 0);
    fclose(f);
}
