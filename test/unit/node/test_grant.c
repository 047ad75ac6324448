/* What a record grants: exactly what stands behind the container's name, and only if fgpu signed it for this pod here.
 */
#include "node/grant.h"
#include "node/support/node_fixture.h"
#include "support/cmocka.h"

#include "base/compiler.h"
#include "base/strbuf.h"

#include <string.h>

static struct str record_of_main(struct node_fixture *f, const struct sign_key *key, const char *uid, const char *node)
{
    const struct assigned_device d = share_of(f, 0, 300, 400);
    const struct assigned_container main = {.name = STR("main"), .devices = &d, .device_n = 1};

    return record_text(f, key, &main, 1, str_of(uid), str_of(node));
}

static void refused_with(struct node_fixture *f, const struct pod_facts *pod, const char *says)
{
    const struct grant g = grant_of(&f->rules.node, pod, STR("main"), &f->arena);
    struct assignment as;

    assert_int_equal(g.kind, GRANT_REFUSED);
    assert_says(g.why, says);
    assert_false(grant_record(&f->rules.node, pod, &f->arena, &as));
}

static void grant__of_each_container__is_what_stands_behind_its_name(void **state)
{
    struct node_fixture *f = *state;
    const struct assigned_device of_init[] = {share_of(f, 0, 1000, 900)};
    const struct assigned_device of_main[] = {share_of(f, 0, 300, 400), share_of(f, 1, 500, 600)};
    const struct assigned_container containers[] = {
        {.name = STR("init"), .init = true, .devices = of_init, .device_n = 1},
        {.name = STR("main"), .devices = of_main, .device_n = 2},
        {.name = STR("idle")}};
    struct pod_facts pod = pod_with(f, "p", record_text(f, &f->key, containers, 3, STR("uid-p"), STR("n1")));
    struct assignment as;
    struct grant g;

    g = grant_of(&f->rules.node, &pod, STR("init"), &f->arena);
    assert_int_equal(g.kind, GRANT_DEVICES);
    assert_int_equal(g.device_n, 1);
    assert_int_equal(g.devices[0].milli, 1000);
    g = grant_of(&f->rules.node, &pod, STR("main"), &f->arena);
    assert_int_equal(g.kind, GRANT_DEVICES);
    assert_int_equal(g.device_n, 2);
    assert_true(str_eq(g.devices[1].uuid, STR("GPU-b")));
    assert_int_equal(g.devices[1].milli, 500);
    assert_int_equal(g.devices[1].mem_mib, 600);
    assert_int_equal(grant_of(&f->rules.node, &pod, STR("idle"), &f->arena).kind, GRANT_NOTHING);
    assert_int_equal(grant_of(&f->rules.node, &pod, STR("mai"), &f->arena).kind, GRANT_NOTHING);
    assert_true(grant_record(&f->rules.node, &pod, &f->arena, &as));
    assert_int_equal(as.container_n, 3);
}

static void grant__without_a_record__is_nothing(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts none = {.uid = STR("u"), .namespace_ = STR("team"), .name = STR("p")};
    struct pod_facts empty = pod_with(f, "p", STR_NULL);
    struct assignment as;

    assert_int_equal(grant_of(&f->rules.node, &none, STR("main"), &f->arena).kind, GRANT_NOTHING);
    assert_int_equal(grant_of(&f->rules.node, &empty, STR("main"), &f->arena).kind, GRANT_NOTHING);
    assert_false(grant_record(&f->rules.node, &none, &f->arena, &as));
}

static void grant__record_of_another_pod__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_with(f, "thief", record_of_main(f, &f->key, "uid-victim", "n1"));

    refused_with(f, &pod, "pod team/thief does not hold for this pod on node n1");
}

static void grant__record_for_another_node__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_with(f, "p", record_of_main(f, &f->key, "uid-p", "n2"));

    refused_with(f, &pod, "belongs to another pod or node");
}

static void grant__record_that_was_changed__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct str text = record_of_main(f, &f->key, "uid-p", "n1");
    char *changed = arena_cstr(&f->arena, text);
    char *at = strstr(changed, "\"milli\":300");
    struct pod_facts pod;

    assert_non_null(at);
    at[8] = '9';
    pod = pod_with(f, "p", str_of(changed));
    refused_with(f, &pod, "the record was changed");
}

static void grant__unsigned_record__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_with(f, "p", record_of_main(f, NULL, "uid-p", "n1"));

    refused_with(f, &pod, "is not signed");
}

static void grant__record_of_a_key_that_is_not_known__is_refused_and_names_it(void **state)
{
    struct node_fixture *f = *state;
    struct sign_key other;
    struct pod_facts pod;

    assert_int_equal(sign_key_make(&other, NULL), 0);
    pod = pod_with(f, "p", record_of_main(f, &other, "uid-p", "n1"));
    refused_with(f, &pod, other.public_.id);
    refused_with(f, &pod, "add it to the public keys of fgpu-node");
}

static void grant__annotation_that_is_no_record__is_refused_without_its_control_characters(void **state)
{
    struct node_fixture *f = *state;
    static const char *const texts[] = {"x", "{}", "{\"v\":2,\"id\":\"a\",\"containers\":[]}", "{\"\x1b[2J\":", "[]"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct pod_facts pod = pod_with(f, "p", str_of(texts[i]));
        struct grant g = grant_of(&f->rules.node, &pod, STR("main"), &f->arena);

        refused_with(f, &pod, "cannot be read");
        assert_null(memchr(g.why.p, '\x1b', g.why.n));
    }
}

static void grant__id_of_a_key_with_control_characters__reaches_nobody(void **state)
{
    struct node_fixture *f = *state;
    struct sign_key other;
    struct pod_facts pod;
    struct grant g;

    assert_int_equal(sign_key_make(&other, NULL), 0);
    memcpy(other.public_.id, "\x1b[2J", 4);
    pod = pod_with(f, "p", record_of_main(f, &other, "uid-p", "n1"));
    g = grant_of(&f->rules.node, &pod, STR("main"), &f->arena);
    assert_int_equal(g.kind, GRANT_REFUSED);
    assert_says(g.why, "?[2J");
    assert_null(memchr(g.why.p, '\x1b', g.why.n));
}

/* Forged or not: who is not named gets nothing either way, and there is nobody to tell. */
static void grant__forged_record_that_names_others__is_nothing(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_with(f, "p", record_of_main(f, NULL, "uid-p", "n1"));

    assert_int_equal(grant_of(&f->rules.node, &pod, STR("sidecar"), &f->arena).kind, GRANT_NOTHING);
}

static void grant__arena_that_is_full__is_refused(void **state)
{
    struct node_fixture *f = *state;
    struct pod_facts pod = pod_with(f, "p", record_of_main(f, &f->key, "uid-p", "n1"));

    for (size_t bytes = 0; bytes < 2000; bytes += 50) {
        struct arena small;
        struct grant g;

        arena_init(&small, bytes);
        g = grant_of(&f->rules.node, &pod, STR("main"), &small);
        assert_true(g.kind == GRANT_DEVICES || (g.kind == GRANT_REFUSED && g.why.n > 0));
        if (g.kind == GRANT_REFUSED) {
            assert_says(g.why, "no memory");
        }
        arena_fini(&small);
    }
}

int main(void)
{
#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_fixture_set_up, node_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_NODE(grant__of_each_container__is_what_stands_behind_its_name),
        WITH_NODE(grant__without_a_record__is_nothing),
        WITH_NODE(grant__record_of_another_pod__is_refused),
        WITH_NODE(grant__record_for_another_node__is_refused),
        WITH_NODE(grant__record_that_was_changed__is_refused),
        WITH_NODE(grant__unsigned_record__is_refused),
        WITH_NODE(grant__record_of_a_key_that_is_not_known__is_refused_and_names_it),
        WITH_NODE(grant__annotation_that_is_no_record__is_refused_without_its_control_characters),
        WITH_NODE(grant__id_of_a_key_with_control_characters__reaches_nobody),
        WITH_NODE(grant__forged_record_that_names_others__is_nothing),
        WITH_NODE(grant__arena_that_is_full__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
