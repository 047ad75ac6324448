#include "kube/lease.h"

#include "support/cmocka.h"

#include <string.h>

static struct strbuf out;
static struct lease_kept kept;

static int setup(void **state)
{
    strbuf_init(&out, LEASE_BODY_MAX);
    lease_kept_init(&kept);
    return 0;
}

static int teardown(void **state)
{
    strbuf_fini(&out);
    lease_kept_fini(&kept);
    return 0;
}

#define METADATA                                                                                                       \
    "{\"name\":\"fgpu-leader\",\"namespace\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"labels\":{\"x\":"         \
    "\"\\u00e9\"}}"

static const char LEASE[] =
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":" METADATA
    ",\"spec\":{\"holderIdentity\":\"h_1\",\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-11-20T08:00:00.000001Z\","
    "\"renewTime\":\"2026-11-20T08:00:05.000000Z\",\"leaseTransitions\":3,\"strategy\":\"Oldest\","
    "\"preferredHolder\":\"b\\\"c\"}}";

static void read__a_lease__as_it_says(void **state)
{
    struct lease_record r;

    assert_int_equal(lease_read(str_of(LEASE), &r, &kept, NULL), 0);
    assert_string_equal(r.revision, "7");
    assert_string_equal(r.uid, "u");
    assert_string_equal(r.holder, "h_1");
    assert_string_equal(r.acquired, "2026-11-20T08:00:00.000001Z");
    assert_string_equal(r.renewed, "2026-11-20T08:00:05.000000Z");
    assert_int_equal(r.duration_s, 15);
    assert_int_equal(r.transition_n, 3);
}

static void read__nearly_nothing__is_nobodys(void **state)
{
    struct lease_record r;

    assert_int_equal(lease_read(STR("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{}}"), &r, NULL, NULL), 0);
    assert_string_equal(r.holder, "");
    assert_int_equal(r.duration_s, 0);
    assert_int_equal(lease_read(STR("{\"metadata\":{\"resourceVersion\":\"7\"}}"), &r, NULL, NULL), 0);
}

/* Somebody's, at any rate: never taken for free, never for ours. */
static void read__an_odd_holder__is_somebody(void **state)
{
    char text[1024] = "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"";
    struct lease_record r;

    memset(text + strlen(text), 'a', 500);
    strcat(text, "\"}}");
    assert_int_equal(lease_read(str_of(text), &r, NULL, NULL), 0);
    assert_int_equal(strlen(r.holder), LEASE_HOLDER_BYTES - 1);
    assert_int_equal(
        lease_read(STR("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"\\u0000a\"}}"), &r,
                   NULL, NULL),
        0);
    assert_string_not_equal(r.holder, "");
}

static void read__no_object__is_refused(void **state)
{
    struct lease_record r;

    assert_int_not_equal(lease_read(STR("{}"), &r, NULL, NULL), 0);
    assert_int_not_equal(lease_read(STR("{\"metadata\":{\"uid\":\"u\"}}"), &r, NULL, NULL), 0);
    assert_int_not_equal(lease_read(STR("<html>"), &r, NULL, NULL), 0);
}

static void body__of_an_update__keeps_what_others_wrote(void **state)
{
    struct lease_record r;

    assert_int_equal(lease_read(str_of(LEASE), &r, &kept, NULL), 0);
    strcpy(r.holder, "me_2");
    r.duration_s = 5;
    r.transition_n = 4;
    lease_time(INT64_C(1763625600123456), r.renewed);
    lease_body(STR("a/fgpu-leader"), &r, &kept, &out);
    assert_string_equal(
        out.p,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":" METADATA
        ",\"spec\":{\"holderIdentity\":\"me_2\",\"leaseDurationSeconds\":5,\"acquireTime\":\"2026-11-20T08:00:00."
        "000001Z\",\"renewTime\":\"2025-11-20T08:00:00.123456Z\",\"leaseTransitions\":4,\"strategy\":\"Oldest\","
        "\"preferredHolder\":\"b\\\"c\"}}");
}

static void body__of_a_new_one__has_its_name(void **state)
{
    struct lease_record r = {.holder = "me_2", .duration_s = 5};

    lease_time(0, r.renewed);
    lease_time(999, r.acquired);
    lease_body(STR("a/b"), &r, NULL, &out);
    assert_string_equal(out.p,
                        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":"
                        "\"a\",\"name\":\"b\"},\"spec\":{\"holderIdentity\":\"me_2\",\"leaseDurationSeconds\":5,"
                        "\"acquireTime\":\"1970-01-01T00:00:00.000999Z\",\"renewTime\":\"1970-01-01T00:00:00."
                        "000000Z\",\"leaseTransitions\":0}}");
    strbuf_reset(&out);
    lease_path(STR("a/b c"), &out);
    assert_string_equal(out.p, "/apis/coordination.k8s.io/v1/namespaces/a/leases/b%20c");
    strbuf_reset(&out);
    lease_create_path(STR("a/b"), &out);
    assert_string_equal(out.p, "/apis/coordination.k8s.io/v1/namespaces/a/leases");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(read__a_lease__as_it_says),
        TEST(read__nearly_nothing__is_nobodys),
        TEST(read__an_odd_holder__is_somebody),
        TEST(read__no_object__is_refused),
        TEST(body__of_an_update__keeps_what_others_wrote),
        TEST(body__of_a_new_one__has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
