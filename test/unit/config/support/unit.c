#include "config/support/unit.h"

#include "base/compiler.h"
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
    strbuf_addf(&text, "apiVersion: fgpu.io/v1alpha1\nkind: FgpuConfiguration\n%s", body);
    if (config_parse(STR("f.yaml"), strbuf_view(&text), &unit_names, &c, &report, NULL) < 0) {
        fail_msg("refused:\n%s", report.p);
    }
    strbuf_fini(&text);
    strbuf_fini(&report);
    return c;
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
