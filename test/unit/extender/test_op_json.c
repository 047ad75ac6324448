/* Ops as JSON and back: whatever a field holds, it comes back; and no field of what decides is left out. */
#include "extender/op_json_internal.h"

#include "base/bug.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct json_reader reader;
static char names[8192]; /* "name" of every field that was filled in */

/* A field that was added to one of these belongs into src/extender/op_json_fields.c, and its size here. */
static void sizes__as_they_were_when_the_table_was_written(void **state)
{
    assert_int_equal(sizeof(struct demand), 128);
    assert_int_equal(sizeof(struct gpu_request), 56);
    assert_int_equal(sizeof(struct assignment), 88);
    assert_int_equal(sizeof(struct assigned_device), 48);
    assert_int_equal(sizeof(struct device), 72);
    assert_int_equal(sizeof(struct inventory), 88);
    assert_int_equal(sizeof(struct ledger_node_fact), 136);
    assert_int_equal(sizeof(struct ledger_pod_fact), 240);
    assert_int_equal(sizeof(struct tenant), 56);
}

static char *fill(struct rng *rng, const struct op_shape *of, char *at);

static struct str random_text(struct rng *rng, size_t n)
{
    char *p = arena_alloc(&arena, n);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(' ' + rng_below(rng, 95)); /* with quotes and backslashes */
    }
    return (struct str){p, n};
}

static void fill_list(struct rng *rng, const struct op_field *f, char *base)
{
    const size_t n = 1 + rng_below(rng, 9), size = f->of == NULL ? sizeof(uint64_t) : f->of->size;
    char *items = arena_calloc(&arena, n, size);

    assert_non_null(items);
    for (size_t i = 0; i < n; i++) {
        if (f->of == NULL) {
            memcpy(items + i * size, &(uint64_t){rng_u64(rng)}, size);
        } else {
            (void)fill(rng, f->of, items + i * size);
        }
    }
    memcpy(base + f->offset, &items, sizeof(items));
    memcpy(base + f->n_offset, &n, sizeof(n));
}

/* Every field gets a value that is not 0. */
static void fill_field(struct rng *rng, const struct op_field *f, char *base)
{
    static const size_t widths[] = {
        [OP_I8] = 1, [OP_U8] = 1, [OP_U16] = 2, [OP_I32] = 4, [OP_U32] = 4, [OP_I64] = 8, [OP_U64] = 8};
    char *at = base + f->offset, *made;
    const char *text;
    uint64_t bits = rng_u64(rng) | 1;

    snprintf(names + strlen(names), sizeof(names) - strlen(names), "\"%s\" ", f->name);
    switch ((unsigned)f->type) {
    case OP_STR:
        memcpy(at, &(struct str[]){random_text(rng, 1 + rng_below(rng, 20))}, sizeof(struct str));
        break;
    case OP_DIGEST:
        memcpy(at, &(struct str[]){random_text(rng, 80)}, sizeof(struct str));
        break;
    case OP_CSTR:
    case OP_DIALECT:
        text = f->type == OP_DIALECT ? "native" : arena_cstr(&arena, random_text(rng, 9));
        memcpy(at, &text, sizeof(text));
        break;
    case OP_BOOL:
        *(bool *)at = true;
        break;
    case OP_OBJECT:
        (void)fill(rng, f->of, at);
        break;
    case OP_POINTER:
        made = fill(rng, f->of, arena_calloc(&arena, 1, f->of->size));
        memcpy(at, &made, sizeof(made));
        break;
    case OP_LIST:
    case OP_HASHES:
        fill_list(rng, f, base);
        break;
    default:
        memcpy(at, &bits, widths[f->type]);
    }
}

static char *fill(struct rng *rng, const struct op_shape *of, char *at)
{
    assert_non_null(at);
    for (size_t i = 0; i < of->n; i++) {
        fill_field(rng, &of->fields[i], at);
    }
    return at;
}

static char *text_of(const struct ledger_op *op)
{
    struct json_writer w;
    struct strbuf b, packed;
    size_t n;

    strbuf_init(&b, 1 << 20);
    strbuf_init(&packed, 1 << 20);
    op_pack(&packed, op);
    assert_false(packed.overflowed);
    json_writer_init(&w, &b);
    json_write_object_begin(&w);
    op_json_write_packed(&w, strbuf_view(&packed));
    json_write_object_end(&w);
    strbuf_fini(&packed);
    return strbuf_take(&b, &n);
}

static void read_back(const char *text, struct ledger_op *ret)
{
    struct str key = STR_NULL, name = STR_NULL;

    json_reader_init(&reader, str_of(text), &arena);
    assert_true(json_object_begin(&reader) && json_object_next(&reader, &key) && json_string(&reader, &name));
    *ret = (struct ledger_op){.kind = op_json_kind(name)};
    assert_true(str_eq_cstr(key, "op") && ret->kind < LEDGER_OP__MAX);
    while (json_object_next(&reader, &key)) {
        assert_true(str_eq_cstr(key, op_json_key(ret->kind)));
        op_json_read(&reader, &arena, ret);
    }
    assert_int_equal(json_read_end(&reader, NULL), 0);
}

static void any_op__comes_back_as_it_was(void **state)
{
    const struct seeds seeds = seeds_of_test(1, 50);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct rng rng;

        rng_init(&rng, seed);
        for (enum ledger_op_kind k = 0; k < LEDGER_OP__MAX; k++) {
            struct ledger_op op = {.kind = k}, again;
            char *text, *second, *name, *rest = names;

            names[0] = '\0';
            if (op_kind_of(k)->of != NULL) {
                (void)fill(&rng, op_kind_of(k)->of, (char *)&op + op_kind_of(k)->offset);
            }
            text = text_of(&op);
            while ((name = strsep(&rest, " ")) != NULL) {
                assert_non_null(strstr(text, name));
            }
            read_back(text, &again);
            second = text_of(&again);
            assert_string_equal(text, second);
            free(text);
            free(second);
            arena_reset(&arena);
        }
    }
}

static void nothing_is_set__nothing_is_written(void **state)
{
    const struct demand none = {.dialect = ""};
    struct ledger_op op = {.kind = LEDGER_POD_OBSERVED, .pod.demand = &none}, again;
    char *text = text_of(&op);

    assert_string_equal(text, "{\"op\":\"podObserved\",\"facts\":{\"demand\":{\"dialect\":\"\"}}}");
    read_back(text, &again);
    assert_non_null(again.pod.demand);
    assert_true(demand_is_empty(again.pod.demand) && again.pod.demand->dialect[0] == '\0');
    free(text);
    arena_reset(&arena);
}

static void spoiled__refused_with_a_reason(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"priority\": 4294967296}", "out of range"},
        {"{\"deleting\": 1}", "true or false"},
        {"{\"demand\": {\"dialect\": \"klingon\"}}", "vocabulary"},
        {"{\"demand\": {\"requests\": {}}}", "array"},
        {"{\"name\": \"a\", \"name\": \"b\"}", "duplicate"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ledger_op op = {.kind = LEDGER_POD_OBSERVED};
        struct err err;

        json_reader_init(&reader, str_of(cases[i].text), &arena);
        op_json_read(&reader, &arena, &op);
        assert_true(json_read_end(&reader, &err) < 0);
        if (strstr(err.msg, cases[i].why) == NULL) {
            fail_msg("%s: %s", cases[i].text, err.msg);
        }
        arena_reset(&arena);
    }
}

static int setup(void **state)
{
    arena_init(&arena, 16 << 20);
    return 0;
}

static int teardown(void **state)
{
    arena_fini(&arena);
    return 0;
}

/* Each bound by itself: what is said of a charge by another ledger is charged as it stands. */
static void known_charge__out_of_its_bounds__is_none(void **state)
{
    static const struct ledger_known_charge good[] = {
        {.charge = {.milli = 1, .slots = 1, .mem_mib = 1}},
        {.charge = {.milli = ASSIGNMENT_MILLI_MAX, .slots = 1, .mem_mib = 1}},
        {.charge = {.milli = 0, .slots = ASSIGNMENT_CONTAINERS_MAX, .mem_mib = 1}},
        {.charge = {.milli = 1, .slots = 0, .mem_mib = 0}},
    };
    static const struct ledger_known_charge bad[] = {
        {.index = -1, .charge = {.milli = 1, .slots = 1, .mem_mib = 1}},
        {.charge = {.milli = -1, .slots = 1, .mem_mib = 1}},
        {.charge = {.milli = ASSIGNMENT_MILLI_MAX + 1, .slots = 1, .mem_mib = 1}},
        {.charge = {.milli = 1, .slots = -1, .mem_mib = 1}},
        {.charge = {.milli = 1, .slots = ASSIGNMENT_CONTAINERS_MAX + 1, .mem_mib = 1}},
        {.charge = {.milli = 1, .slots = 1, .mem_mib = -1}},
        {.charge = {.milli = 1, .slots = 1, .mem_mib = INT64_MAX}},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_null(op_check_known(&good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_non_null(op_check_known(&bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes__as_they_were_when_the_table_was_written),
        cmocka_unit_test(any_op__comes_back_as_it_was),
        cmocka_unit_test(nothing_is_set__nothing_is_written),
        cmocka_unit_test(spoiled__refused_with_a_reason),
        cmocka_unit_test(known_charge__out_of_its_bounds__is_none),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
