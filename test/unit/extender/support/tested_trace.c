#include "extender/support/tested_trace.h"

#include "base/bug.h"
#include "extender/store_trace.h"
#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

struct clock_manual trace_clock;
struct placement_context context;
char node_names[NODES][8], uids[PODS][8];
uint64_t binds;
struct replay_found found;

const struct policy *second_policy;

static struct policy policy;

void traced_begin(const struct policy *p)
{
    clock_manual_init(&trace_clock, 1000 * MS, 5000);
    store_open(&trace_clock.clock);
    store_record(store, 4 << 20);
    store_record_configuration(store, 0, "hash", STR("{\"a\":1}"));
    policy = *p;
    assert_int_equal(placement_context_init(&context, store, &policy, NULL), 0);
    apply_empty_lists();
    binds = 0;
    second_policy = NULL;
}

void traced_end(void)
{
    store_check_and_free();
}

/* ---- what happens ---- */

struct pod pod_of(size_t i, struct container *c, struct kv *limit, char amount[16], unsigned milli)
{
    snprintf(uids[i], sizeof(uids[i]), "p%zu", i);
    snprintf(amount, 16, "%u", milli);
    *limit = (struct kv){STR("fgpu.io/gpu-milli"), str_of(amount)};
    *c = (struct container){.name = STR("main"), .limits = {limit, 1}};
    return (struct pod){
        .uid = str_of(uids[i]), .name = str_of(uids[i]), .namespace_ = STR("d"), .containers = c, .container_n = 1};
}

void traced_ask(const struct pod *pod)
{
    struct str names[NODES + 1];
    struct filter_result result;

    for (size_t i = 0; i < NODES; i++) {
        names[i] = str_of(node_names[i]);
    }
    names[NODES] = STR("stranger");
    assert_int_equal(placement_filter(&context, &arena, pod, names, NODES + 1, &result, NULL), 0);
}

void traced_bind(size_t pod, const char *node)
{
    struct store_reservation reservation;
    char id[24];
    enum store_reserve_result r;

    snprintf(id, sizeof(id), "%016" PRIx64, binds);
    r = store_reserve(store, &arena, str_of(uids[pod]), STR("d"), str_of(uids[pod]), str_of(node), str_of(id),
                      &context.plans, NULL, &reservation, NULL);
    binds += r == STORE_RESERVED || r == STORE_NO_FIT;
}

void three_decisions(struct strbuf *document)
{
    static const unsigned milli[] = {250, 900, 900};
    static const char *const to[] = {"n1", "n0", "n0"};
    const struct ingest by = {store, &policy, NULL, NULL};

    for (size_t i = 0; i < NODES; i++) {
        snprintf(node_names[i], sizeof(node_names[i]), "n%zu", i);
    }
    apply_node("n0", 1, 40000, true);
    apply_node("n1", 2, 40000, true);
    for (size_t i = 0; i < 3; i++) {
        struct container c;
        struct kv limit;
        char amount[16];
        const struct pod pod = pod_of(i, &c, &limit, amount, milli[i]);

        assert_int_equal(ingest_pod(&by, &arena, &pod, NULL), 0);
        traced_ask(&pod);
        traced_bind(i, to[i]);
    }
    strbuf_init(document, DOCUMENT_BYTES_MAX);
    trace_text(document);
}

void altered(const struct strbuf *from, const char *type, unsigned n, const char *key, const char *to,
             struct strbuf *ret)
{
    char word[64];
    const char *line = from->p, *at, *end;

    snprintf(word, sizeof(word), "\"type\":\"%s\"", type);
    for (unsigned i = 0; i <= n; i++) {
        line = strstr(line + 1, word);
        assert_non_null(line);
    }
    at = strstr(line, key);
    assert_non_null(at);
    assert_null(memchr(line, '\n', (size_t)(at - line)));
    at += strlen(key);
    end = *at == '[' ? strchr(at, ']') + 1 : *at == '"' ? strchr(at + 1, '"') + 1 : at + strcspn(at, ",}");
    strbuf_init(ret, DOCUMENT_BYTES_MAX);
    strbuf_add(ret, from->p, (size_t)(at - from->p));
    strbuf_add_cstr(ret, to);
    strbuf_add_cstr(ret, end);
}

/* ---- the replay ---- */

void trace_text(struct strbuf *out)
{
    struct store_trace t;
    char buf[1000];
    size_t n;

    assert_true(store_trace_open(store, &t));
    strbuf_addf(out, "{\"apiVersion\":\"%s\",\"first\":%" PRIu64 ",\"next\":%" PRIu64 ",\"complete\":%s}\n",
                TRACE_API_VERSION, t.first, t.next, t.first == 1 ? "true" : "false");
    do {
        assert_true(store_trace_read(store, &t, buf, sizeof(buf), &n));
        strbuf_add(out, buf, n);
    } while (n > 0);
    store_trace_close(&t);
    strbuf_add_cstr(out, "{\"type\":\"end\"}\n");
    assert_false(out->overflowed);
}

static int policy_of(void *ctx, struct str configuration, const struct policy **ret, struct err *reterr)
{
    const bool second = second_policy != NULL && str_eq(configuration, STR("{\"a\":2}"));

    (void)ctx;
    *ret = second ? second_policy : &policy;
    return second || str_eq(configuration, STR("{\"a\":1}")) ? 0
                                                             : err_set(reterr, ERR_INVALID, "another configuration");
}

static bool differs(void *ctx, const struct replay_difference *d)
{
    if (found.n++ == 0) {
        found.seq = d->seq;
        snprintf(found.text, sizeof(found.text), "line %" PRIu64 ", %s: %s; now %s", d->seq, d->what, d->recorded,
                 d->now);
    }
    return *(const bool *)ctx;
}

int replay_by(const struct strbuf *document, const struct policy *other, bool goes_on, struct replay_report *ret,
              struct err *reterr)
{
    const struct replay_options o = {.policy = policy_of, .differs = differs, .other = other, .ctx = (void *)&goes_on};

    memset(&found, 0, sizeof(found));
    return replay_run(strbuf_view(document), &o, ret, reterr);
}

int replay(const struct strbuf *document, struct replay_report *ret, struct err *reterr)
{
    return replay_by(document, NULL, false, ret, reterr);
}

const char *replay_says(const struct strbuf *document)
{
    static struct err err;
    struct replay_report report;

    err = (struct err){.msg = ""};
    (void)replay(document, &report, &err);
    return found.n > 0 ? found.text : err.msg;
}
