/* The bodies of filter, prioritize, bind and preempt, over a small cluster. What is answered holds
 * the contract: names only from the request and each at most once, every name with a reason when
 * nothing fits, points 0 to 10, the same answer to the same question, and a ledger that a question
 * does not change. */
#include "fuzz.h"

#include "routes/wire.h"
#include "support/canned.h"
#include "support/read_json.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY (32U << 20)

static struct canned cluster;

static size_t times_asked(const struct extender_args *args, struct str name)
{
    size_t n = 0;

    for (size_t i = 0; i < args->name_n; i++) {
        n += str_eq(args->names[i], name);
    }
    return n;
}

/* Text that went through our writer and cJSON: what is not UTF-8 cannot have been accepted before.
 */
static struct str text_of(const cJSON *c)
{
    FUZZ_CHECK(cJSON_IsString(c));
    return str_of(c->valuestring);
}

static size_t check_reasons(const cJSON *map, const struct extender_args *args)
{
    const cJSON *reason;
    size_t n = 0;

    FUZZ_CHECK(cJSON_IsObject(map));
    cJSON_ArrayForEach(reason, map)
    {
        FUZZ_CHECK(times_asked(args, str_of(reason->string)) > 0);
        FUZZ_CHECK(text_of(reason).n > 0);
        n++;
    }
    return n;
}

static size_t check_names(const cJSON *c, const struct extender_args *args)
{
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(c, "Nodes");
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(c, "NodeNames"), *name;
    size_t n = 0;

    FUZZ_CHECK(cJSON_IsNull(args->raw_nodes != NULL ? names : nodes));
    names = args->raw_nodes != NULL ? cJSON_GetObjectItemCaseSensitive(nodes, "items") : names;
    FUZZ_CHECK(cJSON_IsArray(names));
    cJSON_ArrayForEach(name, names)
    {
        struct str s = args->raw_nodes != NULL ? read_json_text(name, "metadata.name") : text_of(name);
        const cJSON *other;

        FUZZ_CHECK(times_asked(args, s) > 0);
        for (other = name->next; other != NULL; other = other->next) {
            FUZZ_CHECK(!str_eq(s, args->raw_nodes != NULL ? read_json_text(other, "metadata.name") : text_of(other)));
        }
        n++;
    }
    return n;
}

/* A name asked twice is answered once. */
static size_t distinct_names(const struct extender_args *args)
{
    size_t n = 0;

    for (size_t i = 0; i < args->name_n; i++) {
        bool seen = false;

        for (size_t j = 0; j < i && !seen; j++) {
            seen = str_eq(args->names[i], args->names[j]);
        }
        n += !seen;
    }
    return n;
}

/* A name with a NUL or a node cJSON cannot read makes it a bad judge. */
static bool can_judge(struct str body)
{
    cJSON *c = read_json(body);

    cJSON_Delete(c);
    return c != NULL;
}

static void check_filter_reply(struct str reply, const struct extender_args *args, const struct filter_result *result)
{
    cJSON *c = read_json(reply);
    size_t fit, failed;

    FUZZ_CHECK(c != NULL && str_eq(read_json_text(c, "Error"), STR("")));
    fit = check_names(c, args);
    failed = check_reasons(cJSON_GetObjectItemCaseSensitive(c, "FailedNodes"), args) +
             check_reasons(cJSON_GetObjectItemCaseSensitive(c, "FailedAndUnresolvableNodes"), args);
    switch (result->outcome) {
    case FILTER_NOT_OURS:
        FUZZ_CHECK(fit == distinct_names(args) && failed == 0);
        break;
    case FILTER_SOME_FIT:
        FUZZ_CHECK(fit > 0 && fit == result->fit_n && failed == 0);
        break;
    case FILTER_DEFECT:
    case FILTER_NONE_FITS:
        FUZZ_CHECK(fit == 0 && failed == distinct_names(args));
        break;
    }
    cJSON_Delete(c);
}

static void filter(const struct extender_args *args, struct arena *a, bool judge)
{
    struct filter_result result, again;
    struct strbuf reply, reply_again;
    uint64_t generation = store_generation(cluster.store);

    strbuf_init(&reply, MEMORY);
    strbuf_init(&reply_again, MEMORY);
    FUZZ_CHECK(placement_filter(&cluster.placement, a, &args->pod, args->names, args->name_n, &result, NULL) == 0);
    FUZZ_CHECK(placement_filter(&cluster.placement, a, &args->pod, args->names, args->name_n, &again, NULL) == 0);
    wire_write_filter(&reply, args, &result);
    wire_write_filter(&reply_again, args, &again);
    FUZZ_CHECK(!reply.overflowed);
    FUZZ_SAME(strbuf_view(&reply), strbuf_view(&reply_again));
    FUZZ_CHECK(store_generation(cluster.store) == generation);
    if (judge) {
        check_filter_reply(strbuf_view(&reply), args, &result);
    }
    strbuf_fini(&reply_again);
    strbuf_fini(&reply);
}

static void prioritize(const struct extender_args *args, struct arena *a)
{
    struct prioritize_result result;
    struct strbuf reply;
    cJSON *c;
    const cJSON *entry;
    size_t n = 0;

    FUZZ_CHECK(placement_prioritize(&cluster.placement, a, &args->pod, args->names, args->name_n, &result, NULL) == 0);
    strbuf_init(&reply, MEMORY);
    wire_write_priorities(&reply, &result);
    c = read_json(strbuf_view(&reply));
    FUZZ_CHECK(cJSON_IsArray(c));
    cJSON_ArrayForEach(entry, c)
    {
        int points = cJSON_GetObjectItemCaseSensitive(entry, "Score")->valueint;

        FUZZ_CHECK(times_asked(args, read_json_text(entry, "Host")) > 0);
        FUZZ_CHECK(points >= 0 && points <= 10);
        FUZZ_CHECK(n == 0 || result.points[n] <= result.points[n - 1]);
        n++;
    }
    FUZZ_CHECK(n == distinct_names(args));
    cJSON_Delete(c);
    store_tentative_end(cluster.store, args->pod.uid);
    strbuf_fini(&reply);
}

static void read_args(struct str body, bool points, struct arena *a)
{
    struct extender_args args = {.name_n = 77};
    struct err err;
    struct strbuf reply;

    if (wire_read_args(body, a, &args, &err) != 0) {
        FUZZ_CHECK(args.name_n == 77 && str_starts(str_of(err.msg), STR("ExtenderArgs")));
        strbuf_init(&reply, 4096);
        wire_write_filter_error(&reply, str_of(err.msg));
        FUZZ_CHECK(can_judge(strbuf_view(&reply)));
        strbuf_fini(&reply);
        return;
    }
    for (size_t i = 0; i < args.name_n; i++) {
        FUZZ_CHECK(args.raw_nodes == NULL || fuzz_is_within(args.raw_nodes[i], body));
    }
    if (points) {
        prioritize(&args, a);
    } else {
        filter(&args, a, can_judge(body));
    }
}

static void read_bind(struct str body, struct arena *a)
{
    struct bind_request b = {.pod_name = STR("untouched")};
    struct err err;
    cJSON *c;
    const cJSON *item;

    if (wire_read_bind(body, a, &b, &err) != 0) {
        FUZZ_SAME(b.pod_name, STR("untouched"));
        FUZZ_CHECK(str_starts(str_of(err.msg), STR("ExtenderBindingArgs")));
        return;
    }
    c = read_json(body);
    cJSON_ArrayForEach(item, c)
    {
        if (str_ieq(str_of(item->string), STR("PodName"))) {
            FUZZ_SAME(b.pod_name, text_of(item));
        } else if (str_ieq(str_of(item->string), STR("PodNamespace"))) {
            FUZZ_SAME(b.pod_namespace, text_of(item));
        } else if (str_ieq(str_of(item->string), STR("PodUID"))) {
            FUZZ_SAME(b.pod_uid, text_of(item));
        } else if (str_ieq(str_of(item->string), STR("Node"))) {
            FUZZ_SAME(b.node_name, text_of(item));
        }
    }
    cJSON_Delete(c);
    FUZZ_CHECK(b.pod_name.n > 0 && b.pod_namespace.n > 0 && b.pod_uid.n > 0 && b.node_name.n > 0);
}

/* Victims are only added, each once; nodes are only dropped, and stay in order. */
static void read_preemption(struct str body, struct arena *a)
{
    struct preemption_args args = {.node_n = 77};
    struct preempt_node *asked;
    struct strbuf reply;
    struct err err;
    enum verdict why;
    size_t kept, at = 0;
    cJSON *c;

    if (wire_read_preemption(body, a, &args, &err) != 0) {
        FUZZ_CHECK(args.node_n == 77 && err.msg[0] != '\0');
        return;
    }
    asked = ARENA_ARRAY(a, args.node_n + 1, struct preempt_node);
    FUZZ_CHECK(asked != NULL);
    memcpy(asked, args.nodes != NULL ? args.nodes : asked, args.node_n * sizeof(*asked));
    FUZZ_CHECK(placement_preempt(&cluster.placement, a, &args.pod, args.nodes, args.node_n, &kept, &why, NULL) == 0);
    FUZZ_CHECK(kept <= args.node_n && (kept == 0 || why == VERDICT_FITS));
    for (size_t i = 0; i < kept; i++, at++) {
        const struct preempt_node *n = &args.nodes[i];

        while (at < args.node_n && !str_eq(asked[at].name, n->name)) {
            at++;
        }
        FUZZ_CHECK(at < args.node_n && n->victim_n >= asked[at].victim_n &&
                   n->pdb_violations == asked[at].pdb_violations);
    }
    strbuf_init(&reply, MEMORY);
    wire_write_preemption(&reply, args.nodes, kept);
    c = read_json(strbuf_view(&reply));
    FUZZ_CHECK(c != NULL &&
               (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(c, "NodeNameToMetaVictims")) == kept);
    cJSON_Delete(c);
    strbuf_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint32_t verb = fuzz_below(&in, 4);
    struct arena a;

    if (cluster.store == NULL) {
        canned_init(&cluster);
    }
    arena_init(&a, MEMORY);
    if (verb == 2) {
        read_bind(fuzz_rest(&in), &a);
    } else if (verb == 3) {
        read_preemption(fuzz_rest(&in), &a);
    } else {
        read_args(fuzz_rest(&in), verb == 1, &a);
    }
    arena_fini(&a);
    return 0;
}
