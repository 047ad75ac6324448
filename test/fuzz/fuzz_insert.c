/* No single object can fail a list or a watch (design.md 3.1.8): whatever the API server can return, put in
 * anywhere, changes nothing for the others. Told of the others is the same with it and without it, and the lists and
 * watches go on; of it itself something is told, if only that it cannot be read.
 *
 * Input: pods or nodes, list or watch, where, in pieces of how many bytes; then members of its metadata up to a zero
 * byte, and members of the object. What is not JSON then is no object of an API server, and skipped here. Objects too
 * large to be kept: fuzz_objects, and test/unit/kube/test_excerpt.c.
 */
#include "fuzz.h"

#include "base/json_read.h"
#include "base/rng.h"
#include "kube/reflector.h"
#include "kube/support/render.h"

#include <string.h>

#define MEMORY (1U << 20)
#define OTHERS 4

struct run {
    struct strbuf scenario; /* of the others */
    unsigned odd_n;         /* what was told of the one */
};

static bool is_odd(const struct kube_object *o)
{
    struct str name = o->pod != NULL ? o->pod->name : o->node->name;

    return str_eq(name, STR("odd"));
}

static void tell(struct run *r, const char *what, const struct kube_object *o)
{
    if (is_odd(o)) {
        r->odd_n++;
        return;
    }
    strbuf_addf(&r->scenario, "%s ", what);
    if (o->pod != NULL) {
        render_pod(&r->scenario, o->pod);
    } else {
        render_node(&r->scenario, o->node);
    }
}

static void on_object(void *ctx, const struct kube_object *o)
{
    tell(ctx, "object", o);
}

static void on_deleted(void *ctx, const struct kube_object *o)
{
    tell(ctx, "deleted", o);
}

static void on_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    FUZZ_CHECK(why->code != ERR_OK && why->msg[0] != '\0');
    tell(ctx, deleted ? "unusable deleted" : "unusable", o);
}

static void on_list_end(void *ctx, bool complete, struct str version)
{
    struct run *r = ctx;

    strbuf_addf(&r->scenario, "end %d %.*s\n", complete, STR_ARG(version));
}

static bool is_json(struct str text)
{
    static struct json_reader reader;

    json_reader_init(&reader, text, NULL);
    reader.as_stored = true;
    json_skip(&reader);
    return json_read_end(&reader, NULL) == 0;
}

static void add_other(struct strbuf *b, int i)
{
    strbuf_addf(
        b,
        "{\"metadata\":{\"name\":\"o%d\",\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\",\"labels\":{"
        "\"a\":\"b\"}},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}]}}",
        i, i, 20 + i);
}

/* A line, or an item with its comma. */
static void add(struct strbuf *b, bool in_list, struct str object, bool first)
{
    strbuf_add_cstr(b, in_list ? (first ? "" : ",") : "{\"type\":\"MODIFIED\",\"object\":");
    strbuf_add_str(b, object);
    strbuf_add_cstr(b, in_list ? "" : "}\n");
}

/* The others, and `odd` before the one with the number `at`; empty: without it. */
static void write_body(struct strbuf *b, bool in_list, struct str odd, int at)
{
    bool first = true;

    strbuf_add_cstr(b, in_list ? "{\"metadata\":{\"resourceVersion\":\"30\"},\"items\":[" : "");
    for (int i = 0; i <= OTHERS; i++) {
        struct strbuf other;

        if (i == at && odd.n > 0) {
            add(b, in_list, odd, first);
            first = false;
        }
        if (i == OTHERS) {
            break;
        }
        strbuf_init(&other, 4096);
        add_other(&other, i);
        add(b, in_list, strbuf_view(&other), first);
        first = false;
        strbuf_fini(&other);
    }
    strbuf_add_cstr(b, in_list ? "]}" : "");
    FUZZ_CHECK(!b->overflowed);
}

static void exchange(struct reflector *r, struct str body, size_t piece)
{
    const struct kube_outcome o = {.kind = KUBE_ANSWERED, .http_status = 200, .retry_after_ms = KUBE_NO_RETRY_AFTER};
    struct reflector_step step;

    reflector_next(r, 1000000000, &step);
    FUZZ_CHECK(step.action != REFLECTOR_WAIT);
    while (body.n > 0) {
        struct err err = {.code = ERR_OK};
        size_t n = body.n < piece ? body.n : piece;

        if (reflector_feed(r, 1000000000, (struct str){body.p, n}, &err) != 0) {
            fuzz_fail(__FILE__, __LINE__, err.msg);
        }
        body = str_drop(body, n);
    }
    reflector_done(r, 5000000000, &o);
}

static void play(struct run *r, enum kube_resource resource, bool in_list, struct str odd, int at, size_t piece)
{
    const struct reflector_handler handler = {
        .object = on_object, .deleted = on_deleted, .unusable = on_unusable, .list_end = on_list_end, .ctx = r};
    struct rng rng;
    struct strbuf body;
    struct reflector *f;

    rng_init(&rng, 1);
    r->odd_n = 0;
    strbuf_init(&r->scenario, 1U << 20);
    strbuf_init(&body, MEMORY);
    f = reflector_new(resource, &handler, &rng);
    reflector_list_in_pages(f);
    if (!in_list) {
        exchange(f, STR("{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}"), piece);
    }
    write_body(&body, in_list, odd, at);
    exchange(f, strbuf_view(&body), piece);
    strbuf_addf(&r->scenario, "failed %d %d\n", (int)reflector_stats(f)->list_failed_n,
                (int)reflector_stats(f)->watch_failed_n);
    reflector_free(f);
    strbuf_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    enum kube_resource resource = fuzz_below(&in, 2) == 0 ? KUBE_PODS : KUBE_NODES;
    bool in_list = fuzz_bool(&in);
    int at = (int)fuzz_below(&in, OTHERS + 1);
    size_t piece = 1 + (size_t)fuzz_u8(&in);
    struct str metadata = fuzz_until(&in, '\0');
    struct str members = fuzz_rest(&in);
    struct run with, without;
    struct strbuf odd;

    strbuf_init(&odd, MEMORY);
    strbuf_add_cstr(&odd, "{\"metadata\":{\"name\":\"odd\",\"uid\":\"odd\",\"resourceVersion\":\"25\"");
    strbuf_add_cstr(&odd, metadata.n > 0 ? "," : "");
    strbuf_add_str(&odd, metadata);
    strbuf_add_cstr(&odd, "}");
    strbuf_add_cstr(&odd, members.n > 0 ? "," : "");
    strbuf_add_str(&odd, members);
    strbuf_add_cstr(&odd, "}");
    /* a newline ends a line of a watch, so an API server writes none */
    if (is_json(strbuf_view(&odd)) && memchr(odd.p, '\n', odd.n) == NULL) {
        play(&with, resource, in_list, strbuf_view(&odd), at, piece);
        play(&without, resource, in_list, STR_NULL, 0, 65536);
        FUZZ_SAME(strbuf_view(&with.scenario), strbuf_view(&without.scenario));
        FUZZ_CHECK(with.odd_n == 1);
        strbuf_fini(&with.scenario);
        strbuf_fini(&without.scenario);
    }
    strbuf_fini(&odd);
    return 0;
}
