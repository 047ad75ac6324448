#include "obs/health.h"
#include "support/cmocka.h"

#include <string.h>

static const char *probe(void *ctx)
{
    const char *const *reason = ctx;
    return *reason;
}

static const char *sync_reason, *shutdown_reason, *loop_reason;

static void init(struct health *h)
{
    sync_reason = shutdown_reason = loop_reason = NULL;
    health_init(h);
    health_add(h, &(struct health_check){"loop", probe, &loop_reason, HEALTH_LIVEZ | HEALTH_HEALTHZ});
    health_add(h, &(struct health_check){"cache-synced", probe, &sync_reason, HEALTH_READYZ});
    health_add(h, &(struct health_check){"shutdown", probe, &shutdown_reason, HEALTH_READYZ | HEALTH_HEALTHZ});
}

#define MISSES "warn: some health checks cannot be excluded: no matches for "

static void health__bodies__are_those_of_kubernetes(void **state)
{
    const struct {
        const char *name;
        enum health_endpoint endpoint;
        bool synced, stopping, verbose;
        struct str exclude[4];
        size_t exclude_n;
        int status;
        const char *body;
    } rows[] = {
        {.name = "healthy", .endpoint = HEALTH_READYZ, .synced = true, .status = 200, .body = "ok"},
        {.name = "verbose",
         .endpoint = HEALTH_READYZ,
         .synced = true,
         .verbose = true,
         .status = 200,
         .body = "[+]cache-synced ok\n[+]shutdown ok\nreadyz check passed\n"},
        {.name = "failing is verbose",
         .endpoint = HEALTH_READYZ,
         .status = 500,
         .body = "[-]cache-synced failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n"},
        {.name = "both fail",
         .endpoint = HEALTH_READYZ,
         .stopping = true,
         .verbose = true,
         .status = 500,
         .body = "[-]cache-synced failed: reason withheld\n[-]shutdown failed: reason withheld\n"
                 "readyz check failed\n"},
        {.name = "livez is not readyz",
         .endpoint = HEALTH_LIVEZ,
         .stopping = true,
         .verbose = true,
         .status = 200,
         .body = "[+]loop ok\nlivez check passed\n"},
        {.name = "healthz",
         .endpoint = HEALTH_HEALTHZ,
         .verbose = true,
         .status = 200,
         .body = "[+]loop ok\n[+]shutdown ok\nhealthz check passed\n"},
        {.name = "excluded",
         .endpoint = HEALTH_READYZ,
         .verbose = true,
         .exclude = {STR("cache-synced")},
         .exclude_n = 1,
         .status = 200,
         .body = "[+]cache-synced excluded: ok\n[+]shutdown ok\nreadyz check passed\n"},
        {.name = "excluded, brief",
         .endpoint = HEALTH_READYZ,
         .exclude = {STR("cache-synced"), STR("cache-synced")},
         .exclude_n = 2,
         .status = 200,
         .body = "ok"},
        {.name = "excluded twice, the other fails",
         .endpoint = HEALTH_READYZ,
         .stopping = true,
         .exclude = {STR("cache-synced"), STR("cache-synced")},
         .exclude_n = 2,
         .status = 500,
         .body = "[+]cache-synced excluded: ok\n[-]shutdown failed: reason withheld\n"
                 "readyz check failed\n"},
        {.name = "unknown",
         .endpoint = HEALTH_READYZ,
         .synced = true,
         .verbose = true,
         .exclude = {STR("x")},
         .exclude_n = 1,
         .status = 200,
         .body = "[+]cache-synced ok\n[+]shutdown ok\n" MISSES "\"x\"\nreadyz check passed\n"},
        {.name = "unknown, brief",
         .endpoint = HEALTH_READYZ,
         .synced = true,
         .exclude = {STR("x")},
         .exclude_n = 1,
         .status = 200,
         .body = "ok"},
        {.name = "of another endpoint",
         .endpoint = HEALTH_LIVEZ,
         .verbose = true,
         .exclude = {STR("shutdown")},
         .exclude_n = 1,
         .status = 200,
         .body = "[+]loop ok\n" MISSES "\"shutdown\"\nlivez check passed\n"},
        {.name = "several unknown, sorted, once",
         .endpoint = HEALTH_READYZ,
         .synced = true,
         .verbose = true,
         .exclude = {STR("z"), STR(""), STR("a\n\""), STR("z")},
         .exclude_n = 4,
         .status = 200,
         .body = "[+]cache-synced ok\n[+]shutdown ok\n" MISSES "\"\",\"a\\n\\\"\",\"z\"\n"
                 "readyz check passed\n"},
        {.name = "null view",
         .endpoint = HEALTH_LIVEZ,
         .verbose = true,
         .exclude = {STR_NULL},
         .exclude_n = 1,
         .status = 200,
         .body = "[+]loop ok\n" MISSES "\"\"\nlivez check passed\n"},
    };
    struct health h;
    init(&h);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sync_reason = rows[i].synced ? NULL : "first list not complete";
        shutdown_reason = rows[i].stopping ? "stopping" : NULL;
        const struct health_query query = {
            .verbose = rows[i].verbose, .exclude = rows[i].exclude, .exclude_n = rows[i].exclude_n};
        struct strbuf out;
        strbuf_init(&out, 4096);
        const int status = health_render(&h, rows[i].endpoint, &query, &out);
        if (status != rows[i].status || strcmp(out.p, rows[i].body) != 0) {
            fail_msg("%s: %d %s", rows[i].name, status, out.p);
        }
        strbuf_fini(&out);
    }
}

static void health__single_check__tells_its_reason(void **state)
{
    struct health h;
    init(&h);
    sync_reason = "first list not complete";
    struct strbuf out;
    strbuf_init(&out, 4096);
    assert_int_equal(health_render_check(&h, HEALTH_READYZ, STR("shutdown"), &out), 200);
    assert_string_equal(out.p, "ok");
    strbuf_reset(&out);
    assert_int_equal(health_render_check(&h, HEALTH_READYZ, STR("cache-synced"), &out), 500);
    assert_string_equal(out.p, "internal server error: first list not complete\n");
    strbuf_reset(&out);
    assert_int_equal(health_render_check(&h, HEALTH_LIVEZ, STR("cache-synced"), &out), 404);
    strbuf_fini(&out);
}

static void health__no_checks__healthy(void **state)
{
    struct health h;
    health_init(&h);
    struct strbuf out;
    strbuf_init(&out, 4096);
    assert_int_equal(health_render(&h, HEALTH_LIVEZ, &(struct health_query){.verbose = true}, &out), 200);
    assert_string_equal(out.p, "livez check passed\n");
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health__bodies__are_those_of_kubernetes),
        cmocka_unit_test(health__single_check__tells_its_reason),
        cmocka_unit_test(health__no_checks__healthy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
