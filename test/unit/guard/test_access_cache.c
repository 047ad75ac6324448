#include "guard/access_cache_internal.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct auth_cache *c;
static const struct digest_keys keys = {{1, 2}, {3, 4}};

static int setup(void **state)
{
    c = calloc(1, sizeof(*c));
    return c != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    auth_cache_fini(c);
    free(c);
    return 0;
}

static struct digest d(const char *text)
{
    return digest_of(&keys, str_of(text));
}

static struct digest d_n(const char *prefix, unsigned n)
{
    char text[32];
    snprintf(text, sizeof(text), "%s%u", prefix, n);
    return d(text);
}

static void expect(const char *token, const char *action, int64_t now_ns, enum auth_known want)
{
    struct str subject = STR_NULL;
    assert_int_equal(auth_cache_find(c, d(token), d(action), now_ns, &subject), want);
    if (want == AUTH_USER_KNOWN) {
        assert_true(str_eq(subject, STR("{}")));
    }
}

static void find__good_token__until_its_time(void **state)
{
    expect("t", "get /a", 0, AUTH_UNKNOWN);
    auth_cache_good(c, d("t"), STR("{}"), 100);
    expect("t", "get /a", 99, AUTH_USER_KNOWN);
    auth_cache_action(c, d("t"), d("get /a"), true, 150);
    auth_cache_action(c, d("t"), d("get /b"), false, 60);
    expect("t", "get /a", 59, AUTH_ALLOWED);
    expect("t", "get /b", 59, AUTH_FORBIDDEN);
    expect("t", "get /b", 60, AUTH_USER_KNOWN);
    expect("t", "get /a", 100, AUTH_UNKNOWN); /* whose it is comes first */
    expect("u", "get /a", 59, AUTH_UNKNOWN);
}

static void find__bad_token__until_its_time_and_good_no_more(void **state)
{
    auth_cache_good(c, d("t"), STR("{}"), 100);
    auth_cache_action(c, d("t"), d("get /a"), true, 100);
    auth_cache_bad(c, d("t"), 50);
    expect("t", "get /a", 49, AUTH_BAD);
    expect("t", "get /a", 50, AUTH_UNKNOWN);
}

static void good__said_again__forgets_what_was_allowed_before(void **state)
{
    auth_cache_good(c, d("t"), STR("{}"), 100);
    auth_cache_action(c, d("t"), d("get /a"), true, 100);
    auth_cache_good(c, d("t"), STR("{}"), 200);
    expect("t", "get /a", 0, AUTH_USER_KNOWN);
}

static void good__too_many__the_oldest_gives_way(void **state)
{
    for (unsigned i = 0; i <= AUTH_GOOD_MAX; i++) {
        auth_cache_good(c, d_n("t", i), STR("{}"), 100 + i);
    }
    expect("t0", "get /a", 0, AUTH_UNKNOWN);
    expect("t1", "get /a", 0, AUTH_USER_KNOWN);
    auth_cache_action(c, d("t0"), d("get /a"), true, 100); /* forgotten: nothing happens */
    expect("t0", "get /a", 0, AUTH_UNKNOWN);
}

static void bad__flood__good_ones_stay_and_the_newest_are_known(void **state)
{
    auth_cache_good(c, d("t"), STR("{}"), 100);
    for (unsigned i = 0; i < 3 * AUTH_BAD_MAX; i++) {
        auth_cache_bad(c, d_n("bad", i), 1000 + i);
    }
    expect("t", "get /a", 0, AUTH_USER_KNOWN);
    expect("bad0", "get /a", 0, AUTH_UNKNOWN);
    expect("bad767", "get /a", 0, AUTH_BAD);
    auth_cache_bad(c, d("bad767"), 5000); /* the same again takes no second place */
    expect("bad767", "get /a", 4999, AUTH_BAD);
}

static void action__too_many__the_oldest_gives_way(void **state)
{
    auth_cache_good(c, d("t"), STR("{}"), 1000);
    for (unsigned i = 0; i <= AUTH_ACTIONS_MAX; i++) {
        auth_cache_action(c, d("t"), d_n("get /", i), true, 100 + i);
    }
    expect("t", "get /0", 0, AUTH_USER_KNOWN);
    expect("t", "get /1", 0, AUTH_ALLOWED);
    expect("t", "get /16", 0, AUTH_ALLOWED);
}

static void digest__keys_and_texts__tell_apart(void **state)
{
    static const struct digest_keys other = {{1, 2}, {3, 5}};
    struct digest x = digest_of(&keys, STR("a")), y = digest_of(&other, STR("a")), z = digest_of(&keys, STR("b"));
    assert_true(x.a == y.a && x.b != y.b);
    assert_true(x.a != z.a && x.b != z.b && x.a != x.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(find__good_token__until_its_time),
        TEST(find__bad_token__until_its_time_and_good_no_more),
        TEST(good__said_again__forgets_what_was_allowed_before),
        TEST(good__too_many__the_oldest_gives_way),
        TEST(bad__flood__good_ones_stay_and_the_newest_are_known),
        TEST(action__too_many__the_oldest_gives_way),
        TEST(digest__keys_and_texts__tell_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
