/* The catalog of fgpu-node, and samples beside a registry. */
#include "obs/node_catalog.h"
#include "obs/samples.h"
#include "support/cmocka.h"

#include <string.h>

enum { LINES_BUDGET = 150 }; /* of each node */

static void node_catalog__all_series__stay_within_the_budget(void **state)
{
    struct metrics *m = node_catalog_metrics_new();

    assert_in_range(metrics_max_lines(m), NODE_METRIC__MAX * 3, LINES_BUDGET);
    metrics_free(m);
}

static void node_catalog__fresh__has_its_names_and_process_figures(void **state)
{
    struct metrics *m = node_catalog_metrics_new();
    struct strbuf out;
    unsigned families = 0;

    strbuf_init(&out, 1 << 20);
    metrics_render(m, &out);
    assert_false(out.overflowed);
    assert_non_null(strstr(out.p, "\nfgpu_node_build_info{version=\"v"));
    assert_non_null(strstr(out.p, "\nprocess_resident_memory_bytes "));
    assert_null(strstr(out.p, "\nprocess_resident_memory_bytes 0\n"));
    assert_null(strstr(out.p, "\nprocess_start_time_seconds 0\n"));
    assert_non_null(strstr(out.p, "\nfgpu_node_usage_looks_total{result=\"failed\"} 0\n"));
    for (char *line = strtok(out.p, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# TYPE ", 7) == 0) {
            families++;
            assert_true(strncmp(line + 7, "fgpu_node_", 10) == 0 || strncmp(line + 7, "process_", 8) == 0);
        }
    }
    assert_int_equal(families, NODE_METRIC__MAX);
    strbuf_fini(&out);
    metrics_free(m);
}

static void samples__of_any_text__are_escaped(void **state)
{
    static const struct metric_def x = {
        .name = "fgpu_node_x_seconds", .help = "Of x.", .type = METRIC_GAUGE, .unit = METRIC_UNIT_MS};
    const struct samples_label labels[] = {{"pod", STR("a\"b\\c\nd")}, {"gpu", STR("GPU-a")}};
    struct strbuf out;

    strbuf_init(&out, 4096);
    samples_family(&out, &x);
    samples_add(&out, &x, labels, 2, 1500);
    samples_add(&out, &x, NULL, 0, 2000);
    assert_string_equal(out.p, "# HELP fgpu_node_x_seconds Of x.\n# TYPE fgpu_node_x_seconds gauge\n"
                               "fgpu_node_x_seconds{pod=\"a\\\"b\\\\c\\nd\",gpu=\"GPU-a\"} 1.5\n"
                               "fgpu_node_x_seconds 2\n");
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_catalog__all_series__stay_within_the_budget),
        cmocka_unit_test(node_catalog__fresh__has_its_names_and_process_figures),
        cmocka_unit_test(samples__of_any_text__are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
