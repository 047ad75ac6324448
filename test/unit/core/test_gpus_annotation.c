/* Limits of annotation fgpu.io/gpus: the last value that is taken, and the first that is not, with what is said. */
#include "base/compiler.h"
#include "core/dialects/dialect.h"
#include "support/cmocka.h"

#include <string.h>

static struct arena arena;

static int setup(void **state)
{
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return 0;
}

/* NULL: the list of GPUs is taken, without a note. */
static const char *read_list(struct str gpus, struct inventory *ret)
{
    const struct kv annotation = {STR("fgpu.io/gpus"),
                                  arena_printf(&arena, "{\"v\":1,\"gpus\":[%.*s]}", STR_ARG(gpus))};
    const struct node node = {.name = STR("n"), .annotations = {&annotation, 1}};
    const char *note = NULL;

    assert_true(dialect_inventory(policy_defaults(), &node, &arena, ret, &note));
    assert_int_equal(ret->source, INVENTORY_ANNOTATION);
    return note;
}

/* Said of instances that are taken. */
static const char unknown[] = "a model of GPU that fgpu does not know";

static void expect(const char *name, struct str gpus, const char *want)
{
    struct inventory inv;
    const char *note = read_list(gpus, &inv);

    if ((note == NULL) != (want == NULL) || (note != NULL && strstr(note, want) == NULL)) {
        fail_msg("%s: \"%s\", want \"%s\"", name, note != NULL ? note : "taken", want != NULL ? want : "taken");
    }
    assert_int_equal(inv.device_n > 0, want == NULL || want == unknown);
}

/* `times` times the text. */
static struct str repeated(const char *text, size_t times)
{
    struct str all = STR("");

    for (size_t i = 0; i < times; i++) {
        all = arena_printf(&arena, "%.*s%s%s", STR_ARG(all), i > 0 && text[1] != '\0' ? "," : "", text);
    }
    return all;
}

static void gpus__one_value_of_a_gpu__up_to_its_limits(void **state)
{
#define UUID(n) arena_printf(&arena, "\"index\":0,\"memMib\":9,\"uuid\":\"%.*s\"", STR_ARG(repeated("u", (n))))
#define A "\"uuid\":\"a\",\"index\":0,"
#define B A "\"memMib\":9,"
    const struct {
        struct str entry;
        const char *want;
    } rows[] = {
        {UUID(1), NULL},
        {UUID(128), NULL},
        {UUID(129), "uuid must be 1 to 128"},
        {STR("\"uuid\":\"azAZ09-_.:/\",\"index\":0,\"memMib\":9"), NULL},
        {STR("\"uuid\":\"`\",\"index\":0,\"memMib\":9"), "uuid must be"},
        {STR("\"uuid\":\"{\",\"index\":0,\"memMib\":9"), "uuid must be"},
        {STR("\"uuid\":\"@\",\"index\":0,\"memMib\":9"), "uuid must be"},
        {STR("\"uuid\":\"[\",\"index\":0,\"memMib\":9"), "uuid must be"},
        {STR("\"uuid\":\";\",\"index\":0,\"memMib\":9"), "uuid must be"},
        {STR("\"uuid\":\"a\",\"index\":1023,\"memMib\":9"), NULL},
        {STR("\"uuid\":\"a\",\"index\":1024,\"memMib\":9"), "index must be 0 to 1023"},
        {STR(A "\"memMib\":1"), NULL},
        {STR(A "\"memMib\":0"), "memMib must be 1 to 16777216"},
        {STR(A "\"memMib\":16777216"), NULL},
        {STR(A "\"memMib\":16777217"), "memMib must be 1 to 16777216"},
        {STR(B "\"minor\":-1"), NULL},
        {STR(B "\"minor\":-2"), "minor must be 0 to 1023 or -1"},
        {STR(B "\"minor\":1023"), NULL},
        {STR(B "\"minor\":1024"), "minor must be 0 to 1023 or -1"},
        {STR(B "\"numa\":-1"), NULL},
        {STR(B "\"numa\":-2"), "numa must be 0 to 1023 or -1"},
        {STR(B "\"numa\":1023"), NULL},
        {STR(B "\"numa\":1024"), "numa must be 0 to 1023 or -1"},
        {STR(B "\"slots\":1"), NULL},
        {STR(B "\"slots\":0"), "slots must be 1 to 32767"},
        {STR(B "\"slots\":32767"), NULL},
        {STR(B "\"slots\":32768"), "slots must be 1 to 32767"},
        {arena_printf(&arena, B "\"model\":\"%.*s\"", STR_ARG(repeated("m", 128))), NULL},
        {arena_printf(&arena, B "\"model\":\"%.*s\"", STR_ARG(repeated("m", 129))), "model is longer than 128 bytes"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].entry.p, arena_printf(&arena, "{%.*s}", STR_ARG(rows[i].entry)), rows[i].want);
    }
}

static void gpus__one_value_of_an_instance__up_to_its_limits(void **state)
{
    static const struct {
        const char *instance, *want;
    } rows[] = {
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0", unknown},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":7", unknown},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":8", "start must be 0 to 7"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":-1", "start must be 0 to 7"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":1", unknown},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":0", "memMib must be 1 to 16777216"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":1000", unknown},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":1001", "more memory than their GPU"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":16777217", "memMib must be 1 to 16777216"},
        {"\"uuid\":\"m,\",\"profile\":\"1g.5gb\",\"start\":0", "uuid must be"},
        {"\"profile\":\"1g.5gb\",\"start\":0", "lacks uuid or profile or start"},
        {"\"uuid\":\"m\",\"start\":0", "lacks uuid or profile or start"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\"", "lacks uuid or profile or start"},
        {"\"uuid\":\"m\",\"profile\":\"1g\",\"start\":0", "profile must be like"},
        {"\"uuid\":\"m\",\"profile\":\"1g.5gb\",\"start\":0},{\"uuid\":\"n\",\"profile\":\"1g.5gb\",\"start\":0",
         "overlap"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].instance,
               arena_printf(&arena, "{\"uuid\":\"a\",\"index\":0,\"memMib\":1000,\"mig\":[{%s}]}", rows[i].instance),
               rows[i].want);
    }
}

static void gpus__what_the_driver_offers__up_to_its_limits(void **state)
{
    static const char bad[] = "an entry of migProfiles lacks profile or size or starts";
    static const struct {
        const char *shape, *want;
    } rows[] = {
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0,7],\"max\":8,\"memMib\":16777216", NULL},
        {"\"profile\":\"1g.5gb\",\"size\":8,\"starts\":[0],\"max\":0,\"memMib\":0", NULL},
        {"\"profile\":\"1g.5gb\",\"size\":8,\"starts\":[1]", bad}, /* it would end behind the last slice */
        {"\"profile\":\"1g.5gb\",\"size\":2,\"starts\":[6]", NULL},
        {"\"profile\":\"1g.5gb\",\"size\":2,\"starts\":[7]", bad},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[]", bad},
        {"\"profile\":\"1g.5gb\",\"starts\":[0]", bad},
        {"\"size\":1,\"starts\":[0]", bad},
        {"\"profile\":\"1g\",\"size\":1,\"starts\":[0]", bad},
        {"\"profile\":\"1g.5gb\",\"size\":0,\"starts\":[0]", "size must be 1 to 8"},
        {"\"profile\":\"1g.5gb\",\"size\":9,\"starts\":[0]", "size must be 1 to 8"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[8]", "starts must be 0 to 7"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[-1]", "starts must be 0 to 7"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0],\"max\":9", "max must be 0 to 8"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0],\"max\":-1", "max must be 0 to 8"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0],\"memMib\":-1", "memMib must be 0 to 16777216"},
        {"\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0],\"memMib\":16777217", "memMib must be 0 to 16777216"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].shape,
               arena_printf(&arena, "{\"uuid\":\"a\",\"index\":0,\"memMib\":9,\"migProfiles\":[{%s}]}", rows[i].shape),
               rows[i].want);
    }
}

static void gpus__how_many__up_to_the_limits(void **state)
{
#define SHAPE "{\"profile\":\"1g.5gb\",\"size\":1,\"starts\":[0]}"
    struct inventory inv;
    struct str all = STR("");

    expect("32 profiles", arena_printf(&arena, "{" B "\"migProfiles\":[%.*s]}", STR_ARG(repeated(SHAPE, 32))), NULL);
    expect("33 profiles", arena_printf(&arena, "{" B "\"migProfiles\":[%.*s]}", STR_ARG(repeated(SHAPE, 33))),
           "more than 32 migProfiles");
    for (int i = 0; i < 9; i++) {
        all = arena_printf(&arena, "%.*s%s{\"uuid\":\"m%d\",\"profile\":\"1g.5gb\",\"start\":%d}", STR_ARG(all),
                           i > 0 ? "," : "", i, i < 8 ? i : 0);
    }
    expect("nine instances", arena_printf(&arena, "{" B "\"mig\":[%.*s]}", STR_ARG(all)),
           "more MIG instances than a GPU can have");
    all = STR("");
    for (int i = 0; i < 65; i++) {
        all = arena_printf(&arena, "%.*s%s{\"uuid\":\"g%d\",\"index\":%d,\"memMib\":9}", STR_ARG(all), i > 0 ? "," : "",
                           i, i);
        if (i == 63) {
            assert_null(read_list(all, &inv));
            assert_int_equal(inv.device_n, 64);
        }
    }
    expect("65 GPUs", all, "more than 64 GPUs and MIG instances");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(gpus__one_value_of_a_gpu__up_to_its_limits),
        T(gpus__one_value_of_an_instance__up_to_its_limits),
        T(gpus__what_the_driver_offers__up_to_its_limits),
        T(gpus__how_many__up_to_the_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
