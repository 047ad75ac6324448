#include "cmd/support/bind_fixture.h"

#include "base/bug.h"
#include "base/strbuf.h"
#include "demo/checker/checker.h"
#include "extender/feed.h"
#include "kube/watcher.h"
#include "support/cmocka.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_US 2000
#define DEADLINE_MS_LONG 120000

struct asked {
    struct asked *next;
    char name[64], uid[64], node[64];
    unsigned calls;
    struct bind_fixture_answer answer;
};

struct apiserver *bind_fixture_api;

static struct {
    struct credentials credentials;
    struct store *store;
    struct policy_set *policies;
    struct kube_client *client;
    struct binder *binder;
    struct feed feeds[KUBE_RESOURCE__MAX];
    struct kube_watcher *watchers[KUBE_RESOURCE__MAX];
    atomic_uint posts, gets, versions, versions_read;
    pthread_mutex_t lock; /* of the answers */
    pthread_cond_t answered;
    struct asked *asked;
    unsigned probe_n;
} bind_fixture = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER};

/* ---- start and end ---- */

static void observe(void *ctx, const char *verb, const char *resource, int http_status, int64_t duration_ns)
{
    (void)ctx;
    (void)duration_ns;
    if (strcmp(resource, "pods/binding") == 0) {
        atomic_fetch_add(&bind_fixture.posts, 1);
    } else if (strcmp(resource, "version") == 0) {
        atomic_fetch_add(&bind_fixture.versions, 1);
        atomic_fetch_add(&bind_fixture.versions_read, http_status == 200);
    } else if (strcmp(verb, "get") == 0 && strcmp(resource, "pods") == 0) {
        atomic_fetch_add(&bind_fixture.gets, 1);
    }
}

static void create_node(int node, int gpu_n)
{
    struct strbuf json;

    strbuf_init(&json, 1U << 16);
    strbuf_addf(&json,
                "{\"metadata\":{\"name\":\"node-%02d\",\"annotations\":{\"fgpu.io/gpus\":\""
                "{\\\"v\\\":1,\\\"gpus\\\":[",
                node);
    for (int i = 0; i < gpu_n; i++) {
        strbuf_addf(&json,
                    "%s{\\\"uuid\\\":\\\"gpu-%d-%d\\\",\\\"index\\\":%d,\\\"minor\\\":%d,"
                    "\\\"model\\\":\\\"A100\\\",\\\"memMib\\\":81920,\\\"slots\\\":16,"
                    "\\\"numa\\\":0,\\\"healthy\\\":true}",
                    i > 0 ? "," : "", node, i, i, i);
    }
    strbuf_addf(&json, "]}\"}},\"spec\":{},\"status\":{\"conditions\":"
                       "[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    assert_int_equal(apiserver_create(bind_fixture_api, APISERVER_NODES, json.p, NULL), 0);
    strbuf_fini(&json);
}

static void start_watcher(enum kube_resource resource)
{
    struct reflector_handler handler = feed_handler(&bind_fixture.feeds[resource]);

    assert_int_equal(
        kube_watcher_start(bind_fixture.client, resource, &handler, NULL, &bind_fixture.watchers[resource], NULL), 0);
}

static void await_count(atomic_uint *n)
{
    for (int ms = 0; atomic_load(n) == 0; ms += POLL_US / 1000) {
        assert_true(ms < BIND_FIXTURE_PATIENCE_MS);
        usleep(POLL_US);
    }
}

void bind_fixture_await_version_read(void)
{
    await_count(&bind_fixture.versions_read);
}

static void start_watchers(void)
{
    for (int i = 0; i < KUBE_RESOURCE__MAX; i++) {
        start_watcher((enum kube_resource)i);
    }
    for (int ms = 0; !store_is_ready(bind_fixture.store); ms += POLL_US / 1000) {
        assert_true(ms < BIND_FIXTURE_PATIENCE_MS);
        usleep(POLL_US);
    }
}

void bind_fixture_start(const struct bind_fixture_options *o)
{
    const struct ledger_limits limits = {{1, 2}, 1000, 1000, .pods_max = o->pods_max};
    const struct kube_client_options client = {.observe = observe};
    struct ingest facts = {.policy = policy_defaults(), .signing = o->signing};
    const struct rules *rules;
    const struct binder_options options = {
        .deadline_ms = o->deadline_ms > 0 ? o->deadline_ms : DEADLINE_MS_LONG,
        .max_in_flight = o->max_in_flight > 0 ? o->max_in_flight : 1000,
        .binds_all_pods = o->binds_all_pods,
    };

    signal(SIGPIPE, SIG_IGN);
    atomic_store(&bind_fixture.posts, 0);
    atomic_store(&bind_fixture.gets, 0);
    atomic_store(&bind_fixture.versions, 0);
    atomic_store(&bind_fixture.versions_read, 0);
    bind_fixture.asked = NULL;
    bind_fixture.probe_n = 0;
    assert_int_equal(apiserver_start(NULL, &bind_fixture_api, NULL), 0);
    if (o->minor > 0) {
        apiserver_set_minor(bind_fixture_api, o->minor);
    } else if (o->minor < 0) {
        BIND_FIXTURE_FAULT("GET", "/version", -1, .action = FAULT_FAIL, .status = 403);
    }
    for (int i = 0; i < (o->node_n > 0 ? o->node_n : 2); i++) {
        create_node(i, o->gpu_n > 0 ? o->gpu_n : 1);
    }
    bind_fixture.credentials.server = strdup(apiserver_url(bind_fixture_api));
    bind_fixture.store = store_new(&limits, clock_system());
    facts.store = bind_fixture.store;
    assert_int_equal(rules_new(&facts, 1, NULL, NULL, &rules, NULL), 0);
    bind_fixture.policies = policy_set_new(rules);
    assert_int_equal(kube_client_new(&bind_fixture.credentials, &client, &bind_fixture.client, NULL), 0);
    assert_int_equal(binder_new(bind_fixture.policies, bind_fixture.client, clock_system(), NULL, &options,
                                &bind_fixture.binder, NULL),
                     0);
    await_count(&bind_fixture.versions); /* an answer, whatever it says */
    for (int i = 0; i < KUBE_RESOURCE__MAX; i++) {
        feed_init(&bind_fixture.feeds[i], bind_fixture.policies, (enum kube_resource)i);
    }
    if (!o->unsynced) {
        start_watchers();
    }
}

void bind_fixture_stop_binder(void)
{
    if (bind_fixture.binder == NULL) {
        return;
    }
    binder_stop(bind_fixture.binder);
    kube_client_stop(bind_fixture.client);
    binder_free(bind_fixture.binder);
    bind_fixture.binder = NULL;
}

/* Frees the answers; false when one was not given exactly once. */
static bool take_answers(void)
{
    bool once = true;

    while (bind_fixture.asked != NULL) {
        struct asked *a = bind_fixture.asked;

        bind_fixture.asked = a->next;
        once = once && a->calls == 1;
        free(a);
    }
    return once;
}

void bind_fixture_end(void)
{
    struct checker_report report;
    const char *broken = store_check(bind_fixture.store);
    bool once;

    for (int i = 0; i < KUBE_RESOURCE__MAX; i++) {
        kube_watcher_stop(bind_fixture.watchers[i]);
        bind_fixture.watchers[i] = NULL;
        feed_fini(&bind_fixture.feeds[i]);
    }
    bind_fixture_stop_binder();
    once = take_answers();
    kube_client_free(bind_fixture.client);
    policy_set_free(bind_fixture.policies);
    store_free(bind_fixture.store);
    checker_run(bind_fixture_api, &report);
    apiserver_free(bind_fixture_api);
    credentials_fini(&bind_fixture.credentials);
    bind_fixture.credentials = (struct credentials){0};
    assert_true(once);
    assert_null(broken);
    assert_string_equal(report.first_violation, "");
    assert_int_equal(report.violation_n, 0);
    checker_report_fini(&report);
}

/* ---- pods ---- */

static bool known(const char *uid, enum ledger_pod_state *ret)
{
    struct snapshot s;
    struct arena a;
    bool found = false;

    arena_init(&a, 64U << 20);
    assert_int_equal(store_snapshot(bind_fixture.store, &a, STR_NULL, STR_NULL, &s, NULL), 0);
    for (size_t i = 0; i < s.pod_n && !found; i++) {
        found = str_eq_cstr(s.pods[i].uid, uid);
        *ret = found ? s.pods[i].state : *ret;
    }
    arena_fini(&a);
    return found;
}

void bind_fixture_create(const struct bind_fixture_pod *p)
{
    enum ledger_pod_state state;
    struct strbuf json;
    struct err err = {0};

    strbuf_init(&json, 1U << 20);
    strbuf_addf(&json, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\"", p->name, p->uid);
    if (p->annotation_bytes > 0) {
        strbuf_addf(&json, ",\"annotations\":{\"k\":\"");
        for (size_t i = 1; i < p->annotation_bytes; i++) {
            strbuf_add_char(&json, 'x');
        }
        strbuf_addf(&json, "\"}");
    }
    if (p->deleting) {
        strbuf_addf(&json, ",\"deletionTimestamp\":\"2026-11-22T08:00:00Z\"");
    }
    strbuf_addf(&json, "},\"spec\":{%s\"containers\":[{\"name\":\"main\",\"resources\":{",
                p->gated ? "\"schedulingGates\":[{\"name\":\"wait\"}]," : "");
    if (p->milli > 0 || p->names_zero) {
        strbuf_addf(&json, "\"limits\":{\"fgpu.io/gpu-milli\":\"%d\"}", p->milli);
    }
    strbuf_addf(&json, "}}]}}");
    assert_false(json.overflowed);
    if (apiserver_create(bind_fixture_api, APISERVER_PODS, json.p, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    strbuf_fini(&json);
    for (int ms = 0; p->milli > 0 && bind_fixture.watchers[KUBE_PODS] != NULL && !known(p->uid, &state);
         ms += POLL_US / 1000) {
        assert_true(ms < BIND_FIXTURE_PATIENCE_MS);
        usleep(POLL_US);
    }
}

void bind_fixture_delete(const char *name)
{
    assert_int_equal(apiserver_delete(bind_fixture_api, APISERVER_PODS, "ns", name, 0, NULL), 0);
}

void bind_fixture_patch(const char *name, const char *json)
{
    assert_int_equal(apiserver_patch(bind_fixture_api, APISERVER_PODS, "ns", name, json, NULL), 0);
}

/* No update of a pod may set its node, so it is put back as it would look then. */
void bind_fixture_bind_by_other(const char *name, const char *uid, int node, int32_t milli)
{
    struct strbuf json;

    assert_null(bind_fixture.watchers[KUBE_PODS]);
    bind_fixture_delete(name);
    strbuf_init(&json, 4096);
    strbuf_addf(&json,
                "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\",\"annotations\":{"
                "\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":\\\"other\\\",\\\"containers\\\":["
                "{\\\"name\\\":\\\"main\\\",\\\"init\\\":false,\\\"devices\\\":[{\\\"uuid\\\":"
                "\\\"gpu-%d-0\\\",\\\"index\\\":0,\\\"milli\\\":%d,\\\"memMib\\\":0}]}]}\"}},"
                "\"spec\":{\"nodeName\":\"node-%02d\",\"containers\":[{\"name\":\"main\",\"resources\":"
                "{\"limits\":{\"fgpu.io/gpu-milli\":\"%d\"}}}]}}",
                name, uid, node, milli, node, milli);
    assert_int_equal(apiserver_create(bind_fixture_api, APISERVER_PODS, json.p, NULL), 0);
    strbuf_fini(&json);
}

void bind_fixture_freeze(void)
{
    kube_watcher_stop(bind_fixture.watchers[KUBE_PODS]);
    bind_fixture.watchers[KUBE_PODS] = NULL;
}

void bind_fixture_thaw(void)
{
    start_watcher(KUBE_PODS);
}

/* ---- binds ---- */

static void done(void *ctx, enum bind_outcome outcome, const char *error, const char *decision_id)
{
    struct asked *a = ctx;

    (void)decision_id;
    BUG_ON(pthread_mutex_lock(&bind_fixture.lock) != 0);
    a->calls++;
    a->answer = (struct bind_fixture_answer){outcome, error};
    BUG_ON(pthread_cond_broadcast(&bind_fixture.answered) != 0);
    BUG_ON(pthread_mutex_unlock(&bind_fixture.lock) != 0);
}

struct asked *bind_fixture_bind(const char *name, const char *uid, const char *node)
{
    struct asked *a = xcalloc(1, sizeof(*a));
    struct bind_request request;

    snprintf(a->name, sizeof(a->name), "%s", name);
    snprintf(a->uid, sizeof(a->uid), "%s", uid);
    snprintf(a->node, sizeof(a->node), "%s", node);
    BUG_ON(pthread_mutex_lock(&bind_fixture.lock) != 0);
    a->next = bind_fixture.asked;
    bind_fixture.asked = a;
    BUG_ON(pthread_mutex_unlock(&bind_fixture.lock) != 0);
    request = (struct bind_request){str_of(a->name), STR("ns"), str_of(a->uid), str_of(a->node)};
    binder_bind(bind_fixture.binder, &request, done, a);
    return a;
}

struct bind_fixture_answer bind_fixture_await(struct asked *a)
{
    struct bind_fixture_answer answer;
    struct timespec until;
    bool in_time = true;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BIND_FIXTURE_PATIENCE_MS / 1000;
    BUG_ON(pthread_mutex_lock(&bind_fixture.lock) != 0);
    while (a->calls == 0 && in_time) {
        in_time = pthread_cond_timedwait(&bind_fixture.answered, &bind_fixture.lock, &until) == 0;
    }
    in_time = a->calls > 0;
    answer = a->answer;
    BUG_ON(pthread_mutex_unlock(&bind_fixture.lock) != 0);
    assert_true(in_time);
    return answer;
}

void bind_fixture_expect_bound(struct asked *a)
{
    struct bind_fixture_answer answer = bind_fixture_await(a);

    if (answer.outcome != BIND_OUTCOME_BOUND || answer.error != NULL) {
        fail_msg("%s: %s, %s", a->name, bind_outcome_name(answer.outcome),
                 answer.error != NULL ? answer.error : "no error");
    }
}

void bind_fixture_expect_error(struct asked *a, enum bind_outcome outcome, const char *part)
{
    struct bind_fixture_answer answer = bind_fixture_await(a);

    if (answer.outcome != outcome || answer.error == NULL || strstr(answer.error, part) == NULL) {
        fail_msg("%s: %s, %s instead of %s, ...%s...", a->name, bind_outcome_name(answer.outcome),
                 answer.error != NULL ? answer.error : "no error", bind_outcome_name(outcome), part);
    }
}

/* ---- what became of it ---- */

void bind_fixture_await_delayed(void)
{
    struct apiserver_stats stats;

    do {
        usleep(POLL_US);
        apiserver_stats(bind_fixture_api, &stats);
    } while (stats.delayed == 0);
}

unsigned bind_fixture_posts_so_far(void)
{
    return atomic_load(&bind_fixture.posts);
}

unsigned bind_fixture_posts(void)
{
    bind_fixture_await_settled();
    return bind_fixture_posts_so_far();
}

unsigned bind_fixture_gets(void)
{
    bind_fixture_await_settled();
    return atomic_load(&bind_fixture.gets);
}

uint64_t bind_fixture_binds(void)
{
    struct apiserver_stats stats;

    apiserver_stats(bind_fixture_api, &stats);
    return stats.binds;
}

struct seen_pod {
    char node[64];
    bool record;
};

static void look_at(void *ctx, const struct cJSON *pod)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
    const cJSON *annotations = cJSON_GetObjectItemCaseSensitive(meta, "annotations");
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
    const char *node = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(spec, "nodeName"));
    struct seen_pod *seen = ctx;

    snprintf(seen->node, sizeof(seen->node), "%s", node != NULL ? node : "");
    seen->record = cJSON_HasObjectItem(annotations, "fgpu.io/assignment");
}

void bind_fixture_expect_pod(const char *name, const char *node, bool record)
{
    struct seen_pod seen = {0};

    assert_true(apiserver_find(bind_fixture_api, APISERVER_PODS, "ns", name, look_at, &seen));
    assert_string_equal(seen.node, node != NULL ? node : "");
    assert_int_equal(seen.record, record);
}

void bind_fixture_expect_state(const char *uid, enum ledger_pod_state state)
{
    enum ledger_pod_state now;

    assert_true(known(uid, &now));
    assert_string_equal(ledger_pod_state_name(now), ledger_pod_state_name(state));
}

void bind_fixture_await_state(const char *uid, enum ledger_pod_state state)
{
    enum ledger_pod_state now;

    for (int ms = 0; (!known(uid, &now) || now != state) && ms < BIND_FIXTURE_PATIENCE_MS; ms += POLL_US / 1000) {
        usleep(POLL_US);
    }
    bind_fixture_expect_state(uid, state);
}

bool bind_fixture_close(int64_t wait_ms)
{
    return binder_close(bind_fixture.binder, wait_ms);
}

void bind_fixture_await_settled(void)
{
    for (int ms = 0; binder_in_flight(bind_fixture.binder) > 0; ms += POLL_US / 1000) {
        assert_true(ms < BIND_FIXTURE_PATIENCE_MS);
        usleep(POLL_US);
    }
}

void bind_fixture_expect_charged(const char *node)
{
    char name[32];

    snprintf(name, sizeof(name), "probe-%u", bind_fixture.probe_n++);
    bind_fixture_create(&(struct bind_fixture_pod){.name = name, .uid = name, .milli = 1000});
    bind_fixture_expect_error(bind_fixture_bind(name, name, node), BIND_OUTCOME_NO_FIT, "");
}

void bind_fixture_expect_free(const char *node)
{
    char name[32];

    snprintf(name, sizeof(name), "probe-%u", bind_fixture.probe_n++);
    bind_fixture_create(&(struct bind_fixture_pod){.name = name, .uid = name, .milli = 1000});
    bind_fixture_expect_bound(bind_fixture_bind(name, name, node));
}

void bind_fixture_fault(const char *method, const char *path, int64_t times, struct fault_rule rule)
{
    struct err err = {0};

    snprintf(rule.method, sizeof(rule.method), "%s", method);
    snprintf(rule.path, sizeof(rule.path), "%s", path);
    rule.times = times;
    rule.retry_after_s = rule.retry_after_s > 0 ? rule.retry_after_s : -1;
    if (apiserver_fault_add(bind_fixture_api, &rule, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}
