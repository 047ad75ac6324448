/* Writing decisions, reading them back, and reading what others forged. */
#include "base/compiler.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "core/record/assignment.h"
#include "model/mig.h"
#include "core/support/random_assignment.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (1 << 22)

static void assert_signed_alike(const struct assignment *x, const struct assignment *y, struct arena *a)
{
    struct str of_x, of_y;

    assert_int_equal(assignment_signed_bytes(x, STR("uid"), STR("node"), a, &of_x, NULL), 0);
    assert_int_equal(assignment_signed_bytes(y, STR("uid"), STR("node"), a, &of_y, NULL), 0);
    assert_true(str_eq(of_x, of_y));
}

static void assignment_parse__what_was_written__gives_the_same_record(void **state)
{
    struct rng rng;

    rng_init(&rng, 1);
    for (int round = 0; round < 1500; round++) {
        struct assignment as, back;
        struct arena a;
        struct str text;
        struct err err;
        arena_init(&a, ARENA_BYTES);
        random_assignment(&rng, &a, &as);
        int rc = assignment_format(&as, &a, &text, &err);
        if (rc == 0) {
            rc = assignment_parse(text, &a, &back, &err);
        }
        if (rc != 0) {
            fail_msg("round %d: %s", round, err.msg);
        }
        assert_same_assignment(&as, &back);
        assert_signed_alike(&as, &back, &a);
        arena_fini(&a);
    }
}

/* Nothing of a record can change under its signature: each change gives other bytes, and none gives the bytes of
 * another one. */
static void assignment_signed_bytes__any_change__other_bytes(void **state)
{
    enum { CHANGES = 18 };
    struct str texts[CHANGES + 1];
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    for (int i = 0; i <= CHANGES; i++) {
        struct assigned_device of_main[] = {{STR("GPU-a"), 0, 300, 4096}, {STR("GPU-b"), 1, 300, 4096}};
        struct assigned_container containers[] = {{.name = STR("main"), .devices = of_main, .device_n = 2},
                                                  {.name = STR("side"), .devices = of_main, .device_n = 1}};
        struct assignment as = {.id = STR("d"), .containers = containers, .container_n = 2};
        struct str uid = STR("uid"), node = STR("node");

        switch (i) {
        case 0:
            break;
        case 1:
            uid = STR("uie");
            break;
        case 2:
            node = STR("nodf");
            break;
        case 3:
            uid = STR("uidn"), node = STR("ode");
            break;
        case 4:
            as.id = STR("e");
            break;
        case 5:
            as.qos = QOS_BEST_EFFORT;
            break;
        case 6:
            as.container_n = 1;
            break;
        case 7:
            containers[0].name = STR("mains"), containers[1].name = STR("ide");
            break;
        case 8:
            containers[0].init = true;
            break;
        case 9:
            containers[0].device_n = 1;
            break;
        case 10:
            containers[0].device_n = 1, containers[1].device_n = 2;
            break;
        case 11:
            of_main[0].uuid = STR("GPU-c");
            break;
        case 12:
            of_main[0].uuid = STR("");
            break;
        case 13:
            of_main[1].index = 2;
            break;
        case 14:
            of_main[0].milli = 301;
            break;
        case 15:
            of_main[0].mem_mib = 4097;
            break;
        case 16:
            of_main[0].milli = 4096, of_main[0].mem_mib = 300;
            break;
        case 17:
            of_main[0].profile = MIG_PROFILE(1, 5);
            break;
        case 18:
            of_main[0].exclusive = true;
            break;
        }
        assert_int_equal(assignment_signed_bytes(&as, uid, node, &a, &texts[i], NULL), 0);
        for (int k = 0; k < i; k++) {
            if (str_eq(texts[k], texts[i])) {
                fail_msg("changes %d and %d give the same bytes", k, i);
            }
        }
    }
    arena_fini(&a);
}

/* Records in etcd outlive versions: these bytes never change. */
static void assignment_signed_bytes__a_record__these_bytes_for_ever(void **state)
{
    static const struct assigned_device device = {STR("MIG-a"), 258, 142, 4864, MIG_PROFILE(1, 5)};
    static const struct assigned_container c = {
        .name = STR("c"), .init = true, .position = 3, .devices = &device, .device_n = 1};
    static const struct assignment as = {
        .id = STR("d"), .containers = &c, .container_n = 1, .qos = QOS_EQUAL_SHARE, .lending = LEND_FORBID};
#define N(n_) "\0\0\0\0\0\0\0" n_
    static const char want[] = N("\x1f") "fgpu.io/assignment signature v1" N("\x01") "u" N("\x02") "n1" N("\x01") "d" N(
        "\x0b") "equal-share" N("\x01") N("\x01") "c" N("\x01") N("\x01")
        N("\x05") "MIG-a"
                  "\0\0\0\0\0\0\x01\x02" N("\x8e") "\0\0\0\0\0\0\x13\0" N("\x00") N("\x06") "1g.5gb";
#undef N
    struct str got;
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(assignment_signed_bytes(&as, STR("u"), STR("n1"), &a, &got, NULL), 0);
    assert_int_equal(got.n, sizeof(want) - 1);
    assert_memory_equal(got.p, want, got.n);
    arena_fini(&a);
}

/* The same record in other words: blanks, escapes, order of keys, keys of later versions. */
static void assignment_signed_bytes__other_spelling__same_bytes(void **state)
{
    static const char *const texts[] = {
        "{\"v\":1,\"id\":\"d\",\"containers\":[{\"name\":\"c\",\"init\":false,\"devices\":["
        "{\"uuid\":\"GPU-a\",\"index\":0,\"milli\":300,\"memMib\":4096}]}]}",
        " { \"containers\" : [ { \"devices\" : [ { \"memMib\" : 4096 , \"milli\" : 300 , \"index\" : 0 , \"uuid\" : "
        "\"GPU\\u002da\" , \"later\" : 7 } ] , \"name\" : \"\\u0063\" , \"init\" : false , \"later\" : [] } ] , "
        "\"id\" : \"d\" , \"later\" : { } , \"qos\" : \"fixed-share\" , \"v\" : 1 }",
    };
    struct assignment as[2];
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    for (size_t i = 0; i < 2; i++) {
        struct err err;

        if (assignment_parse(str_of(texts[i]), &a, &as[i], &err) != 0) {
            fail_msg("%s", err.msg);
        }
    }
    assert_signed_alike(&as[0], &as[1], &a);
    arena_fini(&a);
}

#define DEV "{\"uuid\":\"a\",\"index\":0,\"milli\":1,\"memMib\":1}"
#define DEV_WITH(more) "{\"uuid\":\"a\",\"index\":0,\"milli\":1,\"memMib\":1," more "}"
#define BOX(devices) "{\"name\":\"c\",\"init\":false,\"devices\":[" devices "]}"
#define DOC(containers) "{\"v\":1,\"id\":\"x\",\"containers\":[" containers "]}"
#define SIGNED(sig) "{\"v\":1,\"id\":\"x\",\"containers\":[],\"sig\":{" sig "}}"
#define ZEROS20 "AAAAAAAAAAAAAAAAAAAA"
#define SIG60 ZEROS20 ZEROS20 ZEROS20 ZEROS20 /* 60 bytes in base64 */
#define SIG64 SIG60 "AAAAAA=="

/* What an earlier process of ours, in any version, may have written: texts that must stay readable.
 */
static void assignment_parse__restart__records_of_earlier_processes(void **state)
{
    static const char text[] =
        "{\"v\":1,\"id\":\"d-7\",\"containers\":["
        "{\"name\":\"fetch\",\"init\":true,\"devices\":["
        "{\"uuid\":\"\",\"index\":3,\"milli\":1000,\"memMib\":0}]},"
        "{\"name\":\"main\",\"init\":false,\"devices\":["
        "{\"uuid\":\"GPU-a\",\"index\":0,\"milli\":300,\"memMib\":4096},"
        "{\"uuid\":\"GPU-b\",\"index\":2,\"milli\":300,\"memMib\":4096,\"later\":{\"x\":[1]}}]}]}";
    static const struct assigned_device of_fetch[] = {{STR(""), 3, 1000, 0}};
    static const struct assigned_device of_main[] = {{STR("GPU-a"), 0, 300, 4096}, {STR("GPU-b"), 2, 300, 4096}};
    static const struct assigned_container containers[] = {
        {.name = STR("fetch"), .init = true, .devices = of_fetch, .device_n = 1},
        {.name = STR("main"), .devices = of_main, .device_n = 2},
    };
    static const struct assignment want = {.id = STR("d-7"), .containers = containers, .container_n = 2};
    struct assignment got;
    struct arena a;
    struct err err;

    arena_init(&a, ARENA_BYTES);
    if (assignment_parse(STR(text), &a, &got, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    assert_same_assignment(&want, &got);
    arena_fini(&a);
}

/* defects.md B4: peers index an array with such numbers at start and die, again and again. */
static void assignment_parse__b4_index_99_and_minus_1__a_number_and_an_error(void **state)
{
    struct assignment got = {.container_n = 77};
    struct arena a;

    arena_init(&a, ARENA_BYTES);
    assert_int_equal(
        assignment_parse(STR(DOC(BOX("{\"uuid\":\"a\",\"index\":-1,\"milli\":1,\"memMib\":1}"))), &a, &got, NULL),
        -ERR_INVALID);
    assert_int_equal(got.container_n, 77);
    assert_int_equal(
        assignment_parse(STR(DOC(BOX("{\"uuid\":\"a\",\"index\":99,\"milli\":1,\"memMib\":1}"))), &a, &got, NULL), 0);
    assert_int_equal(got.containers[0].devices[0].index, 99);
    arena_fini(&a);
}

static void assignment_parse__hostile_text__is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *name, *text;
        enum err_code code; /* ERR_OK: accepted */
    } rows[] = {
        {"empty record", DOC(""), ERR_OK},
        {"one device", DOC(BOX(DEV)), ERR_OK},
        {"no devices", DOC(BOX("")), ERR_OK},
        {"index 99", DOC(BOX("{\"uuid\":\"a\",\"index\":99,\"milli\":1,\"memMib\":1}")), ERR_OK},
        {"unknown UUID", DOC(BOX("{\"uuid\":\"\",\"index\":9,\"milli\":1,\"memMib\":1}")), ERR_OK},
        {"unknown keys", "{\"v\":1,\"new\":[{}],\"id\":\"x\",\"containers\":[]}", ERR_OK},
        {"blanks", " { \"v\" : 1 , \"id\" : \"x\" , \"containers\" : [ ] } \n", ERR_OK},
        {"nothing", "", ERR_PARSE},
        {"no JSON", "GPU-a", ERR_PARSE},
        {"half a record", "{\"v\":1,\"id\":\"x\",\"containers\":[{\"name\"", ERR_PARSE},
        {"garbage behind", DOC("") "x", ERR_PARSE},
        {"key twice", "{\"v\":1,\"v\":1,\"id\":\"x\",\"containers\":[]}", ERR_PARSE},
        {"an array", "[]", ERR_INVALID},
        {"a string", "\"x\"", ERR_INVALID},
        {"null", "null", ERR_INVALID},
        {"empty object", "{}", ERR_INVALID},
        {"no version", "{\"id\":\"x\",\"containers\":[]}", ERR_INVALID},
        {"version 2", "{\"v\":2,\"id\":\"x\",\"containers\":[]}", ERR_INVALID},
        {"version as text", "{\"v\":\"1\",\"id\":\"x\",\"containers\":[]}", ERR_INVALID},
        {"no id", "{\"v\":1,\"containers\":[]}", ERR_INVALID},
        {"empty id", "{\"v\":1,\"id\":\"\",\"containers\":[]}", ERR_INVALID},
        {"no containers", "{\"v\":1,\"id\":\"x\"}", ERR_INVALID},
        {"containers null", "{\"v\":1,\"id\":\"x\",\"containers\":null}", ERR_INVALID},
        {"container null", DOC("null"), ERR_INVALID},
        {"container empty", DOC("{}"), ERR_INVALID},
        {"no name", DOC("{\"init\":false,\"devices\":[]}"), ERR_INVALID},
        {"empty name", DOC("{\"name\":\"\",\"init\":false,\"devices\":[]}"), ERR_INVALID},
        {"no init", DOC("{\"name\":\"c\",\"devices\":[]}"), ERR_INVALID},
        {"init as text", DOC("{\"name\":\"c\",\"init\":\"false\",\"devices\":[]}"), ERR_INVALID},
        {"no list of devices", DOC("{\"name\":\"c\",\"init\":false}"), ERR_INVALID},
        {"devices an object", DOC("{\"name\":\"c\",\"init\":false,\"devices\":{}}"), ERR_INVALID},
        {"same name twice", DOC(BOX("") "," BOX("")), ERR_INVALID},
        {"device a number", DOC(BOX("0")), ERR_INVALID},
        {"device empty", DOC(BOX("{}")), ERR_INVALID},
        {"no uuid", DOC(BOX("{\"index\":0,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"no index", DOC(BOX("{\"uuid\":\"a\",\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"no milli", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"memMib\":1}")), ERR_INVALID},
        {"no memory", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"milli\":1}")), ERR_INVALID},
        {"index -1", DOC(BOX("{\"uuid\":\"a\",\"index\":-1,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"index 2^31", DOC(BOX("{\"uuid\":\"a\",\"index\":2147483648,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"index 2^32", DOC(BOX("{\"uuid\":\"a\",\"index\":4294967296,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"index 2^64", DOC(BOX("{\"uuid\":\"a\",\"index\":18446744073709551616,\"milli\":1,\"memMib\":1}")),
         ERR_INVALID},
        {"index 0.5", DOC(BOX("{\"uuid\":\"a\",\"index\":0.5,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"index 1e400", DOC(BOX("{\"uuid\":\"a\",\"index\":1e400,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"index as text", DOC(BOX("{\"uuid\":\"a\",\"index\":\"0\",\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"milli -1", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"milli\":-1,\"memMib\":1}")), ERR_INVALID},
        {"milli huge", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"milli\":1000001,\"memMib\":1}")), ERR_INVALID},
        {"memory -1", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"milli\":1,\"memMib\":-1}")), ERR_INVALID},
        {"memory huge", DOC(BOX("{\"uuid\":\"a\",\"index\":0,\"milli\":1,\"memMib\":2147483648}")), ERR_INVALID},
        {"device twice", DOC(BOX(DEV "," DEV)), ERR_INVALID},
        {"uuid twice", DOC(BOX(DEV ",{\"uuid\":\"a\",\"index\":1,\"milli\":1,\"memMib\":1}")), ERR_INVALID},
        {"an instance", DOC(BOX(DEV_WITH("\"mig\":\"1g.5gb+me\""))), ERR_OK},
        {"mig garbage", DOC(BOX(DEV_WITH("\"mig\":\"garbage\""))), ERR_INVALID},
        {"mig empty", DOC(BOX(DEV_WITH("\"mig\":\"\""))), ERR_INVALID},
        {"mig cut", DOC(BOX(DEV_WITH("\"mig\":\"1g.5g\""))), ERR_INVALID},
        {"mig a number", DOC(BOX(DEV_WITH("\"mig\":1"))), ERR_INVALID},
        {"mig null", DOC(BOX(DEV_WITH("\"mig\":null"))), ERR_INVALID},
        {"exclusive as text", DOC(BOX(DEV_WITH("\"exclusive\":\"true\""))), ERR_INVALID},
        {"signed", SIGNED("\"key\":\"k\",\"value\":\"" SIG64 "\""), ERR_OK},
        {"signed, and more", SIGNED("\"x\":[],\"key\":\"k\",\"value\":\"" SIG64 "\""), ERR_OK},
        {"sig a string", "{\"v\":1,\"id\":\"x\",\"containers\":[],\"sig\":\"x\"}", ERR_INVALID},
        {"sig null", "{\"v\":1,\"id\":\"x\",\"containers\":[],\"sig\":null}", ERR_INVALID},
        {"sig empty", SIGNED(""), ERR_INVALID},
        {"sig without key", SIGNED("\"value\":\"" SIG64 "\""), ERR_INVALID},
        {"sig without value", SIGNED("\"key\":\"k\""), ERR_INVALID},
        {"sig with an empty key", SIGNED("\"key\":\"\",\"value\":\"" SIG64 "\""), ERR_INVALID},
        {"sig cut", SIGNED("\"key\":\"k\",\"value\":\"AAAA\""), ERR_INVALID},
        {"sig too long", SIGNED("\"key\":\"k\",\"value\":\"" SIG64 "AAAA\""), ERR_INVALID},
        {"sig of 66 bytes", SIGNED("\"key\":\"k\",\"value\":\"" SIG60 "AAAAAAAA\""), ERR_INVALID},
        {"sig no base64", SIGNED("\"key\":\"k\",\"value\":\"" SIG60 "AAAA-A==\""), ERR_INVALID},
        {"sig twice",
         "{\"v\":1,\"id\":\"x\",\"containers\":[],\"sig\":{\"key\":\"k\",\"value\":\"" SIG64
         "\"},\"sig\":{\"key\":\"k\",\"value\":\"" SIG64 "\"}}",
         ERR_PARSE},
        {"not ascending", DOC(BOX("{\"uuid\":\"b\",\"index\":1,\"milli\":1,\"memMib\":1}," DEV)), ERR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a;
        struct assignment as = {.container_n = 77};
        struct err err = {.code = ERR_OK};
        arena_init(&a, ARENA_BYTES);
        int rc = assignment_parse(str_of(rows[i].text), &a, &as, &err);
        if (rc != -(int)rows[i].code || err.code != rows[i].code) {
            fail_msg("%s: %d %s", rows[i].name, rc, err.msg);
        }
        if (rc != 0) {
            assert_int_equal(as.container_n, 77);
            assert_non_null(strstr(err.msg, "fgpu.io/assignment"));
        }
        arena_fini(&a);
    }
}

/* As many containers and devices as allowed, and one more of each. */
static void assignment_parse__counts__bounded(void **state)
{
    for (int over = 0; over < 4; over++) {
        int container_n = ASSIGNMENT_CONTAINERS_MAX + (over == 1);
        int device_n = DEVICES_PER_NODE_MAX + (over == 2);
        struct strbuf b;
        struct arena a;
        struct assignment as;

        strbuf_init(&b, 1 << 22);
        strbuf_add_cstr(&b, "{\"v\":1,\"id\":\"x\",\"containers\":[");
        for (int i = 0; i < container_n; i++) {
            strbuf_addf(&b, "%s{\"name\":\"c%d\",\"init\":false,\"devices\":[", i > 0 ? "," : "", i);
            for (int j = 0; j < (i == 0 ? device_n : 1); j++) {
                strbuf_addf(&b, "%s{\"uuid\":\"\",\"index\":%d,\"milli\":1,\"memMib\":1}", j > 0 ? "," : "", j);
            }
            strbuf_add_cstr(&b, "]}");
        }
        strbuf_add_cstr(&b, "]}");
        while (over == 3 && b.n <= ASSIGNMENT_BYTES_MAX) {
            strbuf_add_char(&b, ' ');
        }
        arena_init(&a, ARENA_BYTES);
        int rc = assignment_parse(strbuf_view(&b), &a, &as, NULL);
        assert_int_equal(rc, over == 0 ? 0 : -ERR_LIMIT);
        if (rc == 0) {
            assert_int_equal(as.container_n, ASSIGNMENT_CONTAINERS_MAX);
            assert_int_equal(as.containers[0].device_n, DEVICES_PER_NODE_MAX);
            assert_int_equal(as.containers[0].devices[63].index, 63);
        }
        arena_fini(&a);
        strbuf_fini(&b);
    }
}

static void assignment_parse__long_texts__refused(void **state)
{
    char longer[200];
    static const struct {
        const char *fmt;
        int max;
    } rows[] = {
        {"{\"v\":1,\"id\":\"%.*s\",\"containers\":[]}", ASSIGNMENT_ID_BYTES_MAX},
        {DOC("{\"name\":\"%.*s\",\"init\":false,\"devices\":[]}"), ASSIGNMENT_NAME_BYTES_MAX},
        {DOC(BOX("{\"uuid\":\"%.*s\",\"index\":0,\"milli\":1,\"memMib\":1}")), ASSIGNMENT_UUID_BYTES_MAX},
    };

    memset(longer, 'x', sizeof(longer));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (int over = 0; over < 2; over++) {
            struct strbuf b;
            struct arena a;
            struct assignment as;
            strbuf_init(&b, 4096);
            /* The three forms above, with the long text where "%.*s" stands. */
            const char *at = strstr(rows[i].fmt, "%.*s");
            strbuf_add(&b, rows[i].fmt, (size_t)(at - rows[i].fmt));
            strbuf_add(&b, longer, (size_t)(rows[i].max + over));
            strbuf_add_cstr(&b, at + 4);
            arena_init(&a, ARENA_BYTES);
            assert_int_equal(assignment_parse(strbuf_view(&b), &a, &as, NULL), over ? -ERR_INVALID : 0);
            arena_fini(&a);
            strbuf_fini(&b);
        }
    }
}

static void assignment_parse__random_damage__never_crashes(void **state)
{
    struct rng rng;

    rng_init(&rng, 9);
    for (int round = 0; round < 6000; round++) {
        static const char text[] = DOC(BOX(DEV) ",{\"name\":\"d\\u0041\",\"init\":true,\"devices\":[]}");
        char damaged[sizeof(text)];
        struct arena a;
        struct assignment as;
        memcpy(damaged, text, sizeof(text));
        for (uint64_t i = rng_below(&rng, 4); i > 0; i--) {
            damaged[rng_below(&rng, sizeof(text) - 1)] = (char)rng_below(&rng, 256);
        }
        size_t n = rng_below(&rng, 4) == 0 ? (size_t)rng_below(&rng, sizeof(text)) : sizeof(text) - 1;
        char *exact = malloc(n > 0 ? n : 1); /* so that a read behind the end is seen */
        assert_non_null(exact);
        memcpy(exact, damaged, n);
        arena_init(&a, ARENA_BYTES);
        if (assignment_parse((struct str){exact, n}, &a, &as, NULL) == 0) {
            for (size_t i = 0; i < as.container_n; i++) {
                for (size_t j = 0; j < as.containers[i].device_n; j++) {
                    assert_true(as.containers[i].devices[j].index >= 0);
                    assert_true(as.containers[i].devices[j].milli >= 0);
                }
            }
        }
        arena_fini(&a);
        free(exact);
    }
}

static void assignment_parse__arena_full__error(void **state)
{
    struct arena a;
    struct assignment as = {.container_n = 77};

    arena_init(&a, 1);
    assert_int_equal(assignment_parse(STR(DOC(BOX(DEV))), &a, &as, NULL), -ERR_LIMIT);
    assert_int_equal(assignment_parse(STR(DOC(BOX(""))), &a, &as, NULL), -ERR_LIMIT);
    assert_int_equal(as.container_n, 77);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignment_parse__what_was_written__gives_the_same_record),
        cmocka_unit_test(assignment_signed_bytes__any_change__other_bytes),
        cmocka_unit_test(assignment_signed_bytes__a_record__these_bytes_for_ever),
        cmocka_unit_test(assignment_signed_bytes__other_spelling__same_bytes),
        cmocka_unit_test(assignment_parse__restart__records_of_earlier_processes),
        cmocka_unit_test(assignment_parse__b4_index_99_and_minus_1__a_number_and_an_error),
        cmocka_unit_test(assignment_parse__hostile_text__is_refused_with_a_reason),
        cmocka_unit_test(assignment_parse__counts__bounded),
        cmocka_unit_test(assignment_parse__long_texts__refused),
        cmocka_unit_test(assignment_parse__random_damage__never_crashes),
        cmocka_unit_test(assignment_parse__arena_full__error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
