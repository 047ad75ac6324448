/* /state read back: the same charges and free amounts, and errors that name the place. */
#include "base/rng.h"
#include "core/report/demand_histogram.h"
#include "sim/state_file.h"

#include "cmd/commands.h"
#include "cmd/support/full_state.h"
#include "support/cmocka.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 60

static struct state_file parse(const char *text)
{
    struct config_names names;
    struct state_file f;
    struct err err;

    cmd_config_names(&names);
    if (state_file_parse("state.json", str_of(text), &names, &f, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    return f;
}

/* The store that the document describes, with another hash key. */
static void rebuild(struct full_state *to, const char *text, const char *yaml)
{
    struct state_file f = parse(text);
    struct ledger *l;
    struct err err;

    full_state_init(to, 4711, yaml);
    for (size_t i = 0; i < f.op_n; i++) {
        struct ledger_op op = f.ops[i];

        op.node.note = op.kind == LEDGER_NODE_DESCRIBED ? NULL : op.node.note; /* dies with `f` */
        full_state_apply(to, op);
    }
    if (state_file_ledger(&f, &l, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    assert_null(ledger_check(l));
    assert_true(ledger_is_synced(l));
    ledger_free(l);
    state_file_fini(&f);
}

static void forget(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

static void forget_states(cJSON *allocations)
{
    cJSON *a;

    cJSON_ArrayForEach(a, allocations)
    {
        forget(a, "state"); /* reserved and conflict become bound */
        forget(a, "since");
        forget(a, "decision"); /* ids of pods that are somebody else's */
    }
}

/* What must come back: nodes with everything that counts on them, and what is pending. */
static cJSON *essence(const char *text)
{
    cJSON *doc = cJSON_Parse(text), *node, *gpu, *p;

    assert_non_null(doc);
    forget(doc, "metadata");
    forget(doc, "conflicts");
    forget(doc, "incidents"); /* which came first, the pod or the smaller GPU, is not in the document */
    forget(cJSON_GetObjectItem(doc, "summary"), "doubleBookedGpus");
    forget(cJSON_GetObjectItem(doc, "summary"), "foreignDecisions");
    cJSON_ArrayForEach(node, cJSON_GetObjectItem(doc, "nodes"))
    {
        forget(node, "note");
        if (cJSON_IsFalse(cJSON_GetObjectItem(node, "described"))) {
            forget(node, "uid");
            forget(node, "schedulable");
            forget(node, "source");
            forget(node, "dialects");
        }
        forget_states(cJSON_GetObjectItem(cJSON_GetObjectItem(node, "wholeGpus"), "allocations"));
        forget_states(cJSON_GetObjectItem(node, "unplaced"));
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItem(node, "gpus"))
        {
            forget_states(cJSON_GetObjectItem(gpu, "allocations"));
        }
    }
    forget_states(cJSON_GetObjectItem(doc, "pending"));
    /* learned anew from the pods that hold GPUs */
    forget(cJSON_GetObjectItem(doc, "summary"), "demandHistogram");
    forget(cJSON_GetObjectItem(doc, "summary"), "mix");
    p = cJSON_GetObjectItem(cJSON_GetObjectItem(doc, "summary"), "pods"); /* reserved, confirmed and bound are one */
    forget(p, "reserved");
    forget(p, "confirmed");
    forget(p, "bound");
    forget(p, "foreign");
    return doc;
}

static void assert_same(const char *a, const char *b, uint64_t seed)
{
    cJSON *x = essence(a), *y = essence(b);
    cJSON *nodes = cJSON_GetObjectItem(x, "nodes"), *others = cJSON_GetObjectItem(y, "nodes");

    assert_int_equal(cJSON_GetArraySize(nodes), cJSON_GetArraySize(others));
    for (int i = 0; i < cJSON_GetArraySize(nodes); i++) {
        const cJSON *p = cJSON_GetArrayItem(nodes, i), *q = cJSON_GetArrayItem(others, i);

        if (!cJSON_Compare(p, q, true)) {
            fail_msg("seed %llu: node differs\n%s\n%s", (unsigned long long)seed, cJSON_PrintUnformatted(p),
                     cJSON_PrintUnformatted(q));
        }
    }
    if (!cJSON_Compare(x, y, true)) {
        forget(x, "nodes");
        forget(y, "nodes");
        fail_msg("seed %llu: documents differ\n%s\n%s", (unsigned long long)seed, cJSON_PrintUnformatted(x),
                 cJSON_PrintUnformatted(y));
    }
    cJSON_Delete(x);
    cJSON_Delete(y);
}

static void state__read_back__same_charges_and_free_amounts(void **state)
{
    static const char *const configurations[] = {
        "",
        "devices:\n  overcommit:\n    compute: 1.5\n    memory: 1.25\n",
    };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *yaml = configurations[seed % 2];
        struct full_state a, b;
        char *before, *after;

        full_state_init(&a, seed, yaml);
        full_state_fill(&a);
        before = full_state_state(&a);
        rebuild(&b, before, yaml);
        after = full_state_state(&b);
        assert_same(before, after, seed);
        free(before);
        free(after);
        full_state_fini(&a);
        full_state_fini(&b);
    }
}

/* All members in the opposite order, as a tool that sorts keys may write them. */
static void turn_round(cJSON *value)
{
    cJSON *turned, *child;

    cJSON_ArrayForEach(child, value)
    {
        turn_round(child);
    }
    if (!cJSON_IsObject(value)) {
        return;
    }
    turned = cJSON_CreateObject();
    while ((child = cJSON_DetachItemFromArray(value, 0)) != NULL) {
        if (turned->child == NULL) {
            cJSON_AddItemToObject(turned, child->string, child);
        } else {
            cJSON_InsertItemInArray(turned, 0, child);
        }
    }
    value->child = turned->child;
    turned->child = NULL;
    cJSON_Delete(turned);
}

static void state__read_back_in_another_order__the_same(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct full_state a, b;
        char *before, *turned, *after;
        cJSON *doc;

        full_state_init(&a, seed, "");
        full_state_fill(&a);
        before = full_state_state(&a);
        doc = cJSON_Parse(before);
        turn_round(doc);
        turned = cJSON_PrintUnformatted(doc);
        assert_true(strncmp(turned, "{\"configuration\":", 17) == 0);
        rebuild(&b, turned, "");
        after = full_state_state(&b);
        assert_same(before, after, seed);
        cJSON_Delete(doc);
        free(before);
        free(turned);
        free(after);
        full_state_fini(&a);
        full_state_fini(&b);
    }
}

/* ---- names that /state had before (decision 0047) ---- */

static const struct {
    const char *now, *before;
} renamed[] = {{"demandHistogram", "mix"}, {"gpuRequests", "wishes"}, {"residual", "room"}};

/* Both names are there and say the same; counts them. */
static void expect_both_names(const cJSON *at, unsigned seen[static ARRAY_LEN(renamed)])
{
    const cJSON *below;

    for (size_t i = 0; i < ARRAY_LEN(renamed) && cJSON_IsObject(at); i++) {
        const cJSON *now = cJSON_GetObjectItem(at, renamed[i].now);
        const cJSON *before = cJSON_GetObjectItem(at, renamed[i].before);

        if ((now != NULL || before != NULL) && !cJSON_Compare(now, before, true)) {
            fail_msg("%s is not %s: %s", renamed[i].before, renamed[i].now, cJSON_PrintUnformatted(at));
        }
        seen[i] += now != NULL;
    }
    cJSON_ArrayForEach(below, at)
    {
        expect_both_names(below, seen);
    }
}

static void forget_present_names(cJSON *at)
{
    cJSON *below;

    for (size_t i = 0; i < ARRAY_LEN(renamed); i++) {
        forget(at, renamed[i].now);
    }
    cJSON_ArrayForEach(below, at)
    {
        forget_present_names(below);
    }
}

static void state__renamed_keys__both_names_with_one_value_and_either_is_read(void **state)
{
    unsigned seen[ARRAY_LEN(renamed)] = {0};

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct full_state a, b;
        struct state_file f;
        char *text, *older, *after;
        cJSON *doc;

        full_state_init(&a, seed, "");
        full_state_fill(&a);
        text = full_state_state(&a);
        doc = cJSON_Parse(text);
        expect_both_names(doc, seen);
        forget_present_names(doc); /* as an older fgpu writes it */
        older = cJSON_PrintUnformatted(doc);
        f = parse(older);
        assert_non_null(f.mix);
        rebuild(&b, older, "");
        after = full_state_state(&b);
        assert_same(text, after, seed);
        cJSON_Delete(doc);
        cJSON_free(older);
        free(text);
        free(after);
        state_file_fini(&f);
        full_state_fini(&a);
        full_state_fini(&b);
    }
    for (size_t i = 0; i < ARRAY_LEN(renamed); i++) {
        assert_true(seen[i] > 0);
    }
}

/* The property above would hold of empty clusters too: what the cluster really contains. */
static void full_state__sixty_seeds__have_everything(void **state)
{
    static const char *const words[] = {
        "\"raised\":[",        "\"unplaced\":[",
        "\"phases\":",         "\"kind\":\"whole\"",
        "\"kind\":\"memory\"", "\"lost\":true",
        "\"defect\":",         "\"wholeGpus\":{",
        "\"editable\":true",   "\"state\":\"reserved\"",
        "\"foreign\"",         "\"models\":[",
        "\"described\":false", "\"free\":-",
        "\"family\":",         "\"counted\":true",
        "\"mig\":\"1g.5gb\"",  "\"record\":\"verified\"",
    };
    unsigned seen[ARRAY_LEN(words)] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct full_state c;
        char *text;

        full_state_init(&c, seed, "");
        full_state_fill(&c);
        text = full_state_state(&c);
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            seen[i] += strstr(text, words[i]) != NULL;
        }
        free(text);
        full_state_fini(&c);
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (seen[i] == 0) {
            fail_msg("no document has %s", words[i]);
        }
    }
}

static void parse__head__is_there(void **state)
{
    struct full_state c;
    struct state_file f;
    char *text;

    full_state_init(&c, 3, "packing:\n  candidates: 7\n");
    full_state_fill(&c);
    text = full_state_state(&c);
    f = parse(text);
    assert_int_equal(f.config->policy.candidates, 7);
    assert_int_equal(f.as_of_ms, clock_wall_ms(&c.clock.clock));
    state_file_fini(&f);
    free(text);
    full_state_fini(&c);
}

/* `from` replaced by `to`, once; behind the summary if it stands there, because what has been learned is not read. */
static char *spoilt(const char *text, const char *from, const char *to)
{
    const char *nodes = strstr(text, "\"nodes\":[");
    const char *at = nodes != NULL ? strstr(nodes, from) : NULL;
    size_t n = strlen(text) + strlen(to) + 1;
    char *out = malloc(n);

    at = at != NULL ? at : strstr(text, from);
    assert_non_null(out);
    if (at == NULL) {
        fail_msg("no %s", from);
        return out;
    }
    snprintf(out, n, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void parse__nonsense__refused_with_its_place(void **state)
{
    static const struct {
        const char *from, *to, *why;
    } rows[] = {
        {"{\"apiVersion\":\"state.fgpu.io/v1alpha1\"", "{\"apiVersion\":\"v1\"", "apiVersion is not"},
        {"\"kind\":\"State\"", "\"kind\":\"Pod\"", "kind is not State"},
        {"\"pending\":[", "\"later\":[", "not a whole document"},
        {"\"configuration\":{", "\"other\":{", "not a whole document"},
        {"\"index\":0", "\"index\":-1", "nodes[0].gpus[0]: JSON at byte"},
        {"\"index\":0", "\"index\":\"0\"", "nodes[0].gpus[0]: JSON at byte"},
        {"\"baseMemMib\":", "\"base\":", "nodes[0].gpus[0]: JSON at byte"},
        {"\"name\":\"n1\"", "\"name\":\"\"", "nodes[1]: JSON at byte"},
        {"\"kind\":\"whole\"", "\"kind\":\"half\"", "a kind of request that this version does not know"},
        {"\"dialect\":\"native\"", "\"dialect\":\"latin\"", "a vocabulary that this version does not know"},
        {"\"source\":\"annotation\"", "\"source\":\"stars\"", "nodes[0]: JSON at byte"},
        {"\"index\":0,", "\"index\":0,\"index\":0,", "duplicate key"},
        {"{\"capacity\":1000,", "{\"capacity\":1500,", "do not follow from the over-commit factors"},
        {"\"nodeStrategy\":", "\"nodeTragedy\":", "configuration:1"},
        {"\"conflicts\":[", "\"conflicts\":[}", "JSON at byte"},
    };
    struct config_names names;
    struct full_state c;
    char *text;

    cmd_config_names(&names);
    full_state_init(&c, 3, "");
    full_state_fill(&c);
    text = full_state_state(&c);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *bad = spoilt(text, rows[i].from, rows[i].to);
        struct state_file f;
        struct err err = {.code = ERR_OK};

        if (state_file_parse("x.json", str_of(bad), &names, &f, &err) == 0) {
            fail_msg("%s: accepted", rows[i].to);
        }
        if (strncmp(err.msg, "x.json: ", 8) != 0 || strstr(err.msg, rows[i].why) == NULL) {
            fail_msg("%s: %s", rows[i].to, err.msg);
        }
        free(bad);
    }
    free(text);
    full_state_fini(&c);
}

/* ---- documents that somebody has edited ---- */

static const char *uid_of(const cJSON *allocation)
{
    return cJSON_GetObjectItem(allocation, "uid")->valuestring;
}

/* Charged everywhere on its node, so its allocations say nothing more. */
static bool is_unplaced(const cJSON *node, const char *uid)
{
    const cJSON *pod;

    cJSON_ArrayForEach(pod, cJSON_GetObjectItem(node, "unplaced"))
    {
        if (strcmp(uid_of(pod), uid) == 0) {
            return true;
        }
    }
    return false;
}

/* Those by which alone the document tells what a pod holds. */
static size_t collect_allocations(const cJSON *doc, cJSON **ret, size_t max)
{
    cJSON *node, *gpu, *allocation;
    size_t n = 0;

    cJSON_ArrayForEach(node, cJSON_GetObjectItem(doc, "nodes"))
    {
        cJSON_ArrayForEach(gpu, cJSON_GetObjectItem(node, "gpus"))
        {
            cJSON_ArrayForEach(allocation, cJSON_GetObjectItem(gpu, "allocations"))
            {
                assert_true(n < max);
                ret[n] = allocation;
                n += !is_unplaced(node, uid_of(allocation));
            }
        }
    }
    return n;
}

static bool has_another(cJSON **all, size_t n, size_t i)
{
    for (size_t j = 0; j < n; j++) {
        if (j != i && strcmp(uid_of(all[i]), uid_of(all[j])) == 0) {
            return true;
        }
    }
    return false;
}

static void expect_pod_refused(const cJSON *doc, const char *uid)
{
    char *text = cJSON_PrintUnformatted(doc), place[64];
    struct err err = {.code = ERR_OK};
    struct config_names names;
    struct state_file f;

    cmd_config_names(&names);
    snprintf(place, sizeof(place), "(%s): ", uid);
    assert_int_equal(state_file_parse("x.json", str_of(text), &names, &f, &err), -ERR_INVALID);
    if (strstr(err.msg, place) == NULL || strstr(err.msg, "some of its allocations have a record") == NULL) {
        fail_msg("%s: %s", uid, err.msg);
    }
    cJSON_free(text);
}

/* Of each pod with several allocations one after the other loses the record it has, or gets one that it has not. */
static void parse__holds_with_and_without_a_record__the_pod_is_named(void **state)
{
    size_t lost = 0, got = 0;

    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct full_state c;
        cJSON *doc, *all[2000];
        size_t n;
        char *text;

        full_state_init(&c, seed, "");
        full_state_fill(&c);
        text = full_state_state(&c);
        doc = cJSON_Parse(text);
        n = collect_allocations(doc, all, ARRAY_LEN(all));
        for (size_t i = 0; i < n; i++) {
            cJSON *record = cJSON_DetachItemFromObject(all[i], "record");

            if (has_another(all, n, i)) {
                if (record == NULL) {
                    cJSON_AddStringToObject(all[i], "record", "verified");
                }
                expect_pod_refused(doc, uid_of(all[i]));
                lost += record != NULL;
                got += record == NULL;
            }
            if (record != NULL) {
                cJSON_AddItemToObject(all[i], "record", record);
            } else {
                cJSON_DeleteItemFromObject(all[i], "record");
            }
        }
        cJSON_Delete(doc);
        free(text);
        full_state_fini(&c);
    }
    assert_true(lost > 5 && got > 5);
}

#define VALUES_MAX 100000

static size_t collect_values(cJSON *at, cJSON **all, size_t n)
{
    cJSON *below;

    assert_true(n < VALUES_MAX);
    all[n++] = at;
    cJSON_ArrayForEach(below, at)
    {
        n = collect_values(below, all, n);
    }
    return n;
}

/* Another number, word or flag in place of one of them; an element twice, or behind the others. */
static void spoil_value(struct rng *rng, cJSON *x, const cJSON *y)
{
    static const double numbers[] = {-2147483648.0, -1,   0,    1,     2,     64,         65,
                                     999,           1000, 1001, 16384, 65536, 2147483647, 1e15};

    if (cJSON_IsNumber(x)) {
        cJSON_SetNumberValue(x, numbers[rng_below(rng, ARRAY_LEN(numbers))]);
    } else if (cJSON_IsBool(x)) {
        x->type = cJSON_IsTrue(x) ? cJSON_False : cJSON_True;
    } else if (cJSON_IsString(x)) {
        cJSON_SetValuestring(x, cJSON_IsString(y) ? y->valuestring : "");
    } else if (cJSON_IsArray(x) && cJSON_GetArraySize(x) > 0) {
        cJSON *first = rng_below(rng, 2) == 0 ? cJSON_Duplicate(x->child, 1) : cJSON_DetachItemFromArray(x, 0);

        cJSON_AddItemToArray(x, first);
    }
}

/* What is accepted makes a sound ledger; what is not has a reason. */
static bool is_accepted_and_sound(const char *text)
{
    struct config_names names;
    struct state_file f;
    struct ledger *l = NULL;
    struct err err = {.code = ERR_OK};
    const char *why;
    int rc;

    cmd_config_names(&names);
    if (state_file_parse("spoilt", str_of(text), &names, &f, &err) != 0) {
        assert_true(err.msg[0] != '\0');
        return false;
    }
    rc = state_file_ledger(&f, &l, &err);
    why = rc == 0 ? ledger_check(l) : NULL;
    if (why != NULL) {
        fail_msg("%s: %s", why, text);
    }
    ledger_free(l);
    state_file_fini(&f);
    return rc == 0;
}

static void parse__values_spoilt__refused_or_sound(void **state)
{
    static cJSON *all[VALUES_MAX];
    size_t accepted_n = 0, refused_n = 0;
    struct rng rng;

    rng_init(&rng, 77);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct full_state c;
        char *text;

        full_state_init(&c, seed, "");
        full_state_fill(&c);
        text = full_state_state(&c);
        for (int i = 0; i < 50; i++) {
            cJSON *doc = cJSON_Parse(text);
            size_t n = collect_values(cJSON_GetObjectItem(doc, "nodes"), all, 0);
            char *spoilt_text;
            bool accepted;

            n = collect_values(cJSON_GetObjectItem(doc, "pending"), all, n);
            for (uint64_t k = rng_below(&rng, 4); k < 4; k++) {
                spoil_value(&rng, all[rng_below(&rng, n)], all[rng_below(&rng, n)]);
            }
            spoilt_text = cJSON_PrintUnformatted(doc);
            accepted = is_accepted_and_sound(spoilt_text);
            accepted_n += accepted;
            refused_n += !accepted;
            cJSON_free(spoilt_text);
            cJSON_Delete(doc);
        }
        free(text);
        full_state_fini(&c);
    }
    assert_true(accepted_n > 50 && refused_n > 20);
}

static bool take_shape(struct demand_histogram_report *r, const cJSON *s)
{
    const cJSON *models = cJSON_GetObjectItem(s, "models"), *mem = cJSON_GetObjectItem(s, "memMib");

    for (size_t i = 0; i < r->top_n; i++) {
        struct demand_histogram_report_shape *x = &r->top[i];

        if (x->weight == (uint64_t)cJSON_GetObjectItem(s, "weight")->valuedouble &&
            x->count == cJSON_GetObjectItem(s, "count")->valueint && x->mem_mib == (mem == NULL ? 0 : mem->valueint) &&
            x->plugin_managed == cJSON_HasObjectItem(s, "plugin") &&
            strcmp(x->models, models == NULL ? "" : models->valuestring) == 0) {
            x->weight = 0; /* taken */
            return true;
        }
    }
    return false;
}

/* What fgpu had learned is known again: kinds of pods, and how many of each. */
static void parse__learned_demand_histogram__the_same_kinds_as_often(void **state)
{
    size_t seen = 0;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct demand_histogram_report report;
        struct state_file f;
        struct full_state c;
        const cJSON *shapes;
        cJSON *doc;
        char *text;

        full_state_init(&c, seed, "");
        full_state_fill(&c);
        text = full_state_state(&c);
        full_state_fini(&c);
        f = parse(text);
        doc = cJSON_Parse(text);
        shapes =
            cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(doc, "summary"), "demandHistogram"), "shapes");
        assert_non_null(f.mix);
        demand_histogram_report_take(f.mix, &report);
        assert_int_equal(report.top_n, cJSON_GetArraySize(shapes));
        for (int i = 0; i < cJSON_GetArraySize(shapes); i++, seen++) {
            assert_true(take_shape(&report, cJSON_GetArrayItem(shapes, i)));
        }
        cJSON_Delete(doc);
        state_file_fini(&f);
        free(text);
    }
    assert_true(seen > 20);
}

static void read__no_file__says_so(void **state)
{
    struct config_names names;
    struct state_file f;
    struct err err;

    cmd_config_names(&names);
    assert_int_equal(state_file_read("/nonexistent/state.json", &names, &f, &err), -ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/nonexistent/state.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state__read_back__same_charges_and_free_amounts),
        cmocka_unit_test(state__read_back_in_another_order__the_same),
        cmocka_unit_test(state__renamed_keys__both_names_with_one_value_and_either_is_read),
        cmocka_unit_test(full_state__sixty_seeds__have_everything),
        cmocka_unit_test(parse__head__is_there),
        cmocka_unit_test(parse__nonsense__refused_with_its_place),
        cmocka_unit_test(parse__holds_with_and_without_a_record__the_pod_is_named),
        cmocka_unit_test(parse__values_spoilt__refused_or_sound),
        cmocka_unit_test(parse__learned_demand_histogram__the_same_kinds_as_often),
        cmocka_unit_test(read__no_file__says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
