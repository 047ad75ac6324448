/* The webhook bodies as kube-scheduler sends and reads them; B9, B10 are rows of defects.md. */
#include "routes/support/unit.h"
#include "routes/wire.h"

#include "base/json_read.h"

#include <stdio.h>

#define POD                                                                                                            \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{\"containers\":["                     \
    "]}}"

struct fixture {
    struct arena arena;
    struct err err;
    char *body; /* exactly as long as the request, so that a sanitizer sees a read past it */
};

static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    arena_init(&f.arena, 16 << 20);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->body);
    arena_fini(&f->arena);
    return 0;
}

static struct str body_of(struct fixture *f, const char *text, size_t n)
{
    free(f->body);
    f->body = malloc(n > 0 ? n : 1);
    assert_non_null(f->body);
    memcpy(f->body, text, n);
    arena_reset(&f->arena);
    f->err.msg[0] = '\0';
    return (struct str){f->body, n};
}

static int read_args(struct fixture *f, const char *text, struct extender_args *ret)
{
    return wire_read_args(body_of(f, text, strlen(text)), &f->arena, ret, &f->err);
}

static int read_bind(struct fixture *f, const char *text, struct bind_request *ret)
{
    return wire_read_bind(body_of(f, text, strlen(text)), &f->arena, ret, &f->err);
}

static void assert_str(struct str s, const char *expected)
{
    if (!str_eq_cstr(s, expected)) {
        fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(s), expected);
    }
}

/* "a b" for the names a and b. */
static void assert_names(const struct extender_args *args, const char *expected)
{
    struct strbuf b;

    strbuf_init(&b, 4096);
    for (size_t i = 0; i < args->name_n; i++) {
        if (i > 0) {
            strbuf_add_char(&b, ' ');
        }
        strbuf_add_str(&b, args->names[i]);
    }
    assert_string_equal(b.p, expected);
    strbuf_fini(&b);
}

/* ---- ExtenderArgs ---- */

static void read_args__what_callers_send__understood(void **state)
{
    static const struct {
        const char *name, *body, *names;
    } rows[] = {
        {"names", "{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":[\"n1\",\"n2\"]}", "n1 n2"},
        {"lower case keys", "{\"pod\":" POD ",\"nodes\":null,\"nodenames\":[\"n1\"]}", "n1"},
        {"mixed case keys", "{\"POD\":" POD ",\"nodeNames\":[\"n1\"]}", "n1"},
        {"escaped key", "{\"Pod\":" POD ",\"Node\\u004eames\":[\"n1\"]}", "n1"},
        {"other order", "{\"NodeNames\":[\"n1\"],\"Pod\":" POD "}", "n1"},
        {"empty list", "{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":[]}", ""},
        {"unknown keys", "{\"X\":{\"a\":[1e400]},\"Pod\":" POD ",\"NodeNames\":[\"n1\"],\"y\":-1.5}", "n1"},
        {"repeats", "{\"Pod\":" POD ",\"NodeNames\":[\"b\",\"a\",\"b\",\"a\",\"c\",\"b\"]}", "b a b a c b"},
        {"escaped name", "{\"Pod\":" POD ",\"NodeNames\":[\"n\\u0031\",\"n2\"]}", "n1 n2"},
        {"pod with what nobody reads",
         "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"annotations\":{\"evil\":"
         "\"\\u0000\\ud800\"}},\"spec\":{\"x\":[{\"a\":1,\"a\":2}]}},\"NodeNames\":[\"n1\"]}",
         "n1"},
        {"blanks", " {\n\"Pod\" : " POD " ,\t\"NodeNames\" : [ \"n1\" ] }\r\n ", "n1"},
    };
    struct extender_args args;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (read_args(*state, rows[i].body, &args) != 0) {
            fail_msg("%s: %s", rows[i].name, ((struct fixture *)*state)->err.msg);
        }
        assert_names(&args, rows[i].names);
        assert_null(args.raw_nodes);
        assert_str(args.pod.name, "p");
        assert_str(args.pod.namespace_, "ns");
        assert_str(args.pod.uid, "u");
    }
}

/* Inside Pod keys are exact: "Metadata" is somebody else's field. */
static void read_args__keys_inside_pod__exact(void **state)
{
    struct extender_args args;

    assert_int_equal(read_args(*state,
                               "{\"Pod\":{\"Metadata\":{\"name\":\"x\"},\"metadata\":{\"name\":\"p\"}},"
                               "\"NodeNames\":[]}",
                               &args),
                     0);
    assert_str(args.pod.name, "p");
}

static void read_args__whole_nodes__kept_unchanged(void **state)
{
    static const char first[] = "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"a\":\"<\\u00e9>\"}}, \"x\":1.50}";
    static const char second[] = "{\"kind\":\"Node\",\"metadata\":{\"annotations\":null,\"name\":\"n2\"}}";
    struct strbuf body;
    struct extender_args args;

    strbuf_init(&body, 4096);
    strbuf_addf(&body, "{\"Pod\":%s,\"Nodes\":{\"metadata\":{},\"items\":[%s, %s ,%s]},\"NodeNames\":null}", POD, first,
                second, first);
    assert_int_equal(read_args(*state, body.p, &args), 0);
    assert_names(&args, "n1 n2 n1");
    assert_non_null(args.raw_nodes);
    assert_str(args.raw_nodes[0], first);
    assert_str(args.raw_nodes[1], second);
    strbuf_fini(&body);
}

/* A body that cannot be meant: a clear error that names the place, and nothing read. */
static void read_args__nonsense__refused_with_its_reason(void **state)
{
    static const struct {
        const char *name, *body, *text;
    } rows[] = {
        {"B9 Pod null", "{\"Pod\":null,\"NodeNames\":[\"n1\"]}", "Pod is missing or null"},
        {"B9 no Pod", "{\"NodeNames\":[\"n1\"]}", "Pod is missing or null"},
        {"B10 both null", "{\"Pod\":" POD ",\"Nodes\":null,\"NodeNames\":null}", "both missing or null"},
        {"B10 neither", "{\"Pod\":" POD "}", "both missing or null"},
        {"B10 empty object", "{}", "Pod is missing or null"},
        {"B10 names are an object", "{\"Pod\":" POD ",\"NodeNames\":{}}", "expected an array"},
        {"null", "null", "expected an object"},
        {"nothing", "", "input ends"},
        {"blank", "  \n", "input ends"},
        {"array", "[]", "expected an object"},
        {"text", "\"Pod\"", "expected an object"},
        {"Pod is a number", "{\"Pod\":1,\"NodeNames\":[]}", "expected an object"},
        {"Pod is a list", "{\"Pod\":[],\"NodeNames\":[]}", "expected an object"},
        {"name is a number", "{\"Pod\":" POD ",\"NodeNames\":[\"a\",1]}", "expected a string"},
        {"name is null", "{\"Pod\":" POD ",\"NodeNames\":[null]}", "expected a string"},
        {"Nodes is a list", "{\"Pod\":" POD ",\"Nodes\":[]}", "expected an object"},
        {"items is an object", "{\"Pod\":" POD ",\"Nodes\":{\"items\":{}}}", "expected an array"},
        {"node without a name", "{\"Pod\":" POD ",\"Nodes\":{\"items\":[{\"metadata\":{}}]}}",
         "a node without metadata.name"},
        {"node is null", "{\"Pod\":" POD ",\"Nodes\":{\"items\":[null]}}", "a node without metadata.name"},
        {"same key twice", "{\"Pod\":" POD ",\"NodeNames\":[],\"NodeNames\":[]}", "duplicate key"},
        {"same key in two cases", "{\"Pod\":" POD ",\"nodenames\":[],\"NodeNames\":[]}", "duplicate key"},
        {"same key with an escape", "{\"Pod\":" POD ",\"NodeNames\":[],\"nodename\\u0073\":[]}", "duplicate key"},
        {"null and a value", "{\"Pod\":null,\"pod\":" POD ",\"NodeNames\":[]}", "duplicate key"},
        {"same key inside", "{\"Pod\":{\"spec\":{},\"spec\":{}},\"NodeNames\":[]}", "duplicate key"},
        {"same unread key", "{\"x\":1,\"x\":1,\"Pod\":" POD ",\"NodeNames\":[]}", "duplicate key"},
        {"trailing word", "{\"Pod\":" POD ",\"NodeNames\":[]} x", "more text after the value"},
        {"trailing value", "{\"Pod\":" POD ",\"NodeNames\":[]}{}", "more text after the value"},
        {"trailing comma", "{\"Pod\":" POD ",\"NodeNames\":[\"a\",]}", "trailing comma"},
        {"invalid UTF-8 in a name", "{\"Pod\":" POD ",\"NodeNames\":[\"n\xff\"]}", "UTF-8"},
        {"overlong UTF-8", "{\"Pod\":" POD ",\"NodeNames\":[\"n\xc0\xaf\"]}", "UTF-8"},
        {"invalid UTF-8 in an unread key", "{\"\xc3(\":1,\"Pod\":" POD ",\"NodeNames\":[]}", "UTF-8"},
        {"NUL", "{\"Pod\":" POD ",\"NodeNames\":[\"n\\u0000\"]}", "JSON at byte"},
        {"lone surrogate", "{\"Pod\":" POD ",\"NodeNames\":[\"\\ud800\"]}", "JSON at byte"},
        {"not JSON", "Pod=p&NodeNames=n1", "JSON at byte 0"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct extender_args args = {.name_n = 42};

        if (read_args(f, rows[i].body, &args) >= 0) {
            fail_msg("%s: accepted", rows[i].name);
        }
        if (strncmp(f->err.msg, "ExtenderArgs: ", 14) != 0 || strstr(f->err.msg, rows[i].text) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].name, f->err.msg, rows[i].text);
        }
        assert_int_equal(args.name_n, 42);
    }
}

static void read_args__truncated_at_every_byte__refused(void **state)
{
    static const char whole[] =
        "{\"Pod\":{\"metadata\":{\"name\":\"p\\u00e9\",\"labels\":{\"a\":\"\xc3\xa9\"}},\"spec\":{"
        "\"containers\":"
        "[{\"name\":\"c\",\"resources\":{\"limits\":{\"fgpu.io/gpu-milli\":\"300\"}}}]}},"
        "\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n1\"}}]},\"x\":[true,-1.5e3,null]}";
    struct fixture *f = *state;
    struct extender_args args;

    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        if (wire_read_args(body_of(f, whole, n), &f->arena, &args, &f->err) >= 0 || f->err.msg[0] == '\0') {
            fail_msg("the first %zu bytes are accepted", n);
        }
    }
    assert_int_equal(wire_read_args(body_of(f, whole, sizeof(whole) - 1), &f->arena, &args, &f->err), 0);
}

static void read_args__nested_a_thousand_deep__refused(void **state)
{
    static const struct {
        const char *name, *before, *open, *close, *after;
    } rows[] = {
        {"unread list", "{\"x\":", "[", "]", ",\"Pod\":" POD ",\"NodeNames\":[]}"},
        {"inside a node", "{\"Pod\":" POD ",\"Nodes\":{\"items\":[", "{\"metadata\":", "}", "]}}"},
        {"the body", "", "[", "]", ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct extender_args args;
        struct strbuf body;

        strbuf_init(&body, 1 << 20);
        strbuf_add_cstr(&body, rows[i].before);
        for (int level = 0; level < 1000; level++) {
            strbuf_add_cstr(&body, rows[i].open);
        }
        strbuf_add_cstr(&body, "null");
        for (int level = 0; level < 1000; level++) {
            strbuf_add_cstr(&body, rows[i].close);
        }
        strbuf_add_cstr(&body, rows[i].after);
        if (read_args(f, body.p, &args) >= 0) {
            fail_msg("%s: accepted", rows[i].name);
        }
        assert_non_null(strstr(f->err.msg, "JSON at byte"));
        strbuf_fini(&body);
    }
}

static void read_args__five_thousand_names__all_read(void **state)
{
    struct fixture *f = *state;
    struct extender_args args;
    struct strbuf body;

    strbuf_init(&body, 1 << 20);
    strbuf_add_cstr(&body, "{\"Pod\":" POD ",\"NodeNames\":[");
    for (int i = 0; i < 5000; i++) {
        strbuf_addf(&body, "%s\"node-%d\"", i > 0 ? "," : "", i);
    }
    strbuf_add_cstr(&body, "]}");
    assert_int_equal(read_args(f, body.p, &args), 0);
    assert_int_equal(args.name_n, 5000);
    assert_str(args.names[0], "node-0");
    assert_str(args.names[4999], "node-4999");
    strbuf_fini(&body);
}

static void read_args__arena_too_small__refused_as_a_limit(void **state)
{
    static const char text[] = "{\"Pod\":" POD ",\"NodeNames\":[\"a\"]}";
    struct fixture *f = *state;
    struct extender_args args;
    struct arena tiny;

    arena_init(&tiny, sizeof(struct json_reader) + 128);
    assert_true(wire_read_args(body_of(f, text, strlen(text)), &tiny, &args, &f->err) < 0);
    assert_int_equal(f->err.code, ERR_LIMIT);
    arena_fini(&tiny);
}

/* ---- ExtenderBindingArgs ---- */

static void read_bind__what_callers_send__understood(void **state)
{
    static const char *const bodies[] = {
        "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n3\"}",
        "{\"podname\":\"p\",\"podnamespace\":\"ns\",\"poduid\":\"u\",\"node\":\"n3\",\"x\":1}\n",
        "{\"Node\":\"n3\",\"PodUID\":\"u\",\"PodNamespace\":\"ns\",\"PodName\":\"\\u0070\"}",
    };
    struct bind_request b;

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        assert_int_equal(read_bind(*state, bodies[i], &b), 0);
        assert_str(b.pod_name, "p");
        assert_str(b.pod_namespace, "ns");
        assert_str(b.pod_uid, "u");
        assert_str(b.node_name, "n3");
    }
}

static void read_bind__nonsense__refused_with_its_reason(void **state)
{
    static const struct {
        const char *name, *body, *text;
    } rows[] = {
        {"no name", "{\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n\"}", "all required"},
        {"no namespace", "{\"PodName\":\"p\",\"PodUID\":\"u\",\"Node\":\"n\"}", "all required"},
        {"no uid", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"Node\":\"n\"}", "all required"},
        {"no node", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\"}", "all required"},
        {"null node", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":null}", "all required"},
        {"empty uid", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"\",\"Node\":\"n\"}", "all required"},
        {"uid is a number", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":1,\"Node\":\"n\"}",
         "expected a string"},
        {"twice",
         "{\"PodName\":\"p\",\"podname\":\"q\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":"
         "\"n\"}",
         "duplicate key"},
        {"null", "null", "expected an object"},
        {"nothing", "", "input ends"},
        {"trailing", "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n\"}]",
         "more text after the value"},
        {"invalid UTF-8", "{\"PodName\":\"\x80\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n\"}", "UTF-8"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bind_request b = {.node_name = STR("untouched")};

        if (read_bind(f, rows[i].body, &b) >= 0) {
            fail_msg("%s: accepted", rows[i].name);
        }
        if (strncmp(f->err.msg, "ExtenderBindingArgs: ", 21) != 0 || strstr(f->err.msg, rows[i].text) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].name, f->err.msg, rows[i].text);
        }
        assert_str(b.node_name, "untouched");
    }
}

/* No such object can exist, so nobody is asked for it; what is wrong is said with the rule. */
static void read_bind__names_nobody_can_have__refused_by_their_rule(void **state)
{
    static char lengthy[300];
    const struct {
        const char *pod, *namespace_, *node, *text;
    } rows[] = {
        {"a_b", "ns", "n",
         "PodName \"a_b\" cannot be the name of a pod: lower-case letters, digits, '-' and '.', "
         "a letter or digit at both ends of each part, at most 253 bytes"},
        {"Pod", "ns", "n", "PodName \"Pod\" cannot be"},
        {"../p", "ns", "n", "PodName \"../p\" cannot be"},
        {lengthy, "ns", "n", "xxxx...\" cannot be the name of a pod: lower-case"},
        {"p", "a.b", "n",
         "PodNamespace \"a.b\" cannot be the name of a namespace: lower-case letters, digits and '-', "
         "a letter or digit at both ends, at most 63 bytes"},
        {"p", "ns", "n/1", "Node \"n/1\" cannot be the name of a node: lower-case"},
    };
    struct fixture *f = *state;

    memset(lengthy, 'x', 254);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bind_request b = {.node_name = STR("untouched")};
        char body[512];

        snprintf(body, sizeof(body), "{\"PodName\":\"%s\",\"PodNamespace\":\"%s\",\"PodUID\":\"u\",\"Node\":\"%s\"}",
                 rows[i].pod, rows[i].namespace_, rows[i].node);
        assert_true(read_bind(f, body, &b) < 0);
        assert_int_equal(f->err.code, ERR_INVALID);
        if (strstr(f->err.msg, rows[i].text) == NULL) {
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, f->err.msg, rows[i].text);
        }
        assert_str(b.node_name, "untouched");
    }
}

static void read_bind__truncated_at_every_byte__refused(void **state)
{
    static const char whole[] = "{\"PodName\":\"p\",\"PodNamespace\":\"ns\",\"PodUID\":\"u\",\"Node\":\"n\\u0033\"}";
    struct fixture *f = *state;
    struct bind_request b;

    for (size_t n = 0; n < sizeof(whole) - 1; n++) {
        if (wire_read_bind(body_of(f, whole, n), &f->arena, &b, &f->err) >= 0) {
            fail_msg("the first %zu bytes are accepted", n);
        }
    }
}

/* ---- replies ---- */

static struct pack_result result(const char *name, enum verdict v)
{
    return (struct pack_result){.name = str_of(name), .verdict = v};
}

static void assert_reply(struct strbuf *out, const char *golden)
{
    assert_false(out->overflowed);
    assert_int_equal(out->n, strlen(out->p));
    assert_string_equal(out->p, golden);
    strbuf_reset(out);
}

/* Byte for byte: exact Go names, no blank, no newline after the value. */
static void write_filter__each_outcome__golden(void **state)
{
    struct str names[] = {STR("n1"), STR("n2"), STR("n3")};
    struct extender_args args = {.names = names, .name_n = 3};
    struct pack_result fits[] = {result("n3", VERDICT_FITS), result("n1", VERDICT_FITS),
                                 result("n2", VERDICT_NO_MEMORY)};
    struct pack_result refused[] = {result("n1", VERDICT_NO_MEMORY), result("n2", VERDICT_NODE_UNKNOWN),
                                    result("n3", VERDICT_NO_MEMORY)};
    struct filter_result r = {.outcome = FILTER_SOME_FIT, .results = fits, .result_n = 3, .fit_n = 2};
    struct strbuf out;

    strbuf_init(&out, 1 << 16);
    wire_write_filter(&out, &args, &r);
    assert_reply(&out, "{\"NodeNames\":[\"n3\",\"n1\"],\"Nodes\":null,\"FailedNodes\":{},"
                       "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
    r = (struct filter_result){.outcome = FILTER_NONE_FITS, .results = refused, .result_n = 3};
    wire_write_filter(&out, &args, &r);
    assert_reply(&out, "{\"NodeNames\":[],\"Nodes\":null,"
                       "\"FailedNodes\":{\"n1\":\"too few GPUs with enough free memory\","
                       "\"n3\":\"too few GPUs with enough free memory\"},"
                       "\"FailedAndUnresolvableNodes\":{\"n2\":\"node not known to fgpu yet\"},\"Error\":\"\"}");
    r = (struct filter_result){.outcome = FILTER_NOT_OURS, .names = names, .name_n = 3};
    wire_write_filter(&out, &args, &r);
    assert_reply(&out, "{\"NodeNames\":[\"n1\",\"n2\",\"n3\"],\"Nodes\":null,\"FailedNodes\":{},"
                       "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
    r = (struct filter_result){.outcome = FILTER_NONE_FITS};
    wire_write_filter(&out, &(struct extender_args){.names = names}, &r);
    assert_reply(&out, "{\"NodeNames\":[],\"Nodes\":null,\"FailedNodes\":{},"
                       "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
    wire_write_filter_error(&out, STR("not \"ready\" <yet>"));
    assert_reply(&out, "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":null,"
                       "\"FailedAndUnresolvableNodes\":null,"
                       "\"Error\":\"not \\\"ready\\\" \\u003cyet\\u003e\"}");
    strbuf_fini(&out);
}

static void write_filter__whole_nodes__echoed_unchanged(void **state)
{
    struct str names[] = {STR("n1"), STR("n2")};
    struct str raw[] = {STR("{\"metadata\":{ \"name\":\"n1\"},\"x\":1.50}"), STR("{\"metadata\":{\"name\":\"n2\"}}")};
    struct extender_args args = {.names = names, .name_n = 2, .raw_nodes = raw};
    struct pack_result results[] = {result("n2", VERDICT_FITS), result("n1", VERDICT_FITS)};
    struct filter_result r = {.outcome = FILTER_SOME_FIT, .results = results, .result_n = 2, .fit_n = 2};
    struct strbuf out;

    strbuf_init(&out, 1 << 16);
    wire_write_filter(&out, &args, &r);
    assert_reply(&out, "{\"Nodes\":{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"n2\"}},"
                       "{\"metadata\":{ \"name\":\"n1\"},\"x\":1.50}]},\"NodeNames\":null,\"FailedNodes\":{},"
                       "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
    strbuf_fini(&out);
}

/* How often each name stands in the reply, in whatever place. */
static int mentions(const cJSON *reply, const char *name)
{
    const cJSON *item;
    int n = 0;

    cJSON_ArrayForEach(item, json_at(reply, "NodeNames"))
    {
        n += strcmp(item->valuestring, name) == 0;
    }
    cJSON_ArrayForEach(item, json_at(reply, "FailedNodes"))
    {
        n += strcmp(item->string, name) == 0;
    }
    cJSON_ArrayForEach(item, json_at(reply, "FailedAndUnresolvableNodes"))
    {
        n += strcmp(item->string, name) == 0;
    }
    return n;
}

enum { MANY = 3 * VERDICT__MAX };

static void assert_each_once(const struct extender_args *args, const struct filter_result *r)
{
    struct strbuf out;
    cJSON *reply;

    strbuf_init(&out, 1 << 20);
    wire_write_filter(&out, args, r);
    reply = json_of(out.p, out.n);
    assert_int_equal(cJSON_GetArraySize(json_at(reply, "NodeNames")), 0);
    assert_string_equal(json_text_at(reply, "Error"), "");
    for (size_t i = 0; i < args->name_n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", STR_ARG(args->names[i]));
        assert_int_equal(mentions(reply, name), 1);
    }
    cJSON_Delete(reply);
    strbuf_fini(&out);
}

static void write_filter__nothing_fits__every_node_once_with_its_reason(void **state)
{
    static char texts[MANY][32];
    struct str names[MANY];
    struct pack_result results[MANY];
    struct extender_args args = {.names = names, .name_n = MANY};
    struct filter_result r = {.outcome = FILTER_NONE_FITS, .results = results, .result_n = MANY};

    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof(texts[i]), "node-%d", i);
        names[i] = str_of(texts[i]);
        results[i] = result(texts[i], (enum verdict)(1 + i % (VERDICT__MAX - 1)));
    }
    assert_each_once(&args, &r);
}

static void write_filter__every_defect__one_constant_reason_for_all(void **state)
{
    struct str names[] = {STR("n1"), STR("n2"), STR("n3")};
    struct extender_args args = {.names = names, .name_n = 3};

    for (int defect = DEMAND_OK + 1; defect < DEMAND_DEFECT__MAX; defect++) {
        struct filter_result r = {
            .outcome = FILTER_DEFECT, .defect = (enum demand_defect)defect, .names = names, .name_n = 3};
        struct strbuf out;
        cJSON *reply;
        const cJSON *reason;

        assert_each_once(&args, &r);
        strbuf_init(&out, 1 << 16);
        wire_write_filter(&out, &args, &r);
        reply = json_of(out.p, out.n);
        assert_int_equal(cJSON_GetArraySize(json_at(reply, "FailedNodes")), 0);
        cJSON_ArrayForEach(reason, json_at(reply, "FailedAndUnresolvableNodes"))
        {
            assert_string_equal(reason->valuestring, demand_defect_text((enum demand_defect)defect));
        }
        cJSON_Delete(reply);
        strbuf_fini(&out);
    }
}

/* What we read we answer: hostile names go through unharmed, as JSON and as the very same bytes. */
static void write_filter__hostile_names__same_names_back(void **state)
{
    static const char text[] = "{\"Pod\":" POD ",\"NodeNames\":[\"a\\\"b\",\"<script>\",\"\\u2028\",\"\\n\",\"\"]}";
    struct fixture *f = *state;
    struct extender_args args;
    struct filter_result r = {.outcome = FILTER_NOT_OURS};
    struct strbuf out;
    cJSON *reply;

    assert_int_equal(read_args(f, text, &args), 0);
    r.names = args.names;
    r.name_n = args.name_n;
    strbuf_init(&out, 1 << 16);
    wire_write_filter(&out, &args, &r);
    assert_null(strpbrk(out.p, "<>\n"));
    reply = json_of(out.p, out.n);
    assert_int_equal(cJSON_GetArraySize(json_at(reply, "NodeNames")), 5);
    assert_string_equal(json_text_at(reply, "NodeNames.0"), "a\"b");
    assert_string_equal(json_text_at(reply, "NodeNames.1"), "<script>");
    assert_string_equal(json_text_at(reply, "NodeNames.2"), "\xe2\x80\xa8");
    assert_string_equal(json_text_at(reply, "NodeNames.3"), "\n");
    assert_string_equal(json_text_at(reply, "NodeNames.4"), "");
    cJSON_Delete(reply);
    strbuf_fini(&out);
}

static void write_priorities__ranked__golden(void **state)
{
    struct pack_result ranked[] = {result("n2", VERDICT_FITS), result("n1", VERDICT_FITS),
                                   result("n3", VERDICT_NO_SLOT)};
    const int32_t points[] = {10, 7, 0};
    struct prioritize_result r = {ranked, points, 3};
    struct strbuf out;

    strbuf_init(&out, 1 << 16);
    wire_write_priorities(&out, &r);
    assert_reply(&out, "[{\"Host\":\"n2\",\"Score\":10},{\"Host\":\"n1\",\"Score\":7},{\"Host\":"
                       "\"n3\",\"Score\":0}]");
    ranked[1].name = STR("a\"b"); /* no name of a node, but it is answered as it came */
    wire_write_priorities(&out, &r);
    assert_reply(&out, "[{\"Host\":\"n2\",\"Score\":10},{\"Host\":\"a\\\"b\",\"Score\":7},{\"Host\":"
                       "\"n3\",\"Score\":0}]");
    ranked[1].name = STR("node-of-16-bytes");
    ranked[2].name = STR("node-of-17-bytes-"); /* and others around what is copied in one piece */
    wire_write_priorities(&out, &r);
    assert_reply(&out, "[{\"Host\":\"n2\",\"Score\":10},{\"Host\":\"node-of-16-bytes\",\"Score\":7},{\"Host\":"
                       "\"node-of-17-bytes-\",\"Score\":0}]");
    ranked[1].name = STR("eight-by");
    ranked[2].name = STR("seven-b");
    wire_write_priorities(&out, &r);
    assert_reply(&out, "[{\"Host\":\"n2\",\"Score\":10},{\"Host\":\"eight-by\",\"Score\":7},{\"Host\":"
                       "\"seven-b\",\"Score\":0}]");
    r.n = 0;
    wire_write_priorities(&out, &r);
    assert_reply(&out, "[]");
    strbuf_fini(&out);
}

static void write_bind__outcome__golden(void **state)
{
    struct strbuf out;

    strbuf_init(&out, 4096);
    wire_write_bound(&out);
    assert_reply(&out, "{\"Error\":\"\"}");
    wire_write_not_bound(&out, "taken");
    assert_reply(&out, "{\"Error\":\"taken\"}");
    strbuf_fini(&out);
}

/* Of an empty Error kube-scheduler reads that the pod is bound. */
static void F130_write_bind__refused_without_a_text__is_no_success(void **state)
{
    static const char *const texts[] = {NULL, ""};
    struct strbuf out;

    strbuf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        wire_write_not_bound(&out, texts[i]);
        assert_reply(&out, "{\"Error\":\"not bound, for an unknown reason\"}");
    }
    strbuf_fini(&out);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(read_args__what_callers_send__understood),
        TEST(read_args__keys_inside_pod__exact),
        TEST(read_args__whole_nodes__kept_unchanged),
        TEST(read_args__nonsense__refused_with_its_reason),
        TEST(read_args__truncated_at_every_byte__refused),
        TEST(read_args__nested_a_thousand_deep__refused),
        TEST(read_args__five_thousand_names__all_read),
        TEST(read_args__arena_too_small__refused_as_a_limit),
        TEST(read_bind__what_callers_send__understood),
        TEST(read_bind__nonsense__refused_with_its_reason),
        TEST(read_bind__names_nobody_can_have__refused_by_their_rule),
        TEST(read_bind__truncated_at_every_byte__refused),
        TEST(write_filter__each_outcome__golden),
        TEST(write_filter__whole_nodes__echoed_unchanged),
        TEST(write_filter__nothing_fits__every_node_once_with_its_reason),
        TEST(write_filter__every_defect__one_constant_reason_for_all),
        TEST(write_filter__hostile_names__same_names_back),
        TEST(write_priorities__ranked__golden),
        TEST(write_bind__outcome__golden),
        TEST(F130_write_bind__refused_without_a_text__is_no_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
