/* KubeSchedulerConfigurations as people write them, and files that are none. */
#include "doctor/scheduler_file.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <string.h>

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

static int set_up(void **state)
{
    static struct arena a;

    arena_init(&a, 8U << 20);
    *state = &a;
    return 0;
}

static int tear_down(void **state)
{
    arena_fini(*state);
    return 0;
}

static struct scheduler_file reads(struct arena *a, const char *text)
{
    struct scheduler_file f;
    struct err err = {.msg = ""};

    if (scheduler_file_read(STR("s.yaml"), str_of(text), a, &f, &err) != 0) {
        fail_msg("%s: %s", err.msg, text);
    }
    return f;
}

static void file__says_nothing__has_defaults(void **state)
{
    const struct scheduler_file f = reads(*state, HEAD);

    assert_int_equal(f.extender_n, 0);
    assert_int_equal(f.profile_n, 1);
    assert_true(str_eq_cstr(f.profiles[0].name, "default-scheduler"));
    assert_int_equal(f.sampled_percent, SCHEDULER_NUMBER_MISSING);
    assert_null(scheduler_file_ours(&f, 9443));
}

static void file__as_json__is_the_same(void **state)
{
    const struct scheduler_file f =
        reads(*state, "{\"kind\":\"KubeSchedulerConfiguration\",\"percentageOfNodesToScore\":50,\"profiles\":null,"
                      "\"extenders\":[{\"urlPrefix\":\"https://[::1]:9443/v1/\",\"weight\":7,\"httpTimeout\":\"1m30s\","
                      "\"enableHTTPS\":true,\"nodeCacheCapable\":true,\"ignorable\":true,"
                      "\"managedResources\":[{\"name\":\"a/b\",\"ignoredByScheduler\":true},{}]}]}");
    const struct scheduler_extender *e = &f.extenders[0];

    assert_int_equal(f.sampled_percent, 50);
    assert_int_equal(f.profile_n, 1);
    assert_int_equal(f.extender_n, 1);
    assert_true(str_eq_cstr(e->url_host, "[::1]") && str_eq_cstr(e->url_path, "/v1"));
    assert_int_equal(e->url_port, 9443);
    assert_true(e->url_is_https && e->enable_https && e->node_cache_capable && e->ignorable);
    assert_int_equal(e->weight, 7);
    assert_int_equal(e->http_timeout_ms, 90000);
    assert_int_equal(e->managed.n, 1);
}

static void url__of_each_form__is_split(void **state)
{
    static const struct {
        const char *url, *host, *path;
        uint16_t port;
    } rows[] = {{"http://127.0.0.1:9443/v1", "127.0.0.1", "/v1", 9443},
                {"http://fgpu", "fgpu", "", 80},
                {"https://fgpu.ns.svc/x/v1//", "fgpu.ns.svc", "/x/v1", 443},
                {"http://[fe80::1]/v1", "[fe80::1]", "/v1", 80},
                {"127.0.0.1:9443/v1", "", "", 0},
                {"", "", "", 0}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str text = arena_printf(*state, HEAD "extenders: [{urlPrefix: '%s'}]\n", rows[i].url);
        const struct scheduler_file f = reads(*state, arena_cstr(*state, text));

        assert_true(str_eq_cstr(f.extenders[0].url_host, rows[i].host));
        assert_true(str_eq_cstr(f.extenders[0].url_path, rows[i].path));
        assert_int_equal(f.extenders[0].url_port, rows[i].port);
    }
}

static void ours__of_several__is_found(void **state)
{
    const struct scheduler_file f = reads(*state, HEAD "extenders:\n"
                                                       "- {urlPrefix: 'http://a:1/x', filterVerb: f}\n"
                                                       "- {urlPrefix: 'http://b:2/v1', bindVerb: bind}\n"
                                                       "- {urlPrefix: 'http://c:3/v1'}\n");

    assert_ptr_equal(scheduler_file_ours(&f, 3), &f.extenders[2]);
    assert_ptr_equal(scheduler_file_ours(&f, 9), &f.extenders[1]);
    assert_ptr_equal(scheduler_file_ours(&f, 0), &f.extenders[1]);
}

static void profile__ignores_names_and_groups(void **state)
{
    const struct scheduler_file f = reads(
        *state, HEAD "profiles:\n"
                     "- schedulerName: a\n"
                     "  pluginConfig:\n"
                     "  - {name: Other, args: {ignoredResources: [x/y]}}\n"
                     "  - {name: NodeResourcesFit, args: {ignoredResources: [a/b], ignoredResourceGroups: [fgpu.io]}}\n"
                     "- {}\n");

    assert_int_equal(f.profile_n, 2);
    assert_true(scheduler_profile_ignores(&f.profiles[0], STR("a/b")));
    assert_true(scheduler_profile_ignores(&f.profiles[0], STR("fgpu.io/gpu-milli")));
    assert_false(scheduler_profile_ignores(&f.profiles[0], STR("a/c")));
    assert_false(scheduler_profile_ignores(&f.profiles[0], STR("x/y")));
    assert_false(scheduler_profile_ignores(&f.profiles[0], STR("cpu")));
    assert_false(scheduler_profile_ignores(&f.profiles[1], STR("a/b")));
}

static void file__that_cannot_be_right__is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {{"", "no KubeSchedulerConfiguration"},
                {"kind: Policy\n", "its kind is \"Policy\""},
                {"- a\n", "no KubeSchedulerConfiguration"},
                {"kind: [\n", "s.yaml:"},
                {HEAD "extenders: [{weight: heavy}]\n", "s.yaml:3:22: weight"},
                {HEAD "extenders: [{httpTimeout: 10}]\n", "httpTimeout"},
                {HEAD "extenders: [{httpTimeout: ''}]\n", "httpTimeout"},
                {HEAD "extenders: [{httpTimeout: 1.5s}]\n", "httpTimeout"},
                {HEAD "extenders: [{httpTimeout: [1s]}]\n", "httpTimeout"},
                {HEAD "kind: x\n", "s.yaml:3:1"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scheduler_file f;
        struct err err = {.msg = ""};

        assert_true(scheduler_file_read(STR("s.yaml"), str_of(rows[i].text), *state, &f, &err) < 0);
        if (strstr(err.msg, rows[i].words) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", rows[i].words, err.msg);
        }
    }
}

int main(void)
{
#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_ARENA(file__says_nothing__has_defaults),
        WITH_ARENA(file__as_json__is_the_same),
        WITH_ARENA(url__of_each_form__is_split),
        WITH_ARENA(ours__of_several__is_found),
        WITH_ARENA(profile__ignores_names_and_groups),
        WITH_ARENA(file__that_cannot_be_right__is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
