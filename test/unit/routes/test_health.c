/* Probes as kubelet sends them: status, body and headers of Kubernetes components. */
#include "httpd/support/fixture.h"
#include "routes/health.h"

#include <stdio.h>

struct probes {
    struct health health;
    struct health_handlers handlers, known_handlers;
    struct httpd_route routes[HEALTH_ROUTES], known_routes[HEALTH_ROUTES];
    struct fixture server, known_callers;
    const char *api, *ledger; /* NULL: healthy */
};

static const char *probe_ping(void *ctx)
{
    (void)ctx;
    return NULL;
}

static const char *probe_api(void *ctx)
{
    const struct probes *p = ctx;

    return p->api;
}

static const char *probe_ledger(void *ctx)
{
    const struct probes *p = ctx;

    return p->ledger;
}

static int set_up(void **state)
{
    static struct probes p;

    memset(&p, 0, sizeof(p));
    health_init(&p.health);
    health_add(&p.health,
               &(struct health_check){"ping", probe_ping, NULL, HEALTH_LIVEZ | HEALTH_READYZ | HEALTH_HEALTHZ});
    health_add(&p.health, &(struct health_check){"ledger-sync", probe_ledger, &p, HEALTH_READYZ | HEALTH_HEALTHZ});
    health_add(&p.health, &(struct health_check){"api-server", probe_api, &p, HEALTH_READYZ});
    health_routes(&p.handlers, &p.health, false, p.routes);
    health_routes(&p.known_handlers, &p.health, true, p.known_routes);
    fixture_start(&p.server, NULL, p.routes, HEALTH_ROUTES);
    fixture_start(&p.known_callers, NULL, p.known_routes, HEALTH_ROUTES);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    struct probes *p = *state;

    fixture_stop(&p->server);
    fixture_stop(&p->known_callers);
    return 0;
}

struct row {
    const char *path;
    int status;
    const char *body;
};

static void assert_rows(const struct probes *p, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct reply r;

        get_once(p->server.port, rows[i].path, &r);
        if (r.status != rows[i].status || strcmp(r.body, rows[i].body) != 0) {
            fail_msg("%s: %d \"%s\"", rows[i].path, r.status, r.body);
        }
        assert_true(reply_has(&r, "Content-Type: text/plain; charset=utf-8"));
        assert_true(reply_has(&r, "X-Content-Type-Options: nosniff"));
        assert_true(reply_has(&r, "Cache-Control: no-cache, private"));
        reply_fini(&r);
    }
}

static void probes__all_healthy__ok(void **state)
{
    static const struct row rows[] = {
        {"/livez", 200, "ok"},
        {"/readyz", 200, "ok"},
        {"/healthz", 200, "ok"},
        {"/readyz?timeout=5s", 200, "ok"},
        {"/livez?verbose", 200, "[+]ping ok\nlivez check passed\n"},
        {"/readyz?verbose", 200, "[+]ping ok\n[+]ledger-sync ok\n[+]api-server ok\nreadyz check passed\n"},
        {"/readyz?verbose&exclude=ping&exclude=api-server", 200,
         "[+]ping excluded: ok\n[+]ledger-sync ok\n[+]api-server excluded: ok\nreadyz check "
         "passed\n"},
        {"/readyz?verbose=true&exclude=x", 200,
         "[+]ping ok\n[+]ledger-sync ok\n[+]api-server ok\n"
         "warn: some health checks cannot be excluded: no matches for \"x\"\nreadyz check "
         "passed\n"},
        {"/readyz/ledger-sync", 200, "ok"},
        {"/healthz/ledger%2Dsync", 200, "ok"},
        {"/livez/ledger-sync", 404, "no such check"},
        {"/readyz/", 404, "no such check"},
        {"/readyz/ping/x", 404, "no such check"},
    };

    assert_rows(*state, rows, ARRAY_LEN(rows));
}

/* The API server is away: not ready, but alive. */
static void probes__api_server_away__not_ready_and_alive(void **state)
{
    static const struct row rows[] = {
        {"/readyz", 500,
         "[+]ping ok\n[-]ledger-sync failed: reason withheld\n[-]api-server failed: reason "
         "withheld\n"
         "readyz check failed\n"},
        {"/readyz/api-server", 500, "internal server error: no answer for 2 minutes\n"},
        {"/readyz?exclude=api-server&exclude=ledger-sync", 200, "ok"},
        {"/livez", 200, "ok"},
    };
    struct probes *p = *state;

    p->api = "no answer for 2 minutes";
    p->ledger = "nodes have not been listed yet";
    assert_rows(p, rows, ARRAY_LEN(rows));
}

/* Where the listener knows its callers, one question is enough. */
static void probes__not_ready_and_the_caller_is_known__with_reasons(void **state)
{
    struct probes *p = *state;
    struct reply r;

    p->api = "no answer for 2 minutes";
    p->ledger = NULL;
    get_once(p->known_callers.port, "/readyz?verbose", &r);
    assert_int_equal(r.status, 500);
    assert_string_equal(r.body, "[+]ping ok\n[+]ledger-sync ok\n[-]api-server failed: no answer for 2 minutes\n"
                                "readyz check failed\n");
    reply_fini(&r);
}

static void probes__absurd_queries__answered(void **state)
{
    struct probes *p = *state;
    struct strbuf path;
    struct reply r;

    strbuf_init(&path, 1 << 12);
    strbuf_add_cstr(&path, "/livez?verbose");
    for (int i = 0; i < HEALTH_EXCLUDES_MAX; i++) {
        strbuf_add_cstr(&path, "&exclude=ping");
    }
    get_once(p->server.port, path.p, &r);
    assert_string_equal(r.body, "[+]ping excluded: ok\nlivez check passed\n");
    reply_fini(&r);
    strbuf_add_cstr(&path, "&exclude=ping");
    assert_false(path.overflowed);
    get_once(p->server.port, path.p, &r);
    assert_int_equal(r.status, 400);
    assert_string_equal(r.body, "more than 32 exclude parameters\n");
    reply_fini(&r);
    strbuf_fini(&path);
}

static void probes__nothing_else__served(void **state)
{
    const struct probes *p = *state;
    static const char *const paths[] = {"/", "/state", "/metrics", "/livezz", "/v1/filter"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct reply r;

        get_once(p->server.port, paths[i], &r);
        assert_int_equal(r.status, 404);
        reply_fini(&r);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(probes__all_healthy__ok),
        TEST(probes__api_server_away__not_ready_and_alive),
        TEST(probes__not_ready_and_the_caller_is_known__with_reasons),
        TEST(probes__absurd_queries__answered),
        TEST(probes__nothing_else__served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
