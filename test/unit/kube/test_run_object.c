#include "kube/run_object.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static struct strbuf out;

static int setup(void **state)
{
    strbuf_init(&out, 4096);
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&out);
    return 0;
}

#define HEAD "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"fgpu-run\",\"resourceVersion\":\"7\",\"uid\":\"u\"}"

static struct run_object object_of(const char *text)
{
    struct run_object o;

    assert_int_equal(run_object_read(str_of(text), &o, NULL), 0);
    assert_string_equal(o.revision, "7");
    return o;
}

static void read__nobody_has_written__never(void **state)
{
    assert_int_equal(object_of(HEAD "}").state, RUN_NEVER);
    assert_int_equal(object_of(HEAD ",\"data\":null}").state, RUN_NEVER);
    assert_int_equal(object_of(HEAD ",\"data\":{\"note\":\"mine\"}}").state, RUN_NEVER);
}

static void read__written__as_it_says(void **state)
{
    struct run_object o =
        object_of(HEAD ",\"data\":{\"state\":\"ended\",\"process\":\"p\",\"wake\":\"9\",\"x\":\"y\"}}");

    assert_int_equal(o.state, RUN_ENDED);
    assert_string_equal(o.uid, "u");
    assert_string_equal(o.process, "p");
    assert_string_equal(o.wake, "9");
    assert_int_equal(object_of(HEAD ",\"data\":{\"state\":\"running\",\"process\":\"p\"}}").state, RUN_RUNNING);
}

/* Whatever is there that we would not write: never "nobody has been here", never "ended". */
static void read__something_else__illegible(void **state)
{
    char text[512], longer[100];

    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(object_of(HEAD ",\"data\":{\"state\":\"Ended\"}}").state, RUN_ILLEGIBLE);
    assert_int_equal(object_of(HEAD ",\"data\":{\"process\":\"p\"}}").state, RUN_ILLEGIBLE);
    assert_int_equal(object_of(HEAD ",\"data\":{\"wake\":\"1\"}}").state, RUN_ILLEGIBLE);
    snprintf(text, sizeof(text), HEAD ",\"data\":{\"state\":\"ended\",\"process\":\"p\",\"wake\":\"%s\"}}", longer);
    assert_int_equal(object_of(text).state, RUN_ILLEGIBLE);
    snprintf(text, sizeof(text), HEAD ",\"data\":{\"state\":\"ended\",\"process\":\"%s\"}}", longer);
    assert_int_equal(object_of(text).state, RUN_ILLEGIBLE);
    assert_int_equal(object_of(HEAD ",\"data\":{\"state\":\"ended\",\"process\":\"p\",\"wake\":\"1\\u0000\"}}").state,
                     RUN_ILLEGIBLE);
}

static void read__no_object__fails(void **state)
{
    struct run_object o;

    assert_int_not_equal(run_object_read(STR("{}"), &o, NULL), 0);
    assert_int_not_equal(run_object_read(STR("nonsense"), &o, NULL), 0);
    assert_int_not_equal(run_object_read(STR("{\"metadata\":{\"resourceVersion\":\"7\""), &o, NULL), 0);
    assert_int_equal(o.state, RUN_ILLEGIBLE);
}

static void patch__carries_uid_and_revision(void **state)
{
    const struct run_object seen = {.revision = "7", .uid = "u", .state = RUN_NEVER};
    struct run_entry e = {.state = RUN_RUNNING, .process = "p", .version = "v1", .wake = "9", .hold_off_ms = 6000};

    run_object_patch(&seen, &e, 0, &out);
    assert_string_equal(out.p,
                        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"data\":{\"state\":\"running\","
                        "\"process\":\"p\",\"version\":\"v1\",\"since\":\"1970-01-01T00:00:00.000Z\",\"wake\":\"\","
                        "\"holdOffMs\":\"\"}}");
    strbuf_reset(&out);
    e.state = RUN_ENDED;
    run_object_patch(&seen, &e, 0, &out);
    assert_non_null(strstr(out.p, "\"state\":\"ended\""));
    assert_non_null(strstr(out.p, "\"wake\":\"9\",\"holdOffMs\":\"6000\""));
    strbuf_reset(&out);
    e.hold_off_ms = RUN_HOLD_OFF_NONE;
    run_object_patch(&seen, &e, 0, &out);
    assert_non_null(strstr(out.p, "\"holdOffMs\":\"none\""));
}

static void read__hold_off__a_number_of_milliseconds_or_none(void **state)
{
#define ENDED(hold_off) HEAD ",\"data\":{\"state\":\"ended\",\"process\":\"p\",\"holdOffMs\":\"" hold_off "\"}}"
    assert_true(object_of(ENDED("6000")).hold_off_ms == 6000);
    assert_true(object_of(ENDED("none")).hold_off_ms == RUN_HOLD_OFF_NONE);
    assert_true(object_of(ENDED("")).hold_off_ms == 0);
    assert_true(object_of(ENDED("-1")).hold_off_ms == 0);
    assert_true(object_of(ENDED("9223372036854775807")).hold_off_ms == 0);
    assert_true(object_of(ENDED("1s")).hold_off_ms == 0);
#undef ENDED
}

static void path__of_both_objects(void **state)
{
    run_object_path(STR("ns/fgpu-run"), &out);
    assert_string_equal(out.p, "/api/v1/namespaces/ns/configmaps/fgpu-run");
    strbuf_reset(&out);
    wake_object_path(STR("ns/w"), &out);
    assert_string_equal(out.p, "/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities/w");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__nobody_has_written__never, setup, teardown),
        cmocka_unit_test_setup_teardown(read__written__as_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(read__something_else__illegible, setup, teardown),
        cmocka_unit_test_setup_teardown(read__no_object__fails, setup, teardown),
        cmocka_unit_test_setup_teardown(patch__carries_uid_and_revision, setup, teardown),
        cmocka_unit_test_setup_teardown(read__hold_off__a_number_of_milliseconds_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(path__of_both_objects, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
