#include "kube/names.h"

#include "support/cmocka.h"

static void url_escape__reserved_bytes__are_encoded(void **state)
{
    struct strbuf out;
    strbuf_init(&out, 1024);
    kube_url_escape(&out, STR("aZ09-._~ /?&=%\xff\n!"));
    assert_string_equal(out.p, "aZ09-._~%20%2F%3F%26%3D%25%FF%0A%21");
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(url_escape__reserved_bytes__are_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
