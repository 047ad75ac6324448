/* The catalog against the text format's rules, the naming rules and the cardinality budget. */
#include "base/compiler.h"
#include "obs/api_calls.h"
#include "obs/catalog.h"
#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One Prometheus stores a series per line and target; a scheduler add-on should stay a small
 * one. */
enum { LINES_BUDGET = 1800 }; /* 400 of them for 100 tenants, 400 for the time of each kind of call to the API server */

static struct strbuf rendered(struct metrics *m)
{
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    metrics_render(m, &out);
    assert_false(out.overflowed);
    return out;
}

static void catalog__all_series_used__stay_within_the_budget(void **state)
{
    struct metrics *m = catalog_metrics_new();
    assert_in_range(metrics_max_lines(m), FGPU_METRIC__MAX * 3, LINES_BUDGET);
    metrics_free(m);
}

/* Whatever else a process has asked: what somebody looks at first is the time of binds. */
static void catalog__each_kind_of_api_call__has_a_series_of_its_own(void **state)
{
    struct metrics *m = catalog_metrics_new();
    char line[160];

    for (size_t i = API_CALL_N; i-- > 0;) {
        const struct api_call c = api_call_at(i);

        assert_true(api_call_is_known(c.verb, c.resource));
        metric_observe(METRIC(m, FGPU_API_REQUEST_DURATION_SECONDS, c.verb, c.resource), 1000000);
    }
    assert_false(api_call_is_known("create", "pods"));
    struct strbuf out = rendered(m);
    for (size_t i = 0; i < API_CALL_N; i++) {
        const struct api_call c = api_call_at(i);

        snprintf(line, sizeof(line), "fgpu_api_request_duration_seconds_count{verb=\"%s\",resource=\"%s\"} 1\n", c.verb,
                 c.resource);
        assert_non_null(strstr(out.p, line));
    }
    strbuf_fini(&out);
    metrics_free(m);
}

static double number_after(const char *text, const char *series)
{
    const char *at = strstr(text, series);
    if (at == NULL) {
        fail_msg("no %s in the exposition", series);
        return 0;
    }
    return strtod(at + strlen(series), NULL);
}

static void catalog__fresh__has_process_figures_build_info_and_zeros(void **state)
{
    struct metrics *m = catalog_metrics_new();
    struct strbuf out = rendered(m);
    assert_true(number_after(out.p, "\nprocess_start_time_seconds ") > 1700000000.0);
    assert_true(number_after(out.p, "\nprocess_start_time_seconds ") < 4102444800.0);
    assert_true(number_after(out.p, "\nprocess_resident_memory_bytes ") > 100000.0);
    assert_true(number_after(out.p, "\nprocess_virtual_memory_bytes ") >=
                number_after(out.p, "\nprocess_resident_memory_bytes "));
    assert_true(number_after(out.p, "\nprocess_open_fds ") >= 3.0);
    assert_true(number_after(out.p, "\nprocess_max_fds ") >= number_after(out.p, "\nprocess_open_fds "));
    assert_true(number_after(out.p, "\nprocess_cpu_seconds_total ") >= 0.0);
    assert_non_null(strstr(out.p, "\nfgpu_build_info{version=\"v"));
    assert_non_null(strstr(out.p, "\nfgpu_ledger_pods{state=\"foreign\"} 0\n"));
    assert_non_null(strstr(out.p, "\nfgpu_gpu_milli{kind=\"charged\"} 0\n"));
    assert_non_null(strstr(out.p, "\nfgpu_invariant_violations_total 0\n"));
    assert_non_null(strstr(out.p, "\nfgpu_request_duration_seconds_bucket{verb=\"bind\",le=\"5.24288\"} 0\n"));
    strbuf_fini(&out);
    metrics_free(m);
}

/* `p` to the character behind a valid {k="v",...}; NULL when it is not valid. */
static const char *skip_labels(const char *p)
{
    if (*p != '{') {
        return p;
    }
    do {
        p++;
        const size_t key = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (key == 0 || p[key] != '=' || p[key + 1] != '"') {
            return NULL;
        }
        for (p += key + 2; *p != '"'; p++) {
            if (*p == '\n' || *p == '\0' || (*p == '\\' && strchr("\\\"n", *++p) == NULL)) {
                return NULL;
            }
        }
        p++;
    } while (*p == ',');
    return *p == '}' ? p + 1 : NULL;
}

static bool sample_is_valid(const char *line, const char *family)
{
    const size_t n = strlen(family);
    if (strncmp(line, family, n) != 0) {
        return false;
    }
    const size_t suffix = strcspn(line + n, "{ ");
    if (suffix != 0 && strncmp(line + n, "_bucket", suffix) != 0 && strncmp(line + n, "_sum", suffix) != 0 &&
        strncmp(line + n, "_count", suffix) != 0) {
        return false;
    }
    const char *p = skip_labels(line + n + suffix);
    if (p == NULL || *p != ' ') {
        return false;
    }
    char *end;
    strtod(p + 1, &end);
    return end > p + 1 && *end == '\0';
}

static void catalog__every_metric_in_use__exposition_is_well_formed(void **state)
{
    struct metrics *m = catalog_metrics_new();
    metric_inc(METRIC(m, FGPU_REQUESTS_TOTAL, "filter", "ok"));
    metric_inc(METRIC(m, FGPU_BIND_OUTCOMES_TOTAL, "unknown"));
    metric_inc(METRIC(m, FGPU_FILTER_VERDICTS_TOTAL, "fits"));
    metric_inc(METRIC(m, FGPU_API_REQUESTS_TOTAL, "POST", "pods/binding", "201"));
    metric_observe(METRIC(m, FGPU_API_REQUEST_DURATION_SECONDS, "POST", "pods/binding"), 1234567);
    metric_inc(METRIC(m, FGPU_WATCH_EVENTS_TOTAL, "pods", "MODIFIED"));
    metric_inc(METRIC(m, FGPU_RELISTS_TOTAL, "pods"));
    metric_inc(METRIC(m, FGPU_WATCH_RESTARTS_TOTAL, "pods"));
    metric_set(METRIC(m, FGPU_WATCH_LAST_CONTACT_SECONDS, "pods"), 1500);
    metric_inc(METRIC(m, FGPU_EVENTS_TOTAL, "GPUDeviceLost", "posted"));
    metric_inc(METRIC(m, FGPU_EVENTS_DROPPED_TOTAL, "queue_full"));
    metric_inc(METRIC(m, FGPU_OPS_AUTHORIZATIONS_TOTAL, "forbidden"));
    metric_inc(METRIC(m, FGPU_HTTP_REQUESTS_TOTAL, "verbs", "200"));
    metric_inc(METRIC(m, FGPU_AUDIT_DRIFT_TOTAL, "pod_gone"));
    metric_set(METRIC(m, FGPU_TENANT_MILLI, "team.a", "limit"), 400);
    metric_set(METRIC(m, FGPU_TENANT_MEMORY_BYTES, "team.a", "charged"), 1 << 20);
    metric_set(METRIC(m, FGPU_FRAGMENTATION_RATIO), 117);
    metric_set(METRIC(m, FGPU_MORE_FIT, "small"), 26);
    metric_inc(METRIC(m, FGPU_HTTP_CONNECTIONS_DROPPED_TOTAL, "verbs", "evicted"));
    metric_set(METRIC(m, FGPU_LOG_DROPPED_TOTAL), 5);
    struct strbuf out = rendered(m);
    assert_int_equal(out.p[out.n - 1], '\n');
    assert_non_null(strstr(out.p, "\nfgpu_fragmentation_ratio 0.117\n"));
    unsigned families = 0, samples = 0;
    char family[128] = "";
    for (char *line = strtok(out.p, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            const size_t n = strcspn(line + 7, " ");
            assert_true(n < sizeof(family));
            memcpy(family, line + 7, n);
            family[n] = '\0';
            assert_true(strncmp(family, "fgpu_", 5) == 0 || strncmp(family, "process_", 8) == 0);
            assert_true(strlen(line) > 7 + n + 1);
            families++;
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            assert_memory_equal(line + 7, family, strlen(family)); /* right behind its HELP */
        } else if (!sample_is_valid(line, family)) {
            fail_msg("%s: not a valid sample: %s", family, line);
        } else {
            samples++;
        }
    }
    assert_int_equal(families, FGPU_METRIC__MAX);
    assert_in_range(samples, 100, LINES_BUDGET);
    strbuf_fini(&out);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalog__each_kind_of_api_call__has_a_series_of_its_own),
        cmocka_unit_test(catalog__all_series_used__stay_within_the_budget),
        cmocka_unit_test(catalog__fresh__has_process_figures_build_info_and_zeros),
        cmocka_unit_test(catalog__every_metric_in_use__exposition_is_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
