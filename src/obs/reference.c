#include "obs/reference.h"

#include "obs/metrics_internal.h"
#include "obs/node_catalog.h"
#include "obs/reference_internal.h"

#include "base/compiler.h"

#include <string.h>

static bool has_part(const struct metric_def *d, const char *part)
{
    return strstr(d->name, part) != NULL;
}

/* Names have their unit last (before _total), so the name says it. */
static const char *unit_of(const struct metric_def *d)
{
    static const struct {
        const char *part, *unit;
    } units[] = {
        {"_timestamp_seconds", "seconds since 1970"},
        {"_seconds", "seconds"},
        {"_bytes", "bytes"},
        {"_ratio", "part of 1"},
        {"_milli", "thousandths of a GPU"},
    };

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (has_part(d, units[i].part)) {
            return units[i].unit;
        }
    }
    return "";
}

static void add_label(const struct metric_label *l, struct strbuf *out)
{
    strbuf_addf(out, "`%s`: ", l->key);
    for (size_t i = 0; l->values != NULL && l->values[i] != NULL; i++) {
        strbuf_addf(out, "%s%s", i > 0 ? ", " : "", l->values[i]);
    }
    strbuf_add_cstr(out, l->values == NULL ? l->about : "");
}

static void add_row(const struct metric_def *d, struct strbuf *out)
{
    const char *unit = unit_of(d);

    strbuf_addf(out, "| `%s` | %s%s%s | ", d->name, metric_type_name(d->type), unit[0] != '\0' ? ", " : "", unit);
    for (size_t i = 0; i < METRIC_LABELS_MAX && d->labels[i].key != NULL; i++) {
        strbuf_add_cstr(out, i > 0 ? "; " : "");
        add_label(&d->labels[i], out);
    }
    strbuf_addf(out, " | %s | %s |\n", d->help, d->worry != NULL ? d->worry : "");
}

static void add_table(const struct metric_def *defs, size_t n, struct strbuf *out)
{
    strbuf_add_cstr(out, "| metric | type, unit | labels | meaning | when to worry |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        add_row(&defs[i], out);
    }
}

void metrics_reference(struct strbuf *out)
{
    const struct metric_def *defs;
    size_t n;

    strbuf_add_cstr(out,
                    "# Metrics\n\n"
                    "This page is printed by `fgpu metrics-reference`; do not edit it. Labels have bounded numbers of "
                    "values: what is\nbeyond the bound is counted under `other`. A histogram NAME has the series "
                    "NAME_bucket, NAME_sum and NAME_count.\n\n"
                    "## fgpu\n\nOn the ops listener of `fgpu serve`, `/metrics`.\n\n");
    defs = catalog_defs(&n);
    add_table(defs, n, out);
    strbuf_add_cstr(out, "\n## fgpu-node\n\nOn the ops listener of the agent, `/metrics`.\n\n");
    defs = node_catalog_defs(&n);
    add_table(defs, n, out);
    strbuf_add_cstr(out, "\nOf each GPU and MIG instance of the node:\n\n");
    add_table(node_gpu_families, NODE_GPU_FAMILY__MAX, out);
    strbuf_add_cstr(out, "\nOf each container that holds a GPU, while it does:\n\n");
    add_table(node_container_families, NODE_CONTAINER_FAMILY__MAX, out);
}
