/* Pod, Node and Status: what is understood does not depend on blanks and escapes, agrees with
 * cJSON and with what is cut out of an object that streams past, and what can be salvaged from an object agrees with
 * what decoding it gives. */
#include "fuzz.h"

#include "base/support/json_walk.h"
#include "kube/excerpt.h"
#include "kube/objects_internal.h"
#include "support/read_json.h"
#include "kube/support/render.h"

#include <string.h>

#define MEMORY (16U << 20)

enum kind { POD, NODE, STATUS, KINDS };

struct object {
    struct pod pod;
    struct node node;
    struct kube_status status;
};

static struct json_reader reader;

static int parse(enum kind kind, struct str text, struct arena *a, struct object *ret)
{
    struct err err = {.code = ERR_OK};
    int rc = kind == POD    ? kube_parse_pod(&reader, text, a, &ret->pod, &err)
             : kind == NODE ? kube_parse_node(&reader, text, a, &ret->node, &err)
                            : kube_parse_status(&reader, text, a, &ret->status, &err);

    FUZZ_CHECK(rc == 0 || rc == -ERR_PARSE || rc == -ERR_INVALID || rc == -ERR_LIMIT);
    FUZZ_CHECK(rc == 0 || (rc == -(int)err.code && err.msg[0] != '\0'));
    return rc;
}

static void render(enum kind kind, const struct object *o, struct strbuf *out)
{
    if (kind == POD) {
        render_pod(out, &o->pod);
    } else if (kind == NODE) {
        render_node(out, &o->node);
    } else {
        strbuf_addf(out, "%d %.*s %.*s %d", o->status.code, STR_ARG(o->status.reason), STR_ARG(o->status.message),
                    o->status.retry_after_s);
    }
    FUZZ_CHECK(!out->overflowed);
}

/* What is cut out of it as it streams past says the same. */
static void check_excerpt(enum kind kind, struct str text, struct str rendered, struct arena *a)
{
    struct excerpt *e = excerpt_new(EXCERPT_OBJECT, kind == POD ? kube_pod_fields : kube_node_fields);
    struct strbuf cut;
    struct object again;

    strbuf_init(&cut, MEMORY);
    excerpt_feed(e, (struct str){text.p, text.n / 3});
    if (excerpt_feed(e, str_drop(text, text.n / 3)) == EXCERPT_DONE) {
        FUZZ_CHECK(parse(kind, excerpt_text(e), a, &again) == 0);
        render(kind, &again, &cut);
        FUZZ_SAME(rendered, strbuf_view(&cut));
    }
    strbuf_fini(&cut);
    excerpt_free(e);
}

/* The same document, compact and with other escapes. */
static void check_rewritten(enum kind kind, struct str text, const struct object *o, struct arena *a)
{
    struct strbuf rewritten, first, second;
    struct json_writer w;
    struct object again;

    strbuf_init(&rewritten, MEMORY);
    json_writer_init(&w, &rewritten);
    json_reader_init(&reader, text, a);
    json_walk(&reader, &w);
    if (json_read_end(&reader, NULL) != 0) {
        strbuf_fini(&rewritten); /* something in it that nobody reads, and json_walk does */
        return;
    }
    FUZZ_CHECK(parse(kind, strbuf_view(&rewritten), a, &again) == 0);
    strbuf_init(&first, MEMORY);
    strbuf_init(&second, MEMORY);
    render(kind, o, &first);
    render(kind, &again, &second);
    FUZZ_SAME(strbuf_view(&first), strbuf_view(&second));
    if (kind != STATUS) {
        check_excerpt(kind, strbuf_view(&rewritten), strbuf_view(&first), a);
    }
    strbuf_fini(&second);
    strbuf_fini(&first);
    strbuf_fini(&rewritten);
}

static bool has_unicode_escape(struct str text)
{
    bool found = false;

    for (size_t i = 0; i + 1 < text.n && !found; i++) {
        found = text.p[i] == '\\' && text.p[i + 1] == 'u';
    }
    return found;
}

/* null and what is absent is empty for us. */
static size_t children(const cJSON *c)
{
    return (size_t)cJSON_GetArraySize(c);
}

static void check_with_cjson(enum kind kind, struct str text, const struct object *o)
{
    cJSON *c = has_unicode_escape(text) ? NULL : read_json(text); /* it ends texts at a NUL */

    if (c == NULL) {
        return; /* it gives up on long numbers */
    }
    if (kind == POD) {
        FUZZ_SAME(o->pod.name, read_json_text(c, "metadata.name"));
        FUZZ_SAME(o->pod.namespace_, read_json_text(c, "metadata.namespace"));
        FUZZ_SAME(o->pod.uid, read_json_text(c, "metadata.uid"));
        FUZZ_SAME(o->pod.node_name, read_json_text(c, "spec.nodeName"));
        FUZZ_SAME(o->pod.scheduler_name, read_json_text(c, "spec.schedulerName"));
        FUZZ_CHECK(o->pod.container_n == children(read_json_at(c, "spec.containers")));
        FUZZ_CHECK(o->pod.init_container_n == children(read_json_at(c, "spec.initContainers")));
        FUZZ_CHECK(o->pod.labels.n == children(read_json_at(c, "metadata.labels")));
        FUZZ_CHECK(o->pod.annotations.n == children(read_json_at(c, "metadata.annotations")));
        FUZZ_CHECK(pod_is_terminal(&o->pod) == (str_eq(read_json_text(c, "status.phase"), STR("Succeeded")) ||
                                                str_eq(read_json_text(c, "status.phase"), STR("Failed"))));
    } else if (kind == NODE) {
        FUZZ_SAME(o->node.name, read_json_text(c, "metadata.name"));
        FUZZ_SAME(o->node.uid, read_json_text(c, "metadata.uid"));
        FUZZ_CHECK(o->node.allocatable.n == children(read_json_at(c, "status.allocatable")));
        FUZZ_CHECK(o->node.unschedulable == cJSON_IsTrue(read_json_at(c, "spec.unschedulable")));
    } else {
        FUZZ_SAME(o->status.reason, read_json_text(c, "reason"));
        FUZZ_SAME(o->status.message, read_json_text(c, "message"));
    }
    cJSON_Delete(c);
}

static void same_or_escaped(struct str salvaged, struct str decoded, bool escapes)
{
    FUZZ_CHECK(str_eq(salvaged, decoded) || escapes);
}

/* `o`: what decoding gave; NULL: it failed, and only the memory matters. */
static void check_salvage(enum kind kind, struct str text, const struct object *o)
{
    bool escapes = text.n > 0 && memchr(text.p, '\\', text.n) != NULL;
    struct pod pod;
    struct node node;

    if (kind == POD) {
        kube_salvage_pod(text, &pod);
        FUZZ_CHECK(fuzz_is_within(pod.name, text) && fuzz_is_within(pod.namespace_, text) &&
                   fuzz_is_within(pod.uid, text) && fuzz_is_within(pod.node_name, text) &&
                   fuzz_is_within(pod.resource_version, text));
        if (o != NULL) {
            same_or_escaped(pod.name, o->pod.name, escapes);
            same_or_escaped(pod.namespace_, o->pod.namespace_, escapes);
            same_or_escaped(pod.uid, o->pod.uid, escapes);
            same_or_escaped(pod.node_name, o->pod.node_name, escapes);
            same_or_escaped(pod.resource_version, o->pod.resource_version, escapes);
            FUZZ_CHECK(escapes || pod_is_terminal(&pod) == pod_is_terminal(&o->pod));
        }
    } else if (kind == NODE) {
        kube_salvage_node(text, &node);
        FUZZ_CHECK(fuzz_is_within(node.name, text) && fuzz_is_within(node.uid, text) &&
                   fuzz_is_within(node.resource_version, text));
        if (o != NULL) {
            same_or_escaped(node.name, o->node.name, escapes);
            same_or_escaped(node.resource_version, o->node.resource_version, escapes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    enum kind kind = fuzz_below(&in, KINDS);
    struct str text = fuzz_rest(&in);
    struct object o;
    struct arena a;
    int rc;

    memset(&o, 0, sizeof(o));
    arena_init(&a, MEMORY);
    rc = parse(kind, text, &a, &o);
    FUZZ_CHECK(!a.overflowed);
    check_salvage(kind, text, rc == 0 ? &o : NULL);
    if (rc == 0) {
        check_rewritten(kind, text, &o, &a);
        check_with_cjson(kind, text, &o);
    }
    arena_fini(&a);
    return 0;
}
