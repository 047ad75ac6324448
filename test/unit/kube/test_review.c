#include "kube/review.h"

#include "base/compiler.h"
#include "support/cmocka.h"

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

static void write__token__is_escaped(void **state)
{
    token_review_write(STR("a\"b\\c"), &out);
    assert_string_equal(out.p, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview"
                               "\",\"spec\":{\"token\":\"a\\\"b\\\\c\"}}");
}

static void write__access__user_of_the_token_review(void **state)
{
    struct strbuf subject;
    bool good = false;
    strbuf_init(&subject, 4096);
    assert_int_equal(token_review_read(STR("{\"kind\":\"TokenReview\",\"metadata\":{},\"spec\":{\"token\":\"t\"}"
                                           ",\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\\\"\","
                                           "\"uid\":\"7\",\"groups\":[\"a\",\"b\"],\"extra\":{\"k\":[\"v\"]},"
                                           "\"new\":1},\"audiences\":[\"x\"]}}"),
                                       &good, &subject, NULL),
                     0);
    assert_true(good);
    access_review_write(strbuf_view(&subject), STR("/metrics"), STR("get"), &out);
    assert_string_equal(out.p, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
                               "\"SubjectAccessReview\",\"spec\":{\"nonResourceAttributes\":{"
                               "\"path\":\"/metrics\",\"verb\":\"get\"},\"user\":\"u\\\"\","
                               "\"uid\":\"7\",\"groups\":[\"a\",\"b\"],\"extra\":{\"k\":[\"v\"]}}}");
    strbuf_fini(&subject);
}

static void self__written_and_read__of_whoever_asks(void **state)
{
    const struct review_resource what = {
        .verb = STR("get"), .group = STR("g"), .resource = STR("leases"), .namespace_ = STR("ns")};
    bool allowed = false;

    self_review_write(&what, &out);
    assert_string_equal(out.p,
                        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{"
                        "\"resourceAttributes\":{\"verb\":\"get\",\"group\":\"g\",\"resource\":\"leases\","
                        "\"namespace\":\"ns\"}}}");
    assert_int_equal(
        self_review_read(STR("{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"allowed\":true}}"), &allowed, NULL),
        0);
    assert_true(allowed);
    assert_int_equal(
        self_review_read(STR("{\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":true}}"), &allowed, NULL),
        -ERR_INVALID);
}

#define TR "{\"kind\":\"TokenReview\",\"status\":"

static void read__token_review__yes_no_or_failure(void **state)
{
    static const struct {
        const char *text;
        int code;
        bool good;
        const char *subject;
    } rows[] = {
        {TR "{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}", 0, true, "{\"user\":\"u\"}"},
        /* a bad token, as kube-apiserver says it */
        {TR "{\"user\":{},\"error\":\"invalid bearer token\"}}", 0, false, ""},
        {TR "{\"authenticated\":false}}", 0, false, ""},
        {TR "null}", 0, false, ""},
        {TR "{\"authenticated\":true}}", ERR_INVALID, false, ""},
        {TR "{\"authenticated\":\"true\"}}", ERR_INVALID, false, ""},
        {TR "{\"authenticated\":true,\"authenticated\":false}}", ERR_PARSE, false, ""},
        {"{\"kind\":\"TokenReview\"}", ERR_INVALID, false, ""},
        {"{\"kind\":\"Status\",\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}", ERR_INVALID, false,
         ""},
        {"<html>", ERR_PARSE, false, ""},
        {"", ERR_PARSE, false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool good = false;
        strbuf_reset(&out);
        int rc = token_review_read(str_of(rows[i].text), &good, &out, NULL);
        if (rc != -rows[i].code || good != rows[i].good || strcmp(out.p, rows[i].subject) != 0) {
            fail_msg("%s: %d %d %s", rows[i].text, rc, good, out.p);
        }
    }
}

static void read__huge_user__is_a_failure(void **state)
{
    struct strbuf small;
    bool good = false;
    strbuf_init(&small, 8);
    assert_int_equal(token_review_read(STR(TR "{\"authenticated\":true,\"user\":{\"username\":"
                                              "\"somebody\"}}}"),
                                       &good, &small, NULL),
                     -ERR_LIMIT);
    assert_false(good);
    strbuf_fini(&small);
}

#define SAR "{\"kind\":\"SubjectAccessReview\",\"status\":"

static void read__access_review__yes_no_or_failure(void **state)
{
    static const struct {
        const char *text;
        int code;
        bool allowed;
    } rows[] = {
        {SAR "{\"allowed\":true,\"reason\":\"RBAC\"}}", 0, true},
        {SAR "{\"allowed\":false}}", 0, false},
        {SAR "{}}", 0, false},
        {SAR "{\"allowed\":true,\"denied\":true}}", 0, false},
        {SAR "{\"allowed\":1}}", ERR_INVALID, false},
        {TR "{\"allowed\":true}}", ERR_INVALID, false},
        {"[]", ERR_INVALID, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool allowed = false;
        int rc = access_review_read(str_of(rows[i].text), &allowed, NULL);
        if (rc != -rows[i].code || allowed != rows[i].allowed) {
            fail_msg("%s: %d %d", rows[i].text, rc, allowed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(write__token__is_escaped),
        TEST(write__access__user_of_the_token_review),
        TEST(self__written_and_read__of_whoever_asks),
        TEST(read__token_review__yes_no_or_failure),
        TEST(read__huge_user__is_a_failure),
        TEST(read__access_review__yes_no_or_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
